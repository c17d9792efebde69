// The one wait, as ranks meet it: who runs while somebody waits, and what a rank keeps across it.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "job.hpp"
#include "sched/scheduler.hpp"
#include "sched/work_source.hpp"
#include "sched/worker.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

// Rank 0 polls in a loop that ends only after ranks 1 and 2 of its worker have talked to each
// other.
template <class Poll>
void others_run_while_rank_0(Poll&& poll) {
  run_ranks(3, 1, [&](communicator& world) {
    if (world.rank() == 0) {
      poll(world);
      return;
    }
    const int partner = 3 - world.rank();
    for (int i = 0; i < 10; ++i) {
      if (world.rank() == 1) world.send(i, partner, 5);
      EXPECT_EQ(world.recv<int>(partner, 5), i);
      if (world.rank() == 2) world.send(i, partner, 5);
    }
    if (world.rank() == 1) world.send(42, 0);
  });
}

TEST(one_worker, a_loop_over_a_failing_test_lets_the_other_ranks_run) {
  others_run_while_rank_0([](communicator& world) {
    int got = 0;
    request r = world.irecv(std::span(&got, 1), 1);
    while (!r.test()) {
    }
    EXPECT_EQ(got, 42);
  });
}

TEST(one_worker, a_loop_over_a_failing_test_all_lets_the_other_ranks_run) {
  others_run_while_rank_0([](communicator& world) {
    int got = 0;
    std::vector<request> all;
    all.push_back(world.irecv(std::span(&got, 1), 1));
    while (!test_all(all)) {
    }
    EXPECT_EQ(got, 42);
  });
}

TEST(one_worker, a_loop_over_a_failing_iprobe_lets_the_other_ranks_run) {
  others_run_while_rank_0([](communicator& world) {
    while (!world.iprobe(1, any_tag)) {
    }
    EXPECT_EQ(world.recv<int>(1), 42);
  });
}

TEST(one_worker, a_loop_over_a_failing_improbe_lets_the_other_ranks_run) {
  others_run_while_rank_0([](communicator& world) {
    for (;;) {
      if (std::optional<message> m = world.improbe()) {
        EXPECT_EQ(m->recv_vector<int>(), std::vector{42});
        return;
      }
    }
  });
}

TEST(one_worker, a_loop_that_yields_lets_the_rank_run_that_changes_the_memory) {
  std::atomic<bool> flag{false};
  run_ranks(alone(job_of(2, 1)), [&](communicator& world) {
    if (world.rank() == 1)
      flag = true;
    else
      while (!flag) yield();
  });
}

TEST(one_worker, a_failing_poll_of_several_ranks_at_once_starves_nobody) {
  run_ranks(8, 1, [](communicator& world) {
    int got = -1;
    const int next = (world.rank() + 1) % 8;
    const int previous = (world.rank() + 7) % 8;
    request r = world.irecv(std::span(&got, 1), previous);
    if (world.rank() != 0)
      while (!r.test()) {
      }
    world.send(world.rank(), next);
    if (world.rank() == 0)
      while (!r.test()) {
      }
    EXPECT_EQ(got, previous);
  });
}

TEST(a_wait, keeps_errno_of_its_rank) {
  run_ranks(4, 2, [](communicator& world) {
    for (int i = 0; i < 20; ++i) {
      errno = 100 + world.rank();
      world.barrier();
      EXPECT_EQ(errno, 100 + world.rank());
      yield();
      EXPECT_EQ(errno, 100 + world.rank());
    }
  });
}

TEST(a_wait, inside_a_handler_keeps_the_exception_that_is_being_handled) {
  run_ranks(6, 2, [](communicator& world) {
    const std::string mine = "rank " + std::to_string(world.rank());
    for (int i = 0; i < 20; ++i) {
      try {
        throw std::runtime_error(mine);
      } catch (const std::runtime_error&) {
        world.barrier();  // All ranks are handling an exception now.
        try {
          throw std::logic_error("inner of " + mine);
        } catch (const std::logic_error& inner) {
          world.send(world.rank(), (world.rank() + 1) % world.size());
          (void)world.recv<int>();
          EXPECT_EQ(inner.what(), "inner of " + mine);
        }
        try {
          throw;
        } catch (const std::runtime_error& again) {
          EXPECT_EQ(again.what(), mine);
        }
      }
      EXPECT_EQ(std::uncaught_exceptions(), 0);
      EXPECT_EQ(std::current_exception(), nullptr);
    }
  });
}

