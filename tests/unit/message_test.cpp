// Point-to-point messages: every size and way, to oneself, within a worker and between workers.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "job.hpp"
#include "memory_beyond_4_gib.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

std::vector<unsigned char> pattern(std::size_t bytes, unsigned seed) {
  std::vector<unsigned char> p(bytes);
  unsigned x = seed * 2654435761u + 1;
  for (unsigned char& c : p) c = static_cast<unsigned char>((x = x * 1664525u + 1013904223u) >> 24);
  return p;
}

constexpr std::size_t sizes[] = {0,    1,    7,     8,         64,        1000,
                                 4096, 4097, 65536, (1 << 20), (5 << 20), 64 * 1024 - 1};

// Ranks 0 and 1 of a job of `ranks` on `workers`; with one rank, it talks to itself.
struct placing {
  const char* name;
  int ranks;
  int workers;
};

class message_of_any_size : public testing::TestWithParam<placing> {
 protected:
  // `before` is set when the receives are posted before the messages are sent.
  static void exchange(bool posted_first) {
    const placing& where = GetParam();
    run_ranks(where.ranks, where.workers, [&](communicator& world) {
      const int to = where.ranks - 1;  // 0 when alone.
      std::vector<std::vector<unsigned char>> in(std::size(sizes));
      std::vector<request> all;
      if (world.rank() == to && posted_first)
        for (std::size_t i = 0; i < std::size(sizes); ++i) {
          in[i].resize(sizes[i]);
          all.push_back(world.irecv(in[i], 0, static_cast<int>(i)));
        }
      world.barrier();
      std::vector<std::vector<unsigned char>> out(std::size(sizes));
      if (world.rank() == 0)
        for (std::size_t i = 0; i < std::size(sizes); ++i) {
          out[i] = pattern(sizes[i], static_cast<unsigned>(i));
          all.push_back(world.isend(out[i], to, static_cast<int>(i)));
        }
      if (!posted_first) {
        if (world.rank() == 0) world.send(1, to, 1000);
        if (world.rank() == to) {
          // Everything sent before this message has arrived, and is unexpected.
          EXPECT_EQ(world.recv<int>(0, 1000), 1);
          for (std::size_t i = std::size(sizes); i-- > 0;) {
            in[i].resize(sizes[i] + 3, 77);
            const message_status got = world.recv(in[i], 0, static_cast<int>(i));
            EXPECT_EQ(got.bytes, sizes[i]);
            EXPECT_EQ(got.tag, static_cast<int>(i));
            EXPECT_EQ(got.source, 0);
            for (std::size_t k = sizes[i]; k < in[i].size(); ++k) EXPECT_EQ(in[i][k], 77);
            in[i].resize(sizes[i]);
          }
        }
      }
      wait_all(all);
      for (std::size_t i = 0; i < std::size(sizes) && world.rank() == to; ++i)
        EXPECT_EQ(in[i], pattern(sizes[i], static_cast<unsigned>(i))) << sizes[i] << " bytes";
    });
  }
};

TEST_P(message_of_any_size, arrives_whole_in_a_posted_receive) {
  exchange(true);
}
TEST_P(message_of_any_size, arrives_whole_when_unexpected) {
  exchange(false);
}

TEST_P(message_of_any_size, arrives_whole_by_each_kind_of_send) {
  const placing& where = GetParam();
  run_ranks(where.ranks, where.workers, [&](communicator& world) {
    const int to = where.ranks - 1;
    for (const std::size_t bytes : sizes) {
      std::vector<unsigned char> in(bytes);
      request posted;
      if (world.rank() == to) posted = world.irecv(in, 0, 3);
      if (world.rank() == 0) {
        const auto out = pattern(bytes, 9);
        world.ssend(out, to, 3);
        world.bsend(out, to, 4);
        request r = world.issend(out, to, 5);
        if (to == 0) {
          EXPECT_EQ(world.recv_vector<unsigned char>(0, 5), out);
        }
        r.wait();
      }
      if (world.rank() == to) {
        posted.wait();
        EXPECT_EQ(in, pattern(bytes, 9));
        if (to != 0) {
          EXPECT_EQ(world.recv_vector<unsigned char>(0, 5), pattern(bytes, 9));
        }
        EXPECT_EQ(world.recv_vector<unsigned char>(0, 4), pattern(bytes, 9));
      }
    }
  });
}

