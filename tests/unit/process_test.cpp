// What a program expects of its process (docs/images.md, "What is private, what is shared"), in each arrangement of ranks.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "unit/shell.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

#define WEFT_NEEDS_IMAGES()                    \
  if (!fs::exists(WEFT_PROGRAM_DIR "/weftcc")) \
  GTEST_SKIP() << "built with a sanitizer, which takes each copy of a program for a different one"

// All ranks in one process, in two, each in its own, and one that nobody has started.
struct arrangement {
  const char* options;  // Null: the program alone.
  int ranks;
};

std::string content_of(const std::string& name) {
  std::ifstream file(name);
  return {std::istreambuf_iterator<char>(file), {}};
}

class a_process : public testing::TestWithParam<arrangement> {
 protected:
  static outcome run(const std::string& program) {
    const char* const options = GetParam().options;
    const std::string start =
        options != nullptr ? std::string("./weftrun --timeout 60 -n 4 ") + options + " image/"
                           : "image/";
    return shell("timeout -s KILL 100 " + start + program);
  }
};

INSTANTIATE_TEST_SUITE_P(arrangements, a_process,
                         testing::Values(arrangement{"--workers 2", 4},
                                         arrangement{"--processes 2", 4},
                                         arrangement{"--ranks-per-process 1", 4},
                                         arrangement{nullptr, 1}));

TEST_P(a_process, is_its_ranks_own) {
  WEFT_NEEDS_IMAGES();
  for (const char* what : {"environment", "path", "children"}) {
    const outcome ran = run(std::string("process ") + what);
    const std::string n = std::to_string(GetParam().ranks);
    EXPECT_EQ(ran.status, 0) << what << '\n' << ran.text;
    EXPECT_EQ(ran.text, "right in " + n + " of " + n + "\n") << what;
  }
}

TEST_P(a_process, has_signals_of_its_ranks_in_older_calls_too_and_in_children) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run("own_signals");
  const std::string n = std::to_string(GetParam().ranks);
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(ran.text, "right in " + n + " of " + n + "\n");
}

// A container may forbid it.
bool threads_may_leave_directory() {
  bool may = false;
  std::thread([&] { may = ::unshare(CLONE_FS) == 0; }).join();
  return may;
}

// What needs a directory of its own.
TEST_P(a_process, is_its_ranks_own_where_files_are_concerned) {
  WEFT_NEEDS_IMAGES();
  for (const char* what :
       {"blocking", "locks", "directory", "signals", "middle", "timers", "descriptors"}) {
    if (std::string_view(what) == "directory" && !threads_may_leave_directory()) continue;
    std::string directory = fs::temp_directory_path() / "weft-process-XXXXXX";
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);
    const outcome ran = run(std::string("process ") + what + " " + directory);
    fs::remove_all(directory);
    const std::string n = std::to_string(GetParam().ranks);
    EXPECT_EQ(ran.status, 0) << what << '\n' << ran.text;
    EXPECT_EQ(ran.text, "right in " + n + " of " + n + "\n") << what;
  }
}

long lines_with(const std::string& text, const std::string& part) {
  long count = 0;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);)
    if (line.find(part) != line.npos) ++count;
  return count;
}

class scratch_directory {
 public:
  scratch_directory() {
    std::string name = fs::temp_directory_path() / "weft-process-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~scratch_directory() { fs::remove_all(path_); }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void expect_right(const outcome& ran, int ranks, const std::string& what) {
  const std::string n = std::to_string(ranks);
  EXPECT_EQ(ran.status, 0) << what << '\n' << ran.text;
  EXPECT_EQ(ran.text, "right in " + n + " of " + n + "\n") << what;
}

TEST_P(a_process, shares_with_all_ranks_what_has_no_owner) {
  WEFT_NEEDS_IMAGES();
  expect_right(run("owes shared"), GetParam().ranks, "shared");
}

TEST_P(a_process, owes_a_rank_the_bounds_of_its_stack) {
  WEFT_NEEDS_IMAGES();
  expect_right(run("owes stack"), GetParam().ranks, "stack");
}

TEST_P(a_process, gives_a_fault_to_the_rank_that_caused_it) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  expect_right(run("owes faults " + directory.path()), GetParam().ranks, "faults");
  const std::string last = std::to_string(GetParam().ranks - 1);
  const outcome ran = run("owes unhandled");
  EXPECT_NE(ran.status, 0) << ran.text;
  EXPECT_NE(ran.text.find("weft: rank " + last + " on worker "), std::string::npos) << ran.text;
}

