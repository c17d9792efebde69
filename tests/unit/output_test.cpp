#include "base/output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cwchar>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "base/limits.hpp"

namespace weft {
namespace {

thread_local int rank_now = -1;
int current_rank() noexcept {
  return rank_now;
}

void as_rank(int rank, auto&& body) {
  rank_now = rank;
  body();
  rank_now = -1;
}

// What arrives at the file descriptors.
template <class Body>
std::pair<std::string, std::string> written(const Body& body) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  body();
  std::string out = ::testing::internal::GetCapturedStdout();
  return {out, ::testing::internal::GetCapturedStderr()};
}
template <class Body>
std::pair<std::string, std::string> written(line_style style, const Body& body) {
  return written([&] {
    const line_output lines(&current_rank, style);
    body();
  });
}
template <class Body>
std::pair<std::string, std::string> tagged(const Body& body) {
  return written(line_style::tagged, body);
}
template <class Body>
std::pair<std::string, std::string> plain(const Body& body) {
  return written(line_style::plain, body);
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

TEST(line_output, the_program_goes_on_with_the_line_that_the_ranks_have_left_open) {
  const auto [out, err] = written([] {
    std::printf("before, ");
    {
      const line_output lines(&current_rank, line_style::plain);
      as_rank(0, [] { std::printf("one"); });
      as_rank(1, [] { std::printf("two"); });
    }
    std::printf(", after\n");
  });
  EXPECT_EQ(out, "before, one\ntwo, after\n");
}

TEST(line_output, what_cout_has_flushed_and_what_is_written_over_does_not_wait_for_the_end) {
  const auto [out, err] = plain([] {
    as_rank(0, [] {
      std::cout << "a number? " << std::flush;
      std::fputs("\r50 %", stderr);
      std::cerr << "at once, ";
    });
    as_rank(1, [] {
      std::puts("one");
      std::fputs("eins\n", stderr);
    });
  });
  EXPECT_EQ(out, "a number? one\n");
  EXPECT_EQ(err, "\r50 %at once, eins\n");
}

TEST(line_output, a_line_without_an_end_is_kept_up_to_a_limit) {
  const std::string part(output_line_bytes_max / 4, 'x');
  const auto [out, err] = plain([&] {
    as_rank(0, [&] {
      for (int i = 0; i < 5; ++i) std::fputs(part.c_str(), stdout);
    });
    as_rank(1, [] { std::puts("one"); });
  });
  EXPECT_EQ(out.size(), 5 * part.size() + 4);
  EXPECT_TRUE(out.ends_with("xone\n"));
}

TEST(line_output, streams_that_the_program_has_replaced_are_left_alone) {
  std::ostringstream kept;
  std::streambuf* const before = std::cout.rdbuf(kept.rdbuf());
  const auto [out, err] = plain([] { as_rank(0, [] { std::cout << "no end"; }); });
  std::cout.rdbuf(before);
  EXPECT_EQ(kept.str(), "no end");
  EXPECT_EQ(out, "");
}

TEST(line_output, streams_of_c_say_which_descriptor_they_write_to) {
  (void)plain([] {
    as_rank(0, [] {
      EXPECT_EQ(::fileno(stdout), 1);
      EXPECT_EQ(::fileno(stderr), 2);
    });
  });
}

TEST(line_output, a_rank_may_close_its_stream) {
  const auto closed = [] {
    as_rank(0, [] {
      std::puts("x");
      std::fclose(stdout);
    });
  };
  for (int again = 0; again < 2; ++again) EXPECT_EQ(plain(closed).first, "x\n");
}

TEST(line_output, others_write_on_when_a_rank_has_closed_its_stream) {
  const auto [out, err] = plain([] {
    for (int rank = 0; rank < 3; ++rank)
      as_rank(rank, [] {
        std::puts("x");
        EXPECT_EQ(std::fclose(stdout), 0);
      });
  });
  EXPECT_EQ(out, "x\nx\nx\n");
}

TEST(line_output, standard_error_waits_for_the_ends_of_lines_on_request) {
  const auto [out, err] = written(line_style::whole, [] {
    as_rank(0, [] {
      std::fputs("one ", stderr);
      std::cerr << "two " << std::flush;
    });
    as_rank(1, [] { std::cerr << "eins" << '\n'; });
    as_rank(0, [] { std::fputs("three\n", stderr); });
  });
  EXPECT_EQ(err, "eins\none two three\n");
}

TEST(line_output, a_buffer_that_a_rank_has_set_ends_with_the_job) {
  static char buffer[64];
  const auto [out, err] = written([] {
    {
      const line_output lines(&current_rank, line_style::plain);
      as_rank(0, [] {
        std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
        std::printf("late\n");
      });
    }
    std::printf("after\n");
  });
  EXPECT_EQ(out, "late\nafter\n");
  const auto again = plain([] {
    as_rank(0, [] { std::printf("one "); });
    as_rank(1, [] { std::printf("eins\n"); });
    as_rank(0, [] { std::printf("two\n"); });
  });
  EXPECT_EQ(again.first, "eins\none two\n");
}

// In a process of its own, begun anew: no stream forgets that it is wide, or that it is not.
TEST(line_output_death, a_stream_that_is_wide_is_left_alone) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        std::fputws(L"wide ", stderr);
        const line_output lines(&current_rank, line_style::plain);
        as_rank(0, [] { std::fputws(L"in a rank\n", stderr); });
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), "wide in a rank");
}

TEST(line_output, a_forked_child_writes_while_another_rank_of_its_parent_does) {
  constexpr int pipe_bytes = 1 << 16;
  int full[2];
  ASSERT_EQ(::pipe(full), 0);
  ASSERT_EQ(::fcntl(full[1], F_SETPIPE_SZ, pipe_bytes), pipe_bytes);
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(full[1], STDOUT_FILENO);
  const std::string text(2 * pipe_bytes, 'x');
  int status = -1;
  {
    const line_output lines(&current_rank, line_style::plain);
    std::thread writing([&] { as_rank(0, [&] { std::puts(text.c_str()); }); });
    for (int unread = 0; unread < pipe_bytes; std::this_thread::yield())
      ::ioctl(full[0], FIONREAD, &unread);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
      std::puts("child");
      ::_exit(0);
    }
    ::waitpid(child, &status, 0);
    std::string read(text.size() + 1, ' ');
    for (std::size_t left = read.size(); left != 0;)
      left -= static_cast<std::size_t>(std::max<ssize_t>(::read(full[0], read.data(), left), 0));
    writing.join();
  }
  ::dup2(before, STDOUT_FILENO);
  for (const int each : {before, full[0], full[1]}) ::close(each);
  EXPECT_EQ(status, 0);
}

TEST(write_directly, waits_for_room_although_the_descriptor_would_not) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  const std::string text(1 << 20, 'x');  // Sixteen pipes full.
  std::size_t arrived = 0;
  std::thread reader([&] {
    std::string room(text.size(), ' ');
    while (arrived < text.size()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const ssize_t size = read(ends[0], room.data(), room.size());
      if (size > 0) arrived += static_cast<std::size_t>(size);
    }
  });
  EXPECT_EQ(write_directly(ends[1], text), 0);
  reader.join();
  EXPECT_EQ(arrived, text.size());
  close(ends[0]);
  signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(write_directly(ends[1], text), EPIPE);
  signal(SIGPIPE, SIG_DFL);
  close(ends[1]);
}

}  // namespace
}  // namespace weft
