// Regions of OpenMP that ranks have begun: weft_begin_region() of regions.h.
#pragma once

namespace weft::process {

// The worker's own thread calls this when a rank ends, whose exit() or whose job's end may have left regions.
void forget_regions(const void* rank) noexcept;

}  // namespace weft::process
