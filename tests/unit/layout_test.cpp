// Messages of data that do not lie in a row: every layout, on every way that a message can take.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "job.hpp"
#include "rank/segment_copy.hpp"

namespace weft {
namespace {

std::vector<int> counting_from(int first, std::size_t count) {
  std::vector<int> v(count);
  std::iota(v.begin(), v.end(), first);
  return v;
}

// The bytes of a layout in the order in which they are sent, found without the library's copy.
std::vector<std::byte> bytes_of(const detail::segments& s) {
  std::vector<std::byte> all;
  for (std::size_t pass = 0; pass < s.all().count; ++pass)
    for (const detail::block_run& r : s.runs())
      for (std::size_t row = 0; row < r.middle.count; ++row)
        for (std::size_t b = 0; b < r.inner.count; ++b) {
          // The base may be null, with absolute addresses for offsets.
          const std::ptrdiff_t offset = r.offset +
                                        static_cast<std::ptrdiff_t>(pass) * s.all().stride +
                                        static_cast<std::ptrdiff_t>(row) * r.middle.stride +
                                        static_cast<std::ptrdiff_t>(b) * r.inner.stride;
          const auto* at =
              reinterpret_cast<const std::byte*>(s.base() + static_cast<std::uintptr_t>(offset));
          all.insert(all.end(), at, at + r.block);
        }
  return all;
}
template <class T>
std::vector<T> values_of(const const_layout& l) {
  const std::vector<std::byte> bytes = bytes_of(l.where());
  std::vector<T> values(bytes.size() / sizeof(T));
  std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(values)).begin());
  return values;
}

struct particle {
  double x, y, z;
  int id;
  char name[4];
  bool operator==(const particle&) const = default;
};

// --- What a layout says --------------------------------------------------------------------------

TEST(a_layout, of_a_column_takes_one_element_of_each_row) {
  const std::vector<int> m = counting_from(0, 12);  // 3 rows of 4
  EXPECT_EQ(values_of<int>(strided(m, {.first = 1, .stride = 4, .count = 3})),
            (std::vector{1, 5, 9}));
  EXPECT_EQ(values_of<int>(strided(m, {.first = 2, .block = 2, .stride = 4, .count = 3})),
            (std::vector{2, 3, 6, 7, 10, 11}));
}

TEST(a_layout, of_blocks_keeps_the_order_of_the_list) {
  const std::vector<int> v = counting_from(0, 10);
  EXPECT_EQ(values_of<int>(indexed(v, {{7, 2}, {0, 1}, {3, 3}})), (std::vector{7, 8, 0, 3, 4, 5}));
  const std::vector<block_of> none;
  EXPECT_EQ(indexed(v, none).size_bytes(), 0u);
}

TEST(a_layout, of_a_sub_array_has_the_last_index_running_fastest) {
  const std::vector<int> a = counting_from(0, 2 * 3 * 4);
  EXPECT_EQ(values_of<int>(sub_array(a, {2, 3, 4}, {0, 1, 2}, {2, 2, 1})),
            (std::vector{6, 10, 18, 22}));
  EXPECT_EQ(values_of<int>(sub_array(a, {6, 4}, {4, 1}, {2, 2})), (std::vector{17, 18, 21, 22}));
  EXPECT_EQ(values_of<int>(sub_array(a, {24}, {20}, {3})), (std::vector{20, 21, 22}));
  const std::vector<int> b = counting_from(0, 2 * 2 * 3 * 2);
  EXPECT_EQ(values_of<int>(sub_array(b, {2, 2, 3, 2}, {0, 1, 0, 1}, {2, 1, 2, 1})),
            (std::vector{7, 9, 19, 21}));
  EXPECT_EQ(sub_array(a, {2, 3, 4}, {0, 0, 0}, {2, 0, 4}).size_bytes(), 0u);
}

TEST(a_layout, of_members_takes_them_from_every_element) {
  std::vector<particle> p{{1, 2, 3, 10, "ab"}, {4, 5, 6, 11, "cd"}};
  const layout l = members(p, &particle::id, &particle::y);
  ASSERT_EQ(l.size_bytes(), 2 * (sizeof(int) + sizeof(double)));
  const std::vector<std::byte> bytes = bytes_of(l.where());
  int id = 0;
  std::memcpy(&id, bytes.data() + 12, sizeof id);
  EXPECT_EQ(id, 11);
  double y = 0;
  std::memcpy(&y, bytes.data() + 4, sizeof y);
  EXPECT_EQ(y, 2);
  EXPECT_EQ(members(std::span<particle>(), &particle::id).size_bytes(), 0u);
}

