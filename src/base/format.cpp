#include "base/format.hpp"

#include "base/limits.hpp"

namespace weft {

std::string formatted_text(fmt::string_view pattern, fmt::format_args values) {
  return fmt::vformat(pattern, values);
}

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, printable_octets_max)) {
    const auto octet = static_cast<unsigned char>(c);
    if (c == '\n')
      result += "\\n";
    else if (octet < 0x20 || octet == 0x7f)
      result += formatted("\\x{:02x}", octet);
    else
      result += c;
  }
  if (text.size() > printable_octets_max) result += formatted("... ({} octets)", text.size());
  return result;
}

}  // namespace weft