TEST_P(a_process, writes_where_a_rank_has_assigned_its_streams) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  const outcome ran = run("owes assigned " + directory.path());
  EXPECT_EQ(ran.status, 0) << ran.text;
  const std::string n = std::to_string(GetParam().ranks);
  EXPECT_NE(ran.text.find("right in " + n + " of " + n + "\n"), std::string::npos) << ran.text;
  const long others = (GetParam().ranks + 1) / 2;
  for (const char* line : {"printf of ", "puts", "fprintf", "perror: "})
    EXPECT_EQ(lines_with(ran.text, line), others) << line << '\n' << ran.text;
}

TEST_P(a_process, lets_others_run_while_a_stream_of_the_c_library_waits) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  expect_right(run("owes streams " + directory.path()), GetParam().ranks, "streams");
  // A process that holds one rank stays until the job ends, and its pipes with it.
  const std::string_view options = GetParam().options != nullptr ? GetParam().options : "";
  if (options == "--ranks-per-process 1") return;
  const scratch_directory again;
  expect_right(run("owes left " + again.path()), GetParam().ranks, "left");
}

// A call that a library makes, say. Nobody is kept waiting where the rank is alone on its worker.
TEST(a_rank_that_blocks_its_worker_in_the_kernel, is_told_of_with_the_place_and_the_remedy) {
  WEFT_NEEDS_IMAGES();
  for (const char* shape :
       {"-n 2 --workers 1 ", "-n 2 --workers 2 ", "-n 2 --ranks-per-process 1 "}) {
    const outcome ran =
        shell(std::string("timeout -s KILL 100 ./weftrun --timeout 60 --busy-warning 0.5 ") +
              shape + "image/owes blocked 3");
    EXPECT_EQ(ran.status, 0) << ran.text;
    const bool keeps_others = std::string_view(shape) == "-n 2 --workers 1 ";
    EXPECT_EQ(lines_with(ran.text, "rank 0 has been in a call of the system for 0.5 s"),
              keeps_others ? 1 : 0)
        << shape << ran.text;
    EXPECT_EQ(lines_with(ran.text, "--ranks-per-process 1"), keeps_others ? 1 : 0) << ran.text;
    EXPECT_EQ(ran.text.find("block") != std::string::npos, keeps_others) << ran.text;
    EXPECT_EQ(lines_with(ran.text, "right in 2 of 2"), 1) << ran.text;
  }
}

TEST_P(a_process, goes_on_when_a_rank_becomes_another_program) {
  WEFT_NEEDS_IMAGES();
  const int ranks = GetParam().ranks;
  for (const auto& [how, status] :
       {std::pair{"0", 0}, std::pair{"7", 7}, std::pair{"signal", 143}}) {
    const outcome ran = run(std::string("owes becomes ") + how);
    EXPECT_EQ(ran.status, ranks == 1 ? 0 : status) << ran.text;
    const bool is_ended = status != 0;
    EXPECT_LE(lines_with(ran.text, "rank goes on"), (ranks + 1) / 2) << ran.text;
    EXPECT_GE(lines_with(ran.text, "rank goes on"), is_ended ? 0 : (ranks + 1) / 2) << ran.text;
    EXPECT_LE(lines_with(ran.text, "became other ''"), ranks / 2) << ran.text;
    EXPECT_GE(lines_with(ran.text, "became other ''"), is_ended ? 0 : ranks / 2) << ran.text;
    EXPECT_EQ(lines_with(ran.text, "zero"), 0) << ran.text;
  }
  // A process that holds one rank stays until the job ends, and its pipes with it.
  const std::string_view options = GetParam().options != nullptr ? GetParam().options : "";
  if (options == "--ranks-per-process 1") return;
  const scratch_directory directory;
  expect_right(run("owes successor " + directory.path()), ranks, "successor");
  // A thread of the rank may call, too.
  const outcome ran = run("owes becomes thread");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(lines_with(ran.text, "rank goes on"), (ranks + 1) / 2) << ran.text;
  EXPECT_EQ(lines_with(ran.text, "became other ''"), ranks / 2) << ran.text;
}

