#include "front/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace front {

progress_bar::progress_bar(std::uint64_t steps)
    : steps_(steps), on_terminal_(isatty(STDERR_FILENO) != 0) {}

void progress_bar::show(std::uint64_t step) {
  if (!on_terminal_) return;
  const auto now = clock::now();
  if (now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  visible_ = true;
  constexpr int width = 40;
  const double share =
      static_cast<double>(step) / static_cast<double>(std::max<std::uint64_t>(steps_, 1));
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string bar(static_cast<std::size_t>(share * width), '#');
  bar.resize(width, '.');
  std::fprintf(stderr, "\r[%s] %3.0f %%  step %llu of %llu  %.0f s left \x1b[K", bar.c_str(),
               100 * share, static_cast<unsigned long long>(step),
               static_cast<unsigned long long>(steps_),
               share > 0 ? seconds * (1 - share) / share : 0.0);
}

void progress_bar::clear() {
  if (visible_) std::fputs("\r\x1b[K", stderr);
  visible_ = false;
}

}  // namespace front
