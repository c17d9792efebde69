// Settings of programs whose ranks have copies: shared libraries by the beginnings of their names, or by
// the directory that they lie in, which ends with a slash; separated by commas. Set by resolve_options().
#pragma once
#include <string>

namespace weft {

struct library_list_settings {
  std::string own;     // Each rank has its own.
  std::string shared;  // All ranks of a process have one.
};

library_list_settings& library_lists();

}  // namespace weft
