// How a call of OpenSHMEM ends in error, for which the standard has no code: one line that names the PE, the call,
// the argument and the remedy, and the end of the job.
#pragma once
#include <string>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft::shmem {

template <class... Values>
[[noreturn, gnu::cold, gnu::noinline]] void fail(fmt::format_string<Values...> pattern,
                                                 const Values&... values) {
  throw error(formatted_text(pattern, fmt::make_format_args(values...)));
}

// Called while an exception is handled that left `call`. Does not return.
[[noreturn, gnu::cold]] void end_in_error(const char* call);
// While job_stopped is handled.
[[noreturn, gnu::cold]] void pass_on_stop();

}  // namespace weft::shmem
