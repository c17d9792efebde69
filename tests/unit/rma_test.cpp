// One-sided memory of ranks, as a face calls it: each test with all ranks in one process, and again with the ranks
// shared out to several.
#include "rma/initiator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
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

using rma::initiator;
using rma::update;

constexpr std::size_t heap_bytes = std::size_t{4} << 20;

// What a rank of a test needs: its memory, laid out alike on all ranks.
struct side {
  communicator& world;
  initiator& mine;
  rma::context c;
  const rma::region& heap;
  explicit side(communicator& w)
      : world(w),
        mine(initiator::attach(detail::calling_rank("test"))),
        heap(mine.allocate(w, heap_bytes)) {}
  template <class T = long>
  [[nodiscard]] T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(heap.own().data() + offset);
  }
  // The place in the heap of that rank which lies as far behind its begin as the address in this one's.
  [[nodiscard]] rma::location of(int rank, const void* address) const {
    return heap.at(rank, static_cast<std::uint64_t>(static_cast<const std::byte*>(address) -
                                                    heap.own().data()));
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
    s.mine.put(s.c, s.of(s.next(), s.at<char>(1)), static_cast<char>(me + 1));
    s.mine.put(s.c, s.of(s.next(), s.at<short>(2)), static_cast<short>(me + 2));
    s.mine.put(s.c, s.of(s.next(), s.at<int>(4)), me + 3);
    s.mine.put(s.c, s.of(s.next(), s.at<double>(8)), me + 0.5);
    std::vector<unsigned char> block(300'001);
    for (std::size_t i = 0; i < block.size(); ++i)
      block[i] = static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(me));
    s.mine.put(s.c, s.of(s.next(), s.at<char>(4097)), block.data(), block.size());
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
    EXPECT_EQ(s.mine.get<float>(s.c, s.of(s.next(), s.at<float>(500'000))),
              1.5f * static_cast<float>(s.next()));
    std::vector<long> all(50'000), later(50'000);
    s.mine.get(s.c, all.data(), s.of(s.next(), s.at(0)), all.size() * sizeof(long));
    s.mine.get_nbi(s.c, later.data(), s.of(s.before(), s.at(0)), later.size() * sizeof(long));
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
    s.mine.put_strided(s.c, s.of(s.next(), s.at<int>(0)), 16, values.data(), 12, 8, 10);
    s.barrier();
    for (int i = 0; i < 40; ++i)
      EXPECT_EQ(s.at<int>(0)[i], i % 4 < 2 ? 100 * s.before() + i / 4 * 3 + i % 4 : 0) << i;
    std::array<int, 20> back{};
    s.mine.get_strided(s.c, back.data(), 8, s.of(s.next(), s.at<int>(0)), 16, 8, 10);
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
      seen += s.mine.fetch<update::add>(s.c, s.of(0, s.at(0)), 1L);
      s.mine.change<update::add>(s.c, s.of(0, s.at<unsigned>(8)), 3u);
      s.mine.change<update::bit_xor>(s.c, s.of(0, s.at<int>(12)), 1 << s.world.rank());
      // Its own loop of compare and swap, on a floating number.
      double old = s.mine.get<double>(s.c, s.of(0, s.at<double>(16)));
      for (double found; (found = s.mine.fetch<update::compare_swap>(s.c, s.of(0, s.at<double>(16)),
                                                                     old + 0.5, old)) != old;)
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
                  s.c, s.of(s.next(), s.at(64 + 8 * static_cast<std::size_t>(s.world.rank()))), 7L),
              0);
    long old = -1;
    s.mine.fetch_nbi<update::bit_or>(
        s.c, &old, s.of(s.next(), s.at(64 + 8 * static_cast<std::size_t>(s.world.rank()))), 8L);
    s.mine.quiet(s.c);
    EXPECT_EQ(old, 7);
    EXPECT_EQ(s.mine.fetch<update::fetch>(
                  s.c, s.of(s.next(), s.at(64 + 8 * static_cast<std::size_t>(s.world.rank()))), 0L),
              15);
  });
}

