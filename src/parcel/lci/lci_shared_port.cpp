#include "parcel/lci/lci_shared_port.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "base/kernel.hpp"
#include "parcel/lci/lci_progress_thread.hpp"
#include "parcel/wire.hpp"
#include "task/task_source.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

// Completions that wait to be looked at; a device whose queue is full takes no more from its peers.
constexpr std::size_t queued_max = 4096;
// What one pass of a worker takes.
constexpr int taken_in_a_pass = 32;
constexpr std::size_t looked_at_in_a_pass = 64;
// A worker that has found nothing so often gives its core to the thread that makes progress on it.
constexpr std::uint32_t looks_until_yield = 8;

// Messages of parcels, where they are sent; chunks have lesser ones: the device, and a count that never returns.
constexpr std::uint64_t tag_of_header = std::uint64_t{1} << 63;
constexpr int tag_count_bits = 48;

std::unique_ptr<parcelport> make(const parcelport_name& name, const parcelport_site& site) {
  lci_variant variant = *lci_variant::of(name.kind);
  variant.set_devices(name.kind, name.detail);
  return std::make_unique<lci_shared_port>(name.kind, variant, site);
}

}  // namespace

const parcelport_maker lci_variant_parcelports{
    [](std::string_view kind) noexcept { return lci_variant::of(kind) != nullptr; }, &make};

// --- What completes -------------------------------------------------------------------------------

// A queue whose users sleep.
class lci_shared_port::waking_queue {
 public:
  static constexpr bool keeps_data = true;
  explicit waking_queue(lci_shared_port& of) : of_(of) {}
  [[nodiscard]] bool reserve() noexcept { return queue_.reserve(); }
  void cancel() noexcept { queue_.cancel(); }
  void signal(const comm::event& happened) noexcept {
    queue_.signal(happened);
    of_.something_has_come();
  }
  [[nodiscard]] bool try_pop(comm::event& to) noexcept { return queue_.try_pop(to); }

 private:
  lci_shared_port& of_;
  comm::completion_queue queue_{queued_max};
};

// The same of one operation.
class lci_shared_port::one_completion {
 public:
  static constexpr bool keeps_data = true;
  explicit one_completion(lci_shared_port& of) : of_(of) {}
  [[nodiscard]] bool reserve() noexcept { return inner_.reserve(); }
  void cancel() noexcept { inner_.cancel(); }
  void signal(const comm::event& happened) noexcept {
    inner_.signal(happened);
    of_.something_has_come();
  }
  [[nodiscard]] bool is_there() const noexcept { return inner_.test(); }
  [[nodiscard]] comm::event take() noexcept {
    const comm::event happened = inner_.events()[0];
    inner_.reset();
    return happened;
  }

 private:
  lci_shared_port& of_;
  comm::synchronizer inner_;
};

// A chain of operations, of which one at most is under way. Used by one worker at a time: whoever opened it, then
// whoever finds its operation complete.
struct lci_shared_port::connection {
  enum class kind { sends, receives, listens };
  explicit connection(lci_shared_port& of) : completed(of) {}

  one_completion completed;
  kind does = kind::sends;
  scheduler* workers = nullptr;
  comm::device* by = nullptr;
  comm::address peer;
  std::uint64_t tag = 0;  // The next chunk has it.
  // A long message to be sent first.
  std::span<const std::byte> header;
  std::vector<parcel_chunk> chunks;
  std::vector<std::span<std::byte>> places;
  std::size_t next = 0;  // The next chunk or place, by number.
  kept_values* kept = nullptr;
  std::unique_ptr<std::byte[]> heap;
  chunked_task* then = nullptr;
  comm::event received;  // What a receive gave that was done at once.
  connection* next_stalled = nullptr;

  [[nodiscard]] bool is_over() const noexcept {
    return does != kind::listens && header.empty() && next == chunks.size() + places.size();
  }
  void advance() noexcept {
    if (!header.empty()) {
      header = {};
      return;
    }
    ++next;
    ++tag;
  }
};

