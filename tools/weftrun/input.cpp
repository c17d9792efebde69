#include "weftrun/input.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/limits.hpp"

namespace weft {

namespace {

// A process in the background that reads from its terminal is stopped by the kernel.
bool may_read() {
  return ::isatty(STDIN_FILENO) == 0 || ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

}  // namespace

void input_pump::start(std::function<void(std::string)> take) {
  take_ = std::move(take);
  more();
}

void input_pump::more() {
  if (!take_) return;
  loop_.watch(STDIN_FILENO, POLLIN, [this](short) { read(); });
}

void input_pump::stop() {
  take_ = nullptr;
  loop_.forget(STDIN_FILENO);
}

void input_pump::read() {
  loop_.forget(STDIN_FILENO);
  if (!may_read()) return loop_.after(0.5, [this] { more(); });
  std::string bytes(input_piece_bytes, '\0');
  const ssize_t size = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return more();
  bytes.resize(static_cast<std::size_t>(size > 0 ? size : 0));
  const auto take = take_;
  if (bytes.empty()) take_ = nullptr;
  take(std::move(bytes));
}

}  // namespace weft
