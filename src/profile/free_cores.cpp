#include "profile/free_cores.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>

#include "base/clock.hpp"

namespace weft::profile {
namespace {

// From `since` on until the next change.
struct change {
  std::uint64_t since = 0;
  std::uint64_t free_before = 0;  // Ticks.
  bool any_free = false;
};
constexpr std::size_t changes_kept = 4096;

struct state {
  std::mutex lock;
  int free = 0;
  std::array<change, changes_kept> changes{};
  std::size_t count = 0;

  [[nodiscard]] const change& at(std::size_t number) const noexcept {
    return changes[number % changes_kept];
  }
  void note(bool any_free) noexcept {
    const std::uint64_t now = ticks();
    std::uint64_t before = 0;
    if (count != 0) {
      const change& last = at(count - 1);
      before = last.free_before + (last.any_free ? now - std::min(now, last.since) : 0);
    }
    changes[count++ % changes_kept] = {now, before, any_free};
  }
};
constinit state here_free;

}  // namespace

void begin_free_core() noexcept {
  const std::lock_guard hold(here_free.lock);
  if (here_free.free++ == 0) here_free.note(true);
}

void end_free_core() noexcept {
  const std::lock_guard hold(here_free.lock);
  if (--here_free.free == 0) here_free.note(false);
}

std::uint64_t free_until(std::uint64_t when) noexcept {
  const std::lock_guard hold(here_free.lock);
  const std::size_t oldest = here_free.count - std::min(here_free.count, changes_kept);
  for (std::size_t i = here_free.count; i > oldest; --i) {
    const change& c = here_free.at(i - 1);
    if (c.since <= when) return c.free_before + (c.any_free ? when - c.since : 0);
  }
  return oldest == here_free.count ? 0 : here_free.at(oldest).free_before;
}

void forget_free_cores() noexcept {
  const std::lock_guard hold(here_free.lock);
  here_free.free = 0;
  here_free.count = 0;
}

}  // namespace weft::profile
