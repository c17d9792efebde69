// Patterns, replays and predictions of synthetic records, whose answers are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/checksum.hpp"
#include "breakdown/event_log.hpp"
#include "breakdown/extrapolation.hpp"
#include "breakdown/machine.hpp"
#include "breakdown/pattern.hpp"
#include "breakdown/replay.hpp"
#include "breakdown/run_summary.hpp"
#include "breakdown/simulation.hpp"
#include "trace/flows.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

// A record that a test writes by hand, in microseconds.
class written_log {
 public:
  explicit written_log(int ranks, int workers = 0) {
    log_.program = "written";
    log_.workers = workers == 0 ? ranks : workers;
    log_.begun_ns = 0;
    log_.of_rank.resize(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
      log_.process_of_rank.push_back(0);
      log_.worker_of_rank.push_back(workers == 0 ? r : r % workers);
    }
  }
  int place(const std::string& call, const std::string& where = "") {
    log_.places.push_back({call, where});
    return static_cast<int>(log_.places.size()) - 1;
  }
  void add(int rank, double us, trace_kind kind, trace_phase phase, std::int64_t argument = 0,
           int place = -1, std::uint64_t bytes = 0) {
    log_.of_rank[static_cast<std::size_t>(rank)].push_back(
        {us * 1e3, argument, bytes, place, log_.worker_of_rank[static_cast<std::size_t>(rank)],
         kind, phase});
    log_.ended_ns = std::max(log_.ended_ns, us * 1e3);
  }
  void run(int rank, double from) { add(rank, from, trace_kind::run, trace_phase::begin); }
  void stop(int rank, double at) { add(rank, at, trace_kind::run, trace_phase::end); }
  void begin_call(int rank, double at, int place) {
    add(rank, at, trace_kind::call, trace_phase::begin, 0, place);
  }
  void end_call(int rank, double at) { add(rank, at, trace_kind::call, trace_phase::end); }
  void send(int rank, double at, int to, int flow, std::uint64_t bytes = 8) {
    add(rank, at, trace_kind::send, trace_phase::instant, argument(to, flow), -1, bytes);
  }
  // A receive that waits from `from` until `until`.
  void receive(int rank, double from, double until, int source, int flow, std::uint64_t bytes = 8) {
    add(rank, from, trace_kind::wait_recv, trace_phase::begin);
    add(rank, until, trace_kind::recv, trace_phase::instant, argument(source, flow), -1, bytes);
    add(rank, until, trace_kind::wait_recv, trace_phase::end);
  }
  void collective(int rank, double from, double until, int turn, int place, bool is_root = false,
                  collective_relation how = collective_relation::all) {
    add(rank, from, trace_kind::wait_collective, trace_phase::begin,
        event_file::packed(
            {0, 1, static_cast<std::uint64_t>(turn), log_.ranks(), how, is_root, false, ""}),
        place, 8);
    add(rank, until, trace_kind::wait_collective, trace_phase::end);
  }
  [[nodiscard]] const event_log& done() const { return log_; }

 private:
  static std::int64_t argument(int partner, int flow) {
    return static_cast<std::int64_t>(std::uint64_t{static_cast<unsigned>(flow)}
                                         << flow_partner_bits |
                                     static_cast<unsigned>(partner));
  }
  event_log log_;
};

// Rank 0 computes for 5 ms and sends; rank 1 waits for it since 1 ms, and needs 10 us more.
written_log late_sender() {
  written_log log(2);
  const int sends = log.place("MPI_Send", "main at a.c:7"),
            receives = log.place("MPI_Recv", "main at a.c:9");
  log.run(0, 0);
  log.begin_call(0, 5000, sends);
  log.send(0, 5000, 1, 1);
  log.end_call(0, 5000);
  log.stop(0, 5000);
  log.run(1, 0);
  log.begin_call(1, 1000, receives);
  log.receive(1, 1000, 5010, 0, 1);
  log.end_call(1, 5010);
  log.add(1, 6010, trace_kind::run, trace_phase::end);
  return log;
}

const place_cost& cost_at(const std::vector<place_cost>& all, const std::string& part) {
  for (const place_cost& one : all)
    if (one.place.find(part) != std::string::npos) return one;
  static const place_cost none;
  return none;
}

