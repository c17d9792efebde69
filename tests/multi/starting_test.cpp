// Jobs of several processes from start to end: what weftrun starts, says, forwards and ends.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "base/format.hpp"
#include "multi/started_job.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

void expect_lines(const std::string& command, int status, const std::set<std::string>& lines) {
  const outcome result = shell(command);
  EXPECT_EQ(result.status, status) << command << "\n" << result.text;
  EXPECT_EQ(lines_of(result.text), lines) << command;
}

std::string host() {
  std::string name = shell("uname -n").text;
  name.pop_back();
  return name;
}

TEST(starting, every_process_reads_what_every_other_has_put) {
  expect_lines("./weftrun -n 3 --processes 3 ./test-process exchange 50 3", 0,
               {"process 0 of 3 read 150 keys", "process 1 of 3 read 150 keys",
                "process 2 of 3 read 150 keys"});
}

TEST(starting, a_command_for_other_hosts_that_is_not_there_is_named) {
  const outcome result = shell("./weftrun --rsh /no/such --hosts somewhere -n 2 true");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.text.find("weftrun: host somewhere: cannot run /no/such: No such file"),
            std::string::npos)
      << result.text;
}

TEST(starting, ranks_that_start_others_know_the_command_of_their_own_job_alone) {
  const std::string prints = "sh -c 'echo \"it is $WEFT_SPAWN_RSH.\"'";
  expect_lines("WEFT_SPAWN_RSH=of_a_job_around ./weftrun -n 1 " + prints, 0, {"it is ."});
  expect_lines("./weftrun --rsh its_own -n 1 " + prints, 0, {"it is its_own."});
}

TEST(starting, a_program_by_itself_does_not_pretend_to_be_a_job_of_several_processes) {
  for (const auto& [words, part] :
       {std::pair{"--weft-processes=2", "weftrun --processes 2"},
        std::pair{"--weft-hosts=left,right", "weftrun --hosts left,right"}}) {
    const outcome result = shell(formatted("./test-job greet --weft-ranks=2 {}", words));
    EXPECT_EQ(result.status, 2) << result.text;
    EXPECT_NE(result.text.find(part), std::string::npos) << result.text;
  }
  const outcome garbage = shell("WEFT_JOB=garbage ./test-job greet");
  EXPECT_EQ(garbage.status, 2) << garbage.text;
  EXPECT_NE(garbage.text.find("WEFT_JOB=garbage names no connection"), std::string::npos)
      << garbage.text;
}

TEST(starting, values_may_be_large) {
  expect_lines("./weftrun -n 2 --processes 2 ./test-process exchange 3 20000000", 0,
               {"process 0 of 2 read 6 keys", "process 1 of 2 read 6 keys"});
}

TEST(starting, a_value_above_the_limit_is_refused_by_name) {
  const outcome result = shell("./weftrun -n 2 --processes 2 ./test-process exchange 1 70000000");
  EXPECT_EQ(result.status, 2) << result.text;
  EXPECT_NE(result.text.find("the limit is 67108864"), std::string::npos) << result.text;
}

TEST(starting, a_key_that_nobody_put_is_an_error) {
  expect_lines("./weftrun -n 2 --processes 2 ./test-process no-such-key", 0,
               {"process 0 has put no key 'nothing'"});
}

TEST(starting, a_process_may_have_two_jobs_one_after_the_other) {
  expect_lines("./weftrun -n 3 --processes 3 ./test-process twice exchange 5", 0,
               {"process 0 of 3 read 15 keys", "process 1 of 3 read 15 keys",
                "process 2 of 3 read 15 keys"});
}

TEST(starting, two_jobs_at_the_same_time_do_not_meet) {
  std::vector<std::unique_ptr<started_job>> jobs;
  for (int i = 0; i < 4; ++i)
    jobs.push_back(std::make_unique<started_job>(
        "./weftrun -n 2 --processes 2 ./test-process exchange 100 100"));
  for (const auto& job : jobs) {
    EXPECT_EQ(job->finish(), 0) << job->text();
    EXPECT_EQ(lines_of(job->text()), (std::set<std::string>{"process 0 of 2 read 200 keys",
                                                            "process 1 of 2 read 200 keys"}));
  }
}

