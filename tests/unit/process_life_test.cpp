#include "base/process_life.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "transport/shm/process.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

// A process that does something and then waits for a signal.
class started {
 public:
  explicit started(void (*first)() = [] {}) : pid_(::fork()) {
    if (pid_ != 0) return;
    first();
    for (;;) ::pause();
  }
  ~started() {
    kill();
    reap();
  }
  started(const started&) = delete;
  started& operator=(const started&) = delete;
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void kill() const noexcept {
    if (!is_reaped_) ::kill(pid_, SIGKILL);
  }
  // Waits until it has ended, and leaves it as it is.
  void await_end() const {
    siginfo_t about;
    ::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOWAIT);
  }
  void reap() noexcept {
    if (!is_reaped_) ::waitpid(pid_, nullptr, 0);
    is_reaped_ = true;
  }

 private:
  const pid_t pid_;
  bool is_reaped_ = false;
};

// While it lives, this process gets no descriptor.
class no_descriptors {
 public:
  no_descriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = 64;
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (int file; (file = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken_.push_back(file);
  }
  ~no_descriptors() {
    for (const int file : taken_) ::close(file);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

TEST(process_life, one_that_runs_has_not_ended) {
  const started other;
  const std::uint64_t start = start_of_process(other.pid());
  EXPECT_NE(start, 0u);
  EXPECT_FALSE(process_has_ended(other.pid(), start));
  EXPECT_FALSE(process_has_ended(other.pid(), 0));
  EXPECT_TRUE(process_has_ended(other.pid(), start + 1)) << "another process had this number";
}

TEST(process_life, one_that_was_killed_has_ended_before_and_after_somebody_has_waited_for_it) {
  started other;
  const std::uint64_t start = start_of_process(other.pid());
  other.kill();
  other.await_end();
  EXPECT_TRUE(process_has_ended(other.pid(), start));
  other.reap();
  EXPECT_TRUE(process_has_ended(other.pid(), start));
  EXPECT_TRUE(process_has_ended(other.pid(), 0));
  EXPECT_EQ(start_of_process(other.pid()), 0u);
}

TEST(process_life, one_whose_first_thread_has_ended_has_not_ended) {
  const started other([] {
    std::thread([] {
      for (;;) ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);
  });
  const std::uint64_t start = start_of_process(other.pid());
  // The first thread ends meanwhile.
  for (int i = 0; i < 20; ++i, std::this_thread::sleep_for(5ms))
    ASSERT_FALSE(process_has_ended(other.pid(), start));
}

TEST(process_life, without_a_descriptor_only_a_number_that_nobody_has_is_a_death) {
  started other;
  const std::uint64_t start = start_of_process(other.pid());
  const node_process near(other.pid(), start, -1);
  {
    const no_descriptors here;
    EXPECT_EQ(start_of_process(other.pid()), 0u);
    EXPECT_FALSE(process_has_ended(other.pid(), start));
    EXPECT_NE(node_process::find(other.pid(), start), nullptr);
    EXPECT_TRUE(near.is_alive());
    other.kill();
    other.reap();
    EXPECT_TRUE(process_has_ended(other.pid(), start));
    EXPECT_FALSE(near.is_alive());
    EXPECT_EQ(node_process::find(other.pid(), start), nullptr);
  }
}

// The program has closed weft's descriptor, and opened a file of its own that has the number now.
TEST(process_life, a_descriptor_that_became_another_files_kills_nobody) {
  const started other;
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const node_process near(other.pid(), start_of_process(other.pid()), file);
  EXPECT_TRUE(near.is_alive());
}

}  // namespace
}  // namespace weft
