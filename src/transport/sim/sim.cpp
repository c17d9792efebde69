#include "transport/sim/sim.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/format.hpp"
#include "sync/parking.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

// The same numbers from the same seed on every machine.
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}

  // From 0 to `limit`, included.
  std::uint64_t up_to(std::uint64_t limit) noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t word = state_;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
    word = (word ^ word >> 27) * 0x94d049bb133111eb;
    return (word ^ word >> 31) % (limit + 1);
  }
  bool percent(int share) noexcept { return up_to(99) < static_cast<std::uint64_t>(share); }

 private:
  std::uint64_t state_;
};

struct message {
  wire_header header;
  std::vector<std::byte> bytes;
  // Of a posted one, whose bytes are fetched at the last moment: a sender that changes them too
  // early is found out.
  std::vector<std::span<const std::byte>> parts;
  void* context = nullptr;
  bool posted = false;
  std::uint64_t due = 0;  // In polls of the receiver.
};

// The messages under way from one endpoint to another.
class link {
 public:
  link(std::size_t capacity, std::uint64_t seed) : random(seed), slots_(capacity) {}

  [[nodiscard]] bool full() const noexcept { return count_ == slots_.size(); }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] message& front() noexcept { return at(0); }
  [[nodiscard]] message& at(std::size_t index) noexcept {
    return slots_[(first_ + index) % slots_.size()];
  }
  message& push() noexcept { return at(count_++); }
  void pop() noexcept {
    first_ = (first_ + 1) % slots_.size();
    --count_;
  }
  void keep(std::size_t count) noexcept { count_ = std::min(count_, count); }

  random_numbers random;
  std::uint64_t last_due = 0;
  std::uint64_t bytes_moved = 0;  // By puts and gets, too.
  bool delivering = false;        // The front is being told, without the lock.
  bool cut = false;               // The receiver has been told that the sender is dead.

 private:
  std::vector<message> slots_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

struct completion {
  void* context;
  bool failed;
  std::uint64_t due;
};

// A put or get that was posted.
struct remote_copy {
  bool is_put;
  std::byte* local;
  std::size_t size;
  std::uint32_t target;  // All endpoints here are positions in the network.
  remote_key key;
  std::uint64_t offset;
  void* context;
  std::uint64_t due;
  std::optional<std::uint64_t> told = {};
};

struct failure {
  std::uint32_t endpoint;
  std::string why;
};

struct sim_state {
  explicit sim_state(std::uint64_t seed) : random(seed) {}

  random_numbers random;
  bool left = false;
  bool dead = false;
  std::uint64_t sent = 0;
  std::uint64_t dies_after = UINT64_MAX;
  std::uint64_t polls = 0;
  std::vector<std::unique_ptr<link>> from;  // By sender; made at the first message.
  std::vector<std::uint32_t> peer_of;       // The job's number of each endpoint of the network.
  std::vector<bool> knows_failed;
  std::vector<failure> failures;  // Not yet told.
  std::vector<completion> completions;
  std::vector<remote_copy> copies;
  std::vector<std::uint64_t> written;  // Words of puts, not yet told.
  parking_spot<> spot;

  [[nodiscard]] bool gone() const noexcept { return left || dead; }
};

struct exposed_memory {
  std::uint32_t endpoint;
  std::span<std::byte> bytes;  // Empty: no longer there.
  peer_access peers = peer_access::none;
};

}  // namespace

class sim_fabric::network {
 public:
  explicit network(const sim_options& wanted) : options(wanted) {
    if (options.queue_capacity == 0)
      throw error("sim_options::queue_capacity is 0; at least one message must find room");
  }

  std::uint32_t add() {
    const auto number = static_cast<std::uint32_t>(states.size());
    states.push_back(std::make_unique<sim_state>(options.seed * 1000003 + number));
    return number;
  }

  link& between(std::uint32_t from, std::uint32_t to) {
    auto& links = states[to]->from;
    if (links.size() <= from) links.resize(states.size());
    if (links[from] == nullptr)
      links[from] =
          std::make_unique<link>(options.queue_capacity, options.seed * 7919 + from * 104729 + to);
    return *links[from];
  }

