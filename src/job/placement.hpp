// Where the ranks of a job live: which process, which of its workers, on which core.
#pragma once
#include <string>
#include <vector>

#include "runtime/network.hpp"
#include "sched/scheduler.hpp"
#include "weft/options.hpp"

namespace weft::detail {

struct placement {
  int process = 0;
  int process_count = 1;
  int part = 0;               // Which of the job's programs this process runs.
  int worker_count = 1;       // Of this process, that have ranks.
  scheduler_options workers;  // Of this process.
  struct home {
    int process;
    int worker;  // Of that process.
  };
  std::vector<home> of_rank;
  std::string job_id;  // That of the bootstrap; empty in a job of one process.
};

// Fills in what `how` leaves open. `between`: null in a job of one process; otherwise all processes
// call this, and all throw weft::error when their settings differ: the first with the text, the
// others with none. `run` tells the runs of one bootstrap apart.
[[nodiscard]] placement place_ranks(options& how, bootstrap* between, const std::string& run);

}  // namespace weft::detail
