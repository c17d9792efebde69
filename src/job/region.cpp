#include "weft/region.h"

#include "job/accounted_call.hpp"
#include "job/region.hpp"
#include "job/state.hpp"
#include "profile/accounts.hpp"

namespace weft::detail {
namespace {

// No rank: the caller is none, or what it does goes on beside the rank's own code.
int number_of_own_code() noexcept {
  const auto* const me = static_cast<const job_rank*>(worker::caller());
  return me == nullptr || goes_on_beside(*me->home) ? profile::no_rank : me->number;
}

}  // namespace

void begin_region(const char* name) {
  if (const int rank = number_of_own_code(); rank != profile::no_rank && name != nullptr)
    profile::begin_region(rank, name);
}
void end_region() {
  if (const int rank = number_of_own_code(); rank != profile::no_rank) profile::end_region(rank);
}

}  // namespace weft::detail

void weft_region_begin(const char* name) {
  if (weft::tracing()) [[unlikely]]
    weft::detail::begin_region(name);
}

void weft_region_end() {
  if (weft::tracing()) [[unlikely]]
    weft::detail::end_region();
}
