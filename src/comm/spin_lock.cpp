#include "comm/spin_lock.hpp"

#include <sched.h>

namespace weft::comm {

void back_off::wait() noexcept {
  if (rounds_ >= spin_rounds_max) {
    sched_yield();
    return;
  }
  for (unsigned i = 0; i < (1u << rounds_); ++i) pause();
  ++rounds_;
}

void lock_guard::enter_slowly() noexcept {
  back_off patience = back_off::from_lock();
  do {
    while (!lock_->looks_free()) patience.wait();
  } while (!lock_->try_enter(this_thread_mark()));
}

}  // namespace weft::comm
