// The core of a job's network, which leads to all its devices, is not given away either.
// Expect: is private within this context
#include "remote/port.hpp"

std::size_t sent_at_once(weft::network& between, int process) {
#ifdef MISUSE
  return between.core_->device().eager_bytes_max(process);
#else
  return weft::remote::port(between.at(0)).eager_bytes_max(process);
#endif
}
