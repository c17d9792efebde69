// Where the ranks of a job live: which process, which of its workers, on which core.
#pragma once
#include <string>
#include <vector>

#include "job/known_faces.hpp"
#include "runtime/network.hpp"
#include "sched/scheduler.hpp"
#include "weft/options.hpp"

namespace weft::detail {

struct placement {
  int process = 0;
  int process_count = 1;
  int part = 0;               // Which of the job's programs this process runs.
  int worker_count = 1;       // Workers of this process that have ranks.
  scheduler_options workers;  // Of this process, those without ranks too.
  struct home {
    int process;
    int worker;  // In that process.
  };
  std::vector<home> of_rank;
  std::string job_id;  // That of the bootstrap; empty in a job of one process.
  faces_of_job faces;
};

// Places the ranks, and fills in what `how` leaves open. `between` is null in a job of one process. Otherwise all
// processes call this; when their settings differ all throw weft::error, process 0 with a text, the others with an
// empty one. `run` is a prefix for keys that keeps several runs over one bootstrap apart.
[[nodiscard]] placement place_ranks(options& how, bootstrap* between, const std::string& run);

}  // namespace weft::detail
