#include "comm/spin_lock.hpp"

#include <algorithm>

#include "base/kernel.hpp"

namespace weft::comm {
namespace {

void pause_often(unsigned times) noexcept {
  for (unsigned i = 0; i < times; ++i) pause();
}

// The lock that this thread waits for, and what it has seen of the holder's work.
struct wanted_lock {
  const spin_lock* lock = nullptr;  // Only compared.
  std::uint32_t work = 0;
  unsigned looks = 0;
};
thread_local constinit wanted_lock wanted;

}  // namespace

void back_off::wait() noexcept {
  if (rounds_ >= spin_rounds_max) {
    give_core_up();
    return;
  }
  pause_often(1u << rounds_);
  ++rounds_;
}

void lock_guard::enter_slowly() noexcept {
  back_off patience;
  do {
    while (!lock_->looks_free()) patience.wait();
  } while (!lock_->try_enter(this_thread_mark()));
}

bool try_enter_in_turn(spin_lock& lock) noexcept {
  if (wanted.lock != &lock) wanted = {&lock, lock.work(), 0};
  if (wanted.looks < lock_looks_max) {
    // Each look takes the line from the holder, so they become rare.
    pause_often(1u << std::min(lock_pause_rounds_min + wanted.looks, lock_pause_rounds_max));
    ++wanted.looks;
    const std::uint32_t work = lock.work();
    if (std::exchange(wanted.work, work) != work) return false;
  } else if (++wanted.looks > 2 * lock_looks_max) {
    give_core_up();  // The holder may have no processor.
  }
  // The holder does nothing, or has had the lock for long enough. It may hold it for a poll: hence several attempts.
  for (int attempts = 0; attempts < lock_attempts_max; ++attempts) {
    if (lock.looks_free() && lock.try_enter(this_thread_mark())) {
      wanted = {};
      return true;
    }
    pause();
  }
  return false;
}

}  // namespace weft::comm
