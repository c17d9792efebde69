// Tasks, groups and futures, with several workers, with one, and in seeded schedules.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <weft/tasks.hpp>

#include "job.hpp"
#include "sched/event_source.hpp"
#include "task/task_source.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

options workers_of(int workers) {
  options how = job_of(1, workers);
  how.spin_us = 20;
  return how;
}

// With one worker, with several, and in some seeded schedules.
template <class Body>
void run_everywhere(const Body& body) {
  for (const int workers : {1, 2, 4}) {
    SCOPED_TRACE(std::to_string(workers) + " workers");
    EXPECT_EQ(run_tasks(workers_of(workers), body), 0);
  }
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    options how = workers_of(1);
    how.schedule = seed;
    EXPECT_EQ(run_tasks(how, body), 0);
  }
}

int fib(int n) {
  if (n < 2) return n;
  int left = 0;
  task_group both;
  both.spawn([&] { left = fib(n - 1); });
  const int right = fib(n - 2);
  both.wait();
  return left + right;
}

int fib_by_futures(int n) {
  if (n < 2) return n;
  future<int> left = spawn([n] { return fib_by_futures(n - 1); });
  const int right = fib_by_futures(n - 2);
  return left.get() + right;
}

TEST(task_group, waits_for_all_tasks_and_those_that_they_spawn) {
  run_everywhere([] {
    std::atomic<int> count = 0;
    task_group all;
    for (int i = 0; i < 100; ++i)
      all.spawn([&] {
        ++count;
        for (int j = 0; j < 3; ++j) all.spawn([&] { ++count; });
      });
    all.wait();
    EXPECT_EQ(count, 400);
    all.spawn([&] { ++count; });
    all.wait();
    EXPECT_EQ(count, 401);
  });
}

TEST(task_group, computes_recursively) {
  run_everywhere([] { EXPECT_EQ(fib(15), 610); });
}

TEST(a_future, computes_recursively) {
  run_everywhere([] { EXPECT_EQ(fib_by_futures(12), 144); });
}

TEST(task_group, takes_more_tasks_than_thieves_can_find_at_once) {
  EXPECT_EQ(run_tasks(workers_of(2),
                      [] {
                        std::atomic<int> count = 0;
                        task_group all;
                        for (int i = 0; i < 20000; ++i) all.spawn([&] { ++count; });
                        all.wait();
                        EXPECT_EQ(count, 20000);
                      }),
            0);
}

TEST(task_group, rethrows_the_first_exception_and_cancels_what_has_not_begun) {
  run_everywhere([] {
    std::atomic<int> ran = 0;
    task_group all;
    all.spawn([] { throw std::runtime_error("no"); });
    EXPECT_THROW(
        {
          for (int i = 0; i < 3; ++i) all.spawn([&] { ++ran; });
          all.wait();
        },
        std::runtime_error);
    EXPECT_LE(ran, 3);
    EXPECT_TRUE(all.stop_requested());
  });
}

TEST(task_group, stops_tasks_that_ask_for_the_token) {
  run_everywhere([] {
    std::atomic<int> begun = 0, ended = 0;
    task_group all;
    for (int i = 0; i < 4; ++i)
      all.spawn([&](std::stop_token stop) {
        ++begun;
        while (!stop.stop_requested()) yield();
        ++ended;
      });
    while (begun < 4) yield();
    all.request_stop();
    all.wait();
    EXPECT_EQ(ended, 4);
  });
}

TEST(task_group, lets_callbacks_of_its_token_ask_it_and_stop_it) {
  run_everywhere([] {
    task_group all;
    bool is_told = false;
    const std::stop_token token = all.get_stop_token();
    const std::stop_callback callback(token, [&] {
      all.request_stop();
      is_told = all.get_stop_token().stop_requested();
    });
    all.spawn([] { throw 1; });
    EXPECT_THROW(all.wait(), int);
    EXPECT_TRUE(is_told);
  });
}

TEST(a_task, may_wait_for_what_its_waiter_does_later) {
  run_everywhere([] {
    promise<int> later;
    future<int> value = later.get_future();
    task_group all;
    int seen = 0;
    all.spawn([&] { seen = value.get(); });
    future<void> other = spawn([] {});
    other.get();  // The first may have begun meanwhile, on a stack of its own.
    later.set_value(5);
    all.wait();
    EXPECT_EQ(seen, 5);
  });
}

