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
#include "program/rank_signals.hpp"

namespace weft::detail {

constexpr int signals_max = 64;

struct rank_signals {
  const job_rank* rank = nullptr;
  std::array<struct sigaction, signals_max + 1> actions{};
  std::array<siginfo_t, signals_max + 1> details{};
  std::mutex details_lock;  // Never waited for by a handler.
  // Bit n - 1 for signal n. Relaxed: what the sender has written before is seen under the lock.
  std::atomic<std::uint64_t> pending{0}, blocked{0};
  // Handlers that have run, and of these without SA_RESTART. Relaxed: of the rank's own thread, and handlers there.
  std::atomic<std::uint64_t> handled{0}, interrupted{0};
  bool has_ended = false;  // Under the table's lock. A thread of the rank may come after it.
  // Of the rank's own thread.
  int kept_back = 0;
  int depth = 0;  // Of handlers that run.
  // Of handlers that have interrupted the rank's code wherever it was, with a lock of the allocator perhaps: until they
  // are over nobody else may run on the worker.
  int in_the_middle = 0;
  std::uint64_t blocked_outside = 0;
  bool has_call_mask = false;  // A mask for the time of a call is in place of this one:
  std::uint64_t blocked_before_call = 0;
  bool is_in_wait = false;  // Handlers run within a wait of weft.
  std::jmp_buf out_of_wait;
  bool restarts = true;
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

// Those of faults are the thread's that causes them.
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
  std::vector<std::unique_ptr<rank_signals>> all;    // Of ranks that have not ended.
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
// Of the calling rank, also on threads that it has made: made when it is first asked for.
[[nodiscard]] rank_signals& own_signals(const job_rank& rank);
// The C library's.
[[nodiscard]] decltype(::sigaction)* kernel_action();
// What the process is to do with a signal: with the table's lock held.
void choose_action(int number);
// What the kernel does with a signal that nobody handles. Returns when that does not end the process.
void do_default(int number);
// With the table's lock held. Another that looks at the rank's details at the same time is waited for.
void post(rank_signals& to, int number, const siginfo_t& details) noexcept;
inline bool can_run(const rank_signals& one) noexcept {
  return (one.pending.load(std::memory_order_relaxed) &
          ~one.blocked.load(std::memory_order_relaxed)) != 0;
}

// --- signal_delivery.cpp ------------------------------------------------------------------------------

// The kernel's handler where ranks have theirs.
void on_signal_of_process(int number, siginfo_t* details, void* interrupted);
// Once in a process, with the table's lock held: the thread that passes signals on, and the hooks of waits.
void begin_passing();
// In a forked child, which has no such thread.
void forget_passing() noexcept;
// The calling thread is a worker's, whose ranks have signals of their own.
void accept_relays() noexcept;
// The thread that passes on looks at ranks and timers again, or for what has become of a child.
void look_again() noexcept;
void look_for_child(int child) noexcept;
// Of several children that end at one time the kernel tells once, and one may end before whoever has started it has said
// that it is his, who then asks for this again. With the table's lock held.
void tell_parents(const siginfo_t& details);
// As the host of copies says it (weft_set_children).
void set_children(int (*rank_of)(int child), int (*next_ended)(int* rank)) noexcept;

// --- signal_timers.cpp --------------------------------------------------------------------------------

// Sends the signals of those that are due, with the table's lock held. The time until the next is; -1: none is.
std::int64_t ring_timers(std::uint64_t now);

inline std::uint64_t ns_of(const timespec& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}
inline timespec time_of(std::uint64_t ns) noexcept {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace weft::detail
