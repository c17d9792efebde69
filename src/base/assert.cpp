#include "base/assert.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace weft {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
  // No allocation and no stdio lock: the heap or the lock may be what is broken.
  char text[512];
  const int length = std::snprintf(text, sizeof text, "weft: %s:%d: assertion failed: %s\n", file,
                                   line, expression);
  if (length > 0) {
    const auto size = static_cast<std::size_t>(length);
    [[maybe_unused]] const auto written =
        ::write(STDERR_FILENO, text, size < sizeof text ? size : sizeof text - 1);
  }
  std::abort();
}

}  // namespace weft
