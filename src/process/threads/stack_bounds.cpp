// pthread_getattr_np() of programs of weftcc, in libweft.so, where it stands before the C library's: a rank that asks for its own
// stack, as collectors of garbage and interpreters do, hears of the one that it runs on, not of its worker's. Not part of libweft.a.
#include <pthread.h>

#include <atomic>
#include <span>

#include "base/library_function.hpp"
#include "sched/worker.hpp"

namespace {

using bounds_call = int(pthread_t, pthread_attr_t*) noexcept;

// The stack of the rank's fiber that calls; empty on threads that are none's.
std::span<std::byte> stack_of_caller() noexcept {
  const weft::worker* const here = weft::worker::current();
  if (here == nullptr || weft::origin_of_this_thread().identity != nullptr) return {};
  return here->running_here().stack;
}

}  // namespace

extern "C" int pthread_getattr_np(pthread_t thread, pthread_attr_t* attributes) noexcept {
  // It has no guard: a sanitizer intercepts guards, and calls this for a thread that it does not know yet.
  static constinit std::atomic<bounds_call*> known{nullptr};
  // Relaxed: a pointer to code, the same whoever finds it.
  auto* next = known.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = weft::next_definition<bounds_call>("pthread_getattr_np");
    known.store(next, std::memory_order_relaxed);
  }
  const int failed = next(thread, attributes);
  if (failed != 0 || ::pthread_equal(thread, ::pthread_self()) == 0) return failed;
  const std::span<std::byte> own = stack_of_caller();
  return own.empty() ? 0 : ::pthread_attr_setstack(attributes, own.data(), own.size());
}
