// Partitioned messages, as far as other files of requests ask.
#pragma once
#include "mpi/mpi.h"

namespace weft::mpi {

struct request_object;
struct state;

// Between processes a partitioned message travels under another tag than the program's, which its status tells.
void correct_tag(const request_object& r, MPI_Status* status);
// Called for an active request that does not seem complete: when every partition has arrived, waits for the mail that says so.
// So a test behind MPI_Parrived of all partitions does not fail.
void await_end_of_arrived(state& me, const request_object& r);
// Called by MPI_Finalize for an active request. True: it is a receive within the process that no sender will find active. Else it
// completes, with its message or when the sender has said by leave_inactive() that there is none.
[[nodiscard]] bool withdraw_unmet(const request_object& r);
// Called by MPI_Finalize for a request that is not active: it is not started any more.
void leave_inactive(const request_object& r);

}  // namespace weft::mpi
