// Asks for a cache line before it is needed.
#pragma once

namespace weft {

inline void prefetch_for_reading(const void* line) noexcept {
  __builtin_prefetch(line);
}

// For writing: the line leaves all other caches. A store to a line that another core has waits for
// it in the store buffer, and all later stores behind it; this does not.
inline void prefetch_for_writing(const void* line) noexcept {
#if defined(__x86_64__)
  // The compiler's builtin asks for a line to read unless it is told of a newer processor. Old
  // processors take this as no operation.
  asm volatile("prefetchw (%0)" : : "r"(line));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace weft
