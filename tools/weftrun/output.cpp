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
namespace {

// What stdio writes to a pipe when it is full and not flushed, or several times as much: nobody is to see it yet.
constexpr ssize_t full_buffer_bytes = 4096;

}  // namespace

bool write_lines(int stream, std::string_view lines) {
  return write_all(stream == 1 ? STDOUT_FILENO : STDERR_FILENO, lines);
}

output_forwarder::output_forwarder(line_sink sink, begun_lines begun)
    : sink_(std::move(sink)), read_(output_line_bytes_max + output_read_bytes), begun_(begun) {
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
    std::string all(lines.empty() ? std::string_view() : end_of_open_line(-1, stream));
    written(deliver(process, stream, all += lines));
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
  ++s.reads;
  if (begun_ == begun_lines::pass && !s.begun.empty() && size % full_buffer_bytes != 0)
    loop_.after(begun_rest_s, [this, number, reads = s.reads] { pass_begun(number, reads); });
  if (whole == 0) return;
  const std::string_view end = end_of_open_line(number, s.stream);
  if ((!end.empty() && !deliver(s.process, s.stream, end)) ||
      !deliver(s.process, s.stream, all.substr(0, whole))) {
    // Its writer learns as it would without weftrun: the pipe breaks.
    s.begun.clear();
    leave(number);
    return;
  }
  open_[s.stream] = -1;
}

// Not while another process is in the middle of a line that is seen.
void output_forwarder::pass_begun(int number, std::uint64_t reads) {
  const auto found = sources_.find(number);
  if (found == sources_.end()) return;
  source& s = *found->second;
  if (s.reads != reads || s.begun.empty()) return;
  if (open_[s.stream] >= 0 && open_[s.stream] != number)
    return loop_.after(begun_rest_s, [this, number, reads] { pass_begun(number, reads); });
  const std::string text = std::exchange(s.begun, {});
  open_[s.stream] = number;
  if (!deliver(s.process, s.stream, text)) leave(number);
}

std::string_view output_forwarder::end_of_open_line(int number, int stream) {
  if (open_[stream] < 0 || open_[stream] == number) return {};
  open_[stream] = -1;
  return "\n";
}

void output_forwarder::leave(int number) {
  const auto found = sources_.find(number);
  if (found == sources_.end()) return;
  source& s = *found->second;
  // The next line of another process begins a line.
  if (!s.begun.empty() || open_[s.stream] == number) {
    const std::string before(end_of_open_line(number, s.stream));
    static_cast<void>(deliver(s.process, s.stream, before + s.begun + "\n"));
    open_[s.stream] = -1;
  }
  loop_.forget(number);
  sources_.erase(found);
  finish_if_empty();
}

}  // namespace weft
