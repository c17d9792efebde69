// Jobs whose processes rest again and again without hanging, on a machine that has too few cores for them: none may be told
// that it hangs. TEST_JOBS and TEST_ROUNDS make a soak of it.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/format.hpp"
#include "multi/started_job.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

struct way {
  const char* name;
  const char* words;
  bool has_hosts = false;  // By an rsh that goes nowhere.
};
void PrintTo(const way& of, std::ostream* out) {
  *out << of.name;
}

// What takes the place of ssh.
std::string make_rsh(const std::string& directory) {
  const std::string file = directory + "/rsh";
  std::ofstream(file) << "#!/bin/sh\nshift\nexec sh -c \"$*\"\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file;
}

int number_of(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++count;
  return count;
}

class quiescence : public ::testing::TestWithParam<way> {
 protected:
  void SetUp() override {
    if (std::string(GetParam().words).find("ofi") != std::string::npos && !has_network())
      GTEST_SKIP() << "built without libfabric";
  }
  std::string line(const std::string& program) const {
    return formatted(
        "timeout 300 ./weftrun {} {} --timeout 280 ./test-rounds {}",
        GetParam().has_hosts ? formatted("--rsh {} --hosts left,right", rsh_) : std::string(),
        GetParam().words, program);
  }

 private:
  const empty_directory directory_;
  const std::string rsh_ = make_rsh(directory_.path());
};

TEST_P(quiescence, is_no_deadlock_while_messages_are_under_way) {
  const int jobs = number_of("TEST_JOBS", 2);
  const int rounds = number_of("TEST_ROUNDS", 300);
  const std::string one = line(std::to_string(rounds));
  for (int job = 0; job < jobs; ++job) {
    // Two at a time: each keeps the other from its cores at any moment.
    const outcome got = shell(formatted("{0} & {0} & wait", one));
    ASSERT_EQ(count_of(got.text, formatted("{} rounds, 0 wrong\n", rounds)), 2u)
        << "job " << job << ": " << got.text;
    ASSERT_EQ(got.text.find("deadlock"), std::string::npos) << got.text;
  }
}

TEST_P(quiescence, is_told_when_it_is_a_deadlock) {
  const outcome got = shell(line("50 deadlock"));
  EXPECT_EQ(got.status, 1) << got.text;
  EXPECT_NE(got.text.find("deadlock: every rank waits and no message is under way"),
            std::string::npos)
      << got.text;
  EXPECT_NE(got.text.find("rank 1: in recv"), std::string::npos) << got.text;
}

INSTANTIATE_TEST_SUITE_P(
    at, quiescence,
    ::testing::Values(way{"two_hosts", "-n 4 --transport ofi:tcp@lo", true},
                      way{"two_hosts_with_progress", "-n 4 --progress --transport ofi:tcp@lo",
                          true},
                      way{"two_processes", "-n 4 --processes 2 --transport shm"},
                      way{"three_processes", "-n 6 --processes 3 --transport ofi:tcp"}),
    [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace weft
