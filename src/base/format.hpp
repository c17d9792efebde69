// Text for people, off the data path: formatted("rank {} of {}", rank, size). The only header that
// names {fmt}; formatting itself is compiled once, in format.cpp.
#pragma once
#include <fmt/core.h>

#include <string>
#include <string_view>

namespace weft {

std::string formatted_text(fmt::string_view pattern, fmt::format_args values);

template <class... Values>
std::string formatted(fmt::format_string<Values...> pattern, const Values&... values) {
  return formatted_text(pattern, fmt::make_format_args(values...));
}

// What a user wrote, as part of one line: what cannot be printed becomes an escape such as \n or
// \x00, and only the beginning of a long text is left.
std::string printable(std::string_view text);

}  // namespace weft
