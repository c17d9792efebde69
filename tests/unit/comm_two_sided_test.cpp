// Sends and receives: matching, unexpected messages, every protocol and completion object.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster.hpp"
#include "comm/in_flight.hpp"
#include "counted_allocations.hpp"

namespace weft {
namespace {

using comm::event;
using comm::matching;
using comm::outcome;
using tests::cluster;
using tests::sizes;
using tests::text_of;
namespace with = comm::with;

class comm_two_sided : public testing::TestWithParam<sim_options> {};

TEST_P(comm_two_sided, a_receive_posted_first_or_last_gets_messages_of_every_size) {
  for (const auto protocol : {comm::rendezvous_protocol::best, comm::rendezvous_protocol::write,
                              comm::rendezvous_protocol::messages}) {
    cluster job(2, {.rendezvous = protocol}, GetParam());
    for (const std::size_t size : sizes)
      for (const bool receive_first : {true, false}) {
        const std::string text = text_of(size);
        std::string got(size + 3, '?');
        comm::synchronizer sent, received;
        event happened;
        status recv_said = status::retry, send_said = status::retry;
        const auto receive = [&] {
          recv_said = post_recv(job.device(1), 0, got, with::tag(size), with::local(received),
                                with::result(&happened));
          ASSERT_NE(recv_said, status::failed);
        };
        if (receive_first) receive();
        send_said = job.insist([&] {
          return post_send(job.device(0), {1}, text, with::tag(size), with::user(3),
                           with::local(sent));
        });
        ASSERT_NE(send_said, status::failed);
        for (int i = 0; i < 40; ++i) job.progress();
        if (!receive_first) receive();
        if (recv_said == status::posted) {
          ASSERT_TRUE(job.until([&] { return received.test(); })) << size;
          happened = received.events()[0];
        }
        ASSERT_TRUE(job.until([&] { return send_said == status::done || sent.test(); })) << size;
        EXPECT_EQ(happened.result, outcome::complete);
        EXPECT_EQ(happened.kind, comm::operation_kind::recv);
        EXPECT_EQ(happened.process, 0);
        EXPECT_EQ(happened.tag, size);
        EXPECT_EQ(happened.user, 3u);
        EXPECT_EQ(happened.size, size);
        EXPECT_EQ(got, text + "???");
      }
  }
}

TEST(rendezvous_by_write, needs_no_last_message_where_the_write_tells_of_itself) {
  for (const bool tells : {false, true})
    for (const std::size_t parts : {1u, 2u}) {
      cluster job(2, {.rendezvous = comm::rendezvous_protocol::write},
                  {.seed = 3, .can_tell_put = tells});
      std::string text = text_of(100'000), got(text.size(), '?');
      comm::synchronizer sent, received;
      ASSERT_EQ(post_recv(job.device(1), 0, got, with::local(received)), status::posted);
      // A receive of one part, so that the sender's decide how many pieces are written.
      const std::size_t cut = parts == 1 ? 0 : 30'000;
      std::vector<std::span<const std::byte>> out;
      const auto all = std::as_bytes(std::span(text));
      if (cut != 0) out.push_back(all.first(cut));
      out.push_back(all.subspan(cut));
      ASSERT_EQ(job.insist([&] { return post_send(job.device(0), {1}, out, with::local(sent)); }),
                status::posted);
      ASSERT_TRUE(job.until([&] { return sent.test() && received.test(); }));
      EXPECT_EQ(received.events()[0].result, outcome::complete);
      EXPECT_EQ(got, text);
      const std::uint64_t messages = tells && parts == 1 ? 1 : 2;  // The announcement; the end.
      EXPECT_EQ(job.device(1).statistics().received, messages) << tells << parts;
    }
}

TEST_P(comm_two_sided, policies_have_key_spaces_of_their_own) {
  cluster job(3, {}, GetParam());
  // The same source and tag under four policies: each meets its own.
  const matching all[] = {matching::source_and_tag, matching::source, matching::tag, matching::any};
  std::array<std::uint64_t, 4> got{};
  comm::synchronizer received(4);
  for (std::size_t i = 0; i < 4; ++i)
    ASSERT_EQ(post_recv(job.device(1), 0, std::span(&got[i], 1), with::tag(5), with::by(all[i]),
                        with::local(received)),
              status::posted);
  for (std::size_t i = 4; i-- > 0;) {
    const std::uint64_t value[] = {i + 100};
    ASSERT_NE(job.insist([&] {
      return post_send(job.device(0), {1}, value, with::tag(5), with::by(all[i]));
    }),
              status::failed);
  }
  ASSERT_TRUE(job.until([&] { return received.test(); }));
  EXPECT_EQ(got, (std::array<std::uint64_t, 4>{100, 101, 102, 103}));
}

TEST_P(comm_two_sided, by_tag_any_source_matches_and_by_source_any_tag) {
  cluster job(3, {}, GetParam());
  std::uint64_t got[2] = {};
  comm::synchronizer received(2);
  ASSERT_EQ(post_recv(job.device(1), -1, std::span(&got[0], 1), with::tag(5),
                      with::by(matching::tag), with::local(received)),
            status::posted);
  ASSERT_EQ(post_recv(job.device(1), 2, std::span(&got[1], 1), with::tag(1),
                      with::by(matching::source), with::local(received)),
            status::posted);
  const std::uint64_t one[] = {11}, two[] = {22};
  ASSERT_NE(job.insist([&] {
    return post_send(job.device(0), {1}, one, with::tag(5), with::by(matching::tag));
  }),
            status::failed);
  ASSERT_NE(job.insist([&] {
    return post_send(job.device(2), {1}, two, with::tag(99), with::by(matching::source));
  }),
            status::failed);
  ASSERT_TRUE(job.until([&] { return received.test(); }));
  EXPECT_EQ(got[0], 11u);
  EXPECT_EQ(got[1], 22u);
}

TEST_P(comm_two_sided, unexpected_messages_are_received_in_the_order_they_were_sent) {
  cluster job(2, {}, GetParam());
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::uint64_t value[] = {i};
    ASSERT_EQ(job.insist([&] { return post_send(job.device(0), {1}, value, with::tag(1)); }),
              status::done);
  }
  for (std::uint64_t i = 0; i < 300; ++i) {
    std::uint64_t got = ~0ull;
    event happened;
    comm::synchronizer received;
    const status said = post_recv(job.device(1), 0, std::span(&got, 1), with::tag(1),
                                  with::local(received), with::result(&happened));
    ASSERT_TRUE(said == status::done || job.until([&] { return received.test(); }));
    ASSERT_EQ(got, i);
  }
}

TEST_P(comm_two_sided, a_message_too_long_for_its_receive_is_an_error_and_overwrites_nothing) {
  cluster job(2, {}, GetParam());
  for (const std::size_t size : {std::size_t{100}, std::size_t{100000}})
    for (const bool receive_first : {true, false}) {
      const std::string text = text_of(size);
      std::string got(50, '?');
      comm::synchronizer sent, received;
      const auto receive = [&] {
        ASSERT_EQ(post_recv(job.device(1), 0, std::span(got).first(49), with::local(received)),
                  status::posted);
      };
      if (receive_first) receive();
      const status said =
          job.insist([&] { return post_send(job.device(0), {1}, text, with::local(sent)); });
      for (int i = 0; i < 40; ++i) job.progress();
      if (!receive_first) receive();
      ASSERT_TRUE(job.until([&] { return received.test(); }));
      EXPECT_EQ(received.events()[0].result, outcome::truncated);
      EXPECT_EQ(received.events()[0].size, size);
      EXPECT_EQ(got, std::string(50, '?'));
      EXPECT_TRUE(job.until([&] { return said == status::done || sent.test(); }))
          << "the sender is not left waiting";
    }
}

// There is no memory for so long a message: nothing of it is ever read.
TEST_P(comm_two_sided, a_message_that_finds_no_memory_where_it_would_lie_fails_on_both_sides) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end the process when there is no memory";
#endif
  cluster job(2, {}, GetParam());
  const std::string text = "the beginning";
  const std::span<const char> endless(text.data(), std::size_t{1} << 47);
  comm::synchronizer sent, received;
  ASSERT_EQ(post_recv(job.device(1), 0, {}, with::in_place(true), with::local(received)),
            status::posted);
  ASSERT_EQ(job.insist([&] { return post_send(job.device(0), {1}, endless, with::local(sent)); }),
            status::posted);
  ASSERT_TRUE(job.until([&] { return received.test() && sent.test(); }));
  EXPECT_EQ(received.events()[0].result, outcome::failed);
  EXPECT_EQ(sent.events()[0].result, outcome::failed);
}

TEST_P(comm_two_sided, a_message_is_received_where_it_lies_and_released_later) {
  cluster job(2, {}, GetParam());
  for (const std::size_t size : sizes)
    for (const bool receive_first : {true, false}) {
      const std::string text = text_of(size);
      comm::synchronizer sent, received;
      const auto receive = [&] {
        ASSERT_EQ(post_recv(job.device(1), 0, {}, with::in_place(true), with::local(received)),
                  status::posted);
      };
      if (receive_first) receive();
      const status said =
          job.insist([&] { return post_send(job.device(0), {1}, text, with::local(sent)); });
      for (int i = 0; i < 40; ++i) job.progress();
      if (!receive_first) receive();
      ASSERT_TRUE(job.until([&] { return received.test(); }));
      const event& happened = received.events()[0];
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(happened.data), happened.size), text);
      release(happened);
      ASSERT_TRUE(job.until([&] { return said == status::done || sent.test(); }));
    }
}

