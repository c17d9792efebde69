// The library that `weftrun --check` preloads: it stands before the functions of libc and libstdc++
// that lock, and notes what the running fiber holds. src/runtime/held_locks.hpp says to whom.
//
// Each thread notes its own locks, so nothing here is shared; fibers of the program do not change their thread. A
// lock that is given back by another thread than took it stays noted: that is an error by itself.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <threads.h>
#include <unwind.h>

#include <atomic>

#include "runtime/held_locks.hpp"

namespace {

using weft::held_lock;

std::atomic<const void* (*)() noexcept> running{nullptr};

struct thread_locks {
  held_lock held[weft::held_locks_max];
  std::size_t count = 0;
  bool noting = false;  // The unwinder may lock as well.
};
thread_local constinit thread_locks mine;

struct capture {
  held_lock& to;
  std::uintptr_t caller;  // Of this library; 0 when it has been seen.
};

_Unwind_Reason_Code keep_call(_Unwind_Context* context, void* argument) {
  auto& [to, caller] = *static_cast<capture*>(argument);
  int before_call = 0;
  const std::uintptr_t address = _Unwind_GetIPInfo(context, &before_call);
  if (address == 0 || to.call_count == weft::lock_calls_max) return _URC_END_OF_STACK;
  if (caller != 0 && address != caller) return _URC_NO_REASON;
  caller = 0;
  to.calls[to.call_count++] = before_call != 0 ? address : address - 1;
  return _URC_NO_REASON;
}

void note_taken(const void* lock, const char* kind, const void* caller) noexcept {
  const auto asked = running.load(std::memory_order_acquire);
  if (asked == nullptr || mine.noting) return;
  const void* const fiber = asked();
  if (fiber == nullptr) return;
  for (std::size_t i = 0; i < mine.count; ++i)
    if (mine.held[i].address == lock && mine.held[i].fiber == fiber) {
      ++mine.held[i].times;
      return;
    }
  if (mine.count == weft::held_locks_max) return;
  mine.noting = true;
  held_lock& taken = mine.held[mine.count++];
  taken = {fiber, lock, kind, 1};
  capture to{taken, reinterpret_cast<std::uintptr_t>(caller)};
  _Unwind_Backtrace(&keep_call, &to);
  mine.noting = false;
}

void note_given_back(const void* lock) noexcept {
  for (std::size_t i = mine.count; i-- > 0;) {
    if (mine.held[i].address != lock) continue;
    if (--mine.held[i].times == 0) mine.held[i] = mine.held[--mine.count];
    return;
  }
}

// The function that would have been called without this library. Not a static variable of the
// caller with a guard: guards are among what is watched.
template <class Function>
Function* next(std::atomic<Function*>& known, const char* name) noexcept {
  Function* found = known.load(std::memory_order_relaxed);  // Relaxed: all find the same.
  if (found != nullptr) return found;
  found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  known.store(found, std::memory_order_relaxed);
  return found;
}

void begin(const void* (*function)() noexcept) noexcept {
  running.store(function, std::memory_order_release);
}

void each_held(const void* fiber, void (*visit)(held_lock&, void*), void* argument) {
  mine.noting = true;
  for (std::size_t i = 0; i < mine.count; ++i)
    if (mine.held[i].fiber == fiber) visit(mine.held[i], argument);
  mine.noting = false;
}

}  // namespace

#define caller_of_this() __builtin_return_address(0)

