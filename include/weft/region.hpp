// A region of a program, as long as a block: what weft/region.h is in C.
#pragma once
#include "weft/region.h"

namespace weft {

class region {
 public:
  explicit region(const char* name) noexcept { weft_region_begin(name); }
  ~region() { weft_region_end(); }
  region(const region&) = delete;
  region& operator=(const region&) = delete;
};

}  // namespace weft
