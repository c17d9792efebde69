// Messages between two processes by the transports themselves, without the communication core.
// The child answers what the parent asks; both copy payloads out of the transport's memory, as a
// receive would.
//
//   transport/one_way/<size>     half a round trip
//   transport/stream/<size>      one of many in a row, acknowledged at the end
//   transport/get/<size>         one copy out of the other's memory, and put likewise
//   transport/self/8B            a message to oneself and the poll that delivers it: instructions
//   alone transport/idle_poll/<n>      a poll that finds nothing, after n peers have sent something
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "report.hpp"
#include "transport/ofi/ofi.hpp"
#include "transport/shm/shm.hpp"

namespace {

using weft::status;
using weft::transport;
using weft::wire_header;

enum kind : std::uint8_t { echo = 1, sink, last_of_stream, answer, where, quit };

constexpr std::size_t buffer_bytes = 1 << 20;

// One side of the conversation.
class side : public weft::arrivals {
 public:
  explicit side(transport& by, std::uint32_t other) : by_(by), other_(other) {}

  void delivered(std::uint32_t, const wire_header& header,
                 std::span<const std::byte> payload) noexcept override {
    std::memcpy(buffer.data(), payload.data(), payload.size());
    switch (header.kind) {
      case echo:
        say(answer, payload.size());
        break;
      case last_of_stream:
        say(answer, 0);
        break;
      case where:
        std::memcpy(buffer.data(), &region.key, sizeof region.key);
        say(answer, sizeof region.key);
        break;
      case quit:
        ended = true;
        break;
      case answer:
        ++answers;
        break;
      default:
        break;
    }
  }
  void written(std::uint64_t) noexcept override {}
  void completed(void*, bool failed) noexcept override {
    ++completions;
    ended = ended || failed;
  }
  void peer_failed(std::uint32_t, const char* why) noexcept override {
    std::fprintf(stderr, "bench: %s\n", why);
    std::exit(1);
  }
  void refused(std::uint32_t, const char*) noexcept override { std::exit(1); }

  void say(kind what, std::size_t size) noexcept {
    wire_header header;
    header.kind = what;
    header.size = size;
    const std::array parts{std::span<const std::byte>(buffer).first(size)};
    while (by_.send(other_, header, parts, nullptr) == status::retry) by_.poll(*this, 1);
  }
  void await(long count) noexcept {
    while (answers < count) look();
  }
  void serve() {
    region = by_.register_memory(buffer, weft::peer_access::read_and_write);
    while (!ended) look();
  }

  // A pause between looks in vain, as all waits of weft have: without it each look takes the line
  // back from a sender that is about to write it.
  void look() noexcept {
    if (by_.poll(*this, 16) == 0) asm volatile("pause" ::: "memory");
  }

  std::vector<std::byte> buffer = std::vector<std::byte>(buffer_bytes);
  weft::memory_region region;
  long answers = 0;
  long completions = 0;
  bool ended = false;

 private:
  transport& by_;
  std::uint32_t other_;
};

using row_setup = bench::setup;

void one_way(side& me, const std::string& peer, std::size_t longest) {
  for (std::size_t size = 8; size <= 65536 && size <= longest; size *= 2) {
    const std::string name = "transport/one_way/" + bench::size_name(size);
    if (!bench::wanted(name)) continue;
    auto samples = bench::sample([&](long n) {
      const double start = bench::clock_ns();
      for (long i = 0; i < n; ++i) {
        me.answers = 0;
        me.say(echo, size);
        me.await(1);
      }
      return bench::clock_ns() - start;
    });
    for (double& s : samples) s /= 2;
    bench::print_row(name, {peer, 2, 2}, "ns", samples);
  }
}

void stream(side& me, const std::string& peer, std::size_t longest) {
  for (const std::size_t size : {8u, 64u, 1024u, 8192u, 16384u}) {
    const std::string name = "transport/stream/" + bench::size_name(size);
    if (size > longest || !bench::wanted(name)) continue;
    const auto samples = bench::sample([&](long n) {
      const double start = bench::clock_ns();
      me.answers = 0;
      for (long i = 1; i < n; ++i) me.say(sink, size);
      me.say(last_of_stream, size);
      me.await(1);
      return bench::clock_ns() - start;
    });
    bench::print_row(name, {peer, 2, 2}, "ns", samples);
  }
}

void remote_copies(side& me, transport& by, const std::string& peer) {
  if (!by.traits().can_get) return;
  me.answers = 0;
  me.say(where, 0);
  me.await(1);
  weft::remote_key key;
  std::memcpy(&key, me.buffer.data(), sizeof key);
  const auto region = by.register_memory(me.buffer, weft::peer_access::read_and_write);
  for (const std::size_t size : {8192u, 65536u, 1u << 20}) {
    const auto copy_row = [&](const std::string& name, const std::function<status()>& copy) {
      if (!bench::wanted(name)) return;
      bench::print_row(name, {peer, 2, 2}, "ns", bench::sample([&](long n) {
                         const double start = bench::clock_ns();
                         for (long i = 0; i < n; ++i) {
                           me.completions = 0;
                           status said = status::retry;
                           while ((said = copy()) == status::retry) me.look();
                           while (said == status::posted && me.completions == 0) me.look();
                         }
                         return bench::clock_ns() - start;
                       }));
    };
    const std::span local = std::span(me.buffer).first(size);
    copy_row("transport/get/" + bench::size_name(size),
             [&] { return by.get(1, local, &region, key, 0, &me); });
    copy_row("transport/put/" + bench::size_name(size),
             [&] { return by.put(1, local, &region, key, 0, &me); });
  }
}

using maker = std::function<std::unique_ptr<transport>()>;

void connect(const std::vector<std::unique_ptr<transport>>& all) {
  std::vector<std::vector<std::byte>> addresses;
  for (const auto& one : all) addresses.push_back(one->address());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i]->connect(addresses, i);
}