TEST(a_wait, in_a_destructor_during_unwinding_leaves_the_exception_alone) {
  run_ranks(4, 1, [](communicator& world) {
    struct meets_in_its_destructor {
      communicator& world;
      ~meets_in_its_destructor() {
        world.barrier();
        EXPECT_EQ(std::uncaught_exceptions(), 1);
      }
    };
    try {
      const meets_in_its_destructor guard{world};
      throw std::runtime_error(std::to_string(world.rank()));
    } catch (const std::exception& e) {
      EXPECT_EQ(e.what(), std::to_string(world.rank()));
    }
  });
}

TEST(sleep_for, of_one_rank_does_not_stop_the_others_of_its_worker) {
  std::atomic<bool> asleep{false};
  std::atomic<bool> awake{false};
  run_ranks(alone(job_of(3, 1)), [&](communicator& world) {
    constexpr int enough = -1;
    if (world.rank() == 0) {
      asleep = true;
      const auto start = std::chrono::steady_clock::now();
      sleep_for(300ms);
      EXPECT_GE(std::chrono::steady_clock::now() - start, 300ms);
      awake = true;
    } else if (world.rank() == 1) {
      while (!asleep) yield();
      int trips = 0;
      for (; !awake; ++trips) {
        world.send(trips, 2);
        EXPECT_EQ(world.recv<int>(2), trips);
      }
      EXPECT_GT(trips, 0);
      world.send(enough, 2);
    } else {
      for (int got = 0; (got = world.recv<int>(1)) != enough;) world.send(got, 1);
    }
  });
}

TEST(sleep_for, many_ranks_sleep_at_the_same_time) {
  run_ranks(100, 2, [](communicator& world) {
    constexpr double seconds_max = 5;
    const double seconds = least_of(3, seconds_max, [&] {
      world.barrier();
      const auto start = std::chrono::steady_clock::now();
      sleep_for(100ms);
      world.barrier();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      return world.allreduce(took.count(), max{});
    });
    EXPECT_LE(seconds, seconds_max) << "one after the other takes 10 s";
  });
}

// However late the machine is: a worker that has been kept from running finds several deadlines passed
// at once, and makes all these ranks ready before any of them runs.
TEST(a_sleep, ends_after_its_deadline_and_leaves_nobody_asleep_whose_deadline_was_before) {
  std::array<std::uint64_t, 4> deadlines{};
  std::array<bool, 4> awake{};
  run_ranks(alone(job_of(4, 1)), [&](communicator& world) {
    const auto me = static_cast<std::size_t>(world.rank());
    // The last to fall asleep wakes first.
    deadlines[me] = now_ns() + (4 - me) * 50'000'000;
    world.barrier();
    worker::current()->sleep(deadlines[me] - now_ns(), {"sleep"});
    EXPECT_GE(now_ns(), deadlines[me]);
    awake[me] = true;  // One worker: no two ranks run at once.
    yield();
    for (std::size_t other = 0; other < awake.size(); ++other)
      EXPECT_TRUE(awake[other] || deadlines[other] > deadlines[me]) << other << " is before " << me;
  });
}

TEST(sleep_for, a_sleeper_is_no_deadlock) {
  run_ranks(2, 2, [](communicator& world) {
    if (world.rank() == 0) {
      EXPECT_EQ(world.recv<int>(1), 7);
    } else {
      sleep_for(200ms);
      world.send(7, 0);
    }
  });
}

