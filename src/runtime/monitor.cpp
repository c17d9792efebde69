#include "runtime/monitor.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/kept_errno.hpp"
#include "base/kernel.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/stack_trace.hpp"
#include "base/start_thread.hpp"
#include "runtime/thread_calls.hpp"
#include "sync/reader_count.hpp"

namespace weft {
namespace {

// A monitor that takes a report signal, as the handler reads it: its event's descriptor + 1 and the
// signal, in one word; 0: free.
std::array<std::atomic<std::uint64_t>, jobs_max> listeners{};
// Handlers that run now: a descriptor is closed only when none could still write to it.
reader_count<> handlers;

// At most this much of the time between two looks (20 ms while a job stops) counts against a job that does not end.
constexpr std::uint64_t look_counted_ns_max = 40'000'000;

constexpr std::uint64_t one_call = std::uint64_t{1} << 32;

constexpr std::uint64_t listener_of(int event, int signal) noexcept {
  return static_cast<std::uint64_t>(event + 1) << 32 | static_cast<std::uint32_t>(signal);
}

// For each signal, how many monitors take it and what the program did with it before the first.
struct taken_signal {
  int monitors = 0;
  struct sigaction before {};
};
std::mutex handlers_lock;
std::map<int, taken_signal> taken_signals;

void on_report_signal(int number) {
  const kept_errno kept;
  handlers.enter();
  for (const auto& listener : listeners) {
    // Relaxed: only the word is read, and whoever removes it waits for the handlers.
    const std::uint64_t word = listener.load(std::memory_order_relaxed);
    if (word == 0 || static_cast<int>(word & 0xffffffff) != number) continue;
    const std::uint64_t one = 1;
    static_cast<void>(!write(static_cast<int>(word >> 32) - 1, &one, sizeof one));
  }
  handlers.leave();
}

// Called with the lock held.
auto find_listener(std::uint64_t word) {
  return std::ranges::find_if(
      listeners, [&](const auto& l) { return l.load(std::memory_order_relaxed) == word; });
}

bool listen(int event, int signal) {
  const std::lock_guard hold(handlers_lock);
  const auto place = find_listener(0);
  if (place == listeners.end()) return false;
  place->store(listener_of(event, signal), std::memory_order_relaxed);
  taken_signal& taken = taken_signals[signal];
  if (taken.monitors++ != 0) return true;
  struct sigaction action {};
  action.sa_handler = &on_report_signal;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, &taken.before);
  return true;
}

void stop_listening(int event, int signal) {
  const std::lock_guard hold(handlers_lock);
  find_listener(listener_of(event, signal))->store(0, std::memory_order_relaxed);
  const auto taken = taken_signals.find(signal);
  if (--taken->second.monitors == 0) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    // A handler that the program has set while the job ran stays.
    if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == &on_report_signal)
      sigaction(signal, &taken->second.before, nullptr);
    taken_signals.erase(taken);
  }
  while (!handlers.none()) give_core_up();
}

}  // namespace

monitor::monitor(scheduler& workers, monitor_options how)
    : workers_(workers),
      how_(std::move(how)),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      seen_(static_cast<std::size_t>(workers.worker_count())) {
  if (event_ < 0)
    throw error(formatted(
        "no descriptor for watching the job: {}; raise the number of open files (ulimit -n)",
        std::strerror(errno)));
  if (how_.report_signal != 0 && !listen(event_, how_.report_signal)) {
    log_line("{} jobs of this process take a report signal already: this one takes none", jobs_max);
    how_.report_signal = 0;
  }
  try {
    thread_ = start_thread("watching the job", [this] { watch(); });
  } catch (...) {
    release();
    throw;
  }
}

monitor::~monitor() {
  ending_.store(true, std::memory_order_relaxed);  // Relaxed: joined below.
  const std::uint64_t one = 1;
  static_cast<void>(!write(event_, &one, sizeof one));
  thread_.join();
  release();
}