TEST(tasks, wait_for_each_other_in_any_order) {
  run_everywhere([] {
    constexpr std::size_t count = 200;
    std::vector<promise<std::size_t>> promises;
    std::vector<future<std::size_t>> values;
    for (std::size_t i = 0; i <= count; ++i) values.push_back(promises.emplace_back().get_future());
    task_group all;
    // Each waits for the next one.
    for (std::size_t i = 0; i < count; ++i)
      all.spawn([&, i] { promises[i].set_value(values[i + 1].get() + 1); });
    promises[count].set_value(0);
    EXPECT_EQ(values[0].get(), count);
    all.wait();
  });
}

TEST(a_future, carries_values_references_exceptions_and_nothing) {
  run_everywhere([] {
    int place = 3;
    EXPECT_EQ(spawn([] { return std::string("text"); }).get(), "text");
    EXPECT_EQ(&spawn([&]() -> int& { return place; }).get(), &place);
    spawn([] {}).get();
    EXPECT_THROW(spawn([]() -> int { throw std::out_of_range("far"); }).get(), std::out_of_range);
    EXPECT_EQ(*spawn([] { return std::make_unique<int>(4); }).get(), 4);
    EXPECT_EQ(make_ready_future(7).get(), 7);
    make_ready_future().get();
  });
}

TEST(a_future, that_was_taken_is_refused) {
  EXPECT_EQ(run_tasks(workers_of(1),
                      [] {
                        future<int> one = make_ready_future(1);
                        EXPECT_EQ(one.get(), 1);
                        EXPECT_FALSE(one.valid());
                        EXPECT_THROW(one.get(), error);
                        promise<int> twice;
                        EXPECT_FALSE(twice.get_future().is_ready());
                        EXPECT_THROW((void)twice.get_future(), error);
                        twice.set_value(1);
                        EXPECT_THROW(twice.set_value(2), error);
                      }),
            0);
}

TEST(a_future, that_was_moved_from_is_empty_and_what_it_had_goes) {
  run_everywhere([] {
    auto kept = std::make_shared<int>(1);
    future<std::shared_ptr<int>> first = make_ready_future(kept);
    future<std::shared_ptr<int>> second = make_ready_future(std::make_shared<int>(2));
    first = std::move(second);
    EXPECT_FALSE(second.valid());
    EXPECT_EQ(kept.use_count(), 1);
    EXPECT_EQ(*first.get(), 2);
  });
}

// What a task has captured goes before its future is ready, whoever keeps that.
TEST(a_promise, that_goes_with_its_task_gives_its_future_an_error) {
  run_everywhere([] {
    promise<int> inner;
    future<int> value = inner.get_future();
    future<void> keeps =
        spawn([mine = std::move(inner)] { throw std::runtime_error("before it was set"); });
    EXPECT_THROW((void)value.get(), broken_promise);
    promise<int> further;
    future<int> other = further.get_future();
    future<void> passes = keeps.then([mine = std::move(further)] {});
    EXPECT_THROW((void)other.get(), broken_promise);
    EXPECT_THROW(passes.get(), std::runtime_error);
    int here = 5;
    EXPECT_EQ(&spawn([&here]() -> int& { return here; }).get(), &here);
  });
}

TEST(a_promise, that_is_dropped_gives_its_future_an_error) {
  run_everywhere([] {
    future<int> orphan;
    { orphan = promise<int>().get_future(); }
    try {
      (void)orphan.get();
      ADD_FAILURE() << "no error";
    } catch (const broken_promise& e) {
      EXPECT_NE(std::string(e.what()).find("task_test.cpp"), std::string::npos) << e.what();
    }
  });
}

TEST(then, runs_on_values_and_exceptions_go_past_it) {
  run_everywhere([] {
    EXPECT_EQ(spawn([] { return 6; }).then([](int x) { return 7 * x; }).get(), 42);
    EXPECT_EQ(spawn([] {}).then([] { return 1; }).get(), 1);
    EXPECT_EQ(make_ready_future(2).then([](future<int> f) { return f.get() + 1; }).get(), 3);
    bool ran = false;
    future<void> failed =
        spawn([]() -> int { throw std::runtime_error("x"); }).then([&](int) { ran = true; });
    EXPECT_THROW(failed.get(), std::runtime_error);
    EXPECT_FALSE(ran);
    EXPECT_EQ(spawn([]() -> int { throw std::runtime_error("x"); })
                  .then([](future<int> f) {
                    try {
                      return f.get();
                    } catch (const std::runtime_error&) {
                      return -1;
                    }
                  })
                  .get(),
              -1);
    future<int> chain = make_ready_future(0);
    for (int i = 0; i < 1000; ++i) chain = chain.then([](int x) { return x + 1; });
    EXPECT_EQ(chain.get(), 1000);
  });
}

