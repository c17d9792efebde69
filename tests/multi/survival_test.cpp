// Processes of ranks that die, and hosts that are cut off: what the others are told, and that they
// end or go on.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <tuple>

#include "base/format.hpp"
#include "multi/started_job.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

std::string this_host() {
  std::string name = shell("uname -n").text;
  name.pop_back();
  return name;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++count;
  return count;
}

class a_death : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    if (transport() != "shm" && !has_network()) GTEST_SKIP() << "built without libfabric";
  }
  static std::string transport() { return std::get<0>(GetParam()); }
  static std::string mode() { return std::get<1>(GetParam()); }
  // Ranks 2 and 3 are those of process 1.
  static std::string line(const std::string& words, int victim) {
    return formatted(
        "env WEFT_TRANSPORT={} timeout 100 ./weftrun -n 6 --processes 3 {} ./test-survivors {} {}",
        transport(), words, victim, mode());
  }
};

class a_death_before_a_deadlock : public ::testing::TestWithParam<const char*> {};
class a_killed_process : public ::testing::TestWithParam<const char*> {};

TEST_P(a_death, ends_operations_with_the_dead_and_nothing_else) {
  for (const int victim : {0, 3, 4}) {
    const outcome got = shell(line("--on-failure error --timeout 60", victim));
    const int process = victim / 2;
    EXPECT_EQ(count_of(got.text, " went on\n"), 4u) << got.text;
    EXPECT_EQ(got.text.find("survivors:"), std::string::npos) << got.text;
    const std::string told = formatted(
        "weftrun: process {} (ranks {} to {}) on host {} was killed by signal 9 (Killed); the others go on",
        process, 2 * process, 2 * process + 1, this_host());
    EXPECT_NE(got.text.find(told), std::string::npos) << got.text;
  }
}

// From the kill until weftrun has ended, the last of the job.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto end_of_others_max = 10s;
#else
constexpr auto end_of_others_max = 1s;
#endif

std::string under_way_over(const std::string& transport) {
  return formatted(
      "env WEFT_TRANSPORT={} ./weftrun -n 6 --processes 3 --timeout 60 ./test-survivors 0 traffic",
      transport);
}
// Ends the middle one of its processes when all are under way. False: they did not get so far.
bool kill_the_middle(started_job& job, int number) {
  const std::string who = "rank 3 is of process ";
  return job.wait_for("under way") && job.wait_for(who) && job.wait_for("\n") &&
         ::kill(std::atoi(job.text().c_str() + job.text().find(who) + who.size()), number) == 0;
}

TEST_P(a_killed_process, is_followed_by_the_others_at_once) {
  if (const std::string transport = GetParam(); transport != "shm" && !has_network())
    GTEST_SKIP() << "built without libfabric";
  auto shortest = std::chrono::steady_clock::duration::max();
  for (int jobs = 0; jobs < 5 && shortest >= end_of_others_max && !HasFailure(); ++jobs) {
    started_job job(under_way_over(GetParam()));
    ASSERT_TRUE(kill_the_middle(job, SIGKILL)) << job.text();
    const auto killed = std::chrono::steady_clock::now();
    EXPECT_EQ(job.finish(), 137) << job.text();
    shortest = std::min(shortest, std::chrono::steady_clock::now() - killed);
    EXPECT_EQ(job.left_behind(), "");
    EXPECT_EQ(count_of(job.text(), "was killed by signal 9 (Killed); the job ends\n"), 1u)
        << job.text();
  }
  EXPECT_LT(shortest, end_of_others_max) << shortest / 1ms << " ms";
  RecordProperty("milliseconds", static_cast<int>(shortest / 1ms));
}

// By the signal's default: a library that a network brings may have taken it.
TEST_P(a_killed_process, may_be_terminated) {
  if (const std::string transport = GetParam(); transport != "shm" && !has_network())
    GTEST_SKIP() << "built without libfabric";
  for (const auto& [number, name] :
       {std::pair{SIGTERM, "15 (Terminated)"}, {SIGINT, "2 (Interrupt)"}}) {
    started_job job(under_way_over(GetParam()));
    ASSERT_TRUE(kill_the_middle(job, number)) << job.text();
    EXPECT_EQ(job.finish(), 128 + number) << job.text();
    EXPECT_EQ(count_of(job.text(), formatted("was killed by signal {}; the job ends\n", name)), 1u)
        << job.text();
  }
}

INSTANTIATE_TEST_SUITE_P(survival, a_killed_process, ::testing::Values("shm", "ofi:tcp"),
                         [](const auto& one) { return std::string(one.param).substr(0, 3); });

class a_process_without_descriptors : public ::testing::TestWithParam<const char*> {};

