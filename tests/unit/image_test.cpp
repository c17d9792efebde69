// Programs of tests/image/, which weftcc, weftcxx and weftfc have built: each rank has its own copy.
// Every trap that FACTS names ("Private program images") has its test.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

#define WEFT_NEEDS_IMAGES()                    \
  if (!fs::exists(WEFT_PROGRAM_DIR "/weftcc")) \
  GTEST_SKIP() << "built with a sanitizer, which takes each copy of a program for a different one"

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

long count_of(const std::string& text, const std::string& line) {
  return std::ranges::count(lines_of(text), line);
}

// Runs tests/image/NAME with these options of weftrun and these words.
outcome run_image(const std::string& options, const std::string& program) {
  return shell("timeout -s KILL 100 ./weftrun --timeout 60 " + options + " image/" + program);
}

class scratch_directory {
 public:
  scratch_directory() {
    std::string name = fs::temp_directory_path() / "weft-image-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~scratch_directory() { fs::remove_all(path_); }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(image, globals_and_the_state_of_libc_belong_to_one_rank) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 16 --workers 2", "globals -a file -b 7 --level 3");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(count_of(ran.text, "right"), 16) << ran.text;
}

TEST(image, a_program_alone_is_one_rank_and_behaves_the_same) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = shell("timeout -s KILL 60 image/globals -a file -b 7 --level 3");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(ran.text, "right\n");
}

TEST(image, a_program_takes_the_words_of_weft_itself) {
  WEFT_NEEDS_IMAGES();
  const outcome ran =
      shell("timeout -s KILL 60 image/globals --weft-ranks 3 -a file -b 7 --level 3");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(count_of(ran.text, "right"), 3) << ran.text;
}

TEST(image, objects_are_constructed_and_destroyed_once_in_each_rank) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 5 --workers 2", "objects");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(count_of(ran.text, "constructed"), 5) << ran.text;
  for (int rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(count_of(ran.text, "rank " + std::to_string(rank) + " right"), 1) << ran.text;
    EXPECT_EQ(count_of(ran.text, "destroyed with " + std::to_string(rank + 1)), 1) << ran.text;
  }
}

// STB_GNU_UNIQUE made them common to 63 of 64 copies.
TEST(image, variables_that_cpp_merges_are_private_in_64_copies) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 64 --workers 2", "objects");
  EXPECT_EQ(ran.status, 0) << ran.text;
  for (int rank = 0; rank < 64; ++rank)
    EXPECT_EQ(count_of(ran.text, "rank " + std::to_string(rank) + " right"), 1) << ran.text;
}

TEST(image, large_arrays_that_ranks_free_are_kept_for_the_next_ones) {
  const outcome ran = run_image("-n 8", "allocates 4000000");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_NE(ran.text.find("kept: "), std::string::npos) << ran.text;
  const outcome chosen = shell(
      "MALLOC_TRIM_THRESHOLD_=131072 timeout -s KILL 100 ./weftrun --timeout 60 -n 8 image/allocates 4000000");
  EXPECT_EQ(chosen.status, 0) << chosen.text;
  EXPECT_NE(chosen.text.find("given back: "), std::string::npos) << chosen.text;
}

TEST(image, lines_written_in_pieces_do_not_mix_and_none_is_lost) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 6 --workers 2", "lines");
  EXPECT_EQ(ran.status, 0) << ran.text;
  for (int rank = 0; rank < 6; ++rank) {
    const std::string r = std::to_string(rank);
    const std::string digits = " " + r + " " + r + " " + r + " " + r;
    for (const char* way : {"printf ", "cout ", "write ", "stderr ", "thread ", "openmp "})
      EXPECT_EQ(count_of(ran.text, way + r + ":" + digits), 5) << way << ran.text;
    EXPECT_EQ(count_of(ran.text, "last " + r + ":" + digits), 1) << ran.text;
  }
  EXPECT_EQ(lines_of(ran.text).size(), 6u * (6 * 5 + 1)) << ran.text;
}

TEST(image, lines_of_threads_have_the_tag_of_the_rank_that_made_them) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 2 --workers 2 --tag-output", "lines");
  EXPECT_EQ(ran.status, 0) << ran.text;
  for (const char* way : {"thread ", "openmp "})
    EXPECT_EQ(count_of(ran.text, std::string("[1] ") + way + "1: 1 1 1 1"), 5) << way << ran.text;
}

TEST(image, a_status_of_one_rank_is_that_of_the_job_and_is_told_in_one_line) {
  WEFT_NEEDS_IMAGES();
  for (const auto& [way, status] : {std::pair{"exit", 7}, std::pair{"return", 9}}) {
    const outcome ran = run_image("-n 3 --workers 2", std::string("ends ") + way);
    EXPECT_EQ(ran.status, status) << ran.text;
    EXPECT_EQ(count_of(ran.text, "weft: rank 1: ended with exit status " + std::to_string(status) +
                                     ", which ends the job"),
              1)
        << ran.text;
    EXPECT_EQ(count_of(ran.text, "handler 1 in rank 1"), 1) << ran.text;
  }
}

TEST(image, handlers_of_atexit_and_destructors_run_once_in_the_rank_that_ends) {
  WEFT_NEEDS_IMAGES();
  for (const char* way : {"well", "exit-0"}) {
    const outcome ran = run_image("-n 3 --workers 2", std::string("ends ") + way);
    EXPECT_EQ(ran.status, 0) << ran.text;
    for (int rank = 0; rank < 3; ++rank) {
      const std::string in = " in rank " + std::to_string(rank);
      const std::size_t second = ran.text.find("handler 2" + in);
      const std::size_t first = ran.text.find("handler 1" + in);
      const std::size_t destroyed = ran.text.find("destroyed" + in);
      EXPECT_LT(second, first) << ran.text;
      EXPECT_LT(first, destroyed) << ran.text;
      EXPECT_EQ(count_of(ran.text, "destroyed" + in), 1) << ran.text;
    }
  }
}

TEST(image, exit_in_a_handler_of_atexit_goes_on_with_the_other_handlers) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 2 --workers 1", "ends exit-in-handler");
  EXPECT_EQ(ran.status, 5) << ran.text;
  EXPECT_GE(count_of(ran.text, "handler 1 in rank 0") + count_of(ran.text, "handler 1 in rank 1"),
            1)
      << ran.text;
}

TEST(image, an_exception_that_leaves_main_is_told_with_its_rank) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 3 --workers 2", "ends throw");
  EXPECT_EQ(ran.status, 1) << ran.text;
  EXPECT_EQ(count_of(ran.text, "weft: rank 1: the reason"), 1) << ran.text;
}

