// weftrun --breakdown, and --trace DIRECTORY.otf2: who waits for the job, tells where its time went, and makes an archive
// of its events.
#pragma once
#include "weft/options.hpp"

namespace weft {

// Whether either is asked for.
[[nodiscard]] bool has_afterwards(const options& how);

// Returns in a child process, which goes on as weftrun would without: so the job has the same output and input. The
// parent waits for it, tells on standard error, writes the page or the archive, and ends as the child did. Throws
// weft::error when a file of it could not be written.
void stay_for_afterwards(const options& how);

}  // namespace weft
