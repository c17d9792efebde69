// What connects a process with the others of its job: the network, and how they agree on the job's end.
#pragma once
#include <optional>

#include "job/failure_note.hpp"
#include "job/placement.hpp"
#include "job/start.hpp"
#include "job/state.hpp"
#include "runtime/network.hpp"

namespace weft::detail {

// Called while static objects are made, by a face that lets workers without ranks send and receive. Then every worker
// gets a device in jobs of several processes.
bool let_every_worker_send() noexcept;

// Used by the thread that runs the job. In a job of one process it is empty.
class connection {
 public:
  connection(const launch_context& others, const placement& places, const options& how);
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // Called before the workers run: starts the network and lets the faces begin.
  void attach(job& j, failure_note& failure);
  // Called after the workers have ended, while the job still lives. A second call does nothing.
  void detach(failure_note& failure);
  [[nodiscard]] termination* ending() noexcept { return ending_ ? &*ending_ : nullptr; }

 private:
  const launch_context& others_;
  std::optional<network> between_;
  std::optional<termination> ending_;
};

}  // namespace weft::detail
