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
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/forked_child.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"

#ifdef __GLIBCXX__
#include <ext/stdio_filebuf.h>
#include <ext/stdio_sync_filebuf.h>
#endif

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
  explicit line_writer(int descriptor) : descriptor_(descriptor) {}

  void append(std::string_view text) {
    // Asked first: in a process that a rank has forked, the mutex may be another thread's for ever.
    const int rank = current_rank();
    if (rank < 0) return write_all(text);
    const std::lock_guard lock(mutex_);
    if (const int own = led_away(rank); own >= 0) {
      static_cast<void>(write_directly(own, text));
      return;
    }
    std::string& begun = begun_[rank];
    std::string lines;
    for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
      lines += whole(rank, begun, text.substr(0, end));
      begun.clear();
    }
    begun += text;
    if (is_to_be_seen(begun, text)) lines += std::exchange(begun, {});
    write_all(lines);
  }

  // The calling rank's line is to be seen as far as it goes. That std::cerr is flushed says nothing: it is
  // after each piece.
  void flush() {
    const int rank = current_rank();
    if (rank < 0 || descriptor_ == STDERR_FILENO) return;
    const std::lock_guard lock(mutex_);
    if (!is_tagged() && led_away(rank) < 0) write_all(std::exchange(begun_[rank], {}));
  }

  // Of the calling rank. What it has begun stays where it is.
  void lead_away(int to) {
    const int rank = current_rank();
    const std::lock_guard lock(mutex_);
    if (const int before = led_away(rank); before >= 0) ::close(before);
    if (to >= 0)
      led_away_[rank] = to;
    else
      led_away_.erase(rank);
  }
  int where_led() {
    const int rank = current_rank();
    if (rank < 0) return -1;
    const std::lock_guard lock(mutex_);
    return led_away(rank);
  }

  // Untagged, the last line that was begun stays open: the program may go on with it.
  void finish() {
    const std::lock_guard lock(mutex_);
    write_begun(false);
    begun_.clear();
    for (const auto& [rank, own] : led_away_) ::close(own);
    led_away_.clear();
  }

  // In a handler of signals, which may have interrupted whoever holds the mutex.
  void finish_before_death() noexcept {
    if (::getpid() != process_) return;  // A forked child has a copy of what its parent will write.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) write_begun(true);
  }

  int current_rank() const noexcept { return current_rank_.load(std::memory_order_relaxed)(); }

  // These two are called by whoever starts or ends a line_output.
  void set_source(int (*of_caller)() noexcept) {
    current_rank_.store(of_caller, std::memory_order_relaxed);  // Relaxed: a function is all.
    process_ = ::getpid();
  }
  void set_style(line_style style) {
    const std::lock_guard lock(mutex_);
    style_ = style;
  }

 private:
  std::string whole(int rank, std::string_view begun, std::string_view rest) const {
    return is_tagged() ? formatted("[{}] {}{}\n", rank, begun, rest)
                       : formatted("{}{}\n", begun, rest);
  }

  // Under the mutex; -1: it is not.
  int led_away(int rank) const {
    if (led_away_.empty()) return -1;
    const auto found = led_away_.find(rank);
    return found == led_away_.end() ? -1 : found->second;
  }

  bool is_tagged() const { return style_ == line_style::tagged; }

  // Before its end: what a process that dies must not lose, and a line that its rank writes over, such as
  // a bar of progress. Of what was begun the `newest` has not been looked at.
  bool is_to_be_seen(std::string_view begun, std::string_view newest) const {
    if (is_tagged()) return false;
    return (descriptor_ == STDERR_FILENO && style_ == line_style::plain) ||
           newest.find('\r') != newest.npos || begun.size() > output_line_bytes_max;
  }

  // Async-signal-safe: allocates nothing. Untagged, the last is ended if `all_end`.
  void write_begun(bool all_end) noexcept {
    const std::string* last = nullptr;
    for (const auto& [rank, text] : begun_)
      if (!text.empty()) last = &text;
    for (auto& [rank, text] : begun_) {
      if (text.empty()) continue;
      char tag[16];
      if (is_tagged())
        write_all({tag, static_cast<std::size_t>(std::snprintf(tag, sizeof tag, "[%d] ", rank))});
      write_all(text);
      if (all_end || is_tagged() || &text != last) write_all("\n");
      text.clear();
    }
  }

  // Closed or full: lost_output() says so.
  void write_all(std::string_view text) noexcept {
    const int error = write_directly(descriptor_, text);
    int none = 0;
    if (error != 0 && descriptor_ == STDOUT_FILENO)
      first_error.compare_exchange_strong(none, error, std::memory_order_relaxed);
  }

  int descriptor_;
  pid_t process_ = 0;
  std::atomic<int (*)() noexcept> current_rank_{nullptr};
  std::mutex mutex_;  // Never held across a wait of a rank.
  std::map<int, std::string> begun_;
  std::map<int, int> led_away_;  // Ranks with a descriptor of their own.
  line_style style_ = line_style::plain;
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
  int sync() override {
    lines_.flush();
    return 0;
  }

  line_writer& lines_;
};

