// A thread that moves a process's messages while its workers compute: with `--progress`, and where memory of ranks is
// reached over a network. It calls nothing of the program's. It leaves what comes to the device's worker, but for
// messages that need no worker, such as reads and writes of memory.
#pragma once
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "runtime/network.hpp"

namespace weft {

class progress_worker {
 public:
  // Made after the workers' devices, before the workers run. The network's devices are shared ones. The thread sleeps
  // until start().
  progress_worker(network& between, scheduler& workers);
  // Called by any thread, any number of times.
  void start() noexcept;
  ~progress_worker();  // Ends the thread.
  progress_worker(const progress_worker&) = delete;
  progress_worker& operator=(const progress_worker&) = delete;

 private:
  void run() noexcept;
  [[nodiscard]] int pump() noexcept;

  network& between_;
  scheduler& workers_;
  std::vector<std::uint64_t> passes_seen_;  // Of each worker.
  // At the last look: all workers were parked, and none had made a pass since the look before.
  bool all_rested_ = false;
  enum state : std::uint32_t { idle, driving, ending };
  std::atomic<std::uint32_t> state_{idle};
  std::thread thread_;
};

}  // namespace weft
