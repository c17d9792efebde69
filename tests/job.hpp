// Jobs as tests need them: started from a few words, with what they print on stderr at hand.
#pragma once
#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <weft/weft.hpp>

#include "processes.hpp"

namespace weft {

// Sanitizers multiply time and memory of every fiber: tests use fewer ranks and rounds there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// Workers are not pinned: tests of several programs share the cores.
inline options job_of(int ranks, int workers, const std::string& map = "block") {
  options how;
  how.ranks = ranks;
  how.workers = workers;
  how.map = map;
  how.pin = false;
  how.timeout_s = sanitized ? 100 : 60;  // A hang ends with a report of who waits for whom.
  return how;
}

// The same tests run with all ranks in one process and, when TEST_PROCESSES says so, shared out
// to several: each of them a part of this program, joined by a network that misbehaves, or a process
// of its own. What is about one process alone says `alone(how)`.
inline options alone(options how) {
  how.processes = 1;
  return how;
}
namespace tests {
inline std::atomic<int> jobs_of_several_processes{0};  // Of the test that runs.
// A test without them has not passed as one of several processes.
class skip_of_tests_alone final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { jobs_of_several_processes = 0; }
  void OnTestEnd(const testing::TestInfo&) override {
    if (jobs_of_several_processes == 0) GTEST_SKIP() << "all its jobs are of one process";
  }
};
inline const bool tests_alone_are_skipped = [] {
  if (number_of_environment("TEST_PROCESSES", 1) <= 1) return false;
  testing::UnitTest::GetInstance()->listeners().Append(new skip_of_tests_alone);  // Deletes it.
  return true;
}();
}  // namespace tests

inline int run_job_of(const options& how, const std::function<void(communicator&)>& body) {
  const int processes = tests::processes_of(how);
  if (processes <= 1) return run(alone(how), body);
  ++tests::jobs_of_several_processes;
  return tests::is_started() ? tests::run_in_started(processes, how, body)
                             : tests::run_in_processes(processes, how, body);
}

// The job must end well.
inline void run_ranks(const options& how, const std::function<void(communicator&)>& body) {
  EXPECT_EQ(run_job_of(how, body), 0);
}
inline void run_ranks(int ranks, int workers, const std::function<void(communicator&)>& body) {
  run_ranks(job_of(ranks, workers), body);
}

struct failed_job {
  int status;
  std::string text;  // What it printed on stderr.
};

inline failed_job run_to_failure(const options& how,
                                 const std::function<void(communicator&)>& body) {
  testing::internal::CaptureStderr();
  failed_job job{run_job_of(how, body), {}};
  job.text = testing::internal::GetCapturedStderr();
  if (const int processes = tests::processes_of(how); tests::is_started() && processes > 1)
    tests::share(processes, job.status, job.text);
  return job;
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in:\n" << text;
}

// What has come on stderr since CaptureStderr().
inline std::string stderr_so_far() {
  std::ifstream file("/proc/self/fd/2");
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++count;
  return count;
}

// Called by a rank of a job whose stderr is captured: sends the signal until the reports show `part`
// so many times, since a rank that this one has heard of may not have come to its next wait yet.
// Returns how many signals that took. The job's timeout ends it when the part never comes.
inline std::size_t ask_until_reported(int signal, const std::string& part, std::size_t times = 1) {
  for (std::size_t asked = 1;; ++asked) {
    const std::size_t before = count_of(stderr_so_far(), "state of the ranks");
    kill(getpid(), signal);
    while (count_of(stderr_so_far(), "state of the ranks") == before)
      sleep_for(std::chrono::milliseconds(1));
    if (count_of(stderr_so_far(), part) >= times) return asked;
  }
}

// The least of so many measurements; none follows one that is `enough`. For what a busy machine now and then
// adds to, and never takes from.
template <class Number, class Measure>
Number least_of(int attempts, Number enough, Measure&& measure) {
  Number least = measure();
  while (--attempts > 0 && least > enough) least = std::min<Number>(least, measure());
  return least;
}

// The text of the weft::error that `call` throws; empty, and a failure, when it throws none.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const error& e) {
    return e.what();
  }
  ADD_FAILURE() << "no weft::error was thrown";
  return {};
}

}  // namespace weft