void lci_shared_port::something_has_come() noexcept {
  // Relaxed: a hint, which whoever goes to sleep sees by the fences of its parking.
  waiting_.fetch_add(1, std::memory_order_relaxed);
  for (int i = 0; i < workers_.worker_count(); ++i) {
    worker& one = workers_.at(i);
    if (one.is_parked()) return one.notify();
  }
  // One that is about to sleep.
  workers_.at(0).notify();
}

// --- Begin and end --------------------------------------------------------------------------------

lci_shared_port::lci_shared_port(std::string name, const lci_variant& variant,
                                 const parcelport_site& site)
    : name_(std::move(name)),
      variant_(variant),
      receiver_(site.receiver),
      between_(site.between),
      workers_(site.workers),
      told_dead_(static_cast<std::size_t>(between_.process_count())),
      turns_(static_cast<std::size_t>(workers_.worker_count())),
      arrivals_(std::make_unique<waking_queue>(*this)),
      completed_(std::make_unique<waking_queue>(*this)) {
  const int cpu = core_for_progress(workers_, between_, variant_.driven_by, name_);
  comm::runtime_options how;
  how.devices = variant_.devices;
  how.shared_devices = true;
  // The job's own devices notice it as well, and tell people.
  how.on_peer_failure = [](int, const char*) {};
  how.transport = between_.options().transport;
  how.secure = between_.options().secure;
  core_ = between_.make_core(how);
  put_into_ = core_->register_handler(comm::completion(*arrivals_));
  if (variant_.by == lci_variant::header::send)
    for (int i = 0; i < core_->device_count(); ++i) {
      connection& listener = open();
      listener.does = connection::kind::listens;
      listener.by = &core_->device(i);
      listener.workers = &workers_;
      stall(listener);
    }
  let_workers_look(site, *this);
  driver_ = std::make_unique<lci_progress_thread>(*core_, workers_, variant_.driven_by, cpu);
}

// The workers have ended. What is under way is canceled, and nobody looks at its completions.
lci_shared_port::~lci_shared_port() {
  driver_.reset();
  comm::event left;
  while (arrivals_->try_pop(left)) comm::release(left);
  core_.reset();
  for (const auto& one : all_)
    if (one->workers != nullptr) end(nullptr, *one, false);
}

lci_shared_port::connection& lci_shared_port::open() {
  const std::lock_guard hold(lock_);
  if (free_.empty()) {
    all_.push_back(std::make_unique<connection>(*this));
    // There is room now, so that nothing is allocated in progress.
    for (auto* const list : {&free_, &pending_}) list->reserve(all_.capacity());
    return *all_.back();
  }
  connection& taken = *free_.back();
  free_.pop_back();
  return taken;
}

void lci_shared_port::close(connection& done) noexcept {
  done.workers = nullptr;
  done.header = {};
  done.chunks.clear();
  done.places.clear();
  done.next = 0;
  done.heap.reset();
  const std::lock_guard hold(lock_);
  free_.push_back(&done);  // There is room: see open().
}

// --- Connections ----------------------------------------------------------------------------------

void lci_shared_port::stall(connection& of) noexcept {
  const std::lock_guard hold(lock_);
  of.next_stalled = nullptr;
  (last_stalled_ != nullptr ? last_stalled_->next_stalled : first_stalled_) = &of;
  last_stalled_ = &of;
  stalled_count_.store(stalled_count_.load(std::memory_order_relaxed) + 1,
                       std::memory_order_relaxed);
}

status lci_shared_port::post_header(comm::device& by, const comm::address& to,
                                    std::span<const std::byte> bytes, const comm::completion& local,
                                    void* context) noexcept {
  if (variant_.by == lci_variant::header::put) {
    comm::am message;
    message.to = to;
    message.handler = put_into_;
    message.data = bytes;
    message.local = local;
    message.context = context;
    return comm::post(by, message);
  }
  comm::send message;
  message.to = to;
  message.data = bytes;
  message.tag = tag_of_header;
  message.by = comm::matching::tag;
  message.local = local;
  message.context = context;
  return comm::post(by, message);
}