TEST(a_layout, gathers_values_ranges_and_layouts) {
  int step = 7;
  std::vector<int> v{1, 2, 3};
  std::vector<int> m = counting_from(0, 9);
  const layout l = gathered(step, v, strided(m, {.stride = 3, .count = 3}));
  EXPECT_EQ(values_of<int>(l), (std::vector{7, 1, 2, 3, 0, 3, 6}));
  std::vector<particle> p{{1, 2, 3, 10, "ab"}, {4, 5, 6, 11, "cd"}};
  EXPECT_EQ(values_of<int>(gathered(members(p, &particle::id, &particle::name), step)).size(), 5u);
}

TEST(a_layout, whose_blocks_touch_is_found_to_be_contiguous) {
  std::vector<int> v = counting_from(0, 24);
  EXPECT_TRUE(strided(v, {.block = 2, .stride = 2, .count = 12}).where().contiguous());
  EXPECT_TRUE(sub_array(v, {2, 3, 4}, {1, 0, 0}, {1, 3, 4}).where().contiguous());
  EXPECT_TRUE(sub_array(v, {2, 3, 4}, {0, 0, 0}, {2, 3, 4}).where().contiguous());
  EXPECT_TRUE(indexed(v, {{2, 3}, {5, 1}, {6, 4}}).where().contiguous());
  EXPECT_EQ(indexed(v, {{2, 3}, {5, 1}}).where().flat().data(),
            std::as_bytes(std::span(v)).data() + 2 * sizeof(int));
  std::vector<particle> p(3);
  EXPECT_TRUE(members(p, &particle::x, &particle::y, &particle::z, &particle::id, &particle::name)
                  .where()
                  .contiguous());
  EXPECT_FALSE(strided(v, {.stride = 2, .count = 3}).where().contiguous());
}

TEST(a_layout, beyond_its_range_is_refused_with_both_numbers) {
  std::vector<int> v(10);
  expect_contains(error_of([&] { (void)strided(v, {.first = 1, .stride = 5, .count = 3}); }),
                  "3 blocks of 1 at stride 5 from element 1: the range has 10 elements");
  expect_contains(error_of([&] { (void)strided(v, {.block = 3, .stride = 2, .count = 2}); }),
                  "must not overlap");
  expect_contains(error_of([&] { (void)strided(v, {.stride = ~std::size_t{0} / 2, .count = 3}); }),
                  "the range has 10 elements");
  expect_contains(error_of([&] {
                    (void)indexed(v, {{0, 2}, {9, 2}});
                  }),
                  "a block of 2 elements from element 9: the range has 10 elements");
  expect_contains(error_of([&] {
                    (void)sub_array(v, {3, 4}, {0, 0}, {1, 1});
                  }),
                  "larger than its range of 10");
  expect_contains(error_of([&] {
                    (void)sub_array(v, {2, 5}, {0, 3}, {2, 3});
                  }),
                  "3 elements from element 3 of dimension 1: it has 5");
  EXPECT_NO_THROW((void)strided(v, {.first = 9, .stride = 100, .count = 1}));
}

// --- Copies --------------------------------------------------------------------------------------

const_layout random_layout(std::mt19937& random, std::vector<int>& v) {
  const auto below = [&](std::size_t n) { return random() % n; };
  switch (below(5)) {
    case 4: {  // A list that is repeated, most often the same as the other side's.
      const auto bytes = [](std::size_t ints) {
        return static_cast<std::ptrdiff_t>(ints * sizeof(int));
      };
      const std::size_t second = 1 + (below(8) == 0);
      return const_layout(detail::segments(
          v.data(), {2 + below(17), bytes(8 + below(5))},
          {{bytes(below(2)), 2 * sizeof(int)}, {bytes(4 + below(3)), second * sizeof(int)}}));
    }
    case 0: {
      const std::size_t block = 1 + below(5);
      const std::size_t stride = block + below(4);
      return strided(v, {below(3), block, stride, below((v.size() - 8) / stride)});
    }
    case 1: {
      std::vector<block_of> blocks;
      for (std::size_t at = 0; at + 12 < v.size(); at += 12)
        blocks.push_back({at + below(4), below(8)});
      return indexed(v, blocks);
    }
    case 2:
      return sub_array(v, {4, 4, 4, v.size() / 64}, {below(4), below(3), 0, below(3)},
                       {1, 1 + below(2), 1 + below(4), 1 + below(2)});
    default:
      return gathered(std::span(v).subspan(below(10), below(20)),
                      strided(v, {50, 1 + below(2), 3, 1 + below(20)}),
                      indexed(v, {{150, below(9)}, {130, 1}}));
  }
}