TEST(breakdown_pattern, has_computation_messages_and_what_they_are_needed_for) {
  const written_log log = late_sender();
  const pattern p = pattern_of(log.done());
  ASSERT_EQ(p.ranks(), 2);
  ASSERT_EQ(p.of_rank[0].size(), 2U);
  EXPECT_EQ(p.of_rank[0][0].kind, step_kind::compute);
  EXPECT_DOUBLE_EQ(p.of_rank[0][0].ns, 5e6);
  EXPECT_EQ(p.of_rank[0][1].kind, step_kind::send);
  EXPECT_EQ(p.of_rank[0][1].peer, 1);
  std::vector<step_kind> kinds;
  for (const step& s : p.of_rank[1]) kinds.push_back(s.kind);
  EXPECT_EQ(kinds, (std::vector{step_kind::compute, step_kind::post, step_kind::receive,
                                step_kind::compute}));
  EXPECT_DOUBLE_EQ(p.recorded_ns, 6.01e6);
  EXPECT_EQ(p.without_sender, 0U);
}

TEST(breakdown_pattern, needs_a_message_that_came_early_where_the_program_waits_for_it) {
  written_log log(2);
  const int posts = log.place("MPI_Irecv"), waits = log.place("MPI_Waitall");
  log.run(0, 0);
  log.send(0, 1, 1, 5);
  log.stop(0, 1);
  log.run(1, 0);
  log.begin_call(1, 2, posts);
  log.add(1, 2, trace_kind::recv, trace_phase::instant,
          static_cast<std::int64_t>(5U << flow_partner_bits));
  log.end_call(1, 3);
  log.begin_call(1, 10, waits);
  log.end_call(1, 11);
  log.stop(1, 11);
  const pattern p = pattern_of(log.done());
  // Computation until the wait, and only then the receive.
  ASSERT_FALSE(p.of_rank[1].empty());
  EXPECT_EQ(p.of_rank[1].back().kind, step_kind::receive);
  EXPECT_DOUBLE_EQ(p.of_rank[1].back().end_ns, 11e3);
}

TEST(breakdown_replay, changes_the_places_that_are_named_and_no_others) {
  written_log log(1);
  const int sends = log.place("MPI_Send", "main at a.c:4"),
            others = log.place("MPI_Send", "main at a.c:40");
  log.run(0, 0);
  log.begin_call(0, 1000, sends);
  log.end_call(0, 1000);
  log.begin_call(0, 11000, others);
  log.end_call(0, 11000);
  log.stop(0, 11100);
  const pattern p = pattern_of(log.done());
  const replay again(p);
  const auto halved = [&](const std::string& place) {
    replay_change change;
    change.computation.push_back({place, 0.5});
    return again.run(change) * 1e-3;
  };
  EXPECT_NEAR(halved("MPI_Send in main at a.c:4"), 10600, 1);
  EXPECT_NEAR(halved("a.c:4"), 10600, 1);
  EXPECT_NEAR(halved("a.c:40"), 6100, 1);
  EXPECT_NEAR(halved("a.c"), 5600, 1);
  EXPECT_NEAR(halved("end"), 11050, 1);
  EXPECT_NEAR(halved(""), 5550, 1);
}

// A send that went at once is not what a later send waits for, and costs nothing when there are many.
TEST(breakdown_replay, waits_for_the_receives_of_messages_that_were_kept_and_of_no_others) {
  written_log log(3);
  const int sends = log.place("MPI_Send"), receives = log.place("MPI_Recv", "main at a.c:1"),
            others = log.place("MPI_Recv", "main at b.c:1");
  constexpr int many = 20'000;
  for (int rank = 0; rank < 3; ++rank) log.run(rank, 0);
  for (int i = 0; i < many; ++i) {
    log.begin_call(0, 1, sends);
    log.send(0, 1, 1, 10 + i, 2048);
    log.end_call(0, 1);
  }
  log.begin_call(0, 2000, sends);
  log.send(0, 2000, 2, 2, 1 << 20);
  log.add(0, 2000, trace_kind::wait_send, trace_phase::instant);
  log.add(0, 2000, trace_kind::wait_send, trace_phase::begin);
  log.add(0, 2100, trace_kind::wait_send, trace_phase::end);
  log.end_call(0, 2100);
  log.stop(0, 3100);
  for (int i = 0; i < many; ++i) {
    log.begin_call(1, 1000, others);
    log.receive(1, 1000, 1000, 0, 10 + i, 2048);
    log.end_call(1, 1000);
  }
  log.stop(1, 1000);
  log.begin_call(2, 2050, receives);
  log.receive(2, 2050, 2100, 0, 2, 1 << 20);
  log.end_call(2, 2100);
  log.stop(2, 2100);
  const pattern p = pattern_of(log.done());
  ASSERT_EQ(std::ranges::count(p.of_rank[0], step_kind::taken, &step::kind), 1);
  const replay again(p);
  EXPECT_NEAR(again.run(), 3.1e6, 1);
  // Rank 1 receives later, and rank 0 does not notice.
  replay_change change;
  change.computation.push_back({"b.c:1", 4});
  EXPECT_NEAR(again.run(change), 4e6, 1);
}