TEST_P(a_process, ends_a_rank_that_leaves_main_by_pthread_exit_with_its_last_thread) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run("owes leaves");
  EXPECT_EQ(ran.status, 0) << ran.text;
  for (const char* line : {"inner", "outer", "thread", "handler"})
    EXPECT_EQ(lines_with(ran.text, line), GetParam().ranks) << line << '\n' << ran.text;
  EXPECT_EQ(lines_with(ran.text, "never"), 0) << ran.text;
  EXPECT_EQ(lines_with(ran.text, "weft"), 0) << ran.text;
}

// However it ends, and wherever its rank is: in a blocking thread's call where others share the worker.
TEST_P(a_process, ends_although_a_rank_is_in_a_call_that_does_not) {
  WEFT_NEEDS_IMAGES();
  if (GetParam().ranks == 1) return;
  for (const char* call : {"read", "poll", "flock", "wait"})
    for (const char* end : {"exit", "abort", "die"}) {
      // There nobody else is kept waiting, and the monitor takes its time.
      const bool is_direct = std::string_view(GetParam().options) == "--ranks-per-process 1";
      if (is_direct && (std::string_view(call) != "read" || std::string_view(end) == "exit"))
        continue;
      std::string directory = fs::temp_directory_path() / "weft-process-XXXXXX";
      ASSERT_NE(::mkdtemp(directory.data()), nullptr);
      const outcome ran = run("process stopped " + directory + " " + call + " " + end);
      fs::remove_all(directory);
      if (std::string_view(end) == "die")
        EXPECT_NE(ran.status, 0) << call << '\n' << ran.text;
      else
        EXPECT_EQ(ran.status, 3) << call << ' ' << end << '\n' << ran.text;
      EXPECT_EQ(ran.text.find("right in"), std::string::npos) << ran.text;
      EXPECT_EQ(ran.text.find("deadlock"), std::string::npos) << ran.text;
    }
}

TEST_P(a_process, may_end_in_the_handler_of_a_signal) {
  WEFT_NEEDS_IMAGES();
  if (GetParam().ranks == 1) return;
  for (const char* where : {"recv", "read", "loop", "semaphore", "barrier"}) {
    std::string directory = fs::temp_directory_path() / "weft-process-XXXXXX";
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);
    const outcome ran = run("process handler " + directory + " " + where);
    fs::remove_all(directory);
    EXPECT_EQ(ran.status, 5) << where << '\n' << ran.text;
    EXPECT_NE(ran.text.find("rank 3: ended with exit status 5"), std::string::npos) << ran.text;
  }
}

TEST_P(a_process, dies_of_a_signal_that_only_other_ranks_handle) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run("process default");
  EXPECT_NE(ran.status, 0) << ran.text;
  EXPECT_EQ(ran.text.find("right in"), std::string::npos) << ran.text;
  const std::string_view options = GetParam().options != nullptr ? GetParam().options : "";
  if (options == "--workers 2" || options == "--processes 2") {
    EXPECT_NE(ran.text.find("weft: rank 3 sent its process the signal SIGTERM"), std::string::npos)
        << ran.text;
  }
}

// Refused with a line where the system lets no thread leave the directory of its process.
TEST(ranks_of_a_process, go_to_one_directory_where_threads_may_have_none_of_their_own) {
  WEFT_NEEDS_IMAGES();
  if (threads_may_leave_directory()) GTEST_SKIP() << "they may";
  std::string directory = fs::temp_directory_path() / "weft-process-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const outcome ran =
      shell("timeout -s KILL 100 ./weftrun --timeout 60 -n 4 --workers 2 image/process directory " +
            directory);
  fs::remove_all(directory);
  EXPECT_NE(ran.text.find("which ranks of a process share"), std::string::npos) << ran.text;
}

TEST_P(a_process, is_told_of_a_stack_that_a_large_frame_overflows) {
  WEFT_NEEDS_IMAGES();
  const std::string rank = std::to_string(GetParam().ranks - 1);
  for (const char* mib : {"60", "300"}) {
    const outcome ran = run(std::string("process overflow ") + mib);
    EXPECT_NE(ran.status, 0) << mib << '\n' << ran.text;
    EXPECT_NE(ran.text.find("weft: rank " + rank + " overflowed its stack of "), std::string::npos)
        << mib << '\n'
        << ran.text;
    EXPECT_EQ(ran.text.find("the program's handler"), std::string::npos) << ran.text;
  }
}