// Ranks of test-survivors, each of which says it once.
void expect_all_went_on(const std::string& text, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string said = formatted("rank {} went on\n", rank);
    const std::size_t at = text.find(said);
    EXPECT_NE(at, std::string::npos) << said << text;
    EXPECT_EQ(text.find(said, at + 1), std::string::npos) << said << text;
  }
}

// Four jobs of four ranks.
void expect_four_at_once(const std::string& line) {
  std::vector<std::unique_ptr<started_job>> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(std::make_unique<started_job>(line));
  for (const auto& job : jobs) {
    EXPECT_EQ(job->finish(), 0) << job->text();
    expect_all_went_on(job->text(), 4);
    EXPECT_EQ(job->left_behind(), "");
  }
}

TEST(starting, jobs_of_ranks_at_the_same_time_do_not_meet) {
  expect_four_at_once(
      "./weftrun --transport shm -n 4 --processes 2 --timeout 60 ./test-survivors 0 none");
}

TEST(starting, without_a_launcher_a_program_is_a_job_of_one) {
  const outcome result = shell("./test-process identify");
  EXPECT_TRUE(result.text.starts_with("single 0 of 1 job ")) << result.text;
}

TEST(starting, a_job_has_one_name_that_no_other_job_has) {
  std::set<std::string> names;
  for (int i = 0; i < 3; ++i) {
    const outcome result = shell("./weftrun -n 3 --processes 3 ./test-process identify");
    std::istringstream lines(result.text);
    std::set<std::string> of_this_job;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find(" job ") + 5;
      of_this_job.insert(line.substr(at, line.find(' ', at) - at));
    }
    ASSERT_EQ(of_this_job.size(), 1u) << result.text;
    EXPECT_TRUE(names.insert(*of_this_job.begin()).second);
  }
}

TEST(starting, ranks_per_process_decides_how_many_processes) {
  const outcome result =
      shell("./weftrun -n 10 --ranks-per-process 4 ./test-process identify | cut -d' ' -f1-4");
  EXPECT_EQ(lines_of(result.text),
            (std::set<std::string>{"local 0 of 3", "local 1 of 3", "local 2 of 3"}));
}

TEST(starting, a_job_of_one_process_takes_the_place_of_weftrun) {
  started_job job("./weftrun -n 4 --processes 1 ./test-process wait");
  ASSERT_TRUE(job.wait_for("process 0 waits in "));
  EXPECT_EQ(waiting_processes(job.text()), std::vector<pid_t>{job.pid()});
}

TEST(starting, cores_are_shared_out_and_pin_off_leaves_them) {
  const outcome cpus = shell("nproc");
  if (std::stoi(cpus.text) < 2) GTEST_SKIP() << "one core cannot be shared out";
  const outcome pinned = shell("taskset -c 0,1 ./weftrun -n 2 --processes 2 ./test-process cpus");
  EXPECT_EQ(lines_of(pinned.text),
            (std::set<std::string>{"process 0 on 0 of 2 ranks", "process 1 on 1 of 2 ranks"}));
  const outcome free =
      shell("taskset -c 0,1 ./weftrun --pin=off -n 2 --processes 2 ./test-process cpus");
  EXPECT_EQ(lines_of(free.text),
            (std::set<std::string>{"process 0 on 0 1 of 2 ranks", "process 1 on 0 1 of 2 ranks"}));
  EXPECT_EQ(
      shell("taskset -c 0,1 ./weftrun --pin=off -n 2 --processes 2 printenv WEFT_WORKERS").text,
      "1\n1\n");
  // So are OpenMP's teams, unless somebody has said how large they are.
  const std::string teams = "./weftrun --pin=off -n 2 --processes 2 printenv OMP_NUM_THREADS";
  EXPECT_EQ(shell("taskset -c 0,1 env -u OMP_NUM_THREADS " + teams).text, "1\n1\n");
  EXPECT_EQ(shell("taskset -c 0,1 env OMP_NUM_THREADS=7 " + teams).text, "7\n7\n");
}

TEST(starting, every_numa_node_has_a_process_on_its_cores) {
  const outcome cpus = shell("nproc");
  if (std::stoi(cpus.text) < 2) GTEST_SKIP() << "one core cannot be shared out";
  // hwloc takes the first two cores for two nodes.
  EXPECT_EQ(
      shell(
          "HWLOC_SYNTHETIC='numa:2 core:1 pu:1' HWLOC_THISSYSTEM=1 taskset -c 0,1 ./weftrun "
          "--processes numa sh -c 'echo $WEFT_PROCESSES $(taskset -cp $$ | grep -o [^:]*$)' | sort")
          .text,
      "2 0\n2 1\n");
}

