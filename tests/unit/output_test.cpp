#include "base/output.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <iostream>
#include <string>

namespace weft {
namespace {

int rank_now = -1;
int current_rank() noexcept {
  return rank_now;
}

void as_rank(int rank, auto&& body) {
  rank_now = rank;
  body();
  rank_now = -1;
}

// What arrives at the file descriptors while `body` runs with tags.
template <class Body>
std::pair<std::string, std::string> tagged(const Body& body) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  {
    const line_output tags(&current_rank, line_style::tagged);
    body();
  }
  std::string out = ::testing::internal::GetCapturedStdout();
  return {out, ::testing::internal::GetCapturedStderr()};
}

TEST(line_output, every_line_begins_with_its_rank) {
  const auto [out, err] = tagged([] {
    as_rank(0, [] { std::printf("a %d\nb\n", 1); });
    as_rank(12, [] { std::puts("c"); });
  });
  EXPECT_EQ(out, "[0] a 1\n[0] b\n[12] c\n");
  EXPECT_EQ(err, "");
}

TEST(line_output, lines_that_ranks_write_in_pieces_do_not_mix) {
  const auto [out, err] = tagged([] {
    as_rank(0, [] { std::printf("one "); });
    as_rank(1, [] { std::printf("eins "); });
    as_rank(0, [] { std::printf("two\n"); });
    as_rank(1, [] { std::printf("zwei\n"); });
  });
  EXPECT_EQ(out, "[0] one two\n[1] eins zwei\n");
}

TEST(line_output, streams_of_cpp_are_tagged_as_those_of_c) {
  const auto [out, err] = tagged([] {
    as_rank(3, [] {
      std::cout << "x = " << 1.5 << std::endl;
      std::cerr << "warning " << 2 << '\n';
      std::clog << "note\n";
      std::fputs("error\n", stderr);
    });
  });
  EXPECT_EQ(out, "[3] x = 1.5\n");
  EXPECT_EQ(err, "[3] warning 2\n[3] note\n[3] error\n");
}

TEST(line_output, a_line_that_was_begun_is_ended) {
  EXPECT_EQ(tagged([] { as_rank(2, [] { std::printf("no end"); }); }).first, "[2] no end\n");
}

TEST(line_output, text_of_no_rank_passes_unchanged) {
  EXPECT_EQ(tagged([] { std::printf("from main\n"); }).first, "from main\n");
}

TEST(line_output, two_at_once_tag_once_and_the_last_restores) {
  std::FILE* const before = stdout;
  const auto [out, err] = tagged([] {
    const line_output again(&current_rank, line_style::tagged);
    as_rank(1, [] { std::puts("x"); });
  });
  EXPECT_EQ(out, "[1] x\n");
  EXPECT_EQ(stdout, before);
}

}  // namespace
}  // namespace weft
