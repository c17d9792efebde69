// Workers that move between threads. docs/protocols/moving.md.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/topology.hpp"
#include "bodies_on_workers.hpp"
#include "job.hpp"
#include "sched/moving_threads.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

#define WEFT_NEEDS_IMAGES()                                 \
  if (!std::filesystem::exists(WEFT_PROGRAM_DIR "/weftcc")) \
  GTEST_SKIP() << "built with a sanitizer, which takes each copy of a program for a different one"

using namespace std::chrono_literals;
using tests::run_on_workers;
using body = std::function<void(worker&)>;

scheduler_options on_threads(int threads) {
  scheduler_options how;
  how.threads = threads;
  return how;
}

constexpr wait_description waiting{"test"};

// As another worker's message does: the flag, then whoever sleeps.
struct event {
  std::atomic<bool> is_set{false};
  void wait(worker& here) {
    here.wait_until([this] { return is_set.load(); }, waiting);
  }
  void set(worker& of) {
    is_set = true;
    of.notify();
  }
};

// Without a call, as a program computes.
template <class Condition>
bool computes_until(const Condition& condition) {
  for (const std::uint64_t end = now_ns() + 10'000'000'000; !condition();)
    if (now_ns() > end) return false;
  return true;
}
void compute(std::chrono::nanoseconds duration) {
  const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(duration.count());
  while (now_ns() < end) {
  }
}

// Workers 0 and 1 begin on one thread, worker 2 on another.
TEST(a_worker_that_moves, runs_on_an_idle_thread_while_another_computes_on_its_own) {
  std::atomic<bool> flag{false};
  run_on_workers({[&](worker&) { EXPECT_TRUE(computes_until([&] { return flag.load(); })); },
                  [&](worker&) { flag = true; }, [](worker&) {}},
                 on_threads(2));
}

TEST(a_worker_that_moves, runs_on_a_spare_thread_while_all_others_compute) {
  std::atomic<bool> flag{false};
  const body computes = [&](worker&) { EXPECT_TRUE(computes_until([&] { return flag.load(); })); };
  run_on_workers({computes, [&](worker&) { flag = true; }, computes}, on_threads(2));
}

TEST(a_worker_that_moves, runs_while_the_kernel_holds_the_only_thread) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  run_on_workers({[&](worker&) {
                    char got = 0;
                    EXPECT_EQ(::read(ends[0], &got, 1), 1);
                    EXPECT_EQ(got, 'x');
                  },
                  [&](worker&) { EXPECT_EQ(::write(ends[1], "x", 1), 1); }},
                 on_threads(1));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(a_worker_that_moves, wakes_in_time_although_its_thread_computes) {
  std::atomic<bool> has_slept{false};
  event sleeps;
  run_on_workers({[&](worker& here) {
                    sleeps.wait(here);
                    EXPECT_TRUE(computes_until([&] { return has_slept.load(); }));
                  },
                  [&](worker& here) {
                    sleeps.set(here.owner().at(0));
                    here.sleep(20'000'000, waiting);
                    has_slept = true;
                  },
                  [](worker&) {}},
                 on_threads(2));
}

TEST(a_worker_that_moves, gives_way_while_its_own_fibers_yield_to_each_other) {
  std::atomic<bool> flag{false};
  run_on_workers({[&](worker& here) {
                    while (!flag) here.yield();
                  },
                  [&](worker&) { flag = true; }},
                 on_threads(1));
}

// A condition that may act sends, and takes what comes: it is of one thread.
void look_at_conditions_that_act(const scheduler_options& how) {
  std::vector<std::atomic<int>> turn(4);
  std::atomic<int> elsewhere{0};
  std::vector<body> bodies;
  for (int i = 0; i < 4; ++i)
    bodies.emplace_back([&, i](worker& here) {
      for (int round = 1; round <= 50; ++round) {
        if (i != 0 || round != 1)
          here.wait_until(
              [&] {
                if (worker::current() != &here) ++elsewhere;
                return turn[static_cast<std::size_t>(i)].load() >= (i == 0 ? round - 1 : round);
              },
              waiting);
        if (round % 10 == 0) compute(2ms);
        turn[static_cast<std::size_t>((i + 1) % 4)] = round;
        here.owner().at((i + 1) % 4).notify();
      }
    });
  run_on_workers(bodies, how);
  EXPECT_EQ(elsewhere, 0);
}

TEST(workers_that_move, look_at_conditions_that_act_on_their_own_thread_alone) {
  scheduler_options how = on_threads(2);
  look_at_conditions_that_act(how);
  how.always_moves = true;
  look_at_conditions_that_act(how);
}

std::uint64_t used_processor_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(used.tv_nsec);
}

