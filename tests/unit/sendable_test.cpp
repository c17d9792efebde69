// What the calls of a communicator take: every kind of data by every kind of call, what is an element and what is none.
// tests/compile_fail has what must not compile.
#include "weft/sendable.hpp"

#include <array>
#include <chrono>
#include <complex>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <numeric>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "job.hpp"

namespace weft {
namespace {

struct point {
  double x, y;
  int id;
};
struct link {
  int id;
  link* next;
};
struct node {
  int id;
  link first;
};
struct named {
  double values[3];
  std::string_view name;
};
struct table {
  double values[3];
  std::array<double, 1000> more;
  int rows[4][4];
};
struct mixed {
  std::complex<double> z;
  std::optional<int> maybe;
  std::chrono::nanoseconds time;
  bool flag;
  point corners[2];
  union {
    double d;
    int i;
  };
};
struct referring {
  double& to;
};
struct derived : link {};
struct vector_3d {  // Its elements lie in it.
  double v[3];
  const double* begin() const { return v; }
  const double* end() const { return v + 3; }
};
struct opted_in {
  int id;
  void* of_the_sender;
};

}  // namespace
template <>
inline constexpr bool sent_as_bytes<opted_in> = true;
namespace {

TEST(element, is_a_value_without_addresses_at_any_depth) {
  static_assert(element<int> && element<std::byte> && element<point> && element<table>);
  static_assert(element<mixed> && element<vector_3d> && element<std::array<point, 3>>);
  static_assert(element<opted_in>);
  static_assert(!element<int*> && !element<std::nullptr_t> && !element<int point::*>);
  static_assert(!element<std::reference_wrapper<int>> && !element<referring>);
  static_assert(!element<link> && !element<node> && !element<derived> && !element<named>);
  static_assert(!element<std::array<int*, 2>> && !element<std::optional<int*>>);
  static_assert(!element<std::vector<int>::iterator> && !element<std::string>);
}

TEST(element, is_no_range_that_keeps_its_elements_elsewhere) {
  using numbers = decltype(std::views::iota(0, 5));
  using reversed = decltype(std::declval<std::vector<int>&>() | std::views::reverse);
  using filtered =
      decltype(std::declval<std::vector<int>&>() | std::views::filter(std::identity()));
  static_assert(!element<numbers> && !element<reversed> && !element<filtered>);
  static_assert(copied_range<numbers> && copied_range<reversed> && !copied_range<filtered>);
  static_assert(!element_range<std::vector<std::string_view>> && !element_range<std::vector<link>>);
  static_assert(!sendable<filtered> && !sendable<std::list<std::string>> && !sendable<link>);
  static_assert(sendable<std::list<int>> && sendable<std::deque<point>> && sendable<std::string>);
}

// To this rank itself: what is sent by `send` is received as a vector of T.
template <class T>
void expect_arrives(communicator& world, const auto& data, const std::vector<T>& expected) {
  world.send(data, 0, 1);
  EXPECT_EQ(world.recv<std::vector<T>>(0, 1), expected);
  world.bsend(data, 0, 2);
  EXPECT_EQ(world.recv<std::vector<T>>(0, 2), expected);
  std::vector<T> room(expected.size());
  EXPECT_EQ(world.sendrecv(data, 0, room, 0).bytes, expected.size() * sizeof(T));
  EXPECT_EQ(room, expected);
}

TEST(sending, copies_ranges_whose_elements_do_not_lie_in_a_row) {
  run_ranks(1, 1, [](communicator& world) {
    const std::vector<int> v{1, 2, 3};
    expect_arrives<int>(world, v | std::views::transform([](int i) { return i * 10; }),
                        {10, 20, 30});
    expect_arrives<int>(world, v | std::views::reverse, {3, 2, 1});
    expect_arrives<int>(world, std::views::iota(0, 5), {0, 1, 2, 3, 4});
    expect_arrives<int>(world, std::views::iota(0, 0), {});
    expect_arrives<int>(world, std::list<int>{4, 5}, {4, 5});
    expect_arrives<double>(world, std::deque<double>{0.5}, {0.5});
    expect_arrives<char>(world, std::vector<bool>{true, false, true}, {1, 0, 1});
    // Long enough for the way of long messages, and a view that can be walked through by non-const only.
    std::vector<int> large(20'000);
    std::iota(large.begin(), large.end(), 0);
    std::vector<int> shifted = large;
    for (int& i : shifted) ++i;
    request receiving = world.irecv(large, 0, 3);
    world.send(shifted | std::views::transform([](int i) { return i - 1; }), 0, 3);
    receiving.wait();
    EXPECT_EQ(large.front(), 0);
    EXPECT_EQ(large.back(), 19'999);
    std::list<int> some{1, 2, 3, 4};
    expect_arrives<int>(world, some | std::views::drop(1), {2, 3, 4});
    // What throws while it is copied sends nothing.
    EXPECT_THROW(world.send(v | std::views::transform([](int) -> int { throw error("none"); }), 0),
                 error);
    EXPECT_FALSE(world.iprobe().has_value());
  });
}

TEST(sending, leaves_addresses_that_the_program_vouches_for) {
  run_ranks(1, 1, [](communicator& world) {
    world.send(opted_in{7, nullptr}, 0);
    EXPECT_EQ(world.recv<opted_in>(0).id, 7);
    std::vector<link> chain(2);
    chain[0] = {5, &chain[1]};
    chain[1] = {6, nullptr};
    world.send(members(chain, &link::id), 0);
    EXPECT_EQ(world.recv<std::vector<int>>(0), (std::vector{5, 6}));
  });
}

TEST(receiving, makes_a_string_or_vector_as_long_as_the_message) {
  run_ranks(2, 2, [](communicator& world) {
    const std::string large(100'000, 'x');
    if (world.rank() == 0) {
      world.send(std::string("some text"), 1);
      world.send(std::vector<point>{{1, 2, 3}, {4, 5, 6}}, 1, 4);
      world.send(std::string(), 1);
      world.send(large, 1);
      world.send(std::array{1, 2, 3}, 1);
      world.send(std::vector<char>(5), 1);
      world.send(std::vector<char>(5), 1);
      return;
    }
    EXPECT_EQ(world.recv<std::string>(0), "some text");
    message_status status;
    const auto points = world.recv<std::vector<point>>(any_source, 4, &status);
    ASSERT_EQ(points.size(), 2U);
    EXPECT_EQ(points[1].id, 6);
    EXPECT_EQ(status.source, 0);
    EXPECT_EQ(world.recv<std::string>(), "");
    message next = world.mprobe(0);
    EXPECT_EQ(next.recv<std::string>(), large);
    EXPECT_EQ((world.recv<std::array<int, 3>>(0)), (std::array{1, 2, 3}));
    EXPECT_THROW(static_cast<void>(world.recv<std::vector<int>>(0)), error);
    message wrong = world.mprobe(0);
    EXPECT_THROW(static_cast<void>(wrong.recv<int>()), error);
    EXPECT_EQ(wrong.recv<std::string>().size(), 5U);
    EXPECT_EQ(world.recv<std::string>(proc_null), "");
  });
}

TEST(collectives, take_variables_ranges_and_views) {
  run_ranks(3, 2, [](communicator& world) {
    const int me = world.rank();
    int x = me == 1 ? 42 : 0;
    world.bcast(x, 1);  // In place,
    EXPECT_EQ(x, 42);
    x = world.bcast(me == 2 ? 7 : 0, 2);  // and of a value.
    EXPECT_EQ(x, 7);
    point p{1.0 * me, 0, me};
    world.bcast(p, 2);
    EXPECT_EQ(p.id, 2);

    const std::vector<int> mine{me, 10 + me};
    const std::vector<int> all{0, 10, 1, 11, 2, 12};
    EXPECT_EQ(world.allgather(mine), all);
    EXPECT_EQ(world.allgather(mine | std::views::transform([](int i) { return i; })), all);
    EXPECT_EQ(world.allgather(std::array{me, 10 + me}), all);
    EXPECT_EQ(world.gather(mine, 1), me == 1 ? all : std::vector<int>());
    EXPECT_EQ(world.gather(me, 0), me == 0 ? (std::vector{0, 1, 2}) : std::vector<int>());
    EXPECT_EQ(world.allgatherv(std::views::iota(0, me)), (std::vector{0, 0, 1}));

    std::vector<int> block(2);
    world.scatter(all, block, 0);
    EXPECT_EQ(block, mine);
    int one = -1;
    world.scatter(std::views::iota(5, 8), one, 0);
    EXPECT_EQ(one, 5 + me);
    EXPECT_EQ(world.scatter(std::list<int>{5, 6, 7}, 2), 5 + me);
    EXPECT_EQ(world.alltoall(std::views::iota(3 * me, 3 * me + 3)),
              (std::vector{me, 3 + me, 6 + me}));
    int sum = 0;
    world.allreduce(me, sum, std::plus<>());
    EXPECT_EQ(sum, 3);
    std::array<int, 2> sums{};
    world.allreduce(mine | std::views::reverse, sums, std::plus<>());
    EXPECT_EQ(sums, (std::array{33, 3}));
    EXPECT_EQ(world.allreduce(me, weft::max()), 2);
    world.scan(std::views::iota(me, me + 2), sums, std::plus<>());
    EXPECT_EQ(sums[0], me * (me + 1) / 2);
  });
}

TEST(collectives, that_do_not_block_take_variables) {
  run_ranks(3, 2, [](communicator& world) {
    const int me = world.rank();
    int sum = 0;
    int largest = me;
    int before = -1;
    int from_root = me == 0 ? 99 : 0;
    std::vector<int> all(3);
    std::vector<request> requests;
    requests.push_back(world.iallreduce(me, sum, std::plus<>()));
    requests.push_back(world.iallreduce(largest, weft::max()));
    requests.push_back(world.iexscan(me, before, std::plus<>()));
    requests.push_back(world.ibcast(from_root, 0));
    requests.push_back(world.iallgather(me, all));
    wait_all(requests);
    EXPECT_EQ(sum, 3);
    EXPECT_EQ(largest, 2);
    EXPECT_EQ(before, me == 2 ? 1 : me == 1 ? 0 : -1);
    EXPECT_EQ(from_root, 99);
    EXPECT_EQ(all, (std::vector{0, 1, 2}));
    int mine = 0;
    world.iscatter(all, mine, 1).wait();
    EXPECT_EQ(mine, me);
  });
}

TEST(loops, go_over_ranges) {
  run_ranks(2, 2, [](communicator& world) {
    std::vector<int> v(1000, 1);
    parallel_for(v, [](int& i) { i += 1; });
    EXPECT_EQ(std::accumulate(v.begin(), v.end(), 0), 2000);
    std::vector<int> seen(100);
    parallel_for(std::views::iota(50, 100), [&](int i) { seen[static_cast<std::size_t>(i)] = i; },
                 {.grain = 7});
    EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0), (50 + 99) * 25);
    const std::array<std::size_t, 2> extent{4, 5};  // Two indices: a box; one: its elements.
    std::vector<int> box(20);
    parallel_for(extent, [&](std::size_t i, std::size_t j) { box[i * 5 + j] = 1; });
    EXPECT_EQ(std::accumulate(box.begin(), box.end(), 0), 20);
    parallel_for(std::vector<int>(), [](int) { FAIL(); });
    world.barrier();
  });
}

TEST(sleeping, takes_durations_of_any_unit) {
  run_ranks(1, 1, [](communicator&) {
    const auto start = std::chrono::steady_clock::now();
    sleep_for(std::chrono::microseconds(300));
    sleep_for(std::chrono::duration<double>(0.0002));
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::microseconds(500));
    sleep_for(std::chrono::seconds(-1));
  });
}

}  // namespace
}  // namespace weft