// stdout or stderr, redirected from begin() to end(). It outlives both, since a thread of the program may
// have taken the stream just before.
class redirection {
 public:
  redirection(std::FILE*& file, int descriptor)
      : descriptor_(descriptor), lines_(descriptor), place_(file) {}

  void begin(int (*current_rank)() noexcept) {
    lines_.set_source(current_rank);
    before_ = place_;
    // One that the program has put in its place, such as a stream of memory, stays.
    if (before_ == nullptr || ::fileno(before_) != descriptor_) return;
    // Streams of open() take bytes alone.
    if (std::fwide(before_, 0) > 0) return;
    std::fflush(before_);
    if (stream() == nullptr)
      stream_.store(open(), std::memory_order_relaxed);  // The pointer is all.
    if (stream() == nullptr) return;
    place_ = stream();
  }
  void end() {
    if (place_ == stream()) place_ = before_;
    lines_.finish();
  }
  line_writer& lines() { return lines_; }
  // In a forked child, which shares it with nobody: the process's own stream is in its place again.
  std::FILE* give_back() noexcept {
    if (place_ == stream()) place_ = before_;
    return before_;
  }
  // Made once. Called by any thread.
  std::FILE* stream() const noexcept { return stream_.load(std::memory_order_relaxed); }

 private:
  // Without a buffer of its own, so that every call arrives while its rank runs.
  std::FILE* open() {
    cookie_io_functions_t calls{};
    calls.write = [](void* to, const char* text, std::size_t size) {
      static_cast<redirection*>(to)->lines_.append({text, size});
      return static_cast<ssize_t>(size);
    };
    std::FILE* const file = ::fopencookie(this, "w", calls);
    if (file == nullptr) return nullptr;
    std::setvbuf(file, nullptr, _IONBF, 0);
    file->_fileno = descriptor_;  // For isatty(fileno(stdout)).
    return file;
  }

  const int descriptor_;
  line_writer lines_;
  std::FILE*& place_;
  std::FILE* before_ = nullptr;
  std::atomic<std::FILE*> stream_{nullptr};
};

// Whether it is as the library has made it: where the program has put another one, that stays.
bool is_of_library(std::streambuf* buffer) {
#ifdef __GLIBCXX__
  return dynamic_cast<__gnu_cxx::stdio_sync_filebuf<char>*>(buffer) != nullptr ||
         dynamic_cast<__gnu_cxx::stdio_filebuf<char>*>(buffer) != nullptr;
#else
  return buffer != nullptr;
#endif
}

// std::cout or its like, likewise.
class stream_redirection {
 public:
  stream_redirection(std::ostream& stream, line_writer& lines) : stream_(stream), lines_(lines) {}

  void begin() {
    before_ = stream_.rdbuf();
    if (!is_of_library(before_)) return;
    stream_.flush();
    stream_.rdbuf(&lines_);
  }
  void end() {
    if (stream_.rdbuf() == &lines_) stream_.rdbuf(before_);
  }

 private:
  std::ostream& stream_;
  line_stream lines_;
  std::streambuf* before_ = nullptr;
};

struct redirections {
  void begin(int (*current_rank)() noexcept) {
    for (auto* each : {&out, &err}) each->begin(current_rank);
    for (auto* each : {&cout, &cerr, &clog}) each->begin();
  }
  void end() {
    for (auto* each : {&cout, &cerr, &clog}) each->end();
    for (auto* each : {&out, &err}) each->end();
  }

  redirection out{stdout, STDOUT_FILENO};
  redirection err{stderr, STDERR_FILENO};
  stream_redirection cout{std::cout, out.lines()};
  stream_redirection cerr{std::cerr, err.lines()};
  stream_redirection clog{std::clog, err.lines()};
};

// Whether a line_output lives. For ranks: they start after their job's line_output was made and end before
// it does. Hence relaxed.
std::atomic<bool> active{false};

