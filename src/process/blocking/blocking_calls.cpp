// Calls of pthreads, and of C's <threads.h>, in which a rank waits for threads of its program, in libweft.so,
// where they stand before those of the C library: the rank lets other ranks run meanwhile, for which these threads
// may be waiting. Not part of libweft.a.
#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <new>

#include "base/clock.hpp"
#include "base/forked_child.hpp"
#include "base/kept_errno.hpp"
#include "base/kernel.hpp"
#include "base/library_function.hpp"
#include "base/pause.hpp"
#include "base/system_path.hpp"
#include "job/caller.hpp"
#include "process/blocking/yielding.h"
#include "process/blocking/yielding.hpp"
#include "process/files/working_directory.hpp"
#include "process/life/program.h"
#include "process/signals/rank_signals.hpp"
#include "process/signals/signal_hooks.hpp"
#include "sched/worker.hpp"
#include "sync/thread_barrier.hpp"
#include "sync/thread_lock.hpp"

namespace weft::process {
namespace {

// The C library's, also where weftrun --check has put functions before it that note who has which lock.
#define NEXT(function) \
  static auto* const next_##function = weft::next_definition<decltype(::function)>(#function)

// `attempt` gives EBUSY until there is nothing to wait for; `block` waits in the kernel.
// `between_processes`: whoever ends the wait may be in another process, which may wait for any other rank.
template <class Attempt, class Block>
int wait_for_thread(const Attempt& attempt, const Block& block, bool between_processes = false) {
  if (!between_processes && !worker::in_shared_program()) [[likely]]
    return block();
  for (long long rest = 0;;) {
    if (const int result = attempt(); result != EBUSY) return result;
    if (!(between_processes || blocks_other_ranks()) || !yield_longer(rest)) return block();
    // The others may have ended. Threads of the program end their own calls.
    if (between_processes) weft_check_stopped(1);
  }
}

// This is how the C library keeps it, which has no function that says so.
bool is_between_processes(const pthread_mutex_t& lock) noexcept {
  constexpr int shared_bit = 128;
  return (lock.__data.__kind & shared_bit) != 0;
}
bool is_between_processes(const pthread_rwlock_t& lock) noexcept {
  return lock.__data.__shared != 0;
}
bool is_between_processes(const pthread_cond_t& condition) noexcept {
  return (condition.__data.__wrefs & 1) != 0;
}

// Whether the program, or a library of its own, has called from there. In one of the system other ranks may
// not run: it may be the allocator or the loader, in the middle of what this thread has of it.
bool is_called_by_program(const void* from) noexcept {
  dl_find_object caller{};
  return _dl_find_object(const_cast<void*>(from), &caller) == 0 &&
         !is_of_system(caller.dlfo_link_map->l_name);
}

// The same for a lock: `attempt` waits in the kernel for a moment, since whoever has the lock may have it nearly always.
// It is not inline: the usual way saves fewer registers.
template <class Try, class Attempt, class Block>
[[gnu::noinline]] int take_lock_between_processes(const Try& try_lock, const Attempt& attempt,
                                                  const Block& block) {
  if (const int result = try_lock(); result != EBUSY) return result;
  if (!may_yield()) return block();
  return wait_for_thread(
      [&] {
        const int result = attempt();
        return result == ETIMEDOUT ? EBUSY : result;
      },
      block, true);
}
template <class Try, class Attempt, class Block>
[[gnu::noinline]] int take_shared_lock(const void* from, const Try& try_lock,
                                       const Attempt& attempt, const Block& block) {
  if (const int result = try_lock(); result != EBUSY) return result;
  if (!is_called_by_program(from)) return block();
  return wait_for_thread(
      [&] {
        const int result = attempt();
        return result == ETIMEDOUT ? EBUSY : result;
      },
      block);
}

timespec monotonic(std::uint64_t ns) noexcept {
  constexpr std::uint64_t ns_per_s = 1'000'000'000;
  return {static_cast<time_t>(ns / ns_per_s), static_cast<long>(ns % ns_per_s)};
}

constexpr std::uint64_t moment_ns_min = 20'000, moment_ns_max = 1'000'000;
timespec in_a_moment() noexcept {
  return monotonic(now_ns() + moment_ns_min);
}

// How long the calling worker's thread waits for a condition before it lets others run: longer each time, until
// somebody signals.
std::uint64_t next_moment(const void* condition) noexcept {
  thread_local constinit struct {
    const void* condition;
    std::uint64_t ns;
  } last{};
  last.ns = last.condition == condition && condition != nullptr
                ? std::min(2 * last.ns, moment_ns_max)
                : moment_ns_min;
  last.condition = condition;
  return last.ns;
}

// C libraries before 2.36 give the oldest version of a function, of which x86-64 has one of another condition.
decltype(::pthread_cond_wait)* default_cond_wait() noexcept {
  constexpr const char* name = "pthread_cond_wait";
#if defined(__x86_64__)
  if (void* const found = ::dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2"); found != nullptr)
    return reinterpret_cast<decltype(::pthread_cond_wait)*>(found);
#endif
  return next_definition<decltype(::pthread_cond_wait)>(name);
}

int clock_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
               const timespec* until) {
  NEXT(pthread_cond_clockwait);
  return next_pthread_cond_clockwait(condition, mutex, clock, until);
}

// Every wait may end without a reason. One that ends so that other ranks can run does so without the mutex.
template <class Unlock, class Lock>
int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, const Unlock& unlock,
                       const Lock& lock) {
  const bool between = is_between_processes(*condition);
  if (!(between ? may_yield() : blocks_other_ranks())) {
    static auto* const next = default_cond_wait();
    return next(condition, mutex);
  }
  const std::uint64_t moment_ns = next_moment(condition);
  const timespec until = monotonic(now_ns() + moment_ns);
  const int result = clock_wait(condition, mutex, CLOCK_MONOTONIC, &until);
  if (result != ETIMEDOUT) {
    next_moment(nullptr);
    return result;
  }
  unlock();
  long long rest = static_cast<long long>(moment_ns);
  if (between || blocks_other_ranks()) yield_longer(rest);
  return lock();
}

// The same until a time.
template <class Block>
int wait_for_condition_until(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                             const timespec& until, const Block& block) {
  const bool between = is_between_processes(*condition);
  if (!(between ? may_yield() : blocks_other_ranks())) return block();
  timespec now{};
  clock_gettime(clock, &now);
  const std::int64_t left_ns =
      (until.tv_sec - now.tv_sec) * std::int64_t{1'000'000'000} + (until.tv_nsec - now.tv_nsec);
  const std::uint64_t moment_ns = next_moment(condition);
  if (left_ns < static_cast<std::int64_t>(moment_ns)) return block();
  const timespec soon = monotonic(now_ns() + moment_ns);
  const int result = clock_wait(condition, mutex, CLOCK_MONOTONIC, &soon);
  if (result != ETIMEDOUT) {
    next_moment(nullptr);
    return result;
  }
  pthread_mutex_unlock(mutex);
  long long rest = std::min(static_cast<long long>(moment_ns), static_cast<long long>(left_ns));
  if (between || blocks_other_ranks()) yield_longer(rest);
  return pthread_mutex_lock(mutex);
}

// --- Barriers ------------------------------------------------------------------------------------

// Nobody can ask the C library's barrier whether all others have come: this one stands in its place.
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
                    },
                    between_processes_);
  }
  void futex(int what, int value) noexcept {
    const kept_errno kept;
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

constexpr int looks_at_lock_max = 200;

using lock = basic_thread_lock<>;
static_assert(sizeof(lock) == sizeof(unsigned) && alignof(lock) == alignof(unsigned));

lock& lock_of(unsigned* at) noexcept {
  return *std::launder(reinterpret_cast<lock*>(at));
}

}  // namespace
}  // namespace weft::process