TEST(a_mailbox, is_left_to_one_rank_alone_for_a_few_records_between_two_polls) {
  int given = 0;
  int given_again = 0;
  EXPECT_EQ(run(alone(job_of(2, 2)),
                [&](communicator& world) {
                  if (world.rank() == 1) return world.send(world.recv<int>(0), 0);
                  world.send(1, 1);
                  EXPECT_EQ(world.recv<int>(1), 1);
                  worker& here = *worker::current();
                  const auto ask = [&](int& counted) {
                    for (int asked = 0; asked < 1000; ++asked)
                      counted += here.undivided_mail(1) != nullptr ? 1 : 0;
                  };
                  yield();
                  ask(given);
                  yield();
                  ask(given_again);
                  // Nothing comes: one look in vain gives the others their turn at once.
                  yield();
                  if (worker::ring* const mail = here.undivided_mail(1); mail != nullptr) {
                    EXPECT_EQ(here.look_for_mail(*mail), 0U);
                    EXPECT_EQ(here.undivided_mail(1), nullptr);
                  }
                }),
            0);
  EXPECT_LT(given, 20);
  EXPECT_EQ(given, given_again);
  if (given == 0) GTEST_SKIP() << "workers that share cores give them up instead";
}

// Keeps its core in the kernel until the other workers of the process have parked; where there is none, in a job
// of several processes, for a while.
void let_others_park() {
  worker& mine = *worker::current();
  scheduler& workers = mine.owner();
  const auto are_parked = [&] {
    int parked = 0;
    for (int i = 0; i < workers.worker_count(); ++i)
      if (i != mine.index() && workers.at(i).is_parked()) ++parked;
    return parked > 0 && parked == workers.worker_count() - 1;
  };
  for (int left = 200; left > 0 && !are_parked(); --left) std::this_thread::sleep_for(10ms);
}
// Called by a rank that has waited meanwhile.
void expect_parked() {
  EXPECT_GT(worker::current()->counts().parks, 0U);
}

TEST(a_parked_worker, wakes_for_a_message) {
  options how = job_of(2, 2);
  how.spin_us = 0;  // Parks at once.
  run_ranks(how, [](communicator& world) {
    world.barrier();  // Who connects to another process goes on looking.
    if (world.rank() == 0) let_others_park();
    for (int i = 0; i < 2000; ++i) {
      if (world.rank() == 0) world.send(i, 1);
      EXPECT_EQ(world.recv<int>(1 - world.rank()), i);
      if (world.rank() == 1) world.send(i, 0);
    }
    if (world.rank() == 1) expect_parked();
  });
}

TEST(a_parked_worker, wakes_for_a_collective) {
  options how = job_of(4, 4);
  how.spin_us = 0;
  run_ranks(how, [](communicator& world) {
    if (world.rank() == 0) let_others_park();
    for (int i = 0; i < 500; ++i) {
      EXPECT_EQ(world.allreduce(i, std::plus<>{}), 4 * i);
      EXPECT_EQ(world.bcast(world.rank() == i % 4 ? i : -1, i % 4), i);
    }
    if (world.rank() == 1) expect_parked();
  });
}

TEST(a_parked_worker, wakes_when_a_full_mailbox_has_room_again) {
  options how = job_of(2, 2);
  how.spin_us = 0;
  how.eager_max_bytes = 4096;
  run_ranks(how, [](communicator& world) {
    const std::vector<char> text(4096, 'x');
    if (world.rank() == 0) {
      for (int i = 0; i < 200; ++i) world.send(text, 1);
      if (tests::processes_of(job_of(2, 2)) == 1) expect_parked();  // Others' data are kept here.
    } else {
      // Computes while the sender fills the mailbox and parks.
      let_others_park();
      for (int i = 0; i < 200; ++i) EXPECT_EQ(world.recv_vector<char>(0).size(), text.size());
    }
  });
}

TEST(a_parked_worker, wakes_for_the_chunks_of_a_long_loop) {
  options how = alone(job_of(2, 2));
  how.spin_us = 0;
  run_ranks(how, [](communicator& world) {
    if (world.rank() == 1) {
      EXPECT_EQ(world.recv<int>(0), 1);
      return;
    }
    // Goes on until the thief has come: no chunk is left to rank 0 alone.
    std::atomic<bool> stolen{false};
    const std::thread::id owner = std::this_thread::get_id();
    while (!stolen) {
      parallel_for(0, 64,
                   [&](std::size_t) {
                     if (std::this_thread::get_id() != owner) stolen = true;
                     std::this_thread::sleep_for(100us);
                   },
                   {.grain = 1});
    }
    world.send(1, 1);
  });
}

