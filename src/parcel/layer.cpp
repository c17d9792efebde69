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

std::unique_ptr<face_job> begin(job& j, handler_numbers& numbers) {
  return std::make_unique<parcel_layer>(j, numbers);
}
constexpr face as_face{.name = "parcels", .begin = &begin};
const std::size_t slot_of_parcels = register_face(as_face);
[[maybe_unused]] const bool every_worker_sends = let_every_worker_send();

}  // namespace

// --- Whose layer ----------------------------------------------------------------------------------

parcel_layer& parcel_layer::here(const char* call) {
  const worker* const at = worker::current();
  if (at == nullptr) [[unlikely]]
    throw error(formatted(
        "{} was called outside of ranks and tasks: call it in what weft::run() or weft::run_tasks() runs",
        call));
  return of(*at);
}

parcel_layer& parcel_layer::of(const worker& at) noexcept {
  return static_cast<parcel_layer&>(*job_of(at).faces[slot_of_parcels]);
}

parcel_layer::parcel_layer(job& j, handler_numbers& numbers)
    : job_(j),
      process_(j.process),
      process_count_(numbers.between() != nullptr ? numbers.between()->process_count() : 1),
      shares_(static_cast<std::size_t>(j.workers->worker_count())),
      peers_(static_cast<std::size_t>(process_count_)) {
  if (network* const between = numbers.between(); between != nullptr) {
    const auto name = parcelport_name::of(parcelport_setting());
    port_ = make_parcelport(name, {*this, *between, *j.workers, remote::handlers(numbers)});
    if (!name.is_immediate)
      queues_ = std::make_unique<parcel_queues>(
          *port_, process_count_, std::min(j.workers->worker_count(), parcel_queue_sides_max));
    for (int p = 0; p < process_count_; ++p)
      has_parcels_.push_back(j.known_faces.has(p, as_face.name) ? 1 : 0);
    while (!has_parcels(first_process_)) ++first_process_;
    // A program without actions, as most of MPI are, has none to compare. Not sent here: what comes meanwhile would find
    // no worker.
    if (process_ != first_process_ && !(have_constructors_run() && actions().empty()))
      between->at(0).keep_trying(
          [](worker& here, void* self) {
            if (!have_constructors_run()) return false;
            parcel_layer& me = *static_cast<parcel_layer*>(self);
            if (me.actions().empty()) return true;
            me.send_hello(here, me.first_process_);
            return true;
          },
          this);
  }
  if (have_constructors_run()) static_cast<void>(actions());
}

// Calls that were still awaited have been given up with the job's workers; their memory goes with the pools.
parcel_layer::~parcel_layer() = default;

// --- The start ------------------------------------------------------------------------------------

const std::vector<known_action>& parcel_layer::take_actions() {
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

void parcel_layer::send_hello(worker& here, int process) noexcept {
  parcel_header hello;
  hello.kind = parcel_kind::hello;
  hello.call = digest_of_actions(actions());
  port_->send_at_once(here, process, -1, std::as_bytes(std::span(&hello, 1)));
}

void parcel_layer::compare_actions(worker& here, const message_origin& from, std::uint64_t digest) {
  if (actions().empty()) return introduce(here, from, digest);
  if (digest != digest_of_actions(actions())) send_names(here, from);
}

// Two others may differ, which this one without actions cannot tell apart: the second says hello to the first.
void parcel_layer::introduce(worker& here, const message_origin& from, std::uint64_t digest) {
  parcel_header answer;
  {
    const std::lock_guard hold(actions_lock_);
    if (first_with_actions_ < 0) {
      first_with_actions_ = from.process;
      first_digest_ = digest;
    }
    if (digest == first_digest_) return;
    answer.call = static_cast<std::uint64_t>(first_with_actions_);
  }
  answer.kind = parcel_kind::meet;
  port_->send_at_once(here, from.process, from.port, std::as_bytes(std::span(&answer, 1)));
}

void parcel_layer::send_names(worker& here, const message_origin& to) {
  if (peers_[static_cast<std::size_t>(to.process)].has_names.exchange(true,
                                                                      std::memory_order_relaxed))
    return;
  const std::string names = names_of_actions(actions());
  std::vector<std::byte> bytes(sizeof(parcel_header) + names.size());
  parcel_header answer;
  answer.kind = parcel_kind::names;
  answer.size = static_cast<std::uint32_t>(names.size());
  std::memcpy(bytes.data(), &answer, sizeof answer);
  std::memcpy(bytes.data() + sizeof answer, names.data(), names.size());
  port_->send_at_once(here, to.process, to.port, bytes);
}

void parcel_layer::on_names(int process, std::span<const std::byte> content) {
  const std::string different = difference_of_actions(
      names_of_actions(actions()), process_,
      {reinterpret_cast<const char*>(content.data()), content.size()}, process);
  if (different.empty()) return;
  job_.tell_failure(different);
  job_.workers->request_stop();
}

// --- The end --------------------------------------------------------------------------------------

bool parcel_layer::end_operations_with_dead(worker& here) {
  if (port_ == nullptr) return false;
  const remote::port mine = remote::port::of(here);
  bool any = port_->end_operations_with_dead(here);
  const auto is_lost = [&](int process) {
    return !mine.is_alive(process) && port_->has_delivered_all_of_dead(process);
  };
  any |= share_of(here).calls.end_lost(is_lost, [](awaited_call* call) {
    const std::exception_ptr why = std::make_exception_ptr(
        error(formatted("locality {} has died, which was to return the result of {}",
                        room_of(*call).process, name_of(*room_of(*call).which))));
    resume(*call).fail(*call, why);
  });
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
  if (!layer.has_parcels(there.number())) [[unlikely]]
    throw error(formatted("{} of locality {}: its program has no parcels", call, there.number()));
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