std::size_t times_in(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(image, abort_and_faults_name_the_rank_and_kill_the_process) {
  WEFT_NEEDS_IMAGES();
  const outcome aborted = run_image("-n 3 --workers 2", "ends abort");
  EXPECT_EQ(aborted.status, 128 + SIGABRT) << aborted.text;
  EXPECT_EQ(times_in(aborted.text, "weft: rank 1"), 1) << aborted.text;
  EXPECT_EQ(times_in(aborted.text, "weft: rank 1 called abort()"), 1) << aborted.text;
  const outcome fault = run_image("-n 3 --workers 2", "ends fault");
  EXPECT_EQ(fault.status, 128 + SIGSEGV) << fault.text;
  EXPECT_EQ(times_in(fault.text, "weft: rank 1"), 1) << fault.text;
  EXPECT_EQ(times_in(fault.text, "weft: rank 1 on worker"), 1) << fault.text;
  const outcome overflow = run_image("-n 3 --workers 2", "ends overflow");
  EXPECT_EQ(overflow.status, 128 + SIGSEGV) << overflow.text;
}

// --- Where ranks stand --------------------------------------------------------------------------------

// Copies lie side by side, and the kernel's list of mappings does not tell where each begins.
TEST(a_report_of_ranks_with_a_copy_each, names_calls_and_lines_of_all_and_equal_ones_once) {
  WEFT_NEEDS_IMAGES();
  void* const library = ::dlopen("libdw.so.1", RTLD_LAZY);
  if (library == nullptr) GTEST_SKIP() << "libdw is not installed";
  ::dlclose(library);
  struct place {
    const char* program;
    std::string calls[2];
  };
  const std::string begin = "\nweft:     ";
  std::vector<place> places{
      {"stands", {begin + "ring at ", "tests/image/stands.c:9" + begin + "main at "}},
      {"stands_without_lines", {begin + "ring+0x", begin + "main+0x"}},
      {"stands_cpp", {begin + "ring<int> at ", "tests/image/stands.cpp:11" + begin + "main at "}}};
  if (fs::exists(WEFT_PROGRAM_DIR "/image/stands_fortran"))
    places.push_back({"stands_fortran",
                      {begin + "ring at ", "tests/image/stands.f90:19" + begin + "stands at "}});
  for (const place& one : places)
    for (const char* const arrangement : {"-n 4 --workers 2", "-n 16 --processes 3"}) {
      const outcome ran = run_image(arrangement, one.program);
      EXPECT_EQ(ran.status, 1) << ran.text;
      const std::string ranks = std::string(arrangement).starts_with("-n 4") ? "0-3" : "0-15";
      EXPECT_EQ(times_in(ran.text, " called MPI_Recv from"), 1u) << ran.text;
      EXPECT_EQ(times_in(ran.text, "ranks " + ranks + " called MPI_Recv from" + one.calls[0]), 1u)
          << ran.text;
      EXPECT_EQ(times_in(ran.text, one.calls[1]), 1u) << ran.text;
    }
}

// The file's lines are those of another program by now.
TEST(a_report_of_ranks_with_a_copy_each, names_no_lines_of_a_program_that_was_built_anew) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory here;
  const std::string program = here / "program";
  fs::copy_file(WEFT_PROGRAM_DIR "/image/stands", program);
  const outcome ran = shell("timeout -s KILL 100 ./weftrun -n 4 " + program +
                            " 'cp -f --remove-destination image/stands_cpp " + program + "'");
  EXPECT_EQ(ran.status, 1) << ran.text;
  EXPECT_EQ(times_in(ran.text, "ranks 0-3 called MPI_Recv from\nweft:     "), 1u) << ran.text;
  EXPECT_EQ(times_in(ran.text, " at "), 0u) << ran.text;
}

// --- How ranks end ----------------------------------------------------------------------------------

struct end_case {
  const char* program;
  const char* way;
  int status;
  const char* line;  // What the job says; empty: nothing.
};

class ends : public testing::TestWithParam<const char*> {};

// All ranks in one process, in two, and each in its own.
INSTANTIATE_TEST_SUITE_P(arrangements, ends,
                         testing::Values("--workers 2", "--processes 2", "--ranks-per-process 1"));

TEST_P(ends, badly_in_one_rank_the_job_ends_with_rank_and_reason) {
  WEFT_NEEDS_IMAGES();
  constexpr const char* with_7 = "weft: rank 1: ended with exit status 7, which ends the job";
  constexpr const char* aborted = "weft: rank 1 called abort()";
  constexpr const char* signalled = "weft: rank 1 sent its process the signal SIGTERM (Terminated)";
  std::vector<end_case> cases{
      {"ends", "exit", 7, with_7},
      {"ends", "throw", 1, "weft: rank 1: the reason"},
      {"ends", "abort", 134, aborted},
      // std::thread ends the process whose rank leaves it without having joined.
      {"ends", "throw-beside-join", 1, "weft: rank 1: the reason"},
      {"ends", "throw-beside-endless-join", 1, "weft: rank 1: the reason"},
      {"ends_c", "exit", 7, with_7},
      {"ends_c", "_exit", 7, with_7},
      {"ends_c", "_Exit", 7, with_7},
      {"ends_c", "quick_exit", 7, with_7},
      {"ends_c", "abort", 134, aborted},
      {"ends_c", "raise", 143, signalled},
      {"ends_c", "raise-34", 162,
       "weft: rank 1 sent its process the signal 34, which ends the job"},
      {"ends_c", "kill", 143, signalled},
      {"ends_c", "pthread_kill", 143, signalled},
      {"ends_c", "sigqueue", 143, signalled},
      {"ends_c", "pthread_kill-abort", 134,
       "weft: rank 1 sent its process the signal SIGABRT (Aborted), which ends the job"},
      {"ends_c", "kill-abort", 134,
       "weft: rank 1 sent its process the signal SIGABRT (Aborted), which ends the job"},
      {"ends_c", "killpg", 139, "weft: rank 1 sent its process the signal SIGSEGV"},
      {"ends_c", "raise-fault", 139, "weft: rank 1 sent its process the signal SIGSEGV"},
      {"ends_c", "thread-kill-fault", 139, "weft: rank 1 sent its process the signal SIGSEGV"},
      {"ends_c", "handled", 7, with_7},
      {"ends_c", "thread-abort", 134, "weft: rank 1 called abort() in a thread"},
      {"ends_c", "thread-fault", 139, "weft: rank 1 in a thread: Segmentation fault at address"},
      {"ends_c", "thread-overflow", 139,
       "weft: rank 1 in a thread overflowed the thread's stack of 8"},
      {"ends_c", "overflow", 139, "weft: rank 1 overflowed its stack of 8"},
      {"ends_c", "thread-raise", 143, signalled},
      // Status 0 is no success of a program that uses MPI.
      {"ends_c", "early", 1, "weft: rank 1: the program ended after MPI_Init without MPI_Finalize"},
  };
  if (fs::exists(WEFT_PROGRAM_DIR "/image/ends_fortran"))
    for (const end_case& one : std::vector<end_case>{
             {"ends_fortran", "stop", 7, with_7},
             {"ends_fortran", "error-stop", 7, with_7},
             {"ends_fortran", "stop-text", 1, "weft: rank 1: ended with exit status 1"},
             {"ends_fortran", "exit", 7, with_7},
             // Its run time takes the signals of faults for itself.
             {"ends_fortran", "abort", 134, aborted},
             {"ends_fortran", "fault", 139,
              "weft: rank 1 sent its process the signal SIGSEGV (Segmentation fault)"},
             {"ends_fortran", "failure", 2, "weft: rank 1: ended with exit status 2"}})
      cases.push_back(one);
  for (const end_case& one : cases) {
    const outcome ran =
        run_image(std::string("-n 4 ") + GetParam(), std::string(one.program) + " " + one.way);
    EXPECT_EQ(ran.status, one.status) << one.program << ' ' << one.way << '\n' << ran.text;
    EXPECT_NE(ran.text.find(one.line), std::string::npos) << one.program << ' ' << one.way << '\n'
                                                          << ran.text;
  }
}

// docs/protocols/stopping.md: the stop does not reach what a thread waits for.
TEST(image, a_job_that_ends_badly_while_a_rank_joins_a_thread_that_does_not_says_so) {
  WEFT_NEEDS_IMAGES();
  for (const char* const workers : {"1", "2"}) {
    const outcome ran =
        run_image(std::string("-n 2 --workers ") + workers, "ends throw-beside-endless-join");
    EXPECT_EQ(ran.status, 1) << ran.text;
    EXPECT_EQ(times_in(ran.text, "wait for threads that do not end"), 1u) << ran.text;
    EXPECT_EQ(times_in(ran.text, "rank 0 (worker 0): in pthread_join"), 1u) << ran.text;
  }
}

TEST_P(ends, badly_in_one_rank_while_others_compute_the_job_ends_with_rank_and_reason) {
  WEFT_NEEDS_IMAGES();
  std::vector<const char*> ways{"beside-exit"};
  // Where others need not be let in, rank 0 too, the coordinator, which decides how the job ends.
  if (std::string(GetParam()).starts_with("--ranks-per-process")) ways.push_back("beside-all-exit");
  for (const char* const way : ways) {
    const outcome ran = run_image(std::string("-n 4 ") + GetParam(), std::string("ends_c ") + way);
    EXPECT_EQ(ran.status, 7) << way << '\n' << ran.text;
    EXPECT_NE(ran.text.find("weft: rank 1: ended with exit status 7, which ends the job"),
              std::string::npos)
        << way << '\n'
        << ran.text;
  }
}

