#include "multi/started_job.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "base/format.hpp"
#include "unit/shell.hpp"

namespace weft {

namespace {

// Every test ends, also on a machine that is busy with other things.
constexpr int patience_s = 60;

std::string unique_name() {
  static std::atomic<int> count = 0;
  return formatted("{}-{}", ::getpid(), ++count);
}

// Empty for one that is not there any more, also when it goes while it is read.
std::string contents(const std::string& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char part[4096];
  ssize_t size;
  while ((size = ::read(file, part, sizeof part)) > 0)
    text.append(part, static_cast<std::size_t>(size));
  ::close(file);
  return text;
}

bool is_zombie(pid_t pid) {
  const std::string stat = contents(formatted("/proc/{}/stat", pid));
  const std::size_t end = stat.rfind(')');
  return end == stat.npos || stat.compare(end, 4, ") Z ") == 0;
}

// Of this user.
std::set<std::string> shared_files() {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    struct stat about {};
    if (::lstat(entry.path().c_str(), &about) == 0 && about.st_uid == ::geteuid())
      found.insert(entry.path().string());
  }
  return found;
}

// Of these files those that no process has mapped: what others use is not left behind.
std::set<std::string> unused(std::set<std::string> files) {
  if (files.empty()) return files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (std::atoi(entry.path().filename().c_str()) <= 0) continue;
    const std::string maps = contents(entry.path() / "maps");
    std::erase_if(files, [&](const std::string& one) { return maps.find(one) != maps.npos; });
  }
  return files;
}

}  // namespace

empty_directory::empty_directory() : path_(formatted("/tmp/weft-test-{}", unique_name())) {
  std::filesystem::create_directories(path_);
}

empty_directory::~empty_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

bool empty_directory::still_empty() const {
  return std::filesystem::is_empty(path_);
}

bool has_network() {
  static const bool has =
      shell(
          "WEFT_TRANSPORT=ofi:tcp timeout 60 ./weftrun -n 2 --processes 2 ./test-survivors 0 none")
          .text.find("without libfabric") == std::string::npos;
  return has;
}

cabled_hosts::cabled_hosts(int count) {
  const std::string name = "weft" + std::to_string(::getpid() % 100000);
  switch_ = name + "s";
  std::string line = formatted(
      "ip netns add {0} && ip -n {0} link add name hub type bridge && "
      "ip -n {0} link set hub up",
      switch_);
  for (int i = 0; i < count; ++i) {
    const std::string one = name + static_cast<char>('a' + i);
    names_.push_back(one);
    line += formatted(
        " && ip netns add {0} && ip link add {0}v netns {0} type veth peer name {0}v netns {1} && "
        "ip -n {1} link set {0}v master hub up && ip -n {0} addr add 10.77.{2}.{3}/24 dev {0}v && "
        "ip -n {0} link set {0}v up && ip -n {0} link set lo up",
        one, switch_, ::getpid() % 200, i + 1);
  }
  if (const outcome made = shell(line); made.status != 0)
    why_not_ = "network namespaces cannot be made here: " + made.text;
}

cabled_hosts::~cabled_hosts() {
  for (const std::string& one : names_) shell("ip netns del " + one);
  shell("ip netns del " + switch_);
}

std::string cabled_hosts::words() const {
  std::string all;
  for (const std::string& one : names_) all += (all.empty() ? "" : ",") + one;
  return formatted("--rsh 'ip netns exec' --hosts {}", all);
}

void cabled_hosts::cut(int host) {
  shell(formatted("ip -n {} link set {}v down", switch_, name(host)));
}

void cabled_hosts::turn_off(int host) {
  shell(formatted("ip -n {0} link set {0}v down", name(host)));
}

// By an address of the cable that nobody has, which the others know for certain.
void cabled_hosts::swallow_to(int host) {
  for (const std::string& one : names_)
    if (one != name(host))
      shell(
          formatted("ip -n {0} neigh replace 10.77.{1}.{2} lladdr 02:00:00:00:00:99 dev {0}v "
                    "nud permanent",
                    one, ::getpid() % 200, host + 1));
}

started_job::started_job(const std::string& line)
    : mark_("TEST_MARK=" + unique_name()), shared_before_(shared_files()) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  output_ = ends[0];
  const std::string command = formatted("cd {} && {} exec {}", WEFT_PROGRAM_DIR, mark_, line);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::setpgid(0, 0);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, 0);
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
}

started_job::~started_job() {
  if (status_ < 0) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (const pid_t one : processes()) ::kill(one, SIGKILL);
  ::close(output_);
}

void started_job::signal(int number) const {
  ::kill(pid_, number);
}

bool started_job::is_pending(int number) const {
  const std::string status = contents(formatted("/proc/{}/status", pid_));
  const std::string name = "\nShdPnd:\t";
  const std::size_t at = status.find(name);
  return at != status.npos &&
         (std::strtoull(status.c_str() + at + name.size(), nullptr, 16) >> (number - 1) & 1) != 0;
}

bool started_job::read_more() {
  pollfd wait{output_, POLLIN, 0};
  if (::poll(&wait, 1, patience_s * 1000) <= 0) {
    text_ += "\n(the test waited in vain)\n";
    waited_in_vain_ = true;
    return false;
  }
  char part[65536];
  const ssize_t size = ::read(output_, part, sizeof part);
  if (size > 0) text_.append(part, static_cast<std::size_t>(size));
  return size > 0;
}

bool started_job::wait_for(const std::string& text) {
  while (text_.find(text) == text_.npos)
    if (!read_more()) return text_.find(text) != text_.npos;
  return true;
}

int started_job::finish() {
  while (read_more()) {
  }
  if (waited_in_vain_) ::kill(-pid_, SIGKILL);
  int raw = 0;
  ::waitpid(pid_, &raw, 0);
  status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  return status_;
}

std::vector<pid_t> started_job::processes() const {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || is_zombie(pid)) continue;
    const std::string environment = contents(formatted("/proc/{}/environ", pid));
    std::istringstream variables(environment);
    for (std::string one; std::getline(variables, one, '\0');)
      if (one == mark_) found.push_back(pid);
  }
  return found;
}

std::string started_job::left_behind() const {
  std::string left;
  std::optional<std::set<std::string>> suspects;
  // The sweeper of a weftrun that was killed needs a moment. This bounds a wait; it is no limit
  // that a good run comes near to.
  for (int i = 0; i < patience_s * 100; ++i) {
    left.clear();
    for (const pid_t pid : processes())
      left += formatted("process {}: {}\n", pid, contents(formatted("/proc/{}/cmdline", pid)));
    std::istringstream lines(text_);
    for (std::string word; lines >> word;)
      if (word.starts_with("weft-"))  // A segment that a process says it made.
        if (std::filesystem::exists("/dev/shm/" + word)) left += "/dev/shm/" + word + "\n";
    if (left.empty()) {
      // What lies there since the job began, by any name. Other jobs that run meanwhile remove theirs.
      std::set<std::string> now = shared_files();
      std::erase_if(now, [&](const std::string& one) {
        return shared_before_.contains(one) || (suspects && !suspects->contains(one));
      });
      suspects = unused(std::move(now));
      for (const std::string& each : *suspects) left += each + "\n";
    }
    if (left.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return left;
}

std::vector<pid_t> waiting_processes(const std::string& text) {
  std::vector<pid_t> found;
  const std::string before = "waits in ";
  for (std::size_t at = 0; (at = text.find(before, at)) != text.npos;) {
    at += before.size();
    found.push_back(std::atoi(text.c_str() + at));
  }
  return found;
}

}  // namespace weft
