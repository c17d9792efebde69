// Whole jobs under weftrun: what a user sees when one works, and when one goes wrong. Every failing
// job must end by itself, with a status that is not 0 and a text that names the rank. TEST_PROCESSES
// shares the ranks out to so many processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <vector>

#include "processes.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

const int processes = tests::number_of_environment("TEST_PROCESSES", 1);

// So many, or one for each process.
int ranks_of(int least) {
  return std::max(least, processes);
}
std::string ranks(int least) {
  return "-n " + std::to_string(ranks_of(least)) + " ";
}

// A job that hangs is stopped by timeout(1), which ends with 137; no test expects that.
outcome run_job(const std::string& words) {
  const std::string more = processes > 1 ? "--processes " + std::to_string(processes) + " " : "";
  return shell("timeout -s KILL 60 ./weftrun " + more + words);
}

void expect_in(const outcome& result, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(result.text.find(part), std::string::npos) << part << " is not in:\n" << result.text;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

TEST(job, every_rank_runs_once_and_its_line_is_whole) {
  const outcome result = run_job("-n 5 --workers 2 ./test-job greet");
  EXPECT_EQ(result.status, 0);
  std::vector<std::string> expected;
  for (int rank = 0; rank < 5; ++rank) expected.push_back("rank " + std::to_string(rank) + " of 5");
  EXPECT_EQ(sorted_lines(result.text), expected);
}

TEST(job, words_of_the_program_set_what_weftrun_did_not) {
  EXPECT_EQ(sorted_lines(shell("./test-job greet --weft-ranks 3").text).size(), 3u);
  EXPECT_EQ(sorted_lines(run_job(ranks(2) + "./test-job greet --weft-ranks 5").text).size(), 5u);
}

// Ranks have stacks of their own, and a worker needs little of its thread's.
TEST(job, runs_where_threads_have_small_stacks) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs more than that";
#endif
  const outcome result = shell("(ulimit -s 48; ./test-job greet --weft-ranks 3)");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(sorted_lines(result.text).size(), 3u) << result.text;
}

TEST(job, output_is_tagged_with_ranks_on_request) {
  const outcome result = run_job(ranks(3) + "--workers 2 --tag-output ./test-job greet");
  EXPECT_EQ(result.status, 0);
  std::vector<std::string> expected;
  for (int rank = 0; rank < ranks_of(3); ++rank) {
    const std::string number = std::to_string(rank);
    expected.push_back("[" + number + "] rank " + number + " of " + std::to_string(ranks_of(3)));
  }
  EXPECT_EQ(sorted_lines(result.text), expected);
}

TEST(job, lines_that_ranks_of_a_process_write_in_pieces_do_not_mix) {
  const outcome result = shell("./test-job pieces --weft-ranks 4 --weft-workers 2");
  EXPECT_EQ(result.status, 0);
  std::vector<std::string> expected;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string number = std::to_string(rank);
    expected.insert(expected.end(), 5, "stderr " + number);
    for (const std::string way : {"printf", "cout"}) {
      std::string line = way + " " + number + ":";
      for (int i = 0; i < 3; ++i) line.append(" ").append(number);
      expected.insert(expected.end(), 5, line);
    }
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(sorted_lines(result.text), expected);
}

TEST(job, a_process_that_was_forked_may_run_a_job_and_its_output_is_that_of_ranks) {
  const outcome result = shell("./test-job forked --weft-ranks 2 --weft-tag-output");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(sorted_lines(result.text),
            (std::vector<std::string>{"[0] rank 0 of 2", "[1] rank 1 of 2"}));
}

TEST(job, what_a_child_of_a_rank_writes_is_not_lost_nor_written_twice) {
  // Of its parent's threads, whose stacks hold most of what lives, a child has only the one that forked:
  // AddressSanitizer, which looks through stacks as a process exits, would take the rest for lost.
  EXPECT_EQ(shell("ASAN_OPTIONS=detect_leaks=0 ./test-job fork --weft-ranks 2").text,
            "child parent again\n");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const std::string aborted = shell("./test-job fork-abort --weft-ranks 2 2>&-").text;
  EXPECT_EQ(aborted, "child parent again\n");
#endif
}