TEST(then, may_follow_many_times_whatever_comes) {
  run_everywhere([] {
    constexpr int links = 20'000;
    for (const bool fails : {false, true}) {
      promise<int> first;
      future<int> last = first.get_future();
      for (int i = 0; i < links; ++i) last = last.then([](int x) { return x + 1; });
      if (fails) {
        first.set_exception(std::make_exception_ptr(7));
        EXPECT_THROW((void)last.get(), int);
      } else {
        first.set_value(0);
        EXPECT_EQ(last.get(), links);
      }
    }
  });
}

TEST(when_all, is_ready_with_the_last_and_when_any_with_one) {
  run_everywhere([] {
    std::vector<future<int>> many;
    for (int i = 0; i < 50; ++i) many.push_back(spawn([i] { return i; }));
    int sum = 0;
    for (future<int>& one : when_all(std::move(many)).get()) sum += one.get();
    EXPECT_EQ(sum, 49 * 50 / 2);
    auto [a, b] = when_all(spawn([] { return 1; }), spawn([]() -> std::string { throw 2; })).get();
    EXPECT_EQ(a.get(), 1);
    EXPECT_THROW((void)b.get(), int);
    EXPECT_TRUE(when_all(std::vector<future<int>>()).get().empty());

    // What several wait for, each in a gathering of its own.
    promise<int> late;
    std::vector<shared_future<int>> shared{late.get_future().share(), spawn([] { return 2; })};
    future<int> first = when_all(shared).then(
        [](const std::vector<shared_future<int>>& of) { return of[0].get() + of[1].get(); });
    future<int> second = when_all(shared).then(
        [](const std::vector<shared_future<int>>& of) { return of[0].get() * of[1].get(); });
    late.set_value(5);
    EXPECT_EQ(first.get(), 7);
    EXPECT_EQ(second.get(), 10);
    EXPECT_THROW((void)when_all(std::vector<shared_future<int>>(1)), error);

    promise<int> never;
    std::vector<future<int>> two;
    two.push_back(never.get_future());
    two.push_back(spawn([] { return 5; }));
    auto any = when_any(std::move(two)).get();
    EXPECT_EQ(any.index, 1u);
    EXPECT_EQ(any.futures[1].get(), 5);
    EXPECT_FALSE(any.futures[0].is_ready());
    never.set_value(1);
    EXPECT_EQ(any.futures[0].get(), 1);
    EXPECT_THROW((void)when_any(std::vector<future<int>>()), error);
  });
}

TEST(collect, gives_values_or_the_first_exception) {
  run_everywhere([] {
    std::vector<future<int>> many;
    for (int i = 0; i < 50; ++i) many.push_back(spawn([i] { return i; }));
    const std::vector<int> values = collect(std::move(many)).get();
    ASSERT_EQ(values.size(), 50u);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
    const auto [one, text, none, only] =
        collect(spawn([] { return 1; }), spawn([] { return std::string("two"); }), spawn([] {}),
                spawn([] { return std::make_unique<int>(4); }))
            .get();
    EXPECT_EQ(one, 1);
    EXPECT_EQ(text, "two");
    EXPECT_EQ(*only, 4);
    static_cast<void>(none);
    std::vector<future<void>> nothing;
    for (int i = 0; i < 3; ++i) nothing.push_back(spawn([] {}));
    collect(std::move(nothing)).get();
    EXPECT_TRUE(collect(std::vector<future<int>>()).get().empty());

    std::vector<future<int>> some;
    for (int i = 0; i < 4; ++i)
      some.push_back(spawn([i] {
        if (i == 1) throw std::out_of_range("the first");
        if (i == 3) throw std::runtime_error("the second");
        return i;
      }));
    EXPECT_THROW((void)collect(std::move(some)).get(), std::out_of_range);
    EXPECT_THROW((void)collect(spawn([] { return 1; }), spawn([]() -> int { throw 2; })).get(),
                 int);
  });
}