TEST_P(a_process_without_descriptors, takes_nobody_for_dead) {
  if (const std::string transport = GetParam(); transport != "shm" && !has_network())
    GTEST_SKIP() << "built without libfabric";
  const outcome got =
      shell(formatted("ulimit -Sn 256; timeout 100 ./weftrun --transport {} -n 3 --processes 3 "
                      "--timeout 90 ./test-descriptors",
                      GetParam()));
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_NE(got.text.find("3 ranks live\n"), std::string::npos) << got.text;
  EXPECT_EQ(got.text.find("has ended"), std::string::npos) << got.text;
}

INSTANTIATE_TEST_SUITE_P(survival, a_process_without_descriptors,
                         ::testing::Values("shm", "ofi:tcp"),
                         [](const auto& one) { return std::string(one.param).substr(0, 3); });

TEST_P(a_death_before_a_deadlock, does_not_hide_it) {
  if (const std::string transport = GetParam(); transport != "shm" && !has_network())
    GTEST_SKIP() << "built without libfabric";
  for (const int victim : {0, 3, 5}) {
    const outcome got = shell(formatted(
        "env WEFT_TRANSPORT={} timeout 100 ./weftrun -n 6 --processes 3 --on-failure error "
        "--timeout 60 ./test-survivors {} deadlock",
        GetParam(), victim));
    EXPECT_EQ(count_of(got.text, "deadlock: every rank waits and no message is under way\n"), 1u)
        << got.text;
    const int next =
        victim / 2 == 2 ? 0 : victim / 2 * 2 + 2;  // The first living rank behind them.
    EXPECT_NE(got.text.find(formatted("rank {} waits for rank {}", (victim / 2 * 2 + 5) % 6, next)),
              std::string::npos)
        << got.text;
    EXPECT_NE(got.text.find(formatted("ranks {}-{} died with process {}\n", victim / 2 * 2,
                                      victim / 2 * 2 + 1, victim / 2)),
              std::string::npos)
        << got.text;
    EXPECT_EQ(got.text.find(" went on\n"), std::string::npos) << got.text;
  }
}

INSTANTIATE_TEST_SUITE_P(survival, a_death_before_a_deadlock, ::testing::Values("shm", "ofi:tcp"),
                         [](const auto& one) { return std::string(one.param).substr(0, 3); });

// The ranks read and write each other's memory. Each may hear of the death in another meeting.
TEST(a_death_in_large_collectives, of_one_rank_a_process_ends_them_in_all) {
  for (int victim = 0; victim < 3; ++victim) {
    const outcome got = shell(formatted(
        "env WEFT_TRANSPORT=shm timeout 100 ./weftrun -n 3 --processes 3 --on-failure error --timeout 60 "
        "./test-survivors {} large",
        victim));
    EXPECT_EQ(count_of(got.text, " went on\n"), 2u) << got.text;
    EXPECT_EQ(got.text.find("survivors:"), std::string::npos) << got.text;
  }
}

TEST_P(a_death, ends_the_job_with_the_ranks_the_host_and_the_signal) {
  // The other processes end with ranks under way. AddressSanitizer would look for leaks even so, and
  // not on the stacks of ranks.
  started_job job("env ASAN_OPTIONS=detect_leaks=0 " + line("", 3));
  EXPECT_EQ(job.finish(), 137) << job.text();
  EXPECT_EQ(job.text(), formatted("weftrun: process 1 (ranks 2 to 3) on host {} was killed by "
                                  "signal 9 (Killed); the job ends\n",
                                  this_host()));
  EXPECT_EQ(job.left_behind(), "");
}

INSTANTIATE_TEST_SUITE_P(survival, a_death,
                         ::testing::Combine(::testing::Values("shm", "ofi:tcp"),
                                            ::testing::Values("messages", "waiting", "probing",
                                                              "exchanging", "leaving",
                                                              "collectives", "absent", "large")),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param)).substr(0, 3) + "_" +
                                  std::get<1>(one.param);
                         });

// --- Hosts -----------------------------------------------------------------------------------------

class a_host : public ::testing::TestWithParam<int> {
 protected:
  a_host() : all_(GetParam()) {}
  void SetUp() override {
    if (!all_.reachable()) GTEST_SKIP() << all_.why_not();
    if (!has_network()) GTEST_SKIP() << "built without libfabric";
  }
  // The "hosts" share the memory of this one, which would do otherwise.
  std::string line(const std::string& words) const {
    return formatted("timeout 280 ./weftrun {} --transport ofi:tcp {}", all_.words(), words);
  }
  // A program of the tests of ranks, with a process on each host.
  void expect_passes(const std::string& test) const {
    const outcome got =
        shell(formatted("env TEST_STARTED=1 TEST_PROCESSES={0} {1} --gtest_brief=1", GetParam(),
                        line(formatted("-n {0} --processes {0} ./{1}", GetParam(), test))));
    EXPECT_EQ(got.status, 0) << got.text;
    EXPECT_EQ(count_of(got.text, "[  PASSED  ]"), static_cast<std::size_t>(GetParam())) << got.text;
  }
  cabled_hosts all_;
};