// Whoever computes: the first process, the coordinator, the others, or all.
TEST_P(ends, by_a_timeout_while_ranks_compute_the_job_says_so_once) {
  WEFT_NEEDS_IMAGES();
  for (const char* const way : {"beside-all-none", "beside-first-none", "beside-none"}) {
    const outcome ran = shell(std::string("timeout -s KILL 100 ./weftrun -n 4 --timeout 0.3 ") +
                              GetParam() + " image/ends_c " + way);
    EXPECT_EQ(ran.status, 124) << way << '\n' << ran.text;
    EXPECT_EQ(times_in(ran.text, "the job was ended after its timeout of 0.3 s\n"), 1u)
        << way << '\n'
        << ran.text;
  }
}

// weftrun's own limit, 3 s later, begins before the processes' does, which compute for 2 s more: here, and where
// a machine has too much to do.
TEST(image, a_timeout_that_a_process_has_told_of_is_not_told_by_weftrun_too) {
  WEFT_NEEDS_IMAGES();
  // The process may start so late that weftrun's limit ends it before it has told.
  std::size_t told = 0;
  for (int jobs = 0; jobs < 3 && told != 1; ++jobs) {
    const outcome ran = shell(
        "timeout -s KILL 100 ./weftrun -n 2 --timeout 0.3 --ranks-per-process 1 "
        "sh -c 'sleep 1.2; exec image/ends_c beside-all-none'");
    EXPECT_EQ(ran.status, 124) << ran.text;
    EXPECT_EQ(times_in(ran.text, "the job was ended after its timeout of 0.3 s\n"), 1u) << ran.text;
    told = times_in(ran.text, "weft: the job was ended");
  }
  EXPECT_EQ(told, 1u);
}

// While another thread of the rank has its worker's hand-off lock, and runs a fiber there.
TEST(image, a_mutex_that_a_rank_locks_beside_its_thread_is_known_to_be_held_across_a_wait) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = shell("timeout -s KILL 100 ./weftrun --check -n 2 --workers 2 image/holds");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(times_in(ran.text, "check: rank 1 waits in MPI_Recv while it holds the mutex at"), 1u)
      << ran.text;
}

// docs/protocols/attached-threads.md: a thread that sleeps in a pool, or waits in MPI, hides no stall.
TEST(image, a_job_with_threads_that_stands_still_says_so) {
  WEFT_NEEDS_IMAGES();
  for (const char* const workers : {"1", "2"})
    for (const char* const way : {"hangs-beside-pool", "hangs-beside-poller", "hangs-in-join"}) {
      outcome ran;
      const auto is_said_within = [&](const char* limit_s) {
        ran =
            shell(std::string("timeout -s KILL 100 ./weftrun -n 2 --busy-warning 0.5 --timeout ") +
                  limit_s + " --workers " + workers + " image/stands_still " + way);
        EXPECT_EQ(ran.status, 124) << ran.text;
        // Once, and again where it did not stand still all the time.
        const std::size_t told =
            times_in(ran.text, "for 0.5 s no rank has sent or received anything");
        EXPECT_LE(told, 3u) << ran.text;
        return told != 0;
      };
      EXPECT_TRUE(std::ranges::any_of(std::array{"2", "6", "20"}, is_said_within)) << way << '\n'
                                                                                   << ran.text;
      EXPECT_GE(times_in(ran.text, "in MPI_Recv, source 1, tag 5, 4 bytes, MPI_COMM_WORLD\n"), 1u)
          << ran.text;
    }
}

TEST(image, a_job_with_threads_that_goes_on_is_not_said_to_stand_still) {
  WEFT_NEEDS_IMAGES();
  for (const char* const way : {"computes", "sleeps", "sleeps-often", "sleeps-beside-pool",
                                "waits-for-child", "thread-probes"}) {
    const outcome ran = shell(
        std::string("timeout -s KILL 100 ./weftrun -n 2 --busy-warning 0.5 image/stands_still ") +
        way);
    EXPECT_EQ(ran.status, 0) << way << '\n' << ran.text;
    EXPECT_EQ(times_in(ran.text, "no rank has sent"), 0u) << way << '\n' << ran.text;
  }
}

// A thread cannot leave the rank's stack: its process ends, whose other ranks are told of.
TEST_P(ends, badly_in_a_thread_of_one_rank_the_job_ends_with_rank_and_reason) {
  WEFT_NEEDS_IMAGES();
  const bool is_alone = std::string(GetParam()).starts_with("--ranks-per-process");
  for (const auto& [way, call, status] :
       {std::tuple{"thread-exit", "exit(7)", 7}, std::tuple{"thread-_exit", "_exit(7)", 7},
        std::tuple{"thread-quick_exit", "_exit(7)", 7},
        std::tuple{"thread-exit-0", "exit(0)", 1}}) {
    const outcome ran = run_image(std::string("-n 4 ") + GetParam(), std::string("ends_c ") + way);
    EXPECT_EQ(ran.status, status) << way << '\n' << ran.text;
    const std::string line = is_alone
                                 ? "weftrun: process 1 (rank 1) on host "
                                 : "weft: rank 1 called " + std::string(call) +
                                       " in a thread while other ranks run, which ends the job";
    EXPECT_NE(ran.text.find(line), std::string::npos) << way << '\n' << ran.text;
  }
}

// A process that ended with status 0 would take the others with it, and call that a success.
TEST_P(ends, at_once_with_status_0_in_one_rank_the_others_go_on) {
  WEFT_NEEDS_IMAGES();
  for (const char* way : {"_exit-0", "quick_exit-0"}) {
    const outcome ran = run_image(std::string("-n 4 ") + GetParam(), std::string("ends_c ") + way);
    EXPECT_EQ(ran.status, 0) << way << ran.text;
    EXPECT_EQ(count_of(ran.text, "the others went on"), 3) << way << ran.text;
    EXPECT_EQ(count_of(ran.text, "handler of exit"), 0) << way << ran.text;
    EXPECT_EQ(count_of(ran.text, "handler of quick_exit"), way[0] == 'q' ? 1 : 0)
        << way << ran.text;
  }
}

TEST_P(ends, handlers_of_on_exit_are_its_own_and_get_its_status) {
  WEFT_NEEDS_IMAGES();
  for (const int status : {0, 7}) {
    const outcome ran = run_image(std::string("-n 4 ") + GetParam(),
                                  status == 0 ? "ends_c on_exit-0" : "ends_c on_exit");
    EXPECT_EQ(ran.status, status) << ran.text;
    EXPECT_EQ(count_of(ran.text, "handler of on_exit with " + std::to_string(status)), 1)
        << ran.text;
  }
}

TEST(image, a_forked_child_gives_handlers_of_on_exit_its_status) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 4 --workers 1", "ends_c on_exit-fork-0");
  EXPECT_EQ(ran.status, 0) << ran.text;
  for (const char* const status : {"0", "3"})
    EXPECT_EQ(count_of(ran.text, std::string("handler of on_exit with ") + status), 1) << ran.text;
}

TEST(image, a_forked_child_ends_also_when_another_rank_was_asking_for_its_environment) {
  WEFT_NEEDS_IMAGES();
  const outcome ran =
      run_image("-n 2 --workers 2 --shared-libraries " WEFT_PROGRAM_DIR "/image/system/", "forks");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(count_of(ran.text, "right"), 2) << ran.text;
}

TEST(image, finalize_is_the_end_of_mpi_also_where_a_process_has_died) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 2 --ranks-per-process 1 --on-failure error", "ends_c killed");
  EXPECT_NE(ran.status, 0) << ran.text;
  // It succeeds on the living.
  EXPECT_EQ(count_of(ran.text, "finalized 1 with an error 0"), 1) << ran.text;
  EXPECT_NE(ran.text.find("MPI_Comm_rank(MPI_COMM_WORLD): MPI has been finalised"),
            std::string::npos)
      << ran.text;
}

TEST_P(ends, a_child_of_a_rank_ends_alone) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image(std::string("-n 4 ") + GetParam(), "ends_c fork");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(count_of(ran.text, "the others went on"), 4) << ran.text;
}

// --- What a process has once ------------------------------------------------------------------------

TEST(image, the_environment_belongs_to_one_rank) {
  WEFT_NEEDS_IMAGES();
  for (const char* how : {"--workers 1", "--workers 2", "--processes 2", "--ranks-per-process 1"}) {
    const outcome ran = run_image(std::string("-n 6 ") + how, "own_environment");
    EXPECT_EQ(ran.status, 0) << how << '\n' << ran.text;
    EXPECT_EQ(count_of(ran.text, "right"), 6) << how << '\n' << ran.text;
  }
}

