// The contract of transport.hpp as tests that every transport runs: each transport's own test file
// includes this and says
//
//   INSTANTIATE_TEST_SUITE_P(sim, transport_contract, ::testing::Values(...), contract_name);
//
// All endpoints are in this process, polled in turn unless a test has threads.
#pragma once
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "transport/transport.hpp"

namespace weft {

struct contract_case {
  std::string name;
  // So many endpoints, not yet connected.
  std::function<std::vector<std::unique_ptr<transport>>(std::size_t)> make;
  // Makes the endpoint of this number die, where the transport can.
  std::function<void(std::size_t)> kill = nullptr;
  std::size_t endpoints_max = 8;
};

inline std::string contract_name(const ::testing::TestParamInfo<contract_case>& which) {
  return which.param.name;
}

// Notes what poll() tells.
class recorder : public arrivals {
 public:
  struct message {
    std::uint32_t peer;
    wire_header header;
    std::vector<std::byte> payload;
  };

  void delivered(std::uint32_t peer, const wire_header& header,
                 std::span<const std::byte> payload) noexcept override {
    messages.push_back({peer, header, {payload.begin(), payload.end()}});
    if (on_message) on_message(messages.back());
  }
  void completed(void* context, bool failed) noexcept override {
    ++(failed ? failed_contexts : done_contexts)[context];
  }
  void written(std::uint64_t word) noexcept override {
    words.push_back(word);
    if (on_word) on_word();
  }
  void peer_failed(std::uint32_t peer, const char* why) noexcept override {
    failures.push_back({peer, why});
  }
  void refused(std::uint32_t peer, const char* why) noexcept override {
    if (refusals.size() < refusals_max) refusals.push_back({peer, why});
  }

  std::vector<message> messages;
  std::vector<std::uint64_t> words;
  std::map<void*, int> done_contexts, failed_contexts;
  std::vector<std::pair<std::uint32_t, std::string>> failures, refusals;
  static constexpr std::size_t refusals_max = 1000;  // A flood has millions.
  std::function<void(const message&)> on_message;
  std::function<void()> on_word;
};

// Bytes that tell where they are.
inline std::vector<std::byte> contract_pattern(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 31 + i / 251 + seed * 17) & 0xff);
  return bytes;
}

class transport_contract : public ::testing::TestWithParam<contract_case> {
 protected:
  static constexpr int budget = 16;
  static constexpr std::chrono::seconds patience{60};

  void connect(std::size_t count) {
    if (count > GetParam().endpoints_max) GTEST_SKIP() << "not so many endpoints in one process";
    endpoints_ = GetParam().make(count);
    ASSERT_EQ(endpoints_.size(), count);
    std::vector<std::vector<std::byte>> addresses;
    for (const auto& endpoint : endpoints_) addresses.push_back(endpoint->address());
    for (std::uint32_t i = 0; i < count; ++i) endpoints_[i]->connect(addresses, i);
    heard_.resize(count);
  }

  // As a process does whose endpoints all end.
  void TearDown() override { leave(); }
  void leave() {
    for (bool all = false; !all;) {
      all = true;
      for (auto& each : endpoints_) all &= each == nullptr || each->shut_down();
    }
    endpoints_.clear();
  }

  transport& at(std::size_t number) { return *endpoints_[number]; }
  recorder& heard(std::size_t number) { return heard_[number]; }

  void poll_all() {
    for (std::size_t i = 0; i < endpoints_.size(); ++i)
      if (endpoints_[i] != nullptr) at(i).poll(heard(i), budget);
  }

