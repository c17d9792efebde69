// Active messages and one-sided operations over a network that misbehaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "cluster.hpp"
#include "forwarding_endpoint.hpp"
#include "transport/shm/shm.hpp"

namespace weft {
namespace {

using comm::event;
using comm::handler_id;
using tests::cluster;
using tests::mailbox;
using tests::message;
using tests::sizes;
using tests::text_of;
namespace with = comm::with;

class comm_am : public testing::TestWithParam<sim_options> {};

TEST_P(comm_am, brings_data_of_every_size_tag_head_and_source_to_the_handler) {
  cluster job(3, {.devices = 2}, GetParam());
  std::vector<mailbox> boxes(3);
  handler_id handler;
  for (int p = 0; p < 3; ++p) handler = job[p].register_handler(boxes[static_cast<std::size_t>(p)]);
  for (const std::size_t size : sizes) {
    const std::string text = text_of(size);
    comm::counter sent;
    const status said = job.insist([&] {
      return post_am(job.device(2, 1), {1, 1}, handler, text, with::tag(size << 40), with::user(77),
                     with::head({size, 5}), with::local(sent));
    });
    ASSERT_NE(said, status::failed);
    ASSERT_TRUE(job.until([&] {
      return boxes[1].messages.size() == 1 && (said == status::done || sent.value() == 1);
    })) << size;
    const message& got = boxes[1].messages[0];
    EXPECT_EQ(got.process, 2);
    EXPECT_EQ(got.device, 1);
    EXPECT_EQ(got.tag, size << 40);
    EXPECT_EQ(got.user, 77u);
    EXPECT_EQ(got.head, (std::array<std::uint64_t, 2>{size, 5}));
    EXPECT_EQ(got.text, text) << size;
    boxes[1].messages.clear();
  }
  EXPECT_TRUE(boxes[0].messages.empty());
  EXPECT_TRUE(boxes[2].messages.empty());
}

TEST_P(comm_am, messages_stay_in_order_when_queues_fill) {
  cluster job(2, {}, GetParam());
  mailbox box;
  const handler_id handler = job[1].register_handler(box);
  std::uint64_t posted = 0;
  std::size_t refused = 0;
  while (box.messages.size() < 3000) {
    // As many as there is room for, then one round of progress.
    for (; posted < 3000; ++posted) {
      const std::uint64_t value = posted;
      const std::string text = text_of(posted % 4 == 0 ? 600 : 8);
      if (post_am(job.device(0), {1}, handler, text, with::tag(value)) != status::done) {
        ++refused;
        break;
      }
    }
    job.progress();
  }
  EXPECT_GT(refused, 0u);
  for (std::uint64_t i = 0; i < 3000; ++i) ASSERT_EQ(box.messages[i].tag, i);
}

TEST_P(comm_am, with_retry_forbidden_everything_is_kept_and_stays_in_order) {
  cluster job(2, {}, GetParam());
  mailbox box;
  const handler_id handler = job[1].register_handler(box);
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::string text = text_of(i);
    ASSERT_EQ(post_am(job.device(0), {1}, handler, text, with::tag(i), with::retry(false)),
              status::done);
  }
  ASSERT_TRUE(job.until([&] { return box.messages.size() == 500; }));
  for (std::uint64_t i = 0; i < 500; ++i) {
    ASSERT_EQ(box.messages[i].tag, i);
    ASSERT_EQ(box.messages[i].text, text_of(i));
  }
}

// What a device keeps for sending waits for the peer's progress, which waits for this device's when
// the peer keeps as much.
void expect_both_to_keep_more_than_what_may_wait(cluster& job) {
  mailbox boxes[2];
  handler_id handler;
  for (int p = 0; p < 2; ++p) handler = job[p].register_handler(boxes[p]);
  constexpr std::uint64_t count = 100;
  const std::string text = text_of(10'000);
  for (int p = 0; p < 2; ++p)
    for (std::uint64_t i = 0; i < count; ++i)
      ASSERT_EQ(post_am(job.device(p), {1 - p}, handler, text, with::tag(i), with::retry(false)),
                status::done);
  ASSERT_TRUE(job.until(
      [&] { return boxes[0].messages.size() == count && boxes[1].messages.size() == count; },
      100'000));
  for (const mailbox& box : boxes)
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(box.messages[i].tag, i);
      ASSERT_EQ(box.messages[i].text, text);
    }
}

TEST_P(comm_am, kept_by_both_of_two_devices_beyond_what_may_wait_arrive) {
  cluster job(2, {.waiting_bytes_max = 100}, GetParam());
  expect_both_to_keep_more_than_what_may_wait(job);
}

TEST(comm_am_over_shm, kept_by_both_of_two_devices_beyond_what_may_wait_arrive) {
  cluster job(2, {.waiting_bytes_max = 100},
              tests::real_network([] { return make_shm_transport(); }));
  expect_both_to_keep_more_than_what_may_wait(job);
}

// Past the limit of what a device keeps, its caller waits in the post itself.
TEST(comm_am_over_shm, kept_by_both_of_two_devices_beyond_the_backlog_arrive) {
  cluster job(2, {.waiting_bytes_max = 100},
              tests::real_network([] { return make_shm_transport(); }));
  mailbox boxes[2];
  handler_id handler;
  for (int p = 0; p < 2; ++p) handler = job[p].register_handler(boxes[p]);
  constexpr std::size_t count = backlog_messages_max + 200;
  const std::string text = text_of(10'000);
  {
    std::atomic<int> left{2};
    std::vector<std::jthread> posting;
    for (int p = 0; p < 2; ++p)
      posting.emplace_back([&, p] {
        for (std::size_t i = 0; i < count; ++i)
          EXPECT_EQ(post_am(job.device(p), {1 - p}, handler, text, with::retry(false)),
                    status::done);
        // The other one's posts need somebody who takes what has come here.
        for (--left; left != 0;) job.device(p).progress();
      });
  }
  EXPECT_TRUE(job.until(
      [&] { return boxes[0].messages.size() == count && boxes[1].messages.size() == count; }));
}

// What is under way waits for nobody: the device that stopped to look would not see it come.
TEST_P(comm_am, may_be_longer_than_what_may_wait) {
  for (const comm::rendezvous_protocol way :
       {comm::rendezvous_protocol::read, comm::rendezvous_protocol::write,
        comm::rendezvous_protocol::messages}) {
    cluster job(2, {.eager_bytes = 1000, .rendezvous = way, .waiting_bytes_max = 100}, GetParam());
    mailbox box;
    const handler_id handler = job[1].register_handler(box);
    const std::string text = text_of(300'000);
    for (std::size_t i = 1; i <= 3; ++i) {
      comm::counter sent;
      ASSERT_NE(
          job.insist([&] { return post_am(job.device(0), {1}, handler, text, with::local(sent)); }),
          status::failed);
      ASSERT_TRUE(job.until([&] { return box.messages.size() == i; }));
      EXPECT_EQ(box.messages.back().text, text);
      ASSERT_TRUE(job.until([&] { return sent.value() == 1; }));
    }
  }
}

// --- Long messages into the core's memory, of which not all may be under way ---

// Process 0 receives; only so much may arrive as to leave room for one message beside the first one
// of each peer.
class comm_arrivals : public comm_am {
 protected:
  static constexpr std::size_t size = 50'000;
  static constexpr std::size_t most = 3 * size / 2;

  [[nodiscard]] static comm::runtime_options limited(comm::rendezvous_protocol way) {
    return {.eager_bytes = 1000,
            .rendezvous = way,
            .waiting_bytes_max = most,
            .on_peer_failure = [](int, const char*) {}};
  }
  // Messages that process 0 has asked for, when it has announcements only and nothing else to say.
  static std::uint64_t asked_for(cluster& job) {
    for (int i = 0; i < 1000; ++i) job.device(0).progress();
    return job.device(0).statistics().sent;
  }
};

TEST_P(comm_arrivals, beyond_the_limit_wait_for_those_before_them) {
  cluster job(3, limited(comm::rendezvous_protocol::messages), GetParam());
  mailbox box;
  const handler_id handler = job[0].register_handler(box);
  comm::counter sent;
  constexpr std::uint64_t count = 8;
  const std::string text = text_of(size);
  for (int p = 1; p < 3; ++p)
    for (std::uint64_t i = 0; i < count; ++i)
      ASSERT_EQ(post_am(job.device(p), {0}, handler, text, with::tag(i), with::local(sent),
                        with::retry(false)),
                status::posted);
  EXPECT_EQ(asked_for(job), 2u) << "one of each";
  ASSERT_TRUE(job.until([&] { return box.messages.size() == 2 * count; }));
  EXPECT_TRUE(job.until([&] { return sent.value() == 2 * count; }));
  EXPECT_EQ(sent.failures(), 0u);
  std::array<std::uint64_t, 3> next{};
  for (const message& got : box.messages) {
    EXPECT_EQ(got.tag, next[static_cast<std::size_t>(got.process)]++) << "one at a time, in order";
    EXPECT_EQ(got.text, text);
  }
}

TEST_P(comm_arrivals, of_a_peer_that_does_not_go_on_keep_no_others_waiting) {
  cluster job(3, limited(comm::rendezvous_protocol::messages), GetParam());
  mailbox box;
  const handler_id handler = job[0].register_handler(box);
  const std::string text = text_of(size);
  comm::counter sent;
  // Process 1 only posts; process 2 makes progress.
  const auto post_all = [&](int p) {
    for (int i = 0; i < 4; ++i)
      ASSERT_EQ(post_am(job.device(p), {0}, handler, text, with::local(sent), with::retry(false)),
                status::posted);
  };
  post_all(1);
  EXPECT_EQ(asked_for(job), 1u);
  post_all(2);
  for (long i = 0; i < 100'000 && box.messages.size() < 4; ++i) {
    job.device(0).progress();
    job.device(2).progress();
  }
  EXPECT_EQ(box.messages.size(), 4u);
  for (const message& got : box.messages) EXPECT_EQ(got.process, 2);
  EXPECT_TRUE(job.until([&] { return box.messages.size() == 8 && sent.value() == 8; }));
}

TEST_P(comm_arrivals, of_a_peer_that_dies_are_dropped) {
  for (const comm::rendezvous_protocol way :
       {comm::rendezvous_protocol::read, comm::rendezvous_protocol::write,
        comm::rendezvous_protocol::messages}) {
    cluster job(3, limited(way), GetParam());
    comm::completion_queue arrived(8);
    const handler_id handler = job[0].register_handler(arrived);
    const std::string text = text_of(size);
    comm::counter sent, received;
    const auto post_ams = [&](int p, int count) {
      for (int i = 0; i < count; ++i)
        ASSERT_EQ(post_am(job.device(p), {0}, handler, text, with::local(sent), with::retry(false)),
                  status::posted);
    };
    std::array<int, 3> came{};
    const auto look = [&] {
      for (event happened; arrived.try_pop(happened);) {
        ++came[static_cast<std::size_t>(happened.process)];
        release(happened);
      }
    };
    for (int i = 0; i < 6; ++i)
      ASSERT_EQ(post_recv(job.device(0), 1, {}, with::in_place(true), with::local(received)),
                status::posted);
    post_ams(1, 6);
    for (int i = 0; i < 6; ++i)
      ASSERT_EQ(post_send(job.device(1), {0}, text, with::local(sent), with::retry(false)),
                status::posted);
    for (int i = 0; i < 30; ++i) {
      job.progress();
      look();
    }
    job.fabric.kill(1);
    const auto survive = [&](const auto& condition) {
      for (long i = 0; i < 100'000 && !condition(); ++i) {
        job.device(0).progress();
        job.device(2).progress();
        look();
      }
      return condition();
    };
    EXPECT_TRUE(survive([&] { return received.value() == 6; }));
    EXPECT_FALSE(job.device(0).is_alive(1));
    // Every place of the queue is free again, and so is the room for what arrives.
    post_ams(2, 8);
    EXPECT_TRUE(survive([&] { return came[2] == 8; }));
    EXPECT_LT(came[1], 6) << "it died too late";
  }
}

TEST_P(comm_arrivals, received_in_place_wait_for_those_before_them) {
  for (const comm::rendezvous_protocol way :
       {comm::rendezvous_protocol::read, comm::rendezvous_protocol::write,
        comm::rendezvous_protocol::messages}) {
    cluster job(2, limited(way), GetParam());
    const std::string text = text_of(size);
    comm::counter sent;
    comm::completion_queue received(8);
    for (int i = 0; i < 6; ++i)
      ASSERT_EQ(post_recv(job.device(0), 1, {}, with::in_place(true), with::local(received)),
                status::posted);
    for (int i = 0; i < 6; ++i)
      ASSERT_EQ(post_send(job.device(1), {0}, text, with::local(sent), with::retry(false)),
                status::posted);
    if (way == comm::rendezvous_protocol::messages) {
      EXPECT_EQ(asked_for(job), 1u);
    }
    int came = 0;
    ASSERT_TRUE(job.until([&] {
      for (event happened; received.try_pop(happened); ++came) {
        EXPECT_EQ(text, std::string(reinterpret_cast<const char*>(happened.data), happened.size));
        release(happened);
      }
      return came == 6 && sent.value() == 6;
    }));
    EXPECT_EQ(sent.failures(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(sim, comm_arrivals, testing::ValuesIn(tests::networks()),
                         tests::name_of<testing::TestParamInfo<sim_options>>);

// The kernel copies fastest into whole pages.
TEST(comm_am_over_shm, long_messages_lie_at_the_start_of_a_page) {
  cluster job(2, {}, tests::real_network([] { return make_shm_transport(); }));
  std::vector<std::uintptr_t> begins;
  const handler_id handler = job[1].register_handler(comm::completion(
      [](void* context, const event& happened) noexcept {
        static_cast<std::vector<std::uintptr_t>*>(context)->push_back(
            reinterpret_cast<std::uintptr_t>(happened.data));
      },
      &begins));
  for (const std::size_t size : {200'000, 1 << 20, 5 << 20}) {
    const std::string text = text_of(size);
    comm::counter sent;
    ASSERT_EQ(
        job.insist([&] { return post_am(job.device(0), {1}, handler, text, with::local(sent)); }),
        status::posted);
    ASSERT_TRUE(job.until([&] { return sent.value() == 1; }));
  }
  ASSERT_EQ(begins.size(), 3u);
  for (const std::uintptr_t each : begins) EXPECT_EQ(each % 4096, 0u);
}

TEST_P(comm_am, a_list_of_buffers_arrives_as_one_message) {
  cluster job(2, {}, GetParam());
  mailbox box;
  const handler_id handler = job[1].register_handler(box);
  for (const std::size_t size : {std::size_t{3}, std::size_t{5000}, std::size_t{200000}}) {
    const std::string one = text_of(size, 1), two = text_of(size / 2, 2), three = text_of(1, 3);
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(one)),
                                                {},
                                                std::as_bytes(std::span(two)),
                                                std::as_bytes(std::span(three))};
    comm::synchronizer sent;
    ASSERT_NE(job.insist([&] {
      return post_am(job.device(0), {1}, handler, std::span(parts), with::local(sent));
    }),
              status::failed);
    ASSERT_TRUE(job.until([&] { return !box.messages.empty(); }));
    EXPECT_EQ(box.messages[0].text, one + two + three);
    box.messages.clear();
    job.until([&] { return sent.test(); }, 1000);
  }
}

// Counts what the core hands to a network in which it takes long.
class counting_endpoint final : public tests::forwarding_endpoint {
 public:
  struct counts {
    int moves = 0, under_way = 0;
  };
  counting_endpoint(std::unique_ptr<transport> beneath, counts& all)
      : forwarding_endpoint(std::move(beneath)), all_(all) {}
  status put(std::uint32_t peer, std::span<const std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override {
    return count(beneath().put(peer, local, region, key, offset, context));
  }
  status get(std::uint32_t peer, std::span<std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override {
    return count(beneath().get(peer, local, region, key, offset, context));
  }

 private:
  status count(status said) noexcept {
    ++all_.moves;
    all_.under_way += said == status::posted;
    return said;
  }
  counts& all_;
};

TEST(comm_list, has_all_parts_under_way_at_once) {
  sim_fabric fabric({.seed = 2, .delay_polls_max = 1000});
  counting_endpoint::counts moved;
  cluster job(2, {}, tests::real_network([&] {
                return std::make_unique<counting_endpoint>(fabric.make_endpoint(), moved);
              }));
  std::string text = text_of(160'000), there(text.size(), '?');
  std::vector<std::span<const std::byte>> parts;
  std::vector<std::span<std::byte>> room;
  for (std::size_t i = 0; i < 16; ++i) {
    parts.push_back(std::as_bytes(std::span(text)).subspan(i * 10'000, 10'000));
    room.push_back(std::as_writable_bytes(std::span(there)).subspan(i * 10'000, 10'000));
  }
  mailbox box;
  const handler_id handler = job[1].register_handler(box);
  const comm::registered_memory memory(job.device(1), std::as_writable_bytes(std::span(there)));
  const auto expect_all_at_once = [&](const char* what, const auto& post, bool waits = false) {
    comm::counter ended;
    moved = {};
    ASSERT_EQ(post(ended), status::posted) << what;
    if (waits) job.until([&] { return moved.moves != 0; });  // For the announcement.
    EXPECT_EQ(moved.moves, 16) << what;
    EXPECT_GT(moved.under_way, 8) << what << ": some come at once";
    ASSERT_TRUE(job.until([&] { return ended.value() == 1; })) << what;
    EXPECT_EQ(moved.moves, 16) << what;
  };
  expect_all_at_once("put", [&](comm::counter& ended) {
    return post_put(job.device(0), memory.remote(), parts, with::local(ended));
  });
  EXPECT_EQ(there, text);
  expect_all_at_once("get", [&](comm::counter& ended) {
    return post_get(job.device(0), memory.remote(), room, with::local(ended));
  });
  const auto am = [&](comm::counter& ended) {
    return post_am(job.device(0), {1}, handler, parts, with::local(ended));
  };
  expect_all_at_once("am", am, true);
  ASSERT_TRUE(job.until([&] { return box.messages.size() == 1; }));
  EXPECT_EQ(box.messages[0].text, text);
  std::ranges::fill(there, '?');
  comm::counter received;
  ASSERT_EQ(post_recv(job.device(1), 0, room, with::local(received)), status::posted);
  const auto send = [&](comm::counter& ended) {
    return post_send(job.device(0), {1}, parts, with::local(ended));
  };
  expect_all_at_once("send", send, true);
  ASSERT_TRUE(job.until([&] { return received.value() == 1; }));
  EXPECT_EQ(there, text);
}

TEST_P(comm_am, put_and_get_move_every_size_and_notify_with_source_and_64_bit_tag) {
  cluster job(3, {}, GetParam());
  mailbox box;
  handler_id handler;
  for (int p = 0; p < 3; ++p) handler = job[p].register_handler(box);
  std::string target(3 << 20, '.');
  const comm::registered_memory memory(job.device(1), std::as_writable_bytes(std::span(target)));
  constexpr std::uint64_t tag = 0xfedcba9876543210;
  for (const std::size_t size : sizes) {
    const std::string text = text_of(size);
    std::fill(target.begin(), target.end(), '.');
    comm::counter written;
    status said = job.insist([&] {
      return post_put(job.device(2), memory.remote(), text, with::offset(1001),
                      with::notify(handler), with::tag(tag), with::user(9), with::local(written));
    });
    ASSERT_NE(said, status::failed);
    ASSERT_TRUE(job.until([&] {
      return box.messages.size() == 1 && (said == status::done || written.value() == 1);
    })) << size;
    EXPECT_EQ(box.messages[0].process, 2);
    EXPECT_EQ(box.messages[0].tag, tag);
    EXPECT_EQ(box.messages[0].user, 9u);
    EXPECT_EQ(box.messages[0].text, text);
    EXPECT_EQ(target.substr(1001, size), text);
    EXPECT_EQ(target[1000], '.');
    EXPECT_EQ(target[1001 + size], '.') << "nothing is written behind the target";
    box.messages.clear();

    std::string copy(size, '?');
    comm::counter read;
    said = job.insist([&] {
      return post_get(job.device(0), memory.remote(), copy, with::offset(1001),
                      with::notify(handler), with::tag(tag + 1), with::local(read));
    });
    ASSERT_NE(said, status::failed);
    ASSERT_TRUE(job.until([&] {
      return box.messages.size() == 1 && (said == status::done || read.value() == 1);
    })) << size;
    EXPECT_EQ(copy, text);
    EXPECT_EQ(box.messages[0].process, 0);
    EXPECT_EQ(box.messages[0].tag, tag + 1);
    box.messages.clear();
  }
}

TEST(comm_put, short_puts_are_messages_while_there_is_room_and_wait_for_none_beyond) {
  constexpr std::size_t capacity = 4;
  constexpr std::size_t puts = 100;
  cluster job(2, {}, {.queue_capacity = capacity, .put_message_bytes_max = 8});
  std::vector<std::uint64_t> target(puts);
  const comm::registered_memory memory(job.device(1), std::as_writable_bytes(std::span(target)));
  const std::uint64_t before = job.device(0).statistics().sent;
  comm::counter written;
  std::uint64_t posted = 0;
  // The peer makes no progress meanwhile.
  for (std::uint64_t i = 0; i < puts; ++i) {
    const std::uint64_t value[] = {i + 1};
    const status said =
        post_put(job.device(0), memory.remote(), value, with::offset(8 * i), with::local(written));
    ASSERT_NE(said, status::retry) << i;
    ASSERT_NE(said, status::failed) << i;
    posted += said == status::posted;
    while (written.value() != posted) job.device(0).progress();
  }
  EXPECT_EQ(job.device(0).statistics().sent - before, capacity);
  std::uint64_t nothing[1];
  comm::counter flushed;
  ASSERT_EQ(job.insist([&] {
    return post_get(job.device(0), memory.remote(), std::span(nothing).first(0),
                    with::local(flushed));
  }),
            status::posted);
  ASSERT_TRUE(job.until([&] { return flushed.value() == 1; }));
  for (std::uint64_t i = 0; i < puts; ++i) EXPECT_EQ(target[i], i + 1);
}

TEST_P(comm_am, atomics_return_the_old_value_and_change_memory_once) {
  cluster job(2, {}, GetParam());
  alignas(8) std::uint64_t words[2] = {0, 40};
  const comm::registered_memory memory(job.device(1), std::as_writable_bytes(std::span(words)));
  std::uint64_t old = 0;
  const auto wait_for = [&](auto&& post) {
    comm::synchronizer done;
    ASSERT_EQ(job.insist([&] { return post(done); }), status::posted);
    ASSERT_TRUE(job.until([&] { return done.test(); }));
    EXPECT_EQ(done.events()[0].tag, old);
    EXPECT_EQ(done.events()[0].process, 1);
  };
  wait_for([&](auto& done) {
    return post_fetch_add(job.device(0), memory.remote(), 2, with::offset(8), with::old(&old),
                          with::local(done));
  });
  EXPECT_EQ(old, 40u);
  EXPECT_EQ(words[1], 42u);
  wait_for([&](auto& done) {
    return post_swap(job.device(0), memory.remote(), 7, with::offset(8), with::old(&old),
                     with::local(done));
  });
  EXPECT_EQ(old, 42u);
  wait_for([&](auto& done) {
    return post_compare_swap(job.device(0), memory.remote(), 8, 9, with::offset(8), with::old(&old),
                             with::local(done));
  });
  EXPECT_EQ(old, 7u);
  EXPECT_EQ(words[1], 7u);
  wait_for([&](auto& done) {
    return post_compare_swap(job.device(0), memory.remote(), 7, 9, with::offset(8), with::old(&old),
                             with::local(done));
  });
  EXPECT_EQ(words[1], 9u);
  EXPECT_EQ(words[0], 0u);
}

INSTANTIATE_TEST_SUITE_P(sim, comm_am, testing::ValuesIn(tests::networks()),
                         tests::name_of<testing::TestParamInfo<sim_options>>);

}  // namespace
}  // namespace weft
