// Peers that die, and peers that send what they should not.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "cluster.hpp"
#include "comm/wire.hpp"
#include "open_endpoint.hpp"

namespace weft {
namespace {

using comm::event;
using comm::handler_id;
using comm::message_kind;
using comm::outcome;
using tests::cluster;
using tests::mailbox;
using tests::open_endpoint;
using tests::text_of;
namespace with = comm::with;

// --- Death ---

struct told {
  std::vector<int> processes;
};

comm::runtime_options telling(told& to) {
  comm::runtime_options how;
  how.on_peer_failure = [&to](int process, const char*) { to.processes.push_back(process); };
  return how;
}

TEST(comm_failure, operations_to_a_dead_peer_end_with_an_error_and_the_living_go_on) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    told failures;
    const bool native = seed % 2 == 0;
    cluster job(3, telling(failures),
                {.seed = seed, .queue_capacity = 4, .can_put = native, .can_get = native});
    mailbox box;
    handler_id handler;
    for (int p = 0; p < 3; ++p) handler = job[p].register_handler(box);
    std::string there(200000, 'x');
    const comm::registered_memory dead(job.device(1), std::as_writable_bytes(std::span(there)));
    const comm::registered_memory alive(job.device(2), std::as_writable_bytes(std::span(there)));

    std::string here(200000, 'y'), got(200000, '?');
    comm::counter ended;
    std::uint64_t posted = 0;
    const auto count = [&](status said) { posted += said == status::posted; };
    job.fabric.kill_after(1, seed % 7);
    for (int i = 0; i < 4; ++i) {
      count(post_am(job.device(0), {1}, handler, here, with::local(ended)));
      count(post_put(job.device(0), dead.remote(), here, with::local(ended)));
      count(post_get(job.device(0), dead.remote(), got, with::local(ended)));
      count(post_fetch_add(job.device(0), dead.remote(), 1, with::local(ended)));
      count(post_send(job.device(0), {1}, here, with::local(ended)));
      count(post_recv(job.device(0), 1, got, with::tag(77), with::local(ended)));
      (void)post_send(job.device(1), {0}, here, with::tag(78));
      for (std::uint64_t k = 0; k < seed % 5; ++k) job.progress();
    }
    job.fabric.kill(1);
    const auto survivors = [&] {
      job.device(0).progress();
      job.device(2).progress();
    };
    for (long i = 0; i < 1'000'000 && ended.value() != posted; ++i) survivors();
    ASSERT_EQ(ended.value(), posted) << "seed " << seed;
    EXPECT_GT(ended.failures(), 0u) << "seed " << seed;
    for (int i = 0; i < 100; ++i) survivors();
    EXPECT_FALSE(job.device(0).is_alive(1));
    EXPECT_EQ(failures.processes, (std::vector<int>{1, 1})) << "each survivor tells it once";
    EXPECT_EQ(post_am(job.device(0), {1}, handler, here), status::failed);
    EXPECT_EQ(post_recv(job.device(0), 1, got), status::failed);

    // The device is as good as new for the living.
    box.messages.clear();
    comm::counter later;
    EXPECT_NE(post_am(job.device(0), {2}, handler, here, with::local(later)), status::failed);
    status said = status::retry;
    std::string copy(there.size(), '?');
    for (long i = 0; i < 100'000 && said == status::retry; ++i) {
      said = post_get(job.device(0), alive.remote(), copy, with::local(later));
      survivors();
    }
    for (long i = 0; i < 1'000'000 && (box.messages.empty() || later.value() < 1); ++i) survivors();
    ASSERT_EQ(box.messages.size(), 1u) << "seed " << seed;
    EXPECT_EQ(later.failures(), 0u);
  }
}