TEST(starting, input_goes_to_process_0) {
  expect_lines("seq 100000 | ./weftrun -n 3 --processes 3 ./test-process input", 0,
               {"process 0 read 100000 lines, 588895 bytes", "process 1 read 0 lines, 0 bytes",
                "process 2 read 0 lines, 0 bytes"});
}

// Lines of several processes, complete, whole, each process's in its order.
void expect_all_lines(const std::string& command, int processes, int lines, int length) {
  const outcome result = shell(command);
  EXPECT_EQ(result.status, 0);
  std::map<int, int> next;
  std::map<int, int> last_lines;
  std::istringstream stream(result.text);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    int process = -1;
    int number = -1;
    std::string rest;
    words >> process;
    if (line == formatted("{} last line without an end", process)) {
      ++last_lines[process];
      continue;
    }
    ASSERT_TRUE(words >> number >> rest) << line;
    ASSERT_EQ(number, next[process]++) << line;
    ASSERT_EQ(rest.size(), static_cast<std::size_t>(length)) << line;
  }
  for (int process = 0; process < processes; ++process) {
    EXPECT_EQ(next[process], lines);
    EXPECT_EQ(last_lines[process], 1);
  }
}

TEST(output, arrives_in_whole_lines_and_completely) {
  expect_all_lines("./weftrun -n 3 --processes 3 ./test-process print 20000 70", 3, 20000, 70);
}

TEST(output, a_line_may_be_longer_than_a_pipe) {
  expect_all_lines("./weftrun -n 3 --processes 3 ./test-process print 20 300000", 3, 20, 300000);
}

TEST(output, when_nobody_reads_any_more_the_job_ends) {
  started_job job("sh -c './weftrun -n 2 --processes 2 yes | head -n 1'");
  EXPECT_EQ(job.finish(), 0) << job.text();
  EXPECT_EQ(job.text(), "y\n");
  EXPECT_EQ(job.left_behind(), "");
}

// A limit for files stands for a full disk; standard error is a pipe.
TEST(output, that_a_full_disk_does_not_take_is_told_and_makes_the_status_1) {
  for (const std::string command : {"echo y", "yes"}) {
    const auto result =
        shell("(trap '' XFSZ; ulimit -f 0; ./weftrun -n 2 --processes 2 " + command +
              " > full_disk.$$); status=$?; rm full_disk.$$; exit $status");
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(
        result.text.find("weftrun: standard output could not be written: File too large: some of "
                         "what the ranks printed is lost; is the disk full?\n"),
        std::string::npos)
        << result.text;
  }
}

TEST(output, what_goes_to_stderr_stays_there) {
  EXPECT_EQ(shell("./weftrun -n 2 --processes 2 sh -c 'echo out; echo err >&2' 2>/dev/null").text,
            "out\nout\n");
}

struct death {
  const char* how;
  int status;
  const char* said;
};

class a_process_that_dies : public ::testing::TestWithParam<death> {};

TEST_P(a_process_that_dies, ends_the_job_with_one_line_and_its_status) {
  started_job job(
      formatted("./weftrun -n 6 --processes 3 ./test-process die 1 {}", GetParam().how));
  EXPECT_EQ(job.finish(), GetParam().status);
  std::string line = GetParam().said;
  const std::string name = formatted("weftrun: process 1 (ranks 2 to 3) on host {}", host());
  if (line.starts_with("...")) line = name + line.substr(3) + "; the job ends";
  EXPECT_EQ(job.text(), line + "\n");
  EXPECT_EQ(job.left_behind(), "");
}

INSTANTIATE_TEST_SUITE_P(
    starting, a_process_that_dies,
    ::testing::Values(death{"kill", 137, "... was killed by signal 9 (Killed)"},
                      death{"segv", 139, "... was killed by signal 11 (Segmentation fault)"},
                      death{"3", 3, "... ended with status 3"},
                      death{"0", 1, "... ended without having finished its part"},
                      death{"abort", 7, "weft: process 1 has had enough"}),
    [](const auto& one) { return std::string("by_") + one.param.how; });

