#include "transport/shm/shm.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "transport/shm/inbox.hpp"
#include "transport/shm/segment.hpp"
#include "unit/transport_contract.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

contract_case shm_case(const std::string& name, const shm_options& options) {
  return {.name = name, .make = [=](std::size_t count) {
            std::vector<std::unique_ptr<transport>> made;
            for (std::size_t i = 0; i < count; ++i) made.push_back(make_shm_transport(options));
            return made;
          }};
}

INSTANTIATE_TEST_SUITE_P(shm, transport_contract,
                         ::testing::Values(shm_case("usual", {}),
                                           shm_case("small_rings", {.ring_bytes = 8192}),
                                           shm_case("file", {.nameless_segment = false}),
                                           shm_case("no_direct_copies", {.direct_copies = false})),
                         contract_name);

constexpr std::chrono::seconds patience{60};

// Another process with an endpoint of its own, number 1; this one has number 0.
class two_processes {
 public:
  using body = std::function<void(transport&, recorder&)>;

  explicit two_processes(const body& of_the_child, const shm_options& options = {})
      : mine(make_shm_transport(options)) {
    EXPECT_EQ(pipe(up_.data()), 0);
    EXPECT_EQ(pipe(down_.data()), 0);
    child = fork();
    if (child == 0) {
      auto endpoint = make_shm_transport(options);
      connect(*endpoint, 1, up_[1], down_[0]);
      recorder of_its_own;
      of_the_child(*endpoint, of_its_own);
      endpoint.reset();
      _exit(0);
    }
    connect(*mine, 0, down_[1], up_[0]);
  }
  ~two_processes() {
    (void)kill(child, SIGKILL);
    (void)waitpid(child, nullptr, 0);
    for (int descriptor : {up_[0], up_[1], down_[0], down_[1]}) close(descriptor);
  }

  [[nodiscard]] bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      mine->poll(heard, 16);
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }

  std::unique_ptr<transport> mine;
  recorder heard;
  pid_t child = -1;

 private:
  static void connect(transport& endpoint, std::uint32_t number, int out, int in) {
    std::vector<std::vector<std::byte>> addresses(2);
    addresses[number] = endpoint.address();
    addresses[1 - number].resize(addresses[number].size());
    const auto size = static_cast<ssize_t>(addresses[number].size());
    EXPECT_EQ(write(out, addresses[number].data(), addresses[number].size()), size);
    EXPECT_EQ(read(in, addresses[1 - number].data(), addresses[number].size()), size);
    endpoint.connect(addresses, number);
  }

  std::array<int, 2> up_{};
  std::array<int, 2> down_{};
};

// What a child does until it is killed.
void echo_for_ever(transport& endpoint, recorder& heard) {
  heard.on_message = [&](const recorder::message& message) {
    while (endpoint.send(0, message.header, std::array{std::span(message.payload)}, nullptr) ==
           status::retry) {
    }
  };
  for (;;) {
    heard.messages.clear();
    if (endpoint.poll(heard, 16) == 0) sched_yield();
  }
}

// Sleeps as a runtime would: at most so long as the endpoint says. True when rung.
bool sleep_armed(transport& endpoint) {
  const auto bell = endpoint.ringing();
  const std::int64_t limit = endpoint.traits().sleep_ns_max;
  const timespec timeout{limit / 1'000'000'000, limit % 1'000'000'000};
  if (bell.word->load() != bell.value) return true;
  return syscall(SYS_futex, bell.word, FUTEX_WAIT, bell.value, limit < 0 ? nullptr : &timeout,
                 nullptr, 0) == 0 ||
         errno != ETIMEDOUT;
}

std::size_t files_of_weft() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    count += entry.path().filename().string().starts_with("weft-shm-test") ? 1 : 0;
  return count;
}

