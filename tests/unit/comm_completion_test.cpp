// Completion objects at both sides, what posts are allowed to answer, and that nothing is
// allocated.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cluster.hpp"
#include "counted_allocations.hpp"
#include "job.hpp"
#include "provider_leaks.hpp"
#include "transport/ofi/ofi.hpp"
#include "transport/shm/shm.hpp"

namespace weft {
namespace {

using comm::event;
using comm::handler_id;
using comm::operation_kind;
using comm::outcome;
using tests::cluster;
using tests::mailbox;
using tests::text_of;
namespace with = comm::with;

// --- Every object at either side of every operation ---

enum class object { counter, synchronizer, queue, function, own_type };

// Waits for one completion, in whatever object.
class watched {
 public:
  explicit watched(object which) : which_(which), queue_(4) {}
  comm::completion completion() {
    switch (which_) {
      case object::counter:
        return counter_;
      case object::synchronizer:
        return synchronizer_;
      case object::queue:
        return queue_;
      case object::own_type:
        return box_;
      case object::function:
        break;
    }
    return comm::completion(
        [](void* context, const event& happened) noexcept {
          auto& here = *static_cast<watched*>(context);
          here.seen_ = true;
          here.tag_ = happened.tag;
          here.text_ = text(happened);
        },
        this);
  }
  bool happened() {
    switch (which_) {
      case object::counter:
        return counter_.value() == 1;
      case object::synchronizer:
        if (!seen_ && synchronizer_.test()) note(synchronizer_.events()[0]);
        break;
      case object::queue:
        if (event e; !seen_ && queue_.try_pop(e)) note(e);
        break;
      case object::own_type:
        if (!seen_ && box_.messages.size() == 1) {
          seen_ = true;
          tag_ = box_.messages[0].tag;
          text_ = box_.messages[0].text;
        }
        break;
      case object::function:
        break;
    }
    return seen_;
  }
  // A counter knows neither.
  [[nodiscard]] bool knows_more() const { return which_ != object::counter; }
  std::uint64_t tag_ = 0;
  std::string text_;

