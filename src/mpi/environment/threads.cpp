// The rare ways into an MPI call, behind the test of in_call(): on the own thread of a worker that has a hand-off lock; on a
// thread that a rank has made, which attaches for the call; and where nobody may call.
#include "mpi/object/state.hpp"
#include "process/life/foreign_thread.hpp"
#include "process/life/late_rank.hpp"

namespace weft::mpi {

// On return me_ is the state of the calling rank, or null: the call ends in an error then. On a worker's own thread the call
// takes the hand-off lock; inside a chunk, where no rank calls, nothing is done. A thread of a rank attaches when its rank
// has asked for MPI_THREAD_SERIALIZED or more and its job still runs.
void entrance::enter_unusual() {
  if (worker* const here = worker::current(); here != nullptr) {
    if (worker::caller() == nullptr) return;
    entered_ = here->enter_shared();
    auto* const s = static_cast<state*>(
        static_cast<detail::rank_state*>(worker::caller())->faces[face_slot].get());
    if (s != nullptr && s->is_open()) me_ = s;
    return;
  }
  if (origin_of_this_thread().identity == nullptr && !process::adopt_thread_of_late_rank()) return;
  const thread_origin& origin = origin_of_this_thread();
  if (origin.identity == nullptr || !origin.way_in->enter()) return;
  auto* const s = static_cast<state*>(
      static_cast<detail::rank_state*>(origin.identity)->faces[face_slot].get());
  if (s == nullptr || !s->is_open() || s->highest_thread_level < MPI_THREAD_SERIALIZED)
    return origin.way_in->leave();
  attached_thread_.emplace(origin);
  me_ = s;
}

void entrance::leave() noexcept {
  worker::current()->leave_shared();
}

bool called_by_own_thread() noexcept {
  return process::called_by_own_thread();
}

void end_foreign_thread(const std::string& why, int status) {
  process::end_foreign_thread("rank", why, status);
}

void pass_on_stop() {
  process::pass_on_stop();
}

}  // namespace weft::mpi