// A limit for files stands for a full disk; standard error is a pipe.
outcome with_full_disk(const std::string& command) {
  return shell("(trap '' XFSZ; ulimit -f 0; " + command +
               " > full_disk.$$); status=$?; rm full_disk.$$; exit $status");
}

TEST(job, what_it_opens_does_not_take_the_place_of_a_closed_standard_output) {
  const outcome result = shell(
      "./test-job greet --weft-ranks 2 --weft-trace closed.$$.json >&-; status=$?; "
      "head -c 1 closed.$$.json; rm closed.$$.json; exit $status");
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.text,
            "weft: standard output could not be written: Bad file descriptor: some of what the "
            "ranks printed is lost; is the disk full?\n{");
}

TEST(job, output_that_a_full_disk_does_not_take_is_told_and_makes_the_status_1) {
  for (const std::string how : {"", " --weft-tag-output"}) {
    const outcome result = with_full_disk("./test-job greet --weft-ranks 2" + how);
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(
        sorted_lines(result.text),
        std::vector<std::string>{"weft: standard output could not be written: File too large: "
                                 "some of what the ranks printed is lost; is the disk full?"});
  }
}

TEST(job, output_that_nobody_reads_any_longer_is_no_failure) {
  for (const std::string how : {"", " --weft-tag-output"}) {
    const outcome result = shell("trap '' PIPE; { sleep 0.2; ./test-job greet --weft-ranks 2" +
                                 how + "; echo status $? >&2; } | exec sleep 0");
    EXPECT_EQ(result.text, "status 0\n");
  }
}

TEST(job, the_programs_own_status_is_weftruns) {
  EXPECT_EQ(run_job(ranks(2) + "./test-job greet 7").status, 7);
  EXPECT_EQ(run_job(ranks(2) + "./test-job").status, 64);
}

TEST(job, a_process_may_go_on_after_its_ranks_while_another_ends_with_a_status) {
  const outcome result =
      shell("timeout -s KILL 60 ./weftrun --processes 2 -n 2 ./test-job work-after 7");
  EXPECT_EQ(result.status, 7) << result.text;
  expect_in(result, {"worked on"});
}

TEST(job, a_wrong_word_of_weft_ends_with_status_2) {
  const outcome result = shell("./test-job greet --weft-rank=3");
  EXPECT_EQ(result.status, 2);
  expect_in(result, {"unknown option --weft-rank (did you mean --weft-ranks?)"});
}

TEST(job, an_exception_that_leaves_a_request_behind_is_the_reason_that_is_told) {
  for (const char* const where : {"", "--processes 2 "}) {
    const outcome result = shell(std::string("timeout -s KILL 60 ./weftrun -n 2 ") + where +
                                 "./test-job throw-past-request");
    EXPECT_EQ(result.status, 1);
    expect_in(result, {"weft: rank 1: the input is rotten\n"});
    EXPECT_EQ(result.text.find("left a request"), result.text.npos) << result.text;
  }
}

TEST(job, an_exception_of_one_rank_ends_the_job_and_names_it) {
  const outcome result = run_job(ranks(4) + "--workers 2 ./test-job throw");
  EXPECT_EQ(result.status, 1);
  expect_in(result, {"rank 1", "the input is rotten"});
}

TEST(job, a_rank_that_calls_exit_beside_others_is_named_and_the_job_has_failed) {
  for (const int status : {0, 3}) {
    const std::string number = std::to_string(status);
    const outcome result =
        shell("timeout -s KILL 60 ./test-job exit " + number + " --weft-ranks 3");
    EXPECT_EQ(result.status, status == 0 ? 1 : 3);
    EXPECT_EQ(result.text, "weft: rank 1 called exit(" + number +
                               ") while other ranks run, which ends the job: return from its "
                               "function instead\n");
  }
}

TEST(job, a_rank_that_calls_quick_exit_beside_others_is_named_and_the_job_has_failed) {
  for (const char* status : {"0", "3"}) {
    const outcome result = shell("timeout -s KILL 60 ./test-job quick_exit " + std::string(status) +
                                 " --weft-ranks 3");
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.text,
              "weft: rank 1 called quick_exit() while other ranks run, which ends the job: return "
              "from its function instead\n");
  }
}