TEST(a_rank_that_is_blocked_in_the_kernel, is_no_deadlock_and_is_told_of) {
  WEFT_NEEDS_IMAGES();
  std::string directory = fs::temp_directory_path() / "weft-process-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const outcome ran =
      shell("timeout -s KILL 100 ./weftrun --timeout 1 -n 4 --workers 2 image/process stopped " +
            directory + " read never");
  fs::remove_all(directory);
  EXPECT_NE(ran.status, 0) << ran.text;
  EXPECT_NE(ran.text.find("rank 0 (worker 0): in read, descriptor "), std::string::npos)
      << ran.text;
  EXPECT_EQ(ran.text.find("deadlock"), std::string::npos) << ran.text;
}

TEST_P(a_process, leads_the_output_of_each_rank_where_that_wants_it) {
  WEFT_NEEDS_IMAGES();
  std::string directory = fs::temp_directory_path() / "weft-process-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const outcome ran = run("process output " + directory);
  fs::remove_all(directory);
  const std::string n = std::to_string(GetParam().ranks);
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(lines_with(ran.text, "right in " + n + " of " + n), 1) << ran.text;
  for (const char* line : {"seen", "error"})
    EXPECT_EQ(lines_with(ran.text, line), GetParam().ranks) << ran.text;
  EXPECT_EQ(lines_with(ran.text, ""), 2 * GetParam().ranks + 1) << ran.text;
}

TEST_P(a_process, has_mpi_before_and_after_main) {
  WEFT_NEEDS_IMAGES();
  const std::string ranks = ": " + std::to_string(GetParam().ranks) + " ranks";
  for (const char* way : {"global", "static", "guarded", "handler"})
    for (const int status : {0, 5}) {
      const outcome ran = run(std::string("outside_of_main ") + way + " " + std::to_string(status));
      EXPECT_EQ(ran.status, status) << way << '\n' << ran.text;
      const std::string_view what = way;
      const auto expect_line = [&](const char* place, bool is_there) {
        EXPECT_EQ(lines_with(ran.text, place + ranks), is_there ? 1 : 0) << way << '\n' << ran.text;
      };
      expect_line("constructor", what == "global");
      expect_line("main", true);
      expect_line("destructor", what == "global" || what == "static");
      expect_line("handler", what == "handler");
      const int guarded = what == "guarded" ? GetParam().ranks : 0;
      // One that ends with another status need not wait for the others.
      EXPECT_LE(lines_with(ran.text, "guarded"), guarded) << ran.text;
      EXPECT_GE(lines_with(ran.text, "guarded"), status == 0 ? guarded : 0) << ran.text;
      // Copies in one process end in another order yet.
      const bool is_alone = GetParam().options == nullptr ||
                            std::string_view(GetParam().options) == "--ranks-per-process 1";
      EXPECT_TRUE(!is_alone || lines_with(ran.text, "the last destructor") == 0) << ran.text;
      const bool is_told = status != 0 && GetParam().ranks > 1;
      EXPECT_EQ(lines_with(ran.text, "weft:"), is_told ? 1 : 0) << way << '\n' << ran.text;
    }
}

TEST_P(a_process, may_stand_before_the_c_library_and_call_the_kernel_without_it) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run("own_calls");
  const std::string n = std::to_string(GetParam().ranks);
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(ran.text, "right in " + n + " of " + n + "\n");
}