void idle_polls(const maker& make, const std::string& peer) {
  for (const std::size_t peers : {1u, 16u, 64u}) {
    const std::string name = "transport/idle_poll/" + std::to_string(peers);
    if (!bench::wanted(name)) continue;
    std::vector<std::unique_ptr<transport>> all;
    for (std::size_t i = 0; i <= peers; ++i) all.push_back(make());
    connect(all);
    side me(*all[0], 0);
    for (std::size_t i = 1; i <= peers; ++i)
      while (all[i]->send(0, wire_header{.kind = sink}, {}, nullptr) == status::retry) {
      }
    bench::print_row(name, {peer, 1, 1}, "ns", bench::sample([&](long n) {
                       const double start = bench::clock_ns();
                       for (long i = 0; i < n; ++i) all[0]->poll(me, 16);
                       return bench::clock_ns() - start;
                     }));
  }
}

void to_itself(const maker& make, const std::string& peer) {
  if (!bench::wanted("transport/self/8B")) return;
  std::vector<std::unique_ptr<transport>> alone;
  alone.push_back(make());
  connect(alone);
  side me(*alone[0], 0);
  bench::print_row("transport/self/8B", {peer, 1, 1}, "ns", bench::sample([&](long n) {
                     const double start = bench::clock_ns();
                     for (long i = 0; i < n; ++i) {
                       me.answers = 0;
                       me.say(answer, 8);
                       me.await(1);
                     }
                     return bench::clock_ns() - start;
                   }));
}

// Reads and writes whole, between the two processes.
bool exchange(const std::vector<std::byte>& mine, std::vector<std::byte>& theirs, int out, int in) {
  theirs.resize(mine.size());
  return write(out, mine.data(), mine.size()) == static_cast<ssize_t>(mine.size()) &&
         read(in, theirs.data(), theirs.size()) == static_cast<ssize_t>(theirs.size());
}

void two_processes(const maker& make, const std::string& peer) {
  std::array<int, 2> up{};
  std::array<int, 2> down{};
  if (pipe(up.data()) != 0 || pipe(down.data()) != 0) std::exit(1);
  const pid_t child = fork();
  const std::uint32_t me = child == 0 ? 1 : 0;
  bench::pin(static_cast<int>(me));
  auto mine = make();
  std::vector<std::vector<std::byte>> addresses(2);
  addresses[me] = mine->address();
  if (!exchange(addresses[me], addresses[1 - me], me == 0 ? down[1] : up[1],
                me == 0 ? up[0] : down[0]))
    std::exit(1);
  mine->connect(addresses, me);
  if (!mine->reaches(1 - me)) {
    std::fprintf(stderr, "bench: %s does not reach the other process\n", peer.c_str());
    std::exit(1);
  }
  side here(*mine, 1 - me);
  if (me == 1) {
    here.serve();
    std::fflush(stdout);
    _exit(0);
  }
  const std::size_t longest = mine->traits().message_bytes_max;
  one_way(here, peer, longest);
  stream(here, peer, longest);
  remote_copies(here, *mine, peer);
  here.say(quit, 0);
  waitpid(child, nullptr, 0);
}

}  // namespace

int main() {
  bench::raise_priority();
  bench::print_header();
  two_processes([] { return weft::make_shm_transport(); }, "weft-shm");
  to_itself([] { return weft::make_shm_transport(); }, "weft-shm");
  idle_polls([] { return weft::make_shm_transport(); }, "weft-shm");
  // The engines of tcp that libfabric has, over the loopback interface.
  for (const weft::ofi_provider& each : weft::ofi_providers()) {
    if (each.domain != "lo" || !each.chosen_unless_forced) continue;
    // As without a setting, which is authenticated; and the two others.
    for (const auto& [protects, suffix] :
         {std::pair{weft::protection::authenticate, ""}, std::pair{weft::protection::none, "-off"},
          std::pair{weft::protection::encrypt, "-encrypt"}}) {
      weft::ofi_options options{.provider = each.name, .domain = each.domain};
      options.protects = protects;
      two_processes([options] { return weft::make_ofi_transport(options); },
                    "weft-ofi-" + each.name + suffix);
    }
  }
}
