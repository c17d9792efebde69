#include "process/signals/placeholder.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <new>
#include <utility>

namespace weft::process {
namespace {

static_assert(sizeof(passed_signal) <= PIPE_BUF);

// It leaves errno alone, which would be that of the thread whose memory the process has.
long call_kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0) noexcept {
#if defined(__x86_64__)
  long result;
  register long fourth asm("r10") = d;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long which asm("x8") = number;
  register long first asm("x0") = a;
  register long second asm("x1") = b;
  register long third asm("x2") = c;
  register long fourth asm("x3") = d;
  asm volatile("svc #0"
               : "+r"(first)
               : "r"(which), "r"(second), "r"(third), "r"(fourth)
               : "memory");
  return first;
#else
#error "a system call without the C library"
#endif
}

long address_of(const void* memory) noexcept {
  return reinterpret_cast<long>(memory);
}

void rest(long ns) noexcept {
  const timespec moment{0, ns};
  call_kernel(SYS_nanosleep, address_of(&moment));
}

}  // namespace

struct placeholder::shared {
  int rank = -1;
  int to = -1;
  pid_t maker = 0;
  // Relaxed: it says that the kernel has done what the placeholder has asked for.
  std::atomic<bool> is_ready{false};
  std::array<char, 16> name{};
  alignas(64) std::array<std::byte, 4096> stack;
};

int placeholder::stand_in(void* argument) noexcept {
  shared& own = *static_cast<shared*>(argument);
  const std::uint64_t all = ~std::uint64_t{0};
  call_kernel(SYS_rt_sigprocmask, SIG_SETMASK, address_of(&all), 0, sizeof all);
  call_kernel(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  call_kernel(SYS_prctl, PR_SET_NAME, address_of(own.name.data()));
  call_kernel(SYS_setpgid, 0, 0);
  if (call_kernel(SYS_getppid) != own.maker) return 1;
  own.is_ready.store(true, std::memory_order_relaxed);
  for (;;) {
    passed_signal passed{0, own.rank, {}};
    const long number = call_kernel(SYS_rt_sigtimedwait, address_of(&all),
                                    address_of(&passed.details), 0, sizeof all);
    if (number <= 0) continue;
    passed.number = static_cast<int>(number);
    constexpr long until_there_is_room_ns = 1'000'000;
    while (call_kernel(SYS_write, own.to, address_of(&passed), sizeof passed) == -EAGAIN)
      rest(until_there_is_room_ns);
  }
}

placeholder::placeholder(std::unique_ptr<shared> s) noexcept : shared_(std::move(s)) {}
placeholder::~placeholder() = default;

std::unique_ptr<placeholder> placeholder::make(int rank, int to) noexcept {
  auto made = std::unique_ptr<shared>(new (std::nothrow) shared);
  if (made == nullptr) return nullptr;
  made->rank = rank;
  made->to = to;
  made->maker = getpid();
  std::snprintf(made->name.data(), made->name.size(), "weft-rank %d", rank);
  shared& own = *made;
  std::unique_ptr<placeholder> result(new (std::nothrow) placeholder(std::move(made)));
  if (result == nullptr) return nullptr;
  // It sends no signal at its end, so that wait() does not know it.
  const int number = ::clone(&stand_in, own.stack.data() + own.stack.size(),
                             CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED, &own);
  if (number < 0) return nullptr;
  result->number_ = number;
  constexpr long until_it_stands_ns = 20'000;
  while (!own.is_ready.load(std::memory_order_relaxed)) {
    rest(until_it_stands_ns);
    if (::syscall(SYS_wait4, number, nullptr, __WCLONE | WNOHANG, nullptr) == 0) continue;
    errno = EAGAIN;  // Somebody has killed it.
    return nullptr;
  }
  return result;
}

void placeholder::end() noexcept {
  ::syscall(SYS_kill, number_, SIGKILL);
  while (::syscall(SYS_wait4, number_, nullptr, __WCLONE, nullptr) < 0 && errno == EINTR) continue;
}

pid_t placeholder::find_ended() noexcept {
  siginfo_t found{};
  const long failed =
      ::syscall(SYS_waitid, P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT | __WCLONE, nullptr);
  return failed == 0 ? found.si_pid : 0;
}

}  // namespace weft::process
