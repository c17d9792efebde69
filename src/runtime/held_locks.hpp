// What the preloaded library of `weftrun --check` (tools/check/held_locks.cpp) and weft say to each
// other: which locks a fiber holds. Without that library nobody watches locks, and nothing costs.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft {

// Calls that are kept of where a lock was taken, and locks of one thread that are known at a time;
// further ones are not watched.
inline constexpr std::size_t lock_calls_max = 12;
inline constexpr std::size_t held_locks_max = 256;

struct held_lock {
  const void* fiber = nullptr;
  const void* address = nullptr;
  const char* kind = "";    // "mutex", "static initialiser", ...
  std::uint32_t times = 0;  // Of a lock that its holder may take again.
  bool told = false;        // For the visitor: that it has been reported.
  std::size_t call_count = 0;
  std::uintptr_t calls[lock_calls_max]{};
};

// The functions of the preloaded library, under one name for dlsym().
struct lock_watch {
  static constexpr const char* symbol = "weft_lock_watch";
  // From now on locks are noted for the fiber that `running` returns on the calling thread; null:
  // for nobody.
  void (*begin)(const void* (*running)() noexcept) noexcept;
  // Calls `visit` for each lock that `fiber`, which runs on the calling thread, has taken and not
  // given back.
  void (*each_held)(const void* fiber, void (*visit)(held_lock&, void*), void* argument);
};

// Null when the process was started without the library.
[[nodiscard]] const lock_watch* find_lock_watch() noexcept;

}  // namespace weft
