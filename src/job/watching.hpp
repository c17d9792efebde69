// What watches a job while its workers run: reports on demand, its time limit, deadlocks.
#pragma once
#include "job/failure_note.hpp"
#include "job/state.hpp"

namespace weft::detail {

// Returns when all ranks have ended. `ending`: null in a job of one process.
void run_workers(job& j, failure_note& failure, termination* ending);

}  // namespace weft::detail