#define IN_PLACE_OF_LIBC __attribute__((visibility("default")))

extern "C" {

IN_PLACE_OF_LIBC int pthread_join(pthread_t thread, void** result) {
  NEXT(pthread_join);
  NEXT(pthread_tryjoin_np);  // A sanitizer's would take it for a second join.
  // The stop of a job does not end it: a frame that goes with a thread which nobody has joined ends the process
  // (std::thread), and the thread ends in its own calls.
  static constexpr weft::wait_description join{"pthread_join"};
  for (long long rest_ns = 0;;) {
    const int joined = next_pthread_tryjoin_np(thread, result);
    if (joined != EBUSY) {
      // The thread may have changed directory.
      if (const auto* const me = static_cast<const weft::detail::job_rank*>(weft::worker::caller());
          me != nullptr && !weft::is_forked_child())
        weft::process::take_kernel_state_of(*me, false);
      return joined;
    }
    if (weft::worker::caller() == nullptr || weft::process::is_in_middle_of_code() ||
        weft::is_forked_child())
      return next_pthread_join(thread, result);
    rest_ns = weft::process::longer_rest_ns(rest_ns);
    {
      weft::worker& here = *weft::worker::current();
      const weft::shared_section inside(here);
      here.sleep(static_cast<std::uint64_t>(rest_ns), join, false);
    }
    if (auto* const signals = weft::process::signals_of_caller(); signals != nullptr)
      weft::process::run_handlers(*signals);
  }
}

#define LOCK(name, type, try_name, clock_name)                                                \
  static int name##_for(const void* from, type* lock) noexcept {                              \
    NEXT(name);                                                                               \
    const bool between = weft::process::is_between_processes(*lock);                          \
    if (!between && !weft::worker::in_shared_program()) [[likely]]                            \
      return next_##name(lock);                                                               \
    const auto try_lock = [&] {                                                               \
      NEXT(try_name);                                                                         \
      return next_##try_name(lock);                                                           \
    };                                                                                        \
    const auto attempt = [&] {                                                                \
      NEXT(clock_name);                                                                       \
      const timespec until = weft::process::in_a_moment();                                    \
      return next_##clock_name(lock, CLOCK_MONOTONIC, &until);                                \
    };                                                                                        \
    const auto block = [&] { return next_##name(lock); };                                     \
    if (between) return weft::process::take_lock_between_processes(try_lock, attempt, block); \
    return weft::process::take_shared_lock(from, try_lock, attempt, block);                   \
  }                                                                                           \
  IN_PLACE_OF_LIBC int name(type* lock) noexcept {                                            \
    return name##_for(__builtin_return_address(0), lock);                                     \
  }
LOCK(pthread_mutex_lock, pthread_mutex_t, pthread_mutex_trylock, pthread_mutex_clocklock)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t, pthread_rwlock_tryrdlock, pthread_rwlock_clockrdlock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t, pthread_rwlock_trywrlock, pthread_rwlock_clockwrlock)

