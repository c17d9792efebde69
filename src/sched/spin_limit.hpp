// How long a worker that has found nothing spins before it sleeps: as long as spinning has paid lately.
// docs/decisions/looking-pays-for-itself.md.
//
// A spin that ends with work has taken nothing from anybody, and has saved a wake-up of some microseconds. A spin that ends
// in sleep was in vain. Only vain spins are paid for, out of a credit that grows with time. So a worker whose waits are short
// always spins, and one whose waits are long spins for a small share of the time. A credit that is shorter than the last waits
// were is saved until it is long enough, or full: spent at once it would never be. The number of times that the kernel has taken
// the core from the worker shows whether other programs want the core. While they do, each spin takes time from them, and the
// worker spins for the shortest time only.
#pragma once
#include <algorithm>
#include <cstdint>

namespace weft {

// Touched by its worker's thread alone.
class spin_limit {
 public:
  // A spin lasts at least so long. When `at_most_ns` is the same, always just so long.
  spin_limit(std::uint64_t at_least_ns, std::uint64_t at_most_ns) noexcept
      : at_least_ns_(at_least_ns), at_most_ns_(at_most_ns), credit_ns_(at_most_ns) {}

  // Whether the worker sleeps now, after it has spun for `spun_ns`. `has_slept`: it has slept in this wait already, so the
  // wait is a long one. `count_forced_switches` returns how often the kernel has taken the core from this thread so far.
  template <class Count>
  [[nodiscard]] bool is_reached(std::uint64_t spun_ns, std::uint64_t now_ns, bool has_slept,
                                const Count& count_forced_switches) noexcept {
    // A smaller value than at the last call: a new wait. The one before ended while the worker spun.
    if (spun_ns < spun_ns_) note_waited(spun_ns_);
    spun_ns_ = spun_ns;
    if (spun_ns < at_least_ns_) return false;
    if (at_least_ns_ >= at_most_ns_ || has_slept) return true;
    if (now_ns - sampled_at_ns_ >= sample_every_ns) {
      sampled_at_ns_ = now_ns;
      note_forced_switches(count_forced_switches(), now_ns);
    }
    if (now_ns < has_neighbours_until_ns_) return true;
    const std::uint64_t credit = credit_at(now_ns);
    const bool may_do =
        credit == at_most_ns_ || std::min(waited_last_ns_, waited_before_ns_) <= credit;
    return !may_do || spun_ns >= credit;
  }

  // Called when the worker goes to sleep after it has spun for `spun_ns`. The first at_least_ns_ cost no credit.
  void note_vain(std::uint64_t spun_ns, std::uint64_t now_ns) noexcept {
    if (at_least_ns_ >= at_most_ns_) return;
    const std::uint64_t credit = credit_at(now_ns);
    credit_ns_ = credit - std::min(credit, spun_ns - std::min(spun_ns, at_least_ns_));
    credited_at_ns_ = now_ns;
    spun_ns_ = 0;
  }

  // Called when the worker has woken up, `waited_ns` after the spin began.
  void note_waited(std::uint64_t waited_ns) noexcept {
    waited_before_ns_ = waited_last_ns_;
    waited_last_ns_ = waited_ns;
  }

 private:
  static constexpr std::uint64_t share = 25;  // Vain spins may take a 25th of the time.
  static constexpr std::uint64_t sample_every_ns = 200'000;  // A sample is a system call.
  // Two programs that compute take turns every few milliseconds; threads of the kernel come some 20 times a second,
  // several at once.
  static constexpr std::uint64_t window_ns = 100'000'000;
  static constexpr std::uint64_t switches_of_neighbours = 8;  // In a window.
  static constexpr std::uint64_t neighbours_ns_min = 200'000'000;
  static constexpr std::uint64_t neighbours_ns_max = 3'200'000'000;

  [[nodiscard]] std::uint64_t credit_at(std::uint64_t now_ns) const noexcept {
    return std::min(at_most_ns_, credit_ns_ + (now_ns - credited_at_ns_) / share);
  }

  void note_forced_switches(std::uint64_t count, std::uint64_t now_ns) noexcept {
    const std::uint64_t passed_ns = now_ns - window_began_ns_;
    const std::uint64_t forced = count - count_at_begin_;
    const bool crowds = window_began_ns_ != 0 && forced >= switches_of_neighbours &&
                        forced * window_ns >= switches_of_neighbours * passed_ns;
    if (!crowds && window_began_ns_ != 0 && passed_ns < window_ns) return;
    window_began_ns_ = now_ns;
    count_at_begin_ = count;
    if (!crowds) return;
    // Found again while, or soon after, the last ones were believed: believe in these for twice as long.
    const bool is_again = now_ns < has_neighbours_until_ns_ + 2 * neighbours_ns_;
    neighbours_ns_ = is_again ? std::min(2 * neighbours_ns_, neighbours_ns_max) : neighbours_ns_min;
    has_neighbours_until_ns_ = now_ns + neighbours_ns_;
  }

  const std::uint64_t at_least_ns_;
  const std::uint64_t at_most_ns_;
  std::uint64_t credit_ns_;  // At the time credited_at_ns_; see credit_at().
  std::uint64_t credited_at_ns_ = 0;
  std::uint64_t spun_ns_ = 0;           // In the present wait, at the last call of is_reached().
  std::uint64_t waited_last_ns_ = 0;    // How long the last wait took.
  std::uint64_t waited_before_ns_ = 0;  // The last but one: long and short waits may take turns.
  std::uint64_t sampled_at_ns_ = 0;
  std::uint64_t window_began_ns_ = 0;  // 0: no sample yet.
  std::uint64_t count_at_begin_ = 0;
  std::uint64_t neighbours_ns_ = neighbours_ns_min;
  std::uint64_t has_neighbours_until_ns_ = 0;
};

}  // namespace weft
