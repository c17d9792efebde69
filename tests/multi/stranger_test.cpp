// Another user of a host who takes the place of a process, for libfabric's providers of TCP believe everybody who says at
// which port it listens; and what it does with the messages that it then gets, of a job on one host and between two.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "multi/started_job.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

// What is done to messages that are long enough to have data of the program.
enum class act { forward, change, hold_back, repeat, swap, give_back };

// --- Where the processes of a job listen -----------------------------------------------------------

struct listener {
  pid_t process = 0;
  sockaddr_in address{};
};

std::set<std::string> sockets_of(pid_t process) {
  std::set<std::string> found;
  std::error_code gone;
  for (const auto& one :
       std::filesystem::directory_iterator(formatted("/proc/{}/fd", process), gone)) {
    const std::string text = std::filesystem::read_symlink(one.path(), gone).string();
    if (text.starts_with("socket:[")) found.insert(text.substr(8, text.size() - 9));
  }
  return found;
}

std::optional<listener> listens(pid_t process) {
  const std::set<std::string> own = sockets_of(process);
  std::ifstream table(formatted("/proc/{}/net/tcp", process));
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >>
        timeout >> inode;
    if (state != "0A" || !own.contains(inode)) continue;
    listener found{.process = process, .address = {}};
    found.address.sin_family = AF_INET;
    found.address.sin_addr.s_addr =
        static_cast<in_addr_t>(std::stoul(local.substr(0, 8), nullptr, 16));
    found.address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoul(local.substr(9), nullptr, 16)));
    return found;
  }
  return std::nullopt;
}

std::string name_of(pid_t process) {
  std::string name;
  std::ifstream(formatted("/proc/{}/comm", process)) >> name;
  return name;
}

// --- Who stands between ------------------------------------------------------------------------------