  void complete(sim_state& of, void* context, bool failed) {
    const auto wait = of.random.up_to(static_cast<std::uint64_t>(options.delay_polls_max));
    of.completions.push_back({context, failed, of.polls + wait});
    of.spot.wake_if_parked();
  }

  // Messages that went to or came from an endpoint that is no more; those kept still arrive.
  void cut_off(std::uint32_t endpoint, bool at_random) {
    for (std::uint32_t other = 0; other < states.size(); ++other) {
      link& out = between(endpoint, other);
      std::size_t keep = at_random ? out.random.up_to(out.count()) : out.count();
      for (std::size_t i = 0; i < keep; ++i)
        if (out.at(i).posted) keep = i;  // Its bytes went with the sender.
      out.keep(std::max<std::size_t>(keep, out.delivering ? 1 : 0));

      link& in = between(other, endpoint);
      for (std::size_t i = in.delivering ? 1 : 0; i < in.count(); ++i)
        if (in.at(i).posted) complete(*states[other], in.at(i).context, true);
      in.keep(in.delivering ? 1 : 0);
    }
  }

  void kill(std::uint32_t endpoint) {
    sim_state& victim = *states[endpoint];
    if (victim.gone()) return;
    victim.dead = true;
    cut_off(endpoint, true);
    for (const auto& other : states) learn_failure(*other, endpoint, "was killed by the test");
  }

  void learn_failure(sim_state& who, std::uint32_t dead, std::string why) {
    if (who.gone()) return;
    who.knows_failed.resize(states.size());
    if (who.knows_failed[dead]) return;
    who.knows_failed[dead] = true;
    who.failures.push_back({dead, std::move(why)});
    who.spot.wake_if_parked();
  }

  // Null when these bytes are not in what was registered for such a use.
  std::byte* bytes_at(std::uint32_t endpoint, const remote_key& key, std::uint64_t offset,
                      std::size_t size, bool is_put) {
    if (key.words[0] >= memory.size()) return nullptr;
    const exposed_memory& region = memory[key.words[0]];
    if (!allows(region.peers, is_put ? peer_access::write : peer_access::read)) return nullptr;
    if (region.endpoint != endpoint || offset > region.bytes.size() ||
        size > region.bytes.size() - offset)
      return nullptr;
    return region.bytes.data() + offset;
  }

  // Posted `by` that endpoint. False when it can never be done.
  bool copy(std::uint32_t by, const remote_copy& what) {
    std::byte* remote = bytes_at(what.target, what.key, what.offset, what.size, what.is_put);
    if (states[what.target]->gone() || remote == nullptr) return false;
    if (what.size != 0)
      std::memcpy(what.is_put ? remote : what.local, what.is_put ? what.local : remote, what.size);
    (what.is_put ? between(by, what.target) : between(what.target, by)).bytes_moved += what.size;
    if (what.told) {
      states[what.target]->written.push_back(*what.told);
      states[what.target]->spot.wake_if_parked();
    }
    return true;
  }

  const sim_options options;
  std::mutex lock;  // Guards all that follows.
  std::vector<std::unique_ptr<sim_state>> states;
  std::vector<exposed_memory> memory;
};

namespace {

using network = sim_fabric::network;

// What address() says.
struct sim_address {
  const void* network = nullptr;
  std::uint32_t endpoint = 0;
};

class sim_transport final : public transport {
 public:
  explicit sim_transport(std::shared_ptr<network> in) : network_(std::move(in)) {
    const std::lock_guard guard(network_->lock);
    number_ = network_->add();
    state_ = network_->states[number_].get();
    const sim_options& options = network_->options;
    traits_ = {.name = "sim",
               .detail = "one process",
               .message_bytes_max = options.message_bytes_max,
               .inject_bytes_max = options.inject_bytes_max,
               .can_put = options.can_put,
               .can_get = options.can_get,
               .can_tell_put = options.can_tell_put,
               .put_message_bytes_max = options.put_message_bytes_max,
               .needs_registration = options.needs_registration,
               .registration_opens = options.registration_opens};
  }

