// What ranks that share a process have said of faults.
#pragma once

namespace weft::process {

// Whether the calling rank handles or ignores this fault itself. A handler of a signal may ask.
[[nodiscard]] bool handles_own_fault(int number) noexcept;

}  // namespace weft::process
