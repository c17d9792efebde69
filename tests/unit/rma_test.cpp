// One-sided memory of ranks, as a face calls it: each test with all ranks in one process, and again with the ranks
// shared out to several.
#include "rma/initiator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "job.hpp"
#include "rank/state.hpp"

namespace weft {
namespace {

using rma::comparison;
using rma::initiator;
using rma::update;

constexpr std::size_t heap_bytes = std::size_t{4} << 20;

// What a rank of a test needs: its memory, laid out alike on all ranks.
struct side {
  communicator& world;
  initiator& mine;
  rma::context c;
  explicit side(communicator& w)
      : world(w), mine(initiator::attach(detail::calling_rank("test"), heap_bytes)) {}
  template <class T = long>
  [[nodiscard]] T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(mine.heap().data() + offset);
  }
  [[nodiscard]] int next() const { return (world.rank() + 1) % world.size(); }
  [[nodiscard]] int before() const { return (world.rank() + world.size() - 1) % world.size(); }
  void barrier() {
    mine.quiet(c);
    world.barrier();
  }
  template <class T>
  void wait_for(const T* word, T value) {
    mine.wait_until([&] { return initiator::look(word) == value; }, {"wait"});
  }
};

void with_sides(int ranks, int workers, const std::function<void(side&)>& body) {
  run_ranks(ranks, workers, [&](communicator& world) {
    side s(world);
    body(s);
    s.barrier();
  });
}

TEST(rma, what_is_put_is_there_after_quiet_and_a_barrier) {
  with_sides(5, 2, [](side& s) {
    const int me = s.world.rank();
    // Every width, and blocks of odd sizes up to more than a message holds.
    s.mine.put(s.c, s.at<char>(1), static_cast<char>(me + 1), s.next());
    s.mine.put(s.c, s.at<short>(2), static_cast<short>(me + 2), s.next());
    s.mine.put(s.c, s.at<int>(4), me + 3, s.next());
    s.mine.put(s.c, s.at<double>(8), me + 0.5, s.next());
    std::vector<unsigned char> block(300'001);
    for (std::size_t i = 0; i < block.size(); ++i)
      block[i] = static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(me));
    s.mine.put(s.c, s.at<char>(4097), block.data(), block.size(), s.next());
    std::ranges::fill(block, static_cast<unsigned char>(0));  // It may be used again at once.
    s.barrier();
    const int from = s.before();
    EXPECT_EQ(*s.at<char>(1), from + 1);
    EXPECT_EQ(*s.at<short>(2), from + 2);
    EXPECT_EQ(*s.at<int>(4), from + 3);
    EXPECT_EQ(*s.at<double>(8), from + 0.5);
    EXPECT_EQ(*s.at<char>(4096), 0);
    EXPECT_EQ(*s.at<char>(4097 + 300'001), 0);
    for (std::size_t i = 0; i < block.size(); ++i)
      ASSERT_EQ(s.at<unsigned char>(4097)[i],
                static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(from)))
          << i;
  });
}

TEST(rma, what_is_got_is_what_stands_at_the_other_rank) {
  with_sides(4, 2, [](side& s) {
    std::iota(s.at(0), s.at(0) + 50'000, 1000L * s.world.rank());
    *s.at<float>(500'000) = 1.5f * static_cast<float>(s.world.rank());
    s.world.barrier();
    EXPECT_EQ(s.mine.get(s.c, s.at<float>(500'000), s.next()), 1.5f * static_cast<float>(s.next()));
    std::vector<long> all(50'000), later(50'000);
    s.mine.get(s.c, all.data(), s.at(0), all.size() * sizeof(long), s.next());
    s.mine.get_nbi(s.c, later.data(), s.at(0), later.size() * sizeof(long), s.before());
    s.mine.quiet(s.c);
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i], 1000L * s.next() + static_cast<long>(i));
      ASSERT_EQ(later[i], 1000L * s.before() + static_cast<long>(i));
    }
  });
}

TEST(rma, blocks_with_strides_go_where_they_belong) {
  with_sides(3, 2, [](side& s) {
    std::array<int, 40> values;
    std::iota(values.begin(), values.end(), 100 * s.world.rank());
    // Blocks of two, every fourth at the target, every third here.
    s.mine.put_strided(s.c, s.at<int>(0), 16, values.data(), 12, 8, 10, s.next());
    s.barrier();
    for (int i = 0; i < 40; ++i)
      EXPECT_EQ(s.at<int>(0)[i], i % 4 < 2 ? 100 * s.before() + i / 4 * 3 + i % 4 : 0) << i;
    std::array<int, 20> back{};
    s.mine.get_strided(s.c, back.data(), 8, s.at<int>(0), 16, 8, 10, s.next());
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(back[static_cast<std::size_t>(i)], 100 * s.world.rank() + i / 2 * 3 + i % 2) << i;
  });
}

TEST(rma, updates_of_all_ranks_to_one_word_are_atomic) {
  with_sides(4, 2, [](side& s) {
    constexpr int rounds = 300;
    const int n = s.world.size();
    long seen = 0;
    for (int i = 0; i < rounds; ++i) {
      seen += s.mine.fetch<update::add>(s.c, s.at(0), 1L, 0);
      s.mine.change<update::add>(s.c, s.at<unsigned>(8), 3u, 0);
      s.mine.change<update::bit_xor>(s.c, s.at<int>(12), 1 << s.world.rank(), 0);
      // Its own loop of compare and swap, on a floating number.
      double old = s.mine.get(s.c, s.at<double>(16), 0);
      for (double found; (found = s.mine.fetch<update::compare_swap>(s.c, s.at<double>(16),
                                                                     old + 0.5, 0, old)) != old;)
        old = found;
    }
    const long sum = s.world.allreduce(seen, std::plus<>{});
    s.barrier();
    if (s.world.rank() == 0) {
      const long all = long{n} * rounds;
      EXPECT_EQ(*s.at(0), all);
      EXPECT_EQ(sum, all * (all - 1) / 2);  // Each number was seen once.
      EXPECT_EQ(*s.at<unsigned>(8), 3u * static_cast<unsigned>(all));
      EXPECT_EQ(*s.at<int>(12), 0);
      EXPECT_EQ(*s.at<double>(16), 0.5 * static_cast<double>(all));
    }
    s.world.barrier();
    EXPECT_EQ(s.mine.fetch<update::swap>(
                  s.c, s.at(64 + 8 * static_cast<std::size_t>(s.world.rank())), 7L, s.next()),
              0);
    long old = -1;
    s.mine.fetch_nbi<update::bit_or>(
        s.c, &old, s.at(64 + 8 * static_cast<std::size_t>(s.world.rank())), 8L, s.next());
    s.mine.quiet(s.c);
    EXPECT_EQ(old, 7);
    EXPECT_EQ(s.mine.fetch<update::fetch>(
                  s.c, s.at(64 + 8 * static_cast<std::size_t>(s.world.rank())), 0L, s.next()),
              15);
  });
}

TEST(rma, a_wait_ends_when_any_rank_writes_the_word_and_all_before_it_is_there) {
  with_sides(6, 2, [](side& s) {
    for (long round = 1; round <= 50; ++round) {
      std::vector<long> data(100, round * 10 + s.world.rank());
      s.mine.put_signal(s.c, s.at(64), data.data(), data.size() * sizeof(long),
                        s.at<std::uint64_t>(0), static_cast<std::uint64_t>(round),
                        rma::signal_operation::set, s.next());
      s.wait_for(s.at(0), round);
      for (int i = 0; i < 100; ++i) ASSERT_EQ(s.at(64)[i], round * 10 + s.before());
      // Whoever has read it says so: else the next round would overwrite it.
      s.mine.change<update::add>(s.c, s.at(8), 1L, s.before());
      s.wait_for(s.at(8), round);
    }
  });
}

TEST(rma, fence_orders_blocks_and_a_later_word) {
  with_sides(4, 2, [](side& s) {
    for (long round = 1; round <= 30; ++round) {
      std::vector<long> data(5'000, round);
      s.mine.put(s.c, s.at(64), data.data(), data.size() * sizeof(long), s.next());
      s.mine.fence(s.c);
      s.mine.put(s.c, s.at(0), round, s.next());
      s.wait_for(s.at(0), round);
      EXPECT_EQ(std::ranges::count(std::span(s.at(64), 5'000), round), 5'000);
      s.mine.put(s.c, s.at(8), round, s.before());
      s.wait_for(s.at(8), round);
    }
  });
}

// Quiet means visible at the target: a message that follows it by another way is enough.
TEST(rma, after_quiet_a_message_finds_what_was_put) {
  with_sides(4, 2, [](side& s) {
    for (long round = 1; round <= 50; ++round) {
      s.mine.put(s.c, s.at(0), round, s.next());
      s.mine.change<update::add>(s.c, s.at(8), 2L, s.next());
      s.mine.quiet(s.c);
      s.world.send(round, s.next());
      EXPECT_EQ(s.world.recv<long>(s.before()), round);
      EXPECT_EQ(initiator::look(s.at(0)), round);
      EXPECT_EQ(initiator::look(s.at(8)), 2 * round);
      s.world.send(round, s.before());
      EXPECT_EQ(s.world.recv<long>(s.next()), round);
    }
  });
}

TEST(rma, quiet_of_one_rank_asks_that_rank) {
  with_sides(3, 1, [](side& s) {
    s.mine.put(s.c, s.at(0), 1L + s.world.rank(), s.next());
    s.mine.put(s.c, s.at(8), 1L + s.world.rank(), s.before());
    const int one[]{s.next()};
    s.mine.quiet(s.c, one);
    s.world.send(0, s.next());
    (void)s.world.recv<int>(s.before());
    EXPECT_EQ(initiator::look(s.at(0)), 1 + s.before());
    s.barrier();
    EXPECT_EQ(*s.at(8), 1 + s.next());
  });
}

TEST(rma, a_loop_of_failing_tests_lets_the_others_run) {
  with_sides(4, 1, [](side& s) {
    s.mine.put(s.c, s.at(0), 1L, s.next());
    while (initiator::look(s.at(0)) == 0) s.mine.poll();
  });
}

// A region that is not the heap: a global of each rank, or the one that they share.
long shared_global[8];
TEST(rma, globals_of_the_program_are_reached) {
  with_sides(4, 2, [](side& s) {
    s.mine.expose_statics();
    EXPECT_TRUE(s.mine.is_symmetric(shared_global));
    std::vector<long> own(4, 5L + s.world.rank());  // Memory that each rank exposes.
    const int number = s.mine.expose(own.data(), own.size() * sizeof(long));
    EXPECT_GE(number, 2);
    if (s.world.rank() == 0) {
      for (int r = 0; r < s.world.size(); ++r) s.mine.put(s.c, &shared_global[1], 9L, r);
    }
    EXPECT_EQ(s.mine.get(s.c, &own[3], s.next()), 5 + s.next());
    s.mine.change<update::add>(s.c, &own[2], 10L, s.next());
    s.barrier();
    EXPECT_EQ(own[2], 15 + s.world.rank());
    EXPECT_EQ(shared_global[1], 9);
    // A fence between what goes by stores and what goes by messages.
    s.mine.put(s.c, &own[0], 77L, s.next());
    s.mine.fence(s.c);
    s.mine.put(s.c, s.at(0), 1L, s.next());
    s.wait_for(s.at(0), 1L);
    EXPECT_EQ(initiator::look(&own[0]), 77);
    s.barrier();
  });
}

TEST(rma, what_is_no_symmetric_memory_is_refused_and_nothing_is_written) {
  with_sides(2, 1, [](side& s) {
    long local = 1;
    char block[64] = {};
    expect_contains(error_of([&] { s.mine.put(s.c, &local, 2L, s.next()); }),
                    "which is no symmetric memory");
    expect_contains(error_of([&] { (void)s.mine.get(s.c, &local, s.next()); }),
                    "which is no symmetric memory");
    expect_contains(error_of([&] { (void)s.mine.fetch<update::add>(s.c, &local, 2L, s.next()); }),
                    "which is no symmetric memory");
    expect_contains(
        error_of([&] { s.mine.put(s.c, s.at<char>(heap_bytes - 16), block, 64, s.next()); }),
        "of which 16 bytes are left there");
    s.barrier();
    EXPECT_EQ(local, 1);
  });
}

TEST(rma, a_second_attach_finds_the_same_memory) {
  with_sides(2, 2, [](side& s) {
    *s.at(0) = 3;
    EXPECT_EQ(&initiator::attach(detail::calling_rank("test"), heap_bytes), &s.mine);
    EXPECT_EQ(initiator::of(detail::calling_rank("test")), &s.mine);
    EXPECT_EQ(*s.at(0), 3);
  });
}

// What a report says of such a wait: the face's words.
struct words final : detail::wait_words {
  [[nodiscard]] std::string text() const override { return " on 'flag' until it is 1"; }
};
TEST(rma, a_word_that_nobody_writes_is_reported_in_the_words_of_the_face) {
  const failed_job job = run_to_failure(job_of(2, 2), [](communicator& world) {
    side s(world);
    const words said;
    wait_description what{"shmem_wait"};
    what.context = wait_description::in_words;
    what.subject = &said;
    if (world.rank() == 0)
      s.mine.wait_until([&] { return initiator::look(s.at(0)) == 1; }, what);
    else
      world.barrier();
  });
  EXPECT_NE(job.status, 0);
  expect_contains(job.text, "deadlock");
  expect_contains(job.text, "in shmem_wait on 'flag' until it is 1");
}

// Whoever stores without weft is found all the same, by who sleeps already, in another process of the node as well.
TEST(rma, silent_writers_are_found_by_looking) {
  options how = job_of(4, 2, "cyclic");
  how.spin_us = 0;
  run_ranks(how, [](communicator& world) {
    side s(world);
    s.world.barrier();
    if (world.rank() == 0) {
      sleep_for(std::chrono::milliseconds(5));
      for (int rank = 1; rank < world.size(); ++rank) {
        long* const there = s.mine.direct(s.at(0), rank);
        if (there != nullptr) {
          s.mine.note_silent_writers();
          std::atomic_ref<long>(*there).store(1, std::memory_order_relaxed);
        } else {
          s.mine.put(s.c, s.at(0), 1L, rank);
        }
      }
    } else {
      s.wait_for(s.at(0), 1L);
    }
    s.barrier();
  });
}

}  // namespace
}  // namespace weft
