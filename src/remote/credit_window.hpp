// How much may be under way to one receiver. The sender takes credits before it sends, and waits where there are none; the
// receiver gives them back when it has used what was sent. What the receiver owes is told with what it sends there
// anyway, and by itself when it is much.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "sched/scheduler.hpp"
#include "sync/credits.hpp"

namespace weft::remote {

// Credits that one worker alone takes and gets back; credits<> (sync/credits.hpp) is for several. There is room while
// what is taken stays within `limit`, and always for one message.
class worker_credits {
 public:
  explicit worker_credits(std::uint64_t limit) noexcept : limit_(limit) {}

  [[nodiscard]] bool has_room(std::uint64_t cost) const noexcept {
    return taken_ == 0 || taken_ + cost <= limit_;
  }
  [[nodiscard]] bool take_or_wait(std::uint64_t cost) noexcept {
    if (!has_room(cost)) return false;
    taken_ += cost;
    return true;
  }
  // The fibers of the worker look again in its next pass.
  struct answer {
    static constexpr bool wake_all = false;
  };
  answer give_back(std::uint64_t cost) noexcept {
    taken_ -= std::min(cost, taken_);
    return {};
  }
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

 private:
  std::uint64_t limit_;
  std::uint64_t taken_ = 0;
};

// The sender's side.
template <class Credits>
class credit_window {
 public:
  explicit credit_window(std::uint64_t limit) noexcept : credits_(limit) {}

  // False: there is no room.
  [[nodiscard]] bool try_take(std::uint64_t cost) noexcept { return credits_.take_or_wait(cost); }
  // Waits for room. False: `is_lost()`, the receiver is dead. Throws job_stopped.
  template <class IsLost>
  [[nodiscard]] bool take_in_wait(worker& here, std::uint64_t cost, const IsLost& is_lost,
                                  const wait_description& what) {
    bool has_room = false, lost = false;
    // The condition is looked at once more after it was true.
    here.wait_until(
        [&] {
          if (has_room || lost) return true;
          has_room = try_take(cost);
          lost = !has_room && is_lost();
          return has_room || lost;
        },
        what);
    return has_room;
  }
  // Called when the receiver says so, or what was to be sent has not left. `workers` are those whose fibers may wait.
  void give_back(scheduler& workers, std::uint64_t cost) noexcept {
    const auto said = credits_.give_back(cost);
    if (!said.wake_all) [[likely]]
      return;
    for (int i = 0; i < workers.worker_count(); ++i) workers.at(i).notify();
  }
  // A hint where several workers send.
  [[nodiscard]] std::uint64_t taken() const noexcept { return credits_.taken(); }
  [[nodiscard]] const Credits& credits() const noexcept { return credits_; }

 private:
  Credits credits_;
};

// The receiver's side: what it has used and not told yet. Called by any worker. Relaxed throughout: a sum, of which one
// takes all; what is told publishes no other memory.
class owed_credits {
 public:
  // Adds to them. Returns those to be told now, by a message of their own: all, once there are `told_at_once`; else 0.
  [[nodiscard]] std::uint64_t add(std::uint64_t cost, std::uint64_t told_at_once) noexcept {
    if (owed_.fetch_add(cost, std::memory_order_relaxed) + cost < told_at_once) [[likely]]
      return 0;
    return owed_.exchange(0, std::memory_order_relaxed);
  }
  // Takes at most `most`, for a message that goes there anyway.
  [[nodiscard]] std::uint64_t take(std::uint64_t most) noexcept {
    if (owed_.load(std::memory_order_relaxed) == 0) return 0;
    const std::uint64_t all = owed_.exchange(0, std::memory_order_relaxed);
    if (all > most) [[unlikely]]
      put_back(all - most);
    return std::min(all, most);
  }
  // That message has not left.
  void put_back(std::uint64_t cost) noexcept { owed_.fetch_add(cost, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> owed_{0};
};

}  // namespace weft::remote
