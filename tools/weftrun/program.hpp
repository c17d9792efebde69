// A program that cannot be started: the line that says so and the exit status, as env(1) and the
// shells have them.
#pragma once
#include <string>
#include <vector>

#include "base/settings.hpp"

namespace weft {

inline constexpr int status_usage = 2;
inline constexpr int status_cannot_execute = 126;
inline constexpr int status_not_found = 127;

// What to say of a command whose program is none of weft's; empty when it is, or may be
// (a script), or is a tool that was named without its directory.
// Throws weft::error when it belongs to another MPI.
std::string not_built_with_weft(const std::vector<std::string>& command);

// Of a program whose ranks need a process each, what it is or does, and what becomes of it; empty for any other. `how` is as the
// user has it.
std::string why_one_rank(const std::vector<std::string>& command, const options& how);

// Whether each rank of this program has a thread for itself where several share a process, for the thread-local variables of an
// executable. Two threads that exchange messages have a ring between them, so a process has few of them.
bool ranks_have_threads(const std::vector<std::string>& command);
inline constexpr int ranks_with_threads_max = 64;

// How many ranks one process holds whose ranks have copies of this program, where the kernel allows a process `limit` mappings; of
// others ranks_max.
int ranks_of_one_process(const std::vector<std::string>& command, int limit);

// Where weft's libraries lie that have the names of those of MPI which a program asks for that any compiler has linked, with
// colons between them; empty for any other program. Throws weft::error when weft has none of a name, or not all functions that are
// called, and when the program brings two MPIs.
std::string mpi_library_for(const std::vector<std::string>& command);

// Whether it takes its ranks from weft, so that one process may hold several. Throws as above.
bool knows_ranks(const std::vector<std::string>& command);

// Whether it is none of weft's but may open something that is: an interpreter, or a program that opens libraries. Its process
// holds one rank.
bool opens_modules(const std::vector<std::string>& command);

// Whether it is a shell, or a script of one, which starts a program of weft's for its rank, perhaps: it runs once for each rank.
bool is_of_shell(const std::vector<std::string>& command);

// `reason` is errno.
std::string cannot_run(const std::string& program, int reason);
int status_of_failed_start(int reason);

// The library at this place beside the directory of the running program; empty where it is not.
std::string library_beside_this(const char* place);

}  // namespace weft