TEST(a_task, sleeps_while_its_worker_does_other_work) {
  EXPECT_EQ(run_tasks(workers_of(1),
                      [] {
                        std::vector<int> order;
                        future<void> sleeper = spawn([&] {
                          order.push_back(1);
                          sleep_for(20ms);
                          order.push_back(3);
                          const auto when = std::chrono::system_clock::now() + 5ms;
                          sleep_until(when);
                          EXPECT_GE(std::chrono::system_clock::now(), when);
                        });
                        future<void> other = spawn([&] {
                          while (order.empty()) yield();
                          order.push_back(2);
                        });
                        sleeper.get();
                        other.get();
                        EXPECT_EQ(order, (std::vector{1, 2, 3}));
                        sleep_for(0ns);
                        sleep_for(-5ms);
                      }),
            0);
}

// A wait for so long is no deadlock.
TEST(a_future, may_be_waited_for_a_time) {
  run_everywhere([] {
    promise<int> later;
    future<int> value = later.get_future();
    EXPECT_EQ(value.wait_for(2ms), future_status::timeout);
    EXPECT_EQ(value.wait_for(0ms), future_status::timeout);
    EXPECT_EQ(value.wait_until(std::chrono::steady_clock::now() - 1ms), future_status::timeout);
    try {
      (void)value.get(2ms);
      ADD_FAILURE() << "it was not set";
    } catch (const timed_out& e) {
      EXPECT_NE(
          std::string(e.what()).find("waited for 2 ms, and the promise made at task_test.cpp"),
          std::string::npos)
          << e.what();
    }
    ASSERT_TRUE(value.valid());
    future<void> setter = spawn([&] {
      sleep_for(5ms);
      later.set_value(7);
    });
    EXPECT_EQ(value.wait_for(std::chrono::hours::max()), future_status::ready);
    EXPECT_EQ(value.wait_for(0ms), future_status::ready);
    EXPECT_EQ(value.get(1ms), 7);
    setter.get();
    const shared_future<int> shared = spawn([] {
                                        sleep_for(3ms);
                                        return 8;
                                      }).share();
    EXPECT_EQ(shared.wait_for(0ms), future_status::timeout);
    EXPECT_EQ(shared.wait_until(std::chrono::system_clock::now() + 1h), future_status::ready);
    EXPECT_EQ(shared.get(1ms), 8);
    EXPECT_THROW((void)spawn([]() -> int { throw 3; }).get(1h), int);
  });
}

// Each of many short waits would leave a listener behind, until the future is set.
TEST(a_future, that_is_waited_for_again_and_again_takes_no_more_memory) {
  EXPECT_EQ(run_tasks(workers_of(2),
                      [] {
                        promise<int> later;
                        const shared_future<int> value = later.get_future().share();
                        EXPECT_EQ(value.wait_for(1us), future_status::timeout);
                        task_source& here = task_source::here("test");
                        const std::int64_t before = here.pool().taken();
                        for (int i = 0; i < 100; ++i)
                          EXPECT_EQ(value.wait_for(1us), future_status::timeout);
                        EXPECT_EQ(here.pool().taken(), before);
                        std::vector<future<void>> others;  // On either worker, two at a time.
                        for (int t = 0; t < 4; ++t)
                          others.push_back(spawn([value] {
                            while (value.wait_for(100us) == future_status::timeout) yield();
                          }));
                        sleep_for(10ms);
                        later.set_value(1);
                        for (future<void>& one : others) one.get();
                        EXPECT_EQ(value.wait_for(1us), future_status::ready);
                      }),
            0);
}

// A wait takes the newest task, to run it if it gives what is waited for.
TEST(an_urgent_task, that_a_wait_has_taken_and_put_back_is_begun_before_others) {
  EXPECT_EQ(run_tasks(workers_of(1),
                      [] {
                        std::string order;
                        promise<void> go;
                        future<void> going = go.get_future();
                        future<void> normal;
                        future<void> other = spawn([&] {
                          going.get();
                          normal = spawn([&] { order += 'n'; });
                        });
                        yield();  // It begins, and waits.
                        future<void> urgent =
                            spawn([&] { order += 'u'; }, {.priority = priority::high});
                        go.set_value();
                        other.get();  // It goes on while the urgent one has been put back.
                        normal.get();
                        urgent.get();
                        EXPECT_EQ(order, "un");
                      }),
            0);
}