IN_PLACE_OF_LIBC int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return weft::process::wait_for_condition(
      condition, mutex, [&] { return pthread_mutex_unlock(mutex); },
      [&] { return pthread_mutex_lock(mutex); });
}

IN_PLACE_OF_LIBC int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                            const timespec* until) {
  NEXT(pthread_cond_timedwait);
  // No machine runs for 31 years.
  constexpr time_t uptime_s_max = 1'000'000'000;
  return weft::process::wait_for_condition_until(
      condition, mutex, until->tv_sec < uptime_s_max ? CLOCK_MONOTONIC : CLOCK_REALTIME, *until,
      [&] { return next_pthread_cond_timedwait(condition, mutex, until); });
}

IN_PLACE_OF_LIBC int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                            clockid_t clock, const timespec* until) {
  return weft::process::wait_for_condition_until(condition, mutex, clock, *until, [&] {
    return weft::process::clock_wait(condition, mutex, clock, until);
  });
}

void weft_take_lock(unsigned* at) {
  weft::process::lock& lock = weft::process::lock_of(at);
  for (int left = weft::process::looks_at_lock_max; left > 0; --left) {
    if (lock.try_take()) return;
    weft::pause_processor();
  }
  for (long long rest = 0; weft_lets_others_run(&rest) != 0;)
    if (lock.try_take()) return;
  const weft::kept_errno kept;
  lock.take_by_sleeping();
}
void weft_give_lock(unsigned* at) {
  weft::process::lock_of(at).give();  // The kernel's waking leaves errno alone.
}

