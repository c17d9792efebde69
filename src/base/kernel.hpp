// Waits in the kernel for weft's own code. In programs of weftcc sched_yield(), nanosleep() and usleep() are replaced
// and let other ranks run, which must not happen in the middle of weft.
#pragma once
#include <chrono>
#include <cstdint>

namespace weft {

// Called by any thread: sched_yield(), the core goes to a thread that waits for it.
void give_core_up() noexcept;
// How often the kernel has taken the core from the calling thread for another thread so far. About 200 ns.
[[nodiscard]] std::uint64_t forced_switches_of_this_thread() noexcept;
// Called by any thread. A signal may end it early.
void sleep_in_kernel(std::chrono::nanoseconds duration) noexcept;

}  // namespace weft