TEST(shm, messages_of_all_sizes_go_to_another_process_and_back) {
  two_processes pair(echo_for_ever);
  ASSERT_TRUE(pair.mine->reaches(1));
  const std::size_t longest = pair.mine->traits().message_bytes_max;
  for (std::size_t size = 0; size <= longest; size = size < 100 ? size + 1 : size * 5 / 4) {
    const auto payload = contract_pattern(size, size);
    ASSERT_TRUE(pair.eventually([&] {
      return pair.mine->send(1, {.kind = 1, .tag = size}, std::array{std::span(payload)},
                             nullptr) == status::done;
    }));
    ASSERT_TRUE(pair.eventually([&] { return pair.heard.messages.size() == 1; }));
    EXPECT_EQ(pair.heard.messages[0].payload, payload);
    EXPECT_EQ(pair.heard.messages[0].header.tag, size);
    pair.heard.messages.clear();
  }
}

TEST(shm, memory_of_another_process_is_read_and_written) {
  two_processes pair([](transport& endpoint, recorder& heard) {
    std::vector<std::byte> memory = contract_pattern(1 << 20, 3);
    const auto region = endpoint.register_memory(memory, peer_access::read_and_write);
    heard.on_message = [&](const recorder::message&) {
      // The key and what was put.
      const std::array parts{std::as_bytes(std::span(&region.key, 1)),
                             std::span<const std::byte>(memory).first(100)};
      (void)endpoint.send(0, {.kind = 1}, parts, nullptr);
    };
    for (;;) endpoint.poll(heard, 16);
  });
  if (!pair.mine->traits().can_get) GTEST_SKIP() << "the kernel forbids process_vm_readv here";
  const auto ask = [&] {
    pair.heard.messages.clear();
    EXPECT_TRUE(pair.eventually(
        [&] { return pair.mine->send(1, {.kind = 1}, {}, nullptr) == status::done; }));
    EXPECT_TRUE(pair.eventually([&] { return pair.heard.messages.size() == 1; }));
  };
  ask();
  remote_key key;
  std::memcpy(&key, pair.heard.messages[0].payload.data(), sizeof key);
  std::vector<std::byte> got(1 << 20);
  ASSERT_EQ(pair.mine->get(1, got, nullptr, key, 0, nullptr), status::done);
  EXPECT_EQ(got, contract_pattern(1 << 20, 3));
  const auto putting = contract_pattern(50, 9);
  ASSERT_EQ(pair.mine->put(1, putting, nullptr, key, 20, nullptr), status::done);
  ask();
  EXPECT_TRUE(std::equal(putting.begin(), putting.end(),
                         pair.heard.messages[0].payload.begin() + sizeof key + 20));
  // Memory that is not there, though the key says so.
  remote_key wrong = key;
  wrong.words[0] = 0x1000;
  EXPECT_EQ(pair.mine->get(1, got, nullptr, wrong, 0, nullptr), status::failed);
  EXPECT_EQ(pair.mine->get(1, got, nullptr, key, 1, nullptr), status::failed);
}

TEST(shm, a_process_killed_in_the_middle_is_told_once_after_a_whole_prefix) {
  std::minstd_rand random(5);
  for (int round = 0; round < 20; ++round) {
    two_processes pair([](transport& endpoint, recorder& heard) {
      for (std::uint64_t i = 0;;) {
        const auto payload = contract_pattern(i % 900, i);
        if (endpoint.send(0, {.kind = 1, .tag = i}, std::array{std::span(payload)}, nullptr) ==
            status::done)
          ++i;
        else
          endpoint.poll(heard, 16);
      }
    });
    const std::size_t enough = 1 + random() % 2000;
    ASSERT_TRUE(pair.eventually([&] { return pair.heard.messages.size() >= enough; }));
    ASSERT_EQ(kill(pair.child, SIGKILL), 0);
    ASSERT_TRUE(pair.eventually([&] { return pair.heard.failures.size() == 1; }));
    EXPECT_EQ(pair.heard.failures[0].first, 1u);
    EXPECT_EQ(pair.mine->send(1, {.kind = 1}, {}, nullptr), status::failed);
    for (std::uint64_t i = 0; i < pair.heard.messages.size(); ++i) {
      ASSERT_EQ(pair.heard.messages[i].header.tag, i);
      ASSERT_EQ(pair.heard.messages[i].payload, contract_pattern(i % 900, i));
    }
    EXPECT_TRUE(pair.heard.refusals.empty());
    for (int i = 0; i < 1000; ++i) pair.mine->poll(pair.heard, 16);
    EXPECT_EQ(pair.heard.failures.size(), 1u);
  }
}

