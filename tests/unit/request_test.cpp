// Requests: waiting for one, for any, for some, for all, for a thousand.
#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "job.hpp"

namespace weft {
namespace {

TEST(wait_all, waits_for_a_thousand_requests_that_complete_in_any_order) {
  for (const int workers : {1, 2}) {
    run_ranks(2, workers, [](communicator& world) {
      constexpr int count = 1000;
      std::vector<int> values(count);
      std::vector<request> all;
      if (world.rank() == 0) {
        for (int i = 0; i < count; ++i)
          all.push_back(world.irecv(std::span(&values[static_cast<std::size_t>(i)], 1), 1, i));
        wait_all(all);
        for (int i = 0; i < count; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i * 3);
        for (const request& r : all) EXPECT_FALSE(r.active());
        wait_all(all);  // Nothing to wait for any more.
      } else {
        for (int i = 0; i < count; ++i) {
          const int tag = i * 7 % count;
          world.send(tag * 3, 0, tag);
        }
      }
    });
  }
}

// Good, too long, persistent, not yet there: each is concluded before the failure is thrown.
TEST(wait_all, concludes_what_has_come_what_fails_and_what_comes_later) {
  run_ranks(2, 2, [](communicator& world) {
    if (world.rank() == 0) {
      world.send(1L, 1, 1);
      world.send(2L, 1, 2);
      world.send(std::vector<long>{3, 3}, 1, 3);
      (void)world.recv<int>(1, 9);
      world.send(4L, 1, 4);
      return;
    }
    std::vector<long> got(5);
    std::vector<request> all;
    for (int tag : {1, 2, 3, 4})
      all.push_back(tag == 2 ? world.recv_init(got[2], 0, 2)
                             : world.irecv(got[static_cast<std::size_t>(tag)], 0, tag));
    all.emplace_back();
    all[1].start();
    while (got[3] == 0) (void)world.iprobe(0, 8);
    world.send(0, 0, 9);
    try {
      wait_all(all);
      ADD_FAILURE() << "a message longer than its receive was taken";
    } catch (const error& e) {
      expect_contains(e.what(), "got a message of 16 bytes");
    }
    EXPECT_EQ(got, (std::vector<long>{0, 1, 2, 3, 4}));
    for (const request& r : all) EXPECT_FALSE(r.active());
  });
}

TEST(wait_any, gives_one_after_the_other_and_then_none) {
  for (const int workers : {1, 3}) {
    run_ranks(3, workers, [](communicator& world) {
      if (world.rank() != 0) {
        for (int i = 0; i < 20; ++i) world.send(100 * world.rank() + i, 0, i);
        return;
      }
      std::vector<int> values(40);
      std::vector<request> all;
      for (std::size_t i = 0; i < values.size(); ++i)
        all.push_back(world.irecv(std::span(&values[i], 1), static_cast<int>(i / 20) + 1,
                                  static_cast<int>(i % 20)));
      std::set<std::size_t> seen;
      for (std::size_t i = 0; i < values.size(); ++i) {
        message_status status;
        const std::size_t done = wait_any(all, &status);
        ASSERT_LT(done, all.size());
        EXPECT_TRUE(seen.insert(done).second);
        EXPECT_EQ(status.source, static_cast<int>(done / 20) + 1);
        EXPECT_EQ(values[done], 100 * status.source + status.tag);
      }
      EXPECT_EQ(wait_any(all), all.size());
    });
  }
}

TEST(wait_some, gives_at_least_one_until_all_are_done) {
  run_ranks(2, 2, [](communicator& world) {
    if (world.rank() == 1) {
      for (int i = 0; i < 50; ++i) world.send(i, 0, i);
      return;
    }
    std::vector<int> values(50, -1);
    std::vector<request> all;
    for (int i = 0; i < 50; ++i)
      all.push_back(world.irecv(std::span(&values[static_cast<std::size_t>(i)], 1), 1, i));
    std::set<std::size_t> seen;
    for (;;) {
      const std::vector<std::size_t> done = wait_some(all);
      if (done.empty()) break;
      for (const std::size_t i : done) {
        EXPECT_TRUE(seen.insert(i).second);
        EXPECT_EQ(values[i], static_cast<int>(i));
      }
    }
    EXPECT_EQ(seen.size(), all.size());
  });
}

TEST(test_all, is_false_until_the_last_has_come) {
  run_ranks(2, 2, [](communicator& world) {
    std::vector<int> values(2);
    if (world.rank() == 1) {
      world.send(1, 0, 0);
      EXPECT_EQ(world.recv<int>(0), 9);
      world.send(2, 0, 1);
      return;
    }
    std::vector<request> all;
    for (int i = 0; i < 2; ++i)
      all.push_back(world.irecv(std::span(&values[static_cast<std::size_t>(i)], 1), 1, i));
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(test_all(all));
    world.send(9, 1);
    while (!test_all(all)) {
    }
    EXPECT_EQ(values, (std::vector{1, 2}));
  });
}

TEST(test, gives_the_status_once_and_is_true_ever_after) {
  run_ranks(2, 1, [](communicator& world) {
    if (world.rank() == 1) {
      world.send(std::vector{1, 2}, 0, 4);
      return;
    }
    std::vector<int> into(5);
    request r = world.irecv(into);
    EXPECT_TRUE(r.active());
    message_status status;
    while (!r.test(&status)) {
    }
    EXPECT_EQ(status.source, 1);
    EXPECT_EQ(status.tag, 4);
    EXPECT_EQ(status.count<int>(), 2u);
    EXPECT_FALSE(r.active());
    EXPECT_TRUE(r.test());
    r.wait();
  });
}

TEST(a_request, moves_with_its_operation) {
  run_ranks(2, 2, [](communicator& world) {
    int got = 0;
    if (world.rank() == 0) {
      request a = world.irecv(std::span(&got, 1), 1);
      request b = std::move(a);
      EXPECT_FALSE(a.active());
      a = std::move(b);
      EXPECT_TRUE(a.active());
      world.send(1, 1);
      a.wait();
      EXPECT_EQ(got, 7);
    } else {
      EXPECT_EQ(world.recv<int>(0), 1);
      world.send(7, 0);
    }
  });
}

TEST(a_request, of_nothing_is_complete) {
  request none;
  EXPECT_FALSE(none.active());
  EXPECT_TRUE(none.test());
  EXPECT_EQ(none.wait().source, proc_null);
  EXPECT_EQ(wait_any(std::span(&none, 1)), 1u);
  wait_all(std::span(&none, 1));
}

TEST(cancel, withdraws_a_receive_and_leaves_the_message_to_the_next) {
  for (const int workers : {1, 2}) {
    run_ranks(2, workers, [](communicator& world) {
      if (world.rank() == 0) {
        int cancelled = -1;
        request r = world.irecv(std::span(&cancelled, 1), 1);
        r.cancel();
        EXPECT_EQ(r.wait().source, proc_null);
        world.send(0, 1);
        EXPECT_EQ(world.recv<int>(1), 5);
        EXPECT_EQ(cancelled, -1);
      } else {
        EXPECT_EQ(world.recv<int>(0), 0);
        world.send(5, 0);
      }
    });
  }
}

// Few posted receives and many are kept differently; wildcards stand among them, and one is withdrawn.
TEST(posted_receives, match_in_the_order_of_their_posting_however_many_there_are) {
  for (const int count : {2, 3, 4, 5, 6, 9, 70})
    for (const int withdrawn : {0, 1, count - 1}) {
      run_ranks(2, 1, [&](communicator& world) {
        if (world.rank() == 1) {
          world.barrier();
          for (int i = 0; i < count - 1; ++i) world.send(i, 0, 7);
          world.barrier();
          return;
        }
        std::vector<int> values(static_cast<std::size_t>(count), -1);
        std::vector<request> all;
        for (int i = 0; i < count; ++i)
          all.push_back(world.irecv(std::span(&values[static_cast<std::size_t>(i)], 1),
                                    i % 3 == 1 ? any_source : 1, i % 4 == 2 ? any_tag : 7));
        all[static_cast<std::size_t>(withdrawn)].cancel();
        world.barrier();
        wait_all(all);
        for (int i = 0, next = 0; i < count; ++i)
          EXPECT_EQ(values[static_cast<std::size_t>(i)], i == withdrawn ? -1 : next++)
              << i << " of " << count;
        int value = 0;  // The lists are as they were.
        request one = world.irecv(std::span(&value, 1), 0, 8);
        world.send(9, 0, 8);
        one.wait();
        EXPECT_EQ(value, 9);
        world.barrier();
      });
    }
}

TEST(cancel, does_nothing_to_a_receive_that_has_its_message) {
  run_ranks(1, 1, [](communicator& world) {
    int got = 0;
    request r = world.irecv(got, 0);
    world.send(3, 0);
    r.cancel();
    EXPECT_EQ(r.wait().source, 0);
    EXPECT_EQ(got, 3);
  });
}

TEST(persistent_requests, may_be_started_many_times_and_waited_for_together) {
  run_ranks(4, 2, [](communicator& world) {
    const int n = world.size();
    std::vector<int> in(static_cast<std::size_t>(n), -1);
    int out = 0;
    std::vector<request> all;
    for (int r = 0; r < n; ++r) {
      all.push_back(world.recv_init(in[static_cast<std::size_t>(r)], r));
      all.push_back(world.send_init(out, r));
    }
    for (int round = 0; round < 100; ++round) {
      out = round * 10 + world.rank();
      for (request& r : all) r.start();
      wait_all(all);
      for (int r = 0; r < n; ++r) EXPECT_EQ(in[static_cast<std::size_t>(r)], round * 10 + r);
    }
  });
}

}  // namespace
}  // namespace weft
