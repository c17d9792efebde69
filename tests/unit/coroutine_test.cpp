// Coroutines, latches, channels and senders.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <weft/tasks.hpp>

#include "job.hpp"

namespace weft {
namespace {

options workers_of(int workers) {
  options how = job_of(1, workers);
  how.spin_us = 20;
  return how;
}

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

future<int> fib(int n) {
  if (n < 2) co_return n;
  future<int> left = spawn([n] { return fib(n - 1).get(); });
  const int right = co_await fib(n - 2);
  co_return co_await left + right;
}

future<void> fail_after(future<void> first) {
  co_await first;
  throw std::runtime_error("later");
}

TEST(a_coroutine, gives_what_it_returns) {
  run_everywhere([] { EXPECT_EQ(fib(10).get(), 55); });
}

TEST(a_coroutine, goes_on_where_it_waited) {
  run_everywhere([] {
    std::vector<future<bool>> all;
    for (int i = 0; i < 50; ++i)
      all.push_back(spawn([] {
        return [](future<int> value) -> future<bool> {
          static thread_local char mark;
          char* const before = &mark;
          (void)co_await value;
          char* volatile here = &mark;
          co_return before == here;
        }(spawn([] { return 1; })).get();
      }));
    for (future<bool>& one : all) EXPECT_TRUE(one.get());
  });
}

TEST(a_coroutine, throws_what_it_waits_for_throws) {
  run_everywhere([] {
    EXPECT_THROW(fail_after(spawn([] {})).get(), std::runtime_error);
    EXPECT_THROW(fail_after(spawn([] { throw 3; })).get(), int);
  });
}

struct slow_to_go {
  std::atomic<int>* alive;
  explicit slow_to_go(std::atomic<int>& count) : alive(&count) { ++count; }
  slow_to_go(slow_to_go&& other) noexcept : alive(std::exchange(other.alive, nullptr)) {}
  ~slow_to_go() {
    if (alive == nullptr) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --*alive;
  }
};

// The one that waits is on another worker, and could look while the destructors run.
TEST(a_coroutine, is_over_with_its_variables_and_parameters_when_its_future_is_ready) {
  const auto body = [] {
    for (int i = 0; i < 5; ++i) {
      std::atomic<int> alive = 0;
      std::atomic<bool> is_made = false;
      promise<int> value;
      future<int> result;
      future<void> elsewhere = spawn([&] {
        result = [](future<int> of, slow_to_go given) -> future<int> {
          const slow_to_go local(*given.alive);
          co_return co_await of;
        }(value.get_future(), slow_to_go(alive));
        is_made = true;
        value.set_value(i);
      });
      while (!is_made) std::this_thread::yield();  // Not by this worker.
      EXPECT_EQ(result.get(), i);
      EXPECT_EQ(alive, 0);
      elsewhere.get();
    }
  };
  EXPECT_EQ(run_tasks(workers_of(2), body), 0);
}

TEST(a_coroutine, waits_for_shared_futures_and_many_wait_for_one) {
  run_everywhere([] {
    promise<int> one;
    const shared_future<int> shared = one.get_future().share();
    std::vector<future<int>> all;
    for (int i = 0; i < 100; ++i)
      all.push_back(
          [](shared_future<int> of) -> future<int> { co_return co_await of + 1; }(shared));
    one.set_value(1);
    for (future<int>& each : all) EXPECT_EQ(each.get(), 2);
  });
}

TEST(a_coroutine, that_waits_for_ever_is_in_the_report_and_is_destroyed) {
  auto alive = std::make_shared<int>(0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_tasks(workers_of(2),
                      [&] {
                        promise<int> never;
                        auto waits = [](future<int> of, std::shared_ptr<int> kept) -> future<int> {
                          co_return co_await of + *kept;
                        };
                        future<int> lost = waits(never.get_future(), alive);
                        (void)lost.get();
                      }),
            1);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("in co_await, of a future which the promise made at coroutine_test.cpp:"),
            std::string::npos)
      << text;
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(a_latch, opens_when_all_have_counted_down) {
  run_everywhere([] {
    latch begun(10), ended(10);
    task_group all;
    for (int i = 0; i < 10; ++i)
      all.spawn([&] {
        begun.arrive_and_wait();
        ended.count_down();
      });
    ended.wait();
    all.wait();
    EXPECT_TRUE(ended.try_wait());
    EXPECT_THROW(ended.count_down(), error);
    EXPECT_THROW(latch(-1), error);
  });
}

TEST(a_channel, hands_on_each_value_once_and_in_order) {
  run_everywhere([] {
    for (const std::size_t capacity : {1, 3, 1000}) {
      channel<int> values(capacity);
      constexpr int senders = 3, count = 100;
      std::atomic<int> sum = 0, open = senders;
      task_group all;
      for (int r = 0; r < 2; ++r)
        all.spawn([&] {
          std::vector<int> last(senders, -1);
          while (const auto value = values.receive()) {
            const auto from = static_cast<std::size_t>(*value / 1000);
            EXPECT_GT(*value % 1000, last[from]);
            last[from] = *value % 1000;
            sum += *value % 1000;
          }
        });
      for (int s = 0; s < senders; ++s)
        all.spawn([&, s] {
          for (int i = 0; i < count; ++i) values.send(s * 1000 + i);
          if (--open == 0) values.close();
        });
      all.wait();
      EXPECT_EQ(sum, senders * count * (count - 1) / 2);
      EXPECT_THROW(values.send(1), error);
      EXPECT_FALSE(values.try_receive());
    }
  });
}

future<void> pass_on_squares(channel<int>& in, channel<int>& out) {
  while (const auto x = co_await in.async_receive()) co_await out.async_send(*x * *x);
  out.close();
}

// Whoever is called first, each leaves its caller's stack where it waits.
TEST(a_channel, is_awaited_by_coroutines) {
  run_everywhere([] {
    for (const bool forwards : {true, false}) {
      constexpr int count = 300;
      channel<int> numbers(4), squares(1);
      const auto give = [](channel<int>& out) -> future<void> {
        for (int i = 1; i <= count; ++i) co_await out.async_send(i);
        out.close();
      };
      const auto total = [](channel<int>& in) -> future<int> {
        int sum = 0;
        while (const auto x = co_await in.async_receive()) sum += *x;
        co_return sum;
      };
      future<void> first, second;
      future<int> third;
      if (forwards) {
        first = give(numbers);
        second = pass_on_squares(numbers, squares);
        third = total(squares);
      } else {
        third = total(squares);
        second = pass_on_squares(numbers, squares);
        first = give(numbers);
      }
      EXPECT_EQ(third.get(), count * (count + 1) * (2 * count + 1) / 6);
      second.get();
      first.get();
    }
  });
}

TEST(a_channel, serves_coroutines_and_tasks_in_their_order) {
  run_everywhere([] {
    channel<std::string> texts(2);
    constexpr int senders = 3, count = 40;
    std::atomic<int> got = 0, open = 2 * senders;
    std::vector<future<void>> all;
    const auto take_awaited = [&]() -> future<void> {
      while (const auto text = co_await texts.async_receive()) ++got;
    };
    const auto give_awaited = [&]() -> future<void> {
      for (int i = 0; i < count; ++i) co_await texts.async_send(std::string(30, 'a'));
      if (--open == 0) texts.close();
    };
    for (int i = 0; i < 2; ++i) {
      all.push_back(take_awaited());
      all.push_back(spawn([&] {
        while (const auto text = texts.receive()) ++got;
      }));
    }
    for (int i = 0; i < senders; ++i) {
      all.push_back(give_awaited());
      all.push_back(spawn([&] {
        for (int j = 0; j < count; ++j) texts.send(std::string(30, 'b'));
        if (--open == 0) texts.close();
      }));
    }
    collect(std::move(all)).get();
    EXPECT_EQ(got, 2 * senders * count);
    const auto late = [&]() -> future<void> { co_await texts.async_send("late"); };
    EXPECT_THROW(late().get(), error);
    EXPECT_FALSE(texts.receive());
    // What is not awaited does nothing.
    channel<int> unused(1);
    { const auto nothing = unused.async_send(1); }
    EXPECT_FALSE(unused.try_receive());
  });
}

// The channel goes before those that wait for it, with and without a stop of the job.
TEST(a_channel, may_go_while_coroutines_wait) {
  run_everywhere([] {
    auto values = std::make_unique<channel<int>>(1);
    const auto take = [](channel<int>& of) -> future<bool> {
      co_return (co_await of.async_receive()).has_value();
    };
    future<bool> first = take(*values), second = take(*values);
    values.reset();
    EXPECT_FALSE(first.get());
    EXPECT_FALSE(second.get());
  });
  testing::internal::CaptureStderr();
  auto kept = std::make_shared<int>(0);
  EXPECT_EQ(run_tasks(workers_of(2),
                      [&] {
                        channel<std::shared_ptr<int>> in(1), out(1);
                        const auto take = [](channel<std::shared_ptr<int>>& of) -> future<void> {
                          (void)co_await of.async_receive();
                        };
                        const auto give = [](channel<std::shared_ptr<int>>& of,
                                             std::shared_ptr<int> what) -> future<void> {
                          for (;;) co_await of.async_send(what);
                        };
                        future<void> waits = take(in), sends = give(out, kept);
                        waits.get();
                      }),
            1);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("in co_await, of a future which a sender of the channel made at "
                      "coroutine_test.cpp:"),
            std::string::npos)
      << text;
  EXPECT_EQ(kept.use_count(), 1);
}

// Its caller may be the one that it waits for.
TEST(a_coroutine, is_refused_where_it_would_wait_for_a_channel_on_its_callers_stack) {
  run_everywhere([] {
    channel<int> values(2);
    const auto give = [](channel<int>& to) -> future<int> {
      for (int i = 0; i < 5; ++i) to.send(i);
      co_return 5;
    };
    const auto take = [](channel<int>& from) -> future<int> {
      co_return from.receive().value_or(-1);
    };
    try {
      (void)give(values).get();
      ADD_FAILURE() << "it did not wait";
    } catch (const error& e) {
      EXPECT_NE(std::string(e.what()).find(
                    "channel::send in a coroutine that has not waited yet would make its caller "
                    "wait"),
                std::string::npos)
          << e.what();
      EXPECT_NE(std::string(e.what()).find("co_await channel.async_send(value)"),
                std::string::npos);
    }
    EXPECT_EQ(take(values).get(), 0);  // What is there is given.
    EXPECT_EQ(take(values).get(), 1);
    EXPECT_THROW((void)take(values).get(), error);
    // With a stack of its own it may.
    future<int> spawned = spawn([&] { return give(values); });
    EXPECT_EQ(values.receive(), 0);
    future<int> last = spawn([&] { return take(values); });
    for (int left = 3; left > 0; --left) EXPECT_TRUE(values.receive());
    EXPECT_EQ(spawned.get(), 5);
    EXPECT_GT(last.get(), 0);
    // So it may after it has waited, and so may what it calls that is none.
    promise<void> later;
    future<int> waits = [](channel<int>& from, future<void> first) -> future<int> {
      co_await first;
      co_return from.receive().value_or(-1);
    }(values, later.get_future());
    later.set_value();
    values.send(9);
    EXPECT_EQ(waits.get(), 9);
    future<void> giver = spawn([&] {
      yield();
      values.send(8);
    });
    future<int> other = [](channel<int>& from) -> future<int> {
      co_return spawn([&from] { return from.receive().value_or(-1); }).get();
    }(values);
    EXPECT_EQ(other.get(), 8);
    giver.get();
  });
}

TEST(spawn, gives_what_the_coroutine_gives_that_it_begins) {
  run_everywhere([] {
    future<int> plain = spawn([] { return fib(8); });
    EXPECT_EQ(plain.get(), 21);
    // What the lambda has captured lives as long as the coroutine.
    auto text = std::make_shared<std::string>("captured");
    future<std::string> captured = spawn([text]() -> future<std::string> {
      co_await spawn([] {});
      co_return *text;
    });
    EXPECT_EQ(captured.get(), "captured");
    EXPECT_EQ(text.use_count(), 1);
    future<void> nothing = spawn([]() -> future<void> { co_await spawn([] {}); });
    nothing.get();
    EXPECT_THROW(spawn([]() -> future<void> {
                   co_await spawn([] {});
                   throw std::runtime_error("inside");
                 }).get(),
                 std::runtime_error);
    EXPECT_THROW(spawn([]() -> future<void> { throw 3; }).get(), int);
    EXPECT_THROW(spawn([] { return future<int>(); }).get(), error);
    EXPECT_EQ(spawn([](std::stop_token) -> future<int> { co_return 4; }).get(), 4);
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(
        (void)spawn([]() -> future<int> { co_return 4; }, {.stop = stop.get_token()}).get(),
        cancelled);
    std::vector<future<int>> many;
    promise<int> late;
    const shared_future<int> all = late.get_future().share();
    for (int i = 0; i < 500; ++i)
      many.push_back(spawn([all]() -> future<int> { co_return co_await all + 1; }));
    late.set_value(1);
    for (const int one : collect(std::move(many)).get()) EXPECT_EQ(one, 2);
  });
}

TEST(a_channel, that_nobody_serves_is_in_the_report) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_tasks(workers_of(1),
                      [] {
                        channel<int> empty;
                        (void)empty.receive();
                      }),
            1);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(
      text.find("in channel::receive, which a sender of the channel made at coroutine_test.cpp:"),
      std::string::npos)
      << text;
}

