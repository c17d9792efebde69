// A rank that is inside its own main().
#pragma once
#include <csetjmp>

#include "rank/program.h"
#include "rank/state.hpp"

namespace weft::detail {

// Lives on the rank's stack.
struct program_run {
  std::jmp_buf end;  // Where exit() goes.
  const weft_own_state* own = nullptr;
  int exit_status = 0;
  bool at_once = false;  // By _exit(): no handlers, no destructors.
};

// The calling rank; null on threads that are none.
[[nodiscard]] inline rank_state* state_of_caller() noexcept {
  const worker* const here = worker::current();
  return here == nullptr ? nullptr : static_cast<rank_state*>(here->identity());
}

// Whether this process was forked by a rank: it is no rank, though its memory says so.
[[nodiscard]] bool is_forked_child() noexcept;

// Null where no rank calls, or one that has no main() of its own.
[[nodiscard]] program_run* run_of_caller();
// Whether the calling rank has a copy of its program, beside others in its process.
[[nodiscard]] inline bool has_copy() {
  const program_run* const run = run_of_caller();
  return run != nullptr && run->own != nullptr;
}

}  // namespace weft::detail