TEST_P(message_of_any_size, goes_both_ways_at_once_by_sendrecv) {
  const placing& where = GetParam();
  run_ranks(where.ranks, where.workers, [&](communicator& world) {
    if (world.rank() != 0 && world.rank() != where.ranks - 1) return;
    const int partner = where.ranks - 1 - world.rank();
    for (const std::size_t bytes : sizes) {
      std::vector<unsigned char> in(bytes);
      const auto out = pattern(bytes, static_cast<unsigned>(world.rank()));
      const message_status got = world.sendrecv(out, partner, in, partner, 1, 1);
      EXPECT_EQ(got.bytes, bytes);
      EXPECT_EQ(got.source, partner);
      EXPECT_EQ(in, pattern(bytes, static_cast<unsigned>(partner)));
    }
  });
}

TEST_P(message_of_any_size, is_seen_by_probe_before_it_is_received) {
  const placing& where = GetParam();
  run_ranks(where.ranks, where.workers, [&](communicator& world) {
    const int to = where.ranks - 1;
    for (int tag = 0; tag < static_cast<int>(std::size(sizes)); ++tag) {
      const std::size_t bytes = sizes[tag];
      const auto out = pattern(bytes, 3);
      request sending;
      if (world.rank() == 0) sending = world.isend(out, to, tag);
      if (world.rank() == to) {
        const message_status seen = world.probe();
        EXPECT_EQ(seen.bytes, bytes);
        EXPECT_EQ(seen.source, 0);
        EXPECT_EQ(seen.tag, tag);
        EXPECT_EQ(world.probe(0, tag).bytes, bytes) << "it stays";
        if (bytes % 2 == 0) {
          EXPECT_EQ(world.recv_vector<unsigned char>(), out);
        } else {
          message taken = world.mprobe(0);
          EXPECT_EQ(taken.status().bytes, bytes);
          EXPECT_FALSE(world.iprobe(0, tag).has_value()) << "nobody else sees it any more";
          std::vector<unsigned char> in(bytes);
          EXPECT_EQ(taken.recv(in).bytes, bytes);
          EXPECT_EQ(in, out);
        }
      }
      sending.wait();
    }
  });
}

