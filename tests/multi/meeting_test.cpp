// Jobs that were joined: what each is told of the end of the other, jobs on several hosts, and jobs that cannot meet.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

#include "base/format.hpp"
#include "multi/started_job.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

constexpr const char* program = "./conformance/weft-meetings";

bool has_program() {
  return shell(formatted("test -x {}", program)).status == 0;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

class an_end : public ::testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {
 protected:
  void SetUp() override {
    if (!has_program()) GTEST_SKIP() << "built without the conformance programs";
    if (std::string(std::get<0>(GetParam())) != "shm" && !has_network())
      GTEST_SKIP() << "built without libfabric";
  }
};

TEST_P(an_end, of_a_job_is_told_to_the_one_that_it_was_joined_with) {
  const auto [transport, ranks, what] = GetParam();
  started_job job(formatted("env WEFT_TRANSPORT={} ./weftrun {} --timeout 60 {} '{}'", transport,
                            ranks, program, what));
  const int status = job.finish();
  EXPECT_NE(status, 0) << job.text();
  EXPECT_NE(status, 124) << "it waited for ever\n" << job.text();
  EXPECT_TRUE(has(job.text(), "both are there")) << job.text();
  // The launcher of the parent passes on nothing that comes after its end.
  const bool is_passed_on = std::string(what) != "parent aborts";
  EXPECT_TRUE(!is_passed_on ||
              has(job.text(), "a process of a job that this one was joined with has died"))
      << job.text();
  EXPECT_EQ(job.left_behind(), "");
}

INSTANTIATE_TEST_SUITE_P(meeting, an_end,
                         ::testing::Combine(::testing::Values("shm", "ofi:tcp"),
                                            ::testing::Values("-n 1", "-n 4 --processes 2"),
                                            ::testing::Values("parent aborts", "child aborts",
                                                              "child is killed")),
                         [](const auto& one) {
                           std::string name = std::string(std::get<0>(one.param)) +
                                              std::get<1>(one.param) + "_" + std::get<2>(one.param);
                           std::erase_if(name, [](char c) { return c == '-' || c == ':'; });
                           for (char& c : name)
                             if (c == ' ') c = '_';
                           return name;
                         });

// Two jobs that meet by a published name; what both have printed.
struct both_jobs {
  std::string accepts, connects;
};
both_jobs met(const std::string& accepting, const std::string& connecting,
              const std::string& how = "accepts") {
  const empty_directory names;
  started_job one(
      formatted("env WEFT_NAMES={} {} {} '{}' 'a name'", names.path(), accepting, program, how));
  started_job other(
      formatted("env WEFT_NAMES={} {} {} connects 'a name'", names.path(), connecting, program));
  (void)other.finish();
  // Where the other could not connect, it waits on.
  if (has(other.text(), "connects and meets") || has(other.text(), "start both"))
    (void)one.finish();
  else
    one.signal(SIGTERM);
  return {one.text(), other.text()};
}

TEST(jobs, meet_by_a_published_name) {
  if (!has_program()) GTEST_SKIP() << "built without the conformance programs";
  const both_jobs told = met("./weftrun -n 2", "./weftrun -n 3 --processes 2");
  EXPECT_TRUE(has(told.accepts, "accepts and meets 9")) << told.accepts;
  EXPECT_TRUE(has(told.connects, "connects and meets 4")) << told.connects;
  // MPI_Intercomm_create over that communicator.
  EXPECT_TRUE(has(told.accepts, "accepts and meets 9 again")) << told.accepts;
  EXPECT_TRUE(has(told.connects, "connects and meets 4 again")) << told.connects;
}

TEST(jobs, on_one_host_meet_at_an_address_of_it_although_no_network_can_be_used) {
  if (!has_program()) GTEST_SKIP() << "built without the conformance programs";
  const both_jobs told =
      met("env FI_PROVIDER=none_of_them ./weftrun -n 2 --timeout 60",
          "env FI_PROVIDER=none_of_them ./weftrun -n 1 --timeout 60", "accepts at 127.0.0.2");
  EXPECT_TRUE(has(told.accepts, "127.0.0.2 and meets 1 again")) << told.accepts;
  EXPECT_TRUE(has(told.connects, "connects and meets 4")) << told.connects;
}

TEST(jobs, of_other_transports_are_told_so_on_both_sides) {
  if (!has_program() || !has_network()) GTEST_SKIP() << "built without libfabric";
  const both_jobs told = met("env WEFT_TRANSPORT=ofi:tcp ./weftrun -n 1 --timeout 60",
                             "env WEFT_TRANSPORT=shm ./weftrun -n 2 --timeout 60");
  const std::string remedy = "start both with the same --transport (WEFT_TRANSPORT)";
  EXPECT_TRUE(has(told.accepts, remedy)) << told.accepts;
  EXPECT_TRUE(has(told.connects, remedy)) << told.connects;
  EXPECT_TRUE(has(told.connects, "shm and ofi")) << told.connects;
}

TEST(jobs, of_which_one_alone_authenticates_are_told_so_on_both_sides) {
  if (!has_program() || !has_network()) GTEST_SKIP() << "built without libfabric";
  const both_jobs told =
      met("env WEFT_TRANSPORT=ofi:tcp WEFT_SECURE=off ./weftrun -n 1 --timeout 60",
          "env WEFT_TRANSPORT=ofi:tcp WEFT_SECURE=encrypt ./weftrun -n 1 --timeout 60");
  for (const std::string& text : {told.accepts, told.connects})
    EXPECT_TRUE(has(text, "start both with the same --secure (WEFT_SECURE)")) << text;
}

class on_two_hosts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_program()) GTEST_SKIP() << "built without the conformance programs";
    if (!has_network()) GTEST_SKIP() << "built without libfabric";
    if (!hosts_.reachable()) GTEST_SKIP() << hosts_.why_not();
  }
  [[nodiscard]] std::string job_on(int host, const std::string& transport) const {
    return formatted(
        "env WEFT_TRANSPORT={} ./weftrun --rsh 'ip netns exec' --hosts {} -n 2 --timeout 60",
        transport, hosts_.name(host));
  }
  [[nodiscard]] std::string network_of(int host) const {
    std::string text =
        shell(formatted("ip netns exec {} readlink /proc/self/ns/net", hosts_.name(host))).text;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

  cabled_hosts hosts_;
};