TEST(job, a_rank_that_calls_exit_at_once_beside_others_is_named_and_the_job_has_failed) {
  for (const int status : {0, 3, 256}) {
    const std::string number = std::to_string(status);
    const outcome result =
        shell("timeout -s KILL 60 ./test-job _exit " + number + " --weft-ranks 3");
    EXPECT_EQ(result.status, status == 3 ? 3 : 1);
    EXPECT_EQ(result.text, "weft: rank 1 called _exit(" + number +
                               ") while other ranks run, which ends the job: return from its "
                               "function instead\n");
  }
}

// All that the ranks of change_stdout() print.
std::vector<std::string> all_printed(int ranks) {
  std::vector<std::string> lines;
  for (int rank = 0; rank < ranks; ++rank)
    for (int line = 0; line < 2000; ++line)
      lines.push_back(std::to_string(rank) + ":" + std::to_string(line));
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(job, a_rank_that_closes_standard_output_closes_it_for_nobody) {
  for (const char* const way :
       {"close-stdout", "close-stdout-in-thread", "reopen-stdout-in-child"}) {
    const outcome result =
        shell(std::string("timeout -s KILL 60 ./test-job ") + way + " --weft-ranks 4");
    EXPECT_EQ(result.status, 0) << way;
    EXPECT_EQ(sorted_lines(result.text), all_printed(4)) << way;
  }
}

TEST(job, a_rank_that_closes_no_stream_is_named_with_the_fault) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer reports faults itself";
#endif
  const outcome result = shell("timeout -s KILL 60 ./test-job close-nothing --weft-ranks 4");
  EXPECT_EQ(result.status, 128 + SIGSEGV);
  expect_in(result, {"weft: rank ", "Segmentation fault"});
}

TEST(job, a_rank_that_would_redirect_standard_output_for_all_is_told) {
  const outcome result = shell("timeout -s KILL 60 ./test-job reopen-stdout --weft-ranks 4");
  EXPECT_EQ(result.status, 0);
  std::vector<std::string> expected = all_printed(4);
  expected.push_back(
      "weft: rank 1 may not reopen standard output, which ranks of a process share; with "
      "--ranks-per-process 1 each has its own");
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(sorted_lines(result.text), expected);
}

TEST(job, the_last_rank_may_call_exit) {
  for (const int status : {0, 3}) {
    const outcome result = shell("timeout -s KILL 60 ./test-job exit-last " +
                                 std::to_string(status) + " --weft-ranks 2");
    EXPECT_EQ(result.status, status);
    EXPECT_EQ(result.text, "the last\n");
  }
}

TEST(job, a_deadlock_is_reported_with_every_rank_and_what_it_waits_for) {
  const outcome result = run_job(ranks(3) + "--workers 2 ./test-job deadlock");
  EXPECT_EQ(result.status, 1);
  expect_in(result, {"deadlock", "rank 0", "rank 1", "rank 2", "recv", "7"});
}

TEST(job, a_message_longer_than_its_receive_is_refused_with_both_sizes) {
  const outcome result = run_job(ranks(2) + "./test-job truncate");
  EXPECT_EQ(result.status, 1);
  expect_in(result, {"rank 1", "400", "40"});
}

TEST(job, a_rank_that_does_not_exist_is_named_with_the_size) {
  const outcome result = run_job(ranks(2) + "./test-job send-to-nobody");
  EXPECT_EQ(result.status, 1);
  expect_in(result, {"rank 1", "99", "ranks 0 to " + std::to_string(ranks_of(2) - 1)});
}

TEST(job, different_collectives_on_different_ranks_are_reported) {
  const outcome result = run_job(ranks(2) + "./test-job mismatch");
  EXPECT_EQ(result.status, 1);
  expect_in(result, {"barrier", "allreduce"});
}

TEST(job, a_fault_names_the_rank_and_kills_the_job) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer reports faults itself";
#endif
  const outcome result = run_job(ranks(3) + "--workers 2 ./test-job crash");
  EXPECT_EQ(result.status, 128 + 11);
  expect_in(result, {"rank 1"});
}