  // Polls everybody until `condition`; false when that takes too long.
  [[nodiscard]] bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      poll_all();
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }

  static wire_header numbered(std::uint64_t number, std::size_t size = 0) {
    wire_header header;
    header.kind = 7;
    header.flags = 0x81;
    header.handler = 0xabcd;
    header.user = 0x12345678;
    header.tag = number;
    header.size = size;
    header.operation = ~number;
    return header;
  }

  // Sends without a context, polling everybody while there is no room.
  status send_now(std::size_t from, std::uint32_t to, const wire_header& header,
                  std::span<const std::byte> payload) {
    status said = status::retry;
    EXPECT_TRUE(eventually([&] {
      said = at(from).send(to, header, std::array{payload}, nullptr);
      return said != status::retry;
    }));
    return said;
  }

  // Sleeps until the endpoint, which is armed, rings; false when it does not.
  static bool sleep_until_rung(const transport& endpoint) {
    const auto bell = endpoint.ringing();
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
    if (bell.word == nullptr) {
      pollfd what{endpoint.wait_descriptor(), POLLIN, 0};
      EXPECT_GE(what.fd, 0) << "neither a word nor a descriptor to sleep on";
      return poll(&what, 1, static_cast<int>(limit)) == 1;
    }
    const timespec timeout{limit / 1000, 0};
    while (bell.word->load() == bell.value)
      if (syscall(SYS_futex, bell.word, bell.shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, bell.value,
                  &timeout, nullptr, 0) != 0 &&
          errno == ETIMEDOUT)
        return false;
    return true;
  }

  // Arms an endpoint to which nothing is on the way; a transport may need some polls to see that.
  [[nodiscard]] bool arm(std::size_t number) {
    return eventually([&] { return at(number).arm(); });
  }

  std::vector<std::unique_ptr<transport>> endpoints_;
  std::vector<recorder> heard_;
};

#define CONNECT(count)                     \
  ASSERT_NO_FATAL_FAILURE(connect(count)); \
  if (IsSkipped()) return

TEST_P(transport_contract, a_message_arrives_with_its_header_and_sender) {
  CONNECT(2);
  EXPECT_TRUE(at(0).reaches(1));
  EXPECT_TRUE(at(1).reaches(0));
  EXPECT_TRUE(at(0).reaches(0));
  const auto payload = contract_pattern(8, 1);
  ASSERT_EQ(send_now(0, 1, numbered(5, 8), payload), status::done);
  ASSERT_TRUE(eventually([&] { return heard(1).messages.size() == 1; }));
  const auto& message = heard(1).messages[0];
  EXPECT_EQ(message.peer, 0u);
  const wire_header sent = numbered(5, 8);
  EXPECT_EQ(std::memcmp(&message.header, &sent, sizeof sent), 0);
  EXPECT_EQ(message.payload, payload);
  EXPECT_TRUE(heard(0).messages.empty());
}

TEST_P(transport_contract, messages_of_all_sizes_arrive_whole_and_gathered_from_parts) {
  CONNECT(2);
  const std::size_t longest = at(0).traits().message_bytes_max;
  ASSERT_GE(longest, 1024u);
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size <= 300; ++size) sizes.push_back(size);
  for (std::size_t power = 512; power < longest; power *= 2)
    for (std::size_t size : {power - 1, power, power + 1}) sizes.push_back(std::min(size, longest));
  for (std::size_t less = 0; less < 40; ++less) sizes.push_back(longest - less);
  const std::size_t inject = at(0).traits().inject_bytes_max;
  sizes.insert(sizes.end(), {std::min(inject, longest), std::min(inject + 1, longest)});
  for (const std::size_t size : sizes) {
    const auto payload = contract_pattern(size, size);
    const std::span all(payload);
    const std::size_t first = size / 3;
    const std::array<std::span<const std::byte>, 3> parts{all.first(first),
                                                          all.subspan(first, (size - first) / 2),
                                                          all.subspan(first + (size - first) / 2)};
    heard(1).messages.clear();
    ASSERT_TRUE(eventually([&] {
      return at(0).send(1, numbered(size, size), parts, nullptr) == status::done;
    })) << size;
    ASSERT_TRUE(eventually([&] { return !heard(1).messages.empty(); })) << size;
    ASSERT_EQ(heard(1).messages[0].payload, payload) << size;
    ASSERT_EQ(heard(1).messages[0].header.size, size);
  }
}

