// A program that cannot be started: the line that says so and the exit status, as env(1) and the
// shells have them.
#pragma once
#include <string>

namespace weft {

inline constexpr int status_usage = 2;
inline constexpr int status_cannot_execute = 126;
inline constexpr int status_not_found = 127;

// `reason` is errno.
std::string cannot_run(const std::string& program, int reason);
int status_of_failed_start(int reason);

}  // namespace weft
