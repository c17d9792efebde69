// Calls of a face that do not come from a rank's own thread: how they end when they cannot go on.
#pragma once
#include <string>

namespace weft::process {

// Whether a rank calls, and not a thread that it has made.
[[nodiscard]] bool called_by_own_thread() noexcept;
// A thread that is not the rank's own calls it: the job ends, for this reason if there is one and then with this status, and so does
// the thread. `who` is what a rank is called in the reason.
[[noreturn, gnu::cold]] void end_foreign_thread(const char* who, const std::string& why,
                                                int status = 1);
// A face calls it while it handles job_stopped at the border to the program. It does not return.
[[noreturn, gnu::cold]] void pass_on_stop();

}  // namespace weft::process
