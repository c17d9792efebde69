#include "weftrun/sweeper.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/format.hpp"
#include "base/reasons.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

constexpr pid_t in_good_order = 0;

// The life of the sweeper: positive numbers are groups that began, negative ones groups that ended.
[[noreturn]] void sweep_after(int words, const std::string& job_id) {
  // In a session of its own no terminal and no launcher signals it by accident.
  ::setsid();
  ::prctl(PR_SET_NAME, "weftrun-sweep");
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  // Holds nobody's output, input or directory.
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, standard);
  static_cast<void>(!::chdir("/"));
  std::set<pid_t> groups, all;
  while (true) {
    pid_t word;
    const ssize_t size = ::read(words, &word, sizeof word);
    if (size < 0 && errno == EINTR) continue;
    if (size == sizeof word && word == in_good_order) ::_exit(0);
    if (size != sizeof word) break;
    if (word > 0)
      groups.insert(word), all.insert(word);
    else
      groups.erase(-word);
  }
  for (const pid_t group : groups) ::kill(-group, SIGKILL);
  remove_segments(job_id, all);
  ::_exit(0);
}

}  // namespace

sweeper::sweeper(std::string job_id) : job_id_(std::move(job_id)) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw error(formatted("cannot make a pipe: {}", reason_with_limit(errno)));
  descriptor read_end(ends[0]);
  words_.reset(ends[1]);
  process_ = ::fork();
  if (process_ < 0) throw error(formatted("cannot start a process: {}", std::strerror(errno)));
  if (process_ == 0) {
    words_.reset();
    // Whatever else weftrun inherited must not stay open because of this process.
    const int kept = ::dup2(read_end.release(), 3);
    ::close_range(4, ~0u, 0);
    sweep_after(kept, job_id_);
  }
}

sweeper::~sweeper() {
  if (process_ < 0) return;
  remove_segments(job_id_, started_);
  say(in_good_order);
  ::waitpid(process_, nullptr, 0);
}

void sweeper::say(pid_t word) {
  static_cast<void>(!::write(words_.get(), &word, sizeof word));
}

void sweeper::started(pid_t group) {
  started_.insert(group);
  say(group);
}

void sweeper::ended(pid_t group) {
  say(-group);
}

namespace {

// "PID:...": a segment of libfabric's shm provider, which a process that was killed leaves.
bool is_of(const std::set<pid_t>& processes, const std::string& name) {
  pid_t pid = 0;
  const auto [stop, failure] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return failure == std::errc() && stop != name.data() + name.size() && *stop == ':' &&
         processes.contains(pid) && ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

void remove_segments(const std::string& job_id, const std::set<pid_t>& processes) noexcept {
  try {
    const std::string prefix = "weft-" + job_id;
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm", ignored))
      if (const std::string name = file.path().filename();
          name.starts_with(prefix) || is_of(processes, name))
        std::filesystem::remove(file.path(), ignored);
  } catch (const std::exception&) {
    // Without memory there is no way to find them.
  }
}

}  // namespace weft
