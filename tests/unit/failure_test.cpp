// Bad input, exceptions, mismatches and hangs: each ends the job with one clear message, the right
// status, and soon.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/format.hpp"
#include "job.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

// Ends with status 1 and a text that holds all `parts`, on one worker and on several.
void expect_failure(int ranks, const std::vector<std::string>& parts,
                    const std::function<void(communicator&)>& body) {
  for (const int workers : {1, ranks}) {
    const failed_job job = run_to_failure(job_of(ranks, workers), body);
    EXPECT_EQ(job.status, 1);
    for (const std::string& part : parts) expect_contains(job.text, part);
  }
}

// --- Words and numbers that are wrong ------------------------------------------------------------

TEST(bad_input, a_rank_out_of_range_is_named_with_the_limits) {
  run_ranks(3, 2, [](communicator& world) {
    const std::string limits = "the communicator has ranks 0 to 2";
    int value = 0;
    const std::span one(&value, 1);
    for (const int rank : {3, -7}) {
      const std::string number = "rank " + std::to_string(rank) + ": " + limits;
      EXPECT_EQ(error_of([&] { world.send(1, rank); }), "send to " + number);
      EXPECT_EQ(error_of([&] { (void)world.isend(one, rank); }), "isend to " + number);
      EXPECT_EQ(error_of([&] { (void)world.recv<int>(rank); }), "recv from " + number);
      EXPECT_EQ(error_of([&] { (void)world.irecv(one, rank); }), "irecv from " + number);
      EXPECT_EQ(error_of([&] { (void)world.send_init(one, rank); }), "send_init to " + number);
      EXPECT_EQ(error_of([&] { (void)world.recv_init(one, rank); }), "recv_init from " + number);
      EXPECT_EQ(error_of([&] { (void)world.probe(rank); }), "probe from " + number);
      EXPECT_EQ(error_of([&] { (void)world.iprobe(rank); }), "iprobe from " + number);
      EXPECT_EQ(error_of([&] { (void)world.mprobe(rank); }), "mprobe from " + number);
      expect_contains(error_of([&] {
                        (void)world.create(std::array{0, rank});
                      }),
                      "create with " + number);
    }
    EXPECT_EQ(error_of([&] {
                (void)world.create(std::array{0, 1, 0});
              }),
              "create names rank 0 twice; name each rank once");
    expect_contains(error_of([&] { world.send(1, any_source); }), "send to rank -1");
    world.barrier();
  });
}

TEST(bad_input, a_root_out_of_range_is_named_with_the_limits) {
  run_ranks(3, 2, [](communicator& world) {
    for (const int root : {3, -2}) {
      const std::string with = "with root " + std::to_string(root);
      std::vector<int> in(3), out(3);
      std::array<int, 1> one{};
      expect_contains(error_of([&] { (void)world.bcast(1, root); }), "bcast " + with);
      expect_contains(error_of([&] { (void)world.reduce(1, max{}, root); }), "reduce " + with);
      expect_contains(error_of([&] { (void)world.gather(1, root); }), "gather " + with);
      expect_contains(error_of([&] { (void)world.gatherv(in, root); }), "gatherv " + with);
      expect_contains(error_of([&] { world.scatter(in, one, root); }), "scatter " + with);
      expect_contains(error_of([&] {
                        (void)world.scatterv(in, {1, 1, 1}, root);
                      }),
                      "scatterv " + with);
    }
    world.barrier();
  });
}

TEST(bad_input, a_negative_tag_is_named_with_the_limits) {
  run_ranks(1, 1, [](communicator& world) {
    EXPECT_EQ(error_of([&] { world.send(1, 0, -3); }),
              "send with tag -3: tags are 0 to 2147483647");
    EXPECT_EQ(error_of([&] { (void)world.recv<int>(0, -3); }),
              "recv with tag -3: tags are 0 to 2147483647");
  });
}

TEST(bad_input, buffers_of_wrong_sizes_are_refused_with_both_sizes) {
  run_ranks(2, 1, [](communicator& world) {
    std::vector<int> three(3), four(4);
    expect_contains(error_of([&] { world.allreduce(three, four, max{}); }), "allreduce");
    expect_contains(error_of([&] { world.scan(three, four, max{}); }), "scan");
    expect_contains(error_of([&] { world.allgather(three, four); }),
                    "allgather: the output has 16 bytes but must have 24");
    expect_contains(error_of([&] { world.alltoall(three, four); }), "alltoall");
    expect_contains(error_of([&] { world.alltoall(three, three); }), "alltoall");
    expect_contains(error_of([&] { world.reduce_scatter(three, four, max{}); }), "reduce_scatter");
    expect_contains(error_of([&] { (void)world.alltoallv(three, {1}); }),
                    "alltoallv got 1 counts: one for each of the 2 ranks");
    expect_contains(error_of([&] { (void)world.alltoallv(three, {2, 2}); }), "alltoallv");
    expect_contains(error_of([&] { (void)world.split(-5); }), "split with color -5");
    world.barrier();
  });
}

