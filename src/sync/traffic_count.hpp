// What the devices of a process have sent and received, for whoever asks whether messages are under way. All numbers only grow,
// so two equal looks say that nothing has been counted in between.
//
// The worker that parks last looks before and after it parks. Whoever had counted before all were parked is seen by the
// second look; who counts afterwards is not seen by the first. So equal looks have the numbers of the moment at which all
// were parked. A thread that is no worker may have a message in hand at that moment, counted and not acted upon: each of its
// turns counts as a life, and none may have been lived between the looks.
//
//   R1 raise: store a count -- A1 add_to: load it   who sees a count sees what was done before it was raised: that another
//                                                   count was raised, that a thread that is no worker has begun
//
// docs/protocols/processes.md.
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"
#include "sync/lifetime_count.hpp"

namespace weft {

// A sum over devices.
struct traffic {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t begun =
      0;  // Operations that a network ends without a message, and how many of them have ended.
  std::uint64_t ended = 0;
  bool operator==(const traffic&) const = default;
};

template <class Atomics = std_atomics>
class traffic_count {
 public:
  // Called by the device's worker. A message is counted before it is sent, and before anybody acts on it.
  void count_sent() noexcept { raise(sent_); }
  void count_received() noexcept { raise(received_); }
  void count_begun() noexcept { raise(begun_); }
  void count_ended() noexcept { raise(ended_); }
  // Called in a turn of the thread that is no worker. It counts apart: the worker may be counting at the same time what
  // it sends, and what comes over another network.
  void count_sent_in_turn() noexcept { raise(sent_in_turns_); }
  void count_received_in_turn() noexcept { raise(received_in_turns_); }

  // Called by any thread.
  void add_to(traffic& sum) const noexcept {
    sum.sent += value(sent_) + value(sent_in_turns_);
    sum.received += value(received_) + value(received_in_turns_);
    sum.begun += value(begun_);
    sum.ended += value(ended_);
  }
  // Called by the device's worker. Relaxed: nobody else writes these.
  [[nodiscard]] bool any_under_way() const noexcept {
    return begun_.load(std::memory_order_relaxed) != ended_.load(std::memory_order_relaxed);
  }

 private:
  using number = typename Atomics::template atomic<std::uint64_t>;

  static void raise(number& count) noexcept {
    // Relaxed: one thread at a time writes a number.
    count.store(count.load(std::memory_order_relaxed) + 1, Atomics::release("R1"));
  }
  static std::uint64_t value(const number& count) noexcept {
    return count.load(Atomics::acquire("A1"));
  }

  number sent_{0}, received_{0}, begun_{0}, ended_{0};
  number sent_in_turns_{0}, received_in_turns_{0};
};

// A look at all devices of a process.
struct traffic_look {
  std::uint64_t turns_ended = 0;  // Of threads that are no workers.
  traffic sums;
};

// `add_all` adds each device's counts to a sum. How many turns have ended comes first: what those have counted is in the sums.
template <class AddAll, class Atomics>
[[nodiscard]] traffic_look look_at_traffic(const lifetime_count<Atomics>& turns,
                                           const AddAll& add_all) noexcept {
  traffic_look seen;
  seen.turns_ended = turns.ended();
  add_all(seen.sums);
  return seen;
}

// Whether both looks have the numbers of a moment in between at which all workers were parked, as there was one.
template <class Atomics>
[[nodiscard]] bool are_of_one_moment(const lifetime_count<Atomics>& turns,
                                     const traffic_look& first,
                                     const traffic_look& second) noexcept {
  return first.sums == second.sums && turns.none_since(first.turns_ended);
}

}  // namespace weft