TEST(comm_failure, what_a_bootstrap_knows_ends_receives_and_is_told_once) {
  told failures;
  cluster job(2, telling(failures));
  std::string got(10, '?');
  comm::synchronizer received, sent;
  ASSERT_EQ(post_recv(job.device(0), 1, got, with::local(received), with::context(&got)),
            status::posted);
  job[0].mark_failed(1, "process 1 was killed by signal 9 (Killed)");
  ASSERT_TRUE(job.until([&] { return received.test(); }));
  EXPECT_EQ(received.events()[0].result, outcome::failed);
  EXPECT_EQ(received.events()[0].process, 1);
  EXPECT_EQ(received.events()[0].context, &got);
  job[0].mark_failed(1, "again");
  for (int i = 0; i < 10; ++i) job.device(0).progress();
  EXPECT_EQ(failures.processes, std::vector<int>{1});
}

TEST(comm_failure, is_said_once_on_stderr_when_nobody_takes_the_word) {
  testing::internal::CaptureStderr();
  {
    cluster job(2);
    job[0].mark_failed(1, "it was killed");
    for (int i = 0; i < 10; ++i) job.device(0).progress();
  }
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "weft: process 0 has lost process 1: it was killed; runtime_options::on_peer_failure can "
      "take this word\n");
}

// Whoever sends and dies at once has sent: its death is often known before its messages are read.
TEST(comm_failure, what_came_before_a_death_is_received_although_the_death_is_known_first) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    told failures;
    cluster job(2, telling(failures), {.seed = seed});
    std::string early(3, '?'), late(3, '?'), never(3, '?');
    comm::synchronizer first, second, third;
    ASSERT_EQ(post_recv(job.device(0), 1, early, with::tag(1), with::local(first)), status::posted);
    ASSERT_EQ(post_recv(job.device(0), 1, never, with::tag(3), with::local(third)), status::posted);
    ASSERT_NE(post_send(job.device(1), {0}, std::string("one"), with::tag(1)), status::retry);
    ASSERT_NE(post_send(job.device(1), {0}, std::string("two"), with::tag(2)), status::retry);
    job[0].mark_failed(1, "it was killed");
    for (long i = 0; i < 100'000 && !third.test(); ++i) job.device(0).progress();
    ASSERT_TRUE(first.test() && third.test()) << "seed " << seed;
    EXPECT_EQ(first.events()[0].result, outcome::complete) << "seed " << seed;
    EXPECT_EQ(early, "one");
    EXPECT_EQ(third.events()[0].result, outcome::failed);
    const status said =
        post_recv(job.device(0), 1, late, with::tag(2), with::local(second), with::done(false));
    EXPECT_EQ(said, status::posted);
    for (long i = 0; i < 100'000 && !second.test(); ++i) job.device(0).progress();
    ASSERT_TRUE(second.test());
    EXPECT_EQ(late, "two");
    EXPECT_EQ(post_recv(job.device(0), 1, late, with::tag(2)), status::failed);
    EXPECT_EQ(failures.processes, std::vector<int>{1});
  }
}

