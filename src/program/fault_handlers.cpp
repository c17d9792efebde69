// Handlers that programs, and Fortran's run time among them, set for memory that is not there, in libweft.so, where they
// stand before the C library's: an overflowed stack is told of by weft all the same, since such a handler has no
// stack left to run on. Every other fault is the program's handler's, on the thread's alternate stack. Not part of libweft.a.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>

#include "base/library_function.hpp"
#include "runtime/monitor.hpp"

namespace weft {
namespace {

struct taken_fault {
  struct sigaction of_program {};
  struct sigaction of_weft {};  // What reports faults.
  // Relaxed: what it says is looked at again under the lock.
  std::atomic<bool> is_taken{false};
};
constinit std::array<taken_fault, 2> faults{};
std::mutex faults_lock;

taken_fault* fault_of(int number) noexcept {
  return number == SIGSEGV ? &faults[0] : number == SIGBUS ? &faults[1] : nullptr;
}

// Made by constants alone, without a guard: a sanitizer has its hand in guards and calls sigaction before it works.
decltype(::sigaction)* next_sigaction() {
  static constinit std::atomic<decltype(::sigaction)*> known{nullptr};
  // Relaxed: a pointer to code, the same whoever finds it.
  auto* next = known.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = next_definition<decltype(::sigaction)>("sigaction");
    known.store(next, std::memory_order_relaxed);
  }
  return next;
}

void on_fault_of_program(int number, siginfo_t* details, void* context) {
  const taken_fault& taken = *fault_of(number);
  if (is_stack_overflow(*details, context))
    return taken.of_weft.sa_sigaction(number, details, context);
  const struct sigaction action = taken.of_program;
  if ((action.sa_flags & SA_RESETHAND) != 0) std::signal(number, SIG_DFL);
  if ((action.sa_flags & SA_SIGINFO) != 0)
    action.sa_sigaction(number, details, context);
  else
    action.sa_handler(number);
}

bool is_handler(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

int take_fault(taken_fault& taken, int number, const struct sigaction* action,
               struct sigaction* before) {
  struct sigaction now {};
  if (next_sigaction()(number, nullptr, &now) != 0) return -1;
  // Without a handler of weft's there is nothing to keep. No lock is taken then: a sanitizer sets its handlers before its own locks work.
  if (!taken.is_taken.load(std::memory_order_relaxed) && !reports_fault(now))
    return next_sigaction()(number, action, before);
  const std::lock_guard hold(faults_lock);
  if (next_sigaction()(number, nullptr, &now) != 0) return -1;
  const bool was_taken =
      taken.is_taken.load(std::memory_order_relaxed) && now.sa_sigaction == &on_fault_of_program;
  if (before != nullptr) *before = was_taken ? taken.of_program : now;
  if (action == nullptr) return 0;
  if (!was_taken && reports_fault(now)) taken.of_weft = now;
  const bool takes = is_handler(*action) && !reports_fault(*action) && reports_fault(taken.of_weft);
  taken.is_taken.store(takes, std::memory_order_relaxed);
  if (!takes) return next_sigaction()(number, action, nullptr);
  taken.of_program = *action;
  struct sigaction ours {};
  ours.sa_sigaction = &on_fault_of_program;
  ours.sa_mask = action->sa_mask;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (action->sa_flags & (SA_RESTART | SA_NODEFER));
  return next_sigaction()(number, &ours, nullptr);
}

}  // namespace
}  // namespace weft

extern "C" {

__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction* action,
                                                     struct sigaction* before) noexcept {
  if (weft::taken_fault* const fault = weft::fault_of(number); fault != nullptr)
    return weft::take_fault(*fault, number, action, before);
  return weft::next_sigaction()(number, action, before);
}

__attribute__((visibility("default"))) sighandler_t signal(int number,
                                                           sighandler_t handler) noexcept {
  static auto* const next = weft::next_definition<decltype(::signal)>("signal");
  weft::taken_fault* const fault = weft::fault_of(number);
  if (fault == nullptr) return next(number, handler);
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  struct sigaction before {};
  return weft::take_fault(*fault, number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}
}
