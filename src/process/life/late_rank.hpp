// The rank of a process that weft does not start: an interpreter, say, that opens MPI as a module, or a program that has opened
// a library which uses MPI. Its thread is the rank's from its first call of MPI until MPI_Finalize, on the stack that it has.
#pragma once
#include <exception>

namespace weft::process {

// Makes the calling thread the one rank of its process; nothing where the process has a job, or had one. What keeps the job from
// starting ends the process, with a line.
void begin_late_rank();
// Its part in the job ends here; the thread is no rank's afterwards. Nothing for any other thread.
void end_late_rank();
// Called by weft's functions in place of what they would throw to their callers, which know nothing of it: ends the job for that
// reason, and the process. Returns for any other rank.
void leave_late_rank(const std::exception_ptr& why);
// Whether the calling thread is such a rank's own.
[[nodiscard]] bool is_late_rank() noexcept;
// The calling thread, of which weft knows nothing, counts as one that the late rank has made. False where there is none.
bool adopt_thread_of_late_rank();

}  // namespace weft::process
