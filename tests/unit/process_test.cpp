// What a program expects of its process (docs/images.md, "What is private, what is shared"), in each arrangement of ranks.
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
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
  for (const char* what : {"blocking", "locks", "directory", "signals", "middle", "timers"}) {
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

long lines_with(const std::string& text, const std::string& part) {
  long count = 0;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);)
    if (line.find(part) != line.npos) ++count;
  return count;
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