TEST(failure, with_on_failure_error_the_others_are_told_and_go_on) {
  const std::string why =
      formatted("process 1 (rank 1) on host {} was killed by signal 9 (Killed)", host());
  expect_lines("./weftrun --on-failure error -n 3 --processes 3 ./test-process survive 1", 137,
               {"weftrun: " + why + "; the others go on (--on-failure error)",
                "process 0 was told: " + why, "process 0 was refused: " + why,
                "process 2 was told: " + why, "process 2 was refused: " + why});
}

TEST(failure, a_program_that_never_joins_does_not_keep_the_others_waiting) {
  EXPECT_EQ(shell("./weftrun -n 2 --processes 2 true").status, 0);
  // One of the two makes the directory and joins; the other one ends.
  const empty_directory directory;
  const outcome half = shell(
      formatted("./weftrun -n 2 --processes 2 sh -c 'mkdir {}/one 2>/dev/null || exit 0; exec "
                "./test-process exchange'",
                directory.path()));
  EXPECT_EQ(half.status, 1) << half.text;
  EXPECT_NE(half.text.find("ended without having finished its part; the job ends"),
            std::string::npos)
      << half.text;
}

TEST(failure, a_program_that_is_not_there_is_named_once) {
  const outcome result = shell("./weftrun -n 2 --processes 2 ./nowhere");
  EXPECT_EQ(result.status, 127);
  EXPECT_EQ(result.text,
            "weftrun: cannot run ./nowhere: No such file or directory; check the name of the "
            "program\n");
}

TEST(failure, a_job_that_outlives_its_timeout_is_ended) {
  started_job job("./weftrun --timeout 0.2 -n 2 --processes 2 ./test-process wait");
  EXPECT_EQ(job.finish(), 124);
  EXPECT_NE(job.text().find("weftrun: the job was ended after its timeout of 0.2 s"),
            std::string::npos)
      << job.text();
  EXPECT_EQ(job.left_behind(), "");
}

TEST(signals, reach_every_process) {
  for (const int number : {SIGTERM, SIGINT, SIGUSR2}) {
    started_job job(formatted("./weftrun -n 2 --processes 2 ./test-process handle {}", number));
    ASSERT_TRUE(job.wait_for("process 0 is ready") && job.wait_for("process 1 is ready"));
    job.signal(number);
    EXPECT_EQ(job.finish(), 0) << job.text();
    EXPECT_TRUE(job.text().find("process 0 was signalled") != std::string::npos &&
                job.text().find("process 1 was signalled") != std::string::npos)
        << job.text();
  }
}

TEST(signals, reach_the_program_and_not_the_shell_around_it) {
  started_job job(
      formatted("./weftrun -n 2 --processes 2 sh -c './test-process handle {}; exit $?'", SIGUSR1));
  ASSERT_TRUE(job.wait_for("process 0 is ready") && job.wait_for("process 1 is ready"));
  job.signal(SIGUSR1);
  EXPECT_EQ(job.finish(), 0) << job.text();
}

TEST(signals, an_interrupted_job_ends_quietly_with_the_signals_status) {
  started_job job("./weftrun -n 2 --processes 2 ./test-process wait");
  ASSERT_TRUE(job.wait_for("process 0 waits") && job.wait_for("process 1 waits"));
  job.signal(SIGINT);
  EXPECT_EQ(job.finish(), 130);
  EXPECT_EQ(job.text().find("weftrun"), std::string::npos) << job.text();
  EXPECT_EQ(job.left_behind(), "");
}