extern "C" {

[[gnu::visibility("default")]] extern const weft::lock_watch weft_lock_watch;
const weft::lock_watch weft_lock_watch{&begin, &each_held};

// Takes a lock; 0 says that it was taken, and so does EOWNERDEAD (130) of a robust mutex.
#define WEFT_TAKES_AS(name, kind, parameters, specifier, arguments, lock)       \
  [[gnu::visibility("default")]] int name parameters specifier {                \
    static constinit std::atomic<int(*) parameters> known{nullptr};             \
    const int result = next(known, #name) arguments;                            \
    if (result == 0 || result == 130) note_taken(lock, kind, caller_of_this()); \
    return result;                                                              \
  }
#define WEFT_GIVES_BACK_AS(name, parameters, specifier, arguments, lock) \
  [[gnu::visibility("default")]] int name parameters specifier {         \
    static constinit std::atomic<int(*) parameters> known{nullptr};      \
    note_given_back(lock);                                               \
    return next(known, #name) arguments;                                 \
  }
#define WEFT_TAKES(name, kind, parameters, arguments, lock) \
  WEFT_TAKES_AS(name, kind, parameters, noexcept, arguments, lock)
#define WEFT_GIVES_BACK(name, parameters, arguments, lock) \
  WEFT_GIVES_BACK_AS(name, parameters, noexcept, arguments, lock)

WEFT_TAKES(pthread_mutex_lock, "mutex", (pthread_mutex_t * m), (m), m)
WEFT_TAKES(pthread_mutex_trylock, "mutex", (pthread_mutex_t * m), (m), m)
WEFT_TAKES(pthread_mutex_timedlock, "mutex", (pthread_mutex_t * m, const timespec* until),
           (m, until), m)
WEFT_TAKES(pthread_mutex_clocklock, "mutex",
           (pthread_mutex_t * m, clockid_t clock, const timespec* until), (m, clock, until), m)
WEFT_GIVES_BACK(pthread_mutex_unlock, (pthread_mutex_t * m), (m), m)

// The C library declares these without noexcept, and clang wants the same here.
WEFT_TAKES_AS(mtx_lock, "mutex", (mtx_t * m), , (m), m)
WEFT_TAKES_AS(mtx_trylock, "mutex", (mtx_t * m), , (m), m)
WEFT_TAKES_AS(mtx_timedlock, "mutex", (mtx_t * m, const timespec* until), , (m, until), m)
WEFT_GIVES_BACK_AS(mtx_unlock, (mtx_t * m), , (m), m)

WEFT_TAKES(pthread_rwlock_rdlock, "lock", (pthread_rwlock_t * m), (m), m)
WEFT_TAKES(pthread_rwlock_wrlock, "lock", (pthread_rwlock_t * m), (m), m)
WEFT_TAKES(pthread_rwlock_tryrdlock, "lock", (pthread_rwlock_t * m), (m), m)
WEFT_TAKES(pthread_rwlock_trywrlock, "lock", (pthread_rwlock_t * m), (m), m)
WEFT_TAKES(pthread_rwlock_timedrdlock, "lock", (pthread_rwlock_t * m, const timespec* until),
           (m, until), m)
WEFT_TAKES(pthread_rwlock_timedwrlock, "lock", (pthread_rwlock_t * m, const timespec* until),
           (m, until), m)
WEFT_GIVES_BACK(pthread_rwlock_unlock, (pthread_rwlock_t * m), (m), m)

WEFT_TAKES(pthread_spin_lock, "spin lock", (pthread_spinlock_t * m), (m), const_cast<const int*>(m))
WEFT_TAKES(pthread_spin_trylock, "spin lock", (pthread_spinlock_t * m), (m),
           const_cast<const int*>(m))
WEFT_GIVES_BACK(pthread_spin_unlock, (pthread_spinlock_t * m), (m), const_cast<const int*>(m))

WEFT_TAKES(ftrylockfile, "lock of a stream", (FILE * f), (f), f)

[[gnu::visibility("default")]] void flockfile(FILE* f) noexcept {
  static constinit std::atomic<void (*)(FILE*)> known{nullptr};
  next(known, "flockfile")(f);
  note_taken(f, "lock of a stream", caller_of_this());
}
[[gnu::visibility("default")]] void funlockfile(FILE* f) noexcept {
  static constinit std::atomic<void (*)(FILE*)> known{nullptr};
  note_given_back(f);
  next(known, "funlockfile")(f);
}

// 1: the caller initialises the object and ends with release or abort.
[[gnu::visibility("default")]] int __cxa_guard_acquire(std::int64_t* guard) {
  static constinit std::atomic<int (*)(std::int64_t*)> known{nullptr};
  const int result = next(known, "__cxa_guard_acquire")(guard);
  if (result != 0) note_taken(guard, "static initialiser", caller_of_this());
  return result;
}
[[gnu::visibility("default")]] void __cxa_guard_release(std::int64_t* guard) noexcept {
  static constinit std::atomic<void (*)(std::int64_t*)> known{nullptr};
  note_given_back(guard);
  next(known, "__cxa_guard_release")(guard);
}
[[gnu::visibility("default")]] void __cxa_guard_abort(std::int64_t* guard) noexcept {
  static constinit std::atomic<void (*)(std::int64_t*)> known{nullptr};
  note_given_back(guard);
  next(known, "__cxa_guard_abort")(guard);
}

// std::call_once too. The initialiser may throw.
[[gnu::visibility("default")]] int pthread_once(pthread_once_t* once, void (*initialise)()) {
  static constinit std::atomic<int (*)(pthread_once_t*, void (*)())> known{nullptr};
  struct noted {
    pthread_once_t* once;
    ~noted() { note_given_back(once); }
  } const during{once};
  note_taken(once, "once flag", caller_of_this());
  return next(known, "pthread_once")(once, initialise);
}

}  // extern "C"