TEST(image, ranks_may_go_to_one_directory_and_are_refused_different_ones) {
  WEFT_NEEDS_IMAGES();
  const auto run_in = [](const std::string& how, const std::string& way) {
    const scratch_directory directory;
    return run_image("-n 4 " + how, "directories " + directory.path() + " " + way);
  };
  for (const char* how : {"--workers 2", "--ranks-per-process 1"}) {
    const outcome together = run_in(how, "together");
    EXPECT_EQ(together.status, 0) << how << together.text;
    EXPECT_EQ(count_of(together.text, "right"), 4) << how << together.text;
  }
  for (const char* how : {"--workers 2", "--processes 2", "--ranks-per-process 1"}) {
    const outcome apart = run_in(how, "apart");
    EXPECT_EQ(apart.status, 0) << how << apart.text;
    EXPECT_EQ(count_of(apart.text, "right"), 4) << how << apart.text;
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_EQ(count_of(apart.text, "rank " + std::to_string(rank) + " alone 0"), 1)
          << how << apart.text;
  }
}

TEST(image, threads_of_a_rank_change_what_a_process_has_once_as_the_rank_would) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  const std::string program = "in_threads " + directory.path();
  const outcome shared = run_image(
      "-n 3 --workers 1 --check --shared-libraries " WEFT_PROGRAM_DIR "/image/system/", program);
  EXPECT_EQ(shared.status, 0) << shared.text;
  EXPECT_EQ(count_of(shared.text, "right"), 3) << shared.text;
  EXPECT_EQ(count_of(shared.text, "rank 0 alone 0"), 1) << shared.text;
  EXPECT_EQ(count_of(shared.text, "rank 1 alone 0"), 1) << shared.text;
  EXPECT_EQ(count_of(shared.text, "rank 2 alone 0"), 1) << shared.text;
  EXPECT_EQ(shared.text.find("handler"), std::string::npos) << shared.text;
  const outcome own = run_image("-n 3 --ranks-per-process 1", program);
  EXPECT_EQ(count_of(own.text, "right"), 3) << own.text;
  EXPECT_EQ(count_of(own.text, "rank 2 alone 0"), 1) << own.text;
}

TEST(image, standard_input_belongs_to_the_first_rank) {
  WEFT_NEEDS_IMAGES();
  for (const char* how : {"--workers 2", "--processes 2"}) {
    const outcome ran = shell(
        std::string("printf '42\\na line\\n' | timeout -s KILL 60 ./weftrun --timeout 30 -n 4 ") +
        how + " image/input");
    EXPECT_EQ(ran.status, 0) << how << '\n' << ran.text;
    EXPECT_EQ(count_of(ran.text, "right"), 4) << how << '\n' << ran.text;
  }
}

TEST(image, with_check_ranks_that_set_languages_of_the_process_are_told) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 3 --workers 1 --check", "handlers");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(ran.text.find("handler"), std::string::npos) << ran.text;  // Each has its own.
  EXPECT_NE(ran.text.find("rank 1 sets LC_NUMERIC to C.UTF-8, rank 0 to C: "), std::string::npos)
      << ran.text;
  EXPECT_NE(ran.text.find("rank 1 sets RLIMIT_NOFILE to 1001, rank 0 to 1000: "), std::string::npos)
      << ran.text;
  EXPECT_EQ(ran.text.find("SIGINT"), std::string::npos) << ran.text;
  EXPECT_EQ(ran.text.find("LC_CTYPE"), std::string::npos) << ran.text;
  EXPECT_EQ(ran.text.find("mask"), std::string::npos) << ran.text;
  EXPECT_EQ(run_image("-n 3 --workers 1", "handlers").text, "");
}

// Ranks that bind themselves: to one CPU all. That is their own affair where workers are shared, and told.
TEST(image, a_rank_that_binds_itself_moves_no_worker) {
  WEFT_NEEDS_IMAGES();
  for (const char* const shape : {"--workers 2", "--workers 1", "--processes 2"}) {
    const outcome ran = run_image(std::string("-n 4 ") + shape, "affinity shared");
    EXPECT_EQ(ran.status, 0) << shape << '\n' << ran.text;
    EXPECT_EQ(times_in(ran.text, " right"), 4u) << shape << '\n' << ran.text;
  }
  const outcome apart = run_image("-n 2 --ranks-per-process 1", "affinity");
  EXPECT_EQ(apart.status, 0) << apart.text;
  EXPECT_EQ(times_in(apart.text, " right"), 2u) << apart.text;
  EXPECT_EQ(shell("timeout -s KILL 60 image/affinity").status, 0);
  const outcome told = run_image("-n 4 --workers 2 --check", "affinity shared");
  EXPECT_EQ(told.status, 0) << told.text;
  EXPECT_NE(told.text.find("binds itself to CPUs in main at "), std::string::npos) << told.text;
  EXPECT_NE(told.text.find("affinity.c:56"), std::string::npos) << told.text;
}

// Loops of failing tests and probes in more processes than there are cores, each of which says how many tests it took.
TEST(image, a_test_that_fails_gives_its_core_up_where_there_are_more_processes_than_cores) {
  WEFT_NEEDS_IMAGES();
  const int processes = static_cast<int>(std::thread::hardware_concurrency()) * 2;
  if (processes > 16) GTEST_SKIP() << "many cores";
  const outcome ran = run_image("--ranks-per-process 1 -n " + std::to_string(processes), "polls");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(count_of(ran.text, "right"), 1) << ran.text;
}

// The same whether the run time has debug information or not, as when it is installed.
TEST(image, with_check_the_line_of_the_program_that_began_a_request_is_named) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  const std::string stripped = directory / "lib";
  ASSERT_EQ(shell("cp -r ../lib/weft " + stripped + " && for f in " + stripped +
                  "/libweft.so.*.*.*; do objcopy -g $f $f.g && mv $f.g $f; done")
                .status,
            0);
  const struct {
    const char* how;
    const char* line;
  } cases[] = {{"isend", "where.c:14"},
               {"issend", "where.c:15"},
               {"start", "where.c:18"},
               {"irecv", "where.c:20"},
               {"left", "where.c:13"}};
  for (const std::string& preloaded : {std::string(), "LD_LIBRARY_PATH=" + stripped + " "})
    for (const auto& [how, line] : cases) {
      const outcome ran = shell(
          preloaded + "timeout -s KILL 100 ./weftrun --timeout 60 -n 2 --check image/where " + how);
      EXPECT_EQ(ran.status, 1) << ran.text;
      EXPECT_NE(ran.text.find(std::string("in main at ")), std::string::npos) << ran.text;
      EXPECT_NE(ran.text.find(line), std::string::npos) << preloaded << how << '\n' << ran.text;
      EXPECT_EQ(ran.text.find("in_any_case"), std::string::npos) << ran.text;
    }
}