status lci_shared_port::post_next(connection& of) noexcept {
  const comm::completion local = variant_.found_by == lci_variant::completion::queue
                                     ? comm::completion(*completed_)
                                     : comm::completion(of.completed);
  switch (of.does) {
    case connection::kind::sends: {
      if (!of.header.empty()) return post_header(*of.by, of.peer, of.header, local, &of);
      const parcel_chunk& chunk = of.chunks[of.next];
      comm::send message;
      message.to = of.peer;
      message.data = std::span<const std::byte>(chunk.data, chunk.size);
      message.tag = of.tag;
      message.local = local;
      message.context = &of;
      return comm::post(*of.by, message);
    }
    case connection::kind::receives: {
      comm::recv message;
      message.from = of.peer.process;
      message.data = of.places[of.next];
      message.tag = of.tag;
      message.result = &of.received;
      message.local = local;
      message.context = &of;
      return comm::post(*of.by, message);
    }
    case connection::kind::listens:
      break;
  }
  comm::recv message;
  message.tag = tag_of_header;
  message.by = comm::matching::tag;
  message.in_place = true;
  message.local = local;
  message.context = &of;
  message.allow.done = false;
  return comm::post(*of.by, message);
}

// Once an operation is posted the connection may be another worker's.
void lci_shared_port::go_on(worker& here, connection& of) noexcept {
  while (!of.is_over()) {
    const status said = post_next(of);
    if (said == status::posted) {
      if (variant_.found_by == lci_variant::completion::queue) return;
      const std::lock_guard hold(lock_);
      pending_.push_back(&of);
      return;
    }
    if (said == status::retry || of.does == connection::kind::listens) return stall(of);
    if (said == status::failed) return end(&here, of, false);
    if (of.does == connection::kind::receives) {
      remote::uncounted_messages(here).have_come_from(of.peer.process);
      if (of.received.result != comm::outcome::complete) return end(&here, of, false);
    }
    of.advance();
  }
  end(&here, of, true);
}

// Ends a sender or a receiver. `here` is null when the workers have ended.
void lci_shared_port::end(worker* here, connection& of, bool complete) noexcept {
  kept_values* const kept = std::exchange(of.kept, nullptr);
  chunked_task* const then = std::exchange(of.then, nullptr);
  const bool has_worked = of.does != connection::kind::listens;
  if (here != nullptr)
    close(of);
  else
    of.workers = nullptr;
  if (kept != nullptr) kept->free(*kept);
  if (then != nullptr) end_chunks(*then, complete && here != nullptr);
  if (here != nullptr && has_worked) end_own_work(*here);
}

void lci_shared_port::on_completed(worker& here, connection& of,
                                   const comm::event& happened) noexcept {
  const bool is_well = happened.result == comm::outcome::complete;
  switch (of.does) {
    case connection::kind::listens:
      go_on(here, of);  // First the next one.
      if (is_well) return on_header(here, happened);
      return comm::release(happened);
    case connection::kind::receives:
      remote::uncounted_messages(here).have_come_from(of.peer.process);
      break;
    case connection::kind::sends:
      break;
  }
  if (!is_well) return end(&here, of, false);
  of.advance();
  go_on(here, of);
}

void lci_shared_port::on_header(worker& here, const comm::event& happened) noexcept {
  // First, or this process could say that it has ended with this message, which is yet to become work.
  parcel_receiver::expect_work(here);
  remote::uncounted_messages(here).have_come_from(happened.process);
  receiver_.deliver(here, {happened.process, happened.device}, happened.bytes());
  comm::release(happened);
}

// --- What the layer calls -------------------------------------------------------------------------

comm::device& lci_shared_port::device_of(const worker& here) const noexcept {
  return core_->device(here.index() % core_->device_count());
}

// The sends of a core may go by rendezvous from less than what its ams are sent at once with.
bool lci_shared_port::fits_one_message(const comm::device& by, const comm::address& to,
                                       std::size_t bytes) const noexcept {
  constexpr std::size_t sent_at_once_max = 8192;
  const std::size_t eager = by.eager_bytes_max(to.process, to.device);
  return bytes <=
         (variant_.by == lci_variant::header::put ? eager : std::min(eager, sent_at_once_max));
}