// Worker 1 could go on, and its thread computes. The other thread may not take it, and sleeps meanwhile.
TEST(a_worker_that_stays, keeps_no_other_thread_awake) {
  std::atomic<bool> waits{false};
  std::uint64_t used = 0;
  run_on_workers({[&](worker& here) {
                    while (!waits) here.yield();
                    const std::uint64_t before = used_processor_ns();
                    compute(200ms);
                    used = used_processor_ns() - before;
                  },
                  [&](worker& here) {
                    const kept_on_thread kept(&here);
                    waits = true;
                    here.sleep(5'000'000, waiting);
                  },
                  [](worker&) {}},
                 on_threads(2));
  EXPECT_LT(used, 300'000'000u);
}

// Chunks of worker 0's loop say that their rank needs its thread.
TEST(a_worker_that_stays, does_so_when_a_chunk_of_its_loop_says_so) {
  std::atomic<int> said{0};
  std::set<int> threads_after;
  scheduler_options how = on_threads(3);
  how.always_moves = true;
  std::vector<body> bodies(5, [](worker& here) { here.sleep(20'000'000, waiting); });
  bodies[0] = [&](worker& here) {
    loop l{[](void* count, std::int64_t, std::int64_t) {
             compute(200us);
             EXPECT_TRUE(kept_on_thread(worker::current()).keep_for_good());
             ++*static_cast<std::atomic<int>*>(count);
           },
           &said, 8, true, true};
    here.execute(l);
    EXPECT_EQ(said, 8);
    for (int i = 0; i < 20; ++i) {
      here.sleep(300'000, waiting);
      if (i > 0) threads_after.insert(::gettid());
    }
  };
  run_on_workers(bodies, how);
  EXPECT_EQ(threads_after.size(), 1u);
}

// Numbers go round through all workers; each waits for its own, sometimes for so long that its thread sleeps.
void pass_round(int workers, const scheduler_options& how, int rounds,
                const std::function<void(int)>& between) {
  std::vector<std::atomic<int>> turn(static_cast<std::size_t>(workers));
  std::vector<body> bodies;
  for (int i = 0; i < workers; ++i)
    bodies.emplace_back([&, i](worker& here) {
      for (int round = 1; round <= rounds; ++round) {
        auto& mine = turn[static_cast<std::size_t>(i)];
        if (i != 0 || round != 1)
          here.wait_until([&] { return mine.load() >= (i == 0 ? round - 1 : round); }, waiting);
        between(round);
        const int next = (i + 1) % workers;
        turn[static_cast<std::size_t>(next)] = round;
        here.owner().at(next).notify();
      }
    });
  run_on_workers(bodies, how);
}

TEST(workers_that_move, lose_no_wake_up) {
  pass_round(7, on_threads(3), sanitized ? 200 : 2000, [](int) {});
}

TEST(workers_that_move, lose_no_wake_up_when_their_threads_sleep) {
  pass_round(5, on_threads(2), 20, [](int) { std::this_thread::sleep_for(2ms); });
}

TEST(workers_that_move, lose_no_wake_up_when_there_are_more_than_a_thread_can_sleep_at) {
  pass_round(300, on_threads(2), 2, [](int round) {
    if (round == 2) std::this_thread::sleep_for(100us);
  });
}

TEST(workers_that_move, lose_no_wake_up_when_they_move_at_every_wait) {
  scheduler_options how = on_threads(3);
  how.always_moves = true;
  pass_round(7, how, sanitized ? 100 : 1000, [](int) {});
  pass_round(5, how, 20, [](int) { std::this_thread::sleep_for(2ms); });
}

// Compilers keep the address of errno within a function.
[[gnu::noinline]] int& errno_here() {
  asm volatile("");
  return errno;
}

TEST(workers_that_move, keep_errno_exceptions_and_their_own_worker) {
  constexpr int workers = 5, rounds = 40;
  std::atomic<int> changes{0};
  std::vector<body> bodies;
  for (int i = 0; i < workers; ++i)
    bodies.emplace_back([&, i](worker& here) {
      for (int round = 0; round < rounds; ++round) {
        const int mark = 1000 * i + round + 1;
        const int thread_before = ::gettid();
        errno_here() = mark;
        const std::string text = "of worker " + std::to_string(i);
        try {
          throw std::runtime_error(text);
        } catch (const std::runtime_error& outer) {
          here.sleep(static_cast<std::uint64_t>(100'000 + 50'000 * i), waiting);
          EXPECT_EQ(errno_here(), mark);
          EXPECT_EQ(worker::current(), &here);
          EXPECT_EQ(here.thread(), ::gettid());
          EXPECT_EQ(std::uncaught_exceptions(), 0);
          EXPECT_EQ(outer.what(), text);
          const std::exception_ptr now = std::current_exception();
          ASSERT_NE(now, nullptr);
          EXPECT_THROW(std::rethrow_exception(now), std::runtime_error);
        }
        EXPECT_EQ(std::current_exception(), nullptr);
        if (::gettid() != thread_before) ++changes;
      }
    });
  scheduler_options how = on_threads(3);
  how.always_moves = true;
  run_on_workers(bodies, how);
  EXPECT_GT(changes, 0);
}

// --- Ranks --------------------------------------------------------------------------------------------

int cores() {
  return static_cast<int>(machine_topology().threads.size());
}
options moving(int ranks, const char* way = "on") {
  options how = alone(job_of(ranks, 0));
  how.moving = way;
  return how;
}

void exchange_messages_and_meet(const char* way) {
  run_ranks(moving(3 * cores() + 1, way), [](communicator& world) {
    const int next = (world.rank() + 1) % world.size();
    const int previous = (world.rank() + world.size() - 1) % world.size();
    std::vector<int> large(20'000, world.rank());
    for (int round = 0; round < 20; ++round) {
      compute(world.rank() % 3 == 0 ? 300us : 1us);
      std::vector<int> got(large.size());
      request r = world.irecv(std::span(got), previous);
      world.send(std::span<const int>(large), next);
      r.wait();
      EXPECT_EQ(got.front(), previous);
      EXPECT_EQ(got.back(), previous);
      EXPECT_EQ(world.allreduce(world.rank(), std::plus<>{}),
                world.size() * (world.size() - 1) / 2);
    }
  });
}

TEST(ranks_that_move, exchange_messages_and_meet) {
  exchange_messages_and_meet("on");
}

TEST(ranks_that_move, exchange_messages_and_meet_while_they_move_at_every_wait) {
  exchange_messages_and_meet("always");
}

TEST(ranks_that_move, are_told_of_a_deadlock) {
  const failed_job job = run_to_failure(moving(2 * cores() + 1), [](communicator& world) {
    (void)world.recv<int>((world.rank() + 1) % world.size());
  });
  EXPECT_NE(job.status, 0);
  expect_contains(job.text, "deadlock");
}

TEST(ranks_that_move, are_stopped_when_one_fails) {
  const failed_job job = run_to_failure(moving(2 * cores() + 1), [](communicator& world) {
    if (world.rank() == 1) throw std::runtime_error("on purpose");
    world.barrier();
  });
  EXPECT_NE(job.status, 0);
  expect_contains(job.text, "on purpose");
}

TEST(ranks_that_move, take_chunks_of_each_others_loops) {
  run_ranks(moving(2 * cores() + 1), [](communicator& world) {
    std::atomic<std::int64_t> sum{0};
    if (world.rank() == 0)
      parallel_for(0, 1000, [&](std::size_t i) {
        compute(10us);
        sum += static_cast<std::int64_t>(i);
      });
    world.barrier();
    EXPECT_EQ(sum, world.rank() == 0 ? 499'500 : 0);
  });
}

TEST(ranks_that_move, stay_where_they_are_when_each_has_a_core) {
  run_ranks(moving(cores()), [](communicator& world) {
    EXPECT_FALSE(worker::current()->moves());
    world.barrier();
  });
}

TEST(ranks_that_move, stay_where_they_are_when_records_are_kept_by_thread_and_that_is_told) {
  options how = moving(2 * cores() + 1);
  how.schedule = 7;
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(how, [](communicator&) { EXPECT_FALSE(worker::current()->moves()); }), 0);
  expect_contains(testing::internal::GetCapturedStderr(), "moving: workers stay on their threads");
}

// --- Programs -----------------------------------------------------------------------------------------

outcome run_moving(const std::string& words, const std::string& way = "on") {
  return shell("timeout -s KILL 100 ./weftrun --timeout 60 --moving " + way + " -n " +
               std::to_string(3 * cores() + 1) + " " + words);
}

// A directory that goes with it.
struct directory_for_a_while {
  std::string path = std::filesystem::temp_directory_path() / "weft-moving-XXXXXX";
  directory_for_a_while() { EXPECT_NE(::mkdtemp(path.data()), nullptr); }
  ~directory_for_a_while() { std::filesystem::remove_all(path); }
  directory_for_a_while(const directory_for_a_while&) = delete;
  directory_for_a_while& operator=(const directory_for_a_while&) = delete;
};

void look_at_what_is_theirs(const std::string& way, const std::string& words = "") {
  const directory_for_a_while theirs;
  const outcome ran = run_moving(words + " --stats image/moves " + theirs.path, way);
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(count_of(ran.text, "right\n"), static_cast<std::size_t>(3 * cores() + 1)) << ran.text;
  expect_contains(ran.text, "funneled\n");
  expect_contains(ran.text, "failed steals      moves\n");
}

TEST(a_program_of_ranks_that_move, finds_what_is_theirs_in_each_of_them) {
  WEFT_NEEDS_IMAGES();
  look_at_what_is_theirs("on");
}

TEST(a_program_of_ranks_that_move, finds_what_is_theirs_when_they_move_at_every_wait) {
  WEFT_NEEDS_IMAGES();
  look_at_what_is_theirs("always");
}

TEST(a_program_of_ranks_that_move, finds_what_is_theirs_in_two_processes) {
  WEFT_NEEDS_IMAGES();
  for (const char* const way : {"on", "always"})
    for (const char* const transport : {"shm", "ofi:tcp"})
      look_at_what_is_theirs(way, std::string("--processes 2 --transport ") + transport);
}

TEST(a_program_of_ranks_that_move, uses_no_core_while_all_its_ranks_wait) {
  WEFT_NEEDS_IMAGES();
  for (const char* const how :
       {"", "--processes 2 --transport shm", "--processes 2 --transport ofi:tcp"}) {
    const outcome ran = run_moving(std::string(how) + " image/rests");
    EXPECT_EQ(ran.status, 0) << how << ran.text;
    expect_contains(ran.text, "right\n");
  }
}

TEST(a_program_of_ranks_that_move, reads_errno_of_the_thread_on_which_a_wait_ends) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_moving("image/errno", "always");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(ran.text.find("stay on their threads"), std::string::npos) << ran.text;
  EXPECT_EQ(count_of(ran.text, "right\n"), static_cast<std::size_t>(3 * cores() + 1)) << ran.text;
}

TEST(a_program_of_ranks_that_move,
     stays_on_its_threads_when_its_compiler_keeps_the_address_of_errno) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_moving("image/errno_plain", "always");
  EXPECT_EQ(ran.status, 0) << ran.text;
  expect_contains(ran.text, "keeps the address of errno");
}