TEST(rma, a_wait_ends_when_any_rank_writes_the_word_and_all_before_it_is_there) {
  with_sides(6, 2, [](side& s) {
    for (long round = 1; round <= 50; ++round) {
      std::vector<long> data(100, round * 10 + s.world.rank());
      s.mine.put_signal(s.c, s.of(s.next(), s.at(64)), data.data(), data.size() * sizeof(long),
                        s.of(s.next(), s.at<std::uint64_t>(0)), static_cast<std::uint64_t>(round),
                        rma::signal_operation::set);
      s.wait_for(s.at(0), round);
      for (int i = 0; i < 100; ++i) ASSERT_EQ(s.at(64)[i], round * 10 + s.before());
      // Whoever has read it says so: else the next round would overwrite it.
      s.mine.change<update::add>(s.c, s.of(s.before(), s.at(8)), 1L);
      s.wait_for(s.at(8), round);
    }
  });
}

TEST(rma, fence_orders_blocks_and_a_later_word) {
  with_sides(4, 2, [](side& s) {
    for (long round = 1; round <= 30; ++round) {
      std::vector<long> data(5'000, round);
      s.mine.put(s.c, s.of(s.next(), s.at(64)), data.data(), data.size() * sizeof(long));
      s.mine.fence(s.c);
      s.mine.put(s.c, s.of(s.next(), s.at(0)), round);
      s.wait_for(s.at(0), round);
      EXPECT_EQ(std::ranges::count(std::span(s.at(64), 5'000), round), 5'000);
      s.mine.put(s.c, s.of(s.before(), s.at(8)), round);
      s.wait_for(s.at(8), round);
    }
  });
}

// Quiet means visible at the target: a message that follows it by another way is enough.
TEST(rma, after_quiet_a_message_finds_what_was_put) {
  with_sides(4, 2, [](side& s) {
    for (long round = 1; round <= 50; ++round) {
      s.mine.put(s.c, s.of(s.next(), s.at(0)), round);
      s.mine.change<update::add>(s.c, s.of(s.next(), s.at(8)), 2L);
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
    s.mine.put(s.c, s.of(s.next(), s.at(0)), 1L + s.world.rank());
    s.mine.put(s.c, s.of(s.before(), s.at(8)), 1L + s.world.rank());
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
    s.mine.put(s.c, s.of(s.next(), s.at(0)), 1L);
    while (initiator::look(s.at(0)) == 0) s.mine.poll();
  });
}

// A global of each rank, or the one that the ranks of a process share.
long shared_global[8];
TEST(rma, globals_of_the_program_are_reached) {
  with_sides(4, 2, [](side& s) {
    std::vector<const rma::region*> globals = s.mine.expose_globals(s.world);
    EXPECT_EQ(s.mine.expose_globals(s.world), globals);  // Once for the job.
    const auto place_at = [&](int rank) {
      for (const rma::region* const one : globals) {
        const auto offset = reinterpret_cast<std::uintptr_t>(&shared_global[1]) -
                            reinterpret_cast<std::uintptr_t>(one->own().data());
        if (offset < one->own().size()) return one->at(rank, offset);
      }
      return rma::location{};
    };
    ASSERT_NE(place_at(0).in, nullptr);
    if (s.world.rank() == 0)
      for (int r = 0; r < s.world.size(); ++r) s.mine.put(s.c, place_at(r), 9L);
    s.barrier();
    EXPECT_EQ(shared_global[1], 9);
    EXPECT_EQ(s.mine.get<long>(s.c, place_at(s.next())), 9);
  });
}

TEST(rma, memory_that_ranks_bring_is_reached) {
  with_sides(4, 2, [](side& s) {
    std::vector<long> own(4, 5L + s.world.rank());
    const rma::region& shared =
        s.mine.expose(s.world, own.data(), own.size() * sizeof(long), sizeof(long));
    EXPECT_EQ(s.mine.get<long>(s.c, shared.at(s.next(), 3)), 5 + s.next());
    s.mine.change<update::add>(s.c, shared.at(s.next(), 2), 10L);
    s.barrier();
    EXPECT_EQ(own[2], 15 + s.world.rank());
    // A fence between what goes by stores and what goes by messages.
    s.mine.put(s.c, shared.at(s.next(), 0), 77L);
    s.mine.fence(s.c);
    s.mine.put(s.c, s.of(s.next(), s.at(0)), 1L);
    s.wait_for(s.at(0), 1L);
    EXPECT_EQ(initiator::look(&own[0]), 77);
    s.barrier();
    s.mine.release(s.world, shared);
  });
}

// Rank r has r + 1 elements of r + 1 bytes, in two groups whose ranks are not those of the job.
TEST(rma, parts_differ_in_size_and_unit_and_ranks_are_those_of_the_group) {
  with_sides(5, 2, [](side& s) {
    const auto half = s.world.split(s.world.rank() % 2, -s.world.rank());
    ASSERT_TRUE(half.has_value());
    const int me = half->rank(), n = half->size();
    const auto unit_of = [](int rank) { return static_cast<std::size_t>(rank) + 1; };
    const rma::region& made = s.mine.allocate(*half, unit_of(me) * unit_of(me), unit_of(me));
    EXPECT_EQ(made.rank(), me);
    EXPECT_EQ(made.size(), n);
    for (int rank = 0; rank < n; ++rank) {
      EXPECT_EQ(made.extent_of(rank).bytes, unit_of(rank) * unit_of(rank));
      EXPECT_EQ(made.number_in_job(rank) % 2, s.world.rank() % 2);
    }
    // The last element of the next rank.
    const int next = (me + 1) % n;
    s.mine.put(s.c, made.at(next, unit_of(next) - 1), static_cast<char>(me + 1));
    expect_contains(error_of([&] { s.mine.put(s.c, made.at(next, unit_of(next)), 'x'); }),
                    "part of a region, which has");
    expect_contains(error_of([&] { s.mine.put(s.c, made.at(next, ~std::uint64_t{0} / 2), 'x'); }),
                    "part of a region, which has");
    s.mine.quiet(s.c);
    half->barrier();
    EXPECT_EQ(static_cast<int>(made.own()[unit_of(me) * (unit_of(me) - 1)]), (me + n - 1) % n + 1);
    s.mine.release(*half, made);
  });
}

TEST(rma, regions_are_made_and_released_in_any_order_and_number) {
  with_sides(3, 2, [](side& s) {
    std::vector<long> words(200);
    std::vector<const rma::region*> regions;
    for (long& word : words)
      regions.push_back(&s.mine.expose(s.world, &word, sizeof word, sizeof word));
    for (std::size_t round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < regions.size(); ++i)
        s.mine.put(s.c, regions[i]->at(s.next(), 0), static_cast<long>(1000 * round + i));
      s.barrier();
      for (std::size_t i = 0; i < words.size(); ++i)
        ASSERT_EQ(words[i], static_cast<long>(1000 * round + i));
      s.world.barrier();
      // Every second one ends and is made again, the last first.
      for (std::size_t i = regions.size(); i-- > 0;)
        if (i % 2 == round % 2) s.mine.release(s.world, *regions[i]);
      for (std::size_t i = 0; i < regions.size(); ++i)
        if (i % 2 == round % 2)
          regions[i] = &s.mine.expose(s.world, &words[i], sizeof words[i], sizeof words[i]);
    }
    for (const rma::region* const one : regions) s.mine.release(s.world, *one);
  });
}

// What a face may do with elements: three numbers, of which each is combined in its own way.
struct triple {
  long sum, greatest, count;
};
void combine_triples(const void*, void* left, const void* right, std::size_t count) {
  auto* const l = static_cast<triple*>(left);
  const auto* const r = static_cast<const triple*>(right);
  for (std::size_t i = 0; i < count; ++i)
    l[i] = {l[i].sum + r[i].sum, std::max(l[i].greatest, r[i].greatest), l[i].count + 1};
}
rma::element_update find_test_update(std::uint32_t name) noexcept;
const std::uint32_t test_updates = std::uint32_t{rma::register_element_updates(&find_test_update)}
                                   << rma::element_owner_bit;
rma::element_update find_test_update(std::uint32_t name) noexcept {
  rma::element_update found{.name = name, .alignment = alignof(triple)};
  found.element_bytes = found.operand_bytes = sizeof(triple);
  switch (name & 0xff) {
    case 0:
      found.change = rma::element_change::combine;
      found.combine = &combine_triples;
      return found;
    case 1:
      found.operand_bytes = 0;
      return found;
    default:
      return {};
  }
}

// In memory of rma's and in memory of the program, which other processes reach by messages.
TEST(rma, updates_of_elements_are_atomic_to_each_other) {
  with_sides(4, 2, [](side& s) {
    constexpr std::size_t n = 40;
    constexpr long rounds = 50;
    const rma::element_update combine = rma::find_element_update(test_updates);
    const rma::element_update look = rma::find_element_update(test_updates | 1);
    ASSERT_TRUE(combine.is_defined());
    EXPECT_FALSE(rma::find_element_update(test_updates | 2).is_defined());
    EXPECT_FALSE(rma::find_element_update(~0u).is_defined());
    std::vector<triple> own(n);
    const rma::region& brought =
        s.mine.expose(s.world, own.data(), own.size() * sizeof(triple), sizeof(triple));
    const rma::region& made = s.mine.allocate(s.world, n * sizeof(triple), sizeof(triple));
    std::vector<triple> mine(n, triple{1, s.world.rank(), 0}), old(n);
    for (const rma::region* const in : {&brought, &made}) {
      for (long i = 0; i < rounds; ++i)
        for (int rank = 0; rank < s.world.size(); ++rank)
          s.mine.change_elements(s.c, in->at(rank, 0), combine, mine.data(), old.data(), n,
                                 i % 2 == 0);
      s.barrier();
      s.mine.change_elements(s.c, in->at(s.next(), 0), look, nullptr, old.data(), n, true);
      const long all = rounds * s.world.size();
      for (const triple& one : old) {
        EXPECT_EQ(one.sum, all);
        EXPECT_EQ(one.greatest, s.world.size() - 1);
        EXPECT_EQ(one.count, all);
      }
    }
    expect_contains(error_of([&] {
                      s.mine.change_elements(s.c, made.at(s.next(), n), combine, mine.data(),
                                             nullptr, 1, true);
                    }),
                    "part of a region, which has");
    s.barrier();
    s.mine.release(s.world, made);
    s.mine.release(s.world, brought);
  });
}

// The part has more than one group of blocks (element_locks.hpp), and elements that lie in two.
TEST(rma, updates_of_one_element_are_atomic_to_those_of_many) {
  with_sides(4, 2, [](side& s) {
    constexpr std::size_t n = 700;
    constexpr std::size_t rounds = 30, ones = 20, stride = 23;
    const rma::element_update combine = rma::find_element_update(test_updates);
    const rma::region& in = s.mine.allocate(s.world, n * sizeof(triple), sizeof(triple));
    const std::vector<triple> mine(n, triple{1, 0, 0});
    std::vector<long> wanted(n, static_cast<long>(rounds));
    for (std::size_t i = 0; i < rounds; ++i) {
      s.mine.change_elements(s.c, in.at(0, 0), combine, mine.data(), nullptr, n, false);
      for (std::size_t k = 0; k < ones; ++k) {
        const std::size_t one = (i * ones + k) * stride % n;
        ++wanted[one];
        s.mine.change_elements(s.c, in.at(0, one), combine, mine.data(), nullptr, 1, false);
      }
    }
    s.mine.quiet(s.c);
    s.barrier();
    if (s.world.rank() == 0) {
      const auto* const found = reinterpret_cast<const triple*>(in.own().data());
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(found[i].sum, wanted[i] * s.world.size()) << "element " << i;
        EXPECT_EQ(found[i].count, wanted[i] * s.world.size()) << "element " << i;
      }
    }
    s.barrier();
    s.mine.release(s.world, in);
  });
}

TEST(rma, parts_in_a_row_lie_one_behind_the_other_in_every_process) {
  with_sides(4, 2, [](side& s) {
    const auto bytes_of = [](int rank) { return std::size_t{24} * static_cast<unsigned>(rank); };
    const int me = s.world.rank(), n = s.world.size();
    if (std::getenv("TEST_PER_NODE") != nullptr) {
      EXPECT_THROW(s.mine.allocate_in_a_row(s.world, bytes_of(me), 8), error);
      return;
    }
    const rma::region& row = s.mine.allocate_in_a_row(s.world, bytes_of(me), 8);
    EXPECT_EQ(row.own().size(), bytes_of(me));
    for (int rank = 0; rank < n; ++rank) {
      ASSERT_NE(row.bases()[rank], nullptr);
      EXPECT_EQ(row.bases()[rank], row.bases()[0] + 12 * rank * (rank - 1));
      EXPECT_EQ(row.extent_of(rank).bytes, bytes_of(rank));
    }
    EXPECT_EQ(row.own().data(), row.bases()[me]);
    if (me != 0) *reinterpret_cast<long*>(row.own().data()) = 100 + me;
    s.world.barrier();
    for (int rank = 1; rank < n; ++rank)
      EXPECT_EQ(*reinterpret_cast<long*>(row.bases()[rank]), 100 + rank);
    s.world.barrier();
    if (s.next() != 0) s.mine.put(s.c, row.at(s.next(), 1), 7L);
    s.barrier();
    if (me != 0) {
      EXPECT_EQ(reinterpret_cast<long*>(row.own().data())[1], 7);
    }
    s.barrier();
    s.mine.release(s.world, row);
  });
}

TEST(rma, attached_memory_is_reached_while_it_is_attached) {
  with_sides(4, 2, [](side& s) {
    rma::attached_memory ranges;
    const rma::region& all = s.mine.expose_attached(s.world, ranges);
    std::vector<long> words(100, s.world.rank());
    ASSERT_TRUE(ranges.attach(words.data(), 10 * sizeof(long)));
    std::vector<std::uint64_t> addresses(static_cast<std::size_t>(s.world.size()));
    s.world.allgather(std::uint64_t{reinterpret_cast<std::uintptr_t>(words.data())}, addresses);
    const std::uint64_t there = addresses[static_cast<std::size_t>(s.next())];
    s.mine.put(s.c, {&all, s.next(), there + 8}, &there, sizeof there);
    long got = -1;
    s.mine.get(s.c, &got, {&all, s.next(), there}, sizeof got);
    EXPECT_EQ(got, s.next());
    s.barrier();
    EXPECT_EQ(static_cast<std::uint64_t>(words[1]),
              addresses[static_cast<std::size_t>(s.world.rank())]);
    EXPECT_EQ(words[2], s.world.rank());
    EXPECT_TRUE(ranges.detach(words.data()));
    s.mine.release(s.world, all);
  });
}

TEST(attached_memory, ranges_do_not_overlap_and_are_found_whole_or_in_a_row) {
  rma::attached_memory ranges;
  std::vector<char> bytes(1000);
  const auto at = [&](std::size_t i) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(bytes.data() + i));
  };
  for (std::size_t i = 0; i < 100; ++i) ASSERT_TRUE(ranges.attach(bytes.data() + 10 * i, 5));
  EXPECT_FALSE(ranges.attach(bytes.data() + 4, 2));
  EXPECT_FALSE(ranges.attach(bytes.data() + 8, 3));
  EXPECT_FALSE(ranges.attach(bytes.data() + 5, 0));
  EXPECT_FALSE(ranges.attach(nullptr, 5));
  EXPECT_FALSE(ranges.attach(bytes.data() + 5, ~std::size_t{0}));
  EXPECT_TRUE(ranges.attach(bytes.data() + 5, 5));
  EXPECT_NE(ranges.find(at(990), 5), nullptr);
  EXPECT_EQ(ranges.find(at(990), 6), nullptr);
  EXPECT_EQ(ranges.find(at(995), 1), nullptr);
  EXPECT_NE(ranges.find(at(0), 15), nullptr);  // Of three ranges that follow each other.
  EXPECT_EQ(ranges.find(at(0), 16), nullptr);
  EXPECT_EQ(ranges.find(at(3), ~std::size_t{0}), nullptr);
  EXPECT_FALSE(ranges.detach(bytes.data() + 1));
  EXPECT_TRUE(ranges.detach(bytes.data() + 990));
  EXPECT_EQ(ranges.find(at(990), 5), nullptr);
  EXPECT_FALSE(ranges.detach(bytes.data() + 990));
}

