#include "sync/runner_word.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "model/checker.hpp"
#include "sync/parking.hpp"

namespace weft {
namespace {

using model::scenario;

constexpr auto relaxed = std::memory_order_relaxed;

// A worker with two threads; numbers of threads as they stand in a runner word.
struct team {
  runner_word<model_atomics> runner;
  parking_spot<model_atomics> spot;
  std::array<call_word<model_atomics>, 2> called;
  model_atomics::plain<int> state{0};  // Of the worker.
  model_atomics::atomic<int> work{0};
  model_atomics::atomic<int> given{0};
  model_atomics::atomic<int> done{0};
};
constexpr std::uint32_t first = 1, second = 2;

void run_worker(team& t) {
  t.state.set(t.state.get() + 1);
}

// Both threads run the worker once.
scenario take_turns() {
  auto t = std::make_shared<team>();
  const auto thread = [=](std::uint32_t number) {
    return [=] {
      while (!t->runner.try_take(number)) model::pause();
      run_worker(*t);
      t->runner.put_down();
    };
  };
  return scenario{.threads = {thread(first), thread(second)},
                  .check = [=] { return t->state.get() == 2; }};
}

// While a spare thread runs the worker, its own thread sleeps. It is called when the spare one has put the worker down.
scenario come_back_from_a_spare_thread() {
  auto t = std::make_shared<team>();
  const auto own = [=] {
    for (;;) {
      if (t->runner.try_take(first)) break;
      t->called[0].answer();
      if (t->runner.number() != t->runner.nobody)
        model_atomics::wait(t->called[0].word(), call_word<model_atomics>::not_called, -1);
    }
    run_worker(*t);
    t->runner.put_down();
  };
  const auto spare = [=] {
    if (!t->runner.try_take(second)) return;
    run_worker(*t);
    t->runner.put_down();
    t->called[0].call();
  };
  return scenario{.threads = {own, spare}};
}

// The lookout takes the worker and gives it to a spare thread.
scenario go_to_a_spare_thread() {
  auto t = std::make_shared<team>();
  const auto lookout = [=] {
    if (!t->runner.try_take(first)) model::require(false, "nobody else takes it");
    run_worker(*t);
    t->given.store(1, relaxed);
    t->runner.pass_to(second);
    t->called[1].call();
  };
  const auto spare = [=] {
    while (!t->called[1].answer())
      model_atomics::wait(t->called[1].word(), call_word<model_atomics>::not_called, -1);
    model::require(t->given.load(relaxed) == 1, "what it is called for is there");
    model::require(t->runner.number() == second, "it runs the worker");
    run_worker(*t);
    t->runner.put_down();
  };
  return scenario{.threads = {lookout, spare}};
}

// The worker parks, and its thread sleeps at the word of the worker. So does another thread, which began to while the first was
// busy. Whoever brings work wakes one of the two.
scenario sleep_at_the_same_word() {
  auto t = std::make_shared<team>();
  constexpr auto parked = parking_spot<model_atomics>::parked;
  const auto sleep = [=](std::size_t who) {
    model_atomics::wait_for_either(t->spot.word(), parked, t->called[who].word(),
                                   call_word<model_atomics>::not_called, false, -1);
  };
  const auto own = [=] {
    t->spot.announce();
    if (t->work.load(relaxed) == 0)
      for (;;) {
        t->called[0].answer();
        if (!t->spot.is_parked()) break;
        sleep(0);
      }
    else
      t->spot.cancel();
    model::require(t->spot.is_awake(), "woken");
    model::require(t->work.load(relaxed) == 1, "woken by who has brought work");
    t->done.store(1, relaxed);
    t->called[1].call();
  };
  const auto other = [=] {
    for (;;) {
      t->called[1].answer();
      if (t->done.load(relaxed) == 1) return;
      if (t->spot.is_parked()) sleep(1);
      if (t->spot.is_parked()) continue;
      t->called[0].call();  // It may sleep at the word that was changed, and one thread was woken.
      model_atomics::wait(t->called[1].word(), call_word<model_atomics>::not_called, -1);
    }
  };
  const auto waker = [=] {
    t->work.store(1, relaxed);
    t->spot.wake_if_parked();
  };
  return scenario{.threads = {other, own, waker}};
}

// A worker that rests waits for what it alone can tell. Its thread, which has nothing else, takes it to let it park; the lookout may
// take it for a pass meanwhile. Whoever brings work wakes it only when it has parked.
scenario park_a_worker_that_rests() {
  struct resting : team {
    model_atomics::plain<bool> has_parked{false};
  };
  auto t = std::make_shared<resting>();
  constexpr auto parked = parking_spot<model_atomics>::parked;
  const auto own = [=] {
    while (!t->runner.try_take(first)) model::pause();
    run_worker(*t);
    t->spot.announce();
    if (t->work.load(relaxed) != 0) {
      t->spot.cancel();
      t->runner.put_down();
      return;
    }
    t->has_parked.set(true);
    t->runner.put_down();
    for (;;) {
      t->called[0].answer();
      if (!t->spot.is_parked()) {
        if (t->runner.try_take(first)) break;
        model::pause();  // The lookout has it, for a moment.
        continue;
      }
      model_atomics::wait_for_either(t->spot.word(), parked, t->called[0].word(),
                                     call_word<model_atomics>::not_called, false, -1);
    }
    t->has_parked.set(false);
    model::require(t->spot.is_awake(), "woken");
    model::require(t->work.load(relaxed) == 1, "woken by who has brought work");
    t->runner.put_down();
  };
  const auto lookout = [=] {
    if (!t->runner.try_take(second)) return;
    if (!t->has_parked.get()) run_worker(*t);
    t->runner.put_down();
    t->called[0].call();
  };
  const auto waker = [=] {
    t->work.store(1, relaxed);
    t->spot.wake_if_parked();
  };
  return scenario{.threads = {own, lookout, waker}};
}

// What the worker runs has begun to need its thread: no other one runs it from then on.
scenario stay_on_one_thread() {
  struct staying {
    kept_runner<model_atomics> runner;
    model_atomics::plain<bool> stays{false};
  };
  auto t = std::make_shared<staying>();
  const auto own = [=] {
    while (!t->runner.try_take_unless_kept(first)) model::pause();
    t->runner.set_home(0);
    t->runner.keep();
    t->stays.set(true);
    t->runner.put_down();
    while (!t->runner.try_take_unless_kept(first)) model::pause();
    t->runner.put_down();
  };
  const auto other = [=] {
    if (!t->runner.try_take_unless_kept(second)) return;
    model::require(!t->stays.get(), "it stays on the other thread");
    t->runner.set_home(1);
    t->runner.put_down();
  };
  return scenario{.threads = {own, other}};
}

const std::vector<model::setup> scenarios{take_turns,
                                          come_back_from_a_spare_thread,
                                          go_to_a_spare_thread,
                                          sleep_at_the_same_word,
                                          park_a_worker_that_rests,
                                          stay_on_one_thread};

TEST(runner_word_model,
     a_worker_has_one_thread_at_a_time_and_none_sleeps_that_has_something_to_do) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(runner_word_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2, "parking.hpp"), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
