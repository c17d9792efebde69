#include "process/life/foreign_thread.hpp"

#include <pthread.h>
#include <unistd.h>

#include "base/format.hpp"
#include "base/log.hpp"
#include "job/state.hpp"
#include "process/life/late_rank.hpp"
#include "process/life/running_program.hpp"
#include "sched/attached_thread.hpp"

namespace weft::process {

bool called_by_own_thread() noexcept {
  const worker* const here = worker::current();
  return here != nullptr && !here->has_attached_thread();
}

void end_foreign_thread(const char* who, const std::string& why, int status) {
  const thread_origin& origin = origin_of_this_thread();
  if (origin.identity == nullptr) {
    log_text(why);
    ::_exit(status);
  }
  if (origin.way_in->enter()) {
    detail::job& j = *static_cast<detail::job_rank*>(origin.identity)->of;
    if (!why.empty()) j.tell_failure(formatted("{} {}: {}", who, origin.number, why), status);
    j.workers->request_stop();
    origin.way_in->leave();
  }
  // Unwinds: whoever joins the thread goes on, and finds the job at its end.
  pthread_exit(nullptr);
}

void pass_on_stop() {
  if (called_by_own_thread()) {
    leave_late_rank(std::current_exception());
    leave_handlers_of_exit();
    throw;
  }
  end_foreign_thread("", "");
}

}  // namespace weft::process
