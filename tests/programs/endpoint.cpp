// One process of several that speak over a bare transport, without a core or a bootstrap: addresses
// are exchanged through files of a directory.
//
//   test-endpoint TRANSPORT NUMBER COUNT DIRECTORY exchange|outlive|remember|sleep
//
// TRANSPORT is ofi[:PROVIDER[@INTERFACE]] or mpi[:WHICH]; with WEFT_SECURE=off messages are not sealed. Prints one line and ends with 0 when all
// was well.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../provider_leaks.hpp"
#include "base/format.hpp"
#include "transport/mpi/mpi.hpp"
#include "transport/ofi/ofi.hpp"
#include "transport/transport.hpp"
#include "weft/error.hpp"

namespace {

using weft::formatted;
using clock_type = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{40};

std::unique_ptr<weft::transport> make_transport(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string which = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (kind == "ofi") {
    weft::tests::note_provider(which);
    weft::ofi_options how = weft::parse_ofi_options(which);
    const char* const secure = std::getenv("WEFT_SECURE");
    if (secure != nullptr && std::string_view(secure) == "off")
      how.protects = weft::protection::none;
    return weft::make_ofi_transport(how);
  }
  if (kind == "mpi") return weft::make_mpi_transport(which);
  throw weft::error(formatted("there is no transport {} here", text));
}

std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 31 + i / 251 + seed * 17) & 0xff);
  return bytes;
}