TEST_P(comm_two_sided, lists_of_buffers_at_both_sides_need_not_agree) {
  cluster job(2, {}, GetParam());
  for (const std::size_t size : {std::size_t{30}, std::size_t{300000}}) {
    const std::string text = text_of(size);
    const auto bytes = std::as_bytes(std::span(text));
    std::string got(size, '?');
    const auto room = std::as_writable_bytes(std::span(got));
    const std::span<const std::byte> from[] = {bytes.first(size / 3), bytes.subspan(size / 3)};
    const std::span<std::byte> to[] = {
        room.first(size / 2), {}, room.subspan(size / 2, 5), room.subspan(size / 2 + 5)};
    comm::synchronizer sent, received;
    ASSERT_EQ(post_recv(job.device(1), 0, std::span(to), with::local(received)), status::posted);
    ASSERT_NE(job.insist([&] {
      return post_send(job.device(0), {1}, std::span(from), with::local(sent));
    }),
              status::failed);
    ASSERT_TRUE(job.until([&] { return received.test(); }));
    EXPECT_EQ(got, text);
    job.until([&] { return sent.test(); }, 1000);
  }
}

// Operations use each other's memory again: here a receive that of a get elsewhere in a region.
TEST_P(comm_two_sided, a_long_message_after_a_get_at_an_offset_is_read_from_its_beginning) {
  cluster job(2, {}, GetParam());
  std::string exposed = text_of(5000, 1), part(100, '?');
  const comm::registered_memory memory(job.device(0), std::as_writable_bytes(std::span(exposed)));
  comm::counter got_part, received;
  const status said = job.insist([&] {
    return post_get(job.device(1), memory.remote(), part, with::offset(1001),
                    with::local(got_part));
  });
  ASSERT_TRUE(job.until([&] { return said == status::done || got_part.value() == 1; }));
  EXPECT_EQ(part, exposed.substr(1001, 100));
  const std::string text = text_of(200'000, 2);
  std::string got(text.size(), '?');
  ASSERT_EQ(post_recv(job.device(1), 0, got, with::local(received)), status::posted);
  ASSERT_NE(job.insist([&] { return post_send(job.device(0), {1}, text); }), status::failed);
  ASSERT_TRUE(job.until([&] { return received.value() == 1; }));
  EXPECT_EQ(received.failures(), 0u);
  EXPECT_EQ(got, text);
}

TEST_P(comm_two_sided, an_engine_of_the_process_matches_messages_of_all_its_devices) {
  cluster job(2, {.devices = 3}, GetParam());
  comm::matching_engine here(job[1]), there(job[0]);
  ASSERT_EQ(here.index(), there.index());
  for (const std::size_t size : {std::size_t{10}, std::size_t{50000}})
    for (const bool receive_first : {true, false}) {
      // Comes to device 2, is received at device 1.
      const std::string text = text_of(size);
      std::string got(size, '?');
      comm::synchronizer sent, received;
      event happened;
      status received_at_once = status::posted;
      const auto receive = [&] {
        received_at_once = post_recv(job.device(1, 1), 0, got, with::engine(here.index()),
                                     with::local(received), with::result(&happened));
      };
      if (receive_first) receive();
      const status said = job.insist([&] {
        return post_send(job.device(0), {1, 2}, text, with::engine(here.index()),
                         with::local(sent));
      });
      for (int i = 0; i < 40; ++i) job.progress();
      if (!receive_first) receive();
      ASSERT_TRUE(job.until([&] { return received_at_once == status::done || received.test(); }));
      EXPECT_EQ(got, text);
      ASSERT_TRUE(job.until([&] { return said == status::done || sent.test(); }));
    }
}

// The message comes to a device other than the receive's, and needs an operation of that one.
TEST(comm_engine, a_message_that_finds_no_memory_for_an_operation_fails_on_both_sides) {
  for (const bool receive_first : {true, false}) {
    cluster job(2, {.devices = 2}, {});
    comm::matching_engine here(job[1]), there(job[0]);
    const std::string text = text_of(50'000);
    std::string got(text.size(), '?');
    comm::synchronizer sent, received;
    const auto receive = [&] {
      ASSERT_EQ(post_recv(job.device(1, 0), 0, got, with::engine(here.index()), with::tag(7),
                          with::local(received)),
                status::posted);
    };
    if (receive_first) receive();
    ASSERT_EQ(post_send(job.device(0), {1, 1}, text, with::engine(here.index()), with::tag(7),
                        with::local(sent)),
              status::posted);
    if (!receive_first) {
      ASSERT_TRUE(job.until([&] { return job.device(1, 1).statistics().unexpected == 1; }));
      receive();
    }
    // Only a device's first operation, which makes some dozens, takes so much at once.
    tests::allocation_bytes_max = 16 * sizeof(comm::operation);
    EXPECT_TRUE(job.until([&] { return received.test() && sent.test(); }, 10'000));
    tests::allocation_bytes_max = ~std::size_t{0};
    ASSERT_TRUE(received.test());
    EXPECT_EQ(received.events()[0].result, outcome::failed);
    EXPECT_EQ(received.events()[0].tag, 7u);
    ASSERT_TRUE(sent.test());
    EXPECT_EQ(sent.events()[0].result, outcome::failed);
  }
}

INSTANTIATE_TEST_SUITE_P(sim, comm_two_sided, testing::ValuesIn(tests::networks()),
                         tests::name_of<testing::TestParamInfo<sim_options>>);

}  // namespace
}  // namespace weft