TEST_F(on_two_hosts, jobs_over_a_network_meet) {
  const both_jobs told = met(job_on(0, "ofi:tcp"), job_on(1, "ofi:tcp"));
  EXPECT_TRUE(has(told.accepts, "accepts and meets 4 again")) << told.accepts;
  EXPECT_TRUE(has(told.connects, "connects and meets 4 again")) << told.connects;
}

// The other host has process numbers of its own: without these, both would share memory.
TEST_F(on_two_hosts, jobs_meet_of_which_the_leaders_alone_share_a_host) {
  if (shell("unshare --pid --fork true").status != 0)
    GTEST_SKIP() << "no PID namespace can be made";
  const empty_directory directory;
  const std::string rsh = directory.path() + "/rsh";
  std::ofstream(rsh) << formatted(
      "#!/bin/sh\nhost=$1; shift\n[ $host = {} ] && set -- unshare --pid --fork --kill-child \"$@\"\n"
      "exec ip netns exec $host \"$@\"\n",
      hosts_.name(1));
  std::filesystem::permissions(rsh, std::filesystem::perms::owner_all);
  const auto job = [&](const std::string& hosts, int ranks) {
    return formatted("./weftrun --rsh {} --hosts {} -n {} --timeout 60", rsh, hosts, ranks);
  };
  const both_jobs told = met(job(hosts_.name(0) + "," + hosts_.name(1), 2), job(hosts_.name(0), 1));
  EXPECT_TRUE(has(told.accepts, "accepts and meets 1 again")) << told.accepts;
  EXPECT_TRUE(has(told.connects, "connects and meets 4 again")) << told.connects;
}

TEST_F(on_two_hosts, a_job_without_a_network_says_what_lets_others_in) {
  const both_jobs told = met(job_on(0, "shm"), job_on(1, "shm"));
  EXPECT_TRUE(has(told.connects, "takes connections of its own host")) << told.connects;
  EXPECT_TRUE(has(told.connects, "--transport ofi")) << told.connects;
}

TEST_F(on_two_hosts, children_are_started_where_the_info_key_says) {
  for (const int host : {0, 1}) {
    const outcome got = shell(formatted(
        "env WEFT_TRANSPORT=ofi:tcp timeout 100 ./weftrun {} -n 2 --timeout 60 {} 'spawns on' {}",
        hosts_.words(), program, hosts_.name(host)));
    EXPECT_EQ(got.status, 0) << got.text;
    EXPECT_TRUE(has(got.text, formatted("children: 20 in network {}", network_of(host))))
        << got.text << network_of(host);
  }
}

// Memory of a dead rank that a network leads to.
TEST(windows, of_ranks_that_die_end_with_the_error_of_a_dead_process) {
  if (shell("test -x ./conformance/weft-windows_failing").status != 0 || !has_network())
    GTEST_SKIP() << "built without the conformance programs, or without libfabric";
  const outcome got = shell(
      "env WEFT_TRANSPORT=ofi:tcp timeout 100 ./weftrun --on-failure error -n 4 --ranks-per-process 1 --timeout 60 "
      "./conformance/weft-windows_failing network");
  EXPECT_TRUE(has(got.text, "right\n")) << got.text;
}

}  // namespace
}  // namespace weft
