// Regions that the calling rank is in (weft/region.h), for faces. Called while tracing().
#pragma once

namespace weft::detail {

void begin_region(const char* name);
void end_region();

}  // namespace weft::detail
