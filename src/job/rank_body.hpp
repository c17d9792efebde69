// A rank from its first line to its last.
#pragma once
#include <functional>
#include <string>

#include "job/failure_note.hpp"
#include "job/state.hpp"

namespace weft::detail {

struct rank_start {
  job* of;
  job_rank* rank;
  const std::function<void(job_rank&)>* body;
  failure_note* failure;
};

// Tells, now, a failure that is going to end the rank: what unwinds on the way to run_rank() may hang, or fail itself. The
// exception that does is not told again.
void tell_failure_of(const job_rank& failed, const std::string& text);

// The function that a rank's fiber runs; `start` is its rank_start. An exception that leaves `body` fails the job.
void run_rank(void* start);

}  // namespace weft::detail
