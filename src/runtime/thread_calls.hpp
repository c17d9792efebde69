// The calls that another thread of this process is in.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

// capture_calls() for another thread, which may compute or sleep in the kernel: stack_signal interrupts it, and it
// goes on afterwards. Returns 0 when the thread has ended, does not answer within a moment, or the program itself
// handles the signal. The thread must not block the signal, and should have an alternate stack. Called by any other
// thread.
std::size_t capture_calls_of(int thread, std::span<std::uintptr_t> calls) noexcept;

}  // namespace weft