 private:
  static std::string text(const event& happened) {
    return {reinterpret_cast<const char*>(happened.bytes().data()), happened.bytes().size()};
  }
  void note(const event& happened) {
    seen_ = true;
    tag_ = happened.tag;
    text_ = text(happened);
    release(happened);
  }
  const object which_;
  bool seen_ = false;
  comm::counter counter_;
  comm::synchronizer synchronizer_;
  comm::completion_queue queue_;
  mailbox box_;
};

using both_sides = std::tuple<object, object, std::size_t>;
class comm_completion : public testing::TestWithParam<both_sides> {};

TEST_P(comm_completion, every_object_at_either_side_sees_am_put_and_get) {
  const auto [near, far, size] = GetParam();
  for (const auto kind : {operation_kind::am, operation_kind::put, operation_kind::get})
    for (const bool native : {true, false}) {
      cluster job(2, {}, {.seed = size + 3, .can_put = native, .can_get = native});
      watched local(near), remote(far);
      const handler_id handler = job[1].register_handler(remote.completion());
      std::string target = text_of(size, 4);
      const std::string text = text_of(size);
      std::string copy(size, '?');
      const comm::registered_memory memory(job.device(1),
                                           std::as_writable_bytes(std::span(target)));
      const auto post = [&] {
        const auto options =
            std::tuple(with::tag(1ull << 50), with::local(local.completion()), with::done(false));
        return std::apply(
            [&](auto... o) {
              if (kind == operation_kind::am)
                return post_am(job.device(0), {1}, handler, text, o...);
              if (kind == operation_kind::put)
                return post_put(job.device(0), memory.remote(), text, with::notify(handler), o...);
              return post_get(job.device(0), memory.remote(), copy, with::notify(handler), o...);
            },
            options);
      };
      ASSERT_EQ(job.insist(post), status::posted) << "done was not permitted";
      ASSERT_TRUE(job.until([&] { return local.happened(); }));
      ASSERT_TRUE(job.until([&] { return remote.happened(); }));
      if (local.knows_more()) {
        EXPECT_EQ(local.tag_, 1ull << 50);
      }
      if (remote.knows_more()) {
        EXPECT_EQ(remote.tag_, 1ull << 50);
        EXPECT_EQ(remote.text_, kind == operation_kind::get ? text_of(size, 4) : text);
      }
      if (kind == operation_kind::get) {
        EXPECT_EQ(copy, text_of(size, 4));
      }
    }
}

TEST_P(comm_completion, every_object_at_either_side_sees_send_and_receive) {
  const auto [near, far, size] = GetParam();
  cluster job(2, {}, {.seed = size + 5});
  watched local(near), remote(far);
  const std::string text = text_of(size);
  std::string got(size, '?');
  ASSERT_EQ(post_recv(job.device(1), 0, got, with::tag(9), with::local(remote.completion())),
            status::posted);
  ASSERT_EQ(job.insist([&] {
    return post_send(job.device(0), {1}, text, with::tag(9), with::local(local.completion()),
                     with::done(false));
  }),
            status::posted);
  ASSERT_TRUE(job.until([&] { return local.happened() && remote.happened(); }));
  EXPECT_EQ(got, text);
}

INSTANTIATE_TEST_SUITE_P(
    objects, comm_completion,
    testing::Combine(testing::Values(object::counter, object::synchronizer, object::queue,
                                     object::function, object::own_type),
                     testing::Values(object::counter, object::synchronizer, object::queue,
                                     object::function, object::own_type),
                     testing::Values(8, 60000)));

// --- Bounded objects ---

TEST(comm_completion_queue, refuses_posts_when_full_and_loses_nothing) {
  cluster job(2);
  comm::completion_queue queue(2);
  std::string memory_here(64, 'x');
  const comm::registered_memory memory(job.device(1),
                                       std::as_writable_bytes(std::span(memory_here)));
  std::uint64_t words[3];
  const auto get = [&](int i) {
    return post_get(job.device(0), memory.remote(), std::span(&words[i], 1), with::local(queue),
                    with::done(false));
  };
  ASSERT_EQ(job.insist([&] { return get(0); }), status::posted);
  ASSERT_EQ(job.insist([&] { return get(1); }), status::posted);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(get(2), status::retry);
    job.progress();
  }
  event happened;
  ASSERT_TRUE(queue.try_pop(happened));
  ASSERT_EQ(job.insist([&] { return get(2); }), status::posted);
  ASSERT_TRUE(job.until([&] { return queue.try_pop(happened); }));
  ASSERT_TRUE(job.until([&] { return queue.try_pop(happened); }));
  EXPECT_FALSE(queue.try_pop(happened));
}

TEST(comm_completion_queue, holds_back_arrivals_when_full_and_keeps_their_order) {
  cluster job(2, {}, {.seed = 11, .queue_capacity = 8});
  comm::completion_queue queue(4);
  const handler_id handler = job[1].register_handler(queue);
  std::uint64_t posted = 0, popped = 0;
  bool was_refused = false;
  while (popped < 1000) {
    while (posted < 1000) {
      const std::uint64_t value[] = {posted};
      if (post_am(job.device(0), {1}, handler, value) != status::done) {
        was_refused = true;
        break;
      }
      ++posted;
    }
    for (int i = 0; i < 50; ++i) job.progress();
    for (event happened; queue.try_pop(happened);) {
      ASSERT_EQ(*reinterpret_cast<const std::uint64_t*>(happened.data), popped);
      ++popped;
      release(happened);
    }
  }
  EXPECT_TRUE(was_refused) << "the pressure reaches the sender";
}

TEST(comm_synchronizer, waits_for_all_of_several_and_can_be_used_again) {
  cluster job(2);
  comm::synchronizer received(3);
  for (int round = 0; round < 3; ++round) {
    std::uint64_t got[3] = {};
    for (auto& each : got)
      ASSERT_EQ(post_recv(job.device(1), 0, std::span(&each, 1), with::local(received)),
                status::posted);
    std::uint64_t fourth;
    EXPECT_EQ(post_recv(job.device(1), 0, std::span(&fourth, 1), with::local(received)),
              status::retry)
        << "it has no place for a fourth";
    for (std::uint64_t i = 0; i < 3; ++i) {
      EXPECT_FALSE(received.test());
      const std::uint64_t value[] = {i};
      ASSERT_EQ(job.insist([&] { return post_send(job.device(0), {1}, value); }), status::done);
      job.until([&] { return received.test(); }, 200);
    }
    ASSERT_TRUE(job.until([&] { return received.test(); }));
    EXPECT_EQ(received.events().size(), 3u);
    EXPECT_EQ(got[2], 2u);
    received.reset();
  }
}

// --- What is permitted ---

TEST(comm_permitted, a_call_that_may_not_be_posted_returns_when_it_is_complete) {
  cluster job(2, {}, {.seed = 9, .can_put = false, .can_get = false});
  std::string there = text_of(100000), here(100000, '?');
  const comm::registered_memory memory(job.device(1), std::as_writable_bytes(std::span(there)));
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) job.device(1).progress();
  });
  EXPECT_EQ(post_get(job.device(0), memory.remote(), here, with::posted(false)), status::done);
  EXPECT_EQ(here, there);
  over = true;
  other.join();
}