void monitor::release() noexcept {
  if (how_.report_signal != 0) stop_listening(event_, how_.report_signal);
  close(event_);
}

void monitor::call() noexcept {
  static_cast<void>(!write(event_, &one_call, sizeof one_call));
}

void monitor::watch() {
  pthread_setname_np(pthread_self(), "weft-monitor");
  const std::uint64_t start = now_ns();
  std::uint64_t looked_at = start;
  std::uint64_t stopping_ns = 0;
  std::uint64_t fewest = ~std::uint64_t{0};  // Living fibers, since the job stops.
  bool timed_out = false;
  while (!ending_.load(std::memory_order_relaxed)) {
    pollfd wait{event_, POLLIN, 0};
    // Idle, the monitor costs a few wake-ups a second.
    double sleep_ms = workers_.stopping() ? 20 : 200;
    if (how_.timeout_s > 0 && !timed_out)
      sleep_ms = std::clamp(how_.timeout_s * 1e3 - static_cast<double>(now_ns() - start) * 1e-6,
                            0.0, sleep_ms);
    ::poll(&wait, 1, static_cast<int>(std::ceil(sleep_ms)));
    if (ending_.load(std::memory_order_relaxed)) return;
    std::uint64_t count = 0;
    if (read(event_, &count, sizeof count) > 0) {
      // The destructor writes, too, which is no report signal.
      if (ending_.load(std::memory_order_relaxed)) return;
      if (count % one_call != 0 && how_.report) how_.report();
      if (count >= one_call && how_.called) how_.called();
    }
    workers_.look_again();
    const std::uint64_t now = now_ns();
    if (how_.timeout_s > 0 && !timed_out &&
        static_cast<double>(now - start) > how_.timeout_s * 1e9) {
      timed_out = true;
      how_.timed_out();
    }
    if (workers_.stopping()) {
      // A process that did not run (SIGSTOP, an overloaded machine) had no time to end.
      stopping_ns += std::min(now - looked_at, look_counted_ns_max);
      // A job whose ranks end one after another does not hang.
      if (const std::uint64_t living = workers_.living(); living < fewest) {
        fewest = living;
        stopping_ns = 0;
      }
      if (static_cast<double>(stopping_ns) > stop_grace_s * 1e9 ||
          (how_.may_end && !how_.may_end(now))) {
        const int status = how_.exit_status ? how_.exit_status() : 1;
        if (how_.does_not_end) how_.does_not_end();
        std::fflush(nullptr);
        write_begun_lines_before_death();
        _exit(status);
      }
    } else {
      if (how_.busy_warning_s > 0) look_for_busy_workers();
      if (how_.looked) how_.looked(now);
    }
    looked_at = now;
  }
}

bool monitor::has_mail_for_others(int index) {
  return how_.is_for_other && workers_.any_mail(index, [&](record_header header) {
    return how_.is_for_other(workers_.at(index), header);
  });
}

// Whether its thread has slept in one call of the kernel since the look before, and the worker has others to run: a rank is in a
// call that cannot move (docs/images.md).
bool monitor::is_blocked(const worker& w, seen& s) {
  const thread_standing now = standing_thread(w.thread());
  const bool is_first = s.standing.switches == 0;
  if (is_first) s.standing = now;
  return now.is_in_call && now.switches == s.standing.switches && w.has_others();
}

