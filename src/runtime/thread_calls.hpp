// Where another thread of this process stands.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

// capture_calls() for another thread, which may compute, or sleep in the kernel: it is interrupted by
// stack_signal, and goes on as if nothing had been. Called by any other thread; 0 when the thread has
// ended or does not answer within a moment, or the program itself takes the signal. The thread must
// not block it, and should have an alternate stack.
std::size_t capture_calls_of(int thread, std::span<std::uintptr_t> calls) noexcept;

}  // namespace weft
