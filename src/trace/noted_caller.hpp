// The caller of the stub that makes the next call, or sleep, of this thread (callers.h).
#pragma once
#include <utility>

namespace weft {

extern constinit thread_local const void* noted_caller;

// Null: the call comes from wherever it returns to.
[[nodiscard]] inline const void* take_noted_caller() noexcept {
  return std::exchange(noted_caller, nullptr);
}

}  // namespace weft