TEST(exposed_memory, a_part_that_is_gone_is_not_found_and_neither_is_its_successor_by_its_number) {
  rma::exposed_memory exposed;
  std::array<std::byte, 64> first{}, second{};
  const std::uint32_t number = exposed.reserve();
  EXPECT_EQ(exposed.find(number, 0, 1), nullptr);  // Reserved only.
  exposed.expose(number, first);
  EXPECT_EQ(exposed.find(number, 8, 56), first.data() + 8);
  EXPECT_EQ(exposed.find(number, 8, 57), nullptr);
  EXPECT_EQ(exposed.find(number, 64, 0), nullptr);
  EXPECT_EQ(exposed.find(number + 1, 0, 1), nullptr);
  EXPECT_EQ(exposed.find(0, 0, 1), nullptr);
  EXPECT_EQ(exposed.find(~std::uint32_t{0}, 0, 1), nullptr);
  exposed.remove(number);
  EXPECT_EQ(exposed.find(number, 0, 1), nullptr);
  const std::uint32_t again = exposed.reserve();  // The same index.
  exposed.expose(again, second);
  EXPECT_EQ(again & 0xffff, number & 0xffff);
  EXPECT_EQ(exposed.find(number, 0, 1), nullptr);
  EXPECT_EQ(exposed.find(again, 0, 1), second.data());
}

