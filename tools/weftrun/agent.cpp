// weftrun --agent: one host's part of a job whose weftrun is elsewhere. Frames come on stdin and go
// on stdout; when stdin ends, or says nothing for too long, everything here ends.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "weft/error.hpp"
#include "weftrun/host.hpp"
#include "weftrun/signals.hpp"

namespace weft {

namespace {

// How many bytes of output may be on their way. Given by the main thread, taken by the
// forwarder's.
class output_window {
 public:
  // Returns false when nobody will give any more.
  bool take(std::size_t size) {
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [&] { return closed_ || room_ >= size; });
    if (!closed_) room_ -= size;
    return !closed_;
  }
  void give(std::size_t size) {
    const std::lock_guard hold(mutex_);
    room_ += size;
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard hold(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t room_ = output_window_bytes;
  bool closed_ = false;
};

class agent {
 public:
  agent(descriptor in, descriptor out, sweeper& sweeps, signal_reader& signals)
      : output_([this](int process, int stream, std::string_view lines) {
          return send_lines(process, stream, lines);
        }),
        link_(
            loop_, std::move(in), std::move(out), [this](frame what) { take(std::move(what)); },
            [this](const std::string&) { abandon(); }),
        children_(loop_, output_, sweeps, [this](frame what) { link_.send(what); }) {
    loop_.watch(signals.number(), POLLIN, [this, &signals](short) {
      while (const int number = signals.next()) on_signal(number);
    });
    beat();
    const host_cores cores = cores_of_this_host();
    link_.send({.kind = frame_kind::ready,
                .payload = field_writer()
                               .text(WEFT_VERSION)
                               .number(cores.threads)
                               .number(cores.numa_nodes)
                               .take()});
  }
  ~agent() { window_.close(); }

  int run() {
    loop_.run();
    return status_;
  }

 private:
  bool send_lines(int process, int stream, std::string_view lines) {
    while (!lines.empty()) {
      if (unread_[stream == 1 ? 0 : 1]) return false;
      // Cut between lines only: what arrives passes as it is.
      std::size_t size = std::min(lines.size(), output_read_bytes);
      if (size < lines.size()) {
        const std::size_t last = lines.rfind('\n', size - 1);
        size = last != lines.npos ? last + 1 : std::min(lines.find('\n'), lines.size() - 1) + 1;
      }
      if (!window_.take(size)) return false;
      loop_.post([this, process, stream, text = std::string(lines.substr(0, size))] {
        link_.send(
            {.kind = frame_kind::output, .process = process, .argument = stream, .payload = text});
      });
      lines.remove_prefix(size);
    }
    return true;
  }

  void take(const frame& what) {
    heard_ = true;
    stopped_ = false;
    switch (what.kind) {
      case frame_kind::start:
        return children_.start(start_order::decoded(what.process, what.payload));
      case frame_kind::output_room:
        return window_.give(static_cast<std::size_t>(std::max(what.argument, 0)));
      case frame_kind::output:
        unread_[what.argument == 1 ? 0 : 1] = true;
        return;
      case frame_kind::signal:
        stopped_ = what.argument == SIGSTOP;
        return children_.signal(what.argument);
      case frame_kind::end:
        return children_.end();
      case frame_kind::leave:
        return output_.finish([this] { loop_.post([this] { leave_when_sent(); }); });
      case frame_kind::beat:
        return;
      default:
        return children_.send(what);
    }
  }

  void leave_when_sent() {
    if (link_.unsent_bytes() == 0) return loop_.stop();
    loop_.after(0.01, [this] { leave_when_sent(); });
  }

  void on_signal(int number) {
    if (number == SIGCHLD) return children_.reap();
    // Somebody on this host wants it to end; weftrun hears of it by the end of the processes.
    if (number == SIGTERM || number == SIGINT || number == SIGHUP) children_.end();
  }

  // weftrun is gone or out of reach.
  void abandon() {
    status_ = 1;
    children_.kill_all();
    window_.close();
    loop_.stop();
  }

  void beat() {
    loop_.after(1, [this] {
      silent_s_ = heard_ || stopped_ ? 0 : silent_s_ + 1;
      heard_ = false;
      if (silent_s_ > host_silence_s) return abandon();
      link_.send({.kind = frame_kind::beat});
      beat();
    });
  }

  output_window window_;
  std::atomic<bool> unread_[2] = {false, false};  // stdout, stderr: nobody reads it at weftrun.
  event_loop loop_;
  output_forwarder output_;
  channel link_;
  children children_;
  bool heard_ = true;
  bool stopped_ = false;  // The whole job, as by ^Z: weftrun is silent and there.
  double silent_s_ = 0;
  int status_ = 0;
};

}  // namespace

int run_agent() {
  // Only frames go to stdout; what a library may print there goes to stderr.
  descriptor in(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  descriptor out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);

  // The job's id comes first: the sweeper must know it, and must be there before any thread.
  std::string first;
  frame_reader frames;
  std::optional<frame> hello;
  while (!hello) {
    char byte;
    if (::read(in.get(), &byte, 1) != 1) throw error("--agent is for weftrun's own use");
    frames.append({&byte, 1});
    hello = frames.next();
  }
  if (hello->kind != frame_kind::hello) throw error("--agent is for weftrun's own use");
  field_reader fields(hello->payload);
  sweeper sweeps{std::string(fields.text())};
  signal_reader signals;
  return agent(std::move(in), std::move(out), sweeps, signals).run();
}

}  // namespace weft