// In parts that end anywhere, as a shared copy has them.
TEST(a_copy_between_layouts, moves_each_byte_from_its_place_to_its_place) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 3000; ++round) {
    std::vector<int> from = counting_from(1, 256);
    std::vector<int> to(256, -1);
    const const_layout source = random_layout(random, from);
    const const_layout target = random_layout(random, to);
    const std::size_t size = std::min(source.size_bytes(), target.size_bytes());
    const std::vector<std::byte> wanted = bytes_of(source.where());
    for (std::size_t at = 0; at < size;) {
      const std::size_t end = std::min(size, at + 1 + random() % 300);
      detail::copy_segments(target.where(), source.where(), at, end);
      at = end;
    }
    const std::vector<std::byte> got = bytes_of(target.where());
    ASSERT_TRUE(
        std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(size), wanted.begin()))
        << "round " << round;
    // Nothing beside the layout was written: it may be written to -1, and then nothing is left.
    const std::vector<int> nothing(256, -1);
    detail::copy_segments(target.where(), detail::segments(std::as_bytes(std::span(nothing))), 0,
                          std::min(target.size_bytes(), nothing.size() * sizeof(int)));
    if (target.size_bytes() <= nothing.size() * sizeof(int)) {
      ASSERT_EQ(to, nothing) << "round " << round;
    }
  }
}

// --- Messages ------------------------------------------------------------------------------------

struct placing {
  const char* name;
  int ranks;
  int workers;
};
class laid_out_messages : public testing::TestWithParam<placing> {};

// Of 4 bytes to 8 MiB: within a worker, through the mailbox, by offer, as a shared copy.
constexpr std::size_t row_counts[] = {1, 2, 100, 1500, 40'000, 700'000};

TEST_P(laid_out_messages, of_every_size_arrive_in_another_layout) {
  run_ranks(GetParam().ranks, GetParam().workers, [&](communicator& world) {
    const int to = world.size() - 1;
    for (const bool posted_first : {true, false})
      for (const std::size_t rows : row_counts) {
        const stride_of columns{.first = 1, .block = 3, .stride = 5, .count = rows};
        const stride_of other{.first = 0, .block = 1, .stride = 2, .count = 3 * rows};
        std::vector<int> in(6 * rows, -1);
        const std::vector<int> out = counting_from(0, 5 * rows);
        request receiving;
        if (world.rank() == to && posted_first) receiving = world.irecv(strided(in, other), 0);
        world.barrier();
        request sending;
        if (world.rank() == 0) sending = world.isend(strided(out, columns), to);
        if (!posted_first) world.barrier();
        if (world.rank() == to) {
          if (!posted_first) receiving = world.irecv(strided(in, other), 0);
          EXPECT_EQ(receiving.wait().bytes, 3 * rows * sizeof(int));
          for (std::size_t i = 0; i < 3 * rows; ++i) {
            ASSERT_EQ(in[2 * i], out[i / 3 * 5 + 1 + i % 3]) << i << " of " << rows;
            ASSERT_EQ(in[2 * i + 1], -1);
          }
        }
        sending.wait();
      }
  });
}

TEST_P(laid_out_messages, mix_with_contiguous_ones_on_either_side) {
  run_ranks(GetParam().ranks, GetParam().workers, [&](communicator& world) {
    const int to = world.size() - 1;
    for (const std::size_t rows : row_counts) {
      const stride_of even{.stride = 2, .count = rows};
      std::vector<int> row = counting_from(5, rows);
      std::vector<int> spread(2 * rows, -1);
      for (std::size_t i = 0; i < rows; ++i) spread[2 * i] = static_cast<int>(i) * 3;
      if (to == 0) {
        world.bsend(row, 0, 1);
        world.bsend(strided(spread, even), 0, 2);
      } else if (world.rank() == 0) {
        world.send(row, to, 1);
        world.ssend(strided(spread, even), to, 2);
      }
      if (world.rank() == to) {
        std::vector<int> in(2 * rows, -1);
        world.recv(strided(in, even), 0, 1);
        for (std::size_t i = 0; i < rows; ++i) ASSERT_EQ(in[2 * i], row[i]);
        for (std::size_t i = 0; i < rows; ++i) ASSERT_EQ(in[2 * i + 1], -1);
        const message_status next = world.probe(0, 2);
        EXPECT_EQ(next.count<int>(), rows);
        EXPECT_EQ(world.recv_vector<int>(0, 2),
                  values_of<int>(strided(std::as_const(spread), even)));
      }
    }
  });
}