// A network whose messages become tasks, as parcels do.
class network_of_tasks final : public event_source {
 public:
  bool poll() noexcept override { return look(is_polled); }
  bool poll_cheap() noexcept override { return look(!is_polled); }
  [[nodiscard]] bool busy() const noexcept override { return brings_in != 0; }
  [[nodiscard]] bool no_writes_pending() const noexcept override { return true; }
  void look_before_parking(bool) noexcept override {}
  [[nodiscard]] bool arm() noexcept override { return true; }
  void disarm() noexcept override {}
  [[nodiscard]] bell ringing() const noexcept override { return {}; }
  [[nodiscard]] std::int64_t sleep_ns_max() const noexcept override { return 100'000; }

  bool is_polled = false;    // The message comes in a pass, not in a look between two.
  int brings_in = 0;         // With which look of that kind.
  int further_messages = 0;  // One comes with each look after it; they become nothing.
  int looks = 0;             // Since it came.
  int looks_before_task = -1;

 private:
  // What comes becomes a task that says how many looks came before it.
  struct told_task : detail::task {
    network_of_tasks* of = nullptr;
  } brought_;

  bool look(bool may_bring) noexcept {
    ++looks;
    if (brings_in == 0) return further_messages > 0 && --further_messages >= 0;
    if (!may_bring || --brings_in != 0) return false;
    looks = 0;
    brought_.of = this;
    brought_.act = [](detail::task& self, bool) noexcept {
      network_of_tasks& mine = *static_cast<told_task&>(self).of;
      mine.looks_before_task = mine.looks;
      mine.further_messages = 0;
    };
    task_source::of(*worker::current()).submit(brought_, priority::normal);
    return true;
  }
};

int looks_before_task_of(const network_of_tasks& how) {
  static network_of_tasks network;  // The worker looks at it to its end.
  network = how;
  EXPECT_EQ(run_tasks(workers_of(1),
                      [] {
                        worker& here = *worker::current();
                        here.set_events(network);
                        here.wait_until([] { return network.looks_before_task >= 0; },
                                        {.call = "test"});
                      }),
            0);
  return network.looks_before_task;
}

// Each look takes a system call where the network is one of the kernel's.
TEST(a_task, that_a_message_has_become_runs_before_the_worker_looks_at_the_network_again) {
  network_of_tasks how;
  how.brings_in = 3;
  EXPECT_EQ(looks_before_task_of(how), 0);
}

TEST(a_task, that_a_message_has_become_is_not_starved_by_further_messages) {
  network_of_tasks how;
  how.is_polled = true;
  how.brings_in = 1;
  how.further_messages = 1000;
  EXPECT_EQ(looks_before_task_of(how), 0);
}

TEST(a_timed_wait, of_a_future_that_is_never_set_ends_with_the_job) {
  run_everywhere([] {
    promise<int> never;
    future<int> value = never.get_future();
    future<void> other = spawn([&] { EXPECT_EQ(value.wait_for(1ms), future_status::timeout); });
    other.get();
    EXPECT_EQ(value.wait_for(1ms), future_status::timeout);
  });
}

TEST(a_dropped_future, has_its_exception_told_once_where_nobody_asked) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_tasks(workers_of(2),
                      [] {
                        {
                          auto dropped = spawn([] { throw std::runtime_error("nobody\nlooks"); });
                        }
                        future<int> asked =
                            spawn([]() -> int { throw std::runtime_error("asked"); });
                        EXPECT_THROW((void)asked.get(), std::runtime_error);
                        future<int> passed = spawn([]() -> int {
                                               throw std::runtime_error("passed");
                                             }).then([](int x) { return x; });
                        EXPECT_THROW((void)passed.get(), std::runtime_error);
                        std::stop_source stop;
                        stop.request_stop();
                        (void)spawn([] {}, {.stop = stop.get_token()});
                        (void)promise<int>().get_future();
                        promise<int> given;
                        (void)given.get_future();
                        given.set_exception(std::make_exception_ptr(5));
                      }),
            0);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
  EXPECT_NE(text.find("weft: the task made at task_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("gave an exception, and its future was dropped unasked: nobody\\nlooks\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("the promise made at task_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("an exception of type int"), std::string::npos) << text;
}

TEST(a_shared_future, gives_all_the_same_value) {
  run_everywhere([] {
    promise<std::string> text;
    const shared_future<std::string> shared = text.get_future().share();
    std::atomic<int> right = 0;
    task_group all;
    for (int i = 0; i < 20; ++i)
      all.spawn([shared, &right] { right += shared.get() == "same" ? 1 : 0; });
    text.set_value("same");
    all.wait();
    EXPECT_EQ(right, 20);
  });
}

TEST(a_loop, runs_in_tasks_and_tasks_in_a_loop) {
  run_everywhere([] {
    std::atomic<std::size_t> sum = 0;
    task_group all;
    for (int t = 0; t < 4; ++t)
      all.spawn([&] { parallel_for(0, 1000, [&](std::size_t i) { sum += i; }); });
    all.wait();
    EXPECT_EQ(sum, 4u * 999 * 1000 / 2);
    std::vector<future<std::size_t>> results(64);
    parallel_for(0, results.size(), [&](std::size_t i) { results[i] = spawn([i] { return i; }); });
    std::size_t total = 0;
    for (future<std::size_t>& one : results) total += one.get();
    EXPECT_EQ(total, 64u * 63 / 2);
  });
}

TEST(a_chunk, may_not_wait_for_a_future_nor_make_a_group) {
  run_everywhere([] {
    promise<int> later;
    const shared_future<int> value = later.get_future().share();
    for (const bool makes_group : {false, true}) {
      try {
        parallel_for(0, 4, [&](std::size_t) {
          if (makes_group)
            task_group none;
          else
            (void)value.get();
        });
        ADD_FAILURE() << "no error";
      } catch (const error& e) {
        EXPECT_TRUE(std::string(e.what()).starts_with("a chunk of a loop")) << e.what();
      }
    }
    later.set_value(0);
  });
}

TEST(high_priority, begins_first) {
  EXPECT_EQ(
      run_tasks(workers_of(1),
                [] {
                  std::vector<int> order;
                  task_group all;
                  for (int i = 0; i < 3; ++i) all.spawn([&order, i] { order.push_back(i); });
                  for (int i = 3; i < 6; ++i)
                    all.spawn([&order, i] { order.push_back(i); }, priority::high);
                  all.wait();
                  ASSERT_EQ(order.size(), 6u);
                  EXPECT_EQ(std::set<int>(order.begin(), order.begin() + 3), (std::set{3, 4, 5}));
                }),
      0);
}

TEST(a_task, that_is_cancelled_before_it_begins_does_not_run) {
  run_everywhere([] {
    std::stop_source stop;
    stop.request_stop();
    bool ran = false;
    future<void> never = spawn([&] { ran = true; }, {.stop = stop.get_token()});
    EXPECT_THROW(never.get(), cancelled);
    EXPECT_FALSE(ran);
  });
}

TEST(a_job, does_not_end_before_tasks_that_nobody_waits_for) {
  for (const int workers : {1, 3}) {
    std::atomic<int> count = 0;
    EXPECT_EQ(
        run_tasks(workers_of(workers),
                  [&] {
                    for (int i = 0; i < 50; ++i)
                      (void)spawn([&] { (void)spawn([&] { (void)spawn([&] { ++count; }); }); });
                  }),
        0);
    EXPECT_EQ(count, 50);
  }
}

TEST(a_future, may_outlive_the_job_and_its_workers) {
  future<std::vector<int>> kept;
  EXPECT_EQ(run_tasks(workers_of(2), [&] { kept = spawn([] {
                                             return std::vector{1, 2, 3};
                                           }); }),
            0);
  EXPECT_EQ(kept.get(), (std::vector{1, 2, 3}));
}

TEST(a_promise, may_be_set_by_a_thread_of_the_program) {
  EXPECT_EQ(run_tasks(workers_of(2),
                      [] {
                        promise<int> given;
                        future<int> value = given.get_future();
                        future<int> next = spawn([&] { return value.get() + 1; });
                        future<int> last = next.then([](int x) { return x + 1; });
                        std::thread other([&] { given.set_value(1); });
                        other.join();
                        EXPECT_EQ(last.get(), 3);
                      }),
            0);
}

// A rank that waits for a message runs tasks of others; a task that waits lets ranks run.
TEST(ranks, and_tasks_share_the_workers) {
  for (const int workers : {1, 2}) {
    options how = job_of(4, workers);
    EXPECT_EQ(run(how,
                  [&](communicator& world) {
                    const int me = world.rank(), next = (me + 1) % 4, before = (me + 3) % 4;
                    std::atomic<int> done = 0;
                    task_group all;
                    for (int round = 0; round < 50; ++round) {
                      for (int i = 0; i < 4; ++i) all.spawn([&] { ++done; });
                      int got = -1;
                      auto r = world.irecv(got, before, 0);
                      world.send(me, next, 0);
                      r.wait();
                      EXPECT_EQ(got, before);
                      if (round % 10 == 0) world.barrier();
                    }
                    all.wait();
                    EXPECT_EQ(done, 200);
                    EXPECT_EQ(this_rank(), me);
                  }),
              0);
  }
}

TEST(ranks, that_go_on_and_on_do_not_starve_a_task) {
  options how = job_of(2, 1);
  std::atomic<bool> ran = false;
  EXPECT_EQ(run(how,
                [&](communicator& world) {
                  future<void> told;
                  if (world.rank() == 0) told = spawn([&] { ran = true; });
                  const int other = 1 - world.rank();
                  for (int over = 0; over == 0;) {
                    int mine = ran ? 1 : 0, its = 0;
                    if (world.rank() == 0) {
                      world.send(mine, other, 0);
                      world.recv(its, other, 0);
                      over = mine;
                    } else {
                      world.recv(its, other, 0);
                      world.send(mine, other, 0);
                      over = its;
                    }
                  }
                }),
            0);
}

TEST(a_task, that_communicates_is_told_why_not) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(alone(job_of(1, 1)),
                [](communicator& world) { spawn([&] { world.send(1, 0, 0); }).get(); }),
            1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("was called by a task"), std::string::npos);
}

