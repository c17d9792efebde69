// Which posted receive a message gets, against a list that is searched from its beginning.
#include "rank/matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace weft::detail {
namespace {

class posted_receives {
 public:
  void post(const envelope& wanted) {
    operation& op = free_.empty() ? memory_.emplace_back(operation::as_receive{}) : *free_.back();
    if (!free_.empty()) free_.pop_back();
    op.match = wanted;
    lists_.post(op);
    in_order_.push_back(&op);
    EXPECT_NE(op.posted_in, nullptr);
    EXPECT_TRUE(lists_.has_posted());
  }
  void withdraw(std::size_t at) {
    lists_.withdraw(*in_order_[at]);
    forget(in_order_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void deliver(const envelope& message) {
    const auto first = std::ranges::find_if(
        in_order_, [&](const operation* op) { return matches(op->match, message); });
    operation* in_row = lists_.first_in_row();
    if (in_row != nullptr && !matches(in_row->match, message)) {
      const std::uint32_t place = lists_.search_behind_first(packed_envelope(message));
      in_row = place != match_lists::no_place ? &lists_.in_row(place) : nullptr;
    }
    operation* const taken = lists_.take_posted(packed_envelope(message));
    ASSERT_TRUE(in_row == nullptr || in_row == taken);
    ASSERT_EQ(taken, first == in_order_.end() ? nullptr : *first);
    if (taken != nullptr) forget(first);
  }
  void look_at_all() {
    std::vector<operation*> seen;
    lists_.each_posted([&](operation& op) { seen.push_back(&op); });
    std::vector<operation*> expected = in_order_;
    std::ranges::sort(seen);
    std::ranges::sort(expected);
    EXPECT_EQ(seen, expected);
  }
  [[nodiscard]] std::size_t size() const noexcept { return in_order_.size(); }

 private:
  void forget(std::vector<operation*>::iterator at) {
    EXPECT_EQ((*at)->posted_in, nullptr);
    free_.push_back(*at);
    in_order_.erase(at);
    EXPECT_EQ(lists_.has_posted(), !in_order_.empty());
  }

  match_lists lists_;
  std::deque<operation> memory_;
  std::vector<operation*> in_order_;
  std::vector<operation*> free_;
};

// So many are posted at a time that they stand in the row, in the lists, and change between them.
TEST(matching, gives_a_message_to_the_oldest_receive_that_wants_it) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto up_to = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    posted_receives all;
    const std::size_t most = std::size_t{1} << (1 + seed % 8);
    const int sources = 1 + static_cast<int>(seed % 5);
    // Ranks whose marks in the row are the same, and the same ranks of two communicators.
    const int apart = seed % 2 != 0 ? 128 : 1;
    const int contexts = 1 + static_cast<int>(seed / 4 % 2);
    const bool wildcards = seed % 3 != 0;
    for (int step = 0; step < 5'000 && !testing::Test::HasFailure(); ++step) {
      const envelope one{static_cast<std::uint32_t>(up_to(contexts)), apart * up_to(sources),
                         up_to(3)};
      const int action = up_to(100);
      if (action < 5 && all.size() != 0) {
        all.withdraw(random() % all.size());
      } else if (action < 55 && all.size() < most) {
        envelope wanted = one;
        if (wildcards && up_to(4) == 0) wanted.source = any_source;
        if (wildcards && up_to(4) == 0) wanted.tag = any_tag;
        all.post(wanted);
      } else {
        all.deliver(one);
      }
    }
    all.look_at_all();
  }
}

// As a program does that posts a window of receives and gets its messages in their order.
TEST(matching, keeps_the_order_of_windows_of_any_length) {
  for (const int count : {1, 4, 5, 63, 64, 65, 200}) {
    posted_receives all;
    for (int window = 0; window < 5; ++window) {
      for (int i = 0; i < count; ++i) all.post({0, 1, i % 2});
      for (int i = 0; i < count; ++i) {
        all.deliver({0, 1, i % 2});
        if (i % 3 == 0) all.post({0, 1, any_tag});  // Stays behind those of its window.
      }
      while (all.size() != 0) all.deliver({0, 1, 0}), all.deliver({0, 1, 1});
    }
  }
}

}  // namespace
}  // namespace weft::detail
