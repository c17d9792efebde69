// A device whose transports another thread drives: what comes waits for the owner's progress, in
// order, and nothing of the program's is called before.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "cluster.hpp"
#include "comm/runtime_state.hpp"

namespace weft::comm {
namespace {

namespace with = comm::with;
using tests::cluster;
using tests::mailbox;

runtime_options shared() {
  runtime_options how;
  how.shared_devices = true;
  return how;
}

class a_pumped_device : public ::testing::TestWithParam<sim_options> {
 protected:
  // Only the pump of process 1 runs, and process 0 as usual.
  template <class Condition>
  bool pump_until(Condition&& condition, int rounds = 200'000) {
    for (int i = 0; i < rounds && !condition(); ++i) {
      all.device(0).progress();
      all.device(1).pump();
    }
    return condition();
  }

  // A get of 100 kB by one process from the other, posted.
  struct one_get {
    one_get(a_pumped_device& of, int by, int from) : exposed(of.all.device(from), bytes(source)) {
      EXPECT_TRUE(of.pump_until([&] {
        if (said == status::retry)
          said = post_get(of.all.device(by), exposed.remote(), std::span(into), with::local(ended));
        return said != status::retry;
      }));
    }
    static std::span<std::byte> bytes(std::string& text) {
      return std::as_writable_bytes(std::span(text));
    }

    std::string source = tests::text_of(100'000);
    std::string into = std::string(source.size(), '?');
    registered_memory exposed;
    counter ended;
    status said = status::retry;
  };

