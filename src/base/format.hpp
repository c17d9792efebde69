// Text for people, off the data path: formatted("rank {} of {}", rank, size). The only header that
// names {fmt}; formatting itself is compiled once, in format.cpp.
#pragma once
#include <fmt/core.h>

#include <string>

namespace weft {

std::string formatted_text(fmt::string_view pattern, fmt::format_args values);

template <class... Values>
std::string formatted(fmt::format_string<Values...> pattern, const Values&... values) {
  return formatted_text(pattern, fmt::make_format_args(values...));
}

}  // namespace weft