// Work for which there never is a fiber, until it has been asked for three times.
class work_without_memory final : public work_source {
 public:
  static constexpr int asked_max = 3;
  bool look() noexcept override { return false; }
  fiber* take_own() override {
    if (!has_own()) return nullptr;
    ++asked;
    throw error("no memory for a stack");
  }
  fiber* take_others() override { return nullptr; }
  [[nodiscard]] bool has_own() const noexcept override { return asked < asked_max; }
  [[nodiscard]] bool has_arrivals() const noexcept override { return false; }
  [[nodiscard]] bool has_surplus() const noexcept override { return false; }
  void describe(const std::function<void(const std::string&)>&) const override {}

  int asked = 0;
};

TEST(a_wait_that_no_stop_ends, goes_on_when_there_is_no_memory_for_the_fiber_of_a_task) {
  run_ranks(1, 1, [](communicator&) {
    worker& here = *worker::current();
    here.open_sources([](scheduler&) {
      std::vector<std::unique_ptr<work_source>> made;
      made.push_back(std::make_unique<work_without_memory>());
      return made;
    });
    auto& work = static_cast<work_without_memory&>(*here.source());
    const auto is_asked_enough = [&] { return work.asked >= work_without_memory::asked_max; };
    EXPECT_NO_THROW(here.wait_until(is_asked_enough, {.call = "test"}, false));
    EXPECT_EQ(work.asked, work_without_memory::asked_max);
    work.asked = work_without_memory::asked_max - 1;
    EXPECT_THROW(here.wait_until(is_asked_enough, {.call = "test"}), error);
  });
}

TEST(ranks, that_share_a_worker_see_one_thread_and_never_leave_it) {
  run_ranks(12, 3, [](communicator& world) {
    const std::thread::id home = std::this_thread::get_id();
    for (int i = 0; i < 50; ++i) {
      world.barrier();
      EXPECT_EQ(std::this_thread::get_id(), home);
      yield();
      EXPECT_EQ(std::this_thread::get_id(), home);
    }
  });
}

TEST(ranks, know_their_number_and_world_inside_and_outside) {
  EXPECT_EQ(this_rank(), -1);
  EXPECT_EQ(world_size(), 0);
  run_ranks(5, 2, [](communicator& world) {
    EXPECT_EQ(this_rank(), world.rank());
    EXPECT_EQ(world_size(), 5);
    world.barrier();
    EXPECT_EQ(this_rank(), world.rank());
  });
  EXPECT_EQ(this_rank(), -1);
}

TEST(rank_local, gives_each_rank_its_own_and_chunks_the_owners) {
  rank_local<int> local(6, -1);
  run_ranks(6, 2, [&](communicator& world) {
    EXPECT_EQ(local.get(), -1);
    local.get() = world.rank();
    world.barrier();
    EXPECT_EQ(local.get(), world.rank());
    parallel_for(0, 100, [&](std::size_t) { EXPECT_EQ(local.get(), world.rank()); }, {.grain = 1});
    world.barrier();
  });
}

TEST(rank_local, made_for_fewer_ranks_or_read_outside_of_them_is_refused) {
  rank_local<int> local(2);
  run_ranks(3, 2, [&](communicator& world) {
    if (world.rank() < 2)
      local.get() = 1;
    else
      EXPECT_EQ(error_of([&] { (void)local.get(); }),
                "rank 2: a rank_local was made for 2 ranks, but the job has 3: make it for as many "
                "as the job has");
  });
  expect_contains(error_of([&] { (void)local.get(); }), "read outside of a rank");
}

TEST(ranks, of_10000_start_meet_pass_a_token_and_end) {
  constexpr int ranks = sanitized ? 500 : 10'000;
  run_ranks(ranks, 2, [](communicator& world) {
    world.barrier();
    if (world.rank() > 0) {
      EXPECT_EQ(world.recv<int>(world.rank() - 1), world.rank() - 1);
    }
    if (world.rank() + 1 < world.size()) world.send(world.rank(), world.rank() + 1);
    if (world.rank() != 0) {
      world.send(world.rank(), 0, 1);
      return;
    }
    long sum = 0;
    for (int i = 1; i < world.size(); ++i) sum += world.recv<int>(any_source, 1);
    EXPECT_EQ(sum, static_cast<long>(ranks) * (ranks - 1) / 2);
  });
}

}  // namespace
}  // namespace weft