void monitor::warn_of_busy(const worker& w, bool is_blocked) {
  const char* const others = w.has_ready() ? "another rank of that worker was ready to run"
                                           : "a message for another rank of that worker waited";
  const int owner = w.stolen_from_number();
  std::string text =
      is_blocked
          ? formatted(
                "rank {} has been in a call of the system for {} s, in which other ranks of worker {} cannot run: what it "
                "waits for may be theirs to do; give each rank a process of its own (--ranks-per-process 1)",
                w.running_number(), how_.busy_warning_s, w.index())
      : owner >= 0
          ? formatted(
                "a chunk of rank {} has kept worker {}, which stole it, busy for {} s while {}: make the "
                "chunks of that loop smaller (grain)",
                owner, w.index(), how_.busy_warning_s, others)
      : w.running_number() < 0
          ? formatted(
                "a task has kept worker {} busy for {} s while {}: make several shorter tasks of it, or a loop, or call "
                "weft::yield() in it",
                w.index(), how_.busy_warning_s, others)
          : formatted(
                "rank {} has kept worker {} busy for {} s while {}: wait with weft::sleep_for(), call "
                "weft::yield() in a loop that waits for memory to change or computes for long, or give each "
                "rank a process of its own (--ranks-per-process 1)",
                w.running_number(), w.index(), how_.busy_warning_s, others);
  std::array<std::uintptr_t, calls_captured_max> calls;
  if (const std::size_t count = capture_calls_of(w.thread(), calls); count != 0) {
    symbol_table symbols;
    text += "\n  it stands in\n" + call_lines(symbols, std::span(calls).first(count), "    ");
    text.pop_back();
  }
  log_text(text);
}

void monitor::look_for_busy_workers() {
  const std::uint64_t now = now_ns();
  for (int i = 0; i < workers_.worker_count(); ++i) {
    const worker& w = workers_.at(i);
    seen& s = seen_[static_cast<std::size_t>(i)];
    // Without a thread it waits for one, and keeps nobody from anything.
    const bool goes_on =
        s.since_ns == 0 || s.passes != w.passes() || w.is_parked() || w.thread() == 0;
    const bool blocks = !goes_on && !s.named && is_blocked(w, s);
    if (goes_on || (!s.named && !blocks && !w.has_ready() && !has_mail_for_others(i))) {
      s = {w.passes(), now, false, {}};
    } else if (!s.named && static_cast<double>(now - s.since_ns) > how_.busy_warning_s * 1e9) {
      s.named = true;
      warn_of_busy(w, blocks);
    }
  }
}

// --- Faults ----------------------------------------------------------------------------------------

namespace {

constexpr std::array fault_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
std::array<struct sigaction, fault_signals.size()> faults_before{};
int fault_reports_in_use = 0;

// The functions from here on make async-signal-safe calls only.

// The stack pointer of the interrupted code; null where that is not known.
const std::byte* stack_pointer_of(const void* context) noexcept {
#if defined(__x86_64__)
  return reinterpret_cast<const std::byte*>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const std::byte*>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.sp);
#else
  static_cast<void>(context);
  return nullptr;
#endif
}

// Whether an access below the stack is an overflow, in the guard page or beyond it: a large frame steps over the
// page, and its first access lies between the stack pointer and the stack.
bool is_overflow(std::span<std::byte> stack, const void* address, const void* context) noexcept {
  constexpr std::ptrdiff_t call_bytes = 256;  // A call writes below the stack pointer.
  const std::byte* const bottom = stack.data();
  const std::byte* const pointer = stack_pointer_of(context);
  const auto* const at = static_cast<const std::byte*>(address);
  return bottom != nullptr && pointer != nullptr && pointer <= bottom &&
         at >= pointer - call_bytes && at < bottom;
}

// What lies above a stack is the gap below the next one: who goes there has not overflowed its own.
bool is_in_guard_page_of(std::span<std::byte> stack, const stack_pool& pool,
                         const void* address) noexcept {
  if (!pool.in_guard_page(address)) return false;
  const auto* const at = static_cast<const std::byte*>(address);
  return stack.empty() ||
         (at < stack.data() && at >= stack.data() - static_cast<std::ptrdiff_t>(stack.size()));
}