TEST_P(laid_out_messages, can_be_persistent_buffered_matched_and_exchanged) {
  run_ranks(GetParam().ranks, GetParam().workers, [&](communicator& world) {
    const int to = world.size() - 1;
    for (const std::size_t rows : {std::size_t{3}, std::size_t{30'000}}) {
      std::vector<int> out(rows * 2);
      std::vector<int> in(rows * 3, -1);
      {
        request sending = world.rank() == 0
                              ? world.send_init(strided(out, {.stride = 2, .count = rows}), to)
                              : request();
        request receiving = world.rank() == to
                                ? world.recv_init(strided(in, {.stride = 3, .count = rows}), 0)
                                : request();
        for (int round = 0; round < 5; ++round) {
          for (std::size_t i = 0; i < rows; ++i) out[2 * i] = static_cast<int>(i) + round;
          if (world.rank() == to) receiving.start();
          if (world.rank() == 0) sending.start();
          sending.wait();
          receiving.wait();
          for (std::size_t i = 0; world.rank() == to && i < rows; ++i)
            ASSERT_EQ(in[3 * i], static_cast<int>(i) + round);
        }
      }
      if (world.rank() == 0) {
        world.bsend(strided(out, {.stride = 2, .count = rows}), to);
        std::fill(out.begin(), out.end(), -7);  // A buffered send has its own copy.
      }
      if (world.rank() == to) {
        message next = world.mprobe(0);
        EXPECT_EQ(next.status().bytes, rows * sizeof(int));
        EXPECT_EQ(next.recv(strided(in, {.first = 1, .stride = 3, .count = rows})).bytes,
                  rows * sizeof(int));
        for (std::size_t i = 0; i < rows; ++i) ASSERT_EQ(in[3 * i + 1], static_cast<int>(i) + 4);
      }
      // Columns to the right, round the ring.
      std::vector<int> field(rows * 4, world.rank());
      const int right = (world.rank() + 1) % world.size();
      const int left = (world.rank() + world.size() - 1) % world.size();
      world.sendrecv(strided(field, {.first = 2, .stride = 4, .count = rows}), right,
                     strided(field, {.first = 0, .stride = 4, .count = rows}), left, 5, 5);
      for (std::size_t i = 0; i < rows; ++i) {
        ASSERT_EQ(field[4 * i], left);
        ASSERT_EQ(field[4 * i + 1], world.rank());
      }
    }
  });
}

TEST_P(laid_out_messages, of_members_and_of_several_ranges_arrive) {
  run_ranks(GetParam().ranks, GetParam().workers, [&](communicator& world) {
    const int to = world.size() - 1;
    for (const std::size_t count : {std::size_t{2}, std::size_t{20'000}}) {
      std::vector<particle> all(count);
      std::vector<double> forces(count / 2, 0.25);
      const double time = 1.5;
      for (std::size_t i = 0; i < count; ++i)
        all[i] = {1.0 * static_cast<double>(i), 2, 3, static_cast<int>(i), "cu"};
      request sending;
      if (world.rank() == 0)
        sending =
            world.isend(gathered(time, members(all, &particle::x, &particle::id), forces), to);
      if (world.rank() == to) {
        double got_time = 0;
        std::vector<particle> got(count, particle{-1, -1, -1, -1, "no"});
        std::vector<double> got_forces(count / 2);
        world.recv(gathered(got_time, members(got, &particle::x, &particle::id), got_forces), 0);
        EXPECT_EQ(got_time, 1.5);
        EXPECT_EQ(got_forces, std::vector<double>(count / 2, 0.25));
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(got[i],
                    (particle{1.0 * static_cast<double>(i), -1, -1, static_cast<int>(i), "no"}));
      }
      sending.wait();
    }
  });
}

TEST_P(laid_out_messages, that_are_too_long_throw_with_both_sizes_and_write_nothing_beside) {
  run_ranks(GetParam().ranks, GetParam().workers, [&](communicator& world) {
    const int to = world.size() - 1;
    for (const std::size_t rows : {std::size_t{8}, std::size_t{50'000}}) {
      const std::vector<int> out(2 * rows, 1);
      std::vector<int> in(2 * rows, -1);
      request sending;
      if (world.rank() == 0) sending = world.isend(strided(out, {.stride = 2, .count = rows}), to);
      if (world.rank() == to) {
        const std::string text =
            error_of([&] { world.recv(strided(in, {.stride = 2, .count = rows / 2}), 0); });
        expect_contains(text, "a receive of " + std::to_string(rows / 2 * sizeof(int)) + " bytes");
        expect_contains(text, "a message of " + std::to_string(rows * sizeof(int)) + " bytes");
        for (std::size_t i = 0; i < 2 * rows; ++i)
          ASSERT_EQ(in[i], i < rows && i % 2 == 0 ? 1 : -1);
      }
      sending.wait();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(with, laid_out_messages,
                         testing::Values(placing{"one_rank", 1, 1},
                                         placing{"two_ranks_of_one_worker", 2, 1},
                                         placing{"two_workers", 2, 2},
                                         placing{"five_ranks_of_two_workers", 5, 2}),
                         [](const auto& at) { return at.param.name; });

}  // namespace
}  // namespace weft
