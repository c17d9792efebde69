// Whether another process of this host lives. A verdict of death needs evidence: a look that fails, for want of a descriptor
// for one, says nothing.
#pragma once
#include <sys/types.h>

#include <cstdint>

namespace weft {

// When the process began, in the kernel's ticks since the machine's boot; 0: not known, since it has gone or the look has
// failed.
[[nodiscard]] std::uint64_t start_of_process(pid_t process) noexcept;

// Whether a process of the caller's process namespace, which began at `start` (0: not known), has certainly ended. One that
// nobody has waited for yet has ended as well, if none of its threads lives. Takes some microseconds.
[[nodiscard]] bool process_has_ended(pid_t process, std::uint64_t start) noexcept;

}  // namespace weft