TEST(signals, a_second_interrupt_ends_what_ignores_the_first) {
  started_job job("./weftrun -n 2 --processes 2 sh -c 'trap \"\" INT TERM; ./test-process wait'");
  ASSERT_TRUE(job.wait_for("process 0 waits") && job.wait_for("process 1 waits"));
  job.signal(SIGINT);
  for (int left = 10'000; left > 0 && job.is_pending(SIGINT); --left)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  job.signal(SIGINT);
  EXPECT_EQ(job.finish(), 130);
  EXPECT_EQ(job.left_behind(), "");
}

TEST(launchers, one_that_weft_does_not_understand_is_named_and_refused) {
  for (const char* variable :
       {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE", "PALS_LOCAL_SIZE",
        "MPI_LOCALNRANKS", "FLUX_JOB_SIZE", "JSM_NAMESPACE_SIZE", "MV2_COMM_WORLD_SIZE"}) {
    const outcome result = shell(formatted("{}=2 ./test-process identify", variable));
    EXPECT_EQ(result.status, 2) << variable;
    EXPECT_NE(result.text.find(formatted("started 2 processes ({}=2)", variable)),
              std::string::npos)
        << result.text;
    EXPECT_EQ(lines_of(result.text).size(), 1u) << result.text;
    EXPECT_EQ(shell(formatted("{}=1 ./test-process identify", variable)).status, 0) << variable;
  }
  EXPECT_EQ(shell("PMI_RANK=1 ./test-process identify").status, 2);
  EXPECT_EQ(shell("SLURM_NTASKS=4 ./test-process identify").status, 0) << "a batch script";
}

TEST(launchers, a_connection_that_something_closed_is_no_job_of_one) {
  const outcome result = shell("WEFT_JOB=77 ./test-process identify");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.text.find("names no connection to weftrun"), std::string::npos) << result.text;
}

TEST(launchers, what_a_process_starts_is_a_job_of_its_own) {
  EXPECT_EQ(shell("./weftrun -n 2 --processes 2 sh -c './weftrun -n 2 --processes 2 ./test-process "
                  "exchange'")
                .status,
            0);
}

// Launchers of others, each with its own words; skipped where it is not installed.
struct foreign_launcher {
  const char* name;
  const char* bootstrap;
  const char* program;
  const char* words;
};

class a_foreign_launcher : public ::testing::TestWithParam<foreign_launcher> {
 protected:
  void SetUp() override {
    if (shell(formatted("command -v {}", GetParam().program)).status != 0)
      GTEST_SKIP() << GetParam().program << " is not installed";
  }
  static std::string start(int count, const std::string& words) {
    return formatted("env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 {} {} -n {} {}",
                     GetParam().program, GetParam().words, count, words);
  }
};

TEST_P(a_foreign_launcher, is_joined_by_all_processes) {
  const outcome result = shell(start(3, "./test-process identify"));
  EXPECT_EQ(result.status, 0) << result.text;
  for (int process = 0; process < 3; ++process)
    EXPECT_NE(result.text.find(formatted("{} {} of 3 job ", GetParam().bootstrap, process)),
              std::string::npos)
        << result.text;
  EXPECT_NE(result.text.find(formatted(" 0:{0} 0:{0} 0:{0}\n", host())), std::string::npos)
      << result.text;
}

TEST_P(a_foreign_launcher, carries_keys_of_any_bytes_and_sizes) {
  for (const char* how : {"exchange 5 10", "exchange 2 100000", "twice exchange 3 3000"}) {
    const outcome result = shell(start(3, formatted("./test-process {}", how)));
    EXPECT_EQ(result.status, 0) << result.text;
    for (int process = 0; process < 3; ++process)
      EXPECT_NE(result.text.find(formatted("process {} of 3 read", process)), std::string::npos)
          << result.text;
  }
}

TEST_P(a_foreign_launcher, a_missing_key_is_an_error_and_no_wait) {
  const outcome result = shell(start(2, "./test-process no-such-key"));
  EXPECT_EQ(result.status, 0) << result.text;
  EXPECT_NE(result.text.find("process 0 has put no key 'nothing'"), std::string::npos)
      << result.text;
}

TEST_P(a_foreign_launcher, starts_ranks_that_meet_in_shared_memory) {
  const outcome result =
      shell("WEFT_TRANSPORT=shm WEFT_RANKS=6 " + start(3, "./test-survivors 0 none"));
  EXPECT_EQ(result.status, 0) << result.text;
  expect_all_went_on(result.text, 6);
}

TEST_P(a_foreign_launcher, starts_ranks_that_meet_over_tcp) {
  if (!has_network()) GTEST_SKIP() << "built without libfabric";
  const outcome result =
      shell("WEFT_TRANSPORT=ofi:tcp WEFT_RANKS=6 " + start(3, "./test-survivors 0 none"));
  EXPECT_EQ(result.status, 0) << result.text;
  expect_all_went_on(result.text, 6);
}