TEST_P(a_host, of_several_takes_part_in_everything) {
  const outcome got = shell(line(formatted("-n {} ./test-survivors 0 none", 2 * GetParam())));
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_EQ(count_of(got.text, " went on\n"), 2u * static_cast<unsigned>(GetParam())) << got.text;
}

TEST_P(a_host, has_its_ranks_together_in_split_node) {
  const outcome got =
      shell(line(formatted("-n {0} --processes {0} ./test-survivors 0 nodes", 2 * GetParam())));
  EXPECT_EQ(got.status, 0) << got.text;
  for (int rank = 0; rank < 2 * GetParam(); ++rank)
    EXPECT_EQ(count_of(got.text, formatted("rank {} is one of 2 from {}\n", rank, rank / 2 * 2)),
              1u)
        << got.text;
}

TEST_P(a_host, without_a_network_from_the_start_is_named_with_the_remedy) {
  all_.turn_off(1);
  started_job job(line(formatted("-n {} ./test-survivors 0 none", GetParam())));
  EXPECT_EQ(job.finish(), 2) << job.text();
  EXPECT_NE(job.text().find("do not reach each other by "), std::string::npos) << job.text();
  EXPECT_NE(job.text().find(" on host " + all_.name(1)), std::string::npos) << job.text();
  EXPECT_NE(job.text().find("--transport ofi:PROVIDER@INTERFACE"), std::string::npos) << job.text();
  EXPECT_EQ(job.left_behind(), "");
}

TEST_P(a_host, to_which_packets_vanish_from_the_start_does_not_answer) {
  all_.swallow_to(1);
  const auto begin = std::chrono::steady_clock::now();
  started_job job(line(formatted("-n {} ./test-survivors 0 none", GetParam())));
  EXPECT_NE(job.finish(), 0) << job.text();
  EXPECT_NE(job.text().find("does not answer"), std::string::npos) << job.text();
  // The kernel's own attempts take 127 s; this machine may be slow.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_EQ(job.left_behind(), "");
}

// Nobody has died, and no connection is closed: there is no answer any more.
TEST_P(a_host, that_is_cut_off_ends_the_job_with_a_message) {
  started_job job(line(formatted("-n {} ./test-survivors 0 traffic", 2 * GetParam())));
  ASSERT_TRUE(job.wait_for("under way")) << job.text();
  all_.cut(1);
  EXPECT_NE(job.finish(), 0) << job.text();
  // Each side may have its word. The one that is cut off may be first, and these "hosts" see each
  // other's processes end.
  EXPECT_GE(count_of(job.text(), "does not answer") + count_of(job.text(), "its process has ended"),
            1u)
      << job.text();
  EXPECT_NE(job.text().find(" on host " + all_.name(1)), std::string::npos) << job.text();
  EXPECT_EQ(job.text().find("the test waited in vain"), std::string::npos) << job.text();
  EXPECT_EQ(job.left_behind(), "");
}

// Both sides go on by themselves.
TEST_P(a_host, that_is_cut_off_is_given_up_with_on_failure_error) {
  const int ranks = 2 * GetParam();
  started_job job(
      line(formatted("-n {} --on-failure error --timeout 80 ./test-survivors 2 cut", ranks)));
  ASSERT_TRUE(job.wait_for("under way")) << job.text();
  all_.cut(1);
  job.finish();
  EXPECT_EQ(count_of(job.text(), " went on\n"), static_cast<std::size_t>(ranks)) << job.text();
  EXPECT_NE(job.text().find("does not answer"), std::string::npos) << job.text();
  EXPECT_EQ(job.text().find("survivors:"), std::string::npos) << job.text();
  EXPECT_EQ(job.left_behind(), "");
}

// But for those that count in memory that the processes of one weftrun share, or know of one node.
TEST_P(a_host, of_several_passes_the_tests_of_messages) {
  expect_passes("message_test --gtest_filter=-*returns_only_after*");
}
TEST_P(a_host, of_several_passes_the_tests_of_requests) {
  expect_passes("request_test");
}
TEST_P(a_host, of_several_passes_the_tests_of_communicators) {
  expect_passes("communicator_test --gtest_filter=-split_node.*");
}
TEST_P(a_host, of_several_passes_the_tests_of_failures) {
  expect_passes("failure_test");
}

