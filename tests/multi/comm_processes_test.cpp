// The communication core between processes of their own, as launchers start them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "base/format.hpp"
#include "multi/started_job.hpp"
#include "transport/mpi/mpi.hpp"
#include "transport/ofi/ofi.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

struct job {
  const char* name;
  const char* transport;
  int processes;
  const char* launcher;
  const char* around = "";  // What runs the program in each process.

  [[nodiscard]] std::string why_not() const {
    const std::string which = transport;
    if (which.starts_with("ofi") && !has_network()) return "built without libfabric";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (which.starts_with("mpi:")) return "an MPI is not loaded beside a sanitizer";
#endif
    const std::vector<std::string> plugins = mpi_plugins();
    if (which.starts_with("mpi:") && std::ranges::find(plugins, which.substr(4)) == plugins.end())
      return "no plug-in for " + which;
    return {};
  }
};

// Copies by the kernel are refused to all processes, or to the one that comes first: the others can
// read its memory, and it cannot read theirs.
constexpr const char* refused = "./test-forbid";
constexpr const char* one_refused =
    "sh -c 'mkdir $REFUSED 2>/dev/null && exec ./test-forbid $0 || exec $0'";
constexpr const char* by_weftrun = "./weftrun --processes";
constexpr const char* by_open_mpi = "mpirun.openmpi --allow-run-as-root --oversubscribe -n";
constexpr const char* by_hydra = "mpiexec.hydra -n";

class between_processes : public ::testing::TestWithParam<job> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_not(); !why.empty()) GTEST_SKIP() << why;
  }
  static void expect_all_right(const std::string& program) {
    const job& which = GetParam();
    const empty_directory own;
    const outcome got =
        shell(formatted("WEFT_TRANSPORT={} REFUSED={}/one timeout 200 {} {} {} {}", which.transport,
                        own.path(), which.launcher, which.processes, which.around, program));
    EXPECT_EQ(got.status, 0) << got.text;
    const std::string line = formatted("{} processes over {}: all right", which.processes,
                                       std::string(which.transport).substr(0, 3));
    EXPECT_NE(got.text.find(line), std::string::npos) << got.text;
    EXPECT_EQ(std::string(which.around) != one_refused, own.still_empty());
  }
};

TEST_P(between_processes, every_primitive_works_with_every_object_at_either_side) {
  expect_all_right("./test-comm_exchange");
}
TEST_P(between_processes, lists_packets_matching_devices_and_collectives_work) {
  expect_all_right("./test-comm_ways");
}
TEST_P(between_processes, runtimes_that_find_the_job_themselves_share_it) {
  expect_all_right("./test-comm_runtimes");
}

INSTANTIATE_TEST_SUITE_P(
    comm_processes, between_processes,
    ::testing::Values(job{"shm_1", "shm", 1, by_weftrun}, job{"shm_2", "shm", 2, by_weftrun},
                      job{"shm_3", "shm", 3, by_weftrun}, job{"shm_4", "shm", 4, by_weftrun},
                      job{"shm_2_refused_copies", "shm", 2, by_weftrun, refused},
                      job{"shm_3_one_refused_copies", "shm", 3, by_weftrun, one_refused},
                      job{"tcp_2", "ofi:tcp", 2, by_weftrun},
                      job{"tcp_4", "ofi:tcp", 4, by_weftrun},
                      job{"openmpi_2", "mpi:openmpi", 2, by_open_mpi},
                      job{"openmpi_4", "mpi:openmpi", 4, by_open_mpi},
                      job{"mpich_2", "mpi:mpich", 2, by_hydra},
                      job{"mpich_4", "mpi:mpich", 4, by_hydra}),
    [](const auto& one) { return one.param.name; });

// More processes than cores, none of which yields by itself.
class a_crowd : public between_processes {};

TEST_P(a_crowd, of_processes_that_spin_gets_on_with_two_cores) {
  expect_all_right("./test-comm_crowd");
}