TEST(job, what_a_rank_has_written_before_its_process_dies_is_not_lost) {
  expect_in(shell("./test-job leave-in-a-line --weft-ranks 2"),
            {"cause", "begun", "rank 1 called _exit(3)"});
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer reports faults itself";
#endif
  expect_in(shell("./test-job abort-in-a-line --weft-ranks 2"),
            {"cause", "begun\nweft: rank 1 called abort()"});
}

TEST(job, a_timeout_ends_a_job_that_never_would) {
  const outcome result = run_job(ranks(2) + "--workers 1 --timeout 1 ./test-job poll-forever");
  EXPECT_EQ(result.status, 124);
  expect_in(result, {"rank 0", "rank 1", "timeout of 1 s"});
}

TEST(job, the_report_signal_shows_what_each_rank_does_and_the_job_goes_on) {
  if (processes > 1) GTEST_SKIP() << "the rank asks its own process";
  const outcome result = run_job(ranks(2) + "--workers 2 ./test-job report");
  EXPECT_EQ(result.status, 0);
  expect_in(result, {"rank 0 (worker 0): in sleep_for", "rank 1 (worker 1): in recv"});
}

TEST(job, a_missing_map_is_named) {
  const outcome result = run_job(ranks(2) + "--map nowhere ./test-job greet");
  EXPECT_EQ(result.status, 2);
  expect_in(result, {"map nowhere: No such file or directory"});
}

TEST(job, a_timeline_shows_which_chunks_were_stolen) {
  if (processes > 1) GTEST_SKIP() << "no rank of this process is there to steal";
  const std::string path =
      ::testing::TempDir() + "weft_job_" + std::to_string(::getpid()) + ".json";
  const outcome result = run_job(ranks(2) + "--workers 2 --trace " + path + " ./test-job steal");
  EXPECT_EQ(result.status, 0) << result.text;
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  EXPECT_NE(text.str().find("chunk of rank 0\""), std::string::npos);
  EXPECT_NE(text.str().find("chunk of rank 0 (stolen)"), std::string::npos);
}

TEST(job, processes_of_a_host_write_one_timeline) {
  const std::string path =
      ::testing::TempDir() + "weft_timeline_" + std::to_string(::getpid()) + ".json";
  const outcome result = run_job("-n 4 --processes 2 --trace " + path + " ./test-job greet");
  EXPECT_EQ(result.status, 0) << result.text;
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  for (const char* name : {R"("name":"process 0")", R"("name":"process 1")"})
    EXPECT_NE(text.str().find(name), std::string::npos) << name;
}

TEST(job, statistics_have_a_line_per_rank) {
  const outcome result = run_job(ranks(3) + "--stats ./test-job greet");
  EXPECT_EQ(result.status, 0);
  // Of the lines that follow a heading of ranks, the first word behind "weft:".
  std::vector<std::string> said;
  std::istringstream in(result.text);
  bool of_ranks = false;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string speaker, first;
    words >> speaker >> first;
    if (first == "rank")
      of_ranks = true;
    else if (first == "worker")
      of_ranks = false;
    else if (of_ranks)
      said.push_back(first);
  }
  std::ranges::sort(said);
  std::vector<std::string> expected;
  for (int rank = 0; rank < ranks_of(3); ++rank) expected.push_back(std::to_string(rank));
  EXPECT_EQ(said, expected) << result.text;
}

// Stacks of fibers are registered with it: it takes no switch for a stack that moves, and knows what of
// each is initialised.
TEST(job, memcheck_finds_nothing_and_knows_the_stacks_of_ranks) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer and memcheck do not go together";
#endif
#if !__has_include(<valgrind/valgrind.h>)
  GTEST_SKIP() << "without valgrind's header stacks are not registered";
#endif
  if (shell("valgrind --version").status != 0) GTEST_SKIP() << "valgrind is not installed";
  for (const std::string what : {"greet", "pieces", "steal"}) {
    const outcome result = shell("timeout -s KILL 60 valgrind --error-exitcode=99 ./test-job " +
                                 what + " --weft-ranks 4 --weft-workers 2");
    EXPECT_EQ(result.status, 0) << result.text;
    expect_in(result, {"ERROR SUMMARY: 0 errors"});
    EXPECT_EQ(result.text.find("switching stacks"), std::string::npos) << result.text;
  }
}

}  // namespace
}  // namespace weft
