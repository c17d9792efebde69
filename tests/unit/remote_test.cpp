// The parts of which faces make their way to other processes, each by itself. What handlers refuse is in rank_forged_test.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "remote/credit_window.hpp"
#include "remote/gathering.hpp"
#include "remote/reply_table.hpp"

namespace weft::remote {
namespace {

// --- Reply table ---------------------------------------------------------------------------------

TEST(reply_table, gives_an_answer_to_who_waits_for_it_once) {
  reply_table<std::string> table;
  const std::uint64_t first = table.add("first", 1), second = table.add("second", 2);
  EXPECT_NE(first, second);
  EXPECT_EQ(table.take(second, 2), "second");
  EXPECT_EQ(table.take(second, 2), std::nullopt) << "it has come";
  EXPECT_EQ(*table.find(first, 1), "first");
  EXPECT_EQ(table.take(first, 1), "first");
}

TEST(reply_table, knows_no_name_that_another_process_answers) {
  reply_table<int> table;
  const std::uint64_t name = table.add(7, 3);
  EXPECT_EQ(table.find(name, 2), nullptr);
  EXPECT_EQ(table.take(name, -1), std::nullopt);
  EXPECT_EQ(table.take(name, 3), 7);
}

TEST(reply_table, knows_no_name_of_an_earlier_use_of_an_entry_nor_a_made_up_one) {
  reply_table<int> table;
  const std::uint64_t old = table.add(1, 0);
  (void)table.take(old);
  const std::uint64_t now = table.add(2, 0);
  EXPECT_EQ(old & 0xffff'ffff, now & 0xffff'ffff) << "the same entry";
  for (const std::uint64_t forged :
       std::vector<std::uint64_t>{old, 0, now + 1, now | std::uint64_t{1} << 63, ~now})
    EXPECT_EQ(table.find(forged, 0), nullptr) << forged;
  EXPECT_EQ(*table.find(now, 0), 2);
}

// Generations wrap after 3, and 0 is left out.
TEST(reply_table, has_no_name_0_and_refuses_more_than_it_may_hold) {
  reply_table<int, std::uint32_t, 2, 2> table;
  for (int round = 0; round < 9; ++round) {
    const std::uint32_t name = table.add(round, 0);
    EXPECT_NE(name, 0u);
    EXPECT_EQ(table.take(name, 0), round);
  }
  for (std::size_t i = 0; i < table.entries_max; ++i) EXPECT_NE(table.add(0, 0), 0u);
  EXPECT_EQ(table.add(0, 0), 0u);
}

TEST(reply_table, ends_those_who_wait_for_the_dead_alone) {
  reply_table<int> table;
  const std::uint64_t living = table.add(10, 0);
  (void)table.add(11, 1);
  (void)table.add(12, 1);
  std::vector<int> ended;
  const auto is_lost = [](int process) { return process == 1; };
  EXPECT_TRUE(table.end_lost(is_lost, [&](int waiter) {
    ended.push_back(waiter);
    if (ended.size() == 1) (void)table.add(20, 0);  // While it ends, others may begin.
  }));
  EXPECT_EQ(ended, (std::vector{11, 12}));
  EXPECT_FALSE(table.end_lost(is_lost, [](int) { FAIL(); }));
  EXPECT_EQ(table.take(living, 0), 10);
}

// --- Credits -------------------------------------------------------------------------------------

TEST(worker_credits, let_one_message_go_however_long_and_others_within_the_limit) {
  worker_credits room(100);
  EXPECT_TRUE(room.take_or_wait(1000)) << "nothing else is under way";
  EXPECT_FALSE(room.take_or_wait(1));
  room.give_back(1000);
  EXPECT_TRUE(room.take_or_wait(60));
  EXPECT_TRUE(room.take_or_wait(40));
  EXPECT_FALSE(room.take_or_wait(1));
  EXPECT_EQ(room.taken(), 100u);
  room.give_back(~0ull);
  EXPECT_EQ(room.taken(), 0u) << "never less than nothing, whatever a peer says";
}

TEST(owed_credits, are_told_when_they_are_many_or_something_goes_there) {
  owed_credits owed;
  EXPECT_EQ(owed.take(100), 0u);
  EXPECT_EQ(owed.add(60, 100), 0u);
  EXPECT_EQ(owed.add(60, 100), 120u) << "all, and they are owed no more";
  EXPECT_EQ(owed.add(70, 100), 0u);
  EXPECT_EQ(owed.take(50), 50u);
  EXPECT_EQ(owed.take(50), 20u) << "what the first message could not tell";
  owed.put_back(20);
  EXPECT_EQ(owed.take(50), 20u);
}

// --- Gathering -----------------------------------------------------------------------------------

using letters = gathering<8>;

bool add(letters& to, std::size_t destination, const std::string& text) {
  std::byte* const at = to.try_reserve(destination, text.size());
  if (at != nullptr) std::memcpy(at, text.data(), text.size());
  return at != nullptr;
}
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct sent_letters {
  std::vector<std::pair<std::size_t, std::string>> all;
  void operator()(std::size_t destination, std::span<const std::byte> bytes) {
    all.emplace_back(destination, text_of(bytes));
  }
};

TEST(gathering, sends_to_each_destination_in_one_message_what_was_gathered_for_it) {
  letters to(3);
  EXPECT_TRUE(add(to, 0, "ab") && add(to, 2, "xyz") && add(to, 0, "cd"));
  EXPECT_EQ(text_of(to.gathered_for(0)), "abcd");
  sent_letters sent;
  to.send_all([&](std::size_t d, std::span<const std::byte> bytes) { sent(d, bytes); });
  EXPECT_EQ(sent.all, (std::vector<std::pair<std::size_t, std::string>>{{2, "xyz"}, {0, "abcd"}}));
  to.send_all([](std::size_t, std::span<const std::byte>) { FAIL() << "nothing is left"; });
  EXPECT_TRUE(to.gathered_for(1).empty());
}

TEST(gathering, takes_no_more_than_there_is_room_for) {
  letters to(1);
  EXPECT_TRUE(add(to, 0, "12345"));
  EXPECT_FALSE(add(to, 0, "6789"));
  EXPECT_EQ(to.try_reserve(0, 2, 6), nullptr) << "a lower limit of the caller's";
  EXPECT_TRUE(add(to, 0, "678"));
  EXPECT_EQ(text_of(to.gathered_for(0)), "12345678");
}

TEST(gathering, takes_in_more_while_it_sends) {
  letters to(1);
  EXPECT_TRUE(add(to, 0, "old"));
  std::string first, second;
  to.send(0, [&](std::size_t, std::span<const std::byte> bytes) {
    EXPECT_TRUE(add(to, 0, "new"));
    first = text_of(bytes);
  });
  to.send(0, [&](std::size_t, std::span<const std::byte> bytes) { second = text_of(bytes); });
  EXPECT_EQ(first, "old");
  EXPECT_EQ(second, "new");
  EXPECT_TRUE(to.gathered_for(0).empty());
}

TEST(gathering, sends_by_itself_and_then_all_without_sending_twice) {
  letters to(2);
  EXPECT_TRUE(add(to, 0, "a") && add(to, 1, "b"));
  sent_letters sent;
  const auto send = [&](std::size_t d, std::span<const std::byte> bytes) { sent(d, bytes); };
  to.send(0, send);
  EXPECT_TRUE(add(to, 0, "c"));
  to.send_all(send);
  EXPECT_EQ(sent.all,
            (std::vector<std::pair<std::size_t, std::string>>{{0, "a"}, {1, "b"}, {0, "c"}}));
}

}  // namespace
}  // namespace weft::remote
