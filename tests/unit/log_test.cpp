#include "base/log.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(log, every_line_gets_the_prefix_and_an_end) {
  ::testing::internal::CaptureStderr();
  log_line("rank {} of {}", 3, 4);
  log_text("one\ntwo\n");
  log_text("");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "weft: rank 3 of 4\nweft: one\nweft: two\nweft: \n");
}

}  // namespace
}  // namespace weft