// What a message interrupts is computed for the call that ends it, and so is what comes before a sleep.
TEST(breakdown_pattern, computation_has_the_place_of_what_ends_it) {
  written_log log(2);
  const int waits = log.place("MPI_Wait", "main at a.c:3"),
            sleeps = log.place("sleep", "main at a.c:5");
  log.run(0, 0);
  log.send(0, 1, 1, 5);
  log.stop(0, 2);
  log.run(1, 0);
  log.add(1, 400, trace_kind::recv, trace_phase::instant,
          static_cast<std::int64_t>(5U << flow_partner_bits));
  log.begin_call(1, 1000, waits);
  log.end_call(1, 1001);
  log.add(1, 1501, trace_kind::sleep, trace_phase::begin, 0, sleeps);
  log.add(1, 2501, trace_kind::sleep, trace_phase::end);
  log.stop(1, 2601);
  const pattern p = pattern_of(log.done());
  std::map<int, double> computed, slept;
  for (const step& s : p.of_rank[1]) {
    if (s.kind == step_kind::compute) computed[s.place] += s.ns;
    if (s.kind == step_kind::sleep) slept[s.place] += s.ns;
  }
  EXPECT_EQ(computed, (std::map<int, double>{{waits, 1e6}, {sleeps, 5e5}, {-1, 1e5}}));
  EXPECT_EQ(slept, (std::map<int, double>{{sleeps, 1e6}}));
}

// Rank 1 waits from 1 to 5 ms for a barrier that it has begun; rank 0 comes to it then.
TEST(breakdown_replay, waits_for_who_comes_late_to_a_non_blocking_collective) {
  written_log log(2);
  const int starts = log.place("MPI_Ibarrier", "main at a.c:1"),
            waits = log.place("MPI_Wait", "main at a.c:2");
  const std::int64_t name =
      event_file::packed({0, 1, 0, 2, collective_relation::all, false, true, ""});
  const auto take_part = [&](int rank, double from, double until) {
    log.run(rank, 0);
    log.begin_call(rank, from, starts);
    log.end_call(rank, from);
    log.begin_call(rank, from, waits);
    log.add(rank, from, trace_kind::wait_recv, trace_phase::begin);
    log.add(rank, from, trace_kind::wait_collective, trace_phase::instant, name, starts);
    log.add(rank, from, trace_kind::wait_collective, trace_phase::begin, name);
    log.add(rank, until, trace_kind::wait_collective, trace_phase::end, name | 1);
    log.add(rank, until, trace_kind::wait_recv, trace_phase::end);
    log.end_call(rank, until);
    log.stop(rank, until);
  };
  take_part(0, 5000, 5001);
  take_part(1, 1000, 5002);
  const pattern p = pattern_of(log.done());
  const replay again(p);
  EXPECT_NEAR(again.run(), 5.002e6, 1);
  EXPECT_NEAR(cost_at(again.delays(), "MPI_Ibarrier in main").ns, 4e6, 1e3);
  replay_change change;
  change.computation.push_back({"MPI_Ibarrier", 0.5});
  EXPECT_NEAR(again.run(change), 2.502e6, 1);
}

// A probe waits for its message, which is received later; a row of tests does so, too, of which the first and the last are kept.
TEST(breakdown_replay, waits_in_probes_and_in_rows_of_tests) {
  written_log log(2);
  const int sends = log.place("MPI_Send", "main at a.c:1"), probes = log.place("MPI_Probe"),
            receives = log.place("MPI_Recv"), tests = log.place("MPI_Test");
  log.run(0, 0);
  for (int i = 0; i < 2; ++i) {
    log.begin_call(0, 3000 * (i + 1), sends);
    log.send(0, 3000 * (i + 1), 1, 5 + i);
    log.end_call(0, 3000 * (i + 1));
  }
  log.stop(0, 6000);
  log.run(1, 0);
  const auto flow = [](unsigned number) {
    return static_cast<std::int64_t>(number << flow_partner_bits);
  };
  log.begin_call(1, 10, probes);
  log.add(1, 10, trace_kind::wait_recv, trace_phase::begin);
  log.add(1, 3001, trace_kind::wait_recv, trace_phase::end);
  log.add(1, 3002, trace_kind::wait_recv, trace_phase::instant, flow(5));
  log.end_call(1, 3003);
  log.begin_call(1, 3004, receives);
  log.add(1, 3004, trace_kind::recv, trace_phase::instant, flow(5));
  log.end_call(1, 3004);
  log.begin_call(1, 3004, tests);
  log.end_call(1, 3005);
  log.begin_call(1, 6000, tests);
  log.add(1, 6001, trace_kind::recv, trace_phase::instant, flow(6));
  log.add(1, 6001, trace_kind::wait_memory, trace_phase::instant, 0, -1, 2'997'000);
  log.end_call(1, 6002);
  log.stop(1, 6002);
  const pattern p = pattern_of(log.done());
  EXPECT_EQ(p.without_sender, 0U);
  const replay again(p);
  EXPECT_NEAR(again.run(), 6.002e6, 1);
  EXPECT_NEAR(cost_at(again.delays(), "MPI_Send in main").ns, 5.985e6, 2e4);
  replay_change change;
  change.computation.push_back({"MPI_Send", 0.5});
  EXPECT_NEAR(again.run(change), 3.002e6, 1e4);
}

