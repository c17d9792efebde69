// The commands that share/weft/gdb/weft.py adds to gdb, on a job that is stopped while it waits.
#include <gtest/gtest.h>

#include <string>

#include "unit/shell.hpp"

namespace weft {
namespace {

// What gdb prints for `commands` at the moment when test-job's four ranks are deadlocked.
std::string at_deadlock(const std::string& commands) {
  const outcome result = shell(
      "timeout -s KILL 100 gdb -q -batch -nx -ex 'set debuginfod enabled off' "
      "-ex 'source " WEFT_SOURCE_DIR
      "/tools/gdb/weft.py' "
      "-ex 'break weft::diagnosis::deadlock_report' -ex run " +
      commands + " --args ./test-job deadlock --weft-ranks 4 --weft-workers 2 --weft-pin=off");
  return result.text;
}

bool gdb_works() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return shell(
             "gdb -q -batch -nx -ex 'python print(6 * 7)' -ex 'break main' -ex run "
             "--args ./test-job")
             .text.find("Breakpoint 1, main") != std::string::npos;
#endif
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in:\n" << text;
}

TEST(gdb, lists_the_ranks_and_what_they_wait_in) {
  if (!gdb_works()) GTEST_SKIP() << "gdb is not installed or may not trace here";
  const std::string text = at_deadlock("-ex 'weft ranks'");
  for (int rank = 0; rank < 4; ++rank)
    expect_in(text, "\nrank " + std::to_string(rank) + " (worker " + std::to_string(rank / 2) +
                        "): in recv, peer " + std::to_string((rank + 1) % 4) + ", tag 7, 4 bytes");
}

TEST(gdb, enters_each_rank_and_the_program_goes_on_afterwards) {
  if (!gdb_works()) GTEST_SKIP() << "gdb is not installed or may not trace here";
  for (int rank = 0; rank < 4; ++rank) {
    const std::string text =
        at_deadlock("-ex 'weft rank " + std::to_string(rank) + "' -ex 'bt' -ex continue");
    expect_in(text, "(anonymous namespace)::deadlock (world=");
    expect_in(text, "weft: deadlock: every rank waits");
    expect_in(text, "exited with code 01]");
  }
}

// However the debugger goes, it leaves the stack that it has entered, and the program goes on.
TEST(gdb, attached_may_be_left_in_any_way_after_it_has_entered_a_rank) {
  if (!gdb_works()) GTEST_SKIP() << "gdb is not installed or may not trace here";
  for (const char* end : {"quit", "detach", "python import os; os.kill(os.getpid(), 9)"}) {
    const outcome result = shell(
        "set -e; d=$(mktemp -d); trap 'rm -rf $d' EXIT; export TEST_FILE=$d/go; "
        "./test-job wait-for-file --weft-ranks 3 --weft-workers 1 --weft-timeout 90 >$d/out & job=$!; "
        "until [ -e $d/go.waits ]; do sleep 0.05; done; "
        "timeout -s KILL 60 gdb -q -batch -nx -ex 'set debuginfod enabled off' -ex 'source " WEFT_SOURCE_DIR
        "/tools/gdb/weft.py' -ex \"attach $job\" -ex 'weft rank 1' -ex bt -ex '" +
        std::string(end) + "' || true; touch $d/go; wait $job; echo status $?; cat $d/out");
    if (result.text.find("ptrace: Operation not permitted") != std::string::npos)
      GTEST_SKIP() << "gdb may not attach here";
    expect_in(result.text, "(anonymous namespace)::wait_for_file (world=");
    expect_in(result.text, "\nstatus 0\n");
    for (const char* rank : {"0", "1", "2"})
      expect_in(result.text, "\nrank " + std::string(rank) + " of 3\n");
  }
}

TEST(gdb, refuses_a_rank_that_does_not_exist) {
  if (!gdb_works()) GTEST_SKIP() << "gdb is not installed or may not trace here";
  expect_in(at_deadlock("-ex 'weft rank 9'"), "no rank 9: weft ranks lists them");
}

}  // namespace
}  // namespace weft