TEST_P(transport_contract, a_refused_send_changes_nothing_and_order_holds_when_queues_fill) {
  CONNECT(2);
  std::uint64_t sent = 0;
  const std::uint64_t wanted = 5000;
  std::minstd_rand random(1);
  bool refused = false;
  while (sent < wanted) {
    const auto payload = contract_pattern(random() % 600, sent);
    const status said =
        at(0).send(1, numbered(sent, payload.size()), std::array{std::span(payload)}, nullptr);
    ASSERT_NE(said, status::failed);
    ASSERT_NE(said, status::posted) << "without a context";
    if (said == status::done) {
      ++sent;
      continue;
    }
    refused = true;
    for (std::uint32_t i = random() % 4; i-- > 0;) poll_all();
  }
  ASSERT_TRUE(eventually([&] { return heard(1).messages.size() == sent; }));
  EXPECT_TRUE(refused) << "the test did not fill the queue";
  random.seed(1);
  for (std::uint64_t i = 0; i < sent; ++i) {
    const auto& message = heard(1).messages[i];
    ASSERT_EQ(message.header.tag, i);
    ASSERT_EQ(message.payload, contract_pattern(message.payload.size(), i));
    ASSERT_EQ(message.header.size, message.payload.size());
  }
  poll_all();
  EXPECT_EQ(heard(1).messages.size(), sent);
}

TEST_P(transport_contract, an_endpoint_sends_to_itself) {
  CONNECT(1);
  const std::size_t longest = at(0).traits().message_bytes_max;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto payload = contract_pattern(i % 7 == 0 ? longest - i : i, i);
    ASSERT_EQ(send_now(0, 0, numbered(i, payload.size()), payload), status::done);
  }
  ASSERT_TRUE(eventually([&] { return heard(0).messages.size() == 200; }));
  for (std::uint64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(heard(0).messages[i].peer, 0u);
    EXPECT_EQ(heard(0).messages[i].header.tag, i);
    EXPECT_EQ(heard(0).messages[i].payload, contract_pattern(i % 7 == 0 ? longest - i : i, i));
  }
}

TEST_P(transport_contract, every_pair_keeps_its_order_when_all_send_to_all) {
  CONNECT(5);
  const std::uint64_t each = 300;
  std::array<std::array<std::uint64_t, 5>, 5> sent{};
  std::minstd_rand random(2);
  ASSERT_TRUE(eventually([&] {
    bool all = true;
    for (std::size_t from = 0; from < 5; ++from)
      for (std::uint32_t to = 0; to < 5; ++to) {
        if (sent[from][to] == each) continue;
        all = false;
        const auto payload = contract_pattern(random() % 100, sent[from][to]);
        if (at(from).send(to, numbered(sent[from][to]), std::array{std::span(payload)}, nullptr) ==
            status::done)
          ++sent[from][to];
      }
    return all;
  }));
  ASSERT_TRUE(eventually([&] {
    return std::ranges::all_of(heard_, [&](auto& one) { return one.messages.size() == 5 * each; });
  }));
  for (std::size_t to = 0; to < 5; ++to) {
    std::array<std::uint64_t, 5> next{};
    for (const auto& message : heard(to).messages) {
      ASSERT_LT(message.peer, 5u);
      ASSERT_EQ(message.header.tag, next[message.peer]++);
      ASSERT_EQ(message.payload, contract_pattern(message.payload.size(), message.header.tag));
    }
  }
}

TEST_P(transport_contract, a_handler_may_answer_from_within_poll) {
  CONNECT(2);
  for (std::size_t me = 0; me < 2; ++me)
    heard(me).on_message = [&, me](const recorder::message& message) {
      if (message.header.tag == 0) return;
      // Nothing else is under way, so there is room, unless the transport refuses at random.
      while (at(me).send(message.peer, numbered(message.header.tag - 1),
                         std::array{std::span<const std::byte>(message.payload)},
                         nullptr) == status::retry) {
      }
    };
  const auto payload = contract_pattern(64, 3);
  ASSERT_EQ(send_now(0, 1, numbered(100), payload), status::done);
  ASSERT_TRUE(
      eventually([&] { return heard(0).messages.size() + heard(1).messages.size() == 101; }));
  EXPECT_EQ(heard(1).messages.back().payload, payload);
}

