// A handler of a signal that came on an alternate stack, called on the stack that the signal has interrupted.
#pragma once
#include <csignal>
#include <cstddef>
#include <span>

namespace weft::process {

// Calls `action`'s handler with copies of what the kernel has given, on `stack` below the place that `context` interrupts; the interrupted
// code goes on when the handler returns. So the alternate stack, which a thread has once, is free while the handler runs. Returns, and has
// called nothing, where there is no room on `stack`, where the place is not in it, and on processors that this does not know.
void call_on_interrupted_stack(std::span<std::byte> stack, const struct sigaction& action,
                               int number, const siginfo_t& details, const void* context);

}  // namespace weft::process
