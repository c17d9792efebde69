// In a checked job of one process: a short standard send waits until its message is received, as the standard allows any
// implementation to do. A program in which every rank comes to wait by it depends on buffers that it has not attached: the
// send is let go then, and told of when the message has been received after all.
#pragma once
#include "mpi/point_to_point/transfer.hpp"

namespace weft::mpi {

// Whether sends of this rank are held: not once enough of them have been let go, and not where threads call MPI.
[[nodiscard]] inline bool holds_sends(const state& me) noexcept {
  return me.rank.of->held != nullptr && me.holds_left > 0 && me.thread_level <= MPI_THREAD_FUNNELED;
}
// Of a message that would go at once. Returns when it has been received or let go.
void send_held(state& me, const route& to, const detail::segments& data, const char* call);
// Called when all ranks have called MPI_Finalize.
void tell_unsafe_sends(state& me);

}  // namespace weft::mpi
