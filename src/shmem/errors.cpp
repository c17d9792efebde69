#include "shmem/errors.hpp"

#include "job/rank_body.hpp"
#include "process/life/foreign_thread.hpp"
#include "shmem/state.hpp"

namespace weft::shmem {
namespace {

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
  if (!process::called_by_own_thread()) process::end_foreign_thread("PE", text);
  if (void* const caller = worker::caller(); caller != nullptr) {
    // A program that catches everything must not go on.
    auto& rank = *static_cast<detail::rank_state*>(caller);
    if (auto* const me = static_cast<pe_state*>(rank.faces[face_slot].get()); me != nullptr) {
      me->close();
      me->failed = true;
    }
    // The failure is reported now, and not by the rank's outermost frame: what unwinds on the way there may hang or fail.
    detail::tell_failure_of(rank, text);
  }
  throw rank_failure(text, 1);
}

void pass_on_stop() {
  process::pass_on_stop();
}

}  // namespace weft::shmem
