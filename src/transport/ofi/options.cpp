#include "transport/ofi/ofi.hpp"

namespace weft {

ofi_options parse_ofi_options(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return {.provider = std::string(text), .domain = {}};
  return {.provider = std::string(text.substr(0, at)), .domain = std::string(text.substr(at + 1))};
}

}  // namespace weft