// --- Routes ----------------------------------------------------------------------------------------

TEST(a_route, of_processes_on_one_host_is_shared_memory_unless_another_is_asked_for) {
  for (const auto& [asked, taken] :
       {std::pair{"-u WEFT_TRANSPORT", "shm"}, std::pair{"WEFT_TRANSPORT=shm", "shm"},
        std::pair{"WEFT_TRANSPORT=ofi:tcp", "ofi"}}) {
    if (taken == std::string("ofi") && !has_network()) GTEST_SKIP() << "built without libfabric";
    const outcome got = shell(formatted(
        "env {} timeout 100 ./weftrun -n 2 --processes 2 ./test-survivors 0 nodes", asked));
    EXPECT_EQ(got.status, 0) << got.text;
    for (int rank = 0; rank < 2; ++rank)
      EXPECT_EQ(count_of(got.text,
                         formatted("rank {} reaches process {} by {}\n", rank, 1 - rank, taken)),
                1u)
          << asked << ": " << got.text;
  }
}

TEST(a_route, over_a_provider_that_is_not_there_is_refused) {
  if (!has_network()) GTEST_SKIP() << "built without libfabric";
  const outcome got = shell(
      "WEFT_TRANSPORT=ofi:nowhere timeout 100 ./weftrun -n 2 --processes 2 ./test-survivors 0 none");
  EXPECT_EQ(got.status, 2) << got.text;
  EXPECT_NE(got.text.find("nowhere"), std::string::npos) << got.text;
  EXPECT_EQ(got.text.find(" went on\n"), std::string::npos) << got.text;
}

// --- Nodes of several processes ----------------------------------------------------------------------

// "Hosts" that are namespaces of process numbers: their processes cannot map each other's memory, so
// that two of one node meet over shm and those of different ones over the network.
class nodes_of_two : public ::testing::Test {
 protected:
  void SetUp() override {
    if (shell("unshare -pf --mount-proc true").status != 0)
      GTEST_SKIP() << "namespaces cannot be made here";
    if (!has_network()) GTEST_SKIP() << "built without libfabric";
    const std::string file = directory_.path() + "/enter";
    ASSERT_EQ(
        shell(formatted("printf '#!/bin/sh\\nshift\\nexec unshare -pf --mount-proc \"$@\"\\n' > "
                        "{0}; chmod +x {0}",
                        file))
            .status,
        0);
  }
  std::string line(const std::string& words) const {
    return formatted(
        "timeout 100 ./weftrun --rsh {}/enter --hosts left,right -n 8 --processes 4 "
        "--timeout 90 {}",
        directory_.path(), words);
  }

 private:
  empty_directory directory_;
};

TEST_F(nodes_of_two, take_shared_memory_within_and_the_network_between) {
  const outcome got = shell(line("./test-survivors 0 nodes"));
  EXPECT_EQ(got.status, 0) << got.text;
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(count_of(got.text, formatted("rank {} is one of 4 from {}\n", rank, rank / 4 * 4)),
              1u)
        << got.text;
    EXPECT_EQ(count_of(got.text, formatted("rank {} went on\n", rank)), 1u) << got.text;
    for (int other = 0; other < 4; ++other)
      EXPECT_EQ(count_of(got.text, formatted("rank {} reaches process {} by {}\n", rank, other,
                                             other / 2 == rank / 4 ? "shm" : "ofi")),
                other == rank / 2 ? 0u : 1u)
          << got.text;
  }
}

// But the one that counts in memory that the processes of one test share.
TEST_F(nodes_of_two, take_part_in_collectives_of_all_kinds) {
  const outcome got = shell("env TEST_STARTED=1 TEST_PROCESSES=4 " +
                            line("./collective_test --gtest_brief=1 --gtest_filter=-*a_barrier*"));
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_EQ(count_of(got.text, "[  PASSED  ]"), 4u) << got.text;
}

TEST_F(nodes_of_two, go_on_without_a_process_that_dies) {
  for (const char* mode : {"messages", "waiting", "probing", "exchanging", "leaving", "collectives",
                           "absent", "large"}) {
    const outcome got = shell(line(formatted("--on-failure error ./test-survivors 5 {}", mode)));
    EXPECT_EQ(count_of(got.text, " went on\n"), 6u) << mode << ": " << got.text;
    EXPECT_EQ(got.text.find("survivors:"), std::string::npos) << got.text;
  }
}

INSTANTIATE_TEST_SUITE_P(survival, a_host, ::testing::Values(3),
                         [](const auto& one) { return "of_" + std::to_string(one.param); });

}  // namespace
}  // namespace weft