TEST_P(transport_contract, contexts_complete_once_and_bytes_stay_in_use_until_then) {
  CONNECT(2);
  const std::size_t longest = std::min<std::size_t>(at(0).traits().message_bytes_max, 8192);
  const std::size_t count = 200;
  std::vector<std::vector<std::byte>> buffers(count);
  std::vector<bool> posted(count), scrubbed(count);
  std::minstd_rand random(4);
  const auto scrub_completed = [&] {
    for (std::size_t i = 0; i < count; ++i)
      if (posted[i] && !scrubbed[i] && heard(0).done_contexts.contains(&buffers[i])) {
        std::ranges::fill(buffers[i], std::byte{0xee});
        scrubbed[i] = true;
      }
  };
  for (std::size_t i = 0; i < count; ++i) {
    buffers[i] = contract_pattern(random() % (longest + 1), i);
    status said = status::retry;
    ASSERT_TRUE(eventually([&] {
      scrub_completed();
      said = at(0).send(1, numbered(i), std::array{std::span<const std::byte>(buffers[i])},
                        &buffers[i]);
      return said != status::retry;
    }));
    ASSERT_NE(said, status::failed);
    if (said == status::done) std::ranges::fill(buffers[i], std::byte{0xee});
    posted[i] = said == status::posted;
    EXPECT_FALSE(posted[i] && buffers[i].size() <= at(0).traits().inject_bytes_max);
  }
  const auto posts = static_cast<std::size_t>(std::ranges::count(posted, true));
  ASSERT_TRUE(eventually([&] {
    scrub_completed();
    return heard(1).messages.size() == count && heard(0).done_contexts.size() == posts;
  }));
  random.seed(4);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(heard(1).messages[i].payload, contract_pattern(random() % (longest + 1), i));
    EXPECT_EQ(heard(0).done_contexts.contains(&buffers[i]), posted[i]);
  }
  for (const auto& [context, times] : heard(0).done_contexts) EXPECT_EQ(times, 1);
  EXPECT_TRUE(heard(0).failed_contexts.empty());
}

