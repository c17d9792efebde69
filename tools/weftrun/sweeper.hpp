// A process that outlives weftrun by a moment: when weftrun or an agent dies, by whatever signal,
// it ends the processes that were started and removes what they left in /dev/shm.
#pragma once
#include <sys/types.h>

#include <set>
#include <string>

#include "weftrun/event_loop.hpp"

namespace weft {

class sweeper {
 public:
  // Before there is any thread: it is a copy of this process.
  explicit sweeper(std::string job_id);
  ~sweeper();  // Sweeps, and ends it.
  sweeper(const sweeper&) = delete;
  sweeper& operator=(const sweeper&) = delete;

  void started(pid_t group);
  void ended(pid_t group);

 private:
  void say(pid_t word);

  std::string job_id_;
  std::set<pid_t> started_;
  pid_t process_ = -1;
  descriptor words_;
};

// Removes the shared segments of a job on this host: files of /dev/shm that begin with "weft-" and
// its id, or with the number of one of its processes, which are dead, and a colon.
void remove_segments(const std::string& job_id, const std::set<pid_t>& processes = {}) noexcept;

}  // namespace weft