// docs/images.md, tools.
TEST(image, tools_work_in_a_process_for_each_rank_and_say_so_elsewhere) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  const std::string run = "timeout -s KILL 100 ./weftrun --timeout 90 -n 2 ";
  const struct {
    const char* sanitizer;
    const char* wrong;
    const char* found;
  } cases[] = {{"address", "beyond", "heap-buffer-overflow"},
               {"address", "leak", "100000 byte(s) in 100 object(s)"},
               {"leak", "leak", "100000 byte(s) in 100 object(s)"},
               {"thread", "race", "data race"}};
  for (const auto& [sanitizer, wrong, found] : cases) {
    const std::string program = directory / sanitizer;
    const outcome built = shell("./weftcc -g -pthread -fsanitize=" + std::string(sanitizer) +
                                " " WEFT_SOURCE_DIR "/tests/image/wrong_memory.c -o " + program);
    if (built.text.find("cannot find") != std::string::npos) GTEST_SKIP() << built.text;
    ASSERT_EQ(built.status, 0) << built.text;
    const outcome together = shell(run + "--ranks-per-process 2 " + program);
    EXPECT_NE(together.status, 0) << together.text;
    EXPECT_EQ(lines_of(together.text).size(), 1u) << together.text;
    EXPECT_NE(
        together.text.find("knows one program in a process: run it with --ranks-per-process 1"),
        std::string::npos)
        << together.text;
    const outcome apart = shell(run + program);
    EXPECT_EQ(apart.status, 0) << sanitizer << apart.text;
    EXPECT_EQ(apart.text,
              "weftrun: " + program + " is linked with -fsanitize=" + sanitizer +
                  ", which knows one program in a process: each rank gets a process of its own\n");
    const outcome good = shell(run + "--ranks-per-process 1 " + program);
    EXPECT_EQ(good.status, 0) << sanitizer << good.text;
    EXPECT_EQ(good.text, "") << sanitizer;
    const outcome bad = shell(run + "--ranks-per-process 1 " + program + " " + wrong);
    EXPECT_NE(bad.status, 0) << bad.text;
    EXPECT_NE(bad.text.find(found), std::string::npos) << sanitizer << bad.text;
  }
  const outcome profiled = shell("./weftcc -pg " WEFT_SOURCE_DIR "/tests/image/wrong_memory.c -o " +
                                 (directory / "profiled"));
  EXPECT_EQ(profiled.status, 0) << profiled.text;
  EXPECT_NE(profiled.text.find("writes no gmon.out: use perf record"), std::string::npos)
      << profiled.text;
  if (shell("valgrind --version").status != 0) return;
  const std::string plain = directory / "plain";
  shell("./weftcc -g " WEFT_SOURCE_DIR "/tests/image/wrong_memory.c -o " + plain);
  EXPECT_NE(
      shell("valgrind -q " + plain + " --weft-ranks 2").text.find("valgrind does not follow "),
      std::string::npos);
  EXPECT_NE(shell("valgrind -q " + plain + " beyond").text.find("Invalid write of size 1"),
            std::string::npos);
}

// Those from 257 on are loaded while the loader does not see the others.
TEST(image, the_loader_has_hundreds_of_copies_in_its_list) {
  WEFT_NEEDS_IMAGES();
  for (const char* how : {"--workers 1", "--workers 2"}) {
    const outcome ran = run_image(std::string("-n 600 ") + how, "listed image/opened/libsecond.so");
    EXPECT_EQ(ran.status, 0) << how << '\n' << ran.text;
    EXPECT_EQ(ran.text, "") << how;
  }
  const outcome of_two_files = run_image("-n 300 --workers 2", "with_library");
  EXPECT_EQ(of_two_files.status, 0) << of_two_files.text;
}

// What the system refuses is said with the limit that was reached.
TEST(image, a_limit_that_keeps_copies_from_being_loaded_is_named) {
  WEFT_NEEDS_IMAGES();
  const auto with = [](const std::string& limit, const std::string& words) {
    return shell(limit + "; timeout -s KILL 60 ./weftrun --timeout 30 " + words).text;
  };
  EXPECT_NE(
      with("ulimit -n 16", "-n 2 image/globals").find("limit on open files (ulimit -n) is 16"),
      std::string::npos)
      << with("ulimit -n 16", "-n 2 image/globals");
  EXPECT_NE(with("ulimit -v 100000", "-n 2 image/globals").find("(ulimit -v) is 100000 KiB"),
            std::string::npos)
      << with("ulimit -v 100000", "-n 2 image/globals");
  const std::string refused =
      shell("./test-forbid memfd ./weftrun --timeout 30 -n 2 image/globals").text;
  EXPECT_NE(refused.find("memfd_create: Operation not permitted: ranks that share a process need"),
            std::string::npos)
      << refused;
  const outcome apart = shell(
      "./test-forbid memfd timeout -s KILL 60 ./weftrun --timeout 30 -n 2 --ranks-per-process 1 image/globals -a file -b 7 --level 3");
  EXPECT_EQ(apart.status, 0) << apart.text;
}

// Fortran's run time takes signals for itself in each copy.
TEST(image, with_check_handlers_of_a_run_time_are_not_told) {
  WEFT_NEEDS_IMAGES();
  if (shell("gfortran --version").status != 0) GTEST_SKIP() << "gfortran is not installed";
  const scratch_directory directory;
  const outcome ran = run_image("-n 3 --workers 1 --check", "fortran " + directory.path());
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(ran.text.find("sets the handler"), std::string::npos) << ran.text;
}

// --- Libraries --------------------------------------------------------------------------------------

TEST(image, a_library_that_knows_nothing_of_weft_shares_the_state_of_its_program_alone) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 8 --workers 2", "with_numbers -a -b 7");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(count_of(ran.text, "right"), 8) << ran.text;
}

// Where the system's lie, or the user says so, a library is one for all ranks, unless the user says that.
TEST(image, the_settings_say_which_libraries_are_shared) {
  WEFT_NEEDS_IMAGES();
  const std::string directory = WEFT_PROGRAM_DIR "/image/system/";
  const outcome shared =
      run_image("-n 4 --workers 1 --shared-libraries " + directory, "with_numbers -a -b 7");
  EXPECT_NE(shared.text.find("wrong: getopt()'s index in the library"), std::string::npos)
      << shared.text;
  const outcome own = run_image("-n 4 --workers 1 --shared-libraries " + directory +
                                    " --private-libraries libother,libnumbers",
                                "with_numbers -a -b 7");
  EXPECT_EQ(count_of(own.text, "right"), 4) << own.text;
}

TEST(wrapper, names_shared_libraries_that_hold_state) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  std::ofstream(directory / "state.c")
      << "static int values[100]; int value(int i) { return values[i]++; }\n";
  std::ofstream(directory / "none.c") << "int none(int i) { return i; }\n";
  std::ofstream(directory / "main.c") << "int value(int); int none(int);\n"
                                         "int main(void) { return value(none(1)); }\n";
  const std::string start = "cc=$PWD/weftcc; cd " + directory.path() + "; ";
  const outcome made = shell(
      start + "gcc -shared -fPIC state.c -o libstate.so; gcc -shared -fPIC none.c -o libnone.so");
  ASSERT_EQ(made.status, 0) << made.text;
  const auto link = [&](const std::string& environment) {
    return shell(start + environment + " $cc main.c -L. -lstate -lnone -Wl,-rpath," +
                 directory.path() + " -o main");
  };
  // The program's own: nothing to be said.
  EXPECT_EQ(link("").text, "");
  // As if the system had brought them.
  const std::string of_system = "WEFT_SHARED_LIBRARIES=" + directory.path() + "/";
  const outcome told = link(of_system);
  EXPECT_EQ(told.status, 0) << told.text;
  EXPECT_EQ(lines_of(told.text).size(), 1u) << told.text;
  EXPECT_NE(told.text.find("ranks of one process share " + (directory / "libstate.so")),
            std::string::npos)
      << told.text;
  EXPECT_NE(told.text.find("WEFT_PRIVATE_LIBRARIES=libstate "), std::string::npos) << told.text;
  EXPECT_EQ(link(of_system + ",libstate").text, "");
  EXPECT_EQ(link(of_system + " WEFT_PRIVATE_LIBRARIES=libstate").text, "");
}

// A second copy of the private one would come with it otherwise.
TEST(image, a_shared_library_that_uses_a_private_one_is_private_too) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  std::ofstream(directory / "low.c") << "static int calls; int low(void) { return ++calls; }\n";
  std::ofstream(directory / "high.c") << "int low(void); int high(void) { return low(); }\n";
  std::ofstream(directory / "main.c")
      << "int low(void); int high(void);\n"
         "int main(void) { return low() == 1 && high() == 2 && low() == 3 ? 0 : 1; }\n";
  const outcome ran = shell(
      "cc=$PWD/weftcc; run=$PWD/weftrun; cd " + directory.path() +
      "; gcc -shared -fPIC low.c -o liblow.so && gcc -shared -fPIC high.c -L. -llow -Wl,-rpath,$PWD -o libhigh.so && "
      "$cc main.c -L. -lhigh -llow -Wl,-rpath,$PWD -o main && "
      "WEFT_SHARED_LIBRARIES=$PWD/ WEFT_PRIVATE_LIBRARIES=liblow $run -n 4 --timeout 30 ./main");
  EXPECT_EQ(ran.status, 0) << ran.text;
}