// Whose data have come is told of no failure, although the transport of who sent them may not have told that.
TEST(comm_get, of_memory_that_ends_when_all_has_come_is_complete_on_both_sides) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    cluster job(2, {}, {.seed = seed, .can_put = false, .can_get = false});
    std::string there = text_of(100000);
    for (int i = 0; i < 50; ++i) {
      std::string here(there.size(), '?');
      const comm::registered_memory memory(job.device(1), std::as_writable_bytes(std::span(there)));
      comm::synchronizer read;
      ASSERT_EQ(job.insist([&] {
        return post_get(job.device(0), memory.remote(), here, with::local(read));
      }),
                status::posted);
      ASSERT_TRUE(job.until([&] { return read.test(); }));
      EXPECT_EQ(here, there);
    }
    (void)job.until([] { return false; }, 1000);
    EXPECT_EQ(job.device(0).statistics().refused, 0u);
  }
}

// --- Objects ---

// The other tests use the short form, and options by name.
TEST(comm_object, of_every_operation_is_posted_with_all_that_it_says) {
  cluster job(2, {}, {.seed = 6});
  mailbox told, ended;
  const handler_id handler = job[1].register_handler(told);
  comm::matching_engine here(job[0]), there(job[1]);  // With the same index.
  const std::string text = text_of(300);
  std::string exposed(400, '?'), got(300, '?');
  const comm::registered_memory memory(job.device(1), std::as_writable_bytes(std::span(exposed)));
  std::uint64_t old = 0;
  comm::counter count;
  const auto post_one = [&](const auto& what) {
    const std::uint64_t before = count.value();
    ASSERT_EQ(job.insist([&] { return comm::post(job.device(0), what); }), status::posted);
    ASSERT_TRUE(job.until([&] { return count.value() == before + 1; }));
  };
  const auto last = [&] {
    EXPECT_TRUE(job.until([&] { return !told.messages.empty(); }));
    const tests::message came = told.messages.back();
    told.messages.clear();
    return came;
  };
  const comm::permitted allow{.done = false};
  post_one(comm::am{.to = {1},
                    .handler = handler,
                    .data = text,
                    .tag = 7,
                    .head = {8, 9},
                    .user = 10,
                    .local = count,
                    .allow = allow});
  tests::message came = last();
  EXPECT_EQ(came.text, text);
  EXPECT_EQ(came.tag, 7u);
  EXPECT_EQ(came.head, (std::array<std::uint64_t, 2>{8, 9}));
  EXPECT_EQ(came.user, 10u);

  ASSERT_EQ(comm::post(job.device(1), comm::recv{.from = 0,
                                                 .data = got,
                                                 .tag = 11,
                                                 .by = comm::matching::tag,
                                                 .engine = there.index(),
                                                 .local = ended}),
            status::posted);
  post_one(comm::send{.to = {1},
                      .data = text,
                      .tag = 11,
                      .by = comm::matching::tag,
                      .engine = there.index(),
                      .user = 12,
                      .local = count,
                      .allow = allow});
  EXPECT_TRUE(job.until([&] { return ended.messages.size() == 1; }));
  EXPECT_EQ(got, text);
  EXPECT_EQ(ended.messages[0].user, 12u);

  post_one(comm::put{.to = memory.remote(),
                     .offset = 100,
                     .data = text,
                     .notify = handler,
                     .tag = 13,
                     .user = 14,
                     .local = count,
                     .allow = allow});
  came = last();
  EXPECT_EQ(came.text, text);
  EXPECT_EQ(came.tag, 13u);
  EXPECT_EQ(came.user, 14u);
  EXPECT_EQ(exposed, std::string(100, '?') + text);

  std::ranges::fill(got, '?');
  post_one(comm::get{.from = memory.remote(),
                     .offset = 100,
                     .data = got,
                     .notify = handler,
                     .tag = 15,
                     .user = 16,
                     .local = count,
                     .allow = allow});
  came = last();
  EXPECT_EQ(came.tag, 15u);
  EXPECT_EQ(came.user, 16u);
  EXPECT_EQ(got, text);

  std::uint64_t value = 40;
  std::memcpy(exposed.data(), &value, sizeof value);
  post_one(comm::atomic{.to = memory.remote(),
                        .offset = 0,
                        .what = comm::atomic_operation::compare_swap,
                        .operand = 42,
                        .expected = 40,
                        .old = &old,
                        .local = count});
  EXPECT_EQ(old, 40u);
  std::memcpy(&value, exposed.data(), sizeof value);
  EXPECT_EQ(value, 42u);
}

