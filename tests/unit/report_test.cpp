#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "diagnosis/names.hpp"
#include "diagnosis/stacks.hpp"
#include "job.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

TEST(a_deadlock_report,
     names_the_cycle_of_a_communicator_of_some_ranks_by_their_numbers_in_the_job) {
  const failed_job job = run_to_failure(job_of(4, 2), [](communicator& world) {
    const communicator half = *world.split(world.rank() % 2);
    static_cast<void>(half.recv<int>(1 - half.rank(), 3));
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "cycle: rank 0 waits for rank 2 waits for rank 0");
  expect_contains(job.text, "rank 3: in recv, source 0, tag 3, 4 bytes, communicator");
}

TEST(a_deadlock_report, says_who_is_missing_in_a_collective_that_does_not_block) {
  const failed_job job = run_to_failure(job_of(3, 2), [](communicator& world) {
    if (world.rank() == 1) return;
    request barrier = world.ibarrier();
    barrier.wait();
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "rank 0: in wait (collective), communicator 0; not there yet: 1");
  expect_contains(job.text, "rank 0 waits for rank 1, which has ended");
}

TEST(a_deadlock_report, names_a_message_that_came_in_place_of_the_one_that_a_rank_waits_for) {
  const auto hangs = [](const std::function<void(communicator&)>& send,
                        const std::function<void(communicator&)>& receive,
                        const std::string& line) {
    for (const int workers : {1, 3}) {
      const failed_job job = run_to_failure(job_of(3, workers), [&](communicator& world) {
        (world.rank() == 0 ? receive : send)(world);
      });
      EXPECT_EQ(job.status, 1);
      expect_contains(job.text, "weft:   rank 0: in " + line + "\n");
    }
  };
  const auto in_one = [](int rank, const std::function<void(communicator&)>& send) {
    return [=](communicator& world) {
      if (world.rank() == rank) send(world);
    };
  };
  const auto receive = [](communicator& world) { (void)world.recv<int>(1, 5); };
  const std::string waits = "recv, source 1, tag 5, 4 bytes, communicator 0";
  const auto another_tag = in_one(1, [](communicator& world) { world.send(2.0, 0, 4); });
  hangs(another_tag, receive,
        waits + "; a message of rank 1 with tag 4, 8 bytes, waits unreceived");
  hangs(
      another_tag, [value = 0](communicator& world) mutable { world.irecv(value, 1, 5).wait(); },
      "wait (irecv), source 1, tag 5, 4 bytes, communicator 0; a message of rank 1 with tag 4, 8 "
      "bytes, waits unreceived");
  hangs(
      another_tag, [](communicator& world) { world.probe(1, 5); },
      "probe, source 1, tag 5, communicator 0; a message of rank 1 with tag 4, 8 bytes, waits "
      "unreceived");
  // One that its sender keeps.
  hangs(in_one(1, [](communicator& world) { world.ssend(2.0, 0, 4); }), receive,
        waits + "; a message of rank 1 with tag 4, 8 bytes, waits unreceived");
  hangs(in_one(2, [](communicator& world) { world.send(2, 0, 5); }), receive,
        waits + "; a message of rank 2 with tag 5, 4 bytes, waits unreceived");
  // That of the rank which is waited for goes first.
  hangs(
      [](communicator& world) {
        if (world.rank() == 1) (void)world.recv<int>(2);
        for (int i = 0; i < 3; ++i) world.send(world.rank(), 0, 7);
        if (world.rank() == 2) world.send(1, 1);
      },
      receive, waits + "; a message of rank 1 with tag 7, 4 bytes, waits unreceived, and 5 more");
  // In another communicator, if of that rank.
  for (const int sender : {1, 2})
    hangs(
        [=](communicator& world) {
          const communicator reversed = *world.split(0, -world.rank());
          if (world.rank() == sender) reversed.send(1, 2, 5);
        },
        [](communicator& world) {
          const communicator reversed = *world.split(0, -world.rank());
          (void)world.recv<int>(1, 5);
        },
        waits + (sender == 1 ? "; a message of rank 1 with tag 5, 4 bytes, communicator 1, waits "
                               "unreceived"
                             : ""));
}

// Each function is a frame of its own, with a line that the tests know.
constexpr int deep_line = __LINE__ + 2;
[[gnu::noinline]] void receive_deep_inside(communicator& world) {
  (void)world.recv<int>((world.rank() + 1) % world.size(), 4);
  asm volatile("");  // No tail call.
}
[[gnu::noinline]] void outer_step(communicator& world) {
  receive_deep_inside(world);
  asm volatile("");
}
// Without the directory: a cache of compilations may have another.
const std::string deep_place =
    "tests/unit/report_test.cpp:" + std::to_string(deep_line) + "\nweft:     outer_step at ";

// As in a program that is compiled for a debugger.
constexpr int lambda_line = __LINE__ + 3;
[[gnu::optimize("O0")]] std::function<void(communicator&)> receive_in_lambda() {
  return [](communicator & world) __attribute__((optimize("O0"))) {
    (void)world.recv<int>(1 - world.rank(), 4);
  };
}

TEST(a_deadlock_report, says_where_in_the_program_the_ranks_wait) {
  if (!has_debug_library()) GTEST_SKIP() << "libdw is not installed";
  for (const int workers : {1, 3}) {
    const failed_job job =
        run_to_failure(job_of(3, workers), [](communicator& world) { outer_step(world); });
    EXPECT_EQ(job.status, 1);
    expect_contains(job.text,
                    "weft:   ranks 0-2 called recv from\nweft:     receive_deep_inside at ");
    expect_contains(job.text, deep_place);
    EXPECT_EQ(count_of(job.text, "src/sched"), 0u) << job.text;
  }
}

TEST(a_deadlock_report, says_where_a_lambda_waits_that_was_compiled_without_optimization) {
  if (!has_debug_library()) GTEST_SKIP() << "libdw is not installed";
  const failed_job job = run_to_failure(job_of(2, 1), receive_in_lambda());
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "called recv from\nweft:     weft::");
  expect_contains(job.text,
                  "{lambda(weft::communicator&)#1}::operator()(weft::communicator&) const at ");
  expect_contains(job.text, "tests/unit/report_test.cpp:" + std::to_string(lambda_line) + "\n");
}

TEST(a_deadlock_report, of_many_ranks_names_each_place_once_with_all_its_ranks) {
  if (!has_debug_library()) GTEST_SKIP() << "libdw is not installed";
  const int ranks = sanitized ? 300 : 10'000;
  const failed_job job = run_to_failure(job_of(ranks, 2), [](communicator& world) {
    if (world.rank() % 1000 == 7)
      world.barrier();
    else
      outer_step(world);
    asm volatile("");
  });
  EXPECT_EQ(job.status, 1);
  EXPECT_EQ(count_of(job.text, "called recv from"), 1u) << job.text;
  EXPECT_EQ(count_of(job.text, "called barrier from"), 1u) << job.text;
  expect_contains(job.text, "ranks 0-6, 8-");
  EXPECT_LT(count_of(job.text, "\n"), 100u) << job.text;
}

TEST(the_report_signal, says_where_ranks_wait_and_leaves_them_waiting) {
  if (!has_debug_library()) GTEST_SKIP() << "libdw is not installed";
  const std::string waiting = "ranks 1-3 called recv from\nweft:     receive_deep_inside at ";
  testing::internal::CaptureStderr();
  run_ranks(alone(job_of(4, 2)), [&](communicator& world) {
    if (world.rank() == 0) {
      ask_until_reported(SIGUSR1, waiting, 3);
      world.send(1, 3, 4);
    } else {
      outer_step(world);
      if (world.rank() > 1) world.send(2, world.rank() - 1, 4);
    }
  });
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_GE(count_of(text, waiting), 3u) << text;
  EXPECT_GE(count_of(text, deep_place), 3u) << text;
}

// --- Ranks that compute ----------------------------------------------------------------------------

std::atomic<bool> go_on{false};

[[gnu::noinline]] void compute_until_told() {
  while (!go_on) {
  }
}
[[gnu::noinline]] void sleep_until_told() {
  while (!go_on) usleep(500'000);
  asm volatile("");
}

// The report asks each worker, waits for those that come to no pass, and interrupts the rest.
void expect_reported(void (*body)(), const std::string& place, int computing = 1) {
  if (!has_debug_library()) GTEST_SKIP() << "libdw is not installed";
  if (sanitized) GTEST_SKIP() << "the sanitizer holds signals back";
  go_on = false;
  testing::internal::CaptureStderr();
  run_ranks(alone(job_of(1 + computing, 1 + computing)), [&](communicator& world) {
    if (world.rank() != 0) return body();
    ask_until_reported(SIGUSR1, place);
    go_on = true;
  });
  const std::string who = computing == 1 ? "rank 1 computes" : "ranks 1-2 compute";
  expect_contains(testing::internal::GetCapturedStderr(), who + " in\nweft:     ");
}

TEST(the_report_signal, says_where_a_rank_computes) {
  expect_reported(&compute_until_told, "compute_until_told at ");
}

TEST(the_report_signal, says_where_several_ranks_compute) {
  // Both have come there when the text has this.
  expect_reported(&compute_until_told, "  ranks 1-2 compute in\n", 2);
}

// A loop of two parts: that of this worker waits until the other's computes, which asks for the report. It comes
// from the monitor, and ends the other part.
void have_a_chunk_stolen() {
  const auto* const mine = worker::current();
  std::atomic<bool> asked{false};
  parallel_for(0, 2,
               [&](std::size_t) {
                 if (worker::current() == mine) {
                   while (!asked) usleep(1000);
                 } else {
                   asked = true;
                   kill(getpid(), SIGUSR1);
                   compute_until_told();
                 }
               },
               {.grain = 1});
}

std::string report_beside(const std::function<void(communicator&)>& body) {
  go_on = false;
  testing::internal::CaptureStderr();
  std::thread end([] {
    while (count_of(stderr_so_far(), "state of the ranks") == 0) usleep(1000);
    go_on = true;
  });
  run_ranks(alone(job_of(2, 2)), body);
  end.join();
  return testing::internal::GetCapturedStderr();
}

// No rank of the worker that takes a part of the loop is left.
TEST(the_report_signal, says_that_a_worker_computes_for_the_rank_of_another) {
  const std::string text = report_beside([](communicator& world) {
    if (world.rank() == 0) have_a_chunk_stolen();
  });
  expect_contains(
      text,
      "worker 1: computing a chunk of rank 0, stolen while its own ranks wait or have ended\n");
  EXPECT_EQ(count_of(text, "rank -1"), 0u) << text;
}

// The rank that runs it waits in a call.
TEST(the_report_signal, says_whose_chunk_a_waiting_rank_computes) {
  const bool tells_places = has_debug_library() && !sanitized;
  const std::string text = report_beside([](communicator& world) {
    if (world.rank() == 1) {
      EXPECT_EQ(world.recv<int>(0), 5);
      return;
    }
    have_a_chunk_stolen();
    world.send(5, 1);
  });
  expect_contains(text, "worker 1: computing a chunk of rank 0, stolen while its rank 1 waits\n");
  if (tells_places) expect_contains(text, "rank 1, while waiting, computes a chunk of rank 0 in\n");
}

TEST(the_report_signal, says_where_a_rank_sleeps_in_the_kernel_and_does_not_wake_it) {
  const auto start = std::chrono::steady_clock::now();
  // Without an argument in which the kernel leaves what remains, the sleep begins anew.
  static std::atomic<int> result{-1};
  // Again and again, until the report has come: on a busy machine that takes longer than one sleep.
  const auto sleep = [] {
    do result = usleep(2'000'000);
    while (result == 0 && !go_on);
  };
  expect_reported(sleep, "usleep");
  if (testing::Test::IsSkipped()) return;
  EXPECT_EQ(result, 0) << "not EINTR";
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// One worker, two ranks: the second is ready, or a message for it lies in the mailbox.
TEST(a_rank_that_keeps_its_worker, is_named_with_the_place_where_it_stands) {
  if (!has_debug_library()) GTEST_SKIP() << "libdw is not installed";
  if (sanitized) GTEST_SKIP() << "the sanitizer holds signals back";
  for (void (*const body)() : {&compute_until_told, &sleep_until_told}) {
    for (const bool by_message : {false, true}) {
      go_on = false;
      options how = alone(by_message ? job_of(3, 2, "cyclic") : job_of(2, 1));
      how.busy_warning_s = 0.2;
      testing::internal::CaptureStderr();
      // What ends the computing is no rank: those wait for it.
      std::thread end([] {
        while (count_of(stderr_so_far(), "it stands in") == 0) usleep(1000);
        go_on = true;
      });
      run_ranks(how, [&](communicator& world) {
        // Ranks 0 and 2 share worker 0; rank 2 waits before rank 0 computes.
        if (by_message && world.rank() == 2) {
          world.send(1, 0);
          (void)world.recv<int>(1);
        } else if (by_message && world.rank() == 1) {
          (void)world.recv<int>(0);
          world.send(1, 2);
        } else if (world.rank() == 0) {
          if (by_message) (void)world.recv<int>(2);
          if (by_message) world.send(1, 1);
          body();
        }
      });
      end.join();
      const std::string text = testing::internal::GetCapturedStderr();
      // One that sleeps is told of as such where all the time was one call.
      if (body != &sleep_until_told ||
          text.find(
              "rank 0 has been in a call of the system for 0.2 s, in which other ranks of worker 0 cannot run") ==
              std::string::npos) {
        expect_contains(text, "rank 0 has kept worker 0 busy for 0.2 s while ");
        expect_contains(text, by_message ? "a message for another rank of that worker waited"
                                         : "another rank of that worker was ready to run");
      }
      expect_contains(
          text, body == &compute_until_told ? "compute_until_told at " : "sleep_until_told at ");
    }
  }
}

TEST(ranks_name, is_short_and_limited) {
  EXPECT_EQ(diagnosis::ranks_name(std::vector{5}), "rank 5");
  EXPECT_EQ(diagnosis::ranks_name(std::vector{1, 3}), "ranks 1, 3");
  EXPECT_EQ(diagnosis::ranks_name(std::vector{0, 1, 2, 3, 4, 7, 9, 10}), "ranks 0-4, 7, 9-10");
  std::vector<int> even(50);
  for (int i = 0; i < 50; ++i) even[static_cast<std::size_t>(i)] = 2 * i;
  EXPECT_EQ(diagnosis::ranks_name(even),
            "ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 38 more");
}

TEST(a_communicator, may_be_kept_for_longer_than_its_job) {
  std::optional<communicator> kept;
  run_ranks(alone(job_of(2, 1)), [&](communicator& world) {
    if (world.rank() == 0) kept = world;
  });
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->size(), 2);
}

}  // namespace
}  // namespace weft
