// A get carries no words of the user: an option of another operation is refused.
// Expect: no matching function
#include <span>
#include <weft/comm.hpp>

weft::status ask(weft::comm::device& on, const weft::comm::remote_memory& from,
                 std::span<char> to) {
#ifdef MISUSE
  return post_get(on, from, to, weft::comm::with::head({1, 2}));
#else
  return post_get(on, from, to, weft::comm::with::tag(1));
#endif
}
