// A command that a test starts, signals, and waits for, and what it leaves behind.
#pragma once
#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace weft {

// A directory of its own, empty, until the end of the test.
class empty_directory {
 public:
  empty_directory();
  ~empty_directory();
  empty_directory(const empty_directory&) = delete;
  empty_directory& operator=(const empty_directory&) = delete;
  const std::string& path() const noexcept { return path_; }
  bool still_empty() const;

 private:
  std::string path_;
};

// Whether processes can be joined by libfabric's tcp here: weft may be built without it.
bool has_network();

// "Hosts" on this machine: network namespaces, each with a cable to a switch, and a way to run
// things there that --rsh takes. Needs privileges; reachable() says whether it has them.
class cabled_hosts {
 public:
  explicit cabled_hosts(int count = 2);
  ~cabled_hosts();
  cabled_hosts(const cabled_hosts&) = delete;
  cabled_hosts& operator=(const cabled_hosts&) = delete;
  bool reachable() const noexcept { return why_not_.empty(); }
  const std::string& why_not() const noexcept { return why_not_; }
  // Words of weftrun: --rsh ... --hosts A,B.
  std::string words() const;
  const std::string& name(int host) const { return names_[static_cast<std::size_t>(host)]; }
  void cut(int host);         // Takes its cable away.
  void turn_off(int host);    // Its own end of the cable: it has no network.
  void swallow_to(int host);  // What the others send to it vanishes; they are told nothing.

 private:
  std::vector<std::string> names_;
  std::string switch_;
  std::string why_not_;
};

class started_job {
 public:
  // Runs a line of the shell in the directory of the built programs, in a process group of its own.
  // "exec" in front is added: signals reach the program, not a shell.
  explicit started_job(const std::string& line);
  ~started_job();  // Kills what is left.
  started_job(const started_job&) = delete;
  started_job& operator=(const started_job&) = delete;

  pid_t pid() const noexcept { return pid_; }
  void signal(int number) const;
  // Whether one of that number has not been taken yet: to the kernel, another would be the same.
  bool is_pending(int number) const;
  // Reads what it prints until `text` has come, or its end. Returns whether it came.
  bool wait_for(const std::string& text);
  // Reads to the end, or kills what does not end. The status is a shell's: 128 + signal when it was killed.
  int finish();
  // Standard output and standard error, as far as read.
  const std::string& text() const noexcept { return text_; }

  // Processes of this job, weftrun's own among them, that run: found by a mark that they inherit.
  std::vector<pid_t> processes() const;
  // Waits a moment for them to go. Empty when nothing is left of the job: no process, no file of
  // /dev/shm that was made for it or came meanwhile and nobody uses; otherwise what is.
  std::string left_behind() const;

 private:
  bool read_more();

  std::string mark_;
  std::set<std::string> shared_before_;  // Files of /dev/shm.
  pid_t pid_ = -1;
  int output_ = -1;
  int status_ = -1;
  bool waited_in_vain_ = false;
  std::string text_;
};

// The numbers in "... waits in NUMBER" lines.
std::vector<pid_t> waiting_processes(const std::string& text);

}  // namespace weft