TEST(bad_input, a_message_longer_than_its_receive_is_refused_with_both_sizes) {
  for (const int workers : {1, 2}) {
    for (const std::size_t count : {std::size_t{10}, std::size_t{5000}, std::size_t{100'000}}) {
      for (const bool posted : {true, false}) {
        run_ranks(2, workers, [&](communicator& world) {
          const std::vector<int> out(count, 7);
          if (world.rank() == 1) {
            if (posted) (void)world.recv<int>(0, 1);
            world.send(out, 0, 2);
            return;
          }
          std::vector<int> in(count);  // Only 9 elements of it are given.
          request r;
          if (posted) r = world.irecv(std::span(in).first(9), 1, 2);
          if (posted) world.send(1, 1, 1);
          const std::string text = error_of([&] {
            if (posted)
              r.wait();
            else
              world.recv(std::span(in).first(9), 1, 2);
          });
          EXPECT_EQ(text, "rank 0: a receive of 36 bytes got a message of " +
                              std::to_string(count * 4) +
                              " bytes from rank 1, tag 2: receive it with room for all, or with "
                              "recv_vector() or probe()");
          EXPECT_EQ(in[8], 7);
          EXPECT_EQ(in[9], 0) << "nothing is overwritten";
        });
      }
    }
  }
}

TEST(bad_input, a_value_of_another_size_than_its_message_is_refused) {
  run_ranks(1, 1, [](communicator& world) {
    world.send(std::array{1, 2}, 0);
    expect_contains(error_of([&] { (void)world.recv<int>(0); }), "8 bytes");
    world.send('a', 0);
    expect_contains(error_of([&] { (void)world.recv<int>(0); }),
                    "a receive of one value of 4 bytes got a message of 1 bytes from rank 0");
  });
}

TEST(bad_input, a_message_that_ends_within_an_element_is_refused) {
  run_ranks(1, 1, [](communicator& world) {
    const std::array<char, 5> five{};
    world.send(five, 0, 2);
    EXPECT_EQ(error_of([&] { (void)world.recv_vector<int>(0); }),
              "rank 0: a receive of elements of 4 bytes got a message of 5 bytes from rank 0, "
              "tag 2, which is no multiple: receive it as elements of the type that was sent");
    world.send(five, 0);
    message taken = world.mprobe(0);
    expect_contains(error_of([&] { (void)taken.recv_vector<int>(); }), "message of 5 bytes");
    EXPECT_EQ(taken.recv_vector<char>().size(), 5u) << "it can still be received";
  });
}

TEST(bad_input, calls_outside_of_ranks_are_refused) {
  std::optional<communicator> kept;
  run_ranks(1, 1, [&](communicator& world) { kept = world; });
  expect_contains(error_of([&] { kept->send(1, 0); }), "send was called outside of a rank");
  expect_contains(error_of([&] { sleep_for(1ms); }), "sleep_for was called outside of a rank");
  yield();  // Harmless.
}

TEST(bad_input, wrong_options_end_with_status_2_before_any_rank_starts) {
  const auto never = [](communicator&) { ADD_FAILURE() << "a rank was started"; };
  const auto fails = [&](auto&& change, const std::string& part) {
    options how;
    change(how);
    const failed_job job = run_to_failure(how, never);
    EXPECT_EQ(job.status, 2);
    expect_contains(job.text, part);
  };
  fails([](options& o) { o.ranks = -1; }, "-1");
  fails([](options& o) { o.ranks = 2'000'000; }, "2000000");
  fails([](options& o) { o.workers = -4; }, "-4");
  fails([](options& o) { o.helpers = -4; }, "-4");
  fails([](options& o) { o.workers = o.ranks = 1024, o.helpers = 2, o.processes = 1; },
        "1026 workers and helpers: the limit is 1024; start fewer of them, or more processes");
  fails([](options& o) { o.map = "/no/such/file"; }, "/no/such/file");
  fails([](options& o) { o.steal = "often"; }, "often");
  fails([](options& o) { o.chunks = "many"; }, "many");
  fails([](options& o) { o.stack_bytes = 100; }, "stack");
  fails([](options& o) { o.timeout_s = -1; }, "timeout");
  fails([](options& o) { o.report_signal = "SPAM"; }, "SPAM");
}

TEST(bad_input, unknown_words_end_with_status_2_and_a_near_name) {
  for (const auto& [word, part] : {std::pair{"--weft-rank=2", "ranks"},
                                   {"--weft-ranks=0", "'0'"},
                                   {"--weft-ranks=-2", "'-2'"},
                                   {"--weft-ranks=two", "'two'"},
                                   {"--weft-workers=x", "'x'"}}) {
    std::string program = "program";
    std::string argument = word;
    char* argv[] = {program.data(), argument.data(), nullptr};
    int argc = 2;
    testing::internal::CaptureStderr();
    const int status =
        run(argc, argv, [](communicator&) { ADD_FAILURE() << "a rank was started"; });
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(status, 2) << word;
    expect_contains(text, part);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
}

// --- Exceptions of ranks
// ---------------------------------------------------------------------------

TEST(an_exception, of_one_rank_ends_the_job_with_its_number_whatever_the_others_do) {
  expect_failure(6, {"weft: rank 2: the pressure is negative\n"}, [](communicator& world) {
    std::vector<int> large(100'000);
    switch (world.rank()) {
      case 0:
        for (;;) yield();
      case 1:
        (void)world.recv<int>(3, 5);
        break;
      case 2:
        sleep_for(20ms);
        throw std::runtime_error("the pressure is negative");
      case 3:
        world.barrier();
        break;
      case 4:
        world.ssend(large, 1);
        break;
      default:
        sleep_for(1h);
    }
    ADD_FAILURE() << "rank " << world.rank() << " went on";
  });
}

TEST(an_exception, that_is_none_of_the_standards_is_reported_too) {
  expect_failure(2,
                 {"weft: rank 1 ended with an exception of type int, which is not a "
                  "std::exception\n"},
                 [](communicator& world) {
                   if (world.rank() == 1) throw 5;
                   world.barrier();
                 });
}

struct silent : std::exception {
  const char* what() const noexcept override { return ""; }
};

TEST(an_exception, that_says_nothing_is_reported_with_its_type) {
  expect_failure(2,
                 {"weft: rank 1: an exception of type weft::", "silent, whose what() is empty\n"},
                 [](communicator& world) {
                   if (world.rank() == 1) throw silent();
                   world.barrier();
                 });
}

TEST(an_exception, unwinds_the_stacks_of_all_ranks) {
  for (const int workers : {1, 3}) {
    std::atomic<int> living{0};
    struct counted {
      std::atomic<int>& count;
      explicit counted(std::atomic<int>& c) : count(c) { ++count; }
      ~counted() { --count; }
    };
    const failed_job job = run_to_failure(job_of(30, workers), [&](communicator& world) {
      const counted here(living);
      const std::vector<int> held(1000);
      world.barrier();
      if (world.rank() == 17) throw std::runtime_error("stop");
      (void)world.recv<int>();
    });
    EXPECT_EQ(job.status, 1);
    EXPECT_EQ(living, 0);
  }
}

TEST(an_exception, unwinds_ranks_however_long_that_takes_them_together) {
  std::atomic<int> living{0};
  struct slow {
    std::atomic<int>& count;
    explicit slow(std::atomic<int>& c) : count(c) { ++count; }
    ~slow() {
      std::this_thread::sleep_for(130ms);  // Without letting other ranks run.
      --count;
    }
  };
  const failed_job job = run_to_failure(job_of(40, 2), [&](communicator& world) {
    const slow here(living);
    world.barrier();
    if (world.rank() == 17) throw std::runtime_error("stop");
    (void)world.recv<int>();
  });
  EXPECT_EQ(job.status, 1);
  EXPECT_EQ(living, 0);
}

TEST(an_exception, may_be_caught_by_its_rank_and_the_job_goes_on) {
  run_ranks(4, 2, [](communicator& world) {
    try {
      if (world.rank() == 2) throw std::runtime_error("mine");
    } catch (const std::runtime_error&) {
    }
    world.barrier();
  });
}

TEST(an_exception, while_a_long_message_is_being_received_waits_for_its_end) {
  run_ranks(2, 2, [](communicator& world) {
    const std::vector<int> data(1'000'000, 7);
    if (world.rank() == 1) return world.send(data, 0);
    (void)world.probe(1);
    std::vector<int> in(data.size());
    EXPECT_THROW(world.sendrecv(1, 5, in, 1), error);  // There is no rank 5.
    EXPECT_EQ(in, data);
  });
}

TEST(an_exception, of_a_non_blocking_collective_comes_out_of_its_wait) {
  const failed_job job = run_to_failure(job_of(2, 2), [](communicator& world) {
    std::vector<int> in(world.rank() == 0 ? 1000u : 2000u);
    std::vector<int> out(in.size());
    request r = world.iallreduce(in, out, std::plus<>{});
    r.wait();
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "allreduce");
  expect_contains(job.text, "4000 bytes");
  expect_contains(job.text, "8000 bytes");
}

TEST(an_exception, while_other_ranks_move_large_data_does_no_harm) {
  for (int round = 0; round < 20; ++round) {
    const failed_job job = run_to_failure(job_of(6, 3), [&](communicator& world) {
      std::vector<char> in(300'000), out(300'000);
      for (int i = 0;; ++i) {
        if (world.rank() == round % 6 && i == 10 + round) throw std::runtime_error("enough");
        world.sendrecv(out, (world.rank() + 1) % 6, in, (world.rank() + 5) % 6);
        world.allreduce(in, std::bit_or<>{});
      }
    });
    EXPECT_EQ(job.status, 1);
    EXPECT_EQ(job.text, "weft: rank " + std::to_string(round % 6) + ": enough\n");
  }
}

TEST(an_exception, with_a_text_of_several_lines_is_one_report) {
  const failed_job job = run_to_failure(job_of(2, 2), [](communicator& world) {
    if (world.rank() == 1) throw std::runtime_error("three faults:\nfirst\nsecond\n");
    world.barrier();
  });
  EXPECT_EQ(job.text, "weft: rank 1: three faults:\nweft:   first\nweft:   second\n");
}

TEST(an_exception, kept_and_thrown_again_is_told_once_with_its_text) {
  const failed_job job = run_to_failure(job_of(2, 1), [](communicator& world) {
    std::exception_ptr kept;
    try {
      if (world.rank() == 0) throw std::out_of_range("outside");
    } catch (...) {
      kept = std::current_exception();
    }
    if (kept) std::rethrow_exception(kept);
    world.barrier();
  });
  EXPECT_EQ(job.text, "weft: rank 0: outside\n");
}

// Of a rank that throws while something of it lives that does `harm` when it dies.
struct last_act {
  std::function<void()> harm;
  ~last_act() { harm(); }
};

void expect_told_despite(const std::function<void(communicator&)>& harm) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  for (const int workers : {1, 2})
    EXPECT_EXIT(std::exit(run(alone(job_of(2, workers)),
                              [&](communicator& world) {
                                const last_act act{[&] { harm(world); }};
                                if (world.rank() == 1) throw std::runtime_error("the reason");
                                world.barrier();
                              })),
                testing::KilledBySignal(SIGABRT), "weft: rank 1: the reason");
}

TEST(an_exception, is_told_although_a_destructor_then_waits_for_ever) {
  expect_told_despite([](communicator& world) {
    if (world.rank() == 1) (void)world.recv<int>(0, 9);
  });
}

TEST(an_exception, is_told_although_a_destructor_then_throws) {
  expect_told_despite([](communicator& world) {
    if (world.rank() == 1) throw std::logic_error("in a destructor");
  });
}

// --- Collectives that do not fit ---------------------------------------------------------------

TEST(a_mismatch, of_calls_names_both_ranks_and_both_calls) {
  expect_failure(2,
                 {"collective mismatch on communicator 0", "rank 0 calls barrier",
                  "rank 1 calls allreduce of 4 bytes",
                  "all ranks must call the same collectives in the same order"},
                 [](communicator& world) {
                   if (world.rank() == 0)
                     world.barrier();
                   else
                     (void)world.allreduce(1, std::plus<>{});
                 });
}

TEST(a_mismatch, of_sizes_names_both_sizes) {
  for (const std::size_t count : {std::size_t{2}, std::size_t{5000}})
    expect_failure(3,
                   {"rank 2 calls allreduce of 4 bytes",
                    "allreduce of " + std::to_string(4 * count) + " bytes"},
                   [&](communicator& world) {
                     std::vector<int> data(world.rank() == 2 ? 1 : count);
                     world.allreduce(data, std::plus<>{});
                   });
}

TEST(a_mismatch, of_operations_names_both) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{5000}})
    expect_failure(3,
                   {"allreduce of " + std::to_string(4 * count) + " bytes, max of int32",
                    "allreduce of " + std::to_string(4 * count) + " bytes, sum of int32",
                    "in the same order, with the same sizes, operations and types"},
                   [&](communicator& world) {
                     std::vector<int> data(count);
                     if (world.rank() == 2)
                       world.allreduce(data, max{});
                     else
                       world.allreduce(data, std::plus<>{});
                   });
}

TEST(a_mismatch, of_element_types_names_both) {
  expect_failure(2,
                 {"rank 0 calls reduce of 8 bytes with root 1, min of int64",
                  "rank 1 calls reduce of 8 bytes with root 1, min of float64"},
                 [](communicator& world) {
                   if (world.rank() == 0)
                     (void)world.reduce(1L, min{}, 1);
                   else
                     (void)world.reduce(1.0, min{}, 1);
                 });
  expect_failure(2,
                 {"scan of 4 bytes, bit_or of int32",
                  "scan of 4 bytes, an operation of its own in rank order of uint32"},
                 [](communicator& world) {
                   if (world.rank() == 0)
                     (void)world.scan(1, std::bit_or<>{});
                   else
                     (void)world.scan(1U, non_commutative{std::bit_or<>{}});
                 });
  expect_failure(2, {"reduce_scatter of 4 bytes, product of int32", "product of float32"},
                 [](communicator& world) {
                   std::array<int, 2> whole{};
                   std::array<float, 2> broken{};
                   if (world.rank() == 0)
                     world.reduce_scatter(whole, std::span(whole).first(1), std::multiplies<>{});
                   else
                     world.reduce_scatter(broken, std::span(broken).first(1), std::multiplies<>{});
                 });
}

TEST(a_mismatch, is_none_of_operations_and_types_that_are_the_same_by_other_names) {
  run_ranks(3, 2, [](communicator& world) {
    const bool last = world.rank() == 2;
    const auto lambda = [](int a, int b) { return a + b; };
    const auto other = [](int a, int b) { return b + a; };
    EXPECT_EQ(last ? world.allreduce(1, std::plus<int>{}) : world.allreduce(1, std::plus<>{}), 3);
    EXPECT_EQ(last ? world.allreduce(1, lambda) : world.allreduce(1, other), 3);
    EXPECT_EQ(last ? world.allreduce(1LL, max{}) : world.allreduce(1L, max{}), 1);
  });
}

TEST(a_mismatch, of_roots_names_both_roots) {
  expect_failure(2, {"reduce of 4 bytes with root 0", "reduce of 4 bytes with root 1"},
                 [](communicator& world) { (void)world.reduce(1, std::plus<>{}, world.rank()); });
}

TEST(a_mismatch, of_broadcast_roots_names_both_roots) {
  expect_failure(2, {"bcast of 4 bytes with root 0", "bcast of 4 bytes with root 1"},
                 [](communicator& world) { (void)world.bcast(1, world.rank()); });
}

// The root waits for nobody in a small broadcast; those who wait for it ask where it is.
TEST(a_mismatch, of_a_small_broadcast_whose_root_waits_elsewhere_is_found_while_others_work) {
  const std::vector<std::pair<std::string, std::function<void(communicator&)>>> elsewhere{
      {"barrier", [](communicator& c) { c.barrier(); }},
      {"allreduce of 4 bytes", [](communicator& c) { (void)c.allreduce(1, std::plus<>{}); }},
      {"bcast of 8000 bytes with root 0",
       [](communicator& c) {
         std::vector<double> large(1000);
         c.bcast(large, 0);
       }},
      {"bcast of 4 bytes with root 0", [](communicator& c) { (void)c.bcast(1, 0); }}};
  for (const auto& [name, call] : elsewhere)
    for (const bool root_is_early : {false, true})
      expect_failure(4, {"rank 0 calls bcast of 4 bytes with root 3", "rank 3 calls " + name},
                     [&](communicator& world) {
                       if (world.rank() != 0 && world.rank() != 3)
                         for (;;) yield();
                       if ((world.rank() == 3) != root_is_early) sleep_for(5ms);
                       if (world.rank() == 0)
                         (void)world.bcast(1, 3);
                       else
                         call(world);
                     });
}

TEST(a_mismatch, of_the_number_of_broadcasts_is_found_at_the_next_meeting) {
  expect_failure(2, {"collective mismatch", "different broadcasts"}, [](communicator& world) {
    if (world.rank() == 0) (void)world.bcast(1, 0);
    world.barrier();
  });
}

TEST(a_mismatch, of_the_order_of_a_broadcast_and_a_barrier_is_found) {
  expect_failure(2, {"collective mismatch", "barrier"}, [](communicator& world) {
    if (world.rank() == 0) (void)world.bcast(1, 0);
    world.barrier();
    if (world.rank() == 1) (void)world.bcast(1, 0);
  });
}

// A root does not wait in a small broadcast, so it may have ended before the others come to a meeting.
TEST(a_mismatch, of_a_barrier_and_a_broadcast_whose_root_has_ended_is_found) {
  const auto broadcasts = [](int count) {
    return [count](communicator& c) {
      for (int i = 0; i < count && c.rank() == 0; ++i) (void)c.bcast(1, 0);
      if (c.rank() != 0) c.barrier();
    };
  };
  // A process knows of the calls of others what it has been asked.
  const bool alone = tests::processes_of(job_of(3, 3)) == 1;
  const std::string mismatch = "collective mismatch on communicator 0: ";
  expect_failure(3,
                 {"rank 1: in barrier",
                  alone ? mismatch + "rank 1 calls barrier, but rank 0 calls "
                                     "bcast of 4 bytes with root 0"
                        : mismatch,
                  "bcast of 4 bytes with root 0"},
                 broadcasts(1));
  expect_failure(
      3,
      {alone ? mismatch + "rank 1 calls barrier as number 1, but rank 0 has ended after 2 "
                          "collectives, the last a bcast of 4 bytes"
             : mismatch,
       "bcast of 4 bytes with root 0"},
      broadcasts(2));
}

TEST(a_deadlock, of_a_barrier_that_one_rank_never_comes_to_is_no_mismatch) {
  const failed_job job = run_to_failure(job_of(3, 3), [](communicator& world) {
    (void)world.bcast(1, 0);
    if (world.rank() == 1) world.barrier();
    if (world.rank() == 2) (void)world.recv<int>(1);
  });
  expect_contains(job.text, "rank 1 waits for rank 0, which has ended");
  EXPECT_EQ(job.text.find("mismatch"), std::string::npos) << job.text;
}

TEST(a_mismatch, of_broadcast_sizes_is_found) {
  expect_failure(2, {"bcast of 8 bytes with root 0", "bcast of 16 bytes with root 0"},
                 [](communicator& world) {
                   std::vector<double> data(world.rank() == 0 ? 1 : 2);
                   world.bcast(data, 0);
                   world.barrier();
                 });
}

TEST(a_mismatch, of_the_ways_to_a_new_communicator_is_found) {
  expect_failure(2, {"collective mismatch", "rank 0 calls split", "calls dup"},
                 [](communicator& world) {
                   if (world.rank() == 0)
                     (void)world.split(0);
                   else
                     (void)world.dup();
                 });
}

TEST(a_mismatch, among_many_ranks_and_workers_is_found) {
  for (const int workers : {2, 12}) {
    const failed_job job = run_to_failure(job_of(24, workers), [](communicator& world) {
      for (int i = 0; i < 5; ++i) world.barrier();
      if (world.rank() == 13)
        (void)world.scan(1, std::plus<>{});
      else
        (void)world.exscan(1, std::plus<>{});
    });
    EXPECT_EQ(job.status, 1);
    expect_contains(job.text, "rank 13 calls scan");
  }
}

TEST(another_ranks_communicator, is_refused_by_collectives_and_leaves_them_usable) {
  for (const int workers : {1, 2}) {
    static communicator* of_first = nullptr;
    run_ranks(alone(job_of(4, workers)), [](communicator& world) {
      if (world.rank() == 0) of_first = &world;
      world.barrier();
      if (world.rank() == 1) {
        const auto refused = [](const std::string& call) {
          return "rank 1 calls " + call +
                 " through the communicator of rank 0: each rank uses the one that it was given";
        };
        std::vector<int> large(100'000);
        EXPECT_EQ(error_of([] { of_first->barrier(); }), refused("barrier"));
        EXPECT_EQ(error_of([] { (void)of_first->allgather(1); }), refused("allgather"));
        EXPECT_EQ(error_of([] { (void)of_first->bcast(1, 0); }), refused("bcast"));
        EXPECT_EQ(error_of([] { (void)of_first->dup(); }), refused("dup"));
        EXPECT_EQ(error_of([] { (void)of_first->ibarrier(); }),
                  refused("a non-blocking collective"));
        EXPECT_EQ(error_of([] { (void)of_first->improbe(); }), refused("improbe"));
        EXPECT_EQ(error_of([&] { of_first->ssend(large, 2); }), refused("ssend"));
        EXPECT_EQ(error_of([&] { (void)of_first->isend(large, 2); }), refused("isend"));
        EXPECT_EQ(error_of([&] { (void)of_first->send_init(large, 2); }), refused("send_init"));
        EXPECT_EQ(error_of([] { (void)of_first->self(); }), refused("self"));
      }
      world.barrier();
    });
  }
}

// --- Hangs ---------------------------------------------------------------------------------------

TEST(a_deadlock, of_two_receives_is_reported_with_calls_and_cycle) {
  expect_failure(
      2,
      {"weft: deadlock: every rank waits and no message is under way\n",
       "weft:   rank 0: in recv, source 1, tag 7, 4 bytes, communicator 0\n",
       "weft:   rank 1: in recv, source 0, tag 8, 4 bytes, communicator 0\n",
       "weft:   cycle: rank 0 waits for rank 1 waits for rank 0\n"},
      [](communicator& world) { (void)world.recv<int>(1 - world.rank(), 7 + world.rank()); });
}

TEST(a_deadlock, of_synchronous_sends_is_reported_with_the_cycle_of_three) {
  expect_failure(3,
                 {"rank 0: in ssend, to rank 1, tag 0, 4 bytes, communicator 0\n",
                  "rank 1: in ssend, to rank 2,", "rank 2: in ssend, to rank 0,",
                  "cycle: rank 0 waits for rank 1 waits for rank 2 waits for rank 0\n"},
                 [](communicator& world) { world.ssend(1, (world.rank() + 1) % 3); });
}

TEST(a_deadlock, of_large_sends_is_reported) {
  expect_failure(
      2, {"rank 0: in send, to rank 1, tag 0, 400000 bytes", "cycle: "},
      [](communicator& world) { world.send(std::vector<int>(100'000), 1 - world.rank()); });
}

TEST(a_deadlock, of_started_sends_names_their_receivers_in_the_communicator) {
  expect_failure(2,
                 {"rank 0: in wait (isend), to rank 0, tag 4, 4 bytes, communicator 1\n",
                  "rank 1: in wait_all (isend), to rank 1, tag 4, 4 bytes, communicator 1\n",
                  "cycle: rank 0 waits for rank 1 waits for rank 0\n"},
                 [](communicator& world) {
                   const communicator reversed = *world.split(0, -world.rank());
                   const std::array<int, 1> value{};
                   std::array<request, 1> sending{reversed.issend(value, 1 - reversed.rank(), 4)};
                   if (world.rank() == 0)
                     sending[0].wait();
                   else
                     wait_all(sending);
                 });
}

TEST(a_deadlock, of_a_collective_and_a_receive_names_who_is_missing) {
  expect_failure(3,
                 {"rank 0: in barrier, communicator 0; not there yet: 2\n",
                  "rank 1: in barrier, communicator 0; not there yet: 2\n",
                  "rank 2: in recv, source 0, tag any, 4 bytes, communicator 0\n", "cycle: "},
                 [](communicator& world) {
                   if (world.rank() == 2)
                     (void)world.recv<int>(0);
                   else
                     world.barrier();
                 });
}

TEST(a_deadlock, of_a_broadcast_whose_root_waits_for_a_message_names_the_root) {
  expect_failure(2,
                 {"rank 0: in bcast, 4 bytes, root 1, communicator 0",
                  "rank 1: in recv, source 0, tag any, 4 bytes, communicator 0\n"},
                 [](communicator& world) {
                   if (world.rank() == 0)
                     (void)world.bcast(1, 1);
                   else
                     (void)world.recv<int>(0);
                 });
}

TEST(a_deadlock, of_a_collective_says_how_much_it_moves) {
  expect_failure(3, {"rank 0: in allreduce, 80000 bytes, communicator 0; not there yet: 2"},
                 [](communicator& world) {
                   std::vector<double> data(10'000);
                   if (world.rank() == 2)
                     (void)world.recv<int>(0);
                   else
                     world.allreduce(data, std::plus<>{});
                 });
}

TEST(a_deadlock, with_a_partner_that_has_ended_says_so) {
  expect_failure(2,
                 {"rank 0: in recv, source 1, tag any, 4 bytes, communicator 0\n",
                  "rank 1: has ended\n", "rank 0 waits for rank 1, which has ended\n"},
                 [](communicator& world) {
                   if (world.rank() == 0) (void)world.recv<int>(1);
                 });
}

TEST(a_deadlock, of_collectives_that_ranks_began_and_left_names_them) {
  expect_failure(3,
                 {"rank 0: has ended\n",
                  "rank 1: has ended without waiting for what it began, in allreduce, 4 bytes, "
                  "communicator 0; not there yet: 0\n",
                  "rank 1 waits for rank 0, which has ended\n"},
                 [](communicator& world) {
                   static const std::array value{1};
                   static std::array<int, 1> sum;
                   if (world.rank() == 0) return;
                   // Never ended, and not lost: one of each rank and call of the two jobs.
                   static std::array<request* volatile, 12> left;
                   static std::atomic<std::size_t> count{0};
                   for (int i = 0; i < 2; ++i)
                     left[count++] = new request(world.iallreduce(value, sum, std::plus<>{}));
                 });
}

TEST(a_deadlock, of_a_rank_that_waits_for_anyone_is_reported) {
  expect_failure(2, {"rank 1: in recv, source any, tag 3,"}, [](communicator& world) {
    if (world.rank() == 1) (void)world.recv<int>(any_source, 3);
  });
}

TEST(a_deadlock, in_each_kind_of_wait_names_the_call) {
  const auto hangs = [](const std::string& call, const std::function<void(communicator&)>& body) {
    const failed_job job = run_to_failure(job_of(1, 1), body);
    EXPECT_EQ(job.status, 1);
    expect_contains(job.text, "rank 0: in " + call);
  };
  int value = 0;
  const std::span one(&value, 1);
  hangs("probe, source any, tag any, communicator 0", [](communicator& world) { world.probe(); });
  hangs("mprobe, source 0, tag 4, communicator 0",
        [](communicator& world) { (void)world.mprobe(0, 4); });
  hangs("wait (irecv)", [&](communicator& world) { world.irecv(one, 0).wait(); });
  hangs("wait (isend)", [&](communicator& world) { world.issend(one, 0).wait(); });
  hangs("wait_all", [&](communicator& world) {
    request r = world.irecv(one, 0);
    wait_all(std::span(&r, 1));
  });
  hangs("wait_any", [&](communicator& world) {
    request r = world.irecv(one, 0);
    wait_any(std::span(&r, 1));
  });
}

TEST(a_deadlock, of_a_wait_for_several_tells_which_of_them_has_failed_already) {
  expect_failure(
      2,
      {"deadlock", "rank 1: in wait_all (irecv), one of 2 requests, source 0, tag 2,",
       "weft: rank 1: a receive of 4 bytes got a message of 8 bytes from rank 0, tag 1"},
      [](communicator& world) {
        if (world.rank() == 0) {
          world.send(1.0, 1, 1);
          return;
        }
        std::array<int, 2> values{};
        std::array<request, 2> both{world.irecv(values[0], 0, 1), world.irecv(values[1], 0, 2)};
        wait_all(both);
      });
}

TEST(a_deadlock, beside_a_wait_for_any_of_several_shows_the_cycle_that_nobody_can_leave) {
  expect_failure(
      4,
      {"rank 0: in wait_any (irecv), one of 2 requests, source 1, tag 5, 4 bytes, communicator 0\n",
       "cycle: rank 2 waits for rank 3 waits for rank 2\n"},
      [](communicator& world) {
        if (world.rank() != 0) {
          (void)world.recv<int>(std::array{0, 0, 3, 2}[static_cast<std::size_t>(world.rank())]);
          return;
        }
        std::array<int, 2> values{};
        std::array<request, 2> both{world.irecv(values[0], 1, 5), world.irecv(values[1], 2, 6)};
        wait_any(both);
      });
}

TEST(a_deadlock, only_of_waits_for_any_of_several_shows_a_cycle_too) {
  expect_failure(2, {"wait_any (irecv), one of 2 requests", "cycle: rank 0 waits for rank 1 waits"},
                 [](communicator& world) {
                   std::array<int, 2> values{};
                   const int other = 1 - world.rank();
                   std::array<request, 2> both{world.irecv(values[0], other, 5),
                                               world.irecv(values[1], other, 6)};
                   wait_any(both);
                 });
}

TEST(a_deadlock, of_a_non_blocking_collective_that_one_rank_never_joins_is_reported) {
  expect_failure(2, {"deadlock", "rank 0: in wait (collective)"}, [](communicator& world) {
    if (world.rank() == 0) world.ibarrier().wait();
  });
}

TEST(a_deadlock, among_many_ranks_lists_some_and_counts_the_rest) {
  const failed_job job = run_to_failure(
      job_of(500, 2), [](communicator& world) { (void)world.recv<int>((world.rank() + 1) % 500); });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "rank 63: in recv");
  expect_contains(job.text, "and 436 ranks more");
}

TEST(a_deadlock, is_not_reported_while_one_rank_computes) {
  run_ranks(2, 2, [](communicator& world) {
    if (world.rank() == 0) {
      std::this_thread::sleep_for(300ms);  // As a long computation, seen from weft.
      world.send(1, 1);
    } else {
      EXPECT_EQ(world.recv<int>(0), 1);
    }
  });
}

TEST(a_timeout, ends_the_job_with_status_124_and_the_state_of_the_ranks) {
  for (const int workers : {1, 2}) {
    failed_job job;
    // Where there is too much to do a rank may need more than a second to get so far.
    const auto gets_so_far_within = [&](int limit_s) {
      options how = job_of(2, workers);
      how.timeout_s = limit_s;
      job = run_to_failure(how, [](communicator& world) {
        if (world.rank() == 1) (void)world.recv<int>(0, 9);
        for (;;) yield();
      });
      EXPECT_EQ(job.status, 124);
      expect_contains(job.text, "state of the ranks");
      expect_contains(job.text, formatted("the job was ended after its timeout of {} s", limit_s));
      return job.text.find("in recv, source 0, tag 9") != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(std::array{1, 5, 20}, gets_so_far_within)) << job.text;
  }
}

void compute_for_ever() {
  static std::atomic<int> steps{0};
  for (;;) steps = 1;
}

TEST(a_rank_that_computes_for_ever, cannot_keep_a_timeout_from_ending_the_process) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  options how = job_of(3, 2);
  how.timeout_s = 3;
  EXPECT_EXIT(run(alone(how),
                  [](communicator& world) {
                    if (world.rank() != 1) compute_for_ever();
                  }),
              testing::ExitedWithCode(124),
              "worker 0: computing in rank 0; its rank 1 cannot be asked meanwhile\n(.|\n)*"
              "worker 1: computing in rank 2\n(.|\n)*after its timeout of 3 s(.|\n)*compute "
              "without calling weft");
}

TEST(a_rank_that_computes_for_ever, cannot_hide_the_exception_of_another) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(run(alone(job_of(2, 2)),
                  [](communicator& world) {
                    if (world.rank() == 0) throw std::runtime_error("the reason");
                    compute_for_ever();
                  }),
              testing::ExitedWithCode(1), "rank 0: the reason");
}

// Stops its whole process, which somebody lets go on later, and then computes for a while.
struct stopped_for_long {
  ~stopped_for_long() {
    const std::string go_on = "(sleep 3; kill -CONT " + std::to_string(getpid()) + ") &";
    if (std::system(go_on.c_str()) == 0) kill(getpid(), SIGSTOP);
    std::this_thread::sleep_for(400ms);
  }
};

TEST(a_job_that_stops, has_its_time_although_its_process_was_stopped_meanwhile) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto stops = [] {
    const int status = run(alone(job_of(2, 2)), [](communicator& world) {
      if (world.rank() == 0) throw std::runtime_error("the reason");
      const stopped_for_long guard;
      (void)world.recv<int>(0);
    });
    std::_Exit(status == 1 ? 7 : 8);
  };
  EXPECT_EXIT(stops(), testing::ExitedWithCode(7), "rank 0: the reason");
}

// Together they take longer than a job in which nothing runs would have.
TEST(a_job_that_stops, lets_its_ranks_unwind_one_after_the_other) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto stops = [] {
    static std::atomic<int> unwound = 0;
    struct slow {
      ~slow() {
        const auto until = std::chrono::steady_clock::now() + 20ms;
        while (std::chrono::steady_clock::now() < until) {
        }
        ++unwound;
      }
    };
    const int status = run(alone(job_of(100, 1)), [](communicator& world) {
      if (world.rank() == 99) throw std::runtime_error("the reason");
      const slow guard;
      (void)world.recv<int>(99);
    });
    std::_Exit(status == 1 && unwound == 99 ? 7 : 8);
  };
  EXPECT_EXIT(stops(), testing::ExitedWithCode(7), "rank 99: the reason");
}

TEST(a_rank_that_keeps_its_worker, is_named_while_others_are_ready) {
  options how = alone(job_of(2, 1));
  how.busy_warning_s = 0.3;
  testing::internal::CaptureStderr();
  const auto until = std::chrono::steady_clock::now() + 20s;
  const auto waits = [&] { return std::chrono::steady_clock::now() < until; };
  std::atomic<bool> flag{false};
  std::thread reader([&] {
    while (count_of(stderr_so_far(), "rank 0 has kept") == 0 && waits()) usleep(1000);
    flag = true;
  });
  run_ranks(how, [&](communicator& world) {
    if (world.rank() == 1) return;
    while (!flag) {
    }
  });
  reader.join();
  expect_contains(testing::internal::GetCapturedStderr(),
                  "rank 0 has kept worker 0 busy for 0.3 s while another rank of that "
                  "worker was ready to run");
}

// The signal is of this process, and so is its report.
TEST(the_report_signal, prints_what_each_rank_does_and_the_job_goes_on) {
  testing::internal::CaptureStderr();
  run_ranks(alone(job_of(4, 2)), [](communicator& world) {
    if (world.rank() == 0) {
      ask_until_reported(SIGUSR1,
                         "rank 1 (worker 0): in recv, source 0, tag 5, 4 bytes, communicator 0\n"
                         "weft:   rank 2 (worker 1): in recv, source 0, tag 5, 4 bytes, "
                         "communicator 0\nweft:   rank 3 (worker 1): in recv");
      for (int r = 1; r < 4; ++r) world.send(1, r, 5);
    } else {
      EXPECT_EQ(world.recv<int>(0, 5), 1);
    }
  });
  const std::string text = testing::internal::GetCapturedStderr();
  expect_contains(text, "weft: state of the ranks:\n");
  expect_contains(text, "weft:   rank 0 (worker 0): in sleep_for");
  for (const char* rank : {"rank 1 (worker 0)", "rank 2 (worker 1)", "rank 3 (worker 1)"})
    expect_contains(text, std::string(rank) + ": in recv, source 0, tag 5, 4 bytes");
}

TEST(the_report_signal, may_be_another) {
  testing::internal::CaptureStderr();
  options how = job_of(1, 1);
  how.report_signal = "USR2";
  run_ranks(how, [](communicator&) { ask_until_reported(SIGUSR2, "rank 0 (worker 0)"); });
  expect_contains(testing::internal::GetCapturedStderr(), "state of the ranks");
}

// Two jobs at once, the first of which takes USR1 and the second USR2.
TEST(the_report_signal, of_each_job_in_a_process_reaches_that_job) {
  testing::internal::CaptureStderr();
  std::atomic<int> ready{0};
  std::atomic<int> ended{0};
  std::atomic<std::size_t> asked{0};
  const auto job = [&](const char* signal, int ranks, int number, const std::string& part) {
    options how = alone(job_of(ranks, 1));
    how.report_signal = signal;
    run_ranks(how, [&](communicator& world) {
      if (world.rank() == 0) {
        ++ready;
        while (ready != 2) sleep_for(1ms);
        asked += ask_until_reported(number, part);
        ++ended;
        while (ended != 2) sleep_for(1ms);
        for (int r = 1; r < ranks; ++r) world.send(1, r);
      } else {
        EXPECT_EQ(world.recv<int>(0, ranks == 2 ? any_tag : 0), 1);
      }
    });
  };
  std::thread second(
      [&] { job("USR2", 3, SIGUSR2, "rank 2 (worker 0): in recv, source 0, tag 0, 4 bytes"); });
  job("USR1", 2, SIGUSR1, "rank 1 (worker 0): in recv, source 0, tag any, 4 bytes");
  second.join();
  // A signal that reached both jobs would have made two reports.
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_LE(count_of(text, "state of the ranks"), asked) << text;
}

TEST(the_report_signal, is_the_programs_again_after_the_last_job) {
  struct sigaction mine {};
  mine.sa_handler = SIG_IGN;
  struct sigaction before {};
  sigaction(SIGUSR2, &mine, &before);
  options how = job_of(1, 1);
  how.report_signal = "USR2";
  run_ranks(how, [](communicator&) {});
  struct sigaction after {};
  sigaction(SIGUSR2, &before, &after);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

void handle_nothing(int) {}

TEST(a_handler, that_the_program_sets_while_a_job_runs_stays_when_the_job_ends) {
  for (const int number : {SIGUSR2, SIGFPE}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    options how = job_of(1, 1);
    how.report_signal = "USR2";
    run_ranks(how, [&](communicator&) {
      struct sigaction mine {};
      mine.sa_handler = &handle_nothing;
      sigaction(number, &mine, nullptr);
    });
    struct sigaction after {};
    sigaction(number, &before, &after);
    EXPECT_EQ(after.sa_handler, &handle_nothing) << number;
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
int overflow(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : overflow(depth + 1) + frame[0];
}

int* volatile nowhere = nullptr;

TEST(a_fault, of_a_rank_is_named) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(run(alone(job_of(3, 2)),
                  [](communicator& world) {
                    if (world.rank() == 2) *nowhere = 1;
                    world.barrier();
                  }),
              testing::KilledBySignal(SIGSEGV), "weft: rank 2 on worker 1: Segmentation fault at");
}

TEST(a_fault, in_a_chunk_that_another_worker_has_stolen_is_of_the_rank_whose_loop_it_is) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto fault = [](std::size_t) { *nowhere = 1; };
  const auto fault_within = [&](std::size_t) { parallel_for(0, 2, fault, {.grain = 1}); };
  for (const std::function<void(std::size_t)>& stolen :
       {std::function<void(std::size_t)>(fault), std::function<void(std::size_t)>(fault_within)})
    EXPECT_EXIT(run(alone(job_of(2, 2)),
                    [&](communicator& world) {
                      const std::thread::id mine = std::this_thread::get_id();
                      const auto chunk = [&](std::size_t i) {
                        while (std::this_thread::get_id() == mine) std::this_thread::yield();
                        stolen(i);
                      };
                      if (world.rank() == 0) parallel_for(0, 2, chunk, {.grain = 1});
                      world.barrier();
                    }),
                testing::KilledBySignal(SIGSEGV),
                "weft: rank 0 on worker 1: Segmentation fault at");
}

TEST(a_stack_overflow, of_a_rank_is_named_with_the_remedy) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(run(alone(job_of(3, 2)),
                  [](communicator& world) {
                    if (world.rank() == 1) (void)overflow(0);
                    world.barrier();
                  }),
              testing::KilledBySignal(SIGSEGV),
              "weft: rank 1 overflowed its stack of .* WEFT_STACK");
}

// A frame of more than a stack: the guard page is not touched.
[[gnu::noinline]] void touch_far_below() {
  volatile char* const far = static_cast<char*>(__builtin_alloca(std::size_t{1} << 33));
  far[4096] = 1;
}

TEST(a_stack_overflow, by_a_frame_that_steps_over_the_guard_page_is_named_too) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(run(alone(job_of(3, 2)),
                  [](communicator& world) {
                    if (world.rank() == 1) touch_far_below();
                    world.barrier();
                  }),
              testing::KilledBySignal(SIGSEGV),
              "weft: rank 1 overflowed its stack of .* weftrun --stack");
}

// What lies above a stack may be the guard page of another one.
[[gnu::noinline]] char read_above() {
  volatile char here = 0;
  volatile const char* at = &here;
  for (;; at += 4096) here = static_cast<char>(here + *at);
}

TEST(a_read_above_the_stack, is_no_overflow) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(run(alone(job_of(3, 1)),
                  [](communicator& world) {
                    if (world.rank() == 1) (void)read_above();
                    world.barrier();
                  }),
              testing::KilledBySignal(SIGSEGV),
              "weft: rank 1 on worker 0: Segmentation fault at address");
}
#endif

