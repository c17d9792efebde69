#include "base/log.hpp"

#include <unistd.h>

#include <new>
#include <string>

#include "base/output.hpp"

namespace weft {

// Where stderr is closed or full nobody is left to tell.
void log_text(std::string_view text) noexcept try {
  std::string lines;
  do {
    const std::size_t end = text.find('\n');
    lines.append("weft: ").append(text.substr(0, end)).push_back('\n');
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  } while (!text.empty());
  write_directly(STDERR_FILENO, lines);
} catch (const std::bad_alloc&) {
  write_directly(STDERR_FILENO, text);
}

}  // namespace weft
