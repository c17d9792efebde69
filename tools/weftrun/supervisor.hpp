// The life of a job of several processes: starts them, serves what they tell each other, forwards
// signals and output, and ends all when one dies. docs/protocols/starting.md has the states.
#pragma once
#include "weftrun/job_request.hpp"

namespace weft {

// Returns the exit status of the job. The program's environment is this process's.
int supervise(const job_request& what);

}  // namespace weft