TEST(a_program_of_ranks_that_move, shows_its_moves_in_a_timeline) {
  WEFT_NEEDS_IMAGES();
  const directory_for_a_while theirs;
  const std::string file = theirs.path + "/moves.json";
  const outcome ran = run_moving("--trace " + file + " image/moves " + theirs.path, "always");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(ran.text.find("stay on their threads"), std::string::npos) << ran.text;
  const std::string text = shell("cat " + file).text;
  expect_contains(text, "to another thread");
  expect_contains(text, "no thread");
}

TEST(a_program_of_ranks_that_move, has_accounts_of_its_ranks) {
  WEFT_NEEDS_IMAGES();
  for (const char* const way : {"on", "always"}) {
    const directory_for_a_while theirs;
    const outcome ran = run_moving(
        "--breakdown --breakdown-file " + theirs.path + "/page.html image/moves " + theirs.path,
        way);
    EXPECT_EQ(ran.status, 0) << ran.text;
    EXPECT_EQ(ran.text.find("stay on their threads"), std::string::npos) << ran.text;
    expect_contains(ran.text, "breakdown of");
    expect_contains(ran.text, "efficiency");
    expect_contains(shell("cat " + theirs.path + "/page.json").text, "could_run_elsewhere");
  }
}

TEST(a_program_of_ranks_that_move,
     stays_on_its_threads_when_it_has_thread_locals_and_that_is_told) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_moving("image/initial_exec");
  EXPECT_EQ(ran.status, 0) << ran.text;
  expect_contains(ran.text, "has thread_local variables");
}

}  // namespace
}  // namespace weft