TEST(exposed_memory, so_many_parts_have_numbers_of_their_own_and_no_more) {
  rma::exposed_memory exposed;
  std::vector<std::byte> bytes(rma::exposed_memory::parts_max);
  std::vector<std::uint32_t> numbers;
  for (std::byte& one : bytes) {
    numbers.push_back(exposed.reserve());
    exposed.expose(numbers.back(), {&one, 1});
  }
  EXPECT_EQ(exposed.reserve(), 0u);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    ASSERT_EQ(exposed.find(numbers[i], 0, 1), &bytes[i]) << i;
}

TEST(rma, what_a_part_does_not_have_is_refused_and_nothing_is_written) {
  with_sides(2, 1, [](side& s) {
    char block[64] = {1};
    expect_contains(error_of([&] { s.mine.put(s.c, s.heap.at(s.next(), heap_bytes), 2L); }),
                    "part of a region, which has 4194304 bytes");
    expect_contains(
        error_of([&] { (void)s.mine.get<long>(s.c, s.heap.at(s.next(), heap_bytes - 4)); }),
        "get of 8 bytes");
    expect_contains(error_of([&] {
                      (void)s.mine.fetch<update::add>(s.c, s.heap.at(s.next(), heap_bytes), 2L);
                    }),
                    "update of 8 bytes");
    expect_contains(
        error_of([&] { s.mine.put(s.c, s.heap.at(s.next(), heap_bytes - 16), block, 64); }),
        "4194288 bytes behind the begin");
    s.barrier();
    for (std::size_t i = heap_bytes - 16; i < heap_bytes; ++i) EXPECT_EQ(*s.at<char>(i), 0);
  });
}

TEST(rma, a_second_attach_finds_the_same_memory) {
  with_sides(2, 2, [](side& s) {
    EXPECT_EQ(&initiator::attach(detail::calling_rank("test")), &s.mine);
    EXPECT_EQ(initiator::of(detail::calling_rank("test")), &s.mine);
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
        std::byte* const there = s.heap.reached(s.heap.at(rank, 0), sizeof(long));
        if (there != nullptr) {
          s.mine.note_silent_writers();
          std::atomic_ref<long>(*reinterpret_cast<long*>(there))
              .store(1, std::memory_order_relaxed);
        } else {
          s.mine.put(s.c, s.of(rank, s.at(0)), 1L);
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
