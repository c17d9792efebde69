// What the runtime itself has to say: whole lines on stderr, each beginning with "weft: ".
#pragma once
#include <string_view>

#include "base/format.hpp"

namespace weft {

// Writes each line of `text` with the prefix, in one system call, so that lines of several threads
// and processes do not mix. Callable by any thread; takes no lock of stdio.
void log_text(std::string_view text) noexcept;

template <class... Values>
void log_line(fmt::format_string<Values...> pattern, const Values&... values) {
  log_text(formatted_text(pattern, fmt::make_format_args(values...)));
}

}  // namespace weft
