// A process of ranks whose only peer sends any messages of ranks and collectives in any order, while its
// own two ranks receive, probe or take part in a collective: the job ends when the peer does, and
// nothing is read or written that is not the message's.
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "collective/meetings.hpp"
#include "comm/wire.hpp"
#include "fuzz/byte_source.hpp"
#include "fuzz/peer_job.hpp"
#include "made_up_endpoint.hpp"
#include "rank/remote.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft;
using tests::byte_source;

void require(bool condition) {
  if (!condition) std::abort();
}

constexpr int ranks = 4;      // Two in each process.
constexpr int handlers = 13;  // Of messages of ranks, and the last of how a job ends.

// One message of the peer per poll, until the input ends, and the peer with it.
class hostile_endpoint final : public tests::made_up_endpoint {
 public:
  explicit hostile_endpoint(byte_source& from) : made_up_endpoint("fuzz", true), from_(from) {}
  status send(std::uint32_t, const wire_header&, wire_parts parts, void*) noexcept override {
    read(parts);
    return ended_ ? status::failed : status::done;
  }
  int poll(arrivals& to, int) noexcept override {
    if (ended_) return 0;
    if (from_.ended()) {
      ended_ = true;
      to.peer_failed(1, "its input has ended");
      return 1;
    }
    wire_header header{};
    const std::vector<std::byte> payload = make(header);
    to.delivered(1, header, payload);
    return 1;
  }
  status get(std::uint32_t, std::span<std::byte> into, const memory_region*, const remote_key& key,
             std::uint64_t, void*) noexcept override {
    std::memset(into.data(), static_cast<int>(key.words[0]), into.size());
    return status::done;
  }
  [[nodiscard]] bool arm() noexcept override { return ended_; }

 private:
  // Contexts: of the world, of its hidden messages, of a communicator that may be made.
  std::uint32_t context() {
    constexpr std::array<std::uint32_t, 4> meaningful{0, detail::hidden_context, 1,
                                                      1 | detail::hidden_context};
    return field(meaningful[from_.byte() % meaningful.size()]);
  }
  std::uint32_t tag() {
    constexpr std::array<std::uint32_t, 6> meaningful{0, 5, 7, 1, 2, 1u << 30 | 1};
    return field(meaningful[from_.byte() % meaningful.size()]);
  }
  std::uint32_t rank() { return field(from_.byte() % ranks); }
  // Mostly what means something.
  std::uint32_t field(std::uint32_t meaningful) {
    return from_.byte() < 208 ? meaningful : static_cast<std::uint32_t>(from_.word(meaningful));
  }
  std::uint64_t two(std::uint32_t high, std::uint32_t low) {
    return std::uint64_t{high} << 32 | low;
  }

  std::vector<std::byte> make(wire_header& header) {
    using kind = comm::message_kind;
    header.kind = static_cast<std::uint8_t>(from_.byte() < 240 ? kind::am : kind::am_announce);
    header.handler = static_cast<std::uint16_t>(1 + from_.byte() % handlers);
    header.user = static_cast<std::uint32_t>(from_.word(0));
    header.tag = two(context(), tag());
    header.size = from_.byte() < 128 ? two(rank(), rank()) : from_.word(rank());
    header.operation = from_.byte() < 128 ? two(rank(), from_.byte() % 4) : from_.word(1);
    if (header.handler == handlers) make_end(header);
    switch (from_.byte() % 4) {
      case 0:
        return as_bytes(some_rts());
      case 1:
        return as_bytes(some_call());
      case 2:
        return std::vector<std::byte>(from_.byte());
      default: {
        std::vector<std::byte> any(from_.word(from_.byte()) % 4096);
        for (std::byte& byte : any) byte = static_cast<std::byte>(from_.byte());
        return any;
      }
    }
  }
  // A word of how the job ends, of the first round.
  void make_end(wire_header& header) {
    header.tag = field(from_.byte() % 14u | (from_.byte() % 2u) << 8);
    header.user = static_cast<std::uint32_t>(from_.word(1));
    if (static_cast<int>(header.size) == tests::timeout_status) header.size = 1;
  }
  detail::rts_on_wire some_rts() {
    detail::rts_on_wire made;
    made.bytes = from_.word(from_.byte());
    made.send = from_.word(1);
    made.memory.size = from_.byte() < 208 ? made.bytes : from_.word(made.bytes);
    made.memory.region = from_.word(0);
    made.memory.process = static_cast<std::int32_t>(field(1));
    made.memory.device = static_cast<std::int32_t>(field(0));
    return made;
  }
  detail::call_on_wire some_call() {
    constexpr std::array<const char*, 6> names{"barrier",    "allreduce", "bcast",
                                               "allgatherv", "split",     ""};
    detail::call_on_wire made;
    std::strcpy(made.name, names[from_.byte() % names.size()]);
    if (from_.byte() < 32) std::memset(made.name, 'x', sizeof made.name);
    made.bytes = from_.word(4);
    made.history = from_.word(0);
    made.combines.code = static_cast<std::uint16_t>(from_.word(4));
    made.root = static_cast<std::int32_t>(from_.word(2));
    made.rank = static_cast<std::int32_t>(rank());
    return made;
  }
  template <class T>
  static std::vector<std::byte> as_bytes(const T& value) {
    const auto all = std::as_bytes(std::span(&value, 1));
    return {all.begin(), all.end()};
  }

  byte_source& from_;
  bool ended_ = false;
};

// One call that needs the other process; it ends with what the peer sends, or with the peer.
void call(communicator& world, int which) {
  switch (which % 12) {
    case 0:
      return (void)world.recv<int>(3, 7);
    case 1:
      return world.barrier();
    case 2:
      return (void)world.allreduce(1, std::plus<>{});
    case 3:
      return (void)world.bcast(7, 2);
    case 4:
      return (void)world.allgatherv(std::vector<char>(5, 'x'));
    case 5: {
      std::vector<long> large(4000, 1);
      return world.allreduce(large, std::plus<>{});
    }
    case 6:
      return (void)world.split(world.rank() % 2, 0);
    case 7:
      return world.ssend(1, 2 + world.rank(), 3);
    case 8: {
      message m = world.mprobe(any_source, any_tag);
      std::vector<char> room(100);
      return (void)m.recv(room);
    }
    case 9: {
      std::vector<int> in(40'000 * ranks);
      return (void)world.alltoall(in);
    }
    case 10: {
      std::vector<char> part(world.rank() == 0 ? 300 : 2);
      return (void)world.gatherv(part, 0);
    }
    default: {
      const communicator again = world.dup();
      return again.barrier();
    }
  }
}

void take_part(communicator& world, int which) {
  std::array<std::uint32_t, 24> memory{};
  const std::span<std::uint32_t> all(memory);
  try {
    request any = world.irecv(all.subspan(1, 10), any_source, any_tag);
    request one = world.irecv(all.subspan(12, 10), 2, 5);
    call(world, which);
    any.wait();
    one.wait();
  } catch (const error&) {
  }
  for (const std::size_t guard : {0u, 11u, 22u, 23u}) require(memory[guard] == 0);
}

}  // namespace

// A fiber that ends gives its fake stack away while it still stands on it.
extern "C" const char* __asan_default_options() {
  return "detect_stack_use_after_return=0";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  byte_source from(data, size);
  const int which = from.byte();
  tests::run_beside_peer(
      ranks, [&] { return std::make_unique<hostile_endpoint>(from); },
      [&](communicator& world) { take_part(world, which); });
  return 0;
}
