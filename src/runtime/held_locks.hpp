// The interface between weft and the library that `weftrun --check` preloads (tools/check/held_locks.cpp): which
// locks a fiber holds. Without the library nobody watches locks, at no cost.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft {

// How many calls are kept of the stack that took a lock; and how many locks of one thread are watched at a time.
inline constexpr std::size_t lock_calls_max = 12;
inline constexpr std::size_t held_locks_max = 256;

struct held_lock {
  const void* fiber = nullptr;
  const void* address = nullptr;
  const char* kind = "";    // "mutex", "static initialiser", ...
  std::uint32_t times = 0;  // How often its holder has taken it: it may be recursive.
  bool told = false;        // The visitor sets it when it has reported the lock.
  std::size_t call_count = 0;
  std::uintptr_t calls[lock_calls_max]{};
};

// The functions of the preloaded library, under one name for dlsym().
struct lock_watch {
  static constexpr const char* symbol = "weft_lock_watch";
  // From now on a lock is noted for the fiber that `running`, called on the thread that takes it, returns; null: it
  // is not noted.
  void (*begin)(const void* (*running)() noexcept) noexcept;
  // Calls `visit` for each lock that `fiber` holds. The fiber runs on the calling thread.
  void (*each_held)(const void* fiber, void (*visit)(held_lock&, void*), void* argument);
};

// Null when the process was started without the library.
[[nodiscard]] const lock_watch* find_lock_watch() noexcept;

}  // namespace weft
