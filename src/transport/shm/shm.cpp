// One endpoint: connecting, sending, receiving, failures, remote memory, sleeping. In one file, since
// an am takes 10 ns longer when the compiler does not see as a whole what a message calls.
#include "transport/shm/shm.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <fstream>
#include <mutex>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/padded.hpp"
#include "transport/shm/inbox.hpp"
#include "transport/shm/process.hpp"
#include "transport/shm/segment.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

using producer = record_producer<std_atomics, 256>;

constexpr std::size_t string_move_bytes_min = 256;

// Yama's usual setting allows copies between parent and child only, unless asked: the processes of
// a job are siblings.
void allow_direct_copies() {
  char scope = '0';
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  if (scope == '1') prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

// Into lines that the receiver has in its cache. The processor's own string move takes them over
// without reading them first: 1 KiB in 680 ns one way instead of 790.
void copy(std::byte* to, std::span<const std::byte> from) noexcept {
#if defined(__x86_64__)
  if (from.size() >= string_move_bytes_min) {
    const std::byte* source = from.data();
    std::size_t size = from.size();
    asm volatile("rep movsb" : "+D"(to), "+S"(source), "+c"(size) : : "memory");
    return;
  }
#endif
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

// What a send needs to know of a peer.
struct outgoing {
  producer ring;  // In the peer's segment.
  ring_control* control = nullptr;
  segment_front* front = nullptr;
  std::size_t refused_bytes = 0;  // What found no room last, since this endpoint was awake.
  bool is_open = false;
  bool needs_fence = false;  // The peer's heavy fences do not reach this process.
};

enum class peer_state : std::uint8_t {
  far,     // On another node, or closed to this process.
  near,    // Reached; `is_open` says whether its rings were ready yet.
  left,    // In good order.
  failed,  // Dead or broken.
};

struct peer {
  peer_state state = peer_state::far;
  std::size_t slot = 0;  // Which ring of every segment of the node is this one's.
  segment memory;
  std::shared_ptr<node_process> process;  // Null: this one.
};

// What a poll needs to know of a sender.
struct incoming {
  shm_inbox inbox;
  ring_control* control = nullptr;
  std::uint32_t peer = 0;
  bool is_watched = false;
  bool has_spoken = false;  // Since the last look around.
};

struct failure {
  std::uint32_t peer;
  std::string why;
  int polls = 0;
};

class alignas(padding_bytes) shm_transport final : public transport {
 public:
  explicit shm_transport(const shm_options& options);
  ~shm_transport() override;

  const transport_traits& traits() const noexcept override { return traits_; }
  std::vector<std::byte> address() const override;
  void connect(std::span<const std::vector<std::byte>> addresses, std::uint32_t self) override;
  bool reaches(std::uint32_t peer) const noexcept override {
    return peer < peers_.size() && peers_[peer].state != peer_state::far;
  }

  status send(std::uint32_t peer, const wire_header& header, wire_parts parts,
              void* context) noexcept override;
  int poll(arrivals& to, int budget) noexcept override;

  memory_region register_memory(std::span<std::byte> memory, peer_access peers) override;
  void deregister(memory_region& region) noexcept override { region = {}; }
  status put(std::uint32_t peer, std::span<const std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override;
  status get(std::uint32_t peer, std::span<std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override;

  bool arm() noexcept override;
  void disarm() noexcept override;
  bell ringing() const noexcept override {
    return {.word = &own_.front().spot.word(),
            .value = decltype(own_.front().spot)::parked,
            .shared = true};
  }
  void mark_failed(std::uint32_t peer, const char* why) noexcept override;
  void leave_as_dead() noexcept override { leaves_as_dead_ = true; }

 private:
  // A failure is told when the peer's ring is empty, or after so many polls: one that is not really
  // dead may fill it for ever.
  static constexpr int polls_until_cut = 10'000;
  // The clock is looked at once in so many polls.
  static constexpr int polls_per_look = 64;

  void connect_to(std::uint32_t number, const segment_address& theirs, std::size_t endpoints);
  bool try_direct_copy(const segment_address& theirs, const node_process& process) const noexcept;

  status send_first(std::uint32_t peer, const wire_header& header, wire_parts parts) noexcept;
  status no_room(outgoing& to, std::uint32_t peer, std::size_t size) noexcept;
  void announce(outgoing& to) noexcept;

  int deliver(std::size_t place, arrivals& to, int budget) noexcept;
  void tell_room(const incoming& from) noexcept;
  void watch(std::size_t slot) noexcept;
  void take_announced() noexcept;
  void look_around() noexcept;
  void stop_watching_the_silent() noexcept;
  void learn_failure(std::uint32_t peer, std::string why) noexcept;
  void take_marks() noexcept;
  int tell_failures(arrivals& to) noexcept;

  bool something_there() noexcept;
  void want_room() noexcept;
  bool room_came() noexcept;

  shm_options options_;
  transport_traits traits_{};
  segment own_;
  std::size_t slot_ = 0;  // Of this endpoint.
  bool leaves_as_dead_ = false;

  padded_vector<outgoing> outgoing_;  // By peer.
  std::vector<peer> peers_;           // By peer.
  std::vector<std::uint32_t> room_refused_;

  padded_vector<incoming> incoming_;    // By slot.
  padded_vector<std::size_t> watched_;  // Slots.
  padded_vector<const shm_inbox::word*>
      next_;               // Where the next message of each of these will show.
  std::size_t first_ = 0;  // Where the next poll begins.
  int polls_to_look_ = polls_per_look;
  std::uint64_t next_look_ns_ = 0;

  std::vector<failure> failures_;  // Not yet told.
  std::atomic<bool> is_marked_{false};
  std::mutex marks_lock_;
  std::vector<failure> marks_;  // By mark_failed(), which any thread may call.
};

shm_transport::shm_transport(const shm_options& options) : options_(options) {
  if (!std::has_single_bit(options.ring_bytes) || options.ring_bytes < shm_ring_bytes_min ||
      options.ring_bytes > shm_ring_bytes_max)
    throw error(formatted("shm: a ring of {} bytes; it must be a power of two from {} to {}",
                          options.ring_bytes, shm_ring_bytes_min, shm_ring_bytes_max));
  if (options.direct_copies) allow_direct_copies();
  own_ = segment::make(options.ring_bytes, options.nameless_segment, options.job);
  traits_ = {
      .name = "shm",
      .detail = own_.address().descriptor >= 0 ? "nameless memory" : "file in /dev/shm",
      .message_bytes_max = max_record_payload(options.ring_bytes) - sizeof(wire_header),
      .inject_bytes_max = max_record_payload(options.ring_bytes) - sizeof(wire_header),
      .put_message_bytes_max = std::min(
          shm_put_message_bytes_max, max_record_payload(options.ring_bytes) - sizeof(wire_header))};
}

shm_transport::~shm_transport() {
  if (!leaves_as_dead_) own_.front().has_left.publish(1);
}

std::vector<std::byte> shm_transport::address() const {
  std::vector<std::byte> bytes(sizeof(segment_address));
  std::memcpy(bytes.data(), &own_.address(), bytes.size());
  return bytes;
}

// --- connecting -------------------------------------------------------------------------------

void shm_transport::connect(std::span<const std::vector<std::byte>> addresses, std::uint32_t self) {
  outgoing_.resize(addresses.size());
  peers_.resize(addresses.size());
  std::vector<segment_address> near(addresses.size());
  std::size_t endpoints = 0;
  for (std::uint32_t number = 0; number < addresses.size(); ++number) {
    near[number] = parse_segment_address(addresses[number]);
    if (!share_node(near[number], own_.address())) {
      near[number].magic = 0;
      continue;
    }
    peers_[number].slot = endpoints++;
  }
  if (self >= near.size() || near[self].cookie != own_.address().cookie)
    throw error(
        formatted("shm: endpoint {} is not this one; connect() needs its own number", self));
  if (endpoints > shm_endpoints_max)
    throw error(formatted("shm: {} endpoints on this node, at most {}; use fewer devices",
                          endpoints, shm_endpoints_max));

  slot_ = peers_[self].slot;
  incoming_.resize(endpoints);
  watched_.reserve(endpoints);
  next_.reserve(endpoints);
  failures_.reserve(endpoints);
  room_refused_.reserve(endpoints);
  traits_.can_get = traits_.can_put = options_.direct_copies;
  own_.grow(endpoints);
  for (std::uint32_t number = 0; number < near.size(); ++number) {
    if (near[number].magic == 0) continue;
    incoming& from = incoming_[peers_[number].slot];
    from.control = &own_.control(peers_[number].slot);
    from.peer = number;
    from.inbox = shm_inbox(
        record_consumer<>(own_.ring(peers_[number].slot), options_.ring_bytes, from.control->head),
        static_cast<std::uint32_t>(peers_[number].slot), traits_.message_bytes_max);
    connect_to(number, near[number], endpoints);
  }
}

void shm_transport::connect_to(std::uint32_t number, const segment_address& theirs,
                               std::size_t endpoints) {
  peer& to = peers_[number];
  const bool is_self = theirs.cookie == own_.address().cookie;
  if (!is_self) {
    if (theirs.process != getpid()) {
      to.process = node_process::find(theirs.process, theirs.process_start);
      if (to.process == nullptr) return;
      // Whoever sleeps does not notice a death.
      traits_.sleep_ns_max = shm_death_look_ns;
    }
    std::string why;
    to.memory = segment::open(theirs, endpoints, why);
    if (!to.memory) return;
    if (to.process != nullptr && !try_direct_copy(theirs, *to.process))
      traits_.can_get = traits_.can_put = false;
  }
  const segment& memory = is_self ? own_ : to.memory;
  outgoing& way = outgoing_[number];
  way.front = &memory.front();
  way.control = &memory.control(slot_);
  way.ring = producer(memory.ring(slot_), theirs.ring_bytes, way.control->head);
  way.needs_fence = theirs.fences == 0;
  to.state = peer_state::near;
}

bool shm_transport::try_direct_copy(const segment_address& theirs,
                                    const node_process& process) const noexcept {
  segment_cookie cookie;
  return options_.direct_copies &&
         process.read(std::as_writable_bytes(std::span(&cookie, 1)), theirs.cookie_address) &&
         cookie == theirs.cookie;
}

// --- sending ----------------------------------------------------------------------------------

status shm_transport::send(std::uint32_t peer, const wire_header& header, wire_parts parts,
                           void* context) noexcept {
  outgoing& to = outgoing_[peer];
  if (!to.is_open) [[unlikely]]
    return send_first(peer, header, parts);
  std::size_t size = 0;
  for (const auto& part : parts) size += part.size();
  WEFT_ASSERT(size <= traits_.message_bytes_max);
  const auto room = to.ring.try_reserve(sizeof header + size);
  if (!room) [[unlikely]]
    return no_room(to, peer, sizeof header + size);
  auto* bytes = reinterpret_cast<std::byte*>(room.payload());
  std::memcpy(bytes, &header, sizeof header);
  bytes += sizeof header;
  for (const auto& part : parts) {
    copy(bytes, part);
    bytes += part.size();
  }
  to.ring.publish(room, shm_message_kind, static_cast<std::uint32_t>(slot_));
  if (to.needs_fence) [[unlikely]]
    asymmetric::full_fence();
  if (!to.control->watch.is_watched()) [[unlikely]]
    announce(to);
  (void)context;
  return status::done;
}

// Not open: there is no such way, or the peer has not got so far as to make its rings.
status shm_transport::send_first(std::uint32_t peer, const wire_header& header,
                                 wire_parts parts) noexcept {
  if (peers_[peer].state != peer_state::near) return status::failed;
  outgoing& to = outgoing_[peer];
  if (to.front->is_ready.value() == 0) return status::retry;
  to.is_open = true;
  return send(peer, header, parts, nullptr);
}

status shm_transport::no_room(outgoing& to, std::uint32_t peer, std::size_t size) noexcept {
  if (to.front->has_left.value() != 0) {
    peers_[peer].state = peer_state::left;
    to.is_open = false;
    return status::failed;
  }
  if (to.refused_bytes == 0) room_refused_.push_back(peer);
  to.refused_bytes = size;
  return status::retry;
}

void shm_transport::announce(outgoing& to) noexcept {
  to.front->announced.announce(slot_);
  if (to.needs_fence) asymmetric::full_fence();
  (void)to.front->spot.wake_if_parked();
}

// --- receiving --------------------------------------------------------------------------------

int shm_transport::poll(arrivals& to, int budget) noexcept {
  if (own_.front().announced.any()) [[unlikely]]
    take_announced();
  if (--polls_to_look_ <= 0) [[unlikely]]
    look_around();
  int told = 0;
  const std::size_t count = next_.size();
  for (std::size_t looked = 0, place = first_; looked < count; ++looked) {
    if (next_[place]->load(std::memory_order_relaxed) != 0) {  // Relaxed: deliver() looks itself.
      told += deliver(place, to, budget - told);
      if (told >= budget) {
        first_ = place + 1 == count ? 0 : place + 1;
        break;
      }
    }
    if (++place == count) place = 0;
  }
  if (!failures_.empty()) [[unlikely]]
    told += tell_failures(to);
  return told;
}

int shm_transport::deliver(std::size_t place, arrivals& to, int budget) noexcept {
  incoming& from = incoming_[watched_[place]];
  from.has_spoken = true;
  // Also for a filler: most short messages lie behind one, which keeps them in a line.
  if (outgoing& back = outgoing_[from.peer]; back.is_open) [[likely]]
    back.ring.expect_answer(next_[place]->load(std::memory_order_relaxed));  // Relaxed: a hint.
  const auto outcome = from.inbox.deliver(from.peer, to, budget);
  next_[place] = from.inbox.next();
  if (outcome.room_told) tell_room(from);
  if (from.inbox.broken()) [[unlikely]] {
    if (peers_[from.peer].state != peer_state::failed)
      learn_failure(from.peer, "it wrote what makes no sense into shared memory");
  }
  return outcome.delivered;
}

void shm_transport::tell_room(const incoming& from) noexcept {
  const outgoing& back = outgoing_[from.peer];
  if (back.needs_fence) asymmetric::full_fence();
  if (from.control->room.take_request() && back.front != nullptr)
    (void)back.front->spot.wake_if_parked();
}

void shm_transport::watch(std::size_t slot) noexcept {
  // A bit of a broken process, or of a peer that has not been let in.
  if (slot >= incoming_.size() || incoming_[slot].is_watched) return;
  incoming& from = incoming_[slot];
  if (from.control == nullptr || from.inbox.broken()) return;
  from.is_watched = from.has_spoken = true;
  from.control->watch.watch();
  watched_.push_back(slot);
  next_.push_back(from.inbox.next());
}

void shm_transport::take_announced() noexcept {
  own_.front().announced.take([this](std::size_t slot) { watch(slot); });
  polls_to_look_ = 0;  // It may be a mark.
}

void shm_transport::look_around() noexcept {
  polls_to_look_ = polls_per_look;
  take_marks();
  const std::uint64_t now = now_ns();
  if (now < next_look_ns_) return;
  next_look_ns_ = now + static_cast<std::uint64_t>(shm_death_look_ns);
  for (std::uint32_t number = 0; number < peers_.size(); ++number) {
    peer& other = peers_[number];
    if (other.state != peer_state::near || other.process == nullptr || other.process->is_alive())
      continue;
    if (other.memory.front().has_left.value() != 0) {
      other.state = peer_state::left;
      outgoing_[number].is_open = false;
    } else {
      learn_failure(number, formatted("the process with pid {} has died", other.process->pid()));
    }
  }
  stop_watching_the_silent();
}

void shm_transport::stop_watching_the_silent() noexcept {
  const auto is_silent = [this](std::size_t slot) { return !incoming_[slot].has_spoken; };
  const auto silent = std::ranges::count_if(watched_, is_silent);
  if (watched_.size() > shm_rings_watched_min && silent > 0) {
    for (const std::size_t slot : watched_)
      if (is_silent(slot)) incoming_[slot].control->watch.stop();
    watch_flag<shared_atomics>::settle();
    const auto before = std::exchange(watched_, {});
    next_.clear();
    first_ = 0;
    watched_.reserve(incoming_.size());
    for (const std::size_t slot : before) {
      incoming_[slot].is_watched = false;
      if (!is_silent(slot) || !incoming_[slot].inbox.is_empty()) watch(slot);
    }
  }
  for (const std::size_t slot : watched_) incoming_[slot].has_spoken = false;
}

// --- failure ----------------------------------------------------------------------------------

void shm_transport::mark_failed(std::uint32_t peer, const char* why) noexcept {
  const std::lock_guard guard(marks_lock_);
  marks_.push_back({peer, why});
  is_marked_.store(true, std::memory_order_relaxed);  // Relaxed: the lock publishes the mark.
  // The endpoint's own ring is announced: that ends a sleep, and the next poll looks around.
  own_.front().announced.announce(slot_);
  (void)own_.front().spot.wake_if_parked();
}

void shm_transport::take_marks() noexcept {
  if (!is_marked_.exchange(false, std::memory_order_relaxed)) return;
  std::vector<failure> marks;
  {
    const std::lock_guard guard(marks_lock_);
    marks.swap(marks_);
  }
  for (failure& mark : marks) learn_failure(mark.peer, std::move(mark.why));
}

void shm_transport::learn_failure(std::uint32_t number, std::string why) noexcept {
  peer& dead = peers_[number];
  if (dead.state == peer_state::far || dead.state == peer_state::failed) return;
  dead.state = peer_state::failed;
  outgoing_[number].is_open = false;
  // It may have died between a message and its announcement.
  watch(dead.slot);
  failures_.push_back({number, std::move(why)});
}

int shm_transport::tell_failures(arrivals& to) noexcept {
  int told = 0;
  for (std::size_t i = 0; i < failures_.size();) {
    const incoming& from = incoming_[peers_[failures_[i].peer].slot];
    if (!from.inbox.is_empty() && ++failures_[i].polls < polls_until_cut) {
      ++i;
      continue;
    }
    const failure one = std::move(failures_[i]);
    failures_.erase(failures_.begin() + static_cast<std::ptrdiff_t>(i));
    std::size_t place = 0;
    while (place < watched_.size() && watched_[place] != peers_[one.peer].slot) ++place;
    if (place < watched_.size()) {  // Nothing more is read of it.
      watched_.erase(watched_.begin() + static_cast<std::ptrdiff_t>(place));
      next_.erase(next_.begin() + static_cast<std::ptrdiff_t>(place));
      first_ = 0;
    }
    to.peer_failed(one.peer, one.why.c_str());
    ++told;
  }
  return told;
}

// --- remote memory ----------------------------------------------------------------------------

memory_region shm_transport::register_memory(std::span<std::byte> memory, peer_access /*peers*/) {
  return {.begin = memory.data(),
          .size = memory.size(),
          .key = {{reinterpret_cast<std::uint64_t>(memory.data()), memory.size()}},
          .handle = nullptr};
}

status shm_transport::put(std::uint32_t peer, std::span<const std::byte> local,
                          const memory_region* /*region*/, const remote_key& key,
                          std::uint64_t offset, void* /*context*/) noexcept {
  const std::uint64_t begin = key.words[0], size = key.words[1];
  if (peers_[peer].state != peer_state::near || offset > size || local.size() > size - offset)
    return status::failed;
  if (local.empty()) return status::done;
  if (peers_[peer].process == nullptr) {
    std::memcpy(reinterpret_cast<void*>(begin + offset), local.data(), local.size());
    return status::done;
  }
  return peers_[peer].process->write(local, begin + offset) ? status::done : status::failed;
}

status shm_transport::get(std::uint32_t peer, std::span<std::byte> local,
                          const memory_region* /*region*/, const remote_key& key,
                          std::uint64_t offset, void* /*context*/) noexcept {
  const std::uint64_t begin = key.words[0], size = key.words[1];
  if (peers_[peer].state != peer_state::near || offset > size || local.size() > size - offset)
    return status::failed;
  if (local.empty()) return status::done;
  if (peers_[peer].process == nullptr) {
    std::memcpy(local.data(), reinterpret_cast<const void*>(begin + offset), local.size());
    return status::done;
  }
  return peers_[peer].process->read(local, begin + offset) ? status::done : status::failed;
}

// --- sleeping ---------------------------------------------------------------------------------

bool shm_transport::arm() noexcept {
  if (own_.front().announced.any()) return false;
  for (const std::size_t slot : watched_) incoming_[slot].control->watch.stop();
  want_room();
  own_.front().spot.announce();  // With the heavy fence for all of these.
  if (!something_there()) return true;
  disarm();
  return false;
}

bool shm_transport::something_there() noexcept {
  const auto has_some = [this](std::size_t slot) { return !incoming_[slot].inbox.is_empty(); };
  return own_.front().announced.any() || !failures_.empty() ||
         is_marked_.load(std::memory_order_relaxed) || std::ranges::any_of(watched_, has_some) ||
         room_came();
}

void shm_transport::disarm() noexcept {
  (void)own_.front().spot.cancel();
  for (const std::size_t slot : watched_) incoming_[slot].control->watch.watch();
  for (const std::uint32_t peer : room_refused_) {
    outgoing_[peer].refused_bytes = 0;
    outgoing_[peer].control->room.withdraw();
  }
  room_refused_.clear();
  polls_to_look_ = 0;  // What happened during the sleep?
}

void shm_transport::want_room() noexcept {
  for (const std::uint32_t peer : room_refused_) outgoing_[peer].control->room.want();
}

bool shm_transport::room_came() noexcept {
  return std::ranges::any_of(room_refused_, [this](std::uint32_t peer) {
    outgoing& to = outgoing_[peer];
    return !to.is_open || to.ring.try_reserve(to.refused_bytes);
  });
}

}  // namespace

std::unique_ptr<transport> make_shm_transport(const shm_options& options) {
  return std::make_unique<shm_transport>(options);
}

}  // namespace weft