// The numbers that it says it has had, of which none is left; what else it has said.
struct numbered {
  outcome ran;
  int left = 0;
  std::string rest;
};
numbered without_numbers(const outcome& ran) {
  numbered result{ran, 0, ""};
  std::vector<std::string> numbers;
  std::istringstream lines(ran.text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("number "))
      numbers.push_back("/proc/" + line.substr(7) + "/status");
    else
      result.rest += line + "\n";
  // Those of a process that was killed end with it, a moment later.
  for (int looks = 0; looks < 1000; ++looks) {
    result.left = static_cast<int>(std::ranges::count_if(numbers, [](const std::string& one) {
      return fs::exists(one) && content_of(one).find("State:\tZ") == std::string::npos;
    }));
    if (result.left == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return result;
}

TEST_P(a_process, has_a_number_of_its_ranks) {
  WEFT_NEEDS_IMAGES();
  for (const char* what : {"is-there", "children", "signals"}) {
    const numbered told = without_numbers(run(std::string("own_number ") + what));
    const std::string n = std::to_string(GetParam().ranks);
    EXPECT_EQ(told.ran.status, 0) << what << '\n' << told.ran.text;
    EXPECT_EQ(told.rest, "right in " + n + " of " + n + "\n") << what;
    EXPECT_EQ(told.left, 0) << what;
  }
}

TEST(ranks_of_a_process, end_by_signals_to_their_numbers_and_take_these_along) {
  WEFT_NEEDS_IMAGES();
  const struct {
    const char* what;
    int status;
    const char* line;
  } ways[] = {
      {"killed", 128 + SIGKILL, "rank 2, process number "},
      {"ended", 128 + SIGTERM, "weft: rank 2 was sent SIGTERM, for which it has no handler"},
      {"dies", 128 + SIGKILL, ""}};
  for (const auto& [what, status, line] : ways) {
    const numbered told = without_numbers(
        shell(std::string(
                  "timeout -s KILL 100 ./weftrun --timeout 60 -n 3 --workers 2 image/own_number ") +
              what + "; echo status $?"));
    EXPECT_NE(told.rest.find("status " + std::to_string(status) + "\n"), std::string::npos)
        << told.ran.text;
    EXPECT_NE(told.rest.find(line), std::string::npos) << told.ran.text;
    EXPECT_EQ(told.left, 0) << what;
  }
}

// Where the kernel allows a user few processes and threads, ranks have numbers as far as they go.
TEST(ranks_of_a_process, share_its_number_where_there_can_be_no_further_process) {
  WEFT_NEEDS_IMAGES();
  if (::geteuid() != 0 || shell("command -v setpriv && command -v prlimit").status != 0)
    GTEST_SKIP() << "only root becomes another user, by setpriv";
  for (const char* most : {"6", "7"}) {
    const numbered told = without_numbers(shell(
        std::string("HOME=/ setpriv --reuid=64321 --regid=64321 --clear-groups prlimit --nproc=") +
        most + " timeout -s KILL 100 ./weftrun --timeout 60 -n 4 --workers 2 image/own_number"));
    if (told.rest.find("weft: some ranks") == std::string::npos && told.ran.status != 0)
      GTEST_SKIP() << "another user may not read the program here: " << told.ran.text;
    EXPECT_EQ(told.ran.status, 0) << told.ran.text;
    EXPECT_EQ(lines_with(told.rest, "weft: some ranks of a process share its number, "), 1)
        << told.ran.text;
    EXPECT_EQ(lines_with(told.rest, "right in 4 of 4"), 1) << told.ran.text;
  }
}

TEST_P(a_process, has_thread_specific_values_of_its_ranks) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run("keys");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(ran.text, std::to_string(GetParam().ranks) + " ranks have keys of their own\n");
}

TEST(ranks_of_a_process, destroy_values_of_main_that_ends_as_a_thread) {
  WEFT_NEEDS_IMAGES();
  const outcome ran =
      shell("timeout -s KILL 100 ./weftrun --timeout 60 -n 3 --workers 2 image/keys destroyed");
  EXPECT_EQ(ran.status, 0) << ran.text;
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(lines_with(ran.text, "rank " + std::to_string(rank) + ": destroyed"), 1) << ran.text;
}

// Each has more keys than half of what the C library allows a process.
TEST(ranks_of_a_process, have_as_many_keys_together_as_processes_of_their_own_have) {
  WEFT_NEEDS_IMAGES();
  const outcome ran =
      shell("timeout -s KILL 100 ./weftrun --timeout 60 -n 40 --processes 1 image/keys");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(ran.text, "40 ranks have keys of their own\n");
}

TEST_P(a_process, has_streams_of_its_ranks) {
  WEFT_NEEDS_IMAGES();
  const outcome ran = run("streams");
  const std::string n = std::to_string(GetParam().ranks);
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(lines_with(ran.text, "right in " + n + " of " + n), 1) << ran.text;
  EXPECT_EQ(lines_with(ran.text, "254"), 1) << ran.text;
  EXPECT_EQ(lines_with(ran.text, "FE"), GetParam().ranks > 1 ? 1 : 0) << ran.text;
}

TEST_P(a_process, is_told_of_scratch_files_that_its_ranks_name_alike) {
  WEFT_NEEDS_IMAGES();
  std::string directory = fs::temp_directory_path() / "weft-process-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const outcome ran = run("process scratch " + directory);
  fs::remove_all(directory);
  EXPECT_EQ(ran.status, 0) << ran.text;
  const std::string_view options = GetParam().options != nullptr ? GetParam().options : "";
  const int processes = options == "--workers 2" ? 1 : options == "--processes 2" ? 2 : 0;
  EXPECT_EQ(lines_with(ran.text, "which ranks of a process share; name it by the rank"), processes)
      << ran.text;
}

TEST(weftrun, gives_each_rank_a_process_where_the_program_changes_it_for_all) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  const std::string program = directory.path() + "/changes";
  const outcome built = shell(
      "printf '#include <mpi.h>\\n#include <unistd.h>\\nint main(int c, char** v) { MPI_Init(&c, &v); return "
      "setgid(getgid()) + MPI_Finalize(); }\\n' | ./weftcc -x c - -o " +
      program);
  ASSERT_EQ(built.status, 0) << built.text;
  const outcome ran = shell("./weftrun --timeout 60 -n 3 " + program);
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(lines_with(ran.text, "calls setgid(), which changes the process for all ranks in it"),
            1)
      << ran.text;
}

