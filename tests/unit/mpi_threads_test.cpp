// Threads that ranks make and that call MPI. Here each is told its rank by hand; programs of weftcc have
// a pthread_create that does it, which tests/conformance/threads.c uses.
#include <gtest/gtest.h>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/kernel.hpp"
#include "job.hpp"
#include "mpi/mpi.h"
#include "sched/attached_thread.hpp"
#include "sched/worker.hpp"

namespace weft {
namespace {

class rank_threads {
 public:
  rank_threads() = default;
  ~rank_threads() {  // In a job that stops, too.
    for (std::thread& t : threads_) t.join();
  }
  rank_threads(const rank_threads&) = delete;
  rank_threads& operator=(const rank_threads&) = delete;
  void start(const std::function<void()>& body) {
    ++living_;
    threads_.emplace_back([this, body, origin = origin_of_new_thread()]() mutable {
      struct ended {
        std::atomic<int>& living;
        ~ended() { --living; }
      } const at_the_end{living_};
      set_origin_of_this_thread(std::move(origin));
      body();
    });
  }
  // Other ranks of the worker run meanwhile, or none do.
  void join(bool letting_others_run) {
    while (letting_others_run && living_ != 0) yield();
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }

 private:
  std::atomic<int> living_{0};
  std::vector<std::thread> threads_;
};

constexpr int thread_count = 3;
const int rounds = sanitized ? 20 : 200;

void exchange(int rank, int ranks, int tag) {
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  for (int i = 0; i < rounds; ++i) {
    std::vector<int> out(i % 10 == 0 ? 100000 : 1, 1000 * rank + i), in(out.size(), -1);
    MPI_Request request;
    MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_INT, left, tag, MPI_COMM_WORLD, &request);
    MPI_Send(out.data(), static_cast<int>(out.size()), MPI_INT, right, tag, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ASSERT_EQ(in.front(), 1000 * left + i);
    ASSERT_EQ(in.back(), 1000 * left + i);
  }
}

void exchange_in_threads(int ranks, int workers, bool letting_others_run) {
  run_ranks(ranks, workers, [&](communicator& world) {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    ASSERT_EQ(level, MPI_THREAD_MULTIPLE);
    const int rank = world.rank();
    rank_threads threads;
    for (int t = 0; t < thread_count; ++t) threads.start([=] { exchange(rank, ranks, t); });
    if (letting_others_run) exchange(rank, ranks, thread_count);
    threads.join(letting_others_run);
    MPI_Finalize();
  });
}

TEST(mpi_threads, exchange_messages_while_their_ranks_are_blocked_in_the_kernel) {
  exchange_in_threads(2, 2, false);
}

TEST(mpi_threads, exchange_messages_while_their_ranks_do_too) {
  exchange_in_threads(2, 2, true);
}

TEST(mpi_threads, of_several_ranks_of_a_worker_exchange_messages) {
  exchange_in_threads(3, 1, true);
}

// As pthread_barrier_wait() is for weft: the thread sleeps in the kernel, and its worker with it.
class kernel_barrier {
 public:
  explicit kernel_barrier(unsigned threads) { pthread_barrier_init(&barrier_, nullptr, threads); }
  ~kernel_barrier() { pthread_barrier_destroy(&barrier_); }
  void wait() { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_{};
};

// What the rank (or its thread) begins, its thread ends, by waiting or by looking again and again.
void end_by_thread(int rank, int ranks, bool begun_by_thread) {
  kernel_barrier begun(2), ended(2);
  MPI_Request request = MPI_REQUEST_NULL;
  rank_threads threads;
  for (int i = 0; i < rounds; ++i) {
    std::vector<int> mine(i % 5 == 0 ? 30000 : 1, rank + i), sums(mine.size(), -1);
    const auto begin = [&] {
      MPI_Iallreduce(mine.data(), sums.data(), static_cast<int>(sums.size()), MPI_INT, MPI_SUM,
                     MPI_COMM_WORLD, &request);
    };
    threads.start([&] {
      if (begun_by_thread)
        begin();
      else
        begun.wait();
      int is_over = i % 2;
      if (is_over != 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
      while (is_over == 0) MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
      ended.wait();
    });
    if (!begun_by_thread) {
      begin();
      begun.wait();
    }
    ended.wait();
    threads.join(false);
    ASSERT_EQ(sums.front(), ranks * (ranks - 1) / 2 + ranks * i);
    ASSERT_EQ(sums.back(), sums.front());
    MPI_Barrier(MPI_COMM_WORLD);  // Urgent fibers go on here that the thread has left.
  }
}

TEST(mpi_threads, end_collectives_while_their_ranks_are_blocked_in_the_kernel) {
  for (const bool begun_by_thread : {true, false})
    for (const int ranks : {1, 2, 3})
      run_ranks(ranks, ranks, [&](communicator& world) {
        int level = 0;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
        end_by_thread(world.rank(), ranks, begun_by_thread);
        MPI_Finalize();
      });
}

// Each is begun by one of rank and thread and ended by the other, several at a time.
TEST(mpi_threads, pass_collectives_to_their_ranks_and_back) {
  run_ranks(3, 2, [&](communicator& world) {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    constexpr int at_once = 4;
    for (int i = 0; i < rounds; ++i) {
      std::vector<MPI_Request> requests(at_once);
      std::vector<MPI_Comm> comms(at_once);
      std::vector<int> values(at_once, world.rank() == 1 ? i : -1);
      if (i == 0 || i % 10 == 0)
        for (MPI_Comm& c : comms) MPI_Comm_dup(MPI_COMM_WORLD, &c);
      else
        for (MPI_Comm& c : comms) c = MPI_COMM_WORLD;
      const auto begin = [&](int k) {
        const auto at = static_cast<std::size_t>(k);
        MPI_Ibcast(&values[at], 1, MPI_INT, 1, comms[at], &requests[at]);
      };
      for (int k = 0; k < at_once; ++k) begin(k);
      rank_threads threads;
      threads.start([&] { MPI_Waitall(at_once / 2, requests.data(), MPI_STATUSES_IGNORE); });
      MPI_Waitall(at_once / 2, requests.data() + at_once / 2, MPI_STATUSES_IGNORE);
      threads.join(true);
      for (const int v : values) ASSERT_EQ(v, i);
      if (comms[0] != MPI_COMM_WORLD)
        for (MPI_Comm& c : comms) MPI_Comm_free(&c);
    }
    MPI_Finalize();
  });
}

// All workers are parked meanwhile, and no rank could go on by itself.
TEST(mpi_threads, that_send_later_keep_ranks_that_all_wait_from_being_called_a_deadlock) {
  for (const int count : {1, 2})
    run_ranks(2, count, [](communicator& world) {
      int level = 0, got = -1;
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
      rank_threads threads;
      if (world.rank() == 0)
        threads.start([&workers = worker::current()->owner()] {
          const auto all_parked = [&] {
            for (int i = 0; i < workers.worker_count(); ++i)
              if (!workers.at(i).is_parked()) return false;
            return true;
          };
          for (int left = 1000; left > 0 && !all_parked(); --left)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          const int value = 7;
          MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        });
      MPI_Recv(&got, 1, MPI_INT, 1 - world.rank(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      EXPECT_EQ(got, 7);
      if (world.rank() == 1) {
        EXPECT_GT(worker::current()->counts().parks, 0u);
        MPI_Send(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      }
      threads.join(true);
      MPI_Finalize();
    });
}

// All workers may park just before a thread sends, and it ends just after.
TEST(mpi_threads, that_send_and_end_at_once_are_never_overlooked) {
  options how = job_of(2, 2);
  how.spin_us = 0;
  run_ranks(how, [](communicator& world) {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    for (int i = 0; i < rounds; ++i) {
      int got = -1;
      rank_threads threads;
      if (world.rank() == 0) threads.start([=] { MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); });
      MPI_Recv(&got, 1, MPI_INT, 1 - world.rank(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      ASSERT_EQ(got, i);
      if (world.rank() == 1) MPI_Send(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      threads.join(true);
    }
    MPI_Finalize();
  });
}

void wait_for_nothing(int rank) {
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void expect_a_report(const failed_job& job) {
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "deadlock: every rank waits and no message is under way\n");
  expect_contains(job.text, "rank 1: in MPI_Recv, source 0, tag 5");
}

TEST(mpi_threads, that_nobody_has_made_do_not_hide_a_deadlock) {
  expect_a_report(run_to_failure(job_of(2, 2), [](communicator& world) {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    wait_for_nothing(world.rank());
  }));
}

// However they have ended, and whoever has made them.
TEST(mpi_threads, that_have_ended_do_not_hide_a_deadlock) {
  expect_a_report(run_to_failure(job_of(2, 2), [](communicator& world) {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    const int rank = world.rank();
    rank_threads threads, of_threads;
    const auto swap = [=](int tag) {
      int value = rank;
      MPI_Sendrecv_replace(&value, 1, MPI_INT, 1 - rank, tag, 1 - rank, tag, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
      EXPECT_EQ(value, 1 - rank);
    };
    threads.start([=] { swap(0); });
    threads.start([] { pthread_exit(nullptr); });
    threads.start([&] { of_threads.start([=] { swap(1); }); });
    threads.join(true);
    of_threads.join(true);
    wait_for_nothing(rank);
  }));
}

TEST(mpi_threads, that_end_while_all_ranks_wait_do_not_hide_a_deadlock) {
  std::thread late;
  expect_a_report(run_to_failure(job_of(2, 2), [&](communicator& world) {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    if (world.rank() == 0)
      late = std::thread([origin = origin_of_new_thread()]() mutable {
        set_origin_of_this_thread(std::move(origin));
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      });
    wait_for_nothing(world.rank());
  }));
  late.join();
}

// What a job of two ranks says when it may stand still for half a second: `in_thread` runs in a thread of rank 0.
failed_job run_standing(int workers, const std::function<void()>& in_thread,
                        const std::function<void(int)>& in_rank, double timeout_s = 20) {
  options how = job_of(2, workers);
  how.busy_warning_s = 0.5;
  how.timeout_s = timeout_s;
  return run_to_failure(how, [&](communicator& world) {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    rank_threads threads;
    if (world.rank() == 0) threads.start(in_thread);
    in_rank(world.rank());
    threads.join(false);
    MPI_Finalize();
  });
}

constexpr const char* hangs = "for 0.5 s no rank has sent or received anything";
// The job must not end before it has said so: a machine with too much to do needs longer.
constexpr std::array until_it_hangs_s{3.0, 10.0, 30.0};

// As the rest of a team of OpenMP between two regions.
class sleeper {
 public:
  void sleep() {
    std::unique_lock hold(lock_);
    wakes_.wait(hold, [&] { return is_over_; });
  }
  void end() {
    const std::lock_guard hold(lock_);
    is_over_ = true;
    wakes_.notify_all();
  }

 private:
  std::mutex lock_;
  std::condition_variable wakes_;
  bool is_over_ = false;
};

// ThreadSanitizer has a thread of its own, which wakes ten times a second.
#if defined(__SANITIZE_THREAD__)
constexpr bool stands_still = false;
#else
constexpr bool stands_still = true;
#endif
constexpr const char* never_still = "some thread of the process always runs";

TEST(mpi_threads, that_sleep_do_not_hide_that_a_job_hangs) {
  if (!stands_still) GTEST_SKIP() << never_still;
  for (const int workers : {1, 2}) {
    failed_job job;
    const auto is_said_within = [&](double limit_s) {
      sleeper other;
      job = run_standing(
          workers, [&] { other.sleep(); },
          [&](int rank) {
            const struct at_end {
              sleeper& thread;
              ~at_end() { thread.end(); }
            } when_the_job_stops{other};
            wait_for_nothing(rank);
          },
          limit_s);
      EXPECT_EQ(job.status, 124);
      return count_of(job.text, hangs) >= 1;
    };
    EXPECT_TRUE(std::ranges::any_of(until_it_hangs_s, is_said_within)) << job.text;
    expect_contains(job.text, "rank 1 (worker");
    expect_contains(job.text, "in MPI_Recv, source 0, tag 5, 4 bytes, MPI_COMM_WORLD");
  }
}

TEST(mpi_threads, that_wait_in_calls_do_not_hide_that_a_job_hangs) {
  if (!stands_still) GTEST_SKIP() << never_still;
  failed_job job;
  const auto is_said_within = [&](double limit_s) {
    job = run_standing(
        2, [] { wait_for_nothing(0); },
        [](int rank) {
          static constexpr wait_description join{"pthread_join"};
          worker& here = *worker::current();
          const shared_section inside(here);
          while (rank == 0) here.sleep(200'000, join);  // As that does.
        },
        limit_s);
    return count_of(job.text, hangs) >= 1;
  };
  EXPECT_TRUE(std::ranges::any_of(until_it_hangs_s, is_said_within)) << job.text;
  expect_contains(job.text,
                  "    a thread of rank 0: in MPI_Recv, source 1, tag 5, 4 bytes, MPI_COMM_WORLD");
}

void send_to(int rank) {
  MPI_Send(&rank, 1, MPI_INT, rank, 5, MPI_COMM_WORLD);
}

// However it is late: none of them sleeps until another thread wakes it.
TEST(mpi_threads, that_will_send_are_not_taken_for_a_hang) {
  const std::vector<std::function<void()>> late{
      [] { std::this_thread::sleep_for(std::chrono::milliseconds(1000)); },
      [] {
        const auto begun = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(1000)) {
        }
      },
      [] {
        std::mutex lock;
        std::condition_variable never;
        std::unique_lock hold(lock);
        never.wait_for(hold, std::chrono::milliseconds(1000), [] { return false; });
      },
      [] {
        int flag = 0;
        const auto begun = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(1000))
          MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      },
      [] {
        int pipe_ends[2] = {-1, -1};
        ASSERT_EQ(::pipe(pipe_ends), 0);
        std::thread writer([to = pipe_ends[1]] {
          std::this_thread::sleep_for(std::chrono::milliseconds(1000));
          ASSERT_EQ(::write(to, "x", 1), 1);
        });
        char got = 0;
        ASSERT_EQ(::read(pipe_ends[0], &got, 1), 1);
        writer.join();
        ::close(pipe_ends[0]);
        ::close(pipe_ends[1]);
      },
  };
  for (const auto& wait : late) {
    const failed_job job = run_standing(
        2,
        [&] {
          wait();
          send_to(1);
        },
        [](int rank) {
          if (rank == 1) wait_for_nothing(1);
        });
    EXPECT_EQ(job.status, 0);
    EXPECT_EQ(count_of(job.text, hangs), 0U) << &wait - late.data() << ": " << job.text;
  }
}

// Not its thread, which waits, in MPI or elsewhere: rank 0 computes or sleeps.
TEST(mpi_threads, of_a_rank_that_will_send_are_not_taken_for_a_hang) {
  const std::vector<std::function<void()>> late{
      [] {
        const std::uint64_t begun = now_ns();
        while (now_ns() - begun < 1'000'000'000) {
        }
      },
      [] { sleep_in_kernel(std::chrono::seconds(1)); },
      [] { sleep_for(std::chrono::seconds(1)); },
      [] {
        for (int i = 0; i < 10; ++i) sleep_for(std::chrono::milliseconds(100));
      },
  };
  for (const bool thread_waits_in_mpi : {false, true})
    for (const auto& wait : late) {
      sleeper other;
      const failed_job job = run_standing(
          2, [&] { return thread_waits_in_mpi ? wait_for_nothing(0) : other.sleep(); },
          [&](int rank) {
            if (rank == 1) {
              wait_for_nothing(1);
              return send_to(0);
            }
            wait();
            send_to(1);
            if (!thread_waits_in_mpi) wait_for_nothing(0);
            other.end();
          });
      EXPECT_EQ(job.status, 0);
      EXPECT_EQ(count_of(job.text, hangs), 0U)
          << thread_waits_in_mpi << ' ' << &wait - late.data() << ": " << job.text;
    }
}

TEST(mpi_threads, probe_at_the_same_time) {
  run_ranks(2, 2, [](communicator& world) {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    if (world.rank() == 0) {
      rank_threads threads;
      for (int t = 0; t < thread_count; ++t)
        threads.start([=] {
          for (int i = 0; i < rounds; ++i) {
            MPI_Status found;
            int got = -1;
            MPI_Probe(1, t, MPI_COMM_WORLD, &found);
            ASSERT_EQ(found.MPI_TAG, t);
            MPI_Recv(&got, 1, MPI_INT, 1, t, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            ASSERT_EQ(got, i);
            MPI_Send(&got, 1, MPI_INT, 1, t, MPI_COMM_WORLD);
          }
        });
      threads.join(true);
    } else {
      for (int i = 0; i < rounds; ++i)
        for (int t = 0; t < thread_count; ++t) {
          int back = -1;
          MPI_Send(&i, 1, MPI_INT, 0, t, MPI_COMM_WORLD);
          MPI_Recv(&back, 1, MPI_INT, 0, t, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
  });
}

TEST(mpi_threads, a_thread_learns_that_it_is_not_the_first) {
  run_ranks(1, 1, [](communicator&) {
    int level = 0, here = -1, there = -1, initialized = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    MPI_Is_thread_main(&here);
    rank_threads threads;
    threads.start([&] {
      MPI_Is_thread_main(&there);
      MPI_Initialized(&initialized);
    });
    threads.join(false);
    EXPECT_EQ(here, 1);
    EXPECT_EQ(there, 0);
    EXPECT_EQ(initialized, 1);
    MPI_Finalize();
  });
}

TEST(mpi_threads, a_call_by_a_thread_without_permission_is_refused) {
  const failed_job job = run_to_failure(job_of(1, 1), [](communicator&) {
    MPI_Init(nullptr, nullptr);
    rank_threads threads;
    threads.start([] {
      int rank = 0;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      FAIL() << "the call has returned";
    });
    threads.join(false);
    MPI_Finalize();
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text,
                  "a thread that rank 0 has made called: ask for MPI_THREAD_MULTIPLE in "
                  "MPI_Init_thread");
}

TEST(mpi_threads, an_error_in_a_thread_ends_the_job) {
  const failed_job job = run_to_failure(job_of(2, 2), [](communicator& world) {
    int level = 0, value = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    rank_threads threads;
    if (world.rank() == 0)
      threads.start([] { MPI_Send(nullptr, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); });
    threads.join(false);
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text,
                  "rank 0: MPI_Send(NULL, 1, MPI_INT, 1, 0, MPI_COMM_WORLD): the buffer is NULL");
}

}  // namespace
}  // namespace weft