// Insists on nothing: this worker would make progress for ever, and take nothing that has come, while another process does
// the same. What finds no room waits as a connection.
void lci_shared_port::send_at_once(worker& here, int process, int,
                                   std::span<const std::byte> bytes) noexcept {
  comm::device& by = device_of(here);
  const comm::address to{process, by.index()};
  remote::uncounted_messages(here).leave_for(process);
  const bool is_long = !fits_one_message(by, to, bytes.size());
  // The dead need none.
  if (!is_long && post_header(by, to, bytes, {}, nullptr) != status::retry) [[likely]]
    return;
  connection* chain = nullptr;
  try {
    auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    chain = &open();
    chain->heap = std::move(copy);
  } catch (const std::bad_alloc&) {
    return between_.mark_failed(process, "there is no memory for an answer that is to go there");
  }
  chain->does = connection::kind::sends;
  chain->by = &by;
  chain->peer = to;
  chain->header = {chain->heap.get(), bytes.size()};
  chain->workers = &here.owner();
  begin_own_work(here);
  if (is_long)
    go_on(here, *chain);
  else
    stall(*chain);
}

bool lci_shared_port::send(worker& here, outgoing_parcel& what) {
  const struct until_left {
    kept_values*& kept;
    ~until_left() {
      if (kept != nullptr) kept->free(*kept);
    }
  } freed{what.kept};
  comm::device& by = device_of(here);
  const comm::address to{what.process, by.index()};
  const bool is_long = !fits_one_message(by, to, what.bytes.size());
  connection* chain = nullptr;
  if (is_long || !what.chunks.empty()) [[unlikely]] {
    chain = &open();
    chain->does = connection::kind::sends;
    chain->by = &by;
    chain->peer = to;
    chain->chunks.assign(what.chunks.begin(), what.chunks.end());
    if (!what.chunks.empty()) {
      // Relaxed: a number that nobody else gets is all that is wanted.
      const std::uint64_t count =
          next_tag_.fetch_add(what.chunks.size(), std::memory_order_relaxed);
      chain->tag = static_cast<std::uint64_t>(by.index()) << tag_count_bits | count;
      std::memcpy(what.bytes.data() + what.bytes.size() - transmission_bytes(what.chunks.size()),
                  &chain->tag, sizeof chain->tag);
    }
    if (is_long) {
      if (what.heap == nullptr) {
        what.heap = std::make_unique_for_overwrite<std::byte[]>(what.bytes.size());
        std::memcpy(what.heap.get(), what.bytes.data(), what.bytes.size());
      }
      chain->header = {what.heap.get(), what.bytes.size()};
    }
    chain->heap = std::move(what.heap);
    chain->kept = std::exchange(what.kept, nullptr);
    chain->workers = &here.owner();
    begin_own_work(here);
  }
  // All at once: while one is under way, the next of a chain is not even posted.
  remote::uncounted_messages(here).leave_for(what.process, 1 + what.chunks.size());
  if (is_long) {
    go_on(here, *chain);
    return true;
  }
  status said = status::failed;
  try {
    said = remote::post_in_wait(
        here, [&] { return post_header(by, to, what.bytes, {}, nullptr); },
        [&] { return waits_at(waits_for_room, what.process); });
  } catch (...) {
    if (chain != nullptr) end(&here, *chain, false);
    throw;
  }
  if (chain != nullptr) {
    if (said == status::failed)
      end(&here, *chain, false);
    else
      go_on(here, *chain);
  }
  return said != status::failed;
}

void lci_shared_port::receive(worker& here, int process, std::uint64_t word,
                              std::span<const std::span<std::byte>> places, chunked_task& then) {
  const auto device = static_cast<int>(word >> tag_count_bits);
  if (device >= core_->device_count()) {
    refuse(here, {process, 0}, "its chunks are to come to a device that there is not");
    // The sender has counted them, and the job is to end.
    remote::uncounted_messages(here).have_come_from(process, places.size());
    return then.abandon(then);
  }
  connection& chain = open();
  chain.does = connection::kind::receives;
  chain.by = &core_->device(device);
  chain.peer = {process, device};
  chain.tag = word;
  chain.places.assign(places.begin(), places.end());
  chain.then = &then;
  chain.workers = &here.owner();
  begin_own_work(here);
  go_on(here, chain);
}

void lci_shared_port::refuse(worker&, const message_origin& from, const char* why) noexcept {
  comm::event what;
  what.process = from.process;
  what.device = from.port;
  core_->device(0).refuse(what, why);
}

