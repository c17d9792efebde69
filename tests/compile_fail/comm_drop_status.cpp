// A post that was refused must be posted again: what it answers is looked at.
// Expect: nodiscard|ignoring return
#include <span>
#include <weft/comm.hpp>

void tell(weft::comm::device& on, weft::comm::handler_id handler, std::span<const char> data) {
#ifdef MISUSE
  post_am(on, {1}, handler, data);
#else
  while (post_am(on, {1}, handler, data) == weft::status::retry) on.progress();
#endif
}
