// The communication core between processes of their own, as weftrun starts them.
#include <gtest/gtest.h>

#include <string>

#include "unit/shell.hpp"

namespace weft {
namespace {

TEST(comm_processes, every_primitive_and_object_works_between_processes_over_shared_memory) {
  for (const char* const count : {"1", "2", "3"}) {
    const outcome got = shell(std::string("WEFT_TRANSPORT=shm timeout 100 ./weftrun --processes ") +
                              count + " ./test-comm_exchange");
    EXPECT_EQ(got.status, 0) << got.text;
    EXPECT_NE(got.text.find(std::string(count) + " processes over shm: all right"),
              std::string::npos)
        << got.text;
  }
}

TEST(comm_processes, every_primitive_and_object_works_between_processes_over_tcp) {
  const outcome got =
      shell("WEFT_TRANSPORT=ofi:tcp timeout 100 ./weftrun --processes 2 ./test-comm_exchange");
  if (got.text.find("without libfabric") != std::string::npos)
    GTEST_SKIP() << "built without libfabric";
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_NE(got.text.find("2 processes over ofi: all right"), std::string::npos) << got.text;
}

TEST(comm_processes, a_killed_process_is_noticed_and_the_others_go_on) {
  for (const char* const transport : {"shm", "ofi:tcp"}) {
    const outcome got = shell(std::string("WEFT_TRANSPORT=") + transport +
                              " timeout 60 ./weftrun --on-failure error --processes 3 "
                              "./test-comm_exchange die 1");
    if (got.text.find("without libfabric") != std::string::npos) continue;
    EXPECT_NE(got.text.find("the living went on"), std::string::npos) << got.text;
  }
}

// A process, not only its rings: with packets, buffers and the library itself.
TEST(comm_processes, one_with_sixteen_peers_has_less_than_64_mebibytes) {
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
