#include "runtime/thread_calls.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <mutex>

#include "base/kept_errno.hpp"
#include "base/kernel.hpp"
#include "base/limits.hpp"
#include "sched/scheduler.hpp"
#include "sync/question.hpp"

namespace weft {
namespace {

// A thread that sleeps in a system call, as the kernel shows it.
struct system_call {
  long number = -1;  // -1: it runs, or is not to be seen.
  std::uintptr_t stack = 0;
  std::uintptr_t after = 0;  // The address behind the instruction.
};

system_call system_call_of(int thread) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char line[256];
  const ssize_t size = read(file, line, sizeof line - 1);
  close(file);
  if (size <= 0) return {};
  line[size] = 0;
  // "230 0x1 0x0 ... STACK AFTER", or "running".
  long number = -1;
  unsigned long arguments[6];
  unsigned long stack = 0;
  unsigned long after = 0;
  if (std::sscanf(line, "%ld %lx %lx %lx %lx %lx %lx %lx %lx", &number, &arguments[0],
                  &arguments[1], &arguments[2], &arguments[3], &arguments[4], &arguments[5], &stack,
                  &after) != 9)
    return {};
  return {number, stack, after};
}

// What is asked of one thread at a time, and its answer.
struct place_question {
  question<> word;  // Says whose turn it is to use the rest.
  system_call before;
  std::array<std::uintptr_t, calls_captured_max> calls{};
  std::size_t count = 0;
  std::uintptr_t stood_at = 0;
};
place_question place;

_Unwind_Reason_Code keep_interrupted(_Unwind_Context* context, void*) {
  int before_call = 0;
  const std::uintptr_t address = _Unwind_GetIPInfo(context, &before_call);
  if (address == 0 || place.count == place.calls.size()) return _URC_END_OF_STACK;
  // Above the interrupted place are only the handler and what the kernel puts there.
  if (place.count == 0 && address != place.stood_at) return _URC_NO_REASON;
  place.calls[place.count] = before_call != 0 || place.count == 0 ? address : address - 1;
  ++place.count;
  return _URC_NO_REASON;
}

// Sleeps, polls and selects end early when a handler has run. Calling them again with what their
// registers still hold makes that unseen; a sleep that keeps what remains in its own argument, as
// sleep() and C++'s do, ends in time, another sleeps anew.
void continue_system_call(ucontext_t& interrupted) noexcept {
#if defined(__x86_64__)
  auto& registers = interrupted.uc_mcontext.gregs;
  const system_call& was = place.before;
  if (was.number < 0 || registers[REG_RAX] != -EINTR ||
      static_cast<std::uintptr_t>(registers[REG_RIP]) != was.after ||
      static_cast<std::uintptr_t>(registers[REG_RSP]) != was.stack)
    return;
  registers[REG_RAX] = was.number;
  registers[REG_RIP] -= 2;  // The length of `syscall`.
#else
  static_cast<void>(interrupted);
#endif
}

void on_stack_signal(int, siginfo_t*, void* interrupted) {
  const kept_errno kept;
  if (place.word.try_answer(gettid())) {
    auto& at = *static_cast<ucontext_t*>(interrupted);
    place.count = 0;
#if defined(__x86_64__)
    place.stood_at = static_cast<std::uintptr_t>(at.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    place.stood_at = at.uc_mcontext.pc;
#endif
    _Unwind_Backtrace(&keep_interrupted, nullptr);
    continue_system_call(at);
    place.word.answer();
  }
}

}  // namespace

std::size_t capture_calls_of(int thread, std::span<std::uintptr_t> calls) noexcept {
  if (thread <= 0) return 0;
  static std::mutex one_at_a_time;
  const std::lock_guard alone(one_at_a_time);
  struct sigaction before {};
  sigaction(stack_signal, nullptr, &before);
  if ((before.sa_flags & SA_SIGINFO) != 0 ||
      (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN))
    return 0;
  struct sigaction action {};
  action.sa_sigaction = &on_stack_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigaction(stack_signal, &action, nullptr);
  place.before = system_call_of(thread);
  place.word.ask(thread);
  if (syscall(SYS_tgkill, getpid(), thread, stack_signal) == 0)
    for (int left = 200; left > 0 && !place.word.is_answered(); --left)
      sleep_in_kernel(std::chrono::milliseconds(1));
  std::size_t count = 0;
  if (!place.word.withdraw(thread)) {
    while (!place.word.is_answered()) give_core_up();  // One that has begun ends soon.
    count = std::min(place.count, calls.size());
    std::copy_n(place.calls.begin(), count, calls.begin());
    place.word.end();
  }
  sigaction(stack_signal, &before, nullptr);
  return count;
}

}  // namespace weft
