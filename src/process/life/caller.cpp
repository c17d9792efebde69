#include "process/life/caller.h"

#include "base/private_code.hpp"
#include "job/caller.hpp"
#include "sched/worker.hpp"

extern "C" {

int weft_number(void) {
  return weft::detail::number_of_writer();
}

int weft_is_ranks_own_thread(void) {
  return weft::worker::caller() != nullptr ? 1 : 0;
}

int weft_is_ranks_code(const void* from) {
  return weft::is_private_code(from) || weft::is_code_of_cplusplus(from) ? 1 : 0;
}

int weft_is_private(const void* from) {
  return weft::is_private_code(from) ? 1 : 0;
}
}