// "rank 3"; "rank 3 in the action NAME", whose task runs on the stack of its wait; "the action NAME" or "a task".
template <std::size_t Size>
void write_who_runs(const worker& here, char (&who)[Size]) noexcept {
  const int rank = here.number();
  const char* const action = here.running_here().runs;
  if (rank >= 0 && action != nullptr)
    std::snprintf(who, Size, "rank %d in the action %s", rank, action);
  else if (rank >= 0)
    std::snprintf(who, Size, "rank %d", rank);
  else if (action != nullptr)
    std::snprintf(who, Size, "the action %s", action);
  else
    std::snprintf(who, Size, "a task");
}

void on_fault(int number, siginfo_t* details, void* context) {
  write_begun_lines_before_death();
  char line[400];
  int length = 0;
  if (const thread_origin& from = origin_of_this_thread(); from.identity != nullptr) {
    if (number == SIGABRT)
      length = std::snprintf(line, sizeof line, "weft: rank %d called abort() in a thread\n",
                             from.number);
    else if (is_stack_overflow(*details, context))
      length = std::snprintf(
          line, sizeof line,
          "weft: rank %d in a thread overflowed the thread's stack of %zu KiB: give it "
          "more with pthread_attr_setstacksize(), ulimit -s or, for OpenMP, "
          "OMP_STACKSIZE\n",
          from.number, from.stack.size() / 1024);
    else
      length = std::snprintf(line, sizeof line, "weft: rank %d in a thread: %s at address %p\n",
                             from.number, sigdescr_np(number), details->si_addr);
  } else if (const worker* here = worker::current(); here != nullptr) {
    char who[200];
    write_who_runs(*here, who);
    if (number == SIGABRT)
      length = std::snprintf(line, sizeof line, "weft: %s called abort()\n", who);
    else if (is_stack_overflow(*details, context))
      length = std::snprintf(line, sizeof line,
                             "weft: %s overflowed its stack of %zu KiB: give ranks more with "
                             "weftrun --stack, --weft-stack or WEFT_STACK\n",
                             who, here->stacks().stack_bytes() / 1024);
    else
      length = std::snprintf(line, sizeof line, "weft: %s on worker %d: %s at address %p\n", who,
                             here->index(), sigdescr_np(number), details->si_addr);
  }
  if (length > 0) write_directly(STDERR_FILENO, {line, static_cast<std::size_t>(length)});
  signal(number, SIG_DFL);
  // Not raise(): the program's may be weft's own, which reports the rank that called it.
  syscall(SYS_tgkill, getpid(), gettid(), number);
}

}  // namespace

bool is_stack_overflow(const siginfo_t& details, const void* context) noexcept {
  if (const thread_origin& from = origin_of_this_thread(); from.identity != nullptr)
    return is_overflow(from.stack, details.si_addr, context);
  const worker* const here = worker::current();
  if (here == nullptr) return false;
  // An attached thread may have the hand-off lock, and run another.
  const std::span<std::byte> own = here->running_here().stack;
  return is_in_guard_page_of(own, here->stacks(), details.si_addr) ||
         is_overflow(own, details.si_addr, context);
}

bool reports_fault(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &on_fault;
}

fault_reports::fault_reports() {
  const std::lock_guard hold(handlers_lock);
  if (fault_reports_in_use++ != 0) return;
  for (std::size_t i = 0; i < fault_signals.size(); ++i) {
    sigaction(fault_signals[i], nullptr, &faults_before[i]);
    if (faults_before[i].sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(fault_signals[i], &action, nullptr);
  }
}

fault_reports::~fault_reports() {
  const std::lock_guard hold(handlers_lock);
  if (--fault_reports_in_use != 0) return;
  for (std::size_t i = 0; i < fault_signals.size(); ++i) {
    struct sigaction now {};
    sigaction(fault_signals[i], nullptr, &now);
    // A handler that the program has set while the job ran stays.
    if (reports_fault(now)) sigaction(fault_signals[i], &faults_before[i], nullptr);
  }
}

}  // namespace weft
