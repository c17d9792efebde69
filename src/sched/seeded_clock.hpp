// The time by which fibers sleep on a worker whose schedule a seed decides.
#pragma once
#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace weft {

// It goes on by a little with each switch, so that nobody who yields for ever keeps others asleep, and to the
// first alarm when nothing else is to be done. Where an alarm's real time has not come yet the worker waits for
// it. So what a sleep meets is the same each time, and no sleep is shorter than it says. Used by its worker alone.
class seeded_clock {
 public:
  class alarm {
   public:
    alarm(seeded_clock& clock, std::uint64_t duration_ns, std::uint64_t deadline_ns)
        : clock_(clock), at_(clock.alarms_.emplace(clock.now_ns_ + duration_ns, deadline_ns)) {}
    alarm(const alarm&) = delete;
    alarm& operator=(const alarm&) = delete;
    ~alarm() { clock_.alarms_.erase(at_); }

    [[nodiscard]] bool is_due() const noexcept { return clock_.now_ns_ >= at_->first; }

   private:
    seeded_clock& clock_;
    const std::multiset<std::pair<std::uint64_t, std::uint64_t>>::iterator at_;
  };

  // Until when the worker has to wait: the latest real deadline of the alarms that are due; 0 for none.
  [[nodiscard]] std::uint64_t tick() noexcept {
    now_ns_ += 1000;
    std::uint64_t deadline_ns = 0;
    for (const auto& [due_ns, real_ns] : alarms_) {
      if (due_ns > now_ns_) break;
      deadline_ns = std::max(deadline_ns, real_ns);
    }
    return deadline_ns;
  }

  // Called when no fiber can run; true when one can now.
  bool advance(std::uint64_t real_now_ns) noexcept {
    if (alarms_.empty()) return false;
    const auto& [due_ns, deadline_ns] = *alarms_.begin();
    if (due_ns <= now_ns_ || real_now_ns < deadline_ns) return false;
    now_ns_ = due_ns;
    return true;
  }
  // When advance() goes on; 0: there is no alarm.
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept {
    return alarms_.empty() ? 0 : alarms_.begin()->second;
  }

 private:
  std::uint64_t now_ns_ = 0;
  std::multiset<std::pair<std::uint64_t, std::uint64_t>>
      alarms_;  // When due, by this clock and by the real one.
};

}  // namespace weft
