// Calls of pthreads in which a rank waits for threads of its program, in libweft.so, where they stand before
// those of the C library: the rank lets other ranks run meanwhile, for which these threads may be waiting. Not part of
// libweft.a.
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <new>

#include "base/clock.hpp"
#include "base/kernel.hpp"
#include "rank/program.h"
#include "sched/worker.hpp"
#include "sync/thread_barrier.hpp"

namespace weft {
namespace {

template <class Function>
Function* next_definition(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// `attempt` gives EBUSY until there is nothing to wait for; `block` waits in the kernel.
template <class Attempt, class Block>
int wait_for_thread(const Attempt& attempt, const Block& block) {
  if (!worker::in_shared_program()) [[likely]]
    return block();
  for (long long rest = 0;;) {
    if (const int result = attempt(); result != EBUSY) return result;
    if (weft_lets_others_run(&rest) == 0) return block();
  }
}

timespec monotonic(std::uint64_t ns) noexcept {
  constexpr std::uint64_t ns_per_s = 1'000'000'000;
  return {static_cast<time_t>(ns / ns_per_s), static_cast<long>(ns % ns_per_s)};
}

// --- Barriers ------------------------------------------------------------------------------------

// In place of the C library's, of which nobody can ask whether all others have come.
class barrier {
 public:
  barrier(unsigned members, bool between_processes) noexcept
      : meeting_(members), between_processes_(between_processes) {}

  int wait() noexcept {
    const auto [round, is_last] = meeting_.arrive();
    if (is_last)
      futex(FUTEX_WAKE, INT32_MAX);
    else
      wait_for_end_of(round);
    meeting_.leave();
    return is_last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
  }
  void wait_until_empty() const noexcept {
    while (!meeting_.is_empty()) give_core_up();
  }

 private:
  void wait_for_end_of(std::uint32_t round) noexcept {
    wait_for_thread([&] { return meeting_.is_over(round) ? 0 : EBUSY; },
                    [&] {
                      while (!meeting_.is_over(round)) futex(FUTEX_WAIT, static_cast<int>(round));
                      return 0;
                    });
  }
  void futex(int what, int value) noexcept {
    ::syscall(SYS_futex, meeting_.round_word(),
              between_processes_ ? what : what | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
  }

  basic_thread_barrier<> meeting_;
  const bool between_processes_;
};
static_assert(sizeof(barrier) <= sizeof(pthread_barrier_t) &&
              alignof(barrier) <= alignof(pthread_barrier_t));

barrier& barrier_of(pthread_barrier_t* at) noexcept {
  return *std::launder(reinterpret_cast<barrier*>(at));
}

}  // namespace
}  // namespace weft

#define IN_PLACE_OF_LIBC __attribute__((visibility("default")))

extern "C" {

IN_PLACE_OF_LIBC int pthread_join(pthread_t thread, void** result) {
  static auto* const next = weft::next_definition<int(pthread_t, void**)>("pthread_join");
  constexpr long long rest_ns_max = 200'000;
  for (long long rest_ns = 0;; rest_ns = rest_ns == 0 ? 1000 : std::min(2 * rest_ns, rest_ns_max)) {
    const int joined = pthread_tryjoin_np(thread, result);
    if (joined != EBUSY) return joined;
    if (weft_sleep(rest_ns) == 0) return next(thread, result);
  }
}

IN_PLACE_OF_LIBC int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static auto* const next = weft::next_definition<int(pthread_mutex_t*)>("pthread_mutex_lock");
  return weft::wait_for_thread(
      [&] {
        int result = pthread_mutex_trylock(mutex);
        if (result != EBUSY) return result;
        // Finds that the caller has it already.
        static constexpr timespec now{0, 0};
        result = pthread_mutex_timedlock(mutex, &now);
        return result == ETIMEDOUT ? EBUSY : result;
      },
      [&] { return next(mutex); });
}

// Every wait may end without a reason. One that ends so that other ranks can run does so without the mutex.
IN_PLACE_OF_LIBC int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  constexpr std::uint64_t for_a_moment_ns = 20'000, for_ever_ns = UINT64_MAX / 4;
  const bool is_patient = weft::worker::in_shared_program();
  const timespec until =
      weft::monotonic(is_patient ? weft::now_ns() + for_a_moment_ns : for_ever_ns);
  const int result = pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &until);
  if (result != ETIMEDOUT) return result;
  pthread_mutex_unlock(mutex);
  long long rest = 0;
  weft_lets_others_run(&rest);
  pthread_mutex_lock(mutex);
  return 0;
}

IN_PLACE_OF_LIBC int sem_wait(sem_t* semaphore) {
  static auto* const next = weft::next_definition<int(sem_t*)>("sem_wait");
  const int result = weft::wait_for_thread(
      [&] { return sem_trywait(semaphore) == 0 ? 0
                   : errno == EAGAIN           ? EBUSY
                                               : errno; },
      [&] { return next(semaphore) == 0 ? 0 : errno; });
  if (result != 0) errno = result;
  return result == 0 ? 0 : -1;
}

IN_PLACE_OF_LIBC int pthread_barrier_init(pthread_barrier_t* at,
                                          const pthread_barrierattr_t* attributes,
                                          unsigned members) noexcept {
  if (members == 0) return EINVAL;
  int sharing = PTHREAD_PROCESS_PRIVATE;
  if (attributes != nullptr) pthread_barrierattr_getpshared(attributes, &sharing);
  ::new (at) weft::barrier(members, sharing == PTHREAD_PROCESS_SHARED);
  return 0;
}
IN_PLACE_OF_LIBC int pthread_barrier_wait(pthread_barrier_t* at) noexcept {
  return weft::barrier_of(at).wait();
}
IN_PLACE_OF_LIBC int pthread_barrier_destroy(pthread_barrier_t* at) noexcept {
  weft::barrier_of(at).wait_until_empty();
  return 0;
}
}