struct shared_redirections {
  std::mutex mutex;
  std::map<line_style, int> users;
  redirections all;

  // Under the mutex.
  void set_style() {
    const line_style greatest = users.empty() ? line_style::plain : users.rbegin()->first;
    for (auto* each : {&all.out, &all.err}) each->lines().set_style(greatest);
  }
};

// So that a program that closes files before any job makes none. Relaxed: a flag is all.
std::atomic<bool> has_redirections{false};

shared_redirections& shared() {
  static shared_redirections& instance = *new shared_redirections;  // Threads may outlive main().
  return instance;
}

}  // namespace

line_output::line_output(int (*current_rank)() noexcept, line_style style) : style_(style) {
  link_calls_of_streams();
  has_redirections.store(true, std::memory_order_relaxed);
  shared_redirections& to = shared();
  const std::lock_guard lock(to.mutex);
  if (to.users.empty()) to.all.begin(current_rank);
  ++to.users[style_];
  to.set_style();
  active.store(true, std::memory_order_relaxed);
}

line_output::~line_output() {
  shared_redirections& to = shared();
  const std::lock_guard lock(to.mutex);
  if (--to.users[style_] == 0) to.users.erase(style_);
  if (to.users.empty()) {
    active.store(false, std::memory_order_relaxed);
    to.all.end();
  }
  to.set_style();
}

bool append_to_line(int descriptor, std::string_view text) {
  if (!active.load(std::memory_order_relaxed)) return false;
  shared_redirections& to = shared();
  (descriptor == STDOUT_FILENO ? to.all.out : to.all.err).lines().append(text);
  return true;
}

int writing_rank() noexcept {
  return active.load(std::memory_order_relaxed) ? shared().all.out.lines().current_rank() : -1;
}

bool is_shared_stream(std::FILE*& stream) noexcept {
  if (!has_redirections.load(std::memory_order_relaxed)) return false;
  for (auto* each : {&shared().all.out, &shared().all.err})
    if (stream != nullptr && stream == each->stream()) {
      if (!is_forked_child()) return true;
      stream = each->give_back();
    }
  return false;
}

namespace {

// Relaxed: a rank reads it after it began.
std::atomic<own_output> allowed{own_output::refused};

line_writer& lines_of(int descriptor) {
  return (descriptor == STDOUT_FILENO ? shared().all.out : shared().all.err).lines();
}

}  // namespace

void allow_own_output(own_output how) noexcept {
  allowed.store(how, std::memory_order_relaxed);
}
own_output allowed_own_output() noexcept {
  return allowed.load(std::memory_order_relaxed);
}

void lead_output_away(int descriptor, int to) {
  lines_of(descriptor).lead_away(to);
}
int own_output_of_rank(int descriptor) {
  return active.load(std::memory_order_relaxed) ? lines_of(descriptor).where_led() : -1;
}

std::FILE* end_shared_stream(std::FILE* stream) noexcept {
  for (auto* each : {&shared().all.out, &shared().all.err})
    if (stream == each->stream()) return each->give_back();
  return stream;
}

void end_begun_lines() {
  if (!active.load(std::memory_order_relaxed)) return;
  for (auto* each : {&shared().all.out, &shared().all.err}) each->lines().finish();
}

void write_begun_lines_before_death() noexcept {
  if (!active.load(std::memory_order_relaxed)) return;
  for (auto* each : {&shared().all.out, &shared().all.err}) each->lines().finish_before_death();
}

std::string lost_output() {
  static std::atomic<bool> told_before{false};  // stdio never forgets.
  std::FILE* file;
  std::streambuf* of_cout;  // With a buffer of its own, or the program's.
  {
    const std::lock_guard lock(shared().mutex);  // The end of another job changes both.
    file = stdout;
    of_cout = std::cout.rdbuf();
  }
  int by_stdio = std::fflush(file) == 0 ? 0 : errno;
  errno = 0;
  if (of_cout != nullptr && of_cout->pubsync() != 0 && by_stdio == 0) by_stdio = errno;
  const int by_lines = first_error.exchange(0, std::memory_order_relaxed);
  const bool had_error = std::ferror(file) != 0;
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
int write_directly(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const long written = ::syscall(SYS_write, descriptor, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written == 0) {
      return EIO;
    } else if (errno == EAGAIN) {  // Whoever shares the file with us has made it so.
      pollfd room{descriptor, POLLOUT, 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace weft
