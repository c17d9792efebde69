// Call paths: by which calls of the program it came to one of weft, that one first, up to where weft called the program. The
// tree of trace/call_tree.hpp keeps them.
//
// Off unless asked for; then each call of weft looks at its stack, some microseconds.
#pragma once
#include <cstdint>

namespace weft::profile::call_paths {

// Called while no worker runs.
void start(bool on);
[[nodiscard]] bool are_on() noexcept;

struct program_call {
  std::uintptr_t address = 0;
  std::uint32_t path = 0;  // 0: not known.
};
// The program's innermost call that is under way on the calling thread: at `address`, or where that lies in weft itself, the
// first that does not. Any thread.
[[nodiscard]] program_call here(std::uintptr_t address) noexcept;

}  // namespace weft::profile::call_paths
