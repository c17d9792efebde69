// Nothing is read into memory that must not change.
// Expect: could not convert|no matching function
#include <span>
#include <weft/comm.hpp>

weft::status ask(weft::comm::device& on, const weft::comm::remote_memory& from,
                 std::span<char> to) {
#ifdef MISUSE
  return post_get(on, from, std::span<const char>(to));
#else
  return post_get(on, from, to);
#endif
}
