// Process numbers of ranks that share a process. In libweft.so only. The thread that passes signals on makes the placeholders:
// it lives as long as the process, as whatever makes them must.
#include "process/signals/own_number.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/forked_child.hpp"
#include "base/kept_errno.hpp"
#include "base/kernel.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "job/caller.hpp"
#include "process/life/running_program.hpp"
#include "process/signals/signal_table.hpp"
#include "sched/worker.hpp"
#include "weft/error.hpp"

namespace weft::process {
namespace {

int numbers_made = 0;  // Under the table's lock.
// Whether people know that some share the process's number. Relaxed: it says nothing else.
std::atomic<bool> is_told_of{false};

void tell_of_sharing(const char* why) {
  if (is_told_of.exchange(true, std::memory_order_relaxed)) return;
  log_line(
      "some ranks of a process share its number, {}, which getpid() gives them: {}; files that they name by it are "
      "the same, and signals to it are for all: start fewer ranks in a process (--processes, --ranks-per-process 1)",
      getpid(), why);
}

// Null: there can be no thread that makes numbers. getpid() does not fail.
rank_signals* signals_or_none(const detail::job_rank& rank) noexcept {
  try {
    return &own_signals(rank);
  } catch (const error& why) {
    tell_of_sharing(why.what());
    return nullptr;
  }
}

}  // namespace

// The caller holds the table's lock.
void make_number(int rank) {
  rank_signals* const its = signals_of(rank);
  if (its == nullptr || its->process_number.load(std::memory_order_relaxed) != 0) return;
  if (numbers_made < own_process_numbers_max)
    its->lends_number = placeholder::make(rank, passing_end());
  if (its->lends_number != nullptr)
    ++numbers_made;
  else if (numbers_made >= own_process_numbers_max)
    tell_of_sharing(formatted("{} of them have numbers of their own, and no more can have one",
                              own_process_numbers_max)
                        .c_str());
  else
    tell_of_sharing(
        formatted("the kernel allows no further process ({})", std::strerror(errno)).c_str());
  its->process_number.store(its->lends_number != nullptr ? its->lends_number->number() : getpid(),
                            std::memory_order_relaxed);
}

// The placeholder of a rank that goes on may have been killed. The caller holds the table's lock.
void look_for_killed_numbers() {
  if (numbers_made == 0) return;
  const pid_t gone = placeholder::find_ended();
  if (gone == 0) return;
  for (const auto& one : table().all) {
    if (one->lends_number == nullptr || one->lends_number->number() != gone) continue;
    log_line("rank {}, process number {}, was killed by SIGKILL, which ends the job",
             one->rank->number, gone);
    write_begun_lines_before_death();
    ::syscall(SYS_kill, getpid(), SIGKILL);
  }
}
bool has_numbers() noexcept {
  return numbers_made != 0;
}

pid_t known_number(const detail::job_rank& rank) noexcept {
  const rank_signals* const its = signals_of(rank.number);
  return its != nullptr ? its->process_number.load(std::memory_order_relaxed) : 0;
}

}  // namespace weft::process

using namespace weft::process;

extern "C" {

pid_t weft_own_number(void) {
  if (weft::is_forked_child()) return 0;
  const weft::detail::rank_of_caller caller;
  if (caller.get() == nullptr || caller.get()->of->ranks.size() == 1) return 0;
  if (const pid_t known = known_number(*caller.get()); known != 0) return known;
  if (!has_copy()) return 0;
  const weft::kept_errno kept;
  const rank_signals* const signals = signals_or_none(*caller.get());
  if (signals == nullptr) return 0;
  const rank_signals& mine = *signals;
  pid_t number = mine.process_number.load(std::memory_order_relaxed);
  // The rank asks again now and then: there may have been no room for the question. One that has ended gets no number any more.
  constexpr unsigned looks_per_question = 64;
  for (unsigned looks = 0; number == 0 && !mine.has_ended; ++looks) {
    if (looks % looks_per_question == 0) ask_for_number(caller.get()->number);
    weft::sleep_in_kernel(std::chrono::microseconds(20));
    number = mine.process_number.load(std::memory_order_relaxed);
  }
  return number;
}

pid_t weft_number_of_parent(void) {
  const void* const of_thread = weft::origin_of_this_thread().identity;
  const auto* const rank = static_cast<const weft::detail::job_rank*>(
      of_thread != nullptr ? of_thread : weft::worker::identity());
  return rank != nullptr ? known_number(*rank) : 0;
}

int weft_is_own_number(pid_t number) {
  if (number <= 0 || number == getpid() || weft::is_forked_child()) return 0;
  const weft::detail::rank_of_caller caller;
  return caller.get() != nullptr && known_number(*caller.get()) == number ? 1 : 0;
}

int weft_rank_of_number(pid_t number) {
  if (!has_signals_of_ranks() || number <= 0 || weft::is_forked_child()) return -1;
  const std::lock_guard hold(table().lock);
  for (const auto& one : table().all)
    if (one->lends_number != nullptr && one->lends_number->number() == number)
      return one->rank->number;
  return -1;
}

pid_t weft_number_of_rank(int rank) {
  const rank_signals* const its = signals_of(rank);
  const pid_t known = its != nullptr ? its->process_number.load(std::memory_order_relaxed) : 0;
  return known != 0 ? known : getpid();
}

int weft_signal_number(pid_t to, int number, const siginfo_t* details) {
  if (number <= 0 || number > signals_max || !is_for_ranks(number)) return 0;
  rank_signals* const mine = signals_of_caller();
  int rank;
  {
    const handlers_kept_back kept(mine);
    rank = weft_rank_of_number(to);
  }
  if (rank < 0) return 0;
  pass_to_rank(rank, number, *details);
  return 1;
}

void weft_end_own_number(int rank) {
  if (!has_signals_of_ranks()) return;
  const handlers_kept_back kept(signals_of_caller());
  std::unique_ptr<placeholder> ended;
  {
    const std::lock_guard hold(table().lock);
    rank_signals* const its = signals_of(rank);
    if (its == nullptr) return;
    ended = std::move(its->lends_number);
    if (ended != nullptr) --numbers_made;
  }
  if (ended != nullptr) ended->end();
}
}
