// A program that cannot be started: the line that says so and the exit status, as env(1) and the
// shells have them.
#pragma once
#include <string>
#include <vector>

namespace weft {

inline constexpr int status_usage = 2;
inline constexpr int status_cannot_execute = 126;
inline constexpr int status_not_found = 127;

// What to say of a command whose program is none of weft's; empty when it is, or may be
// (a script), or is a tool that was named without its directory.
// Throws weft::error when it belongs to another MPI.
std::string not_built_with_weft(const std::vector<std::string>& command);

// Whether it is one of weftcc's of which a process holds one copy only, so that each rank needs a process.
bool holds_one_rank(const std::vector<std::string>& command);

// Whether it takes its ranks from weft, so that one process may hold several. Throws as above.
bool knows_ranks(const std::vector<std::string>& command);

// `reason` is errno.
std::string cannot_run(const std::string& program, int reason);
int status_of_failed_start(int reason);

}  // namespace weft
