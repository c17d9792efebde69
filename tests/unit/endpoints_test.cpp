// Transports between processes: tests/programs/endpoint.cpp, once per process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/format.hpp"
#include "transport/ofi/ofi.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

bool has_provider(const std::string& name) {
  const auto providers = ofi_providers();
  return std::ranges::any_of(providers,
                             [&](const ofi_provider& each) { return each.name == name; });
}

// Runs `count` processes; the exit status is that of the last one that failed.
outcome processes(const std::string& transport, int count, const std::string& scenario) {
  std::string directory =
      (std::filesystem::temp_directory_path() / "weft-endpoints-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return {-1, "mkdtemp failed"};
  std::string script = "pids=; status=0; ";
  for (int i = 0; i < count; ++i)
    script += formatted("timeout 60 ./test-endpoint '{}' {} {} {} {} & pids=\"$pids $!\"; ",
                        transport, i, count, directory, scenario);
  script +=
      "for pid in $pids; do wait $pid || { s=$?; [ $s = 137 ] || status=$s; }; done; exit $status";
  outcome result = shell("bash -c \"$(cat <<'EOF'\n" + script + "\nEOF\n)\"");
  std::filesystem::remove_all(directory);
  return result;
}

class endpoints : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const ofi_options options = parse_ofi_options(GetParam().substr(4));
    if (!has_provider(options.provider)) GTEST_SKIP() << "libfabric has no " << options.provider;
  }
};

TEST_P(endpoints, of_several_processes_exchange_messages_of_all_sizes) {
  const outcome result = processes(GetParam(), 3, "exchange");
  EXPECT_EQ(result.status, 0) << result.text;
}

TEST_P(endpoints, put_into_and_get_from_other_processes) {
  const outcome result = processes(GetParam(), 2, "remember");
  EXPECT_EQ(result.status, 0) << result.text;
}

TEST_P(endpoints, of_a_process_that_is_killed_are_told_as_failed_and_the_others_go_on) {
  const outcome result = processes(GetParam(), 3, "outlive");
  EXPECT_EQ(result.status, 0) << result.text;
  EXPECT_NE(result.text.find("told of 1: "), std::string::npos) << result.text;
}

TEST_P(endpoints, sleep_and_are_woken_by_messages) {
  const outcome result = processes(GetParam(), 2, "sleep");
  EXPECT_EQ(result.status, 0) << result.text;
}

std::string name_of(const ::testing::TestParamInfo<std::string>& which) {
  std::string name = which.param;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(ofi, endpoints,
                         ::testing::Values("ofi:net@lo", "ofi:tcp@lo", "ofi:tcp;ofi_rxm@lo",
                                           "ofi:shm"),
                         name_of);

}  // namespace
}  // namespace weft