TEST_P(a_foreign_launcher, starts_jobs_at_the_same_time_that_do_not_meet) {
  expect_four_at_once("env WEFT_TRANSPORT=shm WEFT_RANKS=4 " + start(2, "./test-survivors 0 none"));
}

TEST_P(a_foreign_launcher, ends_all_when_one_aborts_or_dies) {
  started_job abort(start(3, "./test-process die 1 abort"));
  EXPECT_EQ(abort.finish(), 7) << abort.text();
  EXPECT_NE(abort.text().find("weft: process 1 has had enough"), std::string::npos) << abort.text();
  EXPECT_EQ(abort.left_behind(), "");
  started_job kill(start(3, "./test-process die 1 kill"));
  EXPECT_NE(kill.finish(), 0) << kill.text();
  EXPECT_EQ(kill.left_behind(), "");
}

INSTANTIATE_TEST_SUITE_P(
    launchers, a_foreign_launcher,
    ::testing::Values(foreign_launcher{"open_mpi", "pmix", "mpirun.openmpi", "--oversubscribe"},
                      foreign_launcher{"prte", "pmix", "prterun", "--map-by :OVERSUBSCRIBE"},
                      foreign_launcher{"hydra", "pmi1", "mpiexec.hydra", ""}),
    [](const auto& one) { return one.param.name; });

// Launchers of batch systems, in place of which a script says how it was called.
class allocation : public ::testing::Test {
 protected:
  allocation() {
    for (const char* name : {"srun", "mpirun"})
      shell(
          formatted("printf '#!/bin/sh\\necho {0} \"$@\" WEFT_RANKS=$WEFT_RANKS "
                    "WEFT_PROCESSES=$WEFT_PROCESSES\\n' > {1}/{0}; chmod +x {1}/{0}",
                    name, directory_.path()));
    shell(formatted("printf 'a\\na\\nb\\nb\\n' > {}/nodes", directory_.path()));
  }
  std::string told(const std::string& variables, const std::string& words) const {
    return shell(formatted("PATH={}:$PATH {} ./weftrun {}", directory_.path(), variables, words))
        .text;
  }
  const std::string slurm_ = "SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=2 SLURM_CPUS_ON_NODE=8";
  empty_directory directory_;
};

TEST_F(allocation, of_slurm_is_handed_to_srun) {
  EXPECT_EQ(told(slurm_, "./heat 5"),
            "srun --mpi=pmix --nodes=2 --ntasks=2 --cpus-per-task=8 --kill-on-bad-exit=1 ./heat 5 "
            "WEFT_RANKS=16 WEFT_PROCESSES=2\n");
  EXPECT_EQ(told(slurm_, "-n 32 --ranks-per-process 8 --on-failure error --pin=off ./heat"),
            "srun --mpi=pmix --nodes=2 --ntasks=4 --cpus-per-task=4 --kill-on-bad-exit=0 "
            "--cpu-bind=none ./heat WEFT_RANKS=32 WEFT_PROCESSES=4\n");
}

TEST_F(allocation, of_pbs_is_handed_to_mpirun) {
  EXPECT_EQ(told(formatted("PBS_NODEFILE={}/nodes", directory_.path()), "-n 4 --stack 1M ./heat"),
            formatted("mpirun -n 2 --hostfile {}/nodes --map-by ppr:1:node --bind-to none -x "
                      "WEFT_RANKS -x WEFT_STACK -x WEFT_PROCESSES ./heat WEFT_RANKS=4 "
                      "WEFT_PROCESSES=2\n",
                      directory_.path()));
}

// Any file will do: weftrun only looks where it is.
TEST_F(allocation, of_pbs_is_told_where_weftrun_finds_plug_ins) {
  shell(formatted("touch {}/weft-transport-mpi-mpich.so", directory_.path()));
  EXPECT_EQ(told(formatted("PBS_NODEFILE={}/nodes", directory_.path()),
                 formatted("-n 2 --transport mpi:mpich --plugins {} ./heat", directory_.path())),
            formatted("mpirun -n 2 --hostfile {}/nodes --map-by ppr:1:node --bind-to none -x "
                      "WEFT_RANKS -x WEFT_TRANSPORT -x WEFT_PLUGINS -x WEFT_PLUGINS_LENT -x "
                      "WEFT_PROCESSES ./heat WEFT_RANKS=2 WEFT_PROCESSES=2\n",
                      directory_.path()));
}

