// Calls that do not come from a rank's own thread in the usual way: from threads that the rank has made,
// and in ranks whose worker has such attached threads.
#include "mpi/object/state.hpp"
#include "program/foreign_thread.hpp"
#include "program/late_rank.hpp"

namespace weft::mpi {

void entrance::enter_unusual() {
  if (worker* const here = worker::current(); here != nullptr) {
    if (worker::caller() == nullptr) return;
    entered_ = here->enter_shared();
    auto* const s = static_cast<state*>(
        static_cast<detail::rank_state*>(worker::caller())->faces[face_slot].get());
    if (s != nullptr && s->is_open()) me_ = s;
    return;
  }
  if (origin_of_this_thread().identity == nullptr && !detail::adopt_thread_of_late_rank()) return;
  const thread_origin& origin = origin_of_this_thread();
  if (origin.identity == nullptr || !origin.way_in->enter()) return;
  auto* const s = static_cast<state*>(
      static_cast<detail::rank_state*>(origin.identity)->faces[face_slot].get());
  if (s == nullptr || !s->is_open() || s->thread_level < MPI_THREAD_SERIALIZED)
    return origin.way_in->leave();
  attached_thread_.emplace(origin);
  me_ = s;
}

void entrance::leave() noexcept {
  worker::current()->leave_shared();
}

bool called_by_own_thread() noexcept {
  return detail::called_by_own_thread();
}

void end_foreign_thread(const std::string& why) {
  detail::end_foreign_thread("rank", why);
}

void pass_on_stop() {
  detail::pass_on_stop();
}

}  // namespace weft::mpi