IN_PLACE_OF_LIBC int sem_wait(sem_t* semaphore) {
  NEXT(sem_wait);
  const int before = errno;
  const std::uint64_t interrupted = weft::process::times_interrupted();
  const int result = weft::process::wait_for_thread(
      [&] {
        if (sem_trywait(semaphore) == 0) return 0;
        if (errno != EAGAIN) return errno;
        return weft::process::times_interrupted() == interrupted ? EBUSY : EINTR;
      },
      [&] { return next_sem_wait(semaphore) == 0 ? 0 : errno; }, weft::process::may_yield());
  errno = result == 0 ? before : result;
  return result == 0 ? 0 : -1;
}

IN_PLACE_OF_LIBC int pthread_barrier_init(pthread_barrier_t* at,
                                          const pthread_barrierattr_t* attributes,
                                          unsigned members) noexcept {
  if (members == 0) return EINVAL;
  int sharing = PTHREAD_PROCESS_PRIVATE;
  if (attributes != nullptr) pthread_barrierattr_getpshared(attributes, &sharing);
  ::new (at) weft::process::barrier(members, sharing == PTHREAD_PROCESS_SHARED);
  return 0;
}
IN_PLACE_OF_LIBC int pthread_barrier_wait(pthread_barrier_t* at) noexcept {
  return weft::process::barrier_of(at).wait();
}
IN_PLACE_OF_LIBC int pthread_barrier_destroy(pthread_barrier_t* at) noexcept {
  weft::process::barrier_of(at).wait_until_empty();
  return 0;
}

// --- <threads.h> ---------------------------------------------------------------------------------
// The C library makes its objects of those of pthreads, and a thread's result is an int in a pointer.

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t) &&
              sizeof(thrd_t) == sizeof(pthread_t));

static int c_result(int error) noexcept {
  switch (error) {
    case 0:
      return thrd_success;
    case ENOMEM:
      return thrd_nomem;
    default:
      return thrd_error;
  }
}

IN_PLACE_OF_LIBC int thrd_join(thrd_t thread, int* result) {
  void* of_thread = nullptr;
  const int error = pthread_join(thread, &of_thread);
  if (error == 0 && result != nullptr)
    *result = static_cast<int>(reinterpret_cast<std::intptr_t>(of_thread));
  return c_result(error);
}
IN_PLACE_OF_LIBC int mtx_lock(mtx_t* lock) {
  return c_result(pthread_mutex_lock_for(__builtin_return_address(0),
                                         reinterpret_cast<pthread_mutex_t*>(lock)));
}
// weftrun --check notes neither of these mutexes' calls.
IN_PLACE_OF_LIBC int cnd_wait(cnd_t* condition, mtx_t* lock) {
  const void* const from = __builtin_return_address(0);
  auto* const mutex = reinterpret_cast<pthread_mutex_t*>(lock);
  return c_result(weft::process::wait_for_condition(
      reinterpret_cast<pthread_cond_t*>(condition), mutex, [&] { return mtx_unlock(lock); },
      [&] { return pthread_mutex_lock_for(from, mutex); }));
}
}