TEST_F(allocation, of_one_node_or_inside_a_step_is_left_alone) {
  EXPECT_EQ(told("SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=1", "echo here"), "here\n");
  EXPECT_EQ(told(slurm_ + " SLURM_STEP_NUM_TASKS=2", "echo here"), "here\n");
  EXPECT_EQ(told(slurm_, "--processes 1 echo here"), "here\n");
}

class hosts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!both_.reachable()) GTEST_SKIP() << both_.why_not();
  }
  std::string weftrun(const std::string& words) const {
    return formatted("./weftrun {} {}", both_.words(), words);
  }
  cabled_hosts both_;
};

TEST_F(hosts, processes_are_shared_out_and_know_where_each_is) {
  const outcome result = shell(weftrun("-n 4 --processes 4 ./test-process identify"));
  EXPECT_EQ(result.status, 0) << result.text;
  const std::string places = formatted(" 0:{0} 0:{0} 1:{1} 1:{1}\n", both_.name(0), both_.name(1));
  std::size_t count = 0;
  for (std::size_t at = 0; (at = result.text.find(places, at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 4u) << result.text;
}

TEST_F(hosts, keys_output_and_input_cross_between_them) {
  expect_lines(weftrun("-n 2 ./test-process exchange 20 100000"), 0,
               {"process 0 of 2 read 40 keys", "process 1 of 2 read 40 keys"});
  expect_all_lines(weftrun("-n 2 ./test-process print 200000 70"), 2, 200000, 70);
  expect_lines("seq 200000 | " + weftrun("-n 2 ./test-process input"), 0,
               {"process 0 read 200000 lines, 1288895 bytes", "process 1 read 0 lines, 0 bytes"});
}

TEST_F(hosts, when_nobody_reads_the_output_any_more_the_job_ends) {
  started_job job(formatted("sh -c \"{} | head -n 1\"", weftrun("-n 2 yes")));
  EXPECT_EQ(job.finish(), 0) << job.text();
  EXPECT_EQ(job.left_behind(), "");
}

TEST_F(hosts, a_process_that_dies_on_one_ends_all) {
  started_job job(weftrun("-n 4 ./test-process die 1 kill"));
  EXPECT_EQ(job.finish(), 137);
  EXPECT_EQ(job.text(), formatted("weftrun: process 1 (ranks 2 to 3) on host {} was killed by "
                                  "signal 9 (Killed); the job ends\n",
                                  both_.name(1)));
  EXPECT_EQ(job.left_behind(), "");
}

TEST_F(hosts, a_host_that_cannot_be_reached_is_named) {
  const outcome result =
      shell(formatted("./weftrun --rsh 'ip netns exec' --hosts {},nowhere -n 2 ./test-process wait",
                      both_.name(0)));
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.text.find("weftrun: host nowhere: no weftrun could be started there"),
            std::string::npos)
      << result.text;
}

// Not one of those "hosts": its shell says nothing.
TEST(signals, end_a_job_at_once_whose_host_has_not_answered) {
  const empty_directory directory;
  const std::string mute = directory.path() + "/mute";
  std::ofstream(mute) << "#!/bin/sh\nexec sleep 100\n";
  std::filesystem::permissions(mute, std::filesystem::perms::owner_all);
  started_job job(formatted("./weftrun --rsh {} --hosts nowhere -n 2 ./test-process wait", mute));
  // weftrun, its sweeper and the shell.
  for (int left = 1000; left > 0 && job.processes().size() < 3; --left)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const auto begin = std::chrono::steady_clock::now();
  job.signal(SIGTERM);
  EXPECT_EQ(job.finish(), 128 + SIGTERM) << job.text();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
  EXPECT_EQ(job.left_behind(), "");
}

// Of a user who may have hardly any: root may have all, and nobody has none of others.
TEST(starting, without_threads_or_processes_to_be_had_ends_with_one_line) {
  const auto line = [](int most) {
    return formatted(
        "setpriv --reuid 65534 --regid 65534 --clear-groups prlimit --nproc={} ./weftrun -n 4 "
        "--processes 2 --transport ofi:tcp ./test-survivors 0 none",
        most);
  };
  const outcome usual = shell(line(4000));
  if (usual.status != 0) GTEST_SKIP() << "nobody cannot run this here: " << usual.text;
  for (const int most : {2, 3, 4, 6, 8}) {
    const outcome got = shell(line(most));
    EXPECT_NE(got.status, 0) << most << ": " << got.text;
    EXPECT_LT(got.status, 128) << most << ": " << got.text;
    EXPECT_EQ(got.text.find("terminate called"), std::string::npos) << most << ": " << got.text;
    EXPECT_NE(got.text.find("Resource temporarily unavailable"), std::string::npos)
        << most << ": " << got.text;
  }
}

TEST_F(hosts, the_shm_transport_is_refused) {
  const outcome result = shell(weftrun("--transport shm -n 2 true"));
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.text,
            "weftrun: --transport shm reaches one host only; leave it out, or --hosts\n");
}