TEST(image, libraries_that_a_program_opens_are_its_ranks_own) {
  WEFT_NEEDS_IMAGES();
  for (const char* how : {"--workers 1", "--workers 2", "--processes 2", "--ranks-per-process 1"}) {
    const outcome ran = run_image(std::string("-n 4 ") + how, "opens image/opened");
    EXPECT_EQ(ran.status, 0) << how << '\n' << ran.text;
    EXPECT_EQ(count_of(ran.text, "right"), 4) << how << '\n' << ran.text;
  }
}

TEST(image, a_library_that_all_ranks_share_opens_what_its_own_path_names) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  std::ofstream(directory / "inner.c") << "int inner(void) { return 1; }\n";
  std::ofstream(directory / "outer.c")
      << "#include <dlfcn.h>\n"
         "int outer(void) { return dlopen(\"libinner.so\", RTLD_NOW) != 0; }\n";
  std::ofstream(directory / "main.c")
      << "int outer(void);\nint main(void) { return outer() ? 0 : 1; }\n";
  const outcome ran = shell(
      "cc=$PWD/weftcc; run=$PWD/weftrun; cd " + directory.path() +
      "; mkdir inner && gcc -shared -fPIC inner.c -o inner/libinner.so && "
      "gcc -shared -fPIC outer.c -Wl,--enable-new-dtags,-rpath,'$ORIGIN/inner' -o libouter.so && "
      "$cc main.c -L. -louter -Wl,--enable-new-dtags,-rpath,$PWD -o main && "
      "WEFT_SHARED_LIBRARIES=$PWD/ $run -n 4 --timeout 30 ./main");
  EXPECT_EQ(ran.status, 0) << ran.text;
}

TEST(image, with_check_a_library_with_state_that_all_ranks_open_is_named_once) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  std::ofstream(directory / "state.c")
      << "static int values[100]; int value(int i) { return values[i]++; }\n";
  std::ofstream(directory / "main.c")
      << "#include <dlfcn.h>\nint main(int argc, char** argv) { return dlopen(argv[1], RTLD_NOW) == 0; }\n";
  const std::string library = directory / "libstate.so";
  const outcome made = shell("cc=$PWD/weftcc; cd " + directory.path() +
                             "; gcc -shared -fPIC state.c -o libstate.so && $cc main.c -o main");
  ASSERT_EQ(made.status, 0) << made.text;
  const auto run_with = [&](const std::string& words) {
    return shell("./weftrun -n 4 --timeout 30 " + words + " " + (directory / "main") + " " +
                 library);
  };
  EXPECT_EQ(run_with("--check").text, "");
  const std::string as_of_system = "--shared-libraries " + directory.path() + "/";
  const outcome told = run_with("--check " + as_of_system);
  EXPECT_EQ(told.status, 0) << told.text;
  EXPECT_EQ(lines_of(told.text).size(), 1u) << told.text;
  EXPECT_NE(told.text.find("weft: check: ranks of one process share " + library), std::string::npos)
      << told.text;
  EXPECT_EQ(run_with(as_of_system).text, "");
}

TEST(image, a_program_alone_ends_as_any_program) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = shell("image/ends exit");
  EXPECT_EQ(ran.status, 7) << ran.text;
  EXPECT_EQ(ran.text, "handler 2 in rank 0\nhandler 1 in rank 0\ndestroyed in rank 0\n");
}

TEST(image, fortran_has_its_globals_and_its_units_in_each_rank) {
  WEFT_NEEDS_IMAGES();
  if (shell("gfortran --version").status != 0) GTEST_SKIP() << "gfortran is not installed";
  const scratch_directory directory;
  const outcome ran = run_image("-n 8 --workers 2", "fortran " + directory.path());
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(count_of(ran.text, " right"), 8) << ran.text;
  for (int rank = 0; rank < 8; ++rank) {
    const std::string r = std::to_string(rank);
    EXPECT_EQ(count_of(ran.text, "rank " + r + " begins and ends " + r), 1) << ran.text;
    std::ifstream unit(directory / ("unit" + r));
    for (int line = 0, got = -1; line < 5; ++line) {
      unit >> got;
      EXPECT_EQ(got, rank);
    }
  }
}

// 6 copies used up what glibc sets aside.
TEST(image, initial_exec_thread_locals_work_in_64_copies) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 64 --workers 2", "initial_exec");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(count_of(ran.text, "right"), 64) << ran.text;
}

TEST(image, a_library_of_the_program_belongs_to_one_rank_and_calls_its_program) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run_image("-n 16 --workers 2", "with_library");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(count_of(ran.text, "right"), 16) << ran.text;
}

TEST(image, a_copied_program_runs_from_elsewhere) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  fs::copy(WEFT_PROGRAM_DIR "/image/globals", directory / "moved program");
  const outcome ran = shell("timeout -s KILL 60 ./weftrun -n 3 '" + (directory / "moved program") +
                            "' -a file -b 7 --level 3");
  EXPECT_EQ(count_of(ran.text, "right"), 3) << ran.text;
}

TEST(image, the_environment_of_ranks_is_the_users) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = shell("LD_LIBRARY_PATH=/nowhere image/environment --weft-ranks 2");
  EXPECT_EQ(ran.text, "/nowhere - -\n/nowhere - -\n");
}

// Of the memory of such a process all but pages of files on disk, whose share falls when other programs use
// the same libraries. Copies of files, which are in memory, count.
long own_kib_of(int ranks, const std::string& program) {
  const outcome ran = run_image("-n " + std::to_string(ranks) + " --workers 2", program);
  long kib = 0;
  const std::size_t at = ran.text.find(" own_kib ");
  if (at != std::string::npos) std::sscanf(ran.text.c_str() + at, " own_kib %ld", &kib);
  EXPECT_GT(kib, 0) << ran.text;
  return kib;
}

// Each rank's pools of MPI included.
TEST(image, a_further_rank_of_an_mpi_program_costs_little_memory) {
  WEFT_NEEDS_IMAGES();
  struct limit {
    const char* program;
    long kib;
  };
  // What the files of a copy write, and 128.
  for (const auto& [program, kib] :
       {limit{"footprint", 16 + 128}, limit{"footprint_library", 32 + 128},
        limit{"footprint_fortran", 64 + 128}}) {
    if (!fs::exists(WEFT_PROGRAM_DIR "/image/" + std::string(program))) continue;
    const long few = own_kib_of(2, program), many = own_kib_of(66, program);
    EXPECT_LE((many - few) / 64, kib) << program << ' ' << few << ' ' << many;
    EXPECT_GT(many, few) << program;
  }
}

// Code and constants are one, what is written, what only the loader writes, a blank page; the stack and the gap below it.
TEST(image, a_further_rank_takes_six_mappings) {
  WEFT_NEEDS_IMAGES();
  const auto mappings_of = [](int ranks) {
    const outcome ran = run_image(formatted("-n {} --workers 1", ranks), "footprint");
    long count = 0;
    if (const auto at = ran.text.find(" mappings "); at != ran.text.npos)
      std::sscanf(ran.text.c_str() + at, " mappings %ld", &count);
    EXPECT_GT(count, 0) << ran.text;
    return count;
  };
  // Stacks come in blocks: 31 of them, and 255.
  EXPECT_NEAR(static_cast<double>(mappings_of(248) - mappings_of(24)) / 224, 6, 0.25);
}

// The program has 1 MiB of constants and some ten KiB that are written.
TEST(image, copies_share_their_code_and_constants) {
  WEFT_NEEDS_IMAGES();
  const long few = own_kib_of(2, "memory"), many = own_kib_of(66, "memory");
  EXPECT_LE((many - few) / 64, 32 + 128) << few << ' ' << many;
}

TEST(image, nothing_is_left_behind_by_a_job_that_is_killed) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = shell(
      // Other tests may run at this time: only what bears the number of this job counts.
      "image/waiting --weft-ranks 4 & job=$!; sleep 2; kill -KILL $job; wait $job 2>/dev/null; "
      "ls /dev/shm /tmp | grep weft | grep -c \"$job\"");
  EXPECT_EQ(lines_of(ran.text).back(), "0") << ran.text;
}