TEST_P(transport_contract, put_is_seen_by_messages_sent_afterwards) {
  CONNECT(2);
  if (!at(0).traits().can_put) GTEST_SKIP() << "no put";
  for (const std::size_t size : {0u, 1u, 4096u, 100'000u}) {
    std::vector<std::byte> target(size + 32);
    memory_region theirs = at(1).register_memory(target, peer_access::read_and_write);
    auto source = contract_pattern(size, 5);
    memory_region mine = at(0).register_memory(source, peer_access::read_and_write);
    int context = 0;
    heard(0).done_contexts.clear();
    status said = status::retry;
    ASSERT_TRUE(eventually([&] {
      said = at(0).put(1, source, &mine, theirs.key, 16, &context);
      return said != status::retry;
    }));
    ASSERT_NE(said, status::failed) << size;
    if (said == status::posted) {
      ASSERT_TRUE(eventually([&] { return heard(0).done_contexts[&context] == 1; }));
    }
    bool checked = false;
    heard(1).on_message = [&](const recorder::message&) {
      checked = std::equal(source.begin(), source.end(), target.begin() + 16) &&
                target[15] == std::byte{0} && target[size + 16] == std::byte{0};
    };
    heard(1).messages.clear();
    ASSERT_EQ(send_now(0, 1, numbered(1), {}), status::done);
    ASSERT_TRUE(eventually([&] { return !heard(1).messages.empty(); }));
    EXPECT_TRUE(checked) << size;
    heard(1).on_message = nullptr;
    at(0).deregister(mine);
    at(1).deregister(theirs);
  }
}

TEST_P(transport_contract, a_put_that_tells_has_arrived_when_it_is_told) {
  CONNECT(2);
  if (!at(0).traits().can_tell_put) GTEST_SKIP() << "no put that tells";
  std::vector<std::byte> target(200'000);
  memory_region theirs = at(1).register_memory(target, peer_access::read_and_write);
  auto source = contract_pattern(target.size(), 9);
  memory_region mine = at(0).register_memory(source, peer_access::read_and_write);
  constexpr std::uint64_t large = 0xfedc'ba98'7654'3210;
  bool arrived = true;
  std::size_t size = 0;
  heard(1).on_word = [&] {
    arrived = arrived &&
              std::equal(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(size),
                         target.begin() + 1) &&
              target[size + 1] == std::byte{0xff};
  };
  for (std::uint64_t i = 0; i < 20; ++i) {
    size = i % 2 == 0 ? 8 : 100'000 + i;
    std::ranges::fill(target, std::byte{0xff});
    int context = 0;
    status said = status::retry;
    heard(0).done_contexts.clear();
    ASSERT_TRUE(eventually([&] {
      said = at(0).put_and_tell(1, std::span(source).first(size), &mine, theirs.key, 1, large + i,
                                &context);
      return said != status::retry;
    }));
    ASSERT_NE(said, status::failed);
    ASSERT_TRUE(eventually([&] {
      return heard(1).words.size() == i + 1 &&
             (said == status::done || heard(0).done_contexts[&context] == 1);
    }));
    EXPECT_EQ(heard(1).words.back(), large + i);
    EXPECT_TRUE(arrived);
  }
  heard(1).on_word = nullptr;
  at(0).deregister(mine);
  at(1).deregister(theirs);
}

TEST_P(transport_contract, get_fetches_and_nothing_outside_a_region_is_reached) {
  CONNECT(2);
  const bool put = at(0).traits().can_put;
  if (!at(0).traits().can_get) GTEST_SKIP() << "no get";
  auto source = contract_pattern(100'000, 6);
  memory_region theirs = at(1).register_memory(source, peer_access::read_and_write);
  std::vector<std::byte> target(100'000);
  memory_region mine = at(0).register_memory(target, peer_access::read_and_write);
  int context = 0;
  status said = status::retry;
  ASSERT_TRUE(eventually([&] {
    said = at(0).get(1, std::span(target).first(99'000), &mine, theirs.key, 1000, &context);
    return said != status::retry;
  }));
  ASSERT_NE(said, status::failed);
  if (said == status::posted) {
    ASSERT_TRUE(eventually([&] { return heard(0).done_contexts[&context] == 1; }));
  }
  EXPECT_TRUE(std::equal(source.begin() + 1000, source.end(), target.begin()));

  // Beyond the end, or far beyond: refused at once or completed as failed, and nothing is touched.
  const auto fails = [&](bool is_put, std::uint64_t offset, std::size_t size) {
    heard(0).failed_contexts.clear();
    EXPECT_TRUE(eventually([&] {
      const auto local = std::span(target).first(size);
      said = is_put ? at(0).put(1, local, &mine, theirs.key, offset, &context)
                    : at(0).get(1, local, &mine, theirs.key, offset, &context);
      return said != status::retry;
    }));
    if (said == status::posted)
      return eventually([&] { return heard(0).failed_contexts[&context] == 1; });
    return said == status::failed;
  };
  EXPECT_TRUE(fails(false, 99'999, 2));
  EXPECT_TRUE(fails(false, ~std::uint64_t{0} - 10, 100));
  if (put) {
    EXPECT_TRUE(fails(true, 99'999, 2));
    EXPECT_EQ(source, contract_pattern(100'000, 6));
  }
  at(0).deregister(mine);
  at(1).deregister(theirs);
}

TEST_P(transport_contract, an_armed_endpoint_is_rung_by_a_message_and_by_nothing_else) {
  CONNECT(3);
  // Where there are connections both sides must make them, and a sleeper does not.
  ASSERT_EQ(send_now(0, 1, numbered(0), {}), status::done);
  ASSERT_TRUE(eventually([&] { return heard(1).messages.size() == 1; }));
  heard(1).messages.clear();
  ASSERT_TRUE(arm(1));
  std::thread sender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    while (at(0).send(1, numbered(1), {}, nullptr) != status::done) {
    }
    // A transport with connections may need its sender to go on.
    for (int i = 0; i < 100; ++i) at(0).poll(heard(0), budget);
  });
  EXPECT_TRUE(sleep_until_rung(at(1)));
  at(1).disarm();
  sender.join();
  ASSERT_TRUE(eventually([&] { return heard(1).messages.size() == 1; }));

  // With something there it does not arm.
  heard(1).messages.clear();
  ASSERT_EQ(send_now(2, 1, numbered(2), {}), status::done);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (at(1).arm()) {
    at(1).disarm();
    at(2).poll(heard(2), budget);
    ASSERT_LT(std::chrono::steady_clock::now(), end);
  }
  at(1).disarm();
  EXPECT_TRUE(heard(1).messages.empty());
  ASSERT_TRUE(eventually([&] { return heard(1).messages.size() == 1; }));

  // Armed and disarmed again without sleeping, it still receives.
  ASSERT_TRUE(arm(1));
  at(1).disarm();
  ASSERT_EQ(send_now(0, 1, numbered(3), {}), status::done);
  ASSERT_TRUE(eventually([&] { return heard(1).messages.size() == 2; }));
}

TEST_P(transport_contract, two_who_sleep_between_messages_never_miss_one) {
  CONNECT(2);
  // The first polls may be connections being made; afterwards each has its own thread.
  ASSERT_EQ(send_now(0, 1, numbered(0), {}), status::done);
  ASSERT_EQ(send_now(1, 0, numbered(0), {}), status::done);
  ASSERT_TRUE(
      eventually([&] { return heard(0).messages.size() == 1 && heard(1).messages.size() == 1; }));
  const int rounds = 300;
  std::atomic<bool> lost{false};
  std::string how;  // Written by the first that has lost one.
  const auto describe = [&](std::size_t me) {
    const std::size_t before = heard(me).messages.size();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (heard(me).messages.size() == before && std::chrono::steady_clock::now() < end)
      at(me).poll(heard(me), budget);
    return "endpoint " + std::to_string(me) + " had heard " + std::to_string(before) +
           (heard(me).messages.size() == before ? ", and polling finds nothing either; "
                                                : ", and polling finds the next; ") +
           std::to_string(heard(me).failures.size()) + " failures";
  };
  const auto await = [&](std::size_t me, std::size_t count) {
    while (heard(me).messages.size() < count && !lost) {
      if (at(me).poll(heard(me), budget) != 0) continue;
      const bool was_rung = !at(me).arm() || sleep_until_rung(at(me));
      at(me).disarm();
      if (!was_rung && !lost.exchange(true)) how = describe(me);
    }
  };
  const auto talk = [&](std::size_t me) {
    for (int i = 0; i < rounds && !lost; ++i) {
      if (me == 1) await(me, static_cast<std::size_t>(i) + 2);
      while (at(me).send(static_cast<std::uint32_t>(1 - me), numbered(1), {}, nullptr) ==
             status::retry)
        at(me).poll(heard(me), budget);
      if (me == 0) await(me, static_cast<std::size_t>(i) + 2);
    }
  };
  std::thread other(talk, 1);
  talk(0);
  other.join();
  EXPECT_FALSE(lost) << "an arrival did not ring: " << how;
}

TEST_P(transport_contract, a_peer_marked_as_failed_is_told_once_and_its_contexts_fail) {
  CONNECT(3);
  const std::size_t longest = at(0).traits().message_bytes_max;
  const auto payload = contract_pattern(longest, 1);
  std::vector<char> contexts(40);
  std::size_t posts = 0;
  for (char& context : contexts) {
    const status said = at(0).send(1, numbered(1), std::array{std::span(payload)}, &context);
    if (said == status::posted) ++posts;
  }
  at(0).mark_failed(1, "the test says so");
  at(0).mark_failed(1, "and again");
  ASSERT_TRUE(eventually([&] {
    return !heard(0).failures.empty() &&
           heard(0).failed_contexts.size() + heard(0).done_contexts.size() == posts;
  }));
  EXPECT_EQ(at(0).send(1, numbered(2), {}, nullptr), status::failed);
  EXPECT_TRUE(at(0).reaches(1));
  ASSERT_EQ(send_now(0, 2, numbered(3), {}), status::done) << "others are not affected";
  ASSERT_TRUE(eventually([&] { return heard(2).messages.size() == 1; }));
  for (int i = 0; i < 50; ++i) poll_all();
  ASSERT_EQ(heard(0).failures.size(), 1u);
  EXPECT_EQ(heard(0).failures[0].first, 1u);
  EXPECT_EQ(heard(0).failures[0].second, "the test says so");
  for (const auto& [context, times] : heard(0).failed_contexts) EXPECT_EQ(times, 1);
}

TEST_P(transport_contract, marking_a_peer_as_failed_rings) {
  CONNECT(2);
  ASSERT_TRUE(arm(0));
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    at(0).mark_failed(1, "the test says so");
  });
  EXPECT_TRUE(sleep_until_rung(at(0)));
  at(0).disarm();
  other.join();
  ASSERT_TRUE(eventually([&] { return heard(0).failures.size() == 1; }));
}

TEST_P(transport_contract, a_peer_that_left_is_not_a_failure_and_its_messages_arrive) {
  CONNECT(3);
  for (std::uint64_t i = 0; i < 20; ++i)
    ASSERT_EQ(send_now(1, 0, numbered(i), contract_pattern(30, i)), status::done);
  // A transport with a network in between may have to see them off before it may leave.
  ASSERT_TRUE(eventually([&] { return heard(0).messages.size() >= 1; }));
  if (at(1).traits().name != "sim" && at(1).traits().name != "shm") {
    ASSERT_TRUE(eventually([&] { return heard(0).messages.size() == 20; }));
  }
  endpoints_[1].reset();
  ASSERT_TRUE(eventually([&] { return heard(0).messages.size() == 20; }));
  for (int i = 0; i < 100; ++i) poll_all();
  EXPECT_TRUE(heard(0).failures.empty());
  // Sends to it end, whether they fail or run out of room.
  const auto payload = contract_pattern(1000, 1);
  for (int i = 0; i < 1000; ++i) {
    (void)at(0).send(1, numbered(1), std::array{std::span(payload)}, nullptr);
    if (i % 10 == 0) poll_all();
  }
  ASSERT_EQ(send_now(0, 2, numbered(3), {}), status::done);
  ASSERT_TRUE(eventually([&] { return heard(2).messages.size() == 1; }));
  // Whoever says that it is dead gets an answer all the same.
  at(0).mark_failed(1, "the test says so");
  ASSERT_TRUE(eventually([&] { return heard(0).failures.size() == 1; }));
}

// Not a matter of speed: whoever waits for one that does not listen any more waits until a limit.
TEST_P(transport_contract, endpoints_that_leave_by_turns_do_not_wait_for_each_other) {
  std::uint64_t shortest_ns = ~std::uint64_t{0};
  for (int attempt = 0; attempt < 3 && shortest_ns >= farewell_ns; ++attempt) {
    heard_.clear();
    CONNECT(4);
    for (std::uint32_t from = 0; from < 4; ++from)
      for (std::uint32_t to = 0; to < 4; ++to)
        ASSERT_EQ(send_now(from, to, numbered(from), {}), status::done);
    ASSERT_TRUE(eventually([&] {
      return std::ranges::all_of(heard_, [](auto& one) { return one.messages.size() == 4; });
    }));
    const std::uint64_t begin = now_ns();
    leave();
    shortest_ns = std::min(shortest_ns, now_ns() - begin);
  }
  EXPECT_LT(shortest_ns, farewell_ns);
}

TEST_P(transport_contract, what_has_come_from_a_peer_is_told_before_its_failure) {
  CONNECT(2);
  ASSERT_EQ(send_now(1, 0, numbered(0), {}), status::done);
  ASSERT_TRUE(eventually([&] { return heard(0).messages.size() == 1; }));
  const auto payload = contract_pattern(30, 1);
  std::uint64_t sent = 1;
  while (sent < 12 && at(1).send(0, numbered(sent), std::array{std::span<const std::byte>(payload)},
                                 nullptr) == status::done)
    ++sent;
  // What leaves by and by, and what the kernel moves when it finds the time.
  for (int i = 0; i < 100; ++i) {
    at(1).poll(heard(1), budget);
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  at(0).mark_failed(1, "the test says so");
  ASSERT_TRUE(eventually([&] { return heard(0).failures.size() == 1; }));
  EXPECT_EQ(heard(0).messages.size(), sent);
}

TEST_P(transport_contract, a_peer_that_dies_is_told_once_and_the_others_go_on) {
  if (!GetParam().kill) GTEST_SKIP() << "endpoints of one process do not die one by one";
  CONNECT(3);
  for (std::uint64_t i = 0; i < 10; ++i)
    ASSERT_EQ(send_now(1, 0, numbered(i), contract_pattern(30, i)), status::done);
  GetParam().kill(1);
  ASSERT_TRUE(
      eventually([&] { return heard(0).failures.size() == 1 && heard(2).failures.size() == 1; }));
  EXPECT_EQ(heard(0).failures[0].first, 1u);
  // What arrived is a prefix.
  for (std::uint64_t i = 0; i < heard(0).messages.size(); ++i)
    EXPECT_EQ(heard(0).messages[i].header.tag, i);
  const std::size_t arrived = heard(0).messages.size();
  EXPECT_EQ(at(0).send(1, numbered(1), {}, nullptr), status::failed);
  ASSERT_EQ(send_now(0, 2, numbered(3), {}), status::done);
  ASSERT_TRUE(eventually([&] { return heard(2).messages.size() == 1; }));
  for (int i = 0; i < 50; ++i) poll_all();
  EXPECT_EQ(heard(0).failures.size(), 1u);
  EXPECT_EQ(heard(0).messages.size(), arrived);
}

TEST_P(transport_contract, threads_with_an_endpoint_each_exchange_everything) {
  CONNECT(2);
  // As many as a second has room for: with a queue of one on a busy machine that is not many.
  const std::uint64_t count_max = 3000;
  const auto end_of_sending = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  const auto end = std::chrono::steady_clock::now() + 3 * patience;
  std::array<std::atomic<std::uint64_t>, 2> total{UINT64_MAX, UINT64_MAX};
  const auto talk = [&](std::size_t me) {
    std::minstd_rand random(static_cast<std::uint_fast32_t>(me + 1));
    std::uint64_t sent = 0;
    std::vector<std::byte> payload = contract_pattern(random() % 1000, sent);
    while (total[me] == UINT64_MAX || heard(me).messages.size() < total[1 - me]) {
      const auto now = std::chrono::steady_clock::now();
      if (total[me] == UINT64_MAX) {
        if (at(me).send(static_cast<std::uint32_t>(1 - me), numbered(sent),
                        std::array{std::span<const std::byte>(payload)}, nullptr) == status::done)
          payload = contract_pattern(random() % 1000, ++sent);
        if (sent == count_max || now > end_of_sending) total[me] = sent;
      }
      if (at(me).poll(heard(me), budget) == 0) std::this_thread::yield();
      if (now > end) return;
    }
    // The other may need this one to go on.
    for (int i = 0; i < 1000; ++i) at(me).poll(heard(me), budget);
  };
  std::thread other(talk, 1);
  talk(0);
  other.join();
  for (std::size_t me = 0; me < 2; ++me) {
    ASSERT_EQ(heard(me).messages.size(), total[1 - me]);
    EXPECT_GT(total[me], 0u);
    for (std::uint64_t i = 0; i < total[1 - me]; ++i) {
      const auto& message = heard(me).messages[i];
      ASSERT_EQ(message.header.tag, i);
      ASSERT_EQ(message.payload, contract_pattern(message.payload.size(), i));
    }
  }
}

}  // namespace weft