// Its announcement came, its data never will.
TEST(comm_failure, a_receive_of_what_a_dead_peer_had_announced_fails) {
  for (const auto way : {comm::rendezvous_protocol::read, comm::rendezvous_protocol::write,
                         comm::rendezvous_protocol::messages})
    for (const bool in_place : {false, true}) {
      told failures;
      comm::runtime_options how = telling(failures);
      how.rendezvous = way;
      cluster job(2, how);
      const std::string text = text_of(200'000);
      std::string got(text.size(), '?');
      comm::synchronizer received;
      ASSERT_EQ(post_send(job.device(1), {0}, text), status::posted);
      ASSERT_TRUE(job.until([&] { return job.device(0).statistics().unexpected == 1; }));
      job.fabric.kill(1);
      ASSERT_TRUE(job.until([&] { return !job.device(0).is_alive(1); }));
      ASSERT_EQ(post_recv(job.device(0), 1, in_place ? std::span<char>() : std::span(got),
                          with::in_place(in_place), with::local(received)),
                status::posted);
      ASSERT_TRUE(job.until([&] { return received.test(); }, 10'000));
      EXPECT_EQ(received.events()[0].result, outcome::failed);
    }
}

TEST(comm_failure, a_runtime_that_ends_cancels_what_is_under_way) {
  cluster job(2);
  std::string got(10, '?');
  comm::synchronizer received;
  ASSERT_EQ(post_recv(job.device(0), 1, got, with::local(received)), status::posted);
  job.cores[0].reset();
  ASSERT_TRUE(received.test());
  EXPECT_EQ(received.events()[0].result, outcome::canceled);
}

// --- Forged messages ---

class comm_forged : public testing::Test {
 protected:
  comm_forged() {
    for (int p = 0; p < 2; ++p) members_.push_back(std::make_unique<tests::member>(job_, p));
    std::vector<std::jthread> starting;
    for (int p = 0; p < 2; ++p)
      starting.emplace_back([this, p] {
        cores_[p] = std::make_unique<comm::runtime>(
            *members_[static_cast<std::size_t>(p)], comm::runtime_options{}, [&](int) {
              std::vector<std::unique_ptr<transport>> made;
              made.push_back(std::make_unique<open_endpoint>(p == 0 ? incoming_ : unused_,
                                                             p == 0 ? outgoing_ : nowhere_));
              return made;
            });
      });
    starting.clear();
    handler_ = cores_[0]->register_handler(box_);
    memory_ = comm::registered_memory(device(), std::as_writable_bytes(std::span(words_).first(8)));
  }
  comm::device& device() { return cores_[0]->device(); }

  void arrive(message_kind kind, wire_header header, std::span<const std::byte> payload = {}) {
    header.kind = static_cast<std::uint8_t>(kind);
    incoming_.push_back({header, {payload.begin(), payload.end()}});
    device().progress();
  }
  void arrive_write(std::uint64_t operation) {
    incoming_.push_back({{.operation = operation}, {}, true});
    device().progress();
  }
  // Whether the last message was thrown away.
  bool refused() {
    const std::uint64_t now = device().statistics().refused;
    return std::exchange(refused_, now) + 1 == now;
  }

  tests::shared_job job_{2};
  std::vector<std::unique_ptr<tests::member>> members_;
  std::deque<open_endpoint::message> incoming_, unused_;
  std::vector<wire_header> outgoing_, nowhere_;
  mailbox box_;
  // The last eight words must never change.
  alignas(8) std::array<std::uint64_t, 16> words_{};
  std::unique_ptr<comm::runtime> cores_[2];
  handler_id handler_;
  comm::registered_memory memory_;
  std::uint64_t refused_ = 0;
};

TEST_F(comm_forged, messages_of_unknown_kinds_handlers_and_engines_are_refused) {
  arrive(static_cast<message_kind>(0), {});
  EXPECT_TRUE(refused());
  arrive(static_cast<message_kind>(200), {});
  EXPECT_TRUE(refused());
  arrive(message_kind::am, {.handler = 0});
  EXPECT_TRUE(refused());
  arrive(message_kind::am, {.handler = 999});
  EXPECT_TRUE(refused());
  arrive(message_kind::am_announce, {.handler = 65535, .size = 100});
  EXPECT_TRUE(refused());
  arrive(message_kind::eager, {.handler = 7});
  EXPECT_TRUE(refused());
  arrive(message_kind::eager, {.flags = 9});
  EXPECT_TRUE(refused());
  arrive(message_kind::am, {.handler = handler_.index});
  EXPECT_FALSE(refused()) << "a right one is taken";
  EXPECT_EQ(box_.messages.size(), 1u);
}

TEST_F(comm_forged, announcements_that_are_cut_short_or_do_not_add_up_are_refused) {
  comm::announcement first;
  const auto announce = [&](std::uint64_t size, std::span<const std::byte> payload) {
    arrive(message_kind::am_announce, {.handler = handler_.index, .size = size}, payload);
    EXPECT_TRUE(refused()) << size;
    arrive(message_kind::send_announce, {.size = size}, payload);
    EXPECT_TRUE(refused()) << size;
  };
  announce(100, {});
  announce(0, comm::bytes_of(first));
  announce(~0ull, comm::bytes_of(first));
  first.part_count = 1;
  announce(100, comm::bytes_of(first));
  first.part_count = ~0u;
  announce(100, comm::bytes_of(first));
  struct {
    comm::announcement first;
    comm::exposed_part parts[2];
  } whole;
  whole.first.part_count = 2;
  whole.parts[0].size = 60;
  whole.parts[1].size = 41;
  announce(100, comm::bytes_of(whole));
  whole.parts[1].size = 39;
  announce(100, comm::bytes_of(whole));
  whole.parts[1].size = ~0ull - 59;
  announce(100, comm::bytes_of(whole));
}

TEST_F(comm_forged, answers_to_operations_that_do_not_exist_are_refused) {
  for (const std::uint64_t operation : {0ull, 1ull, 2ull, 64ull, 65ull, 1ull << 32, ~0ull}) {
    const std::byte some[4] = {};
    arrive(message_kind::ready, {.operation = operation});
    EXPECT_TRUE(refused());
    arrive(message_kind::data, {.operation = operation}, some);
    EXPECT_TRUE(refused());
    arrive(message_kind::finished, {.operation = operation});
    EXPECT_TRUE(refused());
    arrive(message_kind::atomic_reply, {.operation = operation});
    EXPECT_TRUE(refused());
    arrive_write(operation);
    EXPECT_TRUE(refused());
  }
}

TEST_F(comm_forged, data_beside_the_place_or_of_a_stale_operation_are_refused) {
  std::uint64_t got[4] = {1, 2, 3, 4};
  comm::synchronizer done;
  // The peer has memory, as far as this process knows.
  comm::remote_memory theirs;
  theirs.size = 24;
  theirs.process = 1;
  theirs.peers = peer_access::read;
  ASSERT_EQ(post_get(device(), theirs, std::span(got).first(3), with::local(done)), status::posted);
  const std::uint64_t operation = outgoing_.back().operation;
  std::array<std::byte, 32> data{};
  arrive(message_kind::data, {.tag = 8, .operation = operation}, std::span(data).first(8));
  EXPECT_TRUE(refused()) << "not where the last one ended";
  arrive(message_kind::data, {.tag = 0, .operation = operation}, data);
  EXPECT_TRUE(refused()) << "more than was asked for";
  arrive(message_kind::data, {.tag = 0, .operation = operation + (1ull << 32)},
         std::span(data).first(8));
  EXPECT_TRUE(refused()) << "another generation";
  arrive(message_kind::atomic_reply, {.operation = operation});
  EXPECT_TRUE(refused()) << "another kind of operation";
  arrive_write(operation);
  EXPECT_TRUE(refused()) << "it waits for data";
  EXPECT_EQ(got[0], 1u);
  arrive(message_kind::data, {.tag = 0, .operation = operation}, std::span(data).first(24));
  EXPECT_FALSE(refused());
  EXPECT_TRUE(done.test());
  EXPECT_EQ(got[3], 4u);
  arrive(message_kind::data, {.tag = 0, .operation = operation}, std::span(data).first(8));
  EXPECT_TRUE(refused()) << "it has ended";
}

TEST_F(comm_forged, nothing_outside_registered_memory_is_read_or_written) {
  const std::uint64_t region = memory_.remote().region;
  const std::uint64_t evil[] = {666, 666};
  const auto bytes = std::as_bytes(std::span(evil));
  for (const auto& [name, offset] : {std::pair{region, 56ull},
                                     {region, 64ull},
                                     {region, ~0ull},
                                     {region + 1, 0ull},
                                     {region + (1ull << 32), 0ull},
                                     {std::uint64_t{0}, 0ull}}) {
    arrive(message_kind::put_data, {.tag = offset, .operation = name}, bytes);
    EXPECT_TRUE(refused());
    const comm::get_body wanted{name, offset, 16};
    arrive(message_kind::get_request, {.operation = 5}, comm::bytes_of(wanted));
    EXPECT_TRUE(refused());
    const comm::atomic_body changed{name, offset | (name == region && offset == 56 ? 4 : 0), 1, 0,
                                    0};
    arrive(message_kind::atomic_request, {.operation = 5}, comm::bytes_of(changed));
    EXPECT_TRUE(refused());
    const comm::notification note{1, offset, 16};
    arrive(message_kind::notify, {.handler = handler_.index, .operation = name},
           comm::bytes_of(note));
    EXPECT_TRUE(refused());
  }
  EXPECT_EQ(words_, (std::array<std::uint64_t, 16>{}));
  EXPECT_TRUE(box_.messages.empty());
  memory_ = {};
  arrive(message_kind::put_data, {.tag = 0, .operation = region}, bytes);
  EXPECT_TRUE(refused()) << "no longer registered";
}

TEST_F(comm_forged, messages_for_an_arrival_that_has_not_begun_are_refused) {
  const comm::announcement first;
  const std::uint64_t size = device().owner().options().waiting_bytes_max + 1;
  for (const std::uint64_t partner : {71, 72})
    arrive(message_kind::am_announce,
           {.handler = handler_.index, .size = size, .operation = partner}, comm::bytes_of(first));
  ASSERT_EQ(outgoing_.size(), 1u) << "the other one waits";
  const std::uint64_t begun = outgoing_[0].tag, waiting = begun + 1;
  const std::byte byte[1] = {};
  EXPECT_FALSE(refused());
  arrive(message_kind::finished, {.flags = comm::failed_flag, .operation = waiting});
  EXPECT_TRUE(refused());
  arrive(message_kind::data, {.operation = waiting}, byte);
  EXPECT_TRUE(refused());
  arrive(message_kind::ready, {.operation = waiting});
  EXPECT_TRUE(refused());
  arrive_write(waiting);
  EXPECT_TRUE(refused());
  arrive(message_kind::finished, {.flags = comm::failed_flag, .operation = begun});
  EXPECT_FALSE(refused());
  device().progress();
  ASSERT_EQ(outgoing_.size(), 2u);
  EXPECT_EQ(outgoing_[1].operation, 72u);
  EXPECT_EQ(outgoing_[1].tag, waiting);
}

TEST_F(comm_forged, a_million_random_messages_do_no_harm) {
  std::minstd_rand random(7);
  std::array<std::byte, 300> payload{};
  // Something under way that they might hit.
  std::uint64_t got[4];
  comm::remote_memory theirs;
  theirs.size = 32;
  theirs.process = 1;
  comm::counter ended;
  for (int i = 0; i < 20; ++i) {
    (void)post_get(device(), theirs, got, with::local(ended));
    (void)post_fetch_add(device(), theirs, 1, with::local(ended));
  }
  for (int i = 0; i < 1'000'000; ++i) {
    for (int k = 0; k < 4; ++k)
      payload[random() % payload.size()] = static_cast<std::byte>(random());
    const auto number = [&]() -> std::uint64_t {
      switch (random() % 4) {
        case 0:
          return random() % 100;
        case 1:
          return (random() % 4) << 32 | random() % 70;
        case 2:
          return memory_.remote().region;
        default:
          return std::uint64_t{random()} << 33;
      }
    };
    wire_header header;
    header.flags = static_cast<std::uint8_t>(random() % 4);
    header.handler = static_cast<std::uint16_t>(random() % 3);
    header.tag = number();
    header.size = random() % 2000;
    header.operation = number();
    // Not `eager` without end: unexpected messages are kept.
    auto kind = static_cast<message_kind>(random() % 14);
    if (i > 10000 && (kind == message_kind::eager || kind == message_kind::send_announce ||
                      kind == message_kind::am_announce))
      kind = message_kind::data;
    arrive(kind, header, std::span(payload).first(random() % payload.size()));
    outgoing_.clear();
    if (box_.messages.size() > 100) box_.messages.clear();
  }
  for (std::size_t i = 8; i < 16; ++i) EXPECT_EQ(words_[i], 0u);
  EXPECT_GT(device().statistics().refused, 100'000u);
}

}  // namespace
}  // namespace weft