INSTANTIATE_TEST_SUITE_P(comm_processes, a_crowd,
                         ::testing::Values(job{"shm", "shm", 6, by_weftrun},
                                           job{"tcp", "ofi:tcp", 6, by_weftrun}),
                         [](const auto& one) { return one.param.name; });

// --- Sizes at which something else begins ------------------------------------------------------------

class with_rendezvous : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(with_rendezvous, messages_of_the_sizes_at_all_borders_arrive) {
  const auto [transport, which] = GetParam();
  if (transport != std::string("shm") && !has_network()) GTEST_SKIP() << "built without libfabric";
  if (transport == std::string("ofi:shm") &&
      std::ranges::none_of(ofi_providers(), [](const auto& one) { return one.name == "shm"; }))
    GTEST_SKIP() << "libfabric has no shm";
  for (const int count : {2, 3}) {
    // Sealed messages leave nothing to be read or written by the network.
    const bool is_sealed = which == std::string("messages");
    const outcome got = shell(formatted(
        "WEFT_TRANSPORT={} WEFT_SECURE={} timeout 100 ./weftrun --processes {} ./test-comm_sizes {}",
        transport, is_sealed ? "auto" : "off", count, which));
    EXPECT_EQ(got.status, 0) << got.text;
    EXPECT_NE(got.text.find(formatted("{} processes over {}: all right", count,
                                      std::string(transport).substr(0, 3))),
              std::string::npos)
        << got.text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    comm_processes, with_rendezvous,
    ::testing::Values(std::tuple{"shm", "read"}, std::tuple{"shm", "write"},
                      std::tuple{"shm", "messages"}, std::tuple{"shm", "refused"},
                      std::tuple{"ofi:tcp", "read"}, std::tuple{"ofi:tcp", "write"},
                      std::tuple{"ofi:tcp", "messages"}, std::tuple{"ofi:shm", "read"},
                      std::tuple{"ofi:shm", "write"}, std::tuple{"ofi:shm", "messages"}),
    [](const auto& one) {
      std::string name = std::string(std::get<0>(one.param)) + "_" + std::get<1>(one.param);
      std::replace(name.begin(), name.end(), ':', '_');
      return name;
    });

// Whose messages are all that there is: no rendezvous, no put and get.
class over_an_mpi : public between_processes {};
TEST_P(over_an_mpi, messages_of_the_sizes_at_all_borders_arrive) {
  expect_all_right("./test-comm_sizes");
}
INSTANTIATE_TEST_SUITE_P(comm_processes, over_an_mpi,
                         ::testing::Values(job{"openmpi", "mpi:openmpi", 2, by_open_mpi},
                                           job{"mpich", "mpi:mpich", 2, by_hydra}),
                         [](const auto& one) { return one.param.name; });

// Not started by that MPI's launcher, each process is a job of its own to it.
class without_its_launcher : public between_processes {};
TEST_P(without_its_launcher, an_mpi_is_refused_with_the_reason) {
  const job& which = GetParam();
  const outcome got = shell(formatted("WEFT_TRANSPORT={} timeout 60 {} {} ./test-comm_ways",
                                      which.transport, which.launcher, which.processes));
  EXPECT_NE(got.status, 0) << got.text;
  EXPECT_NE(got.status, 124) << got.text;
  EXPECT_NE(
      got.text.find("processes 0 and 1 have the same address over mpi: each is a job of its own"),
      std::string::npos)
      << got.text;
}
INSTANTIATE_TEST_SUITE_P(comm_processes, without_its_launcher,
                         ::testing::Values(job{"openmpi", "mpi:openmpi", 2, by_weftrun},
                                           job{"mpich", "mpi:mpich", 2, by_weftrun},
                                           job{"openmpi_by_hydra", "mpi:openmpi", 2, by_hydra},
                                           job{"mpich_by_open_mpi", "mpi:mpich", 2, by_open_mpi}),
                         [](const auto& one) { return one.param.name; });

// --- Deaths ------------------------------------------------------------------------------------------

class a_killed_process : public between_processes {};
TEST_P(a_killed_process, is_noticed_and_the_others_go_on) {
  const outcome got = shell(
      formatted("WEFT_TRANSPORT={} timeout 60 {} {} --on-failure error ./test-comm_exchange die 1",
                GetParam().transport, GetParam().launcher, GetParam().processes));
  EXPECT_NE(got.text.find("the living went on"), std::string::npos) << got.text;
}
INSTANTIATE_TEST_SUITE_P(comm_processes, a_killed_process,
                         ::testing::Values(job{"shm", "shm", 3, by_weftrun},
                                           job{"tcp", "ofi:tcp", 3, by_weftrun}),
                         [](const auto& one) { return one.param.name; });

TEST(comm_processes, each_runtime_of_a_process_hears_of_a_death) {
  const outcome got = shell(
      "WEFT_TRANSPORT=shm timeout 60 ./weftrun --on-failure error --processes 3 "
      "./test-comm_runtimes die 1");
  EXPECT_NE(got.text.find("both heard of it"), std::string::npos) << got.text;
}

class more_than_4_gibibytes : public between_processes {};
TEST_P(more_than_4_gibibytes, are_sent_put_and_got) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "takes a sanitizer too long";
#endif
  expect_all_right("./test-comm_large");
}
INSTANTIATE_TEST_SUITE_P(comm_processes, more_than_4_gibibytes,
                         ::testing::Values(job{"shm", "shm", 2, by_weftrun},
                                           job{"shm_refused_copies", "shm", 2, by_weftrun, refused},
                                           job{"tcp", "ofi:tcp", 2, by_weftrun}),
                         [](const auto& one) { return one.param.name; });