// A script that starts the program runs once for each rank, and knows which it is before anything of MPI has run; what the rank
// starts later does not.
TEST(a_script_that_starts_a_program, finds_the_number_of_its_rank) {
  WEFT_NEEDS_IMAGES();
  const scratch_directory directory;
  const std::string script = directory.path() + "/wrapper";
  shell(
      "printf '%s\\n' '#!/bin/sh' 'echo \"wrapper $WEFT_RANK $OMPI_COMM_WORLD_RANK $PMI_RANK of $PMI_SIZE, "
      "$MPI_LOCALRANKID\"' 'exec \"$@\"' > " +
      script + "; chmod +x " + script);
  for (const char* start : {"./weftrun --timeout 60 -n 3 ", "../lib/weft/bin/mpirun -n 3 ",
                            "./weftrun --timeout 60 -n 1 "}) {
    const int ranks = std::string_view(start).ends_with("-n 1 ") ? 1 : 3;
    const outcome ran =
        shell("timeout -s KILL 100 " + (start + script) + " image/process environment");
    const std::string n = std::to_string(ranks);
    EXPECT_EQ(ran.status, 0) << start << '\n' << ran.text;
    EXPECT_EQ(lines_with(ran.text, "right in " + n + " of " + n), 1) << start << '\n' << ran.text;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string r = std::to_string(rank);
      EXPECT_EQ(lines_with(ran.text, "wrapper " + r + " " + r + " " + r + " of " + n + ", " + r), 1)
          << start << '\n'
          << ran.text;
    }
  }
  const outcome together =
      shell("./weftrun --timeout 60 -n 3 --processes 1 " + script + " image/process environment");
  EXPECT_EQ(lines_with(together.text, "wrapper    of , "), 1) << together.text;
  EXPECT_EQ(lines_with(together.text, "right in 3 of 3"), 1) << together.text;
}

// --- Programs that open MPI and know nothing of weft ---------------------------------------------------------

struct host_of_modules {
  std::string command;  // What it is told comes last.
  std::string name;
};

std::vector<host_of_modules> hosts_of_modules() {
  std::vector<host_of_modules> all{
      {"image/opens_plugin image/opened/mpi_plugin.so ", "opens_plugin"}};
#if defined(WEFT_TEST_PYTHON)
  all.push_back({"env PYTHONPATH=image/opened " WEFT_TEST_PYTHON
                 " -c 'import sys, mpi_module; sys.exit(mpi_module.use(sys.argv[1]))' ",
                 "python"});
#endif
  return all;
}

