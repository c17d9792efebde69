#include "shmem/errors.hpp"

#include "program/foreign_thread.hpp"
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
  if (!detail::called_by_own_thread()) detail::end_foreign_thread("PE", text);
  if (void* const caller = worker::caller(); caller != nullptr) {
    // A program that catches everything must not go on.
    auto& rank = *static_cast<detail::rank_state*>(caller);
    if (auto* const me = static_cast<pe_state*>(rank.faces[face_slot].get()); me != nullptr) {
      me->close();
      me->failed = true;
    }
  }
  throw rank_failure(text, 1);
}

void pass_on_stop() {
  detail::pass_on_stop();
}

}  // namespace weft::shmem
