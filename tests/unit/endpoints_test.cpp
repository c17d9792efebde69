// Transports between processes: tests/programs/endpoint.cpp, once per process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/environment.hpp"
#include "base/format.hpp"
#include "transport/mpi/mpi.hpp"
#include "transport/ofi/ofi.hpp"
#include "unit/shell.hpp"
#include "weft/error.hpp"

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
    script += formatted(
        "WEFT_SECURE={} timeout 60 ./test-endpoint '{}' {} {} {} {} & pids=\"$pids $!\"; ",
        scenario == "remember" ? "off" : "auto", transport, i, count, directory, scenario);
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

// Under the launcher of the MPI, which numbers the processes.
class mpi_endpoints : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto plugins = mpi_plugins();
    if (std::ranges::find(plugins, GetParam()) == plugins.end())
      GTEST_SKIP() << "no plug-in for " << GetParam();
  }
  static outcome launch(const std::string& scenario) {
    std::string directory =
        (std::filesystem::temp_directory_path() / "weft-endpoints-XXXXXX").string();
    if (::mkdtemp(directory.data()) == nullptr) return {-1, "mkdtemp failed"};
    const bool is_open = GetParam() == "openmpi";
    const std::string launcher =
        is_open ? "mpirun.openmpi --allow-run-as-root --oversubscribe -n 2" : "mpiexec.mpich -n 2";
    const outcome result = shell(
        formatted("timeout 80 {} bash -c './test-endpoint mpi:{} ${} 2 {} {}'", launcher,
                  GetParam(), is_open ? "OMPI_COMM_WORLD_RANK" : "PMI_RANK", directory, scenario));
    std::filesystem::remove_all(directory);
    return result;
  }
};

TEST_P(mpi_endpoints, exchange_messages_of_all_sizes) {
  const outcome result = launch("exchange");
  EXPECT_EQ(result.status, 0) << result.text;
}

TEST_P(mpi_endpoints, sleep_and_look_often_enough) {
  const outcome result = launch("sleep");
  EXPECT_EQ(result.status, 0) << result.text;
}

INSTANTIATE_TEST_SUITE_P(mpi, mpi_endpoints, ::testing::Values("mpich", "openmpi"),
                         [](const auto& which) { return which.param; });

TEST(mpi_plugin, that_does_not_exist_or_without_its_launcher_is_refused_with_the_reason) {
  EXPECT_THROW((void)make_mpi_transport("vendor"), error);
  ::unsetenv("OMPI_COMM_WORLD_SIZE");
  ::unsetenv("PMI_RANK");
  EXPECT_THROW((void)make_mpi_transport(""), error);
}

// What make_mpi_transport() says of a plug-in of tests/plugins, with this variable naming `directories`.
std::string told_of(const char* variable, const std::string& directories, const char* plugin) {
  ::setenv(variable, directories.c_str(), 1);
  std::string text = "nothing was thrown";
  try {
    (void)make_mpi_transport(plugin);
  } catch (const error& told) {
    text = told.what();
  }
  ::unsetenv(variable);
  return text;
}
constexpr const char* stand_ins = WEFT_PROGRAM_DIR "/stand-in-plugins";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool opens_plugins = false;
#else
constexpr bool opens_plugins = true;
#endif
constexpr const char* why_not = "sanitizers refuse libraries that look up their own symbols first";
constexpr const char* starts_not = "stand-in does not start: there is no MPI behind it";

void takes_hangup(int) noexcept {}

// Of those that load it here the first, since it stays loaded.
TEST(mpi_plugin, that_takes_a_signal_does_not_keep_it) {
  if (!opens_plugins) GTEST_SKIP() << why_not;
  const auto before = ::signal(SIGHUP, &takes_hangup);
  EXPECT_EQ(told_of("WEFT_PLUGINS", stand_ins, "stand-in"), starts_not);
  EXPECT_EQ(::signal(SIGHUP, before), &takes_hangup);
}

TEST(mpi_plugin, of_another_version_is_refused) {
  if (!opens_plugins) GTEST_SKIP() << why_not;
  EXPECT_EQ(told_of("WEFT_PLUGINS", stand_ins, "stand-in"), starts_not) << "of this version";
  EXPECT_EQ(
      told_of("WEFT_PLUGINS", stand_ins, "stand-in-of-another-version"),
      formatted(
          "{}/weft-transport-mpi-stand-in-of-another-version.so belongs to another version of "
          "weft; install weft again",
          stand_ins));
}

TEST(mpi_plugin, is_found_in_each_directory_that_weftrun_lends_unless_another_is_named) {
  if (!opens_plugins) GTEST_SKIP() << why_not;
  for (const char* before : {"", "/nowhere:"})
    for (const char* behind : {"", ":/nowhere"})
      EXPECT_EQ(told_of(lent_plugins_variable, formatted("{}{}{}", before, stand_ins, behind),
                        "stand-in"),
                starts_not);
  ::setenv("WEFT_PLUGINS", "/nowhere", 1);
  const std::string told = told_of(lent_plugins_variable, stand_ins, "stand-in");
  ::unsetenv("WEFT_PLUGINS");
  EXPECT_NE(told.find("weft-transport-mpi-stand-in.so is not in /nowhere;"), std::string::npos)
      << told;
}

// Two hosts as network namespaces joined by a cable.
TEST(two_hosts, joined_by_a_cable_exchange_messages) {
  const std::string names = formatted("weft-a-{0} weft-b-{0}", ::getpid());
  const outcome made = shell(
      formatted("a=weft-a-{0}; b=weft-b-{0}; ip netns add $a && ip netns add $b && "
                "ip link add wa{0} type veth peer name wb{0} && ip link set wa{0} netns $a && "
                "ip link set wb{0} netns $b && ip -n $a addr add 10.77.0.1/24 dev wa{0} && "
                "ip -n $b addr add 10.77.0.2/24 dev wb{0} && ip -n $a link set wa{0} up && "
                "ip -n $b link set wb{0} up",
                ::getpid()));
  const auto remove = [&] {
    (void)shell(formatted("for n in {}; do ip netns del $n; done", names));
  };
  if (made.status != 0) {
    remove();
    GTEST_SKIP() << "network namespaces may not be made here: " << made.text;
  }
  std::string directory = (std::filesystem::temp_directory_path() / "weft-hosts-XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const outcome result = shell(formatted(
      "timeout 60 ip netns exec weft-a-{0} ./test-endpoint ofi:tcp 0 2 {1} exchange & first=$!; "
      "timeout 60 ip netns exec weft-b-{0} ./test-endpoint ofi:tcp 1 2 {1} exchange; second=$?; "
      "wait $first && exit $second",
      ::getpid(), directory));
  EXPECT_EQ(result.status, 0) << result.text;
  EXPECT_EQ(result.text.find(" on lo"), std::string::npos) << result.text;
  std::filesystem::remove_all(directory);
  remove();
}

}  // namespace
}  // namespace weft
