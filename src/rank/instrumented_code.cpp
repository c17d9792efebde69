// Loads and stores of the program, in a checked job: `weftcc -check` compiles with -fsanitize=thread, whose calls come here
// instead of to that sanitizer's library. What they do is compared with what operations and other ranks use
// (diagnosis/races.hpp). A program that has the sanitizer's own library calls that one, since it is linked first.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "diagnosis/races.hpp"
#include "rank/request_watch.hpp"
#include "rank/state.hpp"

#if defined(__SANITIZE_THREAD__)
#define WEFT_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_THREAD_SANITIZER 1
#endif
#endif

#if !defined(WEFT_THREAD_SANITIZER)

namespace {

using weft::diagnosis::memory_range;
using weft::diagnosis::race_watch;

// The races of the calling rank's job; null where nobody looks for them.
[[gnu::always_inline]] inline race_watch* races_of_caller(int& rank) noexcept {
  if (!race_watch::any()) [[likely]]
    return nullptr;
  auto* const caller = static_cast<weft::detail::job_rank*>(weft::worker::caller());
  if (caller == nullptr || caller->of == nullptr || caller->of->base == nullptr ||
      caller->of->checks == nullptr)
    return nullptr;
  // A rank of a job with messages.
  auto& me = static_cast<weft::detail::rank_state&>(*caller);
  rank = me.number;
  return me.watch == nullptr ? nullptr : me.watch->races();
}

[[gnu::noinline]] void touched(const void* at, std::size_t bytes, bool writes, void* from) {
  int rank = 0;
  if (race_watch* const races = races_of_caller(rank); races != nullptr)
    races->touch_by_program(rank, memory_range::of(at, bytes), writes,
                            reinterpret_cast<std::uintptr_t>(from) - 1);
}

// Who has used an atomic variable may have learnt by it what others had done before. Called after the operation: what they do
// before they write is noted before they write.
void used_atomic() {
  int rank = 0;
  if (race_watch* const races = races_of_caller(rank); races != nullptr) races->take_all(rank);
}

// Of 16 bytes there is one operation, which code that is not looked at uses, too: a load writes back what it has read.
#if defined(__x86_64__)
__extension__ typedef unsigned __int128 wide;

// `wanted` becomes what was there.
[[gnu::target("cx16")]] bool try_change_wide(volatile wide* at, wide& wanted, wide value) {
  const wide seen = __sync_val_compare_and_swap(at, wanted, value);
  const bool is_changed = seen == wanted;
  wanted = seen;
  return is_changed;
}
template <class Change>
wide change_wide(volatile wide* at, const Change& change) {
  wide seen = 0;
  while (!try_change_wide(at, seen, change(seen))) {
  }
  used_atomic();
  return seen;
}
#endif

}  // namespace

#define WEFT_CALLED [[gnu::visibility("default")]]
#define WEFT_TOUCH(name, bytes, writes)                      \
  WEFT_CALLED void __tsan_##name(void* at) {                 \
    touched(at, bytes, writes, __builtin_return_address(0)); \
  }
