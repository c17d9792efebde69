// Calls that do not come from a rank's own thread in the usual way: from threads that the rank has made,
// and in ranks whose worker has such attached threads.
#include <pthread.h>
#include <unistd.h>

#include "base/log.hpp"
#include "mpi/object/state.hpp"
#include "program/program_run.hpp"

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
  const worker* const here = worker::current();
  return here != nullptr && !here->has_attached_thread();
}

void end_foreign_thread(const std::string& why) {
  const thread_origin& origin = origin_of_this_thread();
  if (origin.identity == nullptr) {
    log_text(why);
    ::_exit(1);
  }
  if (origin.way_in->enter()) {
    detail::job& j = *static_cast<detail::rank_state*>(origin.identity)->of;
    if (!why.empty()) j.tell_failure(formatted("rank {}: {}", origin.number, why));
    j.workers->request_stop();
    origin.way_in->leave();
  }
  pthread_exit(
      nullptr);  // Unwinds: whoever joins the thread goes on, and finds the job at its end.
}

void pass_on_stop() {
  if (called_by_own_thread()) {
    detail::leave_handlers_of_exit();
    throw;
  }
  end_foreign_thread("");
}

}  // namespace weft::mpi
