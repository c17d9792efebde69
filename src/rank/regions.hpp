// Regions of OpenMP that ranks have begun: weft_begin_region() of program.h.
#pragma once

namespace weft {

// Called on the worker's own thread when a rank ends, whose exit() or whose job's end may have left regions.
void forget_regions(const void* rank) noexcept;

}  // namespace weft