#define WEFT_TOUCHES(bytes)                      \
  WEFT_TOUCH(read##bytes, bytes, false)          \
  WEFT_TOUCH(write##bytes, bytes, true)          \
  WEFT_TOUCH(volatile_read##bytes, bytes, false) \
  WEFT_TOUCH(volatile_write##bytes, bytes, true) \
  WEFT_TOUCH(read_write##bytes, bytes, true)
#define WEFT_UNALIGNED_TOUCHES(bytes)                      \
  WEFT_TOUCH(unaligned_read##bytes, bytes, false)          \
  WEFT_TOUCH(unaligned_write##bytes, bytes, true)          \
  WEFT_TOUCH(unaligned_volatile_read##bytes, bytes, false) \
  WEFT_TOUCH(unaligned_volatile_write##bytes, bytes, true) \
  WEFT_TOUCH(unaligned_read_write##bytes, bytes, true)

// Every atomic operation is one of the strongest order, which each weaker one may be.
#define WEFT_ATOMICS(bits, type)                                                                   \
  WEFT_CALLED type __tsan_atomic##bits##_load(const volatile type* at, int) {                      \
    const type value = __atomic_load_n(at, __ATOMIC_SEQ_CST);                                      \
    used_atomic();                                                                                 \
    return value;                                                                                  \
  }                                                                                                \
  WEFT_CALLED void __tsan_atomic##bits##_store(volatile type* at, type value, int) {               \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                 \
    used_atomic();                                                                                 \
  }                                                                                                \
  WEFT_CHANGES(bits, type, exchange, __atomic_exchange_n)                                          \
  WEFT_CHANGES(bits, type, fetch_add, __atomic_fetch_add)                                          \
  WEFT_CHANGES(bits, type, fetch_sub, __atomic_fetch_sub)                                          \
  WEFT_CHANGES(bits, type, fetch_and, __atomic_fetch_and)                                          \
  WEFT_CHANGES(bits, type, fetch_or, __atomic_fetch_or)                                            \
  WEFT_CHANGES(bits, type, fetch_xor, __atomic_fetch_xor)                                          \
  WEFT_CHANGES(bits, type, fetch_nand, __atomic_fetch_nand)                                        \
  WEFT_CALLED int __tsan_atomic##bits##_compare_exchange_strong(volatile type* at, type* wanted,   \
                                                                type value, int, int) {            \
    const bool is_changed =                                                                        \
        __atomic_compare_exchange_n(at, wanted, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    used_atomic();                                                                                 \
    return is_changed ? 1 : 0;                                                                     \
  }                                                                                                \
  WEFT_CALLED int __tsan_atomic##bits##_compare_exchange_weak(                                     \
      volatile type* at, type* wanted, type value, int success, int failure) {                     \
    return __tsan_atomic##bits##_compare_exchange_strong(at, wanted, value, success, failure);     \
  }                                                                                                \
  WEFT_CALLED type __tsan_atomic##bits##_compare_exchange_val(                                     \
      volatile type* at, type wanted, type value, int success, int failure) {                      \
    __tsan_atomic##bits##_compare_exchange_strong(at, &wanted, value, success, failure);           \
    return wanted;                                                                                 \
  }
#define WEFT_CHANGES(bits, type, name, function)                                      \
  WEFT_CALLED type __tsan_atomic##bits##_##name(volatile type* at, type value, int) { \
    const type old = function(at, value, __ATOMIC_SEQ_CST);                           \
    used_atomic();                                                                    \
    return old;                                                                       \
  }

#define WEFT_WIDE_CHANGE(name, changed)                                          \
  WEFT_CALLED wide __tsan_atomic128_##name(volatile wide* at, wide value, int) { \
    return change_wide(at, [=](wide seen) {                                      \
      (void)seen;                                                                \
      return changed;                                                            \
    });                                                                          \
  }

// The compiler's own names and types; nobody else calls these.
extern "C" {

WEFT_TOUCHES(1)
WEFT_TOUCHES(2)
WEFT_TOUCHES(4)
WEFT_TOUCHES(8)
WEFT_TOUCHES(16)
WEFT_UNALIGNED_TOUCHES(2)
WEFT_UNALIGNED_TOUCHES(4)
WEFT_UNALIGNED_TOUCHES(8)
WEFT_UNALIGNED_TOUCHES(16)

WEFT_CALLED void __tsan_read_range(void* at, std::size_t bytes) {
  touched(at, bytes, false, __builtin_return_address(0));
}
WEFT_CALLED void __tsan_write_range(void* at, std::size_t bytes) {
  touched(at, bytes, true, __builtin_return_address(0));
}
// clang's names for the functions of the C library.
WEFT_CALLED void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  touched(from, bytes, false, __builtin_return_address(0));
  touched(to, bytes, true, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
WEFT_CALLED void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  touched(from, bytes, false, __builtin_return_address(0));
  touched(to, bytes, true, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
WEFT_CALLED void* __tsan_memset(void* to, int value, std::size_t bytes) {
  touched(to, bytes, true, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}

WEFT_CALLED void __tsan_init() {}
WEFT_CALLED void __tsan_func_entry(void*) {}
WEFT_CALLED void __tsan_func_exit() {}
WEFT_CALLED void __tsan_ignore_thread_begin() {}
WEFT_CALLED void __tsan_ignore_thread_end() {}
// The pointer of an object to the functions of its type.
WEFT_CALLED void __tsan_vptr_update(void** at, void*) {
  touched(at, sizeof *at, true, __builtin_return_address(0));
}
WEFT_CALLED void __tsan_vptr_read(void** at) {
  touched(at, sizeof *at, false, __builtin_return_address(0));
}

WEFT_ATOMICS(8, std::uint8_t)
WEFT_ATOMICS(16, std::uint16_t)
WEFT_ATOMICS(32, std::uint32_t)
WEFT_ATOMICS(64, std::uint64_t)

#if defined(__x86_64__)
WEFT_CALLED wide __tsan_atomic128_load(const volatile wide* at, int) {
  return change_wide(const_cast<volatile wide*>(at), [](wide seen) { return seen; });
}
WEFT_CALLED void __tsan_atomic128_store(volatile wide* at, wide value, int) {
  change_wide(at, [=](wide) { return value; });
}
WEFT_WIDE_CHANGE(exchange, value)
WEFT_WIDE_CHANGE(fetch_add, seen + value)
WEFT_WIDE_CHANGE(fetch_sub, seen - value)
WEFT_WIDE_CHANGE(fetch_and, seen& value)
WEFT_WIDE_CHANGE(fetch_or, seen | value)
WEFT_WIDE_CHANGE(fetch_xor, seen ^ value)
WEFT_WIDE_CHANGE(fetch_nand, ~(seen& value))
WEFT_CALLED int __tsan_atomic128_compare_exchange_strong(volatile wide* at, wide* wanted,
                                                         wide value, int, int) {
  const bool is_changed = try_change_wide(at, *wanted, value);
  used_atomic();
  return is_changed ? 1 : 0;
}
WEFT_CALLED int __tsan_atomic128_compare_exchange_weak(volatile wide* at, wide* wanted, wide value,
                                                       int success, int failure) {
  return __tsan_atomic128_compare_exchange_strong(at, wanted, value, success, failure);
}
WEFT_CALLED wide __tsan_atomic128_compare_exchange_val(volatile wide* at, wide wanted, wide value,
                                                       int success, int failure) {
  __tsan_atomic128_compare_exchange_strong(at, &wanted, value, success, failure);
  return wanted;
}
#endif

WEFT_CALLED void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  used_atomic();
}
WEFT_CALLED void __tsan_atomic_signal_fence(int) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

}  // extern "C"

#endif
