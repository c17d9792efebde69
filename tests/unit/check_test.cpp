// What weftrun --check finds: each mistake of tests/programs/check.cpp gets one line, and the job's
// exit status is changed by errors alone. TEST_PROCESSES shares the ranks out to so many processes.
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "job.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

constexpr const char* comes_first = "the sanitizer's library must be loaded before all others";

const int processes = tests::number_of_environment("TEST_PROCESSES", 1);

// Two ranks, timeout and the like, said to weftrun.
std::string under_weftrun(int workers) {
  const std::string text = "timeout -s KILL 100 ./weftrun -n 2 --timeout 60 --pin off --workers " +
                           std::to_string(workers) + " ";
  return processes > 1 ? text + "--processes " + std::to_string(processes) + " " : text;
}

outcome checked(const std::string& mistake, int workers = 1) {
  return shell(under_weftrun(workers) + "--check ./test-check " + mistake);
}

std::size_t count_of_findings(const outcome& o) {
  return count_of(o.text, "weft: check: ");
}

TEST(a_lock_held_across_a_wait, is_reported_once_with_what_and_where) {
  if (sanitized) GTEST_SKIP() << comes_first;
  for (const auto& [mistake, kind] : {std::pair{"mutex", "mutex"},
                                      {"recursive", "mutex"},
                                      {"posix", "mutex"},
                                      {"shared", "lock"},
                                      {"stream", "lock of a stream"},
                                      {"initialiser", "static initialiser"}}) {
    for (const int workers : {1, 2}) {
      const outcome o = checked(mistake, workers);
      EXPECT_EQ(o.status, 0) << o.text;
      EXPECT_EQ(count_of_findings(o), 1u) << mistake << "\n" << o.text;
      expect_contains(o.text, "weft: check: rank 0 waits in ssend while it holds the " +
                                  std::string(kind) + " at 0x");
    }
  }
}

TEST(a_lock_held_across_a_wait, is_reported_with_the_line_that_took_it) {
  if (sanitized) GTEST_SKIP() << comes_first;
  if (!has_debug_library()) GTEST_SKIP() << "libdw is not installed";
  expect_contains(checked("mutex").text, "taken in lock_plain at ");
  expect_contains(checked("initialiser").text, "taken in hold_initialiser at ");
}

TEST(a_lock_held_across_a_wait, is_reported_when_the_rank_yields) {
  if (sanitized) GTEST_SKIP() << comes_first;
  if (processes > 1) GTEST_SKIP() << "a rank alone on its worker yields to nobody";
  expect_contains(checked("yield").text, "rank 0 waits in yield while it holds the mutex at 0x");
}

TEST(a_checked_job, without_mistakes_prints_nothing) {
  if (sanitized) GTEST_SKIP() << comes_first;
  for (const char* right : {"clean", "interleaved"}) {
    const outcome o = checked(right, 2);
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.text, "");
  }
}

TEST(a_checked_job, that_weftrun_did_not_start_says_that_locks_are_not_looked_for) {
  const outcome o = shell("WEFT_CHECK=1 ./test-check mutex --weft-ranks 2 --weft-pin=off");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.text,
            "weft: check: mutexes held across a wait are not looked for: start the program "
            "with weftrun --check\n");
}

// What follows needs no preloaded library.
outcome checked_by_word(const std::string& mistake, int workers) {
  const std::string by_itself = "timeout -s KILL 100 ./test-check " + mistake +
                                " --weft-ranks 2 --weft-pin=off --weft-timeout 60 --weft-workers " +
                                std::to_string(workers);
  outcome o =
      shell((processes > 1 ? under_weftrun(workers) + "./test-check " + mistake : by_itself) +
            " --weft-check");
  const std::string not_preloaded =
      "weft: check: mutexes held across a wait are not looked for: start the program with weftrun "
      "--check\n";
  for (std::size_t at = 0; (at = o.text.find(not_preloaded, at)) != o.text.npos;)
    o.text.erase(at, not_preloaded.size());
  return o;
}

TEST(receives_into_overlapping_memory, are_an_error) {
  for (const int workers : {1, 2}) {
    const outcome o = checked_by_word("overlapping", workers);
    expect_contains(o.text,
                    "check: error: rank 0 starts a receive of 240 bytes from rank 1, tag 5 in ");
    expect_contains(o.text,
                    ", whose memory overlaps that of a receive of 240 bytes from rank 1, "
                    "tag 4, which is still active, started in ");
    expect_contains(o.text, "wait for that one first, or use other memory\n");
    EXPECT_EQ(count_of_findings(o), 2u) << o.text;
  }
}

double processor_seconds_of_this_thread() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// Of a processor's time, where so many receives and sends are under way at once in a checked job.
double seconds_with_requests(std::size_t count) {
  options how = job_of(1, 1);
  how.check = true;
  double seconds = 0;
  testing::internal::CaptureStderr();
  const int status = run(alone(how), [&](communicator& world) {
    const double before = processor_seconds_of_this_thread();
    std::vector<int> sent(count), received(count);
    std::vector<request> requests;
    for (int& to : received) requests.push_back(world.irecv(to, 0, 3));
    for (const int& from : sent) requests.push_back(world.isend(from, 0, 3));
    for (request& one : requests) one.wait();
    seconds = processor_seconds_of_this_thread() - before;
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("error"), std::string::npos);
  EXPECT_EQ(status, 0);
  return seconds;
}

TEST(requests_that_are_under_way_at_once, cost_as_much_each_when_they_are_many) {
  if (processes > 1) GTEST_SKIP() << "one process is enough";
  // Where each was compared with all others, eight times as many took 64 times as long.
  constexpr double factor_max = 24;
  const auto factor = [] { return seconds_with_requests(32'000) / seconds_with_requests(4'000); };
  EXPECT_LE(least_of(5, factor_max, factor), factor_max);
}

TEST(a_request_left_over, is_an_error) {
  const outcome o = checked_by_word("left-request", 1);
  expect_contains(o.text,
                  "check: error: rank 0 ended, but a receive of 4 bytes from rank 1, tag 8, "
                  "started in ");
  expect_contains(o.text, "check: the job ran to its end, but with the errors above");
}

TEST(messages_left_over, are_reported_and_change_no_status) {
  for (const int workers : {1, 2}) {
    const outcome o = checked_by_word("left-messages", workers);
    EXPECT_EQ(o.text,
              "weft: check: rank 1 ended without receiving 3 messages; the first: 4 bytes "
              "from rank 0, tag 9, communicator 0: receive what is sent, or do not send "
              "it\n");
  }
}

TEST(a_message_taken_and_given_up, is_reported) {
  expect_contains(checked_by_word("dropped-message", 1).text,
                  "check: rank 1 took a message of 4 bytes from rank 0, tag 9, communicator 0 by "
                  "mprobe and gave it up in ");
}

TEST(errors_of_a_checked_job, are_its_exit_status_and_warnings_are_not) {
  for (const auto& [mistake, status] : {std::pair{"overlapping", 1},
                                        {"left-request", 1},
                                        {"chunk", 1},
                                        {"left-messages", 0},
                                        {"dropped-message", 0},
                                        {"clean", 0}}) {
    const outcome o = checked_by_word(mistake, 2);
    EXPECT_EQ(o.status, status) << mistake << "\n" << o.text;
  }
}

TEST(a_chunk_that_waits, is_refused_at_once) {
  expect_contains(checked_by_word("chunk", 1).text,
                  "recv was called by a chunk of a loop, which may run on another worker");
}

}  // namespace
}  // namespace weft