  cluster all{2, shared(), GetParam()};
};

TEST_P(a_pumped_device, keeps_what_comes_in_order_for_the_next_progress) {
  mailbox box;
  const handler_id handler = all[1].register_handler(box);
  (void)all[0].register_handler(box);
  constexpr int count = 200;
  for (int i = 0; i < count; ++i) {
    const std::string text = tests::text_of(static_cast<std::size_t>(i * 37 % 5000), i);
    for (;;) {
      const status said =
          post_am(all.device(0), {1}, handler, text, with::tag(static_cast<std::uint64_t>(i)));
      if (said != status::retry) break;
      all.device(0).progress();
      if (i <= count / 2)
        all.device(1).pump();  // What comes later meets what waits.
      else
        all.device(1).progress();
    }
    if (i == count / 2) {
      ASSERT_TRUE(pump_until([&] { return all.device(1).statistics().received == count / 2 + 1; }));
      EXPECT_EQ(box.messages.size(), 0u);
      all.device(1).progress();
    }
  }
  ASSERT_TRUE(all.until([&] { return box.messages.size() == count; }));
  for (int i = 0; i < count; ++i) {
    const auto& one = box.messages[static_cast<std::size_t>(i)];
    EXPECT_EQ(one.tag, static_cast<std::uint64_t>(i));
    EXPECT_EQ(one.text, tests::text_of(static_cast<std::size_t>(i * 37 % 5000), i));
  }
}

TEST_P(a_pumped_device, lets_its_memory_be_read) {
  one_get get(*this, 0, 1);
  ASSERT_TRUE(get.said == status::done || pump_until([&] { return get.ended.value() == 1; }));
  EXPECT_EQ(get.into, get.source);
}

// Past what waits for the owner, in the order among themselves, whoever is at work when they come.
TEST_P(a_pumped_device, calls_the_handlers_that_were_registered_for_it) {
  mailbox box, pumped;
  const handler_id waiting = all[1].register_handler(box);
  (void)all[0].register_handler(box);
  const handler_id called = all[1].register_handler(pumped, true);
  (void)all[0].register_handler(pumped, true);
  constexpr std::size_t count = 100;
  for (std::size_t i = 0; i < count; ++i)
    for (const handler_id to : {waiting, called}) {
      status said = status::retry;
      ASSERT_TRUE(pump_until([&] {
        if (said == status::retry)
          said = post_am(all.device(0), {1}, to, tests::text_of(i), with::tag(i));
        return said != status::retry;
      }));
      if (i == count / 2) all.device(1).progress();
    }
  ASSERT_TRUE(pump_until([&] { return pumped.messages.size() == count; }));
  EXPECT_LE(box.messages.size(), count / 2 + 1);
  ASSERT_TRUE(all.until([&] { return box.messages.size() == count; }));
  for (const mailbox* one : {&box, &pumped})
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(one->messages[i].tag, i);
      EXPECT_EQ(one->messages[i].text, tests::text_of(i));
    }
}

// Small messages for such handlers are gathered; none overtakes another, nor another kind of message it.
TEST_P(a_pumped_device, gets_what_was_gathered_in_the_order_of_all) {
  mailbox box, unused;
  const handler_id by_owner = all[1].register_handler(box);
  (void)all[0].register_handler(unused);
  const handler_id by_any = all[1].register_handler(box, true);
  (void)all[0].register_handler(unused, true);
  constexpr std::size_t count = 1000;
  const auto text_of = [](std::size_t i) {
    return tests::text_of(i * 13 % 300, static_cast<int>(i));
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (;;) {
      const status said =
          post_am(all.device(0), {1}, i % 50 == 3 ? by_owner : by_any, text_of(i), with::tag(i));
      if (said != status::retry) break;
      all.device(0).progress();
      all.device(1).progress();
    }
    if (i == count / 2) all.device(0).pump();
  }
  ASSERT_TRUE(all.until([&] { return box.messages.size() == count; }));
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(box.messages[i].tag, i);
    EXPECT_EQ(box.messages[i].text, text_of(i));
  }
}

// Those for a handler of the owner's, too, where it allows that: none is on its way before a large one or the sender's progress.
TEST_P(a_pumped_device, gathers_for_handlers_that_allow_it) {
  mailbox box, unused;
  const handler_id handler = all[1].register_handler(box);
  (void)all[0].register_handler(unused);
  for (const int process : {0, 1}) all[process].internals().is_gathered[handler.index] = true;
  constexpr std::size_t each = 2;  // So many have room in the shortest message of these networks.
  std::size_t posted = 0;
  const auto post = [&](std::size_t bytes) {
    const std::string text = tests::text_of(bytes, static_cast<int>(posted));
    ASSERT_EQ(
        all.insist([&] { return post_am(all.device(0), {1}, handler, text, with::tag(posted)); }),
        status::done);
    ++posted;
  };
  const auto post_small = [&] {
    for (std::size_t i = 0; i < each; ++i) post(8);
    for (int i = 0; i < 1000; ++i) all.device(1).progress();
  };
  post_small();
  EXPECT_EQ(box.messages.size(), 0u);
  post(gathered_am_bytes_max + 1);
  ASSERT_TRUE(all.until([&] { return box.messages.size() == posted; }));
  post_small();
  EXPECT_EQ(box.messages.size(), each + 1);
  for (int i = 0; i < 200'000 && box.messages.size() != posted; ++i) {
    all.device(0).pump();  // The sender computes.
    all.device(1).progress();
  }
  ASSERT_EQ(box.messages.size(), posted);
  for (std::size_t i = 0; i < posted; ++i) EXPECT_EQ(box.messages[i].tag, i);
}

TEST_P(a_pumped_device, tells_the_end_of_its_own_operations_in_progress) {
  one_get get(*this, 1, 0);
  if (get.said == status::posted) {
    EXPECT_FALSE(pump_until([&] { return get.ended.value() != 0; }, 2000));
    ASSERT_TRUE(all.until([&] { return get.ended.value() == 1; }));
  }
  EXPECT_EQ(get.into, get.source);
}

TEST_P(a_pumped_device, has_completed_what_ended_before_a_death) {
  one_get get(*this, 1, 0);
  if (get.said != status::posted) return;
  EXPECT_FALSE(pump_until([&] { return get.ended.value() != 0; }, 2000));
  all[1].mark_failed(0, "it was killed");
  for (int i = 0; i < 1000 && get.ended.value() == 0; ++i) all.device(1).progress();
  EXPECT_EQ(get.ended.value(), 1u);
  EXPECT_EQ(get.ended.failures(), 0u);
  EXPECT_EQ(get.into, get.source);
}

INSTANTIATE_TEST_SUITE_P(comm, a_pumped_device, ::testing::ValuesIn(tests::networks()),
                         [](const auto& one) { return tests::name_of(one); });

TEST(a_device, that_is_not_shared_or_is_armed_is_not_pumped) {
  for (const bool is_shared : {false, true}) {
    runtime_options how;
    how.shared_devices = is_shared;
    cluster all(2, how);
    mailbox box;
    const handler_id handler = all[1].register_handler(box);
    (void)all[0].register_handler(box);
    if (is_shared) {
      ASSERT_TRUE(all.device(1).arm());
    }
    ASSERT_EQ(post_am(all.device(0), {1}, handler, std::string("here")), status::done);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(all.device(1).pump(), 0);
    EXPECT_EQ(all.device(1).statistics().received, 0u);
    if (is_shared) all.device(1).disarm();
    EXPECT_TRUE(all.until([&] { return box.messages.size() == 1; }));
  }
}

// The pump as a thread of its own, beside owners that use their devices all the time.
TEST(a_device, may_be_pumped_by_a_thread_while_its_owner_works) {
  cluster all(2, shared());
  mailbox boxes[2];
  handler_id handler;
  for (int p = 0; p < 2; ++p) handler = all[p].register_handler(boxes[p]);
  std::atomic<bool> ending{false};
  std::vector<std::jthread> pumps;
  for (int p = 0; p < 2; ++p)
    pumps.emplace_back([&, p] {
      while (!ending.load(std::memory_order_relaxed)) all.device(p).pump();
    });
  constexpr std::size_t count = 1000;
  for (std::size_t i = 0; i < count; ++i)
    for (int p = 0; p < 2; ++p)
      ASSERT_EQ(all.insist([&] {
        return post_am(all.device(p), {1 - p}, handler, tests::text_of(i % 3000),
                       with::tag(static_cast<std::uint64_t>(i)));
      }),
                status::done);
  EXPECT_TRUE(all.until(
      [&] { return boxes[0].messages.size() == count && boxes[1].messages.size() == count; }));
  ending = true;
  for (const mailbox& box : boxes)
    for (std::size_t i = 0; i < box.messages.size(); ++i) {
      EXPECT_EQ(box.messages[i].tag, i);
      EXPECT_EQ(box.messages[i].text, tests::text_of(i % 3000));
    }
}

}  // namespace
}  // namespace weft::comm
