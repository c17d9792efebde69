// The communication core between processes of their own, as weftrun starts them.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "base/format.hpp"
#include "multi/started_job.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

using job = std::tuple<const char*, int>;  // Transport, processes.

class between_processes : public ::testing::TestWithParam<job> {
 protected:
  void SetUp() override {
    if (which() != "shm" && !has_network()) GTEST_SKIP() << "built without libfabric";
  }
  static std::string which() { return std::get<0>(GetParam()); }
  static void expect_all_right(const std::string& program) {
    const int count = std::get<1>(GetParam());
    const outcome got = shell(formatted("WEFT_TRANSPORT={} timeout 200 ./weftrun --processes {} {}",
                                        which(), count, program));
    EXPECT_EQ(got.status, 0) << got.text;
    const std::string line =
        formatted("{} processes over {}: all right", count, which().substr(0, 3));
    EXPECT_NE(got.text.find(line), std::string::npos) << got.text;
  }
};

TEST_P(between_processes, every_primitive_works_with_every_object_at_either_side) {
  expect_all_right("./test-comm_exchange");
}
TEST_P(between_processes, lists_packets_matching_devices_and_collectives_work) {
  expect_all_right("./test-comm_ways");
}
TEST_P(between_processes, runtimes_that_find_the_job_themselves_share_it) {
  expect_all_right("./test-comm_runtimes");
}

INSTANTIATE_TEST_SUITE_P(comm_processes, between_processes,
                         ::testing::Values(job{"shm", 1}, job{"shm", 2}, job{"shm", 3},
                                           job{"shm", 4}, job{"ofi:tcp", 2}, job{"ofi:tcp", 4}),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param)).substr(0, 3) + "_" +
                                  std::to_string(std::get<1>(one.param));
                         });

TEST(comm_processes, a_killed_process_is_noticed_and_the_others_go_on) {
  for (const char* const transport : {"shm", "ofi:tcp"}) {
    const outcome got = shell(std::string("WEFT_TRANSPORT=") + transport +
                              " timeout 60 ./weftrun --on-failure error --processes 3 "
                              "./test-comm_exchange die 1");
    if (got.text.find("without libfabric") != std::string::npos) continue;
    EXPECT_NE(got.text.find("the living went on"), std::string::npos) << got.text;
  }
}

TEST(comm_processes, each_runtime_of_a_process_hears_of_a_death) {
  const outcome got = shell(
      "WEFT_TRANSPORT=shm timeout 60 ./weftrun --on-failure error --processes 3 "
      "./test-comm_runtimes die 1");
  EXPECT_NE(got.text.find("both heard of it"), std::string::npos) << got.text;
}

// A process, not only its rings: with packets, buffers and the library itself.
TEST(comm_processes, one_with_sixteen_peers_has_less_than_64_mebibytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is more than that";
#endif
  const outcome got =
      shell("WEFT_TRANSPORT=shm timeout 200 ./weftrun --processes 17 ./test-comm_memory");
  EXPECT_EQ(got.status, 0) << got.text;
  int processes = 0;
  for (std::size_t at = 0; (at = got.text.find(" has ", at)) != std::string::npos; ++processes) {
    at += 5;
    const long kib = std::stol(got.text.substr(at));
    EXPECT_LT(kib, 64 * 1024);
    EXPECT_GT(kib, 4 * 1024) << "the rings alone have more";
  }
  EXPECT_EQ(processes, 17) << got.text;
}

}  // namespace
}  // namespace weft
