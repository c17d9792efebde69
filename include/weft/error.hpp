// The exception of set-up and misuse. Its text is one line: what was wrong, the limit, the remedy.
#pragma once
#include <stdexcept>

namespace weft {

struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace weft