// A process of the user nobody that connects to both and says to each that it listens at the other's address.
class relay {
 public:
  relay(const listener& one, const listener& other, act does, bool is_between_hosts) {
    std::array<int, 2> said{};
    if (::pipe2(said.data(), O_CLOEXEC) != 0) return;
    said_ = said[0];
    process_ = ::fork();
    if (process_ == 0) {
      const int changed = run(one, other, does, is_between_hosts);
      [[maybe_unused]] const ssize_t size = ::write(said[1], &changed, sizeof changed);
      ::_exit(0);
    }
    ::close(said[1]);
  }
  relay(const relay&) = delete;
  relay& operator=(const relay&) = delete;
  ~relay() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(said_);
  }
  // How many messages it has treated so, when it ends; -1: it was let in by nobody.
  [[nodiscard]] int count() const {
    int treated = -1;
    return ::read(said_, &treated, sizeof treated) == sizeof treated ? treated : -1;
  }

 private:
  static constexpr auto time = 3s;
  static constexpr std::size_t head_bytes = 16;
  // Of a frame with data of the program; those with less are the runtime's.
  static constexpr std::size_t data_bytes_min = 600;

  // As both hosts' users do, or as one who is on the network of both.
  static int connect_from(const listener& where, const listener& to, bool is_between_hosts) {
    if (is_between_hosts) {
      const int space =
          ::open(formatted("/proc/{}/ns/net", where.process).c_str(), O_RDONLY | O_CLOEXEC);
      if (space < 0 || ::setns(space, CLONE_NEWNET) != 0) return -1;
    }
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(made, reinterpret_cast<const sockaddr*>(&to.address), sizeof to.address) != 0)
      return -1;
    return made;
  }

  static bool read_all(int from, std::byte* to, std::size_t size) {
    while (size != 0) {
      const ssize_t got = ::recv(from, to, size, 0);
      if (got <= 0) return false;
      to += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }
  static bool write_all(int to, const std::vector<std::byte>& bytes) {
    return ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

  // The greeting of libfabric's tcp: version 3, a request, 8 bytes of data, which are the port and some process.
  static bool greet(int by, const listener& claims_to_be, std::uint32_t process) {
    std::vector<std::byte> greeting(40);
    greeting[0] = std::byte{3};
    greeting[3] = std::byte{8};
    greeting[24] = std::byte{1};
    std::memcpy(&greeting[34], &claims_to_be.address.sin_port, 2);
    process = htonl(process);
    std::memcpy(&greeting[36], &process, sizeof process);
    return write_all(by, greeting);
  }

  static int run(const listener& one, const listener& other, act does, bool is_between_hosts) {
    // Namespaces are entered by who may; then nothing distinguishes it from any other user.
    if (!is_between_hosts && ::setuid(65534) != 0) return -1;
    const int to_one = connect_from(other, one, is_between_hosts);
    const int to_other = connect_from(one, other, is_between_hosts);
    if (is_between_hosts && ::setuid(65534) != 0) return -1;
    if (to_one < 0 || to_other < 0 || !greet(to_one, other, 77) || !greet(to_other, one, 78))
      return -1;
    const timeval patience{2, 0};
    for (const int each : {to_one, to_other})
      ::setsockopt(each, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::array<std::byte, 40> answer;
    if (!read_all(to_one, answer.data(), answer.size()) ||
        !read_all(to_other, answer.data(), answer.size()))
      return -1;
    return carry(to_one, to_other, does);
  }

  // Whole frames: 16 bytes, of which the last eight say how long it is.
  static int carry(int one, int other, act does) {
    int treated = 0;
    std::vector<std::byte> held;
    const auto end = clock_type::now() + time;
    while (clock_type::now() < end) {
      std::array<pollfd, 2> ready{{{one, POLLIN, 0}, {other, POLLIN, 0}}};
      if (::poll(ready.data(), ready.size(), 100) <= 0) continue;
      for (const pollfd& each : ready) {
        if (each.revents == 0) continue;
        const int onward = each.fd == one ? other : one;
        std::vector<std::byte> frame(head_bytes);
        if (!read_all(each.fd, frame.data(), head_bytes)) return treated;
        std::uint64_t size = 0;
        std::memcpy(&size, &frame[8], sizeof size);
        if (size < head_bytes || size > 1 << 20) return treated;
        frame.resize(size);
        if (!read_all(each.fd, frame.data() + head_bytes, size - head_bytes)) return treated;
        if (size < data_bytes_min || (does != act::change && treated > 3)) {
          if (!write_all(onward, frame)) return treated;
          continue;
        }
        ++treated;
        if (!pass(does, frame, held, each.fd, onward)) return treated;
      }
    }
    return treated;
  }
  static bool pass(act does, std::vector<std::byte>& frame, std::vector<std::byte>& held, int from,
                   int onward) {
    switch (does) {
      case act::forward:
        break;
      case act::change:
        frame[frame.size() - 100] ^= std::byte{1};
        break;
      case act::hold_back:
        return true;
      case act::repeat:
        if (!write_all(onward, frame)) return false;
        break;
      case act::swap:
        if (std::exchange(held, {}).empty()) {
          held = frame;
          return true;
        }
        break;
      case act::give_back:
        if (!write_all(from, frame)) return false;
        break;
    }
    return write_all(onward, frame);
  }

  pid_t process_ = -1;
  int said_ = -1;
};

// --- A job with somebody between ---------------------------------------------------------------------

struct happening {
  int treated = -1;
  int status = 0;
  std::string text;
};

struct place {
  const char* name;
  const char* secure;
  bool has_two_hosts;
};

class a_stranger : public ::testing::TestWithParam<place> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root finds the ports of others' processes";
    if (!has_network()) GTEST_SKIP() << "built without libfabric";
    if (shell("./weft-info").text.find("ofi:net@") == std::string::npos)
      GTEST_SKIP() << "another libfabric, whose greetings this test does not know";
    if (!GetParam().has_two_hosts) return;
    hosts_.emplace(2);
    if (!hosts_->reachable()) GTEST_SKIP() << hosts_->why_not();
  }

  happening once(act does) {
    const std::string where = hosts_ ? hosts_->words() : "--processes 2";
    started_job job(
        formatted("timeout 60 ./weftrun -n 2 {} --secure={} --transport ofi:net{} ./test-victim 1",
                  where, GetParam().secure, hosts_ ? "" : "@lo"));
    happening seen;
    if (!job.wait_for("under way")) {
      ADD_FAILURE() << job.text();
      return seen;
    }
    std::vector<listener> found;
    for (const pid_t each : job.processes())
      if (name_of(each) == "test-victim")
        if (const auto one = listens(each)) found.push_back(*one);
    if (found.size() == 2) {
      const relay between(found[0], found[1], does, GetParam().has_two_hosts);
      seen.treated = between.count();
      seen.status = job.finish();
    } else {
      ADD_FAILURE() << found.size() << " listeners";
      seen.status = job.finish();
    }
    seen.text = job.text();
    EXPECT_EQ(job.left_behind(), "");
    return seen;
  }

  // The provider need not give it the place each time.
  happening with_somebody_between(act does) {
    happening seen;
    for (int attempt = 0; attempt < 4 && seen.treated <= 0 && !HasFailure(); ++attempt) {
      seen = once(does);
      EXPECT_EQ(seen.text.find("came changed"), std::string::npos) << seen.text;
      if (seen.status != 0) expect_one_clear_end(seen);
    }
    return seen;
  }
  // Whatever has become of the connections.
  static void expect_one_clear_end(const happening& seen) {
    const std::array ends{"of its messages changed, held back or lost on the way",
                          "its connection broke", "its process has ended"};
    EXPECT_TRUE(std::ranges::any_of(ends, [&](const char* one) {
      return seen.text.find(one) != std::string::npos;
    })) << seen.text;
    EXPECT_NE(seen.text.find("process "), std::string::npos) << seen.text;
  }

  std::optional<cabled_hosts> hosts_;
};

