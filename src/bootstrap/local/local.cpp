#include "bootstrap/local/local.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/blocked_signals.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/kernel.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "bootstrap/local/frame.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

bool send_all(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    // Not write(): a signal is no way to learn that weftrun is gone.
    const ssize_t sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// The connection of this process to weftrun, which outlives the jobs of one program that calls
// weft::run() several times. Its thread sleeps in read().
class connection {
 public:
  // A word to the process's one job at a time: what its owner waits for is here.
  explicit connection(int descriptor) : descriptor_(descriptor), owner_(::getpid()) {
    // A signal's handler has no business here: the program's is for its own threads, and that of a
    // library that is being loaded for nobody (base/kept_dispositions.hpp).
    const blocked_signals begins_with;
    start_thread("listening to weftrun", [this] { listen(); }).detach();
  }

  pid_t owner() const noexcept { return owner_; }

  job_description join() {
    {
      const std::lock_guard hold(mutex_);
      if (joined_)
        throw error(
            "this process takes part in a job of several processes already: one weft::run() at a "
            "time, and none beside a comm::runtime of that job");
      joined_ = true;
      welcome_.reset();
      fences_done_ = 0;
      failures_.clear();
    }
    send({.kind = frame_kind::join, .argument = session_, .payload = formatted("{}", ::getpid())});
    std::unique_lock hold(mutex_);
    await(hold, "weftrun does not answer", [this] { return welcome_.has_value(); });
    job_description job = job_description::decoded(*welcome_);
    // Names of an earlier job of this process may be in use still.
    if (session_ > 0) job.id += formatted("-{}", session_);
    if (job.line_buffered) std::setvbuf(stdout, nullptr, _IOLBF, 0);
    return job;
  }

  void send(const frame& what) {
    std::string bytes;
    append_frame(bytes, what);
    const std::lock_guard hold(send_mutex_);
    if (!send_all(descriptor_, bytes)) throw error("the connection to weftrun is broken");
  }

  void fence() {
    const std::uint64_t before = [this] {
      const std::lock_guard hold(mutex_);
      return fences_done_;
    }();
    send({.kind = frame_kind::fence});
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [&] { return fences_done_ != before; });
  }

  std::string get(int process, std::string_view key) {
    const int request = [this] {
      const std::lock_guard hold(mutex_);
      return next_request_++;
    }();
    send({.kind = frame_kind::get,
          .argument = request,
          .payload = field_writer().number(process).text(key).take()});
    std::unique_lock hold(mutex_);
    await(hold, formatted("no answer about key '{}' of process {}", key, process),
          [&] { return replies_.contains(request); });
    const frame reply = std::move(replies_.extract(request).mapped());
    hold.unlock();
    if (reply.kind == frame_kind::refused) throw error(reply.payload);
    return reply.payload;
  }

  void on_failure(bootstrap::failure_handler handler) {
    const std::lock_guard calling(handler_mutex_);
    handler_ = std::move(handler);
    std::map<int, std::string> missed;
    {
      const std::lock_guard hold(mutex_);
      missed = failures_;
    }
    if (handler_)
      for (const auto& [process, why] : missed) handler_(process, why);
  }

  [[noreturn]] void abort(int exit_status, const std::string& why) {
    std::fflush(nullptr);
    try {
      send({.kind = frame_kind::abort, .argument = exit_status, .payload = why});
      // weftrun ends this process with all others.
      const std::uint64_t until = now_ns() + std::uint64_t{abort_wait_s} * 1'000'000'000;
      for (std::uint64_t now; (now = now_ns()) < until;)
        sleep_in_kernel(std::chrono::nanoseconds(until - now));
    } catch (const std::exception&) {
      log_text(why);
    }
    std::_Exit(exit_status);
  }

  void tells_failure(int exit_status) noexcept {
    try {
      send({.kind = frame_kind::told, .argument = exit_status});
    } catch (const std::exception&) {  // weftrun has gone and says nothing.
    }
  }

  void finish() noexcept {
    try {
      {
        const std::lock_guard calling(handler_mutex_);
        handler_ = nullptr;
      }
      send({.kind = frame_kind::finish, .argument = session_});
    } catch (const std::exception& failure) {
      log_text(failure.what());
    }
    const std::lock_guard hold(mutex_);
    ++session_;
    joined_ = false;
  }

 private:
  template <class Condition>
  void await(std::unique_lock<std::mutex>& hold, const std::string& what, Condition condition) {
    if (!changed_.wait_for(hold, std::chrono::seconds(bootstrap_wait_s), condition))
      throw error(formatted("{} within {} s", what, bootstrap_wait_s));
  }

  void listen() {
    ::pthread_setname_np(::pthread_self(), "weft-bootstrap");
    try {
      frame_reader frames;
      while (frames.read_from(descriptor_))
        while (std::optional<frame> what = frames.next()) take(std::move(*what));
    } catch (const std::exception& failure) {
      log_text(failure.what());
    }
    const std::lock_guard hold(mutex_);
    if (!joined_) return;
    log_line("weftrun is gone: this process ends");
    std::_Exit(1);
  }

  void take(frame what) {
    if (what.kind == frame_kind::failed) return take_failure(what);
    const std::lock_guard hold(mutex_);
    switch (what.kind) {
      case frame_kind::welcome:
        welcome_ = std::move(what.payload);
        break;
      case frame_kind::value:
      case frame_kind::refused:
        replies_.insert_or_assign(what.argument, std::move(what));
        break;
      case frame_kind::fence_done:
        ++fences_done_;
        break;
      default:
        throw error("weftrun said something that it should not");
    }
    changed_.notify_all();
  }

  void take_failure(const frame& what) {
    const std::lock_guard calling(handler_mutex_);
    {
      const std::lock_guard hold(mutex_);
      if (!failures_.emplace(what.argument, what.payload).second) return;
    }
    if (handler_) handler_(what.argument, what.payload);
  }

  const int descriptor_;
  const pid_t owner_;
  std::mutex send_mutex_;
  std::mutex handler_mutex_;  // Held while the handler runs. Taken before mutex_.
  bootstrap::failure_handler handler_;
  std::mutex mutex_;  // Of all below.
  std::condition_variable changed_;
  bool joined_ = false;
  int session_ = 0;  // Jobs of this process so far.
  std::optional<std::string> welcome_;
  std::uint64_t fences_done_ = 0;
  int next_request_ = 0;
  std::map<int, frame> replies_;
  std::map<int, std::string> failures_;
};