// --- Packets ---

TEST(comm_packet, a_message_is_put_together_in_place_and_sent_from_there) {
  cluster job(2, {.packets = 4, .packet_bytes = 4096}, {.seed = 8});
  mailbox box;
  const handler_id handler = job[1].register_handler(box);
  for (int i = 0; i < 100; ++i) {
    comm::packet place;
    ASSERT_TRUE(job.until([&] { return static_cast<bool>(place = job.device(0).take_packet()); }));
    ASSERT_EQ(place.bytes().size(), 4096u);
    const std::string text = text_of(static_cast<std::size_t>(i) * 40, i);
    std::memcpy(place.bytes().data(), text.data(), text.size());
    ASSERT_EQ(job.insist([&] {
      return post_am(job.device(0), {1}, handler, place.bytes().first(text.size()),
                     with::from(&place));
    }),
              status::done);
    EXPECT_FALSE(place) << "it was taken over";
    ASSERT_TRUE(job.until([&] { return box.messages.size() == 1; }));
    EXPECT_EQ(box.messages[0].text, text);
    box.messages.clear();
  }
}

TEST(comm_packet, all_packets_can_be_taken_once_and_come_back) {
  cluster job(1, {.packets = 4});
  std::vector<comm::packet> taken;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(taken.emplace_back(job.device(0).take_packet()));
  EXPECT_FALSE(job.device(0).take_packet());
  taken.clear();
  EXPECT_TRUE(job.device(0).take_packet());
}

// --- Allocations ---