// --- Buffers on an accelerator ----------------------------------------------------------------------

// The memory of a GPU, for which something else stands in here: no load or store reaches it.
class with_a_gpu : public between_processes {};
TEST_P(with_a_gpu, buffers_there_may_be_at_either_side_of_everything) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers look into all memory that is copied";
#endif
  expect_all_right("env LD_LIBRARY_PATH=stand-in-cuda ./test-comm_accelerator cuda");
}
INSTANTIATE_TEST_SUITE_P(
    comm_processes, with_a_gpu,
    ::testing::Values(job{"shm_1", "shm", 1, by_weftrun}, job{"shm_3", "shm", 3, by_weftrun},
                      job{"shm_2_refused_copies", "shm", 2, by_weftrun, refused},
                      job{"tcp_2", "ofi:tcp", 2, by_weftrun},
                      job{"openmpi_2", "mpi:openmpi", 2, by_open_mpi},
                      job{"mpich_2", "mpi:mpich", 2, by_hydra}),
    [](const auto& one) { return one.param.name; });

// By libfabric's interface for it: weft copies no long message.
TEST(comm_processes, a_network_that_can_moves_the_data_of_an_accelerator_itself) {
  const auto moves_them = [](const auto& one) { return one.name == "shm" && one.has_hmem; };
  if (std::ranges::none_of(ofi_providers(), moves_them))
    GTEST_SKIP() << "libfabric has no such one";
  const outcome got = shell(
      "WEFT_TRANSPORT=ofi:shm timeout 100 ./weftrun --processes 2 ./test-comm_accelerator direct");
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_NE(got.text.find("2 processes over ofi: all right"), std::string::npos) << got.text;
}

TEST(comm_processes, a_libfabric_that_does_not_know_the_accelerator_is_told_of_once) {
  const outcome got = shell(
      "WEFT_TRANSPORT=ofi:shm LD_LIBRARY_PATH=stand-in-cuda timeout 100 ./weftrun --processes 2 "
      "./test-comm_accelerator cuda");
  if (got.text.find("no libfabric provider") != std::string::npos) GTEST_SKIP() << got.text;
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_NE(got.text.find("2 processes over ofi: all right"), std::string::npos) << got.text;
  std::size_t lines = 0;  // Of a runtime each; there are three of them in each process.
  for (std::size_t at = 0; (at = got.text.find("messages instead", at)) != std::string::npos; ++at)
    ++lines;
  EXPECT_LE(lines, 6) << got.text;
}

