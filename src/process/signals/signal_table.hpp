// What ranks of a process that have signals of their own are known by, for the files that act on it: signal_table.cpp, rank_signals.cpp
// (what a rank says), signal_delivery.cpp (what comes), signal_waits.cpp and signal_timers.cpp. In libweft.so only.
//
//   a rank's own     actions, depth: by the rank and its threads, under `lock`; mask and pending by everybody, atomics
//   the process's    the table of ranks and timers: under `table.lock`, never held across a wait, nor by a handler
#pragma once
#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <vector>

#include "job/caller.hpp"
#include "process/signals/placeholder.hpp"
#include "process/signals/rank_signals.hpp"

namespace weft::process {

constexpr int signals_max = 64;

struct rank_signals {
  const detail::job_rank* rank = nullptr;
  std::array<struct sigaction, signals_max + 1> actions{};
  std::array<siginfo_t, signals_max + 1> details{};
  std::mutex details_lock;  // Never waited for by a handler.
  // Bit n - 1 for signal n. Relaxed: what the sender has written before is seen under the lock.
  std::atomic<std::uint64_t> pending{0}, blocked{0};
  // Handlers that have run, and of these without SA_RESTART. Relaxed: of the rank's own thread, and handlers there.
  std::atomic<std::uint64_t> handled{0}, interrupted{0};
  // A thread of the rank wants the rank to make this call. Both under details_lock; relaxed for looks without it.
  std::atomic<void (*)(void*)> call{nullptr};
  void* argument = nullptr;
  // One thread of the rank may want a call. Relaxed: the claim publishes nothing.
  std::atomic<bool> is_call_claimed{false};
  bool has_ended = false;  // Under the table's lock. A thread of the rank may come after it.
  // The rank's own thread alone has the fields from here on.
  int kept_back = 0;
  int depth = 0;  // Handlers that run.
  // Handlers that have interrupted the rank's code wherever it was, with a lock of the allocator perhaps: until they
  // are over nobody else may run on the worker.
  int in_the_middle = 0;
  std::uint64_t blocked_outside = 0;
  bool has_call_mask = false;  // A mask for the time of a call is in place of this one:
  std::uint64_t blocked_before_call = 0;
  bool is_in_wait = false;  // Handlers run within a wait of weft.
  std::jmp_buf out_of_wait;
  bool restarts = true;
  // What getpid() says: 0 until the rank asks, that of the process where it shares that. Relaxed: nothing but the number is
  // read.
  std::atomic<pid_t> process_number{0};
  std::unique_ptr<placeholder> lends_number;  // Under the table's lock.
};

constexpr std::uint64_t bit_of(int number) noexcept {
  return std::uint64_t{1} << (number - 1);
}
// The kernel's set is the first word of the C library's.
static_assert(sizeof(sigset_t) >= sizeof(std::uint64_t));
inline std::uint64_t bits_of(const sigset_t& set) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &set, sizeof bits);
  return bits;
}
inline void set_bits(std::uint64_t bits, sigset_t& set) noexcept {
  sigemptyset(&set);
  std::memcpy(&set, &bits, sizeof bits);
}
constexpr std::uint64_t never_blocked = std::uint64_t{1} << (SIGKILL - 1) | std::uint64_t{1}
                                                                                << (SIGSTOP - 1);

// Signals of faults are the thread's that causes them.
constexpr bool is_for_ranks(int number) noexcept {
  switch (number) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGSYS:
    case SIGKILL:
    case SIGSTOP:
      return false;
    default:
      return number > 0 && number <= signals_max;
  }
}