TEST(a_request, destroyed_while_active_ends_the_program_with_a_message) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      run(alone(job_of(1, 1)),
          [](communicator& world) {
            int value = 0;
            { const request lost = world.irecv(std::span(&value, 1), 0, any_tag); }
          }),
      testing::KilledBySignal(SIGABRT),
      "rank 0 destroyed a request that is still active \\(wait \\(irecv\\), rank 0, tag any\\)");
}

TEST(a_request, of_a_collective_destroyed_while_active_names_the_communicator) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(run(alone(job_of(2, 1)),
                  [](communicator& world) {
                    if (world.rank() == 0) const request lost = world.ibarrier();
                  }),
              testing::KilledBySignal(SIGABRT),
              "rank 0 destroyed a request that is still active \\(collective, communicator 0\\)");
}

TEST(a_request, of_a_collective_is_not_complete_because_the_job_stops) {
  for (const int workers : {1, 2}) {
    std::atomic<bool> went_on = false;
    const failed_job job = run_to_failure(job_of(2, workers), [&](communicator& world) {
      if (world.rank() == 0) {
        (void)world.recv<int>(1);
        throw std::runtime_error("no barrier");
      }
      request all = world.ibarrier();
      world.send(1, 0);
      all.wait();
      went_on = true;
    });
    EXPECT_EQ(job.status, 1);
    EXPECT_FALSE(went_on);
  }
}

TEST(start, of_a_wrong_request_is_refused) {
  run_ranks(1, 1, [](communicator& world) {
    int value = 0;
    request plain = world.irecv(std::span(&value, 1), 0);
    expect_contains(error_of([&] { plain.start(); }), "not persistent");
    request kept = world.recv_init(std::span(&value, 1), 0);
    kept.start();
    expect_contains(error_of([&] { kept.start(); }), "active");
    world.send(1, 0);
    world.send(2, 0);
    plain.wait();
    kept.wait();
    EXPECT_EQ(value, 2);
  });
}

}  // namespace
}  // namespace weft