TEST(comm_processes, which_accelerator_there_is_and_why_none_is_said) {
  const auto told = [](const std::string& with) {
    const std::string text =
        shell("env LD_LIBRARY_PATH=stand-in-cuda " + with + " ./weft-info").text;
    const std::size_t at = text.find("accelerator  ");
    return at == std::string::npos ? text : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_NE(told("").find("cuda"), std::string::npos) << told("");
  const std::string none = told("FAKE_GPUS=0");
  EXPECT_NE(none.find("none: NVIDIA's driver offers no GPU here: CUDA_ERROR_NO_DEVICE"),
            std::string::npos)
      << none;
}

// --- Memory ------------------------------------------------------------------------------------------

// What each of so many processes prints of its memory.
std::vector<long> kibibytes_told(std::size_t processes, const std::string& command) {
  const outcome got = shell(command);
  EXPECT_EQ(got.status, 0) << got.text;
  std::vector<long> told;
  std::istringstream words(got.text);
  for (std::string line; std::getline(words, line);) {
    long kib = 0;
    int end = 0;  // Stays so when the rest is not as here.
    if (std::sscanf(line.c_str(), "%*s %*d %*s %ld KiB%n", &kib, &end) == 1 && end > 0)
      told.push_back(kib);
  }
  EXPECT_EQ(told.size(), processes) << got.text;
  return told;
}
// A process, not only its rings: with packets, buffers and the library itself.
void expect_less_than_64_mebibytes(const std::string& command) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is more than that";
#endif
  for (const long kib : kibibytes_told(17, command)) {
    EXPECT_LT(kib, 64 * 1024);
    EXPECT_GT(kib, 4 * 1024) << "the library alone has more";
  }
}

class with_sixteen_peers : public ::testing::TestWithParam<const char*> {};
TEST_P(with_sixteen_peers, a_process_has_less_than_64_mebibytes) {
  if (GetParam() == std::string("ofi:tcp") && ofi_providers().empty())
    GTEST_SKIP() << "libfabric has no provider";
  const std::string over = std::string("WEFT_TRANSPORT=") + GetParam();
  expect_less_than_64_mebibytes(over + " timeout 200 ./weftrun --processes 17 ./test-comm_memory");
  expect_less_than_64_mebibytes(
      over + " timeout 200 ./weftrun -n 17 --processes 17 --workers 1 ./test-comm_memory ranks");
}
INSTANTIATE_TEST_SUITE_P(comm_processes, with_sixteen_peers, ::testing::Values("shm", "ofi:tcp"),
                         [](const auto& one) { return std::string(one.param).substr(0, 3); });

// Whatever the transport would take: what nobody looks at stays with those who send it, up to 400 MB here.
class a_flood : public between_processes {};
TEST_P(a_flood, does_not_fill_the_memory_of_a_process_that_looks_rarely) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps what is freed";
#endif
  const job& which = GetParam();
  for (const char* const size : {"200", "2000"}) {
    const std::string command =
        formatted("WEFT_TRANSPORT={} timeout 120 {} {} ./test-comm_memory flood {}",
                  which.transport, which.launcher, which.processes, size);
    for (const long kib : kibibytes_told(static_cast<std::size_t>(which.processes), command))
      EXPECT_LT(kib, 10 * 1024) << "with messages of " << size << " bytes";
  }
}
INSTANTIATE_TEST_SUITE_P(comm_processes, a_flood,
                         ::testing::Values(job{"shm", "shm", 3, by_weftrun},
                                           job{"tcp", "ofi:tcp", 3, by_weftrun},
                                           job{"openmpi", "mpi:openmpi", 3, by_open_mpi},
                                           job{"mpich", "mpi:mpich", 3, by_hydra}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace weft
