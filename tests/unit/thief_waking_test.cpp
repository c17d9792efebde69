// Who wakes workers that sleep for a loop, and which: no monitor looks here unless a test does it itself.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "bodies_on_workers.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;
using tests::comes_about;
using body = std::function<void(worker&)>;

void run_with_short_spins(const std::vector<body>& bodies) {
  scheduler_options how;
  how.spin_ns = 20'000;
  tests::run_on_workers(bodies, how);
}

int parked_in(scheduler& workers) {
  int parked = 0;
  for (int i = 0; i < workers.worker_count(); ++i)
    if (workers.at(i).is_parked()) ++parked;
  return parked;
}
// A loop looks at their count, which follows.
bool so_many_park(worker& here, int wanted) {
  return comes_about(
      [&] { return parked_in(here.owner()) == wanted && here.owner().any_parked(); });
}

// Chunks each of which waits until all have begun.
struct meeting {
  int wanted;
  std::function<void()> begun = [] {};  // Called in each chunk.
  std::atomic<int> come{0};
  std::atomic<bool> in_vain{false};

  static void run(void* of_loop, std::int64_t first, std::int64_t last) {
    auto& m = *static_cast<meeting*>(of_loop);
    m.come += static_cast<int>(last - first);
    m.begun();
    if (!comes_about([&] { return m.come >= m.wanted || m.in_vain; })) m.in_vain = true;
    std::this_thread::sleep_for(1ms);  // A long one, also of who comes last.
  }
  void execute(worker& here) {
    loop l{&run, this, wanted, true, true};
    here.execute(l);
    EXPECT_FALSE(in_vain) << come << " chunks of " << wanted << " at the same time";
  }
};

const body nothing = [](worker&) {};

TEST(a_loop_of_one_long_chunk_for_each_worker, wakes_all_of_them_before_the_first_ends) {
  run_with_short_spins({[](worker& here) {
                          for (int round = 0; round < 5; ++round) {  // Not known, then known.
                            ASSERT_TRUE(so_many_park(here, 5));
                            meeting{6}.execute(here);
                          }
                        },
                        nothing, nothing, nothing, nothing, nothing});
}

// One body, long or short.
struct now_and_then {
  meeting* long_one = nullptr;
  static void run(void* of_loop, std::int64_t first, std::int64_t last) {
    if (auto* const m = static_cast<now_and_then*>(of_loop)->long_one; m != nullptr)
      meeting::run(m, first, last);
  }
  void execute(worker& here) {
    loop l{&run, this, 4, true, true};
    here.execute(l);
  }
};

TEST(a_body_whose_loop_was_short, wakes_nobody_and_a_look_of_the_monitor_all) {
  run_with_short_spins({[](worker& here) {
                          scheduler& workers = here.owner();
                          bool slept = false;
                          // A chunk in which this thread lost its core was a long one, as is the last of an attempt: a
                          // body is short again when it was so without thieves.
                          for (int left = 100; left > 0 && !slept; --left) {
                            for (int i = 0; i < 20; ++i) now_and_then{}.execute(here);
                            ASSERT_TRUE(so_many_park(here, 3));
                            now_and_then{}.execute(here);
                            ASSERT_TRUE(so_many_park(here, 3));
                            meeting all{4, [&] {
                                          if (worker::current() != &here) return;
                                          std::this_thread::sleep_for(20ms);
                                          slept = parked_in(workers) == 3;
                                          workers.look_again();
                                        }};
                            now_and_then{&all}.execute(here);
                            EXPECT_FALSE(all.in_vain);
                          }
                          EXPECT_TRUE(slept);
                        },
                        nothing, nothing, nothing});
}

// Worker 1 waits in a chunk, for one of an inner loop that another has taken: it may not steal meanwhile.
TEST(a_worker_that_waits_in_a_chunk, is_not_woken_in_place_of_one_that_may_steal) {
  std::atomic<bool> taken{false};
  std::atomic<bool> over{false};
  struct inner {
    std::atomic<bool>& taken;
    std::atomic<bool>& over;
    static void run(void* of_loop, std::int64_t, std::int64_t) {
      auto& i = *static_cast<inner*>(of_loop);
      if (worker::current()->index() == 1) {
        EXPECT_TRUE(comes_about([&] { return i.taken.load(); }));
      } else if (!i.taken.exchange(true)) {  // One, though thieves may take both.
        EXPECT_TRUE(comes_about([&] { return i.over.load(); }));
      }
    }
    static void run_outer(void* of_loop, std::int64_t, std::int64_t) {
      loop l{&run, of_loop, 2, true, true};
      worker::current()->execute(l);
    }
  };
  run_with_short_spins({[&](worker& here) {
                          EXPECT_TRUE(comes_about([&] { return taken.load(); }));
                          EXPECT_TRUE(so_many_park(here, 2));
                          EXPECT_TRUE(here.owner().at(1).is_parked());
                          meeting{2}.execute(here);
                          over = true;
                        },
                        [&](worker& here) {
                          EXPECT_TRUE(so_many_park(here, 2));
                          inner i{taken, over};
                          loop l{&inner::run_outer, &i, 1, true, true};
                          here.execute(l);
                        },
                        nothing, nothing});
}

}  // namespace
}  // namespace weft