TEST(image, gdb_stops_in_each_copy_and_shows_its_functions_and_lines) {
  WEFT_NEEDS_IMAGES();
  if (shell("gdb -q -batch -nx -ex 'break main' -ex run --args ./test-job")
          .text.find("Breakpoint 1, main") == std::string::npos)
    GTEST_SKIP() << "gdb is not installed or may not trace here";
  const outcome ran = shell(
      "timeout -s KILL 100 gdb -q -batch -nx -ex 'set debuginfod enabled off' "
      "-ex 'set breakpoint pending on' -ex 'catch exec' -ex run -ex 'break stop_here' -ex continue "
      "-ex 'print own_number' -ex bt -ex continue -ex up -ex 'print own_number' -ex bt -ex 'kill' "
      "--args image/debugged --weft-ranks 2 --weft-workers 1 --weft-pin=off");
  EXPECT_NE(ran.text.find("$1 = 1000"), std::string::npos) << ran.text;
  EXPECT_NE(ran.text.find("$2 = 1001"), std::string::npos) << ran.text;
  const std::size_t first = ran.text.find("in main () at ");
  ASSERT_NE(first, std::string::npos) << ran.text;
  EXPECT_NE(ran.text.find("debugged.cpp:12", first), std::string::npos) << ran.text;
  EXPECT_NE(ran.text.find("in main () at ", first + 1), std::string::npos) << ran.text;
}

TEST(image, gdb_that_comes_later_prints_the_variables_of_each_copy) {
  WEFT_NEEDS_IMAGES();
  if (shell("gdb -q -batch -nx -ex 'break main' -ex run --args ./test-job")
          .text.find("Breakpoint 1, main") == std::string::npos)
    GTEST_SKIP() << "gdb is not installed or may not trace here";
  const scratch_directory directory;
  // Each rank computes on a thread of its own: both stacks are there to be looked at.
  const outcome ran = shell(
      "image/attached --weft-ranks 2 --weft-workers 2 --weft-pin=off --weft-timeout 90 > " +
      (directory / "out") +
      " & job=$!; "
      "while [ $(grep -c waiting " +
      (directory / "out") +
      ") -lt 2 ] && kill -0 $job; do sleep 0.1; done; "
      "timeout -s KILL 100 gdb -q -batch -nx -ex 'set debuginfod enabled off' "
      "-ex 'source " WEFT_SOURCE_DIR
      "/tools/gdb/weft.py'  "
      "-ex \"python for t in gdb.selected_inferior().threads(): t.switch(); "
      "[gdb.execute(c) for f in [gdb.newest_frame()] if f.name() == 'wait_for_debugger' for c in "
      "('weft print own_number - local', 'weft print own_pair.second + 3')]\" -p $job; "
      "kill -KILL $job; wait $job 2>/dev/null");
  EXPECT_EQ(ran.status, 128 + SIGKILL) << ran.text;
  for (const char* line : {" = 2003", " = 2004"})
    EXPECT_NE(ran.text.find(line), std::string::npos) << ran.text;
  std::size_t same = 0;
  for (const std::string& line : lines_of(ran.text)) same += line.ends_with(" = 1000");
  EXPECT_EQ(same, 2u) << ran.text;
}

TEST(image, the_report_names_functions_and_lines_of_copies) {
  WEFT_NEEDS_IMAGES();
  outcome ran;
  const auto are_named_within = [&](const std::string& limit_s) {
    ran = run_image("-n 3 --workers 1 --timeout " + limit_s, "waiting");
    return ran.text.find("wait_for_nobody") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::any_of(std::array{"1", "5", "20"}, are_named_within)) << ran.text;
}

TEST(image, a_program_linked_statically_is_refused_with_the_reason) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = shell("./weftcc -static x.c -o x");
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.text.find("weftcc: -static: each rank loads a copy"), std::string::npos)
      << ran.text;
}

TEST(weftrun, says_that_a_program_was_not_built_with_weft) {
  const scratch_directory directory;
  const std::string program = directory / "plain";
  fs::copy("/bin/echo", program);
  const outcome ran = shell("./weftrun -n 2 " + program + " done");
  EXPECT_EQ(count_of(ran.text, "weftrun: " + program +
                                   " was not built with weft and knows nothing "
                                   "of ranks: build it with weftcc, weftcxx or weftfc"),
            1)
      << ran.text;
  EXPECT_EQ(count_of(ran.text, "done"), 1) << ran.text;
  EXPECT_EQ(shell("./weftrun -n 2 echo done").text, "done\n");
}

TEST(weftrun, refuses_a_program_of_another_mpi) {
  const scratch_directory directory;
  for (const auto& [library, said] :
       {std::pair{"libmpi.so.20", "is linked with another MPI (libmpi.so...)"},
        std::pair{"libmpi_cray.so", "is linked with another MPI (libmpi_cray...)"}}) {
    std::ofstream(directory / "other") << "\177ELF " << library << '\0';
    const outcome ran = shell("./weftrun -n 2 " + (directory / "other"));
    EXPECT_EQ(ran.status, 2);
    EXPECT_NE(ran.text.find(said), std::string::npos) << ran.text;
    EXPECT_EQ(lines_of(ran.text).size(), 1u) << ran.text;
  }
}

// --- The wrappers -----------------------------------------------------------------------------------

TEST(wrapper, compiles_links_and_preprocesses_as_a_compiler_does) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  std::ofstream(directory / "one.c") << "int two(void);\nint main(void) { return two() - 2; }\n";
  std::ofstream(directory / "two.c") << "#include <math.h>\nint two(void) { return VALUE; }\n";
  const std::string cd = "cc=$PWD/weftcc; run=$PWD/weftrun; cd " + directory.path() + " && ";
  const outcome parts = shell(cd +
                              "$cc -DVALUE=2 -c one.c two.c && ar rcs libtwo.a two.o && "
                              "$cc one.o -L. -ltwo -lm -o program && $run -n 3 ./program");
  EXPECT_EQ(parts.status, 0) << parts.text;
  EXPECT_EQ(shell(cd + "$cc '-DVALUE=1 + 1' one.c two.c && ./a.out").status, 0);
  EXPECT_EQ(shell(cd + "$cc -E -DVALUE=77 two.c | grep -c 'return 77'").text, "1\n");
  EXPECT_EQ(shell(cd + "$cc -MM two.c").text, "two.o: two.c\n");
  EXPECT_EQ(shell(cd + "$cc -S -DVALUE=2 two.c -o - | grep -c '^two:'").text, "1\n");
  EXPECT_NE(shell(cd + "$cc --version").text.find("Free Software"), std::string::npos);
  const outcome missing = shell(cd + "$cc one.c -o program");
  EXPECT_NE(missing.status, 0);
  EXPECT_NE(missing.text.find("undefined reference to `two'"), std::string::npos) << missing.text;
}

TEST(wrapper, works_with_clang) {
  WEFT_NEEDS_IMAGES();
  if (shell("clang --version && clang++ --version").status != 0)
    GTEST_SKIP() << "clang is not installed";
  const scratch_directory directory;
  const std::string sources = WEFT_SOURCE_DIR "/tests/image/";
  const auto make = [&](const std::string& words) {
    return shell("WEFT_CC=clang WEFT_CXX=clang++ ./" + words + " -O1 -o " +
                 (directory / "program"));
  };
  const auto started = [&](const std::string& words) {
    return shell("timeout -s KILL 60 ./weftrun --timeout 50 -n 8 --workers 2 " +
                 (directory / "program") + words);
  };
  const outcome c = make("weftcc -std=gnu11 " + sources + "globals.c");
  ASSERT_EQ(c.status, 0) << c.text;
  const outcome globals = started(" -a file -b 7 --level 3");
  EXPECT_EQ(count_of(globals.text, "right"), 8) << globals.text;
  ASSERT_EQ(make("weftcc " + sources + "own_environment.c").status, 0);
  const outcome own = started("");
  EXPECT_EQ(count_of(own.text, "right"), 8) << own.text;
  ASSERT_EQ(make("weftcc " + sources +
                 "with_numbers.c image/system/libnumbers.so.1 -Wl,-rpath,$PWD/image/system")
                .status,
            0);
  const outcome library = started(" -a -b 7");
  EXPECT_EQ(count_of(library.text, "right"), 8) << library.text;
  // What clang of Debian takes for its library is GCC's, as for g++.
  const outcome cxx = make("weftcxx -std=c++20 " + sources + "objects.cpp");
  ASSERT_EQ(cxx.status, 0) << cxx.text;
  const outcome objects = started("");
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_EQ(count_of(objects.text, "rank " + std::to_string(rank) + " right"), 1) << objects.text;
}

