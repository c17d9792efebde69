// What watches a job while its workers run: reports on demand, its time limit, deadlocks.
#pragma once
#include "job/failure_note.hpp"
#include "job/state.hpp"

namespace weft::detail {

// Runs the workers and the monitor; returns when all ranks have ended. `ending`: null in a job of one process. Called
// by the thread that runs the job.
void run_workers(job& j, failure_note& failure, termination* ending);

}  // namespace weft::detail
