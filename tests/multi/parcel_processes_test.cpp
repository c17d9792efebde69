// Parcels between processes that weftrun has started: what is told when one dies, and when they run programs with
// different actions.
#include <gtest/gtest.h>

#include <string>

#include "base/format.hpp"
#include "multi/started_job.hpp"
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
  EXPECT_NE(got.text.find("number 0 is \"another_action\" here and \"an_action\" there"),
            std::string::npos)
      << got.text;
}

INSTANTIATE_TEST_SUITE_P(transports, parcels_over, ::testing::Values("shm", "ofi:tcp"),
                         [](const auto& tried) { return std::string(tried.param).substr(0, 3); });

}  // namespace
}  // namespace weft