TEST(wrapper, a_program_may_define_what_weft_would_put_in_place_of_the_c_librarys) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  std::ofstream(directory / "own.c")
      << "#include <stdlib.h>\n"
         "long random(void) { return 4; }\n"
         "int getopt(int c, char* const* v, const char* s) { (void)c; (void)v; (void)s; return 5; }\n"
         "int getopt(int, char* const*, const char*);\n"
         "int main(void) { srand(1); return random() == 4 && rand() != 4 && getopt(0, 0, \"\") == 5 ? 0 : 1; }\n";
  const outcome ran = shell("./weftcc " + (directory / "own.c") + " -o " + (directory / "own") +
                            " && timeout -s KILL 60 ./weftrun -n 3 " + (directory / "own"));
  EXPECT_EQ(ran.status, 0) << ran.text;
}

TEST(wrapper, a_program_without_main_is_refused) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  std::ofstream(directory / "no.c") << "int number(void) { return 1; }\n";
  const outcome made = shell("./weftcc " + (directory / "no.c") + " -o " + (directory / "no"));
  EXPECT_NE(made.status, 0);
  EXPECT_NE(made.text.find("main"), std::string::npos) << made.text;
}

TEST(wrapper, shows_what_it_would_do) {
  WEFT_NEEDS_IMAGES();
  const outcome all = shell("./weftcc -show 'a b.c' -o prog");
  EXPECT_TRUE(all.text.find(" 'a b.c' -o prog ") != std::string::npos) << all.text;
  EXPECT_NE(all.text.find("-shared"), std::string::npos) << all.text;
  const outcome compile = shell("./weftcxx -compile-info");
  EXPECT_NE(compile.text.find("-fPIC"), std::string::npos) << compile.text;
  EXPECT_EQ(compile.text.find("-shared"), std::string::npos) << compile.text;
  EXPECT_NE(shell("./weftcc -link-info").text.find("libweft"), std::string::npos);
}

TEST(wrapper, tells_build_systems_its_flags_under_each_of_its_names) {
  WEFT_NEEDS_IMAGES();
  const auto has = [](const std::string& text, const std::string& word) {
    return (" " + text).find(" " + word) != std::string::npos;
  };
  const std::string usual = "../lib/weft/bin/";
  struct {
    const char* variable;
    std::vector<std::string> names;
    bool is_fortran;
  } const languages[] = {
      {"WEFT_CC", {"./weftcc", usual + "mpicc"}, false},
      {"WEFT_CXX", {"./weftcxx", usual + "mpicxx", usual + "mpic++", usual + "mpiCC"}, false},
      {"WEFT_FC", {"./weftfc", usual + "mpifort", usual + "mpif90", usual + "mpif77"}, true}};
  for (const auto& [variable, names, is_fortran] : languages)
    for (const std::string& name : names) {
      const auto told = [&, set = std::string(variable) + "=a-compiler ",
                         called = name](const std::string& words) {
        const outcome o = shell(set + called + " " + words);
        EXPECT_EQ(o.status, 0) << called << o.text;
        EXPECT_EQ(o.text.rfind("a-compiler ", 0), 0u) << called << o.text;
        EXPECT_EQ(std::ranges::count(o.text, '\n'), 1) << o.text;
        return o.text;
      };
      const std::string all = told("-show x.o -o x");
      const std::string compile = told("-compile-info");
      const std::string link = told("-link-info");
      EXPECT_TRUE(has(all, "x.o -o x ")) << all;
      for (const std::string& text : {all, compile, link}) {
        EXPECT_TRUE(has(text, "-fPIC ")) << name << " " << text;
        EXPECT_TRUE(has(text, "-pthread ")) << name << " " << text;
        EXPECT_NE(text.find("/include/mpi"), text.npos) << name << " " << text;
        EXPECT_EQ(text.find("/weft/fortran") != text.npos, is_fortran) << name << " " << text;
      }
      for (const std::string& text : {all, link}) {
        EXPECT_TRUE(has(text, "-lweft-program ")) << name << " " << text;
        EXPECT_TRUE(has(text, "-l:libweft.so.")) << name << " " << text;
        EXPECT_TRUE(has(text, "-Wl,-rpath,/")) << name << " " << text;
      }
      EXPECT_EQ(compile.find("libweft"), compile.npos) << name << " " << compile;
      EXPECT_EQ(compile.find("-shared"), compile.npos) << name << " " << compile;
      // Flags for build systems fit programs and libraries.
      EXPECT_TRUE(has(all, "-shared ")) << name << " " << all;
      EXPECT_EQ(link.find("-shared"), link.npos) << name << " " << link;
      EXPECT_EQ(told("-showme:compile"), compile);
      EXPECT_EQ(told("-showme:link"), link);
    }
}

TEST(wrapper, a_compiler_that_is_not_there_is_named_with_who_chose_it) {
  WEFT_NEEDS_IMAGES();
  for (const auto& [command, text] :
       {std::pair{"WEFT_CC=nosuch ./weftcc x.c",
                  "weftcc: there is no compiler 'nosuch', which WEFT_CC names: name another one by "
                  "WEFT_CC, or leave it to "},
        {"WEFT_FC='nosuch -g' ./weftfc -c x.f90",
         "weftfc: there is no compiler 'nosuch -g', which WEFT_FC names: name another one by "
         "WEFT_FC, or leave it to gfortran\n"},
        {"./weftcxx -cxx=nosuch x.cpp", "'nosuch', which -cxx names: "}}) {
    const outcome o = shell(command);
    EXPECT_EQ(o.status, 2) << o.text;
    EXPECT_NE(o.text.find(text), o.text.npos) << o.text;
    EXPECT_EQ(std::ranges::count(o.text, '\n'), 1) << o.text;
  }
}

// Options of gfortran that change what declarations without a kind mean.
TEST(wrapper, fortran_of_longer_integers_is_refused_and_of_longer_reals_has_the_time) {
  WEFT_NEEDS_IMAGES();
  if (shell("command -v gfortran").status != 0) GTEST_SKIP() << "there is no gfortran";
  const scratch_directory directory;
  const std::string& where = directory.path();
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(directory / name) << text;
  };
  write("include.f",
        "      program p\n      include 'mpif.h'\n      integer ierr\n"
        "      call MPI_Init(ierr)\n      call MPI_Finalize(ierr)\n      end\n");
  write("module.f90",
        "program p\n  use mpi\n  integer :: ierr\n  call MPI_Init(ierr)\n"
        "  call MPI_Finalize(ierr)\nend program\n");
  write("other.f90", "subroutine s(n)\n  integer :: n\n  n = 1\nend subroutine\n");
  for (const char* name : {"include.f", "module.f90"}) {
    for (const char* to : {"-c -o /dev/null ", "-o /dev/null "}) {
      const outcome o = shell(formatted("./weftfc -fdefault-integer-8 {}{}/{}", to, where, name));
      EXPECT_NE(o.status, 0) << name;
      EXPECT_NE(o.text.find("weftfc: -fdefault-integer-8: MPI's integers have 4 bytes here"),
                o.text.npos)
          << o.text;
    }
    EXPECT_EQ(shell(formatted("./weftfc -c -o /dev/null {}/{}", where, name)).status, 0) << name;
  }
  EXPECT_EQ(shell("./weftfc -fdefault-integer-8 -c -o /dev/null " + where + "/other.f90").text, "");
  for (const auto& [begin, name] : {std::pair{"      include 'mpif.h'\n", "w.f"},
                                    {"      use mpi\n      implicit none\n", "w.F"}}) {
    write(name, formatted("      program w\n{}      integer ierr\n      real*8 a, b\n"
                          "      call MPI_Init(ierr)\n      a = MPI_Wtime()\n"
                          "      b = MPI_Wtime() + MPI_Wtick()\n"
                          "      if (a > 0 .and. b > a .and. b < a + 100) print *, 'right'\n"
                          "      call MPI_Finalize(ierr)\n      end\n",
                          begin));
    const outcome o =
        shell(formatted("./weftfc -fdefault-real-8 {0}/{1} -o {0}/w && {0}/w", where, name));
    EXPECT_EQ(o.text, " right\n") << name;
  }
}

}  // namespace
}  // namespace weft
