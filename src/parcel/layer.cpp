#include "parcel/layer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

#include "base/format.hpp"
#include "base/settings.hpp"
#include "job/connection.hpp"
#include "job/constructors.hpp"
#include "job/state.hpp"
#include "parcel/awaited.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

std::unique_ptr<face_job> begin(job& j, face_handlers& handlers) {
  return std::make_unique<parcel_layer>(j, handlers);
}
constexpr face as_face{parcel_face_slot, "parcels", {}, &begin};
[[maybe_unused]] const bool registered = register_face(as_face) && let_every_worker_send();

// The layers of all jobs of this process, by their schedulers. A thread remembers the one that it asked for last, until any
// has come or gone.
struct known_layers {
  std::mutex lock;
  std::vector<std::pair<const scheduler*, parcel_layer*>> all;
  std::atomic<std::uint64_t> changes{1};

  void add(const scheduler& of, parcel_layer& layer) {
    const std::lock_guard hold(lock);
    all.emplace_back(&of, &layer);
    changes.fetch_add(1, std::memory_order_relaxed);
  }
  void remove(const parcel_layer& layer) {
    const std::lock_guard hold(lock);
    std::erase_if(all, [&](const auto& one) { return one.second == &layer; });
    changes.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] parcel_layer* find(const scheduler& of) {
    const std::lock_guard hold(lock);
    for (const auto& [workers, layer] : all)
      if (workers == &of) return layer;
    return nullptr;
  }
};
known_layers layers;

struct remembered {
  const scheduler* of = nullptr;
  parcel_layer* layer = nullptr;
  std::uint64_t change = 0;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit remembered last_asked;

}  // namespace

// --- Whose layer ----------------------------------------------------------------------------------

parcel_layer& parcel_layer::here(const char* call) {
  const worker* const at = worker::current();
  if (at == nullptr) [[unlikely]]
    throw error(formatted(
        "{} was called outside of ranks and tasks: call it in what weft::run() or weft::run_tasks() runs",
        call));
  // A worker outlives its scheduler's layer in no call: what is remembered of another is told by the scheduler's address
  // or by the count of changes, which this thread sees of its own job's start.
  const std::uint64_t change = layers.changes.load(std::memory_order_relaxed);
  if (last_asked.of != &at->owner() || last_asked.change != change) [[unlikely]]
    last_asked = {&at->owner(), layers.find(at->owner()), change};
  return *last_asked.layer;
}

parcel_layer::parcel_layer(job& j, face_handlers& handlers)
    : job_(j),
      process_(j.process),
      process_count_(handlers.between() != nullptr ? handlers.between()->process_count() : 1),
      shares_(static_cast<std::size_t>(j.workers->worker_count())),
      peers_(static_cast<std::size_t>(process_count_)) {
  if (network* const between = handlers.between(); between != nullptr) {
    const auto name = parcelport_name::of(parcelport_setting());
    port_ = make_parcelport(name, {*this, *between, *j.workers, handlers});
    if (!name.is_immediate)
      queues_ = std::make_unique<parcel_queues>(
          *port_, process_count_, std::min(j.workers->worker_count(), parcel_queue_sides_max));
    // A program without actions, as most of MPI are, has none to compare. Not sent here: what comes meanwhile would find
    // no worker.
    if (process_ != 0 && !(have_constructors_run() && actions().empty()))
      between->at(0).keep_trying(
          [](worker& here, void* self) {
            if (!have_constructors_run()) return false;
            parcel_layer& me = *static_cast<parcel_layer*>(self);
            if (me.actions().empty()) return true;
            parcel_header hello;
            hello.kind = parcel_kind::hello;
            hello.call = digest_of_actions(me.actions());
            me.port_->send_at_once(here, 0, -1, std::as_bytes(std::span(&hello, 1)));
            return true;
          },
          this);
  }
  if (have_constructors_run()) static_cast<void>(actions());
  layers.add(*j.workers, *this);
}

// Whoever awaited something has been given up with its job's workers; what it lay in goes with the pools.
parcel_layer::~parcel_layer() {
  layers.remove(*this);
}

// --- The start ------------------------------------------------------------------------------------

const std::vector<const action_entry*>& parcel_layer::take_actions() {
  const std::lock_guard hold(actions_lock_);
  if (actions_.value() == nullptr) actions_.publish(&known_actions().by_number);
  return *actions_.value();
}

void parcel_layer::wait_for_constructors() {
  if (have_constructors_run()) [[likely]]
    return;
  struct words final : wait_words {
    [[nodiscard]] std::string text() const override {
      return ", until the constructors of the first rank here have run";
    }
  } const said;
  wait_description what;
  what.call = "a call from another locality";
  what.context = wait_description::in_words;
  what.subject = static_cast<const wait_words*>(&said);
  worker::current()->wait_until([] { return have_constructors_run(); }, what);
}

void parcel_layer::compare_actions(worker& here, const message_origin& from, std::uint64_t digest) {
  if (digest == digest_of_actions(actions())) return;
  const std::string names = names_of_actions(actions());
  std::vector<std::byte> bytes(sizeof(parcel_header) + names.size());
  parcel_header answer;
  answer.kind = parcel_kind::names;
  answer.size = static_cast<std::uint32_t>(names.size());
  std::memcpy(bytes.data(), &answer, sizeof answer);
  std::memcpy(bytes.data() + sizeof answer, names.data(), names.size());
  port_->send_at_once(here, from.process, from.port, bytes);
}

void parcel_layer::on_names(std::span<const std::byte> content) {
  job_.tell_failure(difference_of_actions(
      actions(), {reinterpret_cast<const char*>(content.data()), content.size()}, process_));
  job_.workers->request_stop();
}

// --- The end --------------------------------------------------------------------------------------

bool parcel_layer::end_operations_with_dead(worker& here) {
  if (port_ == nullptr) return false;
  comm::device& device = network::of(here).device();
  share& mine = share_of(here);
  bool any = port_->end_operations_with_dead(here);
  for (std::size_t i = 0; i < mine.slots.size(); ++i) {
    awaited_call* const call = mine.slots[i].call;
    if (call == nullptr || device.is_alive(room_of(*call).process) ||
        !port_->has_delivered_all_of_dead(room_of(*call).process))
      continue;
    const std::exception_ptr why = std::make_exception_ptr(
        error(formatted("locality {} has died, which was to return the result of {}",
                        room_of(*call).process, name_of(*room_of(*call).which))));
    stop_awaiting(*call).fail(*call, why);
    any = true;
  }
  return any;
}

// --- What the headers call ------------------------------------------------------------------------

std::size_t chunk_bytes_min(const parcel_layer& layer) noexcept {
  return layer.chunk_bytes_min();
}

parcel_layer* layer_towards(locality there, const char* call) {
  parcel_layer& layer = parcel_layer::here(call);
  if (there.number() == layer.process()) return nullptr;
  if (there.number() < 0 || there.number() >= layer.process_count()) [[unlikely]]
    throw error(formatted("{} of locality {}: the job has localities 0 to {}", call, there.number(),
                          layer.process_count() - 1));
  return &layer;
}

}  // namespace weft::detail

namespace weft {

locality here() {
  return locality(detail::parcel_layer::here("here").process());
}

int locality_count() {
  return detail::parcel_layer::here("locality_count").process_count();
}

std::vector<locality> all_localities() {
  std::vector<locality> all;
  const int count = locality_count();
  for (int i = 0; i < count; ++i) all.emplace_back(i);
  return all;
}

}  // namespace weft
