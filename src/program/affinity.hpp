// Where threads of a rank begin, in libweft.so.
#pragma once
#include <sched.h>

namespace weft {

// Where a thread begins that the calling rank's own thread makes: on the CPUs that the rank has chosen, or on all of the
// process, not on the one of the rank's worker.
[[nodiscard]] cpu_set_t cpus_of_new_thread();

}  // namespace weft