TEST(a_deadlock, names_the_future_and_who_should_set_it) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_tasks(workers_of(2),
                      [] {
                        promise<int> never;
                        const shared_future<int> value = never.get_future().share();
                        task_group all;
                        for (int i = 0; i < 2; ++i) all.spawn([value] { (void)value.get(); });
                        const shared_future<int> other =
                            spawn([value] { return value.get(); }).share();
                        for (int i = 0; i < 2; ++i) all.spawn([other] { (void)other.get(); });
                        yield();
                        (void)other.get();
                      }),
            1);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
  EXPECT_NE(text.find("a task (worker "), std::string::npos) << text;
  EXPECT_NE(text.find("the promise made at task_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("the task made at task_test.cpp:"), std::string::npos) << text;
}

TEST(a_failed_job, ends_with_tasks_that_wait_and_tasks_that_have_not_begun) {
  for (const int workers : {1, 2}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_tasks(workers_of(workers),
                        [] {
                          auto never = std::make_shared<promise<int>>();
                          const shared_future<int> value = never->get_future().share();
                          task_group all;
                          for (int i = 0; i < 20; ++i)
                            all.spawn([never, value] { (void)value.get(); });
                          for (int i = 0; i < 20; ++i)
                            (void)spawn([never, value] { (void)value.get(); });
                          throw std::runtime_error("enough");
                        }),
              1);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("enough"), std::string::npos);
  }
}

TEST(tasks, outside_of_a_job_are_refused) {
  EXPECT_THROW((void)spawn([] {}), error);
  EXPECT_THROW(task_group(), error);
}

TEST(a_seed, repeats_the_order_of_tasks) {
  const auto order_with = [](std::uint64_t seed) {
    std::vector<int> order;
    options how = workers_of(1);
    how.schedule = seed;
    EXPECT_EQ(run_tasks(how,
                        [&] {
                          task_group all;
                          for (int i = 0; i < 12; ++i)
                            all.spawn([&order, i] {
                              order.push_back(i);
                              yield();
                              order.push_back(100 + i);
                            });
                          all.wait();
                        }),
              0);
    return order;
  };
  std::set<std::vector<int>> different;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto first = order_with(seed);
    EXPECT_EQ(first.size(), 24u);
    EXPECT_EQ(first, order_with(seed));
    different.insert(first);
  }
  EXPECT_GT(different.size(), 3u);
}

}  // namespace
}  // namespace weft
