// The pair as ranks of one process.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "weft-breakdown/pair.hpp"
#include "weft/weft.hpp"

namespace weft::pair {
namespace {

struct by_value {
  const communicator& world;
  int other;
  [[gnu::always_inline]] void post(std::uint64_t value) const { world.send(value, other); }
  [[gnu::always_inline]] std::uint64_t take() const { return world.recv<std::uint64_t>(other); }
};

struct by_span {
  const communicator& world;
  int other;
  std::span<std::byte> out, in;
  void post(std::uint64_t value) const {
    std::memcpy(out.data(), &value, sizeof value);
    world.send(std::span<const std::byte>(out), other);
  }
  std::uint64_t take() const {
    world.recv(in, other);
    std::uint64_t value = 0;
    std::memcpy(&value, in.data(), sizeof value);
    return value;
  }
};

}  // namespace

int run_ranks(const request& wanted) {
  options how;
  how.ranks = 2;
  how.workers = wanted.face == "fellows" ? 1 : 2;
  how.eager_max_bytes = std::max<std::size_t>(how.eager_max_bytes, wanted.bytes);
  return weft::run(how, [&](communicator& world) {
    const bool is_first = world.rank() == 0;
    if (wanted.bytes == sizeof(std::uint64_t)) {
      by_value face{world, 1 - world.rank()};
      side(face, wanted, is_first).walk();
    } else {
      std::vector<std::byte> out(wanted.bytes), in(wanted.bytes);
      by_span face{world, 1 - world.rank(), out, in};
      side(face, wanted, is_first).walk();
    }
  });
}

}  // namespace weft::pair