TEST(shm, a_sleeper_notices_the_death_of_a_peer) {
  two_processes pair(echo_for_ever);
  ASSERT_EQ(kill(pair.child, SIGKILL), 0);
  ASSERT_GT(pair.mine->traits().sleep_ns_max, 0);
  for (int sleeps = 0; pair.heard.failures.empty(); ++sleeps) {
    ASSERT_LT(sleeps, 100);
    if (pair.mine->poll(pair.heard, 16) == 0 && pair.mine->arm()) (void)sleep_armed(*pair.mine);
    pair.mine->disarm();
  }
}

TEST(shm, processes_that_sleep_between_messages_never_miss_one) {
  const auto await_one = [](transport& endpoint, recorder& heard) {
    const std::size_t before = heard.messages.size();
    int timeouts = 0;
    while (heard.messages.size() == before && timeouts < 50) {
      if (endpoint.poll(heard, 16) != 0) continue;
      if (endpoint.arm() && !sleep_armed(endpoint)) ++timeouts;
      endpoint.disarm();
    }
    return timeouts;
  };
  constexpr int rounds = 500;
  two_processes pair([&](transport& endpoint, recorder& heard) {
    for (int i = 0; i < rounds; ++i) {
      (void)await_one(endpoint, heard);
      (void)endpoint.send(0, {.kind = 1}, {}, nullptr);
    }
  });
  int timeouts = 0;
  for (int i = 0; i < rounds; ++i) {
    ASSERT_TRUE(pair.eventually(
        [&] { return pair.mine->send(1, {.kind = 1}, {}, nullptr) == status::done; }));
    timeouts += await_one(*pair.mine, pair.heard);
  }
  EXPECT_EQ(pair.heard.messages.size(), static_cast<std::size_t>(rounds));
  // A machine that is busy may delay one by more than the limit of a sleep, but not many.
  EXPECT_LT(timeouts, rounds / 10);
}

TEST(shm, a_sender_without_room_is_rung_when_there_is_some) {
  auto made = shm_case("", {.ring_bytes = 8192}).make(2);
  const std::vector<std::vector<std::byte>> addresses{made[0]->address(), made[1]->address()};
  for (std::uint32_t i = 0; i < 2; ++i) made[i]->connect(addresses, i);
  recorder heard;
  const auto payload = contract_pattern(100, 1);
  const auto send = [&] {
    return made[0]->send(1, {.kind = 1}, std::array{std::span(payload)}, nullptr);
  };
  std::size_t sent = 0;
  for (int round = 0; round < 50; ++round) {
    while (send() == status::done) ++sent;
    ASSERT_TRUE(made[0]->arm());
    std::thread receiver([&] {
      for (int i = 0; i < 3; ++i) made[1]->poll(heard, 16);
    });
    const auto bell = made[0]->ringing();
    const timespec timeout{20, 0};
    while (bell.word->load() == bell.value)
      ASSERT_FALSE(syscall(SYS_futex, bell.word, FUTEX_WAIT, bell.value, &timeout, nullptr, 0) !=
                       0 &&
                   errno == ETIMEDOUT);
    made[0]->disarm();
    receiver.join();
  }
  EXPECT_GT(sent, 50u);
}

