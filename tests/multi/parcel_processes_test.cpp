// Parcels between processes that weftrun has started: what is told when one dies, and when they run programs with
// different actions.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "multi/started_job.hpp"
#include "parcel/port.hpp"
#include "transport/mpi/mpi.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

class parcels_over : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) != "shm" && !has_network())
      GTEST_SKIP() << "built without libfabric";
  }
  static std::string line(const std::string& words) {
    return formatted("env WEFT_TRANSPORT={} timeout 100 ./weftrun --timeout 60 {}", GetParam(),
                     words);
  }
};

TEST_P(parcels_over, every_call_of_a_locality_that_dies_gets_an_error_and_the_others_go_on) {
  const outcome got = shell(line("--processes 3 --on-failure error ./test-parcels death"));
  EXPECT_NE(got.text.find("5 calls failed; locality 2 says 1"), std::string::npos) << got.text;
  EXPECT_NE(got.text.find("locality 1 has died"), std::string::npos) << got.text;
}

TEST_P(parcels_over, different_actions_end_the_job_with_both_names) {
  const outcome got = shell(line(
      "-n 1 ./test-parcels mismatch : -n 1 env TEST_ODD_ACTION=another_action ./test-parcels mismatch"));
  EXPECT_NE(got.status, 0) << got.text;
  EXPECT_NE(got.text.find(
                "\"another_action\" is in process 1 alone, \"an_action\" is in process 0 alone"),
            std::string::npos)
      << got.text;
}

// Their numbers and names are the same, so an int would be taken for a float.
TEST_P(parcels_over, an_action_of_other_types_ends_the_job_with_both) {
  const std::string odd = "env TEST_ODD_TYPES=FfdE ./test-parcels mismatch";
  const std::string even = "./test-parcels mismatch";
  const struct {
    std::string programs, said;
  } jobs[] = {
      {formatted("-n 1 {} : -n 1 {}", even, odd),
       "the action an_action is of type \"float (double)\" in process 1 and \"int (int)\" in process 0: "
       "build the programs of all processes from one declaration of it"},
      // Process 0 has none to compare.
      {formatted("--workers 1 -n 1 ./test-job greet : -n 1 {} : -n 1 {}", even, even), ""},
      {formatted("--workers 1 -n 1 ./test-job greet : -n 1 {} : -n 1 {}", even, odd),
       "the action an_action is of type "},
  };
  // A program without parcels takes none, and what the others compare does not come to it.
  const outcome none =
      shell(line(formatted("--workers 1 -n 1 {} : -n 1 ./test-job greet 2>&1", even)));
  EXPECT_NE(none.status, 0) << none.text;
  EXPECT_NE(none.text.find("async of locality 1: its program has no parcels"), std::string::npos)
      << none.text;
  for (const auto& [programs, said] : jobs) {
    const outcome got = shell(line(programs) + " 2>&1");
    EXPECT_EQ(got.status == 0, said.empty()) << programs << got.text;
    EXPECT_NE(got.text.find(said), std::string::npos) << programs << got.text;
    EXPECT_EQ(got.text.find("refused"), std::string::npos) << programs << got.text;
  }
}

TEST_P(parcels_over, a_fault_in_an_action_names_the_action) {
  for (const char* const mode : {"crash", "crash-here"}) {
    const outcome got = shell(line(formatted("--processes 2 ./test-parcels {} 2>&1", mode)));
    EXPECT_NE(got.status, 0) << got.text;
    EXPECT_NE(got.text.find("the action (anonymous namespace)::write_nowhere on worker"),
              std::string::npos)
        << got.text;
    EXPECT_EQ(got.text.find("rank -1"), std::string::npos) << got.text;
  }
}

// The list of the first one's actions is longer than what is sent at once.
TEST(parcels, names_of_different_actions_may_be_long) {
  for (const char* const port : {"lci_i", "lci_psr_cq_mt_i", "lci_sr_sy_pin_i"}) {
    const outcome got = shell(formatted(
        "timeout 100 ./weftrun --timeout 60 --parcelport {} -n 1 env "
        "TEST_ODD_ACTION=a$(head -c 100000 /dev/zero | tr '\\0' a) ./test-parcels mismatch : "
        "-n 1 ./test-parcels mismatch 2>&1",
        port));
    EXPECT_NE(got.status, 0) << port;
    EXPECT_NE(got.text.find("\"an_action\" is in process 1 alone, \"aaaaaaaaaa"), std::string::npos)
        << port << ": " << got.text.substr(0, 1000);
  }
}

// Without a limit the receiver grew by 121 MiB: it takes all that comes, and begins none of it.
TEST(parcels, a_million_that_nobody_runs_take_little_memory) {
  for (const std::string port : {"lci_i", "lci", "tcp"}) {
    if (port == "tcp" && !detail::tcp_parcelport.knows(port)) continue;
    const outcome got = shell(formatted(
        "timeout 100 ./weftrun --timeout 90 --processes 2 --parcelport {} ./test-parcels flood",
        port));
    const std::size_t at = got.text.find("memory grew by ");
    ASSERT_NE(at, std::string::npos) << got.text;
    EXPECT_LT(std::stol(got.text.substr(at + 15)), 50) << got.text;
  }
}