TEST_P(message_of_any_size, sends_and_receives_again_by_persistent_requests) {
  const placing& where = GetParam();
  run_ranks(where.ranks, where.workers, [&](communicator& world) {
    const int to = where.ranks - 1;
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{4097}, std::size_t{1} << 20}) {
      std::vector<unsigned char> out(bytes);
      std::vector<unsigned char> in(bytes);
      request sending;
      request receiving;
      if (world.rank() == 0) sending = world.send_init(out, to, 8);
      if (world.rank() == to) receiving = world.recv_init(in, 0, 8);
      for (unsigned round = 0; round < 5; ++round) {
        if (world.rank() == to) {
          EXPECT_FALSE(receiving.active());
          receiving.start();
        }
        if (world.rank() == 0) {
          std::ranges::copy(pattern(bytes, round), out.begin());
          sending.start();
        }
        if (world.rank() == 0) sending.wait();
        if (world.rank() == to) {
          EXPECT_EQ(receiving.wait().bytes, bytes);
          EXPECT_EQ(in, pattern(bytes, round));
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(from, message_of_any_size,
                         testing::Values(placing{"rank_to_itself", 1, 1},
                                         placing{"rank_to_rank_of_one_worker", 2, 1},
                                         placing{"worker_to_worker", 2, 2},
                                         placing{"worker_to_worker_with_others_idle", 5, 3}),
                         [](const auto& p) { return p.param.name; });

TEST(messages, of_one_pair_and_tag_arrive_in_the_order_sent_whatever_their_sizes) {
  for (const int workers : {1, 2}) {
    run_ranks(2, workers, [](communicator& world) {
      constexpr int count = 3000;
      const auto bytes = [](int i) { return static_cast<std::size_t>(i * 7919 % 9000); };
      if (world.rank() == 0) {
        for (int i = 0; i < count; ++i) {
          std::vector<int> data(1 + bytes(i) / 4, i);
          if (i % 3 == 0)
            world.bsend(data, 1);
          else
            world.send(data, 1);
        }
      } else {
        for (int i = 0; i < count; ++i) {
          const auto data = world.recv_vector<int>(i % 2 == 0 ? 0 : any_source, any_tag);
          ASSERT_EQ(data.size(), 1 + bytes(i) / 4);
          ASSERT_EQ(data.back(), i);
        }
      }
    });
  }
}

TEST(messages, with_different_tags_may_be_received_in_any_order) {
  for (const int workers : {1, 2}) {
    run_ranks(2, workers, [](communicator& world) {
      constexpr int count = 500;
      for (int i = 0; i < count && world.rank() == 0; ++i) world.send(i, 1, i);
      for (int i = count; i-- > 0 && world.rank() == 1;) EXPECT_EQ(world.recv<int>(0, i), i);
    });
  }
}

TEST(messages, match_receives_in_the_order_posted_wildcards_among_them) {
  for (const int workers : {1, 2}) {
    run_ranks(2, workers, [](communicator& world) {
      if (world.rank() == 1) {
        std::array<int, 6> got{};
        std::vector<request> all;
        all.push_back(world.irecv(std::span(&got[0], 1), 0, 1));
        all.push_back(world.irecv(std::span(&got[1], 1), any_source, any_tag));
        all.push_back(world.irecv(std::span(&got[2], 1), 0, any_tag));
        all.push_back(world.irecv(std::span(&got[3], 1), any_source, 1));
        all.push_back(world.irecv(std::span(&got[4], 1), 0, 1));
        all.push_back(world.irecv(std::span(&got[5], 1), 0, 2));
        world.barrier();
        wait_all(all);
        EXPECT_EQ(got, (std::array{10, 11, 20, 12, 13, 21}));
      } else {
        world.barrier();
        world.send(10, 1, 1);  // To the first receive, which asks for tag 1.
        world.send(11, 1, 1);  // To the second, which takes anything.
        world.send(20, 1, 2);  // To the third: it takes any tag and came before the sixth.
        world.send(12, 1, 1);
        world.send(13, 1, 1);
        world.send(21, 1, 2);
      }
    });
  }
}

// 8 bytes go a shorter way where a receive takes them as they are; another that wants them and was posted before still
// comes first.
TEST(messages, match_receives_in_the_order_posted_whatever_memory_they_have) {
  for (const int workers : {1, 2}) {
    for (const bool blocking : {true, false}) {
      for (const bool behind_another : {true, false}) {
        SCOPED_TRACE(testing::Message() << workers << " workers, blocking " << blocking
                                        << ", behind another " << behind_another);
        run_ranks(2, workers, [&](communicator& world) {
          const auto give = [&](std::uint64_t value, int tag) {
            if (blocking)
              world.send(value, 1, tag);
            else
              world.isend(value, 1, tag).wait();
          };
          if (world.rank() == 0) {
            world.barrier();
            for (std::uint64_t value = 1; value <= 3; ++value) give(value, 1);
            if (behind_another) give(4, 2);
            return;
          }
          std::uint64_t other = 0, last = 0;
          std::array<std::uint32_t, 4> apart{};
          std::uint32_t little = 0;
          std::vector<request> all;
          if (behind_another) all.push_back(world.irecv(std::span(&other, 1), 0, 2));
          all.push_back(world.irecv(strided(apart, {.first = 0, .stride = 2, .count = 2}), 0, 1));
          request too_short = world.irecv(std::span(&little, 1), 0, 1);
          all.push_back(world.irecv(std::span(&last, 1), 0, 1));
          world.barrier();
          wait_all(all);
          EXPECT_EQ(apart[0], 1u);
          EXPECT_EQ(last, 3u);
          EXPECT_EQ(other, behind_another ? 4u : 0u);
          EXPECT_THROW(too_short.wait(), error);
          EXPECT_EQ(little, 2u);
        });
      }
    }
  }
}

TEST(messages, that_are_unexpected_are_taken_oldest_first_by_wildcards) {
  run_ranks(4, 2, [](communicator& world) {
    if (world.rank() != 0) {
      for (int i = 0; i < 50; ++i) world.send(i, 0, world.rank() + i % 3);
      world.barrier();
      return;
    }
    world.barrier();
    std::array<int, 4> next{};
    for (int i = 0; i < 150; ++i) {
      message_status status;
      const int got = world.recv<int>(any_source, any_tag, &status);
      EXPECT_EQ(got, next[static_cast<std::size_t>(status.source)]++);
      EXPECT_EQ(status.tag, status.source + got % 3);
    }
  });
}

TEST(messages, of_different_communicators_do_not_meet) {
  run_ranks(2, 2, [](communicator& world) {
    const communicator other = world.dup();
    if (world.rank() == 0) {
      world.send(1, 1);
      other.send(2, 1);
    } else {
      EXPECT_EQ(other.recv<int>(), 2);
      EXPECT_FALSE(other.iprobe().has_value());
      EXPECT_EQ(world.recv<int>(), 1);
    }
  });
}

struct numbered {
  long round, of;
  bool operator==(const numbered&) const = default;
};
// The mail says a context of 4096 or more in another way.
TEST(messages, of_late_communicators_do_not_meet_those_of_early_ones) {
  options how = job_of(2, 2);
  how.timeout_s = 240;
  run_ranks(how, [](communicator& world) {
    communicator before = world.dup();
    for (long i = 0; i < 4200; ++i) {
      const communicator now = before.dup();
      if (world.rank() == 0) {
        now.send(numbered{i, 1}, 1, 3);
        before.send(numbered{i, 2}, 1, 3);
        world.send(numbered{i, 3}, 1, 3);
      } else {
        EXPECT_EQ(world.recv<numbered>(0, 3), (numbered{i, 3}));
        EXPECT_EQ(before.recv<numbered>(any_source, any_tag), (numbered{i, 2}));
        message_status got;
        EXPECT_EQ(now.recv<numbered>(any_source, any_tag, &got), (numbered{i, 1}));
        EXPECT_EQ(got.source, 0);
        EXPECT_EQ(got.tag, 3);
      }
      before = now;
    }
  });
}

// Which the library of ranges takes for a container.
struct row {
  int* first;
  std::size_t count;
  [[nodiscard]] int* begin() const { return first; }
  [[nodiscard]] int* end() const { return first + count; }
};

TEST(messages, and_collectives_reach_what_a_temporary_view_of_the_program_shows) {
  run_ranks(2, 2, [](communicator& world) {
    std::vector<int> grid(40, world.rank());
    const auto row_of = [&](std::size_t i) { return row{grid.data() + 10 * i, 10}; };
    const int other = 1 - world.rank();
    world.sendrecv(row_of(0), other, row_of(1), other);
    request r = world.irecv(row_of(2), other);
    world.isend(row_of(0), other).wait();
    r.wait();
    world.allreduce(row_of(1), row_of(3), std::plus<>{});
    world.bcast(row_of(0), 1);
    for (std::size_t i = 0; i < 10; ++i) {
      EXPECT_EQ(grid[i], 1);
      EXPECT_EQ(grid[10 + i], other);
      EXPECT_EQ(grid[20 + i], other);
      EXPECT_EQ(grid[30 + i], 1);
    }
  });
}

TEST(messages, to_and_from_proc_null_do_nothing) {
  run_ranks(2, 2, [](communicator& world) {
    int kept = 5;
    world.send(1, proc_null);
    world.ssend(1, proc_null);
    world.bsend(1, proc_null);
    world.isend(std::span(&kept, 1), proc_null).wait();
    const message_status got = world.recv(std::span(&kept, 1), proc_null);
    EXPECT_EQ(kept, 5);
    EXPECT_EQ(got.source, proc_null);
    EXPECT_EQ(got.bytes, 0u);
    EXPECT_EQ(world.probe(proc_null).source, proc_null);
    EXPECT_EQ(world.iprobe(proc_null)->source, proc_null);
    EXPECT_EQ(world.sendrecv(std::span(&kept, 1), proc_null, std::span(&kept, 1), proc_null).bytes,
              0u);
    request r = world.recv_init(std::span(&kept, 1), proc_null);
    r.start();
    r.wait();
  });
}

TEST(messages, are_values_arrays_vectors_strings_and_structures) {
  struct particle {
    double x, y;
    int id;
    bool operator==(const particle&) const = default;
  };
  run_ranks(2, 2, [](communicator& world) {
    const particle p{1.5, -2, 7};
    if (world.rank() == 0) {
      world.send(p, 1, 0);
      world.send(std::array{1, 2, 3}, 1, 1);
      world.send(std::vector<particle>(5, p), 1, 2);
      world.send(std::string("hello"), 1, 3);
      const double raw[] = {1, 2};
      world.send(raw, 1, 4);
      world.send(std::span(raw).subspan(1), 1, 5);
      world.send(std::vector<int>{}, 1, 6);
    } else {
      EXPECT_EQ(world.recv<particle>(0, 0), p);
      std::array<int, 3> a{};
      world.recv(a, 0, 1);
      EXPECT_EQ(a, (std::array{1, 2, 3}));
      EXPECT_EQ(world.recv_vector<particle>(0, 2), std::vector<particle>(5, p));
      std::string text(10, ' ');
      const message_status status = world.recv(text, 0, 3);
      EXPECT_EQ(status.count<char>(), 5u);
      EXPECT_EQ(text, "hello     ");
      EXPECT_EQ(world.recv_vector<double>(0, 4), (std::vector<double>{1, 2}));
      EXPECT_EQ(world.recv<double>(0, 5), 2);
      EXPECT_TRUE(world.recv_vector<int>(0, 6).empty());
    }
  });
}

TEST(messages, are_received_into_single_variables) {
  run_ranks(2, 2, [](communicator& world) {
    const int partner = 1 - world.rank();
    int got = -1;
    const message_status status = world.sendrecv(world.rank(), partner, got, partner, 1, 1);
    EXPECT_EQ(got, partner);
    EXPECT_EQ(status.bytes, sizeof(int));
    double value = 0;
    if (world.rank() == 0) {
      world.send(2.5, 1, 2);
    } else {
      EXPECT_EQ(world.recv(value, 0, 2).source, 0);
      EXPECT_EQ(value, 2.5);
    }
    world.barrier();
    if (world.rank() == 0) {
      world.send(3.5, 1);
    } else {
      world.recv(value, any_source);
      EXPECT_EQ(value, 3.5);
    }
  });
}

TEST(messages, may_have_the_largest_tag) {
  run_ranks(2, 2, [](communicator& world) {
    if (world.rank() == 0) {
      world.send(1, 1, 2147483647);
      return;
    }
    EXPECT_EQ(world.probe().tag, 2147483647);
    EXPECT_EQ(world.recv<int>(0, 2147483647), 1);
  });
}

TEST(a_synchronous_send, returns_only_after_its_receive_has_begun) {
  for (const int workers : {1, 2}) {
    const tests::common_counters receiving(job_of(2, workers), 1);
    run_ranks(2, workers, [&](communicator& world) {
      if (world.rank() == 0) {
        world.ssend(1, 1);
        EXPECT_EQ(receiving[0], 1);
      } else {
        for (int i = 0; i < 1000; ++i) yield();
        receiving[0] = 1;
        EXPECT_EQ(world.recv<int>(0), 1);
      }
    });
  }
}

TEST(a_buffered_send, of_any_size_returns_before_anybody_receives) {
  for (const int workers : {1, 2}) {
    run_ranks(2, workers, [](communicator& world) {
      // Both send first: with blocking sends this would be a deadlock.
      const int partner = 1 - world.rank();
      for (const std::size_t bytes : sizes) {
        auto out = pattern(bytes, 5);
        world.bsend(out, partner);
        std::fill(out.begin(), out.end(), static_cast<unsigned char>(0));  // It has its copy.
      }
      for (const std::size_t bytes : sizes)
        EXPECT_EQ(world.recv_vector<unsigned char>(partner), pattern(bytes, 5));
    });
  }
}

TEST(a_message_taken_by_mprobe, is_received_once) {
  run_ranks(2, 2, [](communicator& world) {
    if (world.rank() == 1) {
      world.send(7, 0, 3);
      world.send(8, 0, 4);
      return;
    }
    int got = 0;
    const std::span into(&got, 1);
    message taken = world.mprobe(1, 3);
    taken.recv(into);
    EXPECT_EQ(got, 7);
    const auto again = [&](message& m) { return error_of([&] { (void)m.recv_vector<int>(); }); };
    expect_contains(again(taken),
                    "rank 0: a message from rank 1, tag 3, was received a second time");
    message left = world.mprobe(1, 4);
    message holder = std::move(left);
    expect_contains(again(left),
                    "rank 0: a message from rank 1, tag 4, was received a second time");
    holder.recv(into);
    EXPECT_EQ(got, 8);
    message from_nobody = world.mprobe(proc_null);
    for (int twice = 0; twice < 2; ++twice) EXPECT_EQ(from_nobody.recv(into).source, proc_null);
  });
}

TEST(a_message_taken_by_mprobe, is_discarded_when_another_is_assigned) {
  run_ranks(2, 2, [](communicator& world) {
    if (world.rank() == 0) {
      world.send(1, 1, 1);
      world.send(3, 1, 3);
      // Its sender goes on when the message is discarded.
      world.ssend(std::vector<int>(100'000, 2), 1, 2);
      return;
    }
    message held = world.mprobe(0, 1);
    held = world.mprobe(0, 2);  // Discards the first.
    EXPECT_EQ(held.status().count<int>(), 100'000u);
    message& same = held;
    held = std::move(same);
    std::optional<message> next;
    held = world.mprobe(0, 3);  // Discards the second.
    next = std::move(held);
    int got = 0;
    EXPECT_EQ(next->recv(got).source, 0);
    EXPECT_EQ(got, 3);
  });
}

TEST(a_message_taken_by_mprobe, is_assigned_by_a_loop_that_looks_for_it) {
  run_ranks(2, 2, [](communicator& world) {
    if (world.rank() == 0) return world.send(5, 1);
    std::optional<message> found;
    while (!(found = world.improbe(0))) {
    }
    int got = 0;
    found->recv(got);
    EXPECT_EQ(got, 5);
  });
}

TEST(a_message_taken_by_mprobe, is_discarded_when_nobody_receives_it) {
  run_ranks(2, 2, [](communicator& world) {
    const std::vector<int> large(100'000, 1);
    if (world.rank() == 0) {
      world.send(1, 1);
      world.ssend(large, 1);  // Its sender goes on when the message is discarded.
      world.send(3, 1);
    } else {
      { const message small = world.mprobe(); }
      { const message offered = world.mprobe(); }
      EXPECT_EQ(world.recv<int>(), 3);
    }
  });
}

// Resident memory of this process.
std::size_t resident_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(a_flood_of_unexpected_messages, holds_its_senders_back_and_keeps_memory_bounded) {
  for (const int workers : {1, 3}) {
    const std::size_t before = resident_bytes();
    std::size_t most = 0;
    run_ranks(3, workers, [&](communicator& world) {
      // Of 2 KiB each, from two senders: 400 MiB, or 240 between processes that share cores.
      const int count = tests::processes_of(job_of(3, workers)) > 1 ? 60'000 : 100'000;
      std::vector<int> data(512);
      if (world.rank() != 0) {
        for (int i = 0; i < count; ++i) {
          data[0] = i;
          world.send(data, 0, 1);
        }
        world.send(0, 0, 2);
        return;
      }
      // Nothing is received while the senders can still go on.
      const auto until = std::chrono::steady_clock::now() + 300ms;
      while (std::chrono::steady_clock::now() < until) {
        EXPECT_FALSE(world.iprobe(any_source, 3).has_value());
      }
      most = resident_bytes();
      std::array<int, 3> next{};
      for (int i = 0; i < 2 * count; ++i) {
        const message_status status = world.recv(data, any_source, 1);
        ASSERT_EQ(data[0], next[static_cast<std::size_t>(status.source)]++);
        if (i % 1000 == 0) most = std::max(most, resident_bytes());
      }
      for (const int sender : {1, 2}) EXPECT_EQ(world.recv<int>(sender, 2), 0);
    });
    if (!sanitized) {
      EXPECT_LT(most - std::min(most, before), std::size_t{100} << 20);
    }
  }
}

TEST(a_wildcard_gather, from_many_senders_gets_each_message_once) {
  for (const int workers : {1, 2, 4}) {
    run_ranks(sanitized ? 100 : 1000, workers, [](communicator& world) {
      if (world.rank() != 0) {
        for (int i = 0; i < 3; ++i) world.send(world.rank(), 0, i);
        return;
      }
      std::vector<int> got(static_cast<std::size_t>(world.size()));
      for (int i = 0; i < 3 * (world.size() - 1); ++i) {
        message_status status;
        const int value = world.recv<int>(any_source, any_tag, &status);
        EXPECT_EQ(value, status.source);
        EXPECT_EQ(got[static_cast<std::size_t>(value)]++, status.tag);
      }
    });
  }
}

TEST(a_ring, of_any_number_of_ranks_on_any_number_of_workers_passes_its_token) {
  for (const int ranks : {1, 2, 3, 7, 16, sanitized ? 100 : 1000}) {
    for (const int workers : {1, 2, 3, 4}) {
      for (const char* map : {"block", "cyclic"}) {
        run_ranks(job_of(ranks, workers, map), [](communicator& world) {
          const int n = world.size();
          const int next = (world.rank() + 1) % n;
          for (int round = 0; round < 3; ++round) {
            if (world.rank() == 0) {
              world.send(0, next);
              EXPECT_EQ(world.recv<int>(n - 1), n - 1);
            } else {
              world.send(world.recv<int>(world.rank() - 1) + 1, next);
            }
          }
        });
      }
    }
  }
}

// --- Lengths beyond 32 bits ----------------------------------------------------------------------

// Ranks 0 and 1, alone on their workers, exchange words without an end in sight, which takes each straight
// from the mailbox of the other.
class an_exchange_of_two : public testing::Test {
 protected:
  static void go_on_until_told(communicator& world, const std::atomic<bool>& told) {
    for (bool is_last = false; !is_last;) {
      if (world.rank() == 0) {
        world.send(told.load(), 1);
        is_last = world.recv<bool>(1);
      } else {
        is_last = world.recv<bool>(0);
        world.send(is_last, 0);
      }
    }
  }
};

TEST_F(an_exchange_of_two, does_not_keep_others_of_its_workers_waiting) {
  std::atomic<bool> told{false};
  EXPECT_EQ(run(alone(job_of(4, 3, "cyclic")),
                [&](communicator& world) {  // Rank 3 shares the worker of rank 0.
                  if (world.rank() == 2) world.send(7, 3);
                  if (world.rank() == 3) {
                    static_cast<void>(world.recv<int>(2));
                    told = true;
                  }
                  if (world.rank() < 2) go_on_until_told(world, told);
                }),
            0);
}

TEST_F(an_exchange_of_two, ends_with_the_job) {
  const failed_job job = run_to_failure(alone(job_of(3, 3)), [](communicator& world) {
    const std::atomic<bool> never{false};
    if (world.rank() == 2) throw std::runtime_error("enough");
    go_on_until_told(world, never);
  });
  expect_contains(job.text, "enough");
}

// Rank 1 computes between receives whose messages are in the mailbox already.
TEST_F(an_exchange_of_two, ends_at_the_next_receive_when_the_job_does) {
  enum : int { at_first, ready, sent, received };
  std::atomic<int> stage{at_first};
  int received_since = 0;
  const failed_job job = run_to_failure(alone(job_of(2, 2)), [&](communicator& world) {
    constexpr int messages = 40;
    if (world.rank() == 0) {
      while (stage != ready) yield();
      for (int i = 0; i < messages; ++i) world.send(i, 1);
      stage = sent;
      while (stage != received) yield();
      throw std::runtime_error("enough");
    }
    stage = ready;
    while (stage != sent) {
    }
    for (int i = 0; i < messages; ++i) {
      EXPECT_EQ(world.recv<int>(0), i);
      if (i == 0) stage = received;
      received_since += worker::current()->owner().stopping() ? 1 : 0;
      const std::uint64_t until = now_ns() + 20'000'000;
      while (now_ns() < until) {
      }
    }
  });
  expect_contains(job.text, "enough");
  EXPECT_LE(received_since, 2);
}

// Alone on their workers the receives could take one word after the other from the mailbox for ever.
TEST_F(an_exchange_of_two, looks_at_all_else_every_few_receives) {
  constexpr int rounds = 10'000;
  std::atomic<std::uint64_t> passes{0};
  EXPECT_EQ(run(alone(job_of(2, 2)),
                [&](communicator& world) {
                  const std::uint64_t before = worker::current()->passes();
                  for (int i = 0; i < rounds; ++i) {
                    if (world.rank() == 0) world.send(i, 1);
                    EXPECT_EQ(world.recv<int>(1 - world.rank()), i);
                    if (world.rank() == 1) world.send(i, 0);
                  }
                  if (world.rank() == 0) passes = worker::current()->passes() - before;
                }),
            0);
  EXPECT_GE(passes, rounds / 17);
}

TEST_F(an_exchange_of_two, can_be_ended_by_a_timeout) {
  options how = alone(job_of(2, 2));
  how.timeout_s = 0.3;
  const failed_job job = run_to_failure(how, [](communicator& world) {
    const std::atomic<bool> never{false};
    go_on_until_told(world, never);
  });
  EXPECT_EQ(job.status, 124);
}

// Rank 1 waits for what comes from rank 0, and finds records of others of that worker before it.
TEST_F(an_exchange_of_two, finds_its_messages_behind_those_for_others) {
  run_ranks(job_of(4, 2, "cyclic"), [](communicator& world) {
    constexpr int others = 15;
    std::vector<int> longer(64 << 10, world.rank());
    for (int round = 0; round < 200; ++round) {
      if (world.rank() == 2) {
        for (int i = 0; i < others; ++i) world.send(i, 1, 3);
        if (round % 8 == 0) world.send(longer, 3, 4);
        world.send(round, 0, 5);
      } else if (world.rank() == 0) {
        EXPECT_EQ(world.recv<int>(2, 5), round);
        world.send(round, 1, 6);
        world.send(round + 1, 1, 7);
      } else if (world.rank() == 1) {
        int first = -1;
        int second = -1;
        request from_0 = world.irecv(second, 0, 7);
        request from_2 = world.irecv(first, 2, 3);
        EXPECT_EQ(world.recv<int>(0, 6), round);
        std::array<request, 2> both{std::move(from_0), std::move(from_2)};
        wait_all(both);
        EXPECT_EQ(first, 0);
        EXPECT_EQ(second, round + 1);
        for (int i = 1; i < others; ++i) EXPECT_EQ(world.recv<int>(2, 3), i);
      } else if (round % 8 == 0) {
        EXPECT_EQ(world.recv_vector<int>(2, 4), std::vector<int>(64 << 10, 2));
      }
      if (round % 50 == 0) world.barrier();
    }
  });
}

TEST_F(an_exchange_of_two, leaves_what_is_not_asked_for_to_later_receives) {
  run_ranks(2, 2, [](communicator& world) {
    for (int i = 0; i < 1000; ++i) {
      if (world.rank() == 0) {
        world.send(i, 1, 5);
        world.send(i + 1, 1, 6);
        world.send(std::vector<int>(3, i), 1, 7);
        EXPECT_EQ(world.recv<int>(1), i);
      } else {
        EXPECT_EQ(world.recv<int>(0, 6), i + 1);
        if (i % 100 == 0) {
          std::array<int, 2> room{};
          EXPECT_THROW(world.recv(room, 0, 7), error);
        } else {
          std::array<int, 4> room{};
          const message_status got = world.recv(room, 0, 7);
          EXPECT_EQ(got.bytes, 3 * sizeof(int));
          EXPECT_EQ(got.source, 0);
          EXPECT_EQ(got.tag, 7);
        }
        EXPECT_EQ(world.recv<int>(0, any_tag), i);
        world.send(i, 0);
      }
    }
  });
}

TEST(a_message, of_more_than_4_GiB_has_all_its_bytes) {
  if (sanitized) GTEST_SKIP() << "takes a sanitizer too long";
  options how = job_of(2, 2);
  how.timeout_s = 240;
  run_ranks(how, [&](communicator& world) {
    tests::memory_beyond_4_gib memory;
    if (world.rank() == 0) {
      memory.fill('a');
      world.send(std::span<const char>(memory.all()), 1, 7);
    } else {
      const message_status got = world.recv(memory.all(), 0, 7);
      EXPECT_EQ(got.bytes, memory.all().size());
      EXPECT_TRUE(memory.is_filled('a'));
    }
  });
}

}  // namespace
}  // namespace weft