  ~sim_transport() override {
    const std::lock_guard guard(network_->lock);
    if (state_->dead) return;
    state_->left = true;
    network_->cut_off(number_, false);
  }

  const transport_traits& traits() const noexcept override { return traits_; }

  std::vector<std::byte> address() const override {
    const sim_address mine{network_.get(), number_};
    std::vector<std::byte> bytes(sizeof mine);
    std::memcpy(bytes.data(), &mine, sizeof mine);
    return bytes;
  }

  void connect(std::span<const std::vector<std::byte>> addresses, std::uint32_t self) override {
    const std::lock_guard guard(network_->lock);
    endpoint_of_.assign(addresses.size(), nowhere);
    state_->peer_of.assign(network_->states.size(), nowhere);
    for (std::uint32_t peer = 0; peer < addresses.size(); ++peer) {
      sim_address theirs;
      if (addresses[peer].size() != sizeof theirs) continue;
      std::memcpy(&theirs, addresses[peer].data(), sizeof theirs);
      if (theirs.network != network_.get() || theirs.endpoint >= network_->states.size()) continue;
      endpoint_of_[peer] = theirs.endpoint;
      state_->peer_of[theirs.endpoint] = peer;
    }
    if (self >= addresses.size() || endpoint_of_[self] != number_)
      throw error(
          formatted("sim: endpoint {} is not this one; connect() needs its own number", self));
  }

  bool reaches(std::uint32_t peer) const noexcept override {
    return peer < endpoint_of_.size() && endpoint_of_[peer] != nowhere;
  }

  status send(std::uint32_t peer, const wire_header& header, wire_parts parts,
              void* context) noexcept override {
    const std::lock_guard guard(network_->lock);
    const std::uint32_t to = endpoint_of_[peer];
    if (is_lost(to)) return status::failed;
    std::size_t size = 0;
    for (const auto& part : parts) size += part.size();
    WEFT_ASSERT(size <= traits_.message_bytes_max);

    link& out = network_->between(number_, to);
    if (out.full() || state_->random.percent(network_->options.refusals_percent))
      return status::retry;
    sim_state& receiver = *network_->states[to];
    const bool posted =
        context != nullptr && size > traits_.inject_bytes_max && state_->random.up_to(2) != 0;
    message& slot = out.push();
    fill(slot, header, parts, posted ? context : nullptr);
    const auto delay =
        out.random.up_to(static_cast<std::uint64_t>(network_->options.delay_polls_max));
    slot.due = out.last_due = std::max(out.last_due, receiver.polls + delay);
    if (out.cut) {  // To somebody who takes this endpoint for dead.
      if (posted) network_->complete(*state_, context, false);
      out.keep(out.count() - 1);
    }
    receiver.spot.wake_if_parked();
    if (++state_->sent >= state_->dies_after) network_->kill(number_);
    return posted ? status::posted : status::done;
  }

  int poll(arrivals& to, int budget) noexcept override {
    std::unique_lock guard(network_->lock);
    if (state_->dead) return 0;
    ++state_->polls;
    int told = run_copies();
    told += tell_completions(to, guard);
    told += tell_written(to, guard);
    for (int i = 0; i < budget && deliver_one(to, guard); ++i) ++told;
    return told + tell_failures(to, guard);
  }

  memory_region register_memory(std::span<std::byte> memory, peer_access peers) override {
    const std::lock_guard guard(network_->lock);
    memory_region region{.begin = memory.data(), .size = memory.size(), .key = {}, .handle = this};
    region.key.words[0] = network_->memory.size();
    network_->memory.push_back({number_, memory, peers});
    return region;
  }
  void deregister(memory_region& region) noexcept override {
    const std::lock_guard guard(network_->lock);
    WEFT_ASSERT(region.handle == this);
    network_->memory[region.key.words[0]] = {number_, {}};
    region = {};
  }