inline bool is_handler(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

struct timer {
  int id = 0;  // 0 is the rank's alarm.
  rank_signals* of = nullptr;
  int number = SIGALRM;
  sigval value{};
  std::uint64_t due_ns = 0;  // 0: it is not set.
  std::uint64_t every_ns = 0;
};

// A thread that a rank has made, which waits for these: the kernel sends it on what comes for the rank.
struct waiting_thread {
  const rank_signals* of;
  std::uint64_t wanted;
  int thread;
};

struct process_signals {
  std::mutex lock;
  std::vector<std::unique_ptr<rank_signals>> all;    // Ranks that have not ended.
  std::vector<std::unique_ptr<rank_signals>> ended;  // A thread of such a rank may still have it.
  std::vector<timer> timers;
  std::vector<waiting_thread> waiting;
  int timers_made = 0;
  std::array<struct sigaction, signals_max + 1> before{};  // The process's, where ours is in place.
  std::uint64_t taken = 0;                                 // Signals of which ours is.
};
[[nodiscard]] process_signals& table() noexcept;

// --- signal_table.cpp ---------------------------------------------------------------------------------

// Whether any rank has.
[[nodiscard]] bool has_signals_of_ranks() noexcept;
// The rank's of this number, also for handlers; null where it has had to do with none, or has ended.
[[nodiscard]] rank_signals* signals_of(int rank) noexcept;
// Those of a rank whose signals are forgotten; null where it had none.
[[nodiscard]] rank_signals* forgotten_signals_of(const detail::job_rank& rank) noexcept;
// The calling rank's, also on threads that it has made: made when it is first asked for.
[[nodiscard]] rank_signals& own_signals(const detail::job_rank& rank);
// The C library's.
[[nodiscard]] decltype(::sigaction)* kernel_action();
// Sets what the process does with a signal. The caller holds the table's lock.
void choose_action(int number);
// What the kernel does with a signal that nobody handles. Returns when that does not end the process.
void do_default(int number);
[[nodiscard]] bool ends_process_by_default(int number) noexcept;
// The signal is pending for the rank. The caller holds the table's lock. It waits for another that looks at the rank's details.
void post(rank_signals& to, int number, const siginfo_t& details) noexcept;
inline bool can_run(const rank_signals& one) noexcept {
  return (one.pending.load(std::memory_order_relaxed) &
          ~one.blocked.load(std::memory_order_relaxed)) != 0 ||
         one.call.load(std::memory_order_relaxed) != nullptr;
}

// --- signal_delivery.cpp ------------------------------------------------------------------------------

// The kernel's handler where ranks have theirs.
void on_signal_of_process(int number, siginfo_t* details, void* interrupted);
// Starts the thread that passes signals on, and sets the hooks of waits, once in a process. The caller holds the table's lock.
void begin_passing();
// A forked child calls it, which has no such thread.
void forget_passing() noexcept;
// The calling thread is a worker's, whose ranks have signals of their own.
void accept_relays() noexcept;
// The thread that passes on looks at ranks and timers again, or for what has become of a child.
void look_again() noexcept;
void look_for_child(int child) noexcept;
// The kernel tells once of several children that end at one time, and one may end before it is known whose it is: then this is called
// again. The caller holds the table's lock.
void tell_parents(const siginfo_t& details);
// They tell the thread that passes signals on that a rank wants a process number; that a signal is for one rank.
void ask_for_number(int rank) noexcept;
void pass_to_rank(int rank, int number, const siginfo_t& details) noexcept;
[[nodiscard]] int passing_end() noexcept;  // The descriptor where passed_signals are written.
// What the host says with weft_set_children().
void set_children(int (*rank_of)(int child), int (*next_ended)(int* rank)) noexcept;

// --- signal_timers.cpp --------------------------------------------------------------------------------

// Sends the signals of timers that are due. The caller holds the table's lock. Returns the time until the next is; -1: none is.
std::int64_t ring_timers(std::uint64_t now);

// --- own_number.cpp -----------------------------------------------------------------------------------

// The thread that passes signals on calls these, with the table's lock held.
void make_number(int rank);
void look_for_killed_numbers();
[[nodiscard]] bool has_numbers() noexcept;
// What the rank's getpid() says; 0: it has not asked.
[[nodiscard]] pid_t known_number(const detail::job_rank& rank) noexcept;

inline std::uint64_t ns_of(const timespec& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}
inline timespec time_of(std::uint64_t ns) noexcept {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace weft::process
