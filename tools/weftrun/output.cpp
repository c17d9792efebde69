#include "weftrun/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/limits.hpp"
#include "base/start_thread.hpp"

namespace weft {

bool write_lines(int stream, std::string_view lines) {
  return write_all(stream == 1 ? STDOUT_FILENO : STDERR_FILENO, lines);
}

output_forwarder::output_forwarder(line_sink sink)
    : sink_(std::move(sink)), read_(output_line_bytes_max + output_read_bytes) {
  thread_ = start_thread("forwarding the output", [this] {
    ::pthread_setname_np(::pthread_self(), "weftrun-output");
    loop_.run();
  });
}

output_forwarder::~output_forwarder() {
  loop_.post([this] { loop_.stop(); });
  thread_.join();
}

void output_forwarder::add(int process, int stream, descriptor from) {
  // Fewer, larger reads when a process prints a lot; without the right to it the default stays.
  static_cast<void>(::fcntl(from.get(), F_SETPIPE_SZ, static_cast<int>(output_read_bytes)));
  auto added =
      std::make_shared<std::unique_ptr<source>>(new source{process, stream, std::move(from), {}});
  loop_.post([this, added] {
    source& s = **added;
    const int number = s.from.get();
    sources_[number] = std::move(*added);
    if (closed_[s.stream]) return leave(number);
    loop_.watch(number, POLLIN, [this, &s](short) { read_from(s); });
  });
}

void output_forwarder::pass(int process, int stream, std::string lines,
                            std::function<void(bool)> written) {
  loop_.post([this, process, stream, lines = std::move(lines), written = std::move(written)] {
    written(deliver(process, stream, lines));
  });
}

void output_forwarder::finish(std::function<void()> done) {
  loop_.post([this, done = std::move(done)]() mutable {
    finished_ = std::move(done);
    loop_.after(output_grace_s, [this] {
      while (!sources_.empty()) leave(sources_.begin()->first);
    });
    finish_if_empty();
  });
}

void output_forwarder::finish_if_empty() {
  if (finished_ && sources_.empty()) std::exchange(finished_, nullptr)();
}

bool output_forwarder::deliver(int process, int stream, std::string_view lines) {
  if (closed_[stream]) return false;
  if (!sink_(process, stream, lines)) closed_[stream] = true;
  return !closed_[stream];
}

void output_forwarder::read_from(source& s) {
  const int number = s.from.get();
  // The line that was begun stands before what follows it, so that one write carries both.
  std::memcpy(read_.data(), s.begun.data(), s.begun.size());
  const ssize_t size = ::read(number, read_.data() + s.begun.size(), output_read_bytes);
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (size <= 0) return leave(number);
  const std::string_view all(read_.data(), s.begun.size() + static_cast<std::size_t>(size));
  const std::size_t last = all.rfind('\n');
  std::size_t whole = last == all.npos ? 0 : last + 1;
  // A line as long as this is no line; it passes in pieces.
  if (all.size() - whole > output_line_bytes_max) whole = all.size();
  s.begun = all.substr(whole);
  if (whole > 0 && !deliver(s.process, s.stream, all.substr(0, whole))) {
    // Its writer learns as it would without weftrun: the pipe breaks.
    s.begun.clear();
    leave(number);
  }
}

void output_forwarder::leave(int number) {
  const auto found = sources_.find(number);
  if (found == sources_.end()) return;
  source& s = *found->second;
  // The next line of another process begins a line.
  if (!s.begun.empty()) static_cast<void>(deliver(s.process, s.stream, s.begun + "\n"));
  loop_.forget(number);
  sources_.erase(found);
  finish_if_empty();
}

}  // namespace weft
