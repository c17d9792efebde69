// Every limit of the runtime has a name, and the name is here. An error that reports a limit prints
// its value from this file.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft {

// What the core transfers at once; the size of the smallest chunk of a loop over data.
inline constexpr std::size_t cache_line = 64;

// The prefetcher fetches lines in pairs, so data of two writers is kept this far apart: with 64
// bytes a hop between workers took 485 ns instead of 346.
inline constexpr std::size_t padding_bytes = 128;

inline constexpr int ranks_max = 1 << 20;
inline constexpr int workers_max = 1024;
inline constexpr int tag_max = 0x7fffffff;

// A smaller stack does not hold one printf of a double; a larger one is a mistyped unit.
inline constexpr std::size_t stack_bytes_min = 16 * 1024;
inline constexpr std::size_t stack_bytes_max = std::size_t{16} << 30;

inline constexpr std::size_t eager_bytes_max = 1 << 20;
inline constexpr double seconds_max = 1e9;
inline constexpr int spin_us_max = 1'000'000;

// Of one thread, 24 bytes each; older ones are overwritten and their number is reported.
inline constexpr std::size_t trace_events_max = std::size_t{1} << 20;

}  // namespace weft
