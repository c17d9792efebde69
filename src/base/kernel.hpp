// Waits in the kernel that stay there: in programs of weftcc the C library's sched_yield(), nanosleep()
// and usleep() are their own and let other ranks run, which the middle of weft is no place for.
#pragma once
#include <chrono>
#include <cstdint>

namespace weft {

// Called by any thread: others that wait for this core may have it.
void give_core_up() noexcept;
// Called by any thread: how often so far the kernel has taken its core from it for another thread. About 200 ns.
[[nodiscard]] std::uint64_t forced_switches_of_this_thread() noexcept;
// Called by any thread. A signal may end it early.
void sleep_in_kernel(std::chrono::nanoseconds duration) noexcept;

}  // namespace weft
