#include "base/log.hpp"

#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>

#include "base/output.hpp"

namespace weft {

namespace {

void write_all(std::string_view text) noexcept {
  while (!text.empty()) {
    const long written = write_directly(STDERR_FILENO, text);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // stderr is closed or full: nobody is left to tell.
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void log_text(std::string_view text) noexcept try {
  std::string lines;
  do {
    const std::size_t end = text.find('\n');
    lines.append("weft: ").append(text.substr(0, end)).push_back('\n');
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  } while (!text.empty());
  write_all(lines);
} catch (const std::bad_alloc&) {
  write_all(text);
}

}  // namespace weft
