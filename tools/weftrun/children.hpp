// The processes of a job on this host: starts them, hands their frames on, reaps them, ends them.
// Each leads a process group of its own, so that what it starts ends with it.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weftrun/event_loop.hpp"
#include "weftrun/output.hpp"
#include "weftrun/sweeper.hpp"

namespace weft {

// How to start one process; travels to agents as it is.
struct start_order {
  int process = 0;
  int slot = 0;  // Of the processes of this host.
  int slots = 1;
  int ranks = 1;                // Of the process.
  bool pin = true;              // To its share of the cores.
  bool inherits_stdin = false;  // Otherwise a pipe for process 0, nothing for others.
  std::string directory = {};   // Empty: this one.
  std::vector<std::string> command = {};
  std::vector<std::string> environment = {};  // NAME=value, on top of this process's own.

  std::string encoded() const;
  static start_order decoded(int process, std::string_view bytes);
};

// The CPUs of the process at `slot` of `slots`: those of one NUMA node when there are as many nodes,
// else an equal share of the cores, each with all its threads; processes share cores when there are
// more of them.
std::vector<int> cpus_of_slot(int slot, int slots);

class children {
 public:
  // Takes what processes say (join to finish) and what happens to them (started, not_started,
  // exited, input when there is room for more).
  using frame_handler = std::function<void(frame)>;
  children(event_loop& loop, output_forwarder& output, sweeper& sweeps, frame_handler taken);
  ~children();
  children(const children&) = delete;
  children& operator=(const children&) = delete;

  void start(const start_order& order);
  void send(const frame& what);  // To a process, or `input`.
  void signal(int number);  // INT, TERM, STOP and such to all of them; USR1 to those that joined.
  // Asks them to end, then forces them to.
  void end();
  void kill_all();
  bool empty() const noexcept { return running_ == 0; }
  void reap();  // To be called when SIGCHLD has come.

 private:
  struct child {
    int process = 0;
    pid_t pid = 0;
    pid_t joined_pid = 0;  // The one that speaks: pid itself, or one that it started.
    bool running = false;
    std::unique_ptr<channel> words = {};
    descriptor input = descriptor();
    std::string unwritten_input = {};
  };

  child* find(int process);
  void take(child& of, frame what);
  void write_input(child& of);
  void reap(child& of, bool only_killed);
  void kill_group(const child& of, int number);

  event_loop& loop_;
  output_forwarder& output_;
  sweeper& sweeps_;
  frame_handler taken_;
  std::vector<std::unique_ptr<child>> all_;
  int running_ = 0;
  bool ending_ = false;
};

}  // namespace weft