TEST(a_program_that_opens_mpi_as_a_module, has_a_process_for_each_rank_and_all_of_mpi) {
  WEFT_NEEDS_IMAGES();
  for (const auto& [command, name] : hosts_of_modules())
    for (const char* start :
         {"./weftrun --timeout 60 -n 4 ", "./weftrun --timeout 60 -n 2 --ranks-per-process 1 ",
          "./weftrun --timeout 60 -n 1 ", ""}) {
      const std::string_view how = start;
      const std::string n = how.find("-n 4") != how.npos   ? "4"
                            : how.find("-n 2") != how.npos ? "2"
                                                           : "1";
      std::string words = command;
      // The command is what weftrun looks at.
      if (!how.empty() && words.starts_with("env ")) {
        const std::size_t end = words.find(' ', 4);
        words = "PYTHONPATH=image/opened " + std::string("timeout -s KILL 100 ") + start +
                words.substr(end + 1);
      } else {
        words = "timeout -s KILL 100 " + std::string(start) + words;
      }
      const outcome ran = shell(words + "''");
      EXPECT_EQ(ran.status, 0) << words << '\n' << ran.text;
      EXPECT_EQ(lines_with(ran.text, "right in " + n + " of " + n), 1) << words << '\n' << ran.text;
      EXPECT_EQ(lines_with(ran.text, "weft"), 0) << words << '\n' << ran.text;
    }
}

TEST(a_program_that_opens_mpi_as_a_module, ends_as_it_says_and_its_job_with_it) {
  WEFT_NEEDS_IMAGES();
  const std::string run =
      "timeout -s KILL 100 ./weftrun --timeout 60 -n 3 image/opens_plugin image/opened/mpi_plugin.so ";
  const auto expect = [](const outcome& ran, int status, const char* line, int lines) {
    EXPECT_EQ(ran.status, status) << ran.text;
    EXPECT_EQ(lines_with(ran.text, line), lines) << ran.text;
  };
  expect(shell(run + "status"), 5, "right in 3 of 3", 1);
  expect(shell(run + "''"), 0, "the program's own end", 3);
  expect(shell(run + "abort"), 7, "rank 2: MPI_Abort(MPI_COMM_WORLD, 7) ends the job", 1);
  expect(shell(run + "wrong"), 1, "ranks of MPI_COMM_WORLD are 0 to 2", 1);
  expect(shell(run + "early"), 1, "MPI is not initialised yet: call MPI_Init first", 1);
  expect(shell(run + "unfinished"), 1, "the program ended after MPI_Init without MPI_Finalize", 1);
  expect(shell("image/opens_plugin image/opened/mpi_plugin.so late"), 1,
         "call MPI in the ranks of the job, and before MPI_Finalize", 1);
  expect(shell("./weftrun -n 3 --processes 1 image/opens_plugin image/opened/mpi_plugin.so ''"), 1,
         "opens_plugin holds one rank, since weftcc has not linked it", 1);
}

#if defined(WEFT_TEST_WEFT_PYTHON)
TEST(weft_python, has_an_interpreter_for_each_rank_of_a_process) {
  WEFT_NEEDS_IMAGES();
  for (const char* start :
       {"-n 4 --workers 2 ", "-n 4 --processes 2 ", "-n 4 --ranks-per-process 1 "}) {
    const outcome ran = shell(
        std::string("PYTHONPATH=image/opened timeout -s KILL 100 ./weftrun --timeout 60 ") + start +
        "./weft-python -c 'import sys, json, math, mpi_module; sys.exit(mpi_module.use())'");
    EXPECT_EQ(ran.status, 0) << start << '\n' << ran.text;
    EXPECT_EQ(lines_with(ran.text, "right in 4 of 4"), 1) << start << '\n' << ran.text;
    EXPECT_EQ(lines_with(ran.text, "weft"), 0) << start << '\n' << ran.text;
  }
}
#endif

TEST(weftrun, says_that_a_program_has_loaded_another_mpi) {
  WEFT_NEEDS_IMAGES();
  std::string directory = fs::temp_directory_path() / "weft-process-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const outcome built = shell(
      "echo 'int use_mpi(const char* way) { return way == 0; }' | cc -x c - -shared -fPIC -o " +
      directory + "/libmpi.so.40");
  ASSERT_EQ(built.status, 0) << built.text;
  const outcome ran = shell("./weftrun -n 3 image/opens_plugin " + directory + "/libmpi.so.40");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(lines_with(ran.text, "has loaded another MPI, " + directory +
                                     "/libmpi.so.40, for which each of the 3"),
            1)
      << ran.text;
  EXPECT_EQ(shell("./weftrun -n 1 image/opens_plugin " + directory + "/libmpi.so.40").text,
            "the program's own end\n");
  fs::remove_all(directory);
}

}  // namespace
}  // namespace weft
