// How often a device looks at a network beside the ring that it looks at first.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "base/limits.hpp"
#include "cluster.hpp"
#include "comm/wire.hpp"
#include "made_up_endpoint.hpp"
#include "mirrored_job.hpp"

namespace weft {
namespace {

// Counts how often it is polled; what waits comes one message at a time.
class counting_endpoint final : public tests::made_up_endpoint {
 public:
  explicit counting_endpoint(bool reaches_others)
      : made_up_endpoint("counting"), reaches_others_(reaches_others) {}
  [[nodiscard]] bool reaches(std::uint32_t peer) const noexcept override {
    return reaches_others_ || peer == 0;
  }
  status send(std::uint32_t, const wire_header&, wire_parts parts, void*) noexcept override {
    read(parts);
    ++sent;
    return status::done;
  }
  int poll(arrivals& to, int) noexcept override {
    ++polls;
    if (waiting.empty()) return 0;
    const wire_header first = waiting.back();
    waiting.pop_back();
    to.delivered(reaches_others_ ? 1 : 0, first, {});
    return 1;
  }

  int polls = 0, sent = 0;
  std::vector<wire_header> waiting;

 private:
  const bool reaches_others_;
};

// A device of process 0 of 2, itself by the ring and the other by the network.
class polling : public testing::Test {
 protected:
  polling()
      : core_(job_, {},
              [this](int) {
                std::vector<std::unique_ptr<transport>> made;
                for (counting_endpoint** each : {&ring_, &network_}) {
                  auto endpoint = std::make_unique<counting_endpoint>(each == &network_);
                  *each = endpoint.get();
                  made.push_back(std::move(endpoint));
                }
                return made;
              }),
        handler_(core_.register_handler(box_)) {}

  // How often the network is polled in so many calls.
  int network_polls_in(int calls) {
    const int network_before = network_->polls;
    const int ring_before = ring_->polls;
    for (int i = 0; i < calls; ++i) core_.device().progress();
    EXPECT_EQ(ring_->polls - ring_before, calls) << "the ring is polled in each call";
    return network_->polls - network_before;
  }
  // Calls until the network is polled again, that one included.
  int calls_to_next_poll() {
    int calls = 1;
    while (network_polls_in(1) == 0) ++calls;
    return calls;
  }
  void be_idle_for_long() { (void)network_polls_in(10'000); }
  void arrive(counting_endpoint& at) {
    wire_header am{};
    am.kind = static_cast<std::uint8_t>(comm::message_kind::am);
    am.handler = handler_.index;
    at.waiting.push_back(am);
  }

  static constexpr int calls_max = network_skips_max + 1;

  tests::mirrored_job job_{0, 2};
  counting_endpoint* ring_ = nullptr;
  counting_endpoint* network_ = nullptr;
  tests::mailbox box_;
  comm::runtime core_;
  comm::handler_id handler_;
};

TEST_F(polling, a_network_that_has_been_idle_for_long_is_polled_in_one_call_of_seventeen) {
  be_idle_for_long();
  EXPECT_EQ(calls_max, 17);
  EXPECT_LE(calls_to_next_poll(), calls_max);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(calls_to_next_poll(), calls_max);
}

TEST_F(polling, an_idle_network_is_polled_ever_less) {
  (void)network_polls_in(1);
  int last = 1;
  std::vector<int> steps;
  for (int polls = 0; polls < 1000; ++polls) {
    const int now = calls_to_next_poll();
    EXPECT_GE(now, last);
    EXPECT_LE(now, last + 1);
    if (now != last) steps.push_back(now);
    last = now;
  }
  EXPECT_EQ(steps.size(), network_skips_max);
}

TEST_F(polling, a_network_from_which_something_comes_is_polled_in_each_call) {
  be_idle_for_long();
  for (int i = 0; i < 100; ++i) arrive(*network_);
  EXPECT_LE(calls_to_next_poll(), calls_max);
  EXPECT_EQ(box_.messages.size(), 1u);
  EXPECT_EQ(network_polls_in(99), 99);
  EXPECT_EQ(box_.messages.size(), 100u);
  EXPECT_EQ(network_polls_in(3), 3) << "more may come";
  be_idle_for_long();
  EXPECT_LE(calls_to_next_poll(), calls_max);
  EXPECT_EQ(calls_to_next_poll(), calls_max);
}

TEST_F(polling, one_arrival_is_enough) {
  be_idle_for_long();
  arrive(*network_);
  (void)calls_to_next_poll();
  ASSERT_EQ(box_.messages.size(), 1u);
  EXPECT_EQ(network_polls_in(3), 3);
}

TEST_F(polling, a_network_to_which_something_was_sent_is_polled_in_the_next_calls) {
  be_idle_for_long();
  (void)calls_to_next_poll();  // As long as possible before the next.
  ASSERT_EQ(post_am(core_.device(), {1}, handler_, {}), status::done);
  ASSERT_EQ(network_->sent, 1);
  EXPECT_EQ(network_polls_in(3), 3);
}

TEST_F(polling, what_goes_by_the_ring_leaves_an_idle_network_alone) {
  be_idle_for_long();
  (void)calls_to_next_poll();
  for (int i = 0; i < 100; ++i) {
    arrive(*ring_);
    ASSERT_EQ(post_am(core_.device(), {0}, handler_, {}), status::done);
    EXPECT_EQ(calls_to_next_poll(), calls_max);
  }
  EXPECT_EQ(ring_->sent, 100);
  EXPECT_EQ(box_.messages.size(), 100u);
}

}  // namespace
}  // namespace weft