// Many jobs, each ended at a random moment by a random one of: kill -9 of a process, kill -9
// of weftrun, kill -9 of an agent, ^C.
// What runs: a program that knows only its job, on one host or two; or ranks, which talk to each other.
enum class swept { on_one_host, on_two_hosts, ranks_over_shm, ranks_over_tcp };
std::string name_of(swept what) {
  constexpr const char* names[] = {"on_one_host", "on_two_hosts", "of_ranks_over_shm",
                                   "of_ranks_over_tcp"};
  return names[static_cast<int>(what)];
}
class sweeping : public ::testing::TestWithParam<swept> {};

TEST_P(sweeping, nothing_is_left_of_jobs_that_were_killed) {
  std::unique_ptr<cabled_hosts> both;
  if (GetParam() == swept::on_two_hosts) {
    both = std::make_unique<cabled_hosts>();
    if (!both->reachable()) GTEST_SKIP() << both->why_not();
  }
  const char* const given = std::getenv("TEST_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : 1;
  std::mt19937 random(seed);
  const empty_directory directory;
  // Of ranks a hundred as well with TEST_SWEPT=100, in the soak: they take a second each to end.
  const bool ranks = GetParam() >= swept::ranks_over_shm;
  const char* const wanted = std::getenv("TEST_SWEPT");
  const int jobs = wanted != nullptr ? std::atoi(wanted) : ranks ? 12 : 100;
  for (int i = 0; i < jobs; ++i) {
    SCOPED_TRACE(formatted("job {}, seed {}", i, seed));
    const std::string words = GetParam() == swept::ranks_over_shm   ? "--transport shm"
                              : GetParam() == swept::ranks_over_tcp ? "--transport ofi:tcp"
                              : both                                ? both->words()
                                                                    : "";
    started_job job(formatted("env -C {0} TMPDIR={0} {1}/weftrun {2} -n 3 --processes 3 {1}/{3}",
                              directory.path(), WEFT_PROGRAM_DIR, words,
                              ranks ? "test-idle" : "test-process wait"));
    const bool started = random() % 2 == 0;
    if (started) {
      for (int each = 0; each < 3; ++each)
        ASSERT_TRUE(job.wait_for(formatted("{} {} waits in ", ranks ? "rank" : "process", each)))
            << job.text();
    } else {  // Anywhere in its start.
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
    }
    // Or the search for what is left could find nothing. The processes, weftrun and its sweeper.
    for (int left = 1000; started && left > 0 && job.processes().size() < 5; --left)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (started) {
      ASSERT_GE(job.processes().size(), 5u);
    }
    switch (random() % 3) {
      case 0:
        job.signal(SIGINT);
        break;
      case 1:
        job.signal(SIGKILL);
        break;
      default: {  // Any process of the job: of the program, weftrun, an agent, a sweeper.
        const std::vector<pid_t> all = job.processes();
        if (!all.empty()) ::kill(all[random() % all.size()], SIGKILL);
        // Had it been a sweeper, the job would go on.
        job.signal(SIGTERM);
      }
    }
    EXPECT_NE(job.finish(), 0);
    ASSERT_EQ(job.left_behind(), "") << job.text();
    ASSERT_TRUE(directory.still_empty());
  }
}

INSTANTIATE_TEST_SUITE_P(starting, sweeping,
                         ::testing::Values(swept::on_one_host, swept::on_two_hosts,
                                           swept::ranks_over_shm, swept::ranks_over_tcp),
                         [](const auto& one) { return name_of(one.param); });

}  // namespace
}  // namespace weft