TEST(shm, rings_that_were_silent_for_long_are_heard_again) {
  constexpr std::size_t count = 14;
  auto made = shm_case("", {}).make(count);
  std::vector<std::vector<std::byte>> addresses;
  for (const auto& one : made) addresses.push_back(one->address());
  for (std::uint32_t i = 0; i < count; ++i) made[i]->connect(addresses, i);
  recorder heard;
  for (std::size_t round = 1; round <= 3; ++round) {
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(made[i]->send(0, {.kind = 1}, {}, nullptr), status::done);
    // Long enough for the receiver to have stopped watching them, though it is not said when.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
    while (std::chrono::steady_clock::now() < end || heard.messages.size() < round * count)
      made[0]->poll(heard, 16);
  }
  EXPECT_EQ(heard.messages.size(), 3 * count);
}

TEST(shm, sixteen_peers_cost_a_process_less_than_64_mebibytes) {
  constexpr std::size_t count = 17;
  auto made = shm_case("", {}).make(count);
  std::vector<std::vector<std::byte>> addresses;
  for (const auto& one : made) addresses.push_back(one->address());
  for (std::uint32_t i = 0; i < count; ++i) made[i]->connect(addresses, i);
  const auto resident = [&] {
    struct stat file {};
    EXPECT_EQ(fstat(parse_segment_address(addresses[0]).descriptor, &file), 0);
    return static_cast<std::size_t>(file.st_blocks) * 512;
  };
  EXPECT_LT(resident(), 64u * 1024) << "rings are touched when they are used";
  recorder heard;
  const auto payload = contract_pattern(8000, 1);
  for (std::size_t from = 0; from < count; ++from)
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(made[from]->send(0, {.kind = 1}, std::array{std::span(payload)}, nullptr),
                status::done);
      while (made[0]->poll(heard, 16) != 0) {
      }
    }
  EXPECT_EQ(heard.messages.size(), 100 * count);
  EXPECT_LT(resident(), std::size_t{64} << 20);
  EXPECT_GT(resident(), std::size_t{2} << 20) << "the test did not go around the rings";
}

TEST(shm, an_endpoint_of_another_machine_or_a_process_that_is_gone_is_not_reached) {
  auto mine = make_shm_transport();
  segment_address address = parse_segment_address(mine->address());
  const auto as_bytes = [](const segment_address& what) {
    std::vector<std::byte> bytes(sizeof what);
    std::memcpy(bytes.data(), &what, sizeof what);
    return bytes;
  };
  segment_address other_machine = address;
  other_machine.cookie.words[0] ^= 1;
  other_machine.machine[0] ^= 1;
  segment_address other_segment = address;
  other_segment.cookie.words[0] ^= 1;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  segment_address gone = other_segment;
  gone.process = child;
  segment_address number_used_again = other_segment;
  number_used_again.process = getppid();
  segment_address absurd = other_segment;
  absurd.ring_bytes = 12345;
  const std::vector<std::vector<std::byte>> addresses{mine->address(),
                                                      as_bytes(other_machine),
                                                      as_bytes(other_segment),
                                                      as_bytes(gone),
                                                      as_bytes(number_used_again),
                                                      as_bytes(absurd),
                                                      std::vector<std::byte>(7),
                                                      {}};
  mine->connect(addresses, 0);
  EXPECT_TRUE(mine->reaches(0));
  for (std::uint32_t peer = 1; peer < addresses.size(); ++peer) {
    EXPECT_FALSE(mine->reaches(peer)) << peer;
    EXPECT_EQ(mine->send(peer, {.kind = 1}, {}, nullptr), status::failed);
  }
}

