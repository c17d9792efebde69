// What connects a process with the others of its job: the network, and how the job ends.
#pragma once
#include <optional>

#include "job/failure_note.hpp"
#include "job/placement.hpp"
#include "job/start.hpp"
#include "job/state.hpp"
#include "runtime/network.hpp"

namespace weft::detail {

// Called while static objects are made, by a face whose messages workers without ranks send and receive, too: in jobs of
// several processes every worker gets a device.
bool let_every_worker_send() noexcept;

// Of a job of one process it is empty.
class connection {
 public:
  connection(const launch_context& others, const placement& places, const options& how);
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // Before the workers run.
  void attach(job& j, failure_note& failure);
  // After the workers have ended, before the job's memory goes. May be called again.
  void detach(failure_note& failure);
  [[nodiscard]] termination* ending() noexcept { return ending_ ? &*ending_ : nullptr; }

 private:
  const launch_context& others_;
  std::optional<network> between_;
  std::optional<termination> ending_;
};

}  // namespace weft::detail
