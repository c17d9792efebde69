#include "comm/handling_order.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "comm/spin_lock.hpp"
#include "model/checker.hpp"

namespace weft {
namespace {

using comm::needed_thread;
using model::scenario;

// What comes to a device, in this order: a put of a block, a message for the program, another put of the same block, and
// a flush, which is answered. The owner makes progress, the other thread pumps as long as the owner computes.
struct message {
  enum { put, other, flush } what;
  int value = 0;
};
constexpr std::array<message, 4> wire{
    {{message::put, 1}, {message::other}, {message::put, 2}, {message::flush}}};

needed_thread thread_for(const message& m) {
  return m.what == message::other ? needed_thread::owner : needed_thread::any;
}

struct device {
  comm::basic_spin_lock<model_atomics> lock;
  comm::basic_handling_order<model_atomics> order;
  model_atomics::plain<std::size_t> come{0};  // From the transport.
  model_atomics::plain<std::uint32_t> waiting{
      0};  // The messages that wait for the owner, a bit each.
  model_atomics::plain<int> block{0};
  model_atomics::plain<bool> told{false};  // The program.
  model_atomics::atomic<int> answered{0};

  void handle(const message& m, bool by_owner) {
    switch (m.what) {
      case message::put:
        model::require(block.get() == m.value - 1, "puts in order");
        return block.set(m.value);
      case message::other:
        model::require(by_owner, "the program is told by the owner");
        return told.set(true);
      case message::flush:
        return answered.store(1, std::memory_order_release);
    }
  }
  void poll(bool by_owner, int budget) {
    for (; budget > 0 && come.get() < wire.size(); --budget, come.set(come.get() + 1)) {
      const message& next = wire[come.get()];
      if (order.may_be_handled(by_owner, thread_for(next))) {
        handle(next, by_owner);
        continue;
      }
      order.note_waiting(thread_for(next));
      waiting.set(waiting.get() | 1u << come.get());
    }
  }
  // True: all has been handled.
  bool progress(int budget) {
    for (std::size_t i = 0; waiting.get() != 0; ++i) {
      if ((waiting.get() >> i & 1) == 0) continue;
      handle(wire[i], true);
      order.note_handled(thread_for(wire[i]));
      waiting.set(waiting.get() & ~(1u << i));
    }
    poll(true, budget);
    return come.get() == wire.size() && waiting.get() == 0;
  }
};

// So many messages at a time.
model::setup pumped(int budget, int pumps) {
  return [=] {
    auto one = std::make_shared<device>();
    static const char marks[2] = {};
    const auto enter = [](device& d, const char* me) { return d.lock.try_enter(me); };
    return scenario{
        .threads = {[=] {
                      for (bool is_over = false; !is_over;) {
                        while (!enter(*one, &marks[0])) model::pause();
                        is_over = one->progress(budget);
                        one->lock.leave();
                      }
                    },
                    [=] {
                      for (int i = 0; i < pumps; ++i) {
                        if (!enter(*one, &marks[1])) continue;
                        one->poll(false, budget);
                        one->lock.leave();
                      }
                    },
                    // Has put, and has asked. It may read the block by another way afterwards.
                    [=] {
                      model::wait_until(
                          [&] { return one->answered.load(std::memory_order_acquire) != 0; });
                      model::require(one->block.get() == 2, "what is answered has been put");
                    }},
        .check = [=] { return one->told.get() && one->order.waiting() == 0; }};
  };
}

const std::vector<model::setup> scenarios{pumped(2, 1), pumped(1, 2)};

TEST(handling_order_model, who_is_told_that_puts_are_done_sees_them_whichever_thread_did_them) {
  const std::string failures = model::failures(scenarios, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(handling_order_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

// What makes the order: without it a put would go past an older one that waits.
TEST(handling_order_model, a_put_that_goes_past_one_that_waits_is_found) {
  const model::setup wrong = [] {
    auto one = std::make_shared<device>();
    return scenario{.threads = {[=] {
                      one->order.note_waiting(
                          needed_thread::owner);  // As if the first put were not for any thread.
                      one->waiting.set(1);
                      one->come.set(1);
                      one->poll(false, 4);
                      one->progress(4);
                    }}};
  };
  EXPECT_FALSE(model::failures({wrong}, 0).empty());
}

}  // namespace
}  // namespace weft