TEST(shm, what_a_broken_peer_writes_is_refused_and_never_read_beyond) {
  std::minstd_rand random(7);
  for (int round = 0; round < 300; ++round) {
    auto made = shm_case("", {.ring_bytes = 4096}).make(2);
    const std::vector<std::vector<std::byte>> addresses{made[0]->address(), made[1]->address()};
    made[0]->connect(addresses, 0);
    // Endpoint 1 is played by the test, which writes what it likes.
    std::string why;
    const segment theirs = segment::open(parse_segment_address(addresses[0]), 2, why);
    ASSERT_TRUE(theirs) << why;
    made[1]->connect(addresses, 1);
    recorder heard;
    ASSERT_EQ(made[1]->send(0, {.kind = 1}, {}, nullptr), status::done);
    made[0]->poll(heard, 16);
    ASSERT_EQ(heard.messages.size(), 1u);
    const auto bad = [&]() -> std::uint64_t {
      const std::uint64_t anything = std::uint64_t{random()} << 32 ^ random();
      switch (round % 5) {
        case 0:
          return record_header::pack(1 << 20, shm_message_kind, 1);  // Beyond the ring.
        case 1:
          return record_header::pack(8, shm_message_kind, 1);  // Shorter than a header.
        case 2:
          return record_header::pack(40, shm_message_kind, 0);  // Another's mark.
        case 3:
          return record_header::pack(anything & 0xffffff, filler_kind, 1);
        default:
          return anything | 1;
      }
    }();
    for (std::size_t i = 0; i < 4096 / 8; ++i)
      theirs.ring(1)[i].store(bad, std::memory_order_release);
    theirs.front().announced.announce(1);
    for (int i = 0; i < 1000 && heard.failures.empty(); ++i) made[0]->poll(heard, 16);
    EXPECT_EQ(heard.refusals.size(), 1u) << bad;
    EXPECT_EQ(heard.failures.size(), 1u) << bad;
    // Bits of rings that there are not.
    for (std::size_t slot : {2u, 63u, 64u, 4095u}) theirs.front().announced.announce(slot);
    for (int i = 0; i < 100; ++i) made[0]->poll(heard, 16);
    EXPECT_EQ(made[0]->send(0, {.kind = 1}, {}, nullptr), status::done) << "the rest goes on";
    made[0]->poll(heard, 16);
    EXPECT_EQ(heard.messages.back().peer, 0u);
  }
}

TEST(shm, no_file_is_left_behind) {
  const shm_options in_files{.job = "shm-test", .nameless_segment = false};
  {
    auto made = shm_case("", in_files).make(3);
    EXPECT_EQ(files_of_weft(), 3u);
    std::vector<std::vector<std::byte>> addresses;
    for (const auto& one : made) addresses.push_back(one->address());
    for (std::uint32_t i = 0; i < 3; ++i) made[i]->connect(addresses, i);
    EXPECT_EQ(files_of_weft(), 0u) << "all have opened them";
  }
  { auto never_connected = make_shm_transport(in_files); }
  EXPECT_EQ(files_of_weft(), 0u);
  // Without files there is nothing to leave, whenever the processes are killed.
  for (int round = 0; round < 30; ++round) {
    two_processes pair(echo_for_ever, {.job = "shm-test"});
    if (round % 2 == 0) (void)pair.mine->send(1, {.kind = 1}, {}, nullptr);
    ASSERT_EQ(kill(pair.child, SIGKILL), 0);
    EXPECT_EQ(files_of_weft(), 0u);
  }
}

// A page that the file system does not have would end its writer by SIGBUS.
TEST(shm, a_full_file_system_is_said_when_the_segment_is_made) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, "size=64k") != 0)
      _exit(77);
    try {
      auto made = shm_case("", {.job = "shm-test", .nameless_segment = false}).make(2);
      std::vector<std::vector<std::byte>> addresses;
      for (const auto& one : made) addresses.push_back(one->address());
      for (std::uint32_t i = 0; i < 2; ++i) made[i]->connect(addresses, i);
      _exit(1);
    } catch (const error& full) {
      _exit(std::string_view(full.what()).find("/dev/shm has no room for") == 5 ? 0 : 2);
    }
  }
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 77) GTEST_SKIP() << "not allowed to mount";
  EXPECT_EQ(ended, 0) << "exit status * 256, or the signal";
}

}  // namespace
}  // namespace weft
