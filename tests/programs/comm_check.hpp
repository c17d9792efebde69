// What programs share that test the communication core between processes: they end with the line of
// the first condition that does not hold.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>

#include "weft/comm.hpp"

namespace weft::tests {

[[noreturn]] inline void fail(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
  std::exit(1);
}
#define REQUIRE(condition) \
  ((condition) ? void() : weft::tests::fail(__FILE_NAME__, __LINE__, #condition))

inline std::string text_of(std::size_t size, std::uint64_t seed) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i)
    text[i] = static_cast<char>('a' + (i * 7 + i / 251 + seed) % 26);
  return text;
}

template <class Range>
std::span<std::byte> bytes_of(Range& range) {
  return std::as_writable_bytes(std::span(range));
}

// Progress on all devices until `condition`.
template <class Condition>
void until(const comm::runtime& core, const Condition& condition) {
  while (!condition()) {
    int happened = 0;
    for (int i = 0; i < core.device_count(); ++i) happened += core.device(i).progress();
    if (happened == 0) std::this_thread::yield();  // There may be more processes than cores.
  }
}

// Posts until there is room, with a completion that is signalled in any case, and waits for that.
template <class Post>
void complete(const comm::runtime& core, const Post& post) {
  comm::counter ended;
  until(core, [&] {
    const status said = post(comm::completion(ended));
    REQUIRE(said != status::failed);
    return said != status::retry;
  });
  until(core, [&] { return ended.value() == 1; });
  REQUIRE(ended.failures() == 0);
}

inline void meet(const comm::runtime& core, comm::team& all) {
  comm::collective barrier = all.barrier();
  until(core, [&] { return barrier.test(); });
}

inline std::string transport_of(const comm::runtime& core) {
  return std::string(core.device().transport_to(core.process_count() - 1));
}

}  // namespace weft::tests