TEST(parcels, a_parcelport_that_there_is_not_is_refused_in_one_line_that_lists_all) {
  const outcome got =
      shell("./weftrun --processes 2 --parcelport lci_sr_qc_pin ./test-parcels flood 2>&1");
  EXPECT_EQ(got.status, 2);
  EXPECT_NE(got.text.find("lci_P_C_M"), std::string::npos) << got.text;
  EXPECT_EQ(std::ranges::count(got.text, '\n'), 1) << got.text;
}

// By the launcher of that MPI, which weftrun becomes.
TEST(parcels, weftrun_starts_a_job_whose_parcels_go_over_an_mpi) {
  const std::vector<std::string> plugins = mpi_plugins();
  if (plugins.empty()) GTEST_SKIP() << "built without an MPI";
  for (const std::string& mpi : plugins) {
    const outcome got = shell(formatted(
        "timeout 100 ./weftrun --timeout 90 --processes 2 --parcelport mpi_i:{} ./test-parcels flood 2>&1",
        mpi));
    EXPECT_EQ(got.status, 0) << got.text;
    EXPECT_NE(got.text.find("1000000 parcels taken"), std::string::npos) << got.text;
  }
  const outcome refused =
      shell("./weftrun --processes 2 --parcelport mpi:none ./test-parcels flood 2>&1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.text.find("mpi:none needs weft's plug-in"), std::string::npos) << refused.text;
}

// It would wait for the answer for ever.
TEST(parcels, what_an_mpi_does_not_take_fails_the_job_and_says_so) {
  for (const std::string& mpi : mpi_plugins()) {
    const outcome got = shell(formatted(
        "timeout 100 ./weftrun --timeout 60 --processes 2 --parcelport mpi_i:{} ./test-parcels refused-post 2>&1",
        mpi));
    EXPECT_NE(got.status, 0) << got.text;
    EXPECT_NE(got.text.find("could not send 50000 bytes of a parcel"), std::string::npos)
        << got.text;
  }
}

TEST(parcels, a_locality_that_dies_is_met_by_every_kind_of_port) {
  for (const char* const port : {"lci", "lci_psr_cq_mt_i", "lci_sr_sy_pin"}) {
    const outcome got = shell(formatted(
        "timeout 100 ./weftrun --timeout 60 --processes 3 --on-failure error --parcelport {} ./test-parcels death",
        port));
    EXPECT_NE(got.text.find("5 calls failed; locality 2 says 1"), std::string::npos)
        << port << ": " << got.text;
  }
}

TEST(parcels, a_locality_that_dies_in_the_middle_leaves_no_call_without_an_end) {
  for (const std::string port : {"lci_i", "lci", "lci_psr_cq_mt_i", "lci_sr_sy_pin", "tcp_i"}) {
    if (port == "tcp_i" && !detail::tcp_parcelport.knows("tcp")) continue;
    const outcome got = shell(formatted(
        "timeout 100 ./weftrun --timeout 60 --processes 3 --on-failure error --parcelport {} ./test-parcels death-in-traffic",
        port));
    EXPECT_NE(got.text.find("some calls failed, 0 came wrong; locality 2 says 1"),
              std::string::npos)
        << port << ": " << got.text;
  }
}

TEST(parcels, a_failure_ends_the_job_with_chunks_under_way_that_nobody_takes) {
  for (const std::string port : {"lci_i", "lci_psr_cq_mt_i", "lci_sr_sy_mt", "tcp_i"}) {
    if (port == "tcp_i" && !detail::tcp_parcelport.knows("tcp")) continue;
    const outcome got = shell(formatted(
        "timeout 100 ./weftrun --timeout 60 --processes 2 --parcelport {} ./test-parcels failure-in-traffic 2>&1",
        port));
    EXPECT_EQ(got.status, 1) << port << ": " << got.text;
    EXPECT_NE(got.text.find("it broke (posted by locality 0)"), std::string::npos) << got.text;
    EXPECT_EQ(got.text.find("does not end"), std::string::npos) << port << ": " << got.text;
  }
}

// Over a port with a network of its own, which hears of deaths by itself, too.
TEST(parcels_over_tcp,
     every_call_of_a_locality_that_dies_gets_an_error_and_different_actions_are_told) {
  if (!detail::tcp_parcelport.knows("tcp")) GTEST_SKIP() << "built without Boost.Asio";
  const std::string start = "timeout 100 ./weftrun --timeout 60 --parcelport tcp ";
  const outcome death = shell(start + "--processes 3 --on-failure error ./test-parcels death");
  EXPECT_NE(death.text.find("5 calls failed; locality 2 says 1"), std::string::npos) << death.text;
  EXPECT_NE(death.text.find("locality 1 has died"), std::string::npos) << death.text;
  const outcome mismatch = shell(
      start +
      "-n 1 ./test-parcels mismatch : -n 1 env TEST_ODD_ACTION=another_action ./test-parcels mismatch");
  EXPECT_NE(mismatch.status, 0) << mismatch.text;
  EXPECT_NE(
      mismatch.text.find("\"another_action\" is in process 1 alone, \"an_action\" is in process 0"),
      std::string::npos)
      << mismatch.text;
}

INSTANTIATE_TEST_SUITE_P(transports, parcels_over, ::testing::Values("shm", "ofi:tcp"),
                         [](const auto& tried) { return std::string(tried.param).substr(0, 3); });

}  // namespace
}  // namespace weft