TEST(senders, run_as_tasks_and_hand_values_on) {
  using namespace execution;
  run_everywhere([] {
    auto work =
        schedule(get_scheduler()) | then([] { return 6; }) | then([](int x) { return 7 * x; });
    const auto [answer] = sync_wait(std::move(work)).value();
    EXPECT_EQ(answer, 42);
    const auto [a, b] = sync_wait(just(1, std::string("two"))).value();
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, "two");
    EXPECT_TRUE(sync_wait(schedule(get_scheduler())).has_value());
  });
}

TEST(senders, wait_for_all_and_let_values_choose_what_follows) {
  using namespace execution;
  run_everywhere([] {
    const auto on = get_scheduler();
    auto both =
        execution::when_all(schedule(on) | then([] { return 1; }),
                            schedule(on) | then([] { return std::string("x"); }), just(2.5));
    const auto [one, text, half] = sync_wait(std::move(both)).value();
    EXPECT_EQ(one, 1);
    EXPECT_EQ(text, "x");
    EXPECT_EQ(half, 2.5);
    auto chosen =
        just(20) | let_value([on](int& x) { return schedule(on) | then([&x] { return x + 1; }); });
    EXPECT_EQ(std::get<0>(sync_wait(std::move(chosen)).value()), 21);
  });
}

TEST(senders, throw_and_stop) {
  using namespace execution;
  run_everywhere([] {
    const auto on = get_scheduler();
    EXPECT_THROW(
        (void)sync_wait(schedule(on) | then([]() -> int { throw std::runtime_error("no"); })),
        std::runtime_error);
    EXPECT_THROW(
        (void)sync_wait(execution::when_all(schedule(on) | then([] { throw 1; }), schedule(on))),
        int);
    std::stop_source stop;
    stop.request_stop();
    bool ran = false;
    EXPECT_FALSE(sync_wait(schedule(on) | then([&] { ran = true; }), stop.get_token()).has_value());
    EXPECT_FALSE(ran);
  });
}

}  // namespace
}  // namespace weft