// Never freed: its thread lives as long as the process.
connection* the_connection = nullptr;

class local_bootstrap final : public bootstrap {
 public:
  explicit local_bootstrap(connection& to) : to_(to), job_(to.join()) {}
  ~local_bootstrap() override {
    if (!finished_) to_.on_failure(nullptr);
  }

  std::string_view name() const noexcept override { return "local"; }
  int process() const noexcept override { return job_.process; }
  int process_count() const noexcept override { return static_cast<int>(job_.host_index.size()); }
  const std::string& job_id() const noexcept override { return job_.id; }
  int node_of(int process) const override { return job_.host_index.at(checked(process)); }
  std::string host_of(int process) const override {
    return job_.hosts[static_cast<std::size_t>(node_of(process))];
  }

  std::span<const job_part> parts() const noexcept override { return job_.parts; }

  void put(std::string_view key, std::string_view value) override {
    to_.send({.kind = frame_kind::put, .payload = field_writer().text(key).text(value).take()});
  }
  std::string get(int process, std::string_view key) override {
    static_cast<void>(checked(process));
    return to_.get(process, key);
  }
  void fence() override { to_.fence(); }
  void on_failure(failure_handler handler) override { to_.on_failure(std::move(handler)); }
  void abort(int exit_status, const std::string& why) override { to_.abort(exit_status, why); }
  void tells_failure(int exit_status) noexcept override { to_.tells_failure(exit_status); }
  void finish() noexcept override {
    finished_ = true;
    to_.finish();
  }

 private:
  std::size_t checked(int process) const {
    if (process < 0 || process >= process_count())
      throw error(formatted("there is no process {}; the job has {}", process, process_count()));
    return static_cast<std::size_t>(process);
  }

  connection& to_;
  const job_description job_;
  bool finished_ = false;
};

}  // namespace

bool has_local_connection() noexcept {
  return the_connection != nullptr && the_connection->owner() == ::getpid();
}

std::unique_ptr<bootstrap> make_local_bootstrap(const char* value) {
  if (!has_local_connection()) {
    const std::string_view text = value == nullptr ? "" : value;
    int descriptor = -1;
    std::from_chars(text.data(), text.data() + text.size(), descriptor);
    struct stat file;
    if (descriptor < 0 || ::fstat(descriptor, &file) != 0 || !S_ISSOCK(file.st_mode))
      throw error(
          formatted("{}={} names no connection to weftrun: something between weftrun and "
                    "this program closed it; start the program by weftrun itself, or unset "
                    "{} to run it alone",
                    job_variable, text, job_variable));
    // Programs that this one starts are no part of the job.
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    ::unsetenv(job_variable);
    the_connection = new connection(descriptor);
  }
  return std::make_unique<local_bootstrap>(*the_connection);
}

}  // namespace weft
