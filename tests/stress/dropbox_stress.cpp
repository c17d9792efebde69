#include "sync/dropbox.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "stress/stress.hpp"

namespace weft {
namespace {

TEST(dropbox_stress, every_reader_gets_every_value_in_order) {
  struct content {
    std::uint64_t number;
    std::uint64_t check;
  };
  const stress::run run;
  dropbox<content, 4> box(3);
  std::atomic<std::uint64_t> end{~std::uint64_t{0}};
  const auto writer = [&] {
    std::uint64_t written = 0;
    while (run.time_left())
      if (box.try_put({written, ~written}))
        ++written;
      else
        std::this_thread::yield();
    end = written;
  };
  const auto reader = [&] {
    dropbox<content, 4>::reader mine(box);
    for (std::uint64_t taken = 0; taken < end;) {
      const content* got = mine.peek();
      if (got == nullptr) {
        std::this_thread::yield();
        continue;
      }
      EXPECT_EQ(got->number, taken);
      EXPECT_EQ(got->check, ~taken);
      mine.done();
      ++taken;
    }
    EXPECT_EQ(mine.peek(), nullptr);
  };
  stress::run::together({writer, reader, reader, reader});
  EXPECT_GT(end, 0u);
}

}  // namespace
}  // namespace weft