  status put(std::uint32_t peer, std::span<const std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override {
    WEFT_ASSERT(traits_.can_put);
    // The copy only reads what it puts.
    return start_copy(true, peer, const_cast<std::byte*>(local.data()), local.size(), region, key,
                      offset, context);
  }
  status put_and_tell(std::uint32_t peer, std::span<const std::byte> local,
                      const memory_region* region, const remote_key& key, std::uint64_t offset,
                      std::uint64_t word, void* context) noexcept override {
    WEFT_ASSERT(traits_.can_tell_put && endpoint_of_[peer] != number_);
    return start_copy(true, peer, const_cast<std::byte*>(local.data()), local.size(), region, key,
                      offset, context, word);
  }
  status get(std::uint32_t peer, std::span<std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override {
    WEFT_ASSERT(traits_.can_get);
    return start_copy(false, peer, local.data(), local.size(), region, key, offset, context);
  }

  bool arm() noexcept override {
    const std::lock_guard guard(network_->lock);
    if (something_there()) return false;
    state_->spot.announce();
    return true;
  }
  void disarm() noexcept override { (void)state_->spot.cancel(); }
  bell ringing() const noexcept override {
    return {.word = &state_->spot.word(), .value = parking_spot<>::parked, .shared = false};
  }

  void mark_failed(std::uint32_t peer, const char* why) noexcept override {
    const std::lock_guard guard(network_->lock);
    const std::uint32_t dead = endpoint_of_[peer];
    if (dead == nowhere) return;
    network_->learn_failure(*state_, dead, why);
    // What this endpoint had posted to it will never be asked for again.
    link& out = network_->between(number_, dead);
    const std::size_t kept = out.delivering ? 1 : 0;
    for (std::size_t i = kept; i < out.count(); ++i)
      if (out.at(i).posted) network_->complete(*state_, out.at(i).context, true);
    out.keep(kept);
  }

 private:
  static constexpr std::uint32_t nowhere = UINT32_MAX;

  bool is_lost(std::uint32_t endpoint) const noexcept {
    return endpoint == nowhere || state_->dead || network_->states[endpoint]->gone() ||
           (endpoint < state_->knows_failed.size() && state_->knows_failed[endpoint]);
  }

  static void fill(message& slot, const wire_header& header, wire_parts parts, void* context) {
    slot.header = header;
    slot.context = context;
    slot.posted = context != nullptr;
    slot.parts.assign(parts.begin(), parts.end());
    if (!slot.posted) gather(slot);
  }
  static void gather(message& slot) {
    slot.bytes.clear();
    for (const auto& part : slot.parts)
      slot.bytes.insert(slot.bytes.end(), part.begin(), part.end());
  }

  bool something_there() const noexcept {
    const auto has_some = [](const auto& in) { return in != nullptr && in->count() != 0; };
    return !state_->failures.empty() || !state_->completions.empty() || !state_->copies.empty() ||
           !state_->written.empty() || std::ranges::any_of(state_->from, has_some);
  }

  // One message whose time has come, of a sender drawn from the seed.
  bool deliver_one(arrivals& to, std::unique_lock<std::mutex>& guard) {
    auto& links = state_->from;
    const auto is_ready = [&](std::size_t i) {
      return links[i] != nullptr && links[i]->count() != 0 && !links[i]->cut &&
             links[i]->front().due <= state_->polls;
    };
    std::size_t ready = 0;
    for (std::size_t i = 0; i < links.size(); ++i) ready += is_ready(i) ? 1 : 0;
    if (ready == 0 || state_->dead) return false;
    std::size_t chosen = state_->random.up_to(ready - 1);
    std::size_t sender = 0;
    while (!is_ready(sender) || chosen-- != 0) ++sender;

    link& in = *links[sender];
    message& first = in.front();
    if (first.posted) gather(first);
    in.delivering = true;
    in.bytes_moved += first.bytes.size();
    guard.unlock();
    to.delivered(state_->peer_of[sender], first.header, first.bytes);
    guard.lock();
    in.delivering = false;
    if (first.posted) network_->complete(*network_->states[sender], first.context, false);
    in.pop();
    return true;
  }

  int tell_completions(arrivals& to, std::unique_lock<std::mutex>& guard) {
    int told = 0;
    for (std::size_t i = 0; i < state_->completions.size();) {
      const completion one = state_->completions[i];
      if (one.due > state_->polls) {
        ++i;
        continue;
      }
      state_->completions[i] = state_->completions.back();
      state_->completions.pop_back();
      guard.unlock();
      to.completed(one.context, one.failed);
      guard.lock();
      ++told;
    }
    return told;
  }

  int tell_written(arrivals& to, std::unique_lock<std::mutex>& guard) {
    int told = 0;
    for (; !state_->written.empty(); ++told) {
      const std::uint64_t word = state_->written.back();
      state_->written.pop_back();
      guard.unlock();
      to.written(word);
      guard.lock();
    }
    return told;
  }

  // A failure is told when the messages that the dead endpoint had sent are through.
  int tell_failures(arrivals& to, std::unique_lock<std::mutex>& guard) {
    int told = 0;
    for (std::size_t i = 0; i < state_->failures.size();) {
      link& in = network_->between(state_->failures[i].endpoint, number_);
      if (in.count() != 0) {
        ++i;
        continue;
      }
      in.cut = true;
      const failure one = std::move(state_->failures[i]);
      state_->failures.erase(state_->failures.begin() + static_cast<std::ptrdiff_t>(i));
      guard.unlock();
      to.peer_failed(state_->peer_of[one.endpoint], one.why.c_str());
      guard.lock();
      ++told;
    }
    return told;
  }

  status start_copy(bool is_put, std::uint32_t peer, std::byte* local, std::size_t size,
                    const memory_region* region, const remote_key& key, std::uint64_t offset,
                    void* context, std::optional<std::uint64_t> told = {}) noexcept {
    const std::lock_guard guard(network_->lock);
    WEFT_ASSERT(!traits_.needs_registration || region != nullptr);
    const std::uint32_t target = endpoint_of_[peer];
    if (is_lost(target)) return status::failed;
    const sim_options& options = network_->options;
    if (state_->copies.size() >= options.queue_capacity ||
        state_->random.percent(options.refusals_percent))
      return status::retry;
    const auto delay = state_->random.up_to(static_cast<std::uint64_t>(options.delay_polls_max));
    const remote_copy what{is_put, local, size, target, key, offset, context, state_->polls + delay,
                           told};
    if (network_->bytes_at(target, key, offset, size, is_put) == nullptr) return status::failed;
    if (context == nullptr || delay == 0)
      return network_->copy(number_, what) ? status::done : status::failed;
    state_->copies.push_back(what);
    return status::posted;
  }

  int run_copies() {
    int done = 0;
    for (std::size_t i = 0; i < state_->copies.size();) {
      const remote_copy one = state_->copies[i];
      const bool lost = is_lost(one.target);
      if (one.due > state_->polls && !lost) {
        ++i;
        continue;
      }
      network_->complete(*state_, one.context, lost || !network_->copy(number_, one));
      state_->copies.erase(state_->copies.begin() + static_cast<std::ptrdiff_t>(i));
      ++done;
    }
    return done;
  }

  const std::shared_ptr<network> network_;
  std::uint32_t number_ = 0;  // In the network.
  sim_state* state_ = nullptr;
  transport_traits traits_{};
  std::vector<std::uint32_t> endpoint_of_;  // By peer.
};

}  // namespace

sim_fabric::sim_fabric(const sim_options& options) : network_(std::make_shared<network>(options)) {}

std::unique_ptr<transport> sim_fabric::make_endpoint() {
  return std::make_unique<sim_transport>(network_);
}

void sim_fabric::kill(std::uint32_t endpoint) {
  const std::lock_guard guard(network_->lock);
  network_->kill(endpoint);
}

std::uint64_t sim_fabric::bytes_moved(std::uint32_t from, std::uint32_t to) const {
  const std::lock_guard guard(network_->lock);
  return network_->between(from, to).bytes_moved;
}

void sim_fabric::kill_after(std::uint32_t endpoint, std::uint64_t messages) {
  const std::lock_guard guard(network_->lock);
  sim_state& state = *network_->states[endpoint];
  state.dies_after = state.sent + messages;
}

}  // namespace weft
