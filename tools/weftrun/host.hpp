// A host of the job as the supervisor sees it: this one, or another through an agent. What happens
// there comes back as frames; see children.hpp for which.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "weftrun/children.hpp"
#include "weftrun/event_loop.hpp"
#include "weftrun/job_shape.hpp"
#include "weftrun/output.hpp"

namespace weft {

class host {
 public:
  virtual ~host() = default;
  host() = default;
  host(const host&) = delete;
  host& operator=(const host&) = delete;

  virtual void start(const start_order& order) = 0;
  virtual void send(const frame& what) = 0;  // To one of its processes.
  virtual void signal(int number) = 0;
  virtual void end() = 0;       // Asks all of its processes, and kills them a moment later.
  virtual void kill_all() = 0;  // At once.
  virtual void reap() = 0;      // SIGCHLD has come.
  virtual void leave() = 0;     // Nothing more will be asked; `gone` follows.
};

struct host_events {
  std::function<void(host_cores cores)> ready;
  std::function<void(frame)> taken;
  // No more frames come. `why` is empty after leave(), and says what happened otherwise.
  std::function<void(const std::string& why)> gone;
};

std::unique_ptr<host> make_local_host(event_loop& loop, output_forwarder& output, sweeper& sweeps,
                                      host_events events);

// Runs "weftrun --agent" there by the command `rsh`.
std::unique_ptr<host> make_remote_host(event_loop& loop, output_forwarder& output,
                                       const std::string& rsh, const std::string& name,
                                       const std::string& job_id, host_events events);

// The other end: the life of "weftrun --agent". Returns its exit status.
int run_agent();

}  // namespace weft