TEST_P(a_stranger, who_changes_messages_ends_the_job) {
  const happening seen = with_somebody_between(act::change);
  if (seen.treated <= 0) GTEST_SKIP() << "the provider gave nobody's place away";
  EXPECT_NE(seen.status, 0) << seen.text;
}

TEST_P(a_stranger, who_holds_messages_back_ends_the_job) {
  const happening seen = with_somebody_between(act::hold_back);
  if (seen.treated <= 0) GTEST_SKIP() << "the provider gave nobody's place away";
  EXPECT_NE(seen.status, 0) << seen.text;
}

TEST_P(a_stranger, who_changes_their_order_ends_the_job) {
  const happening seen = with_somebody_between(act::swap);
  if (seen.treated <= 0) GTEST_SKIP() << "the provider gave nobody's place away";
  EXPECT_NE(seen.status, 0) << seen.text;
}

// Nothing need end: the copies are refused, and a connection that breaks ends the job in a line.
TEST_P(a_stranger, who_repeats_messages_or_gives_them_back_changes_nothing) {
  (void)with_somebody_between(act::repeat);
  (void)with_somebody_between(act::give_back);
}

TEST_P(a_stranger, who_hands_messages_on_changes_nothing) {
  (void)with_somebody_between(act::forward);
}

INSTANTIATE_TEST_SUITE_P(stranger, a_stranger,
                         ::testing::Values(place{"on_one_host", "auto", false},
                                           place{"on_one_host_encrypted", "encrypt", false},
                                           place{"between_hosts", "auto", true}),
                         [](const auto& one) { return std::string(one.param.name); });

// --- Settings ------------------------------------------------------------------------------------------

TEST(secure, that_differs_between_processes_is_told_at_the_start) {
  if (!has_network()) GTEST_SKIP() << "built without libfabric";
  const outcome got = shell(
      "timeout 60 ./weftrun --transport ofi:tcp -n 1 ./test-victim 1 : -n 1 env WEFT_SECURE=encrypt ./test-victim 1");
  EXPECT_NE(got.status, 0) << got.text;
  EXPECT_NE(got.text.find("give all processes of the job the same --secure"), std::string::npos)
      << got.text;
  EXPECT_NE(got.text.find(" has secure encrypt"), std::string::npos) << got.text;
  EXPECT_EQ(got.text.find("under way"), std::string::npos) << got.text;
}

TEST(secure, alone_encrypts_and_each_kind_carries_a_job) {
  if (!has_network()) GTEST_SKIP() << "built without libfabric";
  for (const char* const how :
       {"--secure", "--secure off", "--secure=authenticate", "--secure auto"}) {
    const outcome got = shell(formatted(
        "timeout 60 ./weftrun -n 2 --processes 2 {} --transport ofi:tcp ./test-victim 0.3", how));
    EXPECT_EQ(got.status, 0) << how << ": " << got.text;
    EXPECT_NE(got.text.find("victim: done"), std::string::npos) << got.text;
  }
}

TEST(secure, where_it_cannot_be_is_refused_with_the_remedy) {
  const outcome parcels = shell(
      "timeout 60 ./weftrun -n 2 --processes 2 --secure --parcelport tcp ./test-parcels mismatch");
  EXPECT_NE(parcels.status, 0);
  EXPECT_NE(parcels.text.find("carries parcels as they are"), std::string::npos) << parcels.text;
  const outcome mpi = shell(
      "timeout 60 ./weftrun -n 2 --processes 2 --secure --transport mpi:mpich ./test-victim 0.3");
  EXPECT_NE(mpi.status, 0);
  EXPECT_NE(mpi.text.find("an MPI carries messages as they are"), std::string::npos) << mpi.text;
}

}  // namespace
}  // namespace weft
