#include "base/format.hpp"

#include "base/limits.hpp"

namespace weft {

std::string formatted_text(fmt::string_view pattern, fmt::format_args values) {
  return fmt::vformat(pattern, values);
}

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, printable_bytes_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      result += "\\n";
    else if (byte < 0x20 || byte == 0x7f)
      result += formatted("\\x{:02x}", byte);
    else
      result += c;
  }
  if (text.size() > printable_bytes_max) result += formatted("... ({} bytes)", text.size());
  return result;
}

}  // namespace weft