bool lci_shared_port::end_operations_with_dead(worker& here) noexcept {
  for (int p = 0; p < between_.process_count(); ++p) {
    if (p == between_.process() || remote::port::of(here).is_alive(p)) continue;
    if (!told_dead_[static_cast<std::size_t>(p)].exchange(true, std::memory_order_relaxed))
      core_->mark_failed(p, "the job knows that it is dead");
  }
  return false;
}

// --- What workers do in their passes --------------------------------------------------------------

bool lci_shared_port::take_arrivals(worker& here) noexcept {
  comm::event happened;
  int left = taken_in_a_pass;
  while (left > 0 && arrivals_->try_pop(happened)) {
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    --left;
    on_header(here, happened);
  }
  return left != taken_in_a_pass;
}

bool lci_shared_port::take_completed(worker& here) noexcept {
  comm::event happened;
  int left = taken_in_a_pass;
  while (left > 0 && completed_->try_pop(happened)) {
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    --left;
    on_completed(here, *static_cast<connection*>(happened.context), happened);
  }
  return left != taken_in_a_pass;
}

bool lci_shared_port::look_at_synchronizers(worker& here) noexcept {
  std::array<connection*, taken_in_a_pass> found;
  std::size_t count = 0;
  {
    const std::unique_lock hold(lock_, std::try_to_lock);
    if (!hold.owns_lock()) return false;
    for (std::size_t left = std::min(pending_.size(), looked_at_in_a_pass);
         left > 0 && count < found.size(); --left) {
      if (next_looked_at_ >= pending_.size()) next_looked_at_ = 0;
      connection*& one = pending_[next_looked_at_];
      if (!one->completed.is_there()) {
        ++next_looked_at_;
        continue;
      }
      found[count++] = one;
      one = pending_.back();
      pending_.pop_back();
    }
  }
  waiting_.fetch_sub(count, std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) on_completed(here, *found[i], found[i]->completed.take());
  return count != 0;
}

bool lci_shared_port::try_stalled(worker& here) noexcept {
  // Each once at most: those that stall again stand behind.
  for (std::size_t left =
           std::min(stalled_count_.load(std::memory_order_relaxed), looked_at_in_a_pass);
       left > 0; --left) {
    connection* one = nullptr;
    {
      const std::lock_guard hold(lock_);
      if (first_stalled_ == nullptr) break;
      one = first_stalled_;
      first_stalled_ = one->next_stalled;
      if (first_stalled_ == nullptr) last_stalled_ = nullptr;
      stalled_count_.store(stalled_count_.load(std::memory_order_relaxed) - 1,
                           std::memory_order_relaxed);
    }
    go_on(here, *one);
  }
  return true;
}

bool lci_shared_port::look(worker& here) noexcept {
  bool any = false;
  if (variant_.driven_by == lci_variant::progress::all_workers) {
    comm::device& own = device_of(here);
    any = own.progress() > 0;
    // And another in turn: its workers may compute.
    if (const int count = core_->device_count(); count > 1) {
      const std::uint32_t looks = turns_[static_cast<std::size_t>(here.index())].looks++;
      comm::device& other =
          core_->device(static_cast<int>(looks % static_cast<std::uint32_t>(count)));
      if (&other != &own) any |= other.progress() > 0;
    }
  }
  if (stalled_count_.load(std::memory_order_relaxed) != 0) [[unlikely]]
    any |= try_stalled(here);
  if (waiting_.load(std::memory_order_relaxed) == 0) {
    // The thread that makes progress gets it: it shares the core of this worker.
    if (!any && variant_.driven_by == lci_variant::progress::pinned_thread &&
        here.index() + 1 == workers_.worker_count() && ++looks_in_vain_ % looks_until_yield == 0)
      give_core_up();
    return any;
  }
  any |= take_arrivals(here);
  any |= variant_.found_by == lci_variant::completion::queue ? take_completed(here)
                                                             : look_at_synchronizers(here);
  return any;
}

bool lci_shared_port::has_any() const noexcept {
  return waiting_.load(std::memory_order_relaxed) != 0 ||
         stalled_count_.load(std::memory_order_relaxed) != 0;
}

}  // namespace weft::detail
