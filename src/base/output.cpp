#include "base/output.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.hpp"

namespace weft {

namespace {

// The errno of the first write to standard output that failed since someone asked. Relaxed: ranks write
// before whoever asks has heard that they ended.
std::atomic<int> first_error{0};

// Nobody reads any longer: a program that wanted to know has SIGPIPE.
bool is_of_broken_pipe(int error) {
  if (error != 0) return error == EPIPE;
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

// One file descriptor, and for each rank the line that it has begun.
class line_writer {
 public:
  line_writer(int descriptor, int (*current_rank)() noexcept)
      : descriptor_(descriptor), current_rank_(current_rank) {}

  void append(std::string_view text) {
    const int rank = current_rank_();
    const std::lock_guard lock(mutex_);
    if (rank < 0) return write_all(text);
    std::string& begun = begun_[rank];
    std::string lines;
    for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
      lines += whole(rank, begun, text.substr(0, end));
      begun.clear();
    }
    begun += text;
    write_all(lines);
  }

  void finish() {
    const std::lock_guard lock(mutex_);
    for (auto& [rank, text] : begun_)
      if (!text.empty()) write_all(whole(rank, text, ""));
    begun_.clear();
  }

  // Called by whoever starts or ends a line_output.
  void set_tagged(bool tagged) {
    const std::lock_guard lock(mutex_);
    tagged_ = tagged;
  }

 private:
  std::string whole(int rank, std::string_view begun, std::string_view rest) const {
    return tagged_ ? formatted("[{}] {}{}\n", rank, begun, rest) : formatted("{}{}\n", begun, rest);
  }

  void write_all(std::string_view text) {
    while (!text.empty()) {
      const long written = write_directly(descriptor_, text);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {  // Closed or full: lost_output() says so.
        int none = 0;
        if (descriptor_ == STDOUT_FILENO)
          first_error.compare_exchange_strong(none, errno, std::memory_order_relaxed);
        return;
      }
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  int descriptor_;
  int (*current_rank_)() noexcept;
  std::mutex mutex_;  // Never held across a wait of a rank.
  std::map<int, std::string> begun_;
  bool tagged_ = false;
};

// What std::cout and its like write to.
class line_stream : public std::streambuf {
 public:
  explicit line_stream(line_writer& lines) : lines_(lines) {}

 private:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    lines_.append({&one, 1});
    return c;
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    lines_.append({text, static_cast<std::size_t>(size)});
    return size;
  }

  line_writer& lines_;
};

// A FILE without a buffer of its own, so that every call arrives while its rank runs.
std::FILE* open_stream(line_writer& lines) {
  cookie_io_functions_t calls{};
  calls.write = [](void* to, const char* text, std::size_t size) {
    static_cast<line_writer*>(to)->append({text, size});
    return static_cast<ssize_t>(size);
  };
  std::FILE* const file = ::fopencookie(&lines, "w", calls);
  if (file != nullptr) std::setvbuf(file, nullptr, _IONBF, 0);
  return file;
}

// stdout or stderr, and the C++ streams over it, redirected while this lives.
class redirection {
 public:
  redirection(std::FILE*& file, int descriptor, int (*current_rank)() noexcept)
      : lines_(descriptor, current_rank), stream_(lines_), place_(file), before_(file) {
    std::fflush(before_);
    if (std::FILE* const replacement = open_stream(lines_)) place_ = replacement;
  }
  ~redirection() {
    if (place_ != before_) std::fclose(std::exchange(place_, before_));
    lines_.finish();
  }
  redirection(const redirection&) = delete;
  redirection& operator=(const redirection&) = delete;

  std::streambuf* stream() { return &stream_; }
  line_writer& lines() { return lines_; }

 private:
  line_writer lines_;
  line_stream stream_;
  std::FILE*& place_;
  std::FILE* before_;
};

struct redirections {
  explicit redirections(int (*current_rank)() noexcept)
      : out(stdout, STDOUT_FILENO, current_rank),
        err(stderr, STDERR_FILENO, current_rank),
        cout_before(std::cout.rdbuf(out.stream())),
        cerr_before(std::cerr.rdbuf(err.stream())),
        clog_before(std::clog.rdbuf(err.stream())) {}
  ~redirections() {
    std::cout.rdbuf(cout_before);
    std::cerr.rdbuf(cerr_before);
    std::clog.rdbuf(clog_before);
  }
  redirections(const redirections&) = delete;
  redirections& operator=(const redirections&) = delete;

  redirection out;
  redirection err;
  std::streambuf* cout_before;
  std::streambuf* cerr_before;
  std::streambuf* clog_before;
};

struct shared_redirections {
  std::mutex mutex;
  int users = 0;
  int tagging = 0;
  std::unique_ptr<redirections> active;
  // For append_to_line(), which is called by ranks: they start after their job's line_output was made
  // and end before it does. Hence relaxed.
  std::atomic<redirections*> found{nullptr};

  // Under the mutex.
  void set_tagged() const {
    active->out.lines().set_tagged(tagging != 0);
    active->err.lines().set_tagged(tagging != 0);
  }
};

shared_redirections& shared() {
  static shared_redirections instance;
  return instance;
}

}  // namespace

line_output::line_output(int (*current_rank)() noexcept, line_style style) : style_(style) {
  shared_redirections& all = shared();
  const std::lock_guard lock(all.mutex);
  if (all.users++ == 0) all.active = std::make_unique<redirections>(current_rank);
  if (style_ == line_style::tagged) ++all.tagging;
  all.set_tagged();
  all.found.store(all.active.get(), std::memory_order_relaxed);
}

line_output::~line_output() {
  shared_redirections& all = shared();
  const std::lock_guard lock(all.mutex);
  if (--all.users == 0) {
    all.found.store(nullptr, std::memory_order_relaxed);
    all.active.reset();
  }
  if (style_ == line_style::tagged && --all.tagging == 0 && all.active != nullptr) all.set_tagged();
}

bool append_to_line(int descriptor, std::string_view text) {
  redirections* const all = shared().found.load(std::memory_order_relaxed);
  if (all == nullptr) return false;
  (descriptor == STDOUT_FILENO ? all->out : all->err).lines().append(text);
  return true;
}

void end_begun_lines() {
  redirections* const all = shared().found.load(std::memory_order_relaxed);
  if (all == nullptr) return;
  all->out.lines().finish();
  all->err.lines().finish();
}

std::string lost_output() {
  static std::atomic<bool> told_before{false};  // stdio never forgets.
  int by_stdio = std::fflush(stdout) == 0 ? 0 : errno;
  errno = 0;
  std::streambuf* const of_cout = std::cout.rdbuf();  // With a buffer of its own, or the program's.
  if (of_cout != nullptr && of_cout->pubsync() != 0 && by_stdio == 0) by_stdio = errno;
  const int by_lines = first_error.exchange(0, std::memory_order_relaxed);
  const bool had_error = std::ferror(stdout) != 0;
  const bool is_told = told_before.exchange(had_error, std::memory_order_relaxed);
  const int error = by_lines != 0 ? by_lines : by_stdio;
  if (error == 0 && (!had_error || is_told)) return {};
  if (is_of_broken_pipe(error)) return {};
  return formatted(
      "standard output could not be written{}{}: some of what the ranks printed is lost; is the disk "
      "full?",
      error != 0 ? ": " : "", error != 0 ? std::strerror(error) : "");
}

// Not write(): where ranks have private copies of their program, that name leads back to
// append_to_line().
long write_directly(int descriptor, std::string_view text) noexcept {
  return ::syscall(SYS_write, descriptor, text.data(), text.size());
}

}  // namespace weft
