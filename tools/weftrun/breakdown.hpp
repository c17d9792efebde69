// weftrun --breakdown: who waits for the job, and tells where its time went.
#pragma once
#include "weft/options.hpp"

namespace weft {

// Returns in a child process, which goes on as weftrun would without --breakdown: so the job has the same
// output and input. The parent waits for it, tells on standard error, writes the page, and ends as the
// child did. Throws weft::error when a file of the report could not be written.
void tell_breakdown(const options& how);

}  // namespace weft