TEST(breakdown_replay, of_an_unchanged_run_takes_the_recorded_time) {
  const written_log log = late_sender();
  const pattern p = pattern_of(log.done());
  EXPECT_NEAR(replay(p).run(), 6.01e6, 1);
}

TEST(breakdown_replay, gains_what_a_faster_function_brings_and_no_more) {
  const written_log log = late_sender();
  const pattern p = pattern_of(log.done());
  const replay again(p);
  replay_change change;
  change.computation.push_back({"a.c:7", 0.5});  // 5 ms before the send: 2.5 ms.
  EXPECT_NEAR(again.run(change), 2.5e6 + 1e4 + 1e6, 1);
  // What rank 1 computes before its receive overlaps.
  change.computation = {{"a.c:9", 0}};
  EXPECT_NEAR(again.run(change), 6.01e6, 1);
  // It waits no longer than until rank 0 sends.
  change.computation = {{"a.c:7", 0}};
  EXPECT_NEAR(again.run(change), 1e6 + 1e4 + 1e6, 1);
  change.computation.clear();
  change.transfers = 0;
  EXPECT_NEAR(again.run(change), 6e6, 1);
}

TEST(breakdown_replay, finds_the_critical_path_and_the_delay_that_causes_the_wait) {
  const written_log log = late_sender();
  const pattern p = pattern_of(log.done());
  const replay again(p);
  const auto path = again.critical_path();
  EXPECT_NEAR(cost_at(path, "before MPI_Send").ns, 5e6, 1);
  EXPECT_NEAR(cost_at(path, "transfer in MPI_Recv").ns, 1e4, 1);
  EXPECT_NEAR(cost_at(path, "before end").ns, 1e6, 1);
  EXPECT_EQ(cost_at(path, "before MPI_Recv").ns, 0);
  const auto delays = again.delays();
  ASSERT_EQ(delays.size(), 1U);
  EXPECT_NEAR(cost_at(delays, "before MPI_Send in main at a.c:7").ns, 4e6, 1);
  EXPECT_EQ(delays[0].indirect_ns, 0);
}

