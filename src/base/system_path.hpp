// Where a system keeps its own libraries.
#pragma once
#include <string_view>

namespace weft {

[[nodiscard]] inline bool is_of_system(std::string_view path) noexcept {
  for (const char* const directory : {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"})
    if (path.starts_with(directory)) return true;
  return false;
}

}  // namespace weft