void publish(const std::filesystem::path& file, const std::vector<std::byte>& bytes) {
  std::filesystem::path unfinished = file;
  unfinished += ".new";
  std::ofstream(unfinished, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  std::filesystem::rename(unfinished, file);
}
std::vector<std::byte> read(const std::filesystem::path& file) {
  const auto end = clock_type::now() + patience;
  while (!std::filesystem::exists(file)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (clock_type::now() > end) throw weft::error(formatted("{} does not appear", file.string()));
  }
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class process final : public weft::arrivals {
 public:
  process(const std::string& transport, std::uint32_t number, std::uint32_t count,
          const std::string& directory)
      : endpoint_(make_transport(transport)), number_(number), received_(count) {
    const std::filesystem::path place(directory);
    publish(place / formatted("{}", number), endpoint_->address());
    std::vector<std::vector<std::byte>> addresses;
    for (std::uint32_t i = 0; i < count; ++i) addresses.push_back(read(place / formatted("{}", i)));
    endpoint_->connect(addresses, number);
    for (std::uint32_t i = 0; i < count; ++i)
      if (!endpoint_->reaches(i)) throw weft::error(formatted("process {} is not reached", i));
  }

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(received_.size()); }
  [[nodiscard]] weft::transport& endpoint() { return *endpoint_; }

  void delivered(std::uint32_t peer, const weft::wire_header& header,
                 std::span<const std::byte> payload) noexcept override {
    const std::uint64_t expected = received_[peer]++;
    const auto wanted = pattern(payload.size(), header.tag);
    if (header.tag != expected || header.size != payload.size() ||
        !std::equal(payload.begin(), payload.end(), wanted.begin()))
      trouble = formatted("message {} of {} came as {} with {} bytes", header.tag, peer, expected,
                          payload.size());
  }
  void written(std::uint64_t) noexcept override { std::abort(); }
  void completed(void* context, bool failed) noexcept override {
    ++(failed ? contexts_failed : contexts_done);
    last_context = context;
  }
  void peer_failed(std::uint32_t peer, const char* why) noexcept override {
    failures.push_back(formatted("{}: {}", peer, why));
    failed_peer = static_cast<int>(peer);
  }
  void refused(std::uint32_t peer, const char* why) noexcept override {
    trouble = formatted("refused of {}: {}", peer, why);
  }

  // Sends the next message of `size` bytes; false when there is no room.
  weft::status send(std::uint32_t to, std::size_t size) {
    if (sent_.size() != received_.size()) sent_.resize(received_.size());
    const auto payload = pattern(size, sent_[to]);
    weft::wire_header header;
    header.kind = 1;
    header.tag = sent_[to];
    header.size = size;
    const std::span<const std::byte> part(payload);
    const weft::status said = endpoint_->send(to, header, {&part, 1}, nullptr);
    if (said == weft::status::done) ++sent_[to];
    return said;
  }
  void send_surely(std::uint32_t to, std::size_t size) {
    wait_until("there is room", [&] { return send(to, size) != weft::status::retry; });
  }

  void wait_until(const char* what, const std::function<bool()>& condition) {
    const auto end = clock_type::now() + patience;
    while (!condition()) {
      endpoint_->poll(*this, 16);
      if (!trouble.empty()) throw weft::error(trouble);
      if (clock_type::now() > end) throw weft::error(formatted("waited too long until {}", what));
    }
  }
  // A message to and from every other one but `dead`.
  void meet(int dead = -1) {
    for (std::uint32_t i = 0; i < count(); ++i)
      if (i != number_ && static_cast<int>(i) != dead) send_surely(i, 3);
    for (std::uint32_t i = 0; i < count(); ++i)
      if (i != number_ && static_cast<int>(i) != dead)
        wait_until("all have met", [&] { return received_[i] >= meetings_[i] + 1; });
  }
  std::vector<std::uint64_t>& received() { return received_; }
  std::vector<std::uint64_t>& expected() { return meetings_; }

  std::vector<std::string> failures;
  int failed_peer = -1;
  int contexts_done = 0;
  int contexts_failed = 0;
  void* last_context = nullptr;
  std::string trouble;

 private:
  std::unique_ptr<weft::transport> endpoint_;
  std::uint32_t number_;
  std::vector<std::uint64_t> received_;
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> meetings_ = std::vector<std::uint64_t>(received_.size());
};

// All send to all, of all sizes.
void exchange(process& me) {
  constexpr std::uint64_t each = 2000;
  std::minstd_rand random(me.number() + 1);
  const std::size_t longest = me.endpoint().traits().message_bytes_max;
  for (std::uint64_t i = 0; i < each; ++i)
    for (std::uint32_t to = 0; to < me.count(); ++to)
      me.send_surely(to, i % 16 == 0 ? random() % (longest + 1) : random() % 300);
  for (std::uint32_t from = 0; from < me.count(); ++from)
    me.wait_until("all has come", [&] { return me.received()[from] >= each; });
  // Nobody leaves before all have everything.
  me.expected().assign(me.count(), each);
  me.meet();
}

// Process 1 dies; the others are told, once, and go on.
void outlive(process& me) {
  me.meet();
  me.expected().assign(me.count(), 1);
  if (me.number() == 1) {
    for (int i = 0; i < 10; ++i) me.send_surely(0, 100);
    // libfabric's segment, which the others have mapped; weftrun would remove it.
    ::unlink(weft::formatted("/dev/shm/{}:0:0", ::getpid()).c_str());
    ::raise(SIGKILL);
  }
  me.wait_until("the death is told", [&] { return me.failed_peer >= 0; });
  if (me.failures.size() != 1 || me.failed_peer != 1)
    throw weft::error("told of " + me.failures.back());
  if (me.send(1, 1) != weft::status::failed) throw weft::error("a dead process takes messages");
  me.meet(1);
  if (me.failures.size() != 1) throw weft::error("told twice");
}

// Gets from the memory of the process before, puts into that of the next one, whose keys travel in
// files as addresses do.
void remember(process& me, const std::string& directory) {
  weft::transport& endpoint = me.endpoint();
  if (!endpoint.traits().can_put || !endpoint.traits().can_get) {
    std::printf("no remote memory\n");
    return;
  }
  constexpr std::size_t size = 300'000;
  auto source = pattern(size, me.number());
  std::vector<std::byte> target(size), fetched(size);
  weft::memory_region of_source =
      endpoint.register_memory(source, weft::peer_access::read_and_write);
  weft::memory_region of_target =
      endpoint.register_memory(target, weft::peer_access::read_and_write);
  weft::memory_region of_fetched =
      endpoint.register_memory(fetched, weft::peer_access::read_and_write);
  const std::array keys{of_source.key, of_target.key};
  const auto file = [&](std::uint32_t i) {
    return std::filesystem::path(directory) / formatted("key-{}", i);
  };
  const auto bytes = std::as_bytes(std::span(keys));
  publish(file(me.number()), {bytes.begin(), bytes.end()});
  const auto keys_of = [&](std::uint32_t i) {
    std::array<weft::remote_key, 2> theirs;
    std::memcpy(theirs.data(), read(file(i)).data(), sizeof theirs);
    return theirs;
  };
  const std::uint32_t next = (me.number() + 1) % me.count();
  const std::uint32_t before = (me.number() + me.count() - 1) % me.count();
  const auto of_next = keys_of(next);
  const auto of_before = keys_of(before);
  int posted = 0;
  const auto note = [&](weft::status said) {
    if (said == weft::status::failed) throw weft::error("a put or get fails");
    posted += said == weft::status::posted ? 1 : 0;
    return said != weft::status::retry;
  };
  me.wait_until("a put is taken", [&] {
    return note(endpoint.put(next, source, &of_source, of_next[1], 0, &posted));
  });
  me.wait_until("a get is taken", [&] {
    return note(endpoint.get(before, fetched, &of_fetched, of_before[0], 0, &posted));
  });
  me.wait_until("both are done", [&] { return me.contexts_done + me.contexts_failed == posted; });
  me.meet();
  if (me.contexts_failed != 0) throw weft::error("a put or get failed");
  if (fetched != pattern(size, before)) throw weft::error("a get brought something else");
  if (target != pattern(size, before)) throw weft::error("a put brought something else");
  for (auto* region : {&of_source, &of_target, &of_fetched}) endpoint.deregister(*region);
}

// Process 0 sends now and then; the others sleep, hear all of it, and use next to no time.
void sleep(process& me) {
  constexpr std::uint64_t rounds = 20;
  me.meet();
  me.expected().assign(me.count(), 1);
  if (me.number() == 0) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      for (std::uint32_t to = 1; to < me.count(); ++to) me.send_surely(to, 8);
      for (int k = 0; k < 10; ++k) me.endpoint().poll(me, 16);
    }
    for (std::uint32_t from = 1; from < me.count(); ++from)
      me.wait_until("all have heard", [&] { return me.received()[from] > me.expected()[from]; });
    return;
  }
  int wakes = 0;
  const auto begin = clock_type::now();
  while (me.received()[0] < me.expected()[0] + rounds) {
    if (clock_type::now() > begin + patience) throw weft::error("slept for ever");
    if (me.endpoint().poll(me, 16) != 0) continue;
    if (me.endpoint().arm()) {
      const auto sleep_ns = me.endpoint().traits().sleep_ns_max;
      pollfd readable{me.endpoint().wait_descriptor(), POLLIN, 0};
      ::poll(&readable, 1, sleep_ns < 0 ? 1000 : static_cast<int>(sleep_ns / 1'000'000));
      ++wakes;
    }
    me.endpoint().disarm();
  }
  std::printf("process %u woke %d times for %d messages\n", me.number(), wakes,
              static_cast<int>(rounds));
  me.send_surely(0, 1);
  // An arrival wakes once or twice, not for ever: a descriptor that stays readable would show. Who has none
  // looks from time to time.
  const auto sleep_ns = me.endpoint().traits().sleep_ns_max;
  const auto looks =
      sleep_ns < 0 ? 0 : (clock_type::now() - begin) / std::chrono::nanoseconds(sleep_ns);
  if (wakes > static_cast<int>(rounds) * 50 + looks) throw weft::error("it does not sleep");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 6)
      throw weft::error("usage: test-endpoint TRANSPORT NUMBER COUNT DIRECTORY SCENARIO");
    process me(argv[1], static_cast<std::uint32_t>(std::stoul(argv[2])),
               static_cast<std::uint32_t>(std::stoul(argv[3])), argv[4]);
    const std::string scenario = argv[5];
    if (scenario == "exchange")
      exchange(me);
    else if (scenario == "outlive")
      outlive(me);
    else if (scenario == "remember")
      remember(me, argv[4]);
    else if (scenario == "sleep")
      sleep(me);
    else
      throw weft::error("there is no scenario " + scenario);
    std::printf("process %u of %u: %s over %s\n", me.number(), me.count(), scenario.c_str(),
                std::string(me.endpoint().traits().detail).c_str());
    for (const std::string& failure : me.failures) std::printf("told of %s\n", failure.c_str());
    return 0;
  } catch (const std::exception& failure) {
    std::printf("process %s: %s\n", argc > 2 ? argv[2] : "?", failure.what());
    return 1;
  }
}
