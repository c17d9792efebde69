#include "shmem/errors.hpp"

#include <pthread.h>
#include <unistd.h>

#include "base/log.hpp"
#include "program/program_run.hpp"
#include "shmem/state.hpp"

namespace weft::shmem {
namespace {

[[nodiscard]] bool called_by_own_thread() noexcept {
  const worker* const here = worker::current();
  return here != nullptr && !here->has_attached_thread();
}

// Of a thread that is not the PE's own: the job ends, for this reason if there is one.
[[noreturn]] void end_foreign_thread(const std::string& why) {
  const thread_origin& origin = origin_of_this_thread();
  if (origin.identity == nullptr) {
    log_text(why);
    ::_exit(1);
  }
  if (origin.way_in->enter()) {
    detail::job& j = *static_cast<detail::rank_state*>(origin.identity)->of;
    if (!why.empty()) j.tell_failure(formatted("PE {}: {}", origin.number, why));
    j.workers->request_stop();
    origin.way_in->leave();
  }
  pthread_exit(
      nullptr);  // Unwinds: whoever joins the thread goes on, and finds the job at its end.
}

std::string text_of_current() {
  try {
    throw;
  } catch (const rank_failure&) {
    throw;
  } catch (const std::bad_alloc&) {
    return "there is no memory for it";
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

void end_in_error(const char* call) {
  const std::string text = formatted("{}: {}", call, text_of_current());
  if (!called_by_own_thread()) end_foreign_thread(text);
  if (void* const caller = worker::caller(); caller != nullptr) {
    // A program that catches everything must not go on.
    auto& rank = *static_cast<detail::rank_state*>(caller);
    if (auto* const me = static_cast<pe_state*>(rank.faces[face_slot].get()); me != nullptr) {
      me->usable = false;
      me->failed = true;
    }
  }
  throw rank_failure(text, 1);
}

void pass_on_stop() {
  if (called_by_own_thread()) {
    weft::detail::leave_handlers_of_exit();
    throw;
  }
  end_foreign_thread("");
}

}  // namespace weft::shmem