// What a message, a delivery and a move of data take from the heap after the first ones.
void expect_no_allocations(cluster& job) {
  comm::completion_queue queue(64);
  const handler_id to_queue = job[1].register_handler(queue);
  std::uint64_t calls = 0;
  const handler_id to_function = job[1].register_handler(comm::completion(
      [](void* context, const event&) noexcept { ++*static_cast<std::uint64_t*>(context); },
      &calls));
  std::string there(1 << 19, 'x'), here(1 << 19, 'y');
  const comm::registered_memory memory(job.device(1), std::as_writable_bytes(std::span(there)));
  comm::counter ended;
  std::uint64_t posted = 0;
  std::span<char> data, room;
  comm::synchronizer met(2);
  comm::graph
      steps;  // A send and its receive at a time, a callback behind both, a get behind that.
  const auto send = steps.add([&](const comm::completion& end) {
    return post_send(job.device(0), {1}, data, with::tag(4), with::local(end));
  });
  const auto receive = steps.add([&](const comm::completion& end) {
    return post_recv(job.device(1), 0, room, with::tag(4), with::local(end));
  });
  std::uint64_t met_in_graph = 0;
  const auto both = steps.add_callback([&] { ++met_in_graph; });
  steps.add_edge(send, both);
  steps.add_edge(receive, both);
  steps.add_edge(both, steps.add([&](const comm::completion& end) {
    return post_get(job.device(0), memory.remote(), data, with::local(end));
  }));
  const auto go_on = [&] {
    job.progress();
    for (event happened; queue.try_pop(happened);) release(happened);
  };
  const auto until = [&](const auto& condition) {
    for (long i = 0; i < 10'000'000 && !condition(); ++i) go_on();
    EXPECT_TRUE(condition());
  };
  const auto round = [&](std::size_t size) {
    data = std::span(here).first(size);
    room = std::span(there).first(size);
    const auto counted = [&](const auto& post) {
      const status said = job.insist(post);
      if (said == status::posted) ++posted;
      EXPECT_TRUE(said == status::posted || said == status::done);
    };
    counted([&] { return post_am(job.device(0), {1}, to_function, data, with::local(ended)); });
    counted([&] { return post_am(job.device(0), {1}, to_queue, data, with::local(ended)); });
    counted([&] {
      return post_put(job.device(0), memory.remote(), data, with::notify(to_function),
                      with::local(ended));
    });
    counted([&] { return post_get(job.device(0), memory.remote(), data, with::local(ended)); });
    counted([&] { return post_fetch_add(job.device(0), memory.remote(), 1, with::local(ended)); });
    counted([&] { return post_recv(job.device(1), 0, room, with::local(ended)); });
    counted([&] { return post_send(job.device(0), {1}, data, with::local(ended)); });
    until([&] { return ended.value() == posted; });

    // As lists.
    const std::span<const std::byte> all = std::as_bytes(data);
    const std::span<const std::byte> parts[] = {
        all.first(size / 4), all.subspan(size / 4, size / 2), all.subspan(size / 4 + size / 2)};
    counted([&] { return post_am(job.device(0), {1}, to_queue, parts, with::local(ended)); });
    counted([&] { return post_put(job.device(0), memory.remote(), parts, with::local(ended)); });
    counted([&] { return post_recv(job.device(1), 0, room, with::local(ended)); });
    counted([&] { return post_send(job.device(0), {1}, parts, with::local(ended)); });
    until([&] { return ended.value() == posted; });

    // Out of a packet, and received where it lies.
    comm::packet place;
    until([&] { return static_cast<bool>(place) || (place = job.device(0).take_packet()); });
    counted([&] {
      return post_am(job.device(0), {1}, to_queue,
                     place.bytes().first(std::min(size, place.bytes().size())), with::local(ended),
                     with::from(&place));
    });
    const std::span<char> none;
    (void)job.insist([&] {
      return post_recv(job.device(1), 0, none, with::in_place(true), with::local(queue));
    });
    counted([&] { return post_send(job.device(0), {1}, data, with::local(ended)); });
    until([&] { return ended.value() == posted; });

    // Told by a synchronizer, and by a graph.
    (void)job.insist([&] {
      return post_recv(job.device(1), 0, room, with::tag(3), with::local(met), with::done(false));
    });
    (void)job.insist([&] {
      return post_send(job.device(0), {1}, data, with::tag(3), with::local(met), with::done(false));
    });
    until([&] { return met.test(); });
    met.reset();
    const std::uint64_t before = met_in_graph;
    steps.start();
    until([&] { return steps.advance(); });
    EXPECT_EQ(met_in_graph, before + 1);
    for (int i = 0; i < 50; ++i) go_on();
  };
  for (const std::size_t size : {8, 300, 5000, 60000, 300'000}) {
    // Until every slot of the simulated queues has held the longest message.
    for (int i = 0; i < 400; ++i) round(size);
    // A message that is later than any before makes a list longer, once; and a network looks for strangers now and then,
    // which should not fall into each of the times that are compared, however slow the machine.
    const long more = least_of(25, 0L, [&] {
      const long before = tests::allocations;
      for (int i = 0; i < 20; ++i) round(size);
      return tests::allocations - before;
    });
    EXPECT_EQ(more, 0) << "with messages of " << size << " bytes";
    EXPECT_EQ(ended.value(), posted);
  }
  EXPECT_EQ(ended.failures(), 0u);
}

TEST(comm_allocation, posting_and_delivering_allocate_nothing_in_the_steady_state) {
  cluster job(2, {}, {.seed = 5, .queue_capacity = 64});
  expect_no_allocations(job);
}

TEST(comm_allocation, nor_do_they_over_shared_memory) {
  cluster job(2, {}, tests::real_network([] { return make_shm_transport(); }));
  expect_no_allocations(job);
}

void expect_no_allocations_over_tcp(protection how) {
  tests::note_provider("tcp");
  const auto make = [how] {
    ofi_options options = parse_ofi_options("tcp@lo");
    options.protects = how;
    return make_ofi_transport(options);
  };
  try {
    (void)make();
  } catch (const error& e) {
    GTEST_SKIP() << e.what();
  }
  cluster job(2, {}, tests::real_network(make));
  expect_no_allocations(job);
}

TEST(comm_allocation, nor_do_they_over_tcp) {
  expect_no_allocations_over_tcp(protection::none);
}

TEST(comm_allocation, nor_do_they_with_sealed_messages) {
  expect_no_allocations_over_tcp(protection::authenticate);
}

TEST(comm_allocation, nor_do_they_with_encrypted_messages) {
  expect_no_allocations_over_tcp(protection::encrypt);
}

}  // namespace
}  // namespace weft
