// The port answers questions about its device, and those do not lead to one that takes posts.
// Expect: is private within this context
#include "remote/port.hpp"

bool reaches(weft::worker& here, int process) {
#ifdef MISUSE
  return weft::remote::port::of(here).device().owner().device().is_alive(process);
#else
  return weft::remote::port::of(here).is_alive(process);
#endif
}
