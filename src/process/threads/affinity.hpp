// The CPUs on which threads of a rank begin, in libweft.so.
#pragma once
#include <sched.h>

namespace weft::process {

// A thread that the calling rank's own thread makes begins on the CPUs that the rank has chosen, or on all of the process, not on the one
// of the rank's worker.
[[nodiscard]] cpu_set_t cpus_of_new_thread();

}  // namespace weft::process
