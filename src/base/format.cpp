#include "base/format.hpp"

namespace weft {

std::string formatted_text(fmt::string_view pattern, fmt::format_args values) {
  return fmt::vformat(pattern, values);
}

}  // namespace weft