TEST(breakdown_replay, bears_as_much_latency_as_the_messages_of_the_critical_path_say) {
  const written_log log = late_sender();
  const pattern p = pattern_of(log.done());
  const replay again(p);
  // One message is on the path: 1 % of 6.01 ms.
  EXPECT_NEAR(again.tolerance_ns(0.01), 60'100, 100);
  EXPECT_NEAR(again.tolerance_ns(0.05), 300'500, 500);
}

TEST(breakdown_replay, changes_the_place_of_just_that_name_when_it_shall) {
  const written_log log = late_sender();
  const pattern p = pattern_of(log.done());
  const replay again(p);
  replay_change change;
  // "end", the place of what no call ends, is part of "MPI_Send" as well.
  change.computation.push_back({"end", 0, true});
  EXPECT_NEAR(again.run(change), 5e6 + 1e4, 1);
  change.computation = {{"a.c:7", 0, true}};
  EXPECT_NEAR(again.run(change), 6.01e6, 1);
  change.computation = {{"MPI_Send in main at a.c:7", 0.5, true}};
  EXPECT_NEAR(again.run(change), 2.5e6 + 1e4 + 1e6, 1);
}

// Rank 0 computes 3 ms and rank 1 1 ms before they meet.
written_log uneven() {
  written_log log(2);
  const int barrier = log.place("MPI_Barrier");
  for (int rank = 0; rank < 2; ++rank) {
    const double came = rank == 0 ? 3000 : 1000;
    log.run(rank, 0);
    log.begin_call(rank, came, barrier);
    log.collective(rank, came, 3010, 0, barrier);
    log.end_call(rank, 3010);
    log.stop(rank, 3010);
  }
  return log;
}

TEST(breakdown_replay, gains_what_even_shares_of_computation_bring) {
  const written_log log = uneven();
  const pattern p = pattern_of(log.done());
  const replay again(p);
  replay_change change;
  change.evenness = 1;
  EXPECT_NEAR(again.run(change), 2e6 + 1e4, 1);
  change.evenness = 0.5;
  EXPECT_NEAR(again.run(change), 2.5e6 + 1e4, 1);
}

// Rank 0 computes for 5 ms and writes a word, for which rank 1 waits since 1 ms; nobody knows who ends its second wait.
TEST(breakdown_replay, charges_a_wait_for_memory_to_who_wrote_the_word) {
  written_log log(2);
  const int writes = log.place("shmem_long_p", "main at a.c:7"),
            waits = log.place("shmem_long_wait_until");
  log.run(0, 0);
  log.begin_call(0, 5000, writes);
  log.end_call(0, 5001);
  log.stop(0, 5001);
  log.run(1, 0);
  log.begin_call(1, 1000, waits);
  log.add(1, 1000, trace_kind::wait_memory, trace_phase::begin, 0, waits);
  log.add(1, 5010, trace_kind::wait_memory, trace_phase::end, 0, -1,
          10'001);  // A little before that call.
  log.end_call(1, 5010);
  log.begin_call(1, 6010, waits);
  log.add(1, 6010, trace_kind::wait_memory, trace_phase::begin, 0, waits);
  log.add(1, 6020, trace_kind::wait_memory, trace_phase::end, -1);
  log.end_call(1, 6020);
  log.stop(1, 6020);
  const pattern p = pattern_of(log.done());
  const replay again(p);
  EXPECT_NEAR(again.run(), 6.02e6, 1);
  EXPECT_NEAR(cost_at(again.critical_path(), "before shmem_long_p").ns, 5e6, 1);
  EXPECT_NEAR(cost_at(again.delays(), "before shmem_long_p in main at a.c:7").ns, 4e6, 1);
  replay_change change;
  change.computation.push_back({"a.c:7", 0.5});
  EXPECT_NEAR(again.run(change), 3.52e6, 1);
}

TEST(breakdown_run_summary, says_what_replays_say) {
  const written_log log = uneven();
  const pattern p = pattern_of(log.done());
  const run_summary s = summarise_run(p, replay(p), 0);
  EXPECT_NEAR(s.recorded_seconds, 3.01e-3, 1e-9);
  EXPECT_NEAR(s.replayed_seconds, 3.01e-3, 1e-9);
  ASSERT_EQ(s.what_if.size(), 3U);  // The computation, even shares, transfers.
  EXPECT_EQ(s.what_if[0].part, "computation before MPI_Barrier");
  EXPECT_NEAR(s.what_if[0].percent[2], 100 * 1.5 / 3.01, 1e-6);
  EXPECT_NEAR(s.what_if[1].percent[4], 100 * 0.9 / 3.01, 1e-6);
  EXPECT_NE(text_of(s).find("computation before MPI_Barrier"), std::string::npos) << text_of(s);
  EXPECT_NE(json_of(s).find("\"critical_path\": [{\"at\": \"computation before MPI_Barrier\""),
            std::string::npos)
      << json_of(s);
}

// Rank 0 computes 5 ms and sends to 1, which waits for it, computes 1 ms more and sends to 2.
TEST(breakdown_replay, charges_what_others_waited_for_to_its_first_cause) {
  written_log log(3);
  const int first = log.place("MPI_Send", "start at a.c:1"),
            second = log.place("MPI_Send", "next at a.c:2"), receives = log.place("MPI_Recv");
  log.run(0, 0);
  log.begin_call(0, 5000, first);
  log.send(0, 5000, 1, 1);
  log.end_call(0, 5000);
  log.stop(0, 5000);
  log.run(1, 0);
  log.begin_call(1, 0, receives);
  log.receive(1, 0, 5000, 0, 1);
  log.end_call(1, 5000);
  log.begin_call(1, 6000, second);
  log.send(1, 6000, 2, 2);
  log.end_call(1, 6000);
  log.stop(1, 6000);
  log.run(2, 0);
  log.begin_call(2, 0, receives);
  log.receive(2, 0, 6000, 1, 2);
  log.end_call(2, 6000);
  log.stop(2, 6000);
  const pattern p = pattern_of(log.done());
  const auto delays = replay(p).delays();
  EXPECT_NEAR(cost_at(delays, "start at a.c:1").ns, 5e6, 1);  // Rank 1 waited for it,
  EXPECT_NEAR(cost_at(delays, "start at a.c:1").indirect_ns, 5e6,
              1);  // and rank 2 because rank 1 did.
  EXPECT_NEAR(cost_at(delays, "next at a.c:2").ns, 1e6, 1);
  EXPECT_EQ(cost_at(delays, "next at a.c:2").indirect_ns, 0);
}

TEST(breakdown_replay, lets_a_collective_end_when_its_last_rank_has_come) {
  written_log log(3);
  const int reduces = log.place("MPI_Allreduce", "main at a.c:3");
  const double work[] = {1000, 1000, 1800};
  for (int r = 0; r < 3; ++r) {
    log.run(r, 0);
    log.begin_call(r, work[r], reduces);
    log.collective(r, work[r], 1805, 0, reduces);
    log.end_call(r, 1805);
    log.stop(r, 1805);
  }
  const pattern p = pattern_of(log.done());
  const replay again(p);
  EXPECT_NEAR(again.run(), 1.805e6, 1);
  replay_change change;
  change.more_ns = 1000;  // Two rounds.
  EXPECT_NEAR(again.run(change), 1.807e6, 1);
  EXPECT_NEAR(cost_at(again.delays(), "MPI_Allreduce").ns, 2 * 0.8e6, 1);
  EXPECT_NEAR(cost_at(again.critical_path(), "computation before MPI_Allreduce").ns, 1.8e6, 1);
}

TEST(breakdown_replay, runs_ranks_of_one_worker_one_after_the_other) {
  written_log log(2, 1);
  const int meets = log.place("MPI_Barrier");
  log.run(0, 0);
  log.begin_call(0, 1000, meets);
  log.add(0, 1000, trace_kind::wait_collective, trace_phase::begin,
          event_file::packed({0, 1, 0, 2, collective_relation::all, false, true, ""}), meets);
  log.stop(0, 1000);
  log.run(1, 1000);
  log.begin_call(1, 3000, meets);
  log.collective(1, 3000, 3001, 0, meets);
  log.end_call(1, 3001);
  log.stop(1, 3001);
  log.run(0, 3001);
  log.add(0, 3002, trace_kind::wait_collective, trace_phase::end);
  log.end_call(0, 3002);
  log.stop(0, 3002);
  const pattern p = pattern_of(log.done());
  const replay again(p);
  EXPECT_NEAR(again.run(), 3.002e6, 1);
  // Both compute before the same call: all of it is in a row.
  replay_change change;
  change.computation.push_back({"MPI_Barrier", 0.5});
  EXPECT_NEAR(again.run(change), 1.502e6, 2);
}

// Rank 0 yields in the middle of a call, in which rank 1 computes.
TEST(breakdown_replay, takes_no_longer_when_ranks_of_a_worker_run_in_the_middle_of_calls) {
  written_log log(2, 1);
  const int tests = log.place("MPI_Test");
  for (int i = 0; i < 50; ++i) {
    const double begun = 10 * i;
    log.run(0, begun);
    log.begin_call(0, begun + 1, tests);
    log.stop(0, begun + 4);
    log.run(1, begun + 4);
    log.begin_call(1, begun + 5, tests);
    log.end_call(1, begun + 6);
    log.stop(1, begun + 6);
    log.run(0, begun + 6);
    log.end_call(0, begun + 10);
    log.stop(0, begun + 10);
  }
  EXPECT_NEAR(replay(pattern_of(log.done())).run(), 5e5, 5e3);
}

// --- Predictions ---------------------------------------------------------------------------------

machine simple_machine(int nodes, int ranks_per_node, int workers = 0) {
  machine m;
  m.nodes = nodes;
  m.ranks_per_node = ranks_per_node;
  m.workers_per_node = workers == 0 ? ranks_per_node : workers;
  m.costs = {{8, 10, 100, 20}, {1024, 20, 300, 40}};
  m.network_post = 50;
  m.network_deliver = 60;
  return m;
}

// Steps of a halo exchange on a grid, with 100 us of computation each.
pattern halo(int columns, int rows, bool wraps, int steps = 3) {
  pattern p;
  p.program = "halo";
  p.of_rank.resize(static_cast<std::size_t>(columns * rows));
  for (int r = 0; r < columns * rows; ++r) {
    p.worker_of_rank.push_back(r);
    const int x = r % columns, y = r / columns;
    std::vector<int> partners;
    const int ways[][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    for (const auto& way : ways) {
      int to_x = x + way[0], to_y = y + way[1];
      if (wraps) {
        to_x = (to_x + columns) % columns;
        to_y = (to_y + rows) % rows;
      }
      if (to_x < 0 || to_y < 0 || to_x >= columns || to_y >= rows || to_y * columns + to_x == r)
        continue;
      partners.push_back(to_y * columns + to_x);
    }
    for (int i = 0; i < steps; ++i) {
      const auto add = [&](step_kind kind, int peer, double ns) {
        step s;
        s.kind = kind;
        s.peer = peer;
        s.number = static_cast<std::uint32_t>(i);
        s.bytes = 8;
        s.ns = ns;
        p.of_rank[static_cast<std::size_t>(r)].push_back(s);
      };
      add(step_kind::compute, -1, 1e5);
      for (const int to : partners) add(step_kind::send, to, 0);
      for (const int from : partners) add(step_kind::receive, from, 0);
    }
  }
  return p;
}

// Each send of the larger job has its receive, and the other way round.
void expect_all_matched(const pattern& p, int ranks) {
  const extrapolation how(p, ranks);
  std::set<std::tuple<int, int, unsigned>> sends, receives;
  for (int r = 0; r < ranks; ++r)
    for (const step& s : p.of_rank[static_cast<std::size_t>(how.recorded(r))]) {
      if (s.kind == step_kind::send) sends.emplace(r, how.peer(r, s.peer), s.number);
      if (s.kind == step_kind::receive) receives.emplace(how.peer(r, s.peer), r, s.number);
    }
  EXPECT_EQ(sends, receives);
  for (const auto& [from, to, number] : sends) EXPECT_TRUE(to >= 0 && to < ranks) << from;
}

TEST(breakdown_scale, finds_the_grid_of_a_pattern_and_keeps_its_neighbours) {
  EXPECT_EQ(extrapolation(halo(4, 1, false), 16).shape(), "4");
  EXPECT_EQ(extrapolation(halo(4, 1, true), 16).shape(), "4 (ring)");
  EXPECT_EQ(extrapolation(halo(3, 3, false), 36).shape(), "3 x 3");
  for (const int ranks : {4, 8, 13, 64}) expect_all_matched(halo(4, 1, false), ranks);
  for (const int ranks : {4, 8, 64}) expect_all_matched(halo(4, 1, true), ranks);
  for (const int ranks : {9, 36, 81, 144}) expect_all_matched(halo(3, 3, false), ranks);
}

TEST(breakdown_scale, refuses_what_cannot_be_had_in_one_line) {
  const auto refused = [](const pattern& p, int ranks) {
    try {
      (void)extrapolation(p, ranks);
    } catch (const error& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  EXPECT_NE(refused(halo(4, 1, false), 2).find("record fewer"), std::string::npos);
  EXPECT_NE(refused(halo(2, 1, false), 8).find("record at least 3"), std::string::npos);
  EXPECT_EQ(refused(halo(4, 1, false), 8).find('\n'), std::string::npos);
  EXPECT_THROW((void)pattern_of_collective("allreduse", 8, 1), error);
}

simulated predicted(const pattern& p, const machine& m) {
  const extrapolation how(p, m.ranks());
  const auto net = make_plain_network(1000, 1);
  return simulate(p, how, m, *net);
}

TEST(breakdown_scale, takes_for_a_message_in_a_node_what_was_measured) {
  // Each step: computation, two posts of which the second message is under way for 110, then two deliveries.
  const simulated inner = predicted(halo(4, 1, true, 1), simple_machine(1, 4));
  EXPECT_DOUBLE_EQ(inner.ns, 1e5 + 10 + 100 + 20 + 20);
  EXPECT_EQ(inner.messages, 8U);
  EXPECT_EQ(inner.between_nodes, 0U);
  // And as many more ranks as there are: nothing in it takes longer.
  EXPECT_DOUBLE_EQ(predicted(halo(4, 1, true, 1), simple_machine(1, 64)).ns, inner.ns);
}

TEST(breakdown_scale, takes_for_a_message_between_nodes_what_the_network_does) {
  const simulated apart = predicted(halo(4, 1, true, 1), simple_machine(4, 1));
  // The second post begins after the first; 8 bytes take 8 ns.
  EXPECT_DOUBLE_EQ(apart.ns, 1e5 + 50 + 1008 + 60 + 60);
  EXPECT_EQ(apart.between_nodes, 8U);
}

TEST(breakdown_scale, lets_ranks_of_one_worker_take_turns) {
  const simulated turns = predicted(halo(4, 1, true, 1), simple_machine(1, 4, 1));
  EXPECT_GT(turns.ns, 4e5);
  EXPECT_LT(turns.ns, 4e5 + 1000);
}

TEST(breakdown_scale, reduces_in_a_node_and_then_in_rounds_between_nodes) {
  const pattern reduction = pattern_of_collective("allreduce", 8, 1);
  // Eight ranks meet at once: 100 + 8 x 20, before and after.
  EXPECT_DOUBLE_EQ(predicted(reduction, simple_machine(1, 8)).ns, 2 * 260);
  EXPECT_DOUBLE_EQ(predicted(reduction, simple_machine(16, 8)).ns, 2 * 260 + 4 * (1008 + 50 + 60));
  EXPECT_DOUBLE_EQ(predicted(reduction, simple_machine(9, 1)).ns, 4 * (1008 + 50 + 60));
  const simulated large = predicted(reduction, simple_machine(1024, 64));
  EXPECT_EQ(large.between_nodes, 10'240U);
  EXPECT_DOUBLE_EQ(large.ns, 4 * 260 + 10 * (1008 + 50 + 60));
}

TEST(breakdown_scale, ends_every_collective_on_any_number_of_nodes) {
  for (const char* name : {"allreduce", "barrier", "allgather", "alltoall", "broadcast", "reduce"})
    for (const int nodes : {1, 2, 3, 5, 8, 13})
      for (const int ranks : {1, 3}) {
        const simulated made =
            predicted(pattern_of_collective(name, 8, 12), simple_machine(nodes, ranks));
        EXPECT_EQ(made.without_partner, 0U) << name << ' ' << nodes << ' ' << ranks;
        EXPECT_TRUE(nodes == 1 || made.ns > 0) << name << ' ' << nodes << ' ' << ranks;
      }
}

TEST(breakdown_scale, goes_on_when_nobody_sends_what_a_rank_waits_for) {
  pattern p = halo(4, 1, true, 1);
  std::erase_if(p.of_rank[2], [](const step& s) { return s.kind == step_kind::send; });
  EXPECT_EQ(predicted(p, simple_machine(1, 4)).without_partner, 2U);
}

// --- Files ---------------------------------------------------------------------------------------

std::string sealed(std::string file) {
  const std::size_t at = offsetof(event_file::part_header, checksum);
  std::memset(file.data() + at, 0, sizeof(std::uint32_t));
  const std::uint32_t sum = checksum_of({std::as_bytes(std::span(file))});
  std::memcpy(file.data() + at, &sum, sizeof sum);
  return file;
}

std::string one_part(int ranks = 2) {
  event_file::part_header header;
  header.event_bytes = sizeof(event_file::event_row);
  header.ranks = ranks;
  header.ended_ns = 100;
  header.places = 1;
  header.events = static_cast<std::uint64_t>(ranks);
  std::strcpy(header.program, "made");
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  event_file::place_row place;
  std::strcpy(place.name, "MPI_Send");
  file.append(reinterpret_cast<const char*>(&place), sizeof place);
  for (int r = 0; r < ranks; ++r) {
    const event_file::event_row row{10.0 + r,           0, 0, r, 0, 0, trace_kind::call,
                                    trace_phase::begin, 0};
    file.append(reinterpret_cast<const char*>(&row), sizeof row);
  }
  return sealed(file);
}

TEST(breakdown_event_log, reads_what_was_written) {
  const event_log log = parse_event_log(one_part(), "made.events", false);
  EXPECT_EQ(log.ranks(), 2);
  EXPECT_EQ(log.program, "made");
  ASSERT_EQ(log.of_rank[1].size(), 1U);
  EXPECT_EQ(log.places[0].call, "MPI_Send");
}

TEST(breakdown_event_log, refuses_any_other_file_in_one_line_that_names_it) {
  const std::string whole = one_part();
  std::map<std::string, std::string> wrong{{"empty", ""},
                                           {"short", whole.substr(0, 100)},
                                           {"cut off", whole.substr(0, whole.size() - 1)},
                                           {"foreign", std::string(4096, 'x')}};
  const auto changed = [&](std::size_t where, char to) {
    std::string file = whole;
    file[where] = to;
    return sealed(file);
  };
  const std::size_t events = sizeof(event_file::part_header) + sizeof(event_file::place_row);
  wrong["kind"] = changed(events + offsetof(event_file::event_row, kind), 100);
  wrong["phase"] = changed(events + offsetof(event_file::event_row, phase), 9);
  wrong["rank"] = changed(events + offsetof(event_file::event_row, rank) + 3, 127);
  wrong["place"] = changed(events + offsetof(event_file::event_row, place), 7);
  wrong["time"] = changed(events + offsetof(event_file::event_row, ns) + 7, 0x7f);
  wrong["workers"] = changed(offsetof(event_file::part_header, workers) + 3, 127);
  wrong["processes"] = changed(offsetof(event_file::part_header, processes), 3);
  wrong["more events"] = changed(offsetof(event_file::part_header, events) + 7, 127);
  for (const auto& [what, file] : wrong) {
    try {
      (void)parse_event_log(file, "some.events", false);
      ADD_FAILURE() << what << " was taken";
    } catch (const error& failure) {
      const std::string told = failure.what();
      EXPECT_EQ(told.rfind("some.events: ", 0), 0U) << what << ": " << told;
      EXPECT_EQ(told.find('\n'), std::string::npos) << what;
    }
  }
}

}  // namespace
}  // namespace weft::breakdown
