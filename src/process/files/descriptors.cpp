// What is known of descriptors of the process, in libweft.so: whose each is, and which are of files that never wait. A rank that starts a
// child gives it what a process of its own would: what it has opened itself, and what was there before the ranks. Otherwise the end of
// a pipe would not come while another rank's child lives.
//
// The table says who has made the descriptor of a number last, also when that is closed: a child has a copy of what was open when
// it was forked, which may have been closed since. A call that makes a descriptor lets it be closed in programs that are
// started until the table knows it, so no program that another rank starts at that moment gets it. Not part of libweft.a.
#include "process/files/descriptors.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/forked_child.hpp"
#include "base/kept_errno.hpp"
#include "base/limits.hpp"
#include "job/caller.hpp"
#include "process/life/caller.h"
#include "process/life/running_program.hpp"

namespace weft::process {
namespace {

// The number of a rank and 1, negative where the rank has closed it; 0: nobody's. Relaxed: who starts a child knows its own
// descriptors, and others' are known before they are open to it.
constinit std::array<std::atomic<int>, descriptors_known_max> owners{};
// One more than the highest that is some rank's. Relaxed for the same reason.
constinit std::atomic<int> owned_end{0};
// Relaxed: who uses a descriptor while another closes it has what comes.
constinit std::array<std::atomic<bool>, descriptors_known_max> is_file{};

bool is_known(int descriptor) noexcept {
  return descriptor >= 0 && descriptor < descriptors_known_max;
}

// The rank that what code at `from` makes belongs to; -1: nobody.
int rank_of_new(const void* from) {
  return has_copy() && weft_is_ranks_code(from) != 0 ? weft_number() : -1;
}

// Closes `first` to `last`, both included.
void close_all(int first, int last) {
  if (::syscall(SYS_close_range, first, last, 0) == 0) return;
  for (int each = first; each <= last; ++each) ::syscall(SYS_close, each);
}

// Calls `take` for each run of descriptors whose owner `is_wanted`.
template <class Wanted, class Take>
void each_run(int first, int end, const Wanted& is_wanted, const Take& take) {
  for (int at = first; at < end; ++at) {
    const int begin = at;
    while (at < end &&
           is_wanted(owners[static_cast<std::size_t>(at)].load(std::memory_order_relaxed)))
      ++at;
    if (at > begin) take(begin, at - 1);
  }
}

constexpr int first_of_ranks = STDERR_FILENO + 1;

template <class Take>
void each_run_of_others(const Take& take) {
  const int mine = detail::number_of_caller() + 1;
  each_run(
      first_of_ranks, owned_end.load(std::memory_order_relaxed),
      [mine](int owner) { return owner != 0 && owner != mine && owner != -mine; }, take);
}

bool waits_for_other_end(int descriptor) {
  struct stat found {};
  return ::fstat(descriptor, &found) == 0 &&
         (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode) || S_ISCHR(found.st_mode));
}

void give_up_descriptors_of(int rank, bool all) {
  int nothing = -1;
  const auto give_up = [&](int descriptor) {
    if (::syscall(SYS_fcntl, descriptor, F_GETFD) < 0 || (!all && !waits_for_other_end(descriptor)))
      return;
    if (nothing < 0)
      nothing =
          static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0));
    ::syscall(SYS_dup3, nothing, descriptor, O_CLOEXEC);
  };
  each_run(
      first_of_ranks, owned_end.load(std::memory_order_relaxed),
      [rank](int owner) { return owner == rank + 1; },
      [&](int first, int last) {
        for (int each = first; each <= last; ++each) give_up(each);
      });
  if (nothing >= 0) ::syscall(SYS_close, nothing);
}

}  // namespace
}  // namespace weft::process

extern "C" {

int weft_closed_at_first(const void* from) {
  return !weft::is_forked_child() && weft::process::rank_of_new(from) >= 0 ? O_CLOEXEC : 0;
}

void weft_note_owner(int descriptor, int rank) {
  if (descriptor < weft::process::first_of_ranks || !weft::process::is_known(descriptor)) return;
  weft::process::owners[static_cast<std::size_t>(descriptor)].store(rank + 1,
                                                                    std::memory_order_relaxed);
  if (rank < 0) return;
  int end = weft::process::owned_end.load(std::memory_order_relaxed);
  while (end <= descriptor && !weft::process::owned_end.compare_exchange_weak(
                                  end, descriptor + 1, std::memory_order_relaxed))
    continue;
}

void weft_note_closed(int descriptor) {
  if (!weft::process::is_known(descriptor) || weft::is_forked_child()) return;
  weft_note_file(descriptor, 0);
  std::atomic<int>& owner = weft::process::owners[static_cast<std::size_t>(descriptor)];
  // Another thread has closed it, and a third has got the number, where it is not what it was.
  if (int now = owner.load(std::memory_order_relaxed); now > 0)
    owner.compare_exchange_strong(now, -now, std::memory_order_relaxed);
}

int weft_is_file(int descriptor) {
  return weft::process::is_known(descriptor) &&
                 weft::process::is_file[static_cast<std::size_t>(descriptor)].load(
                     std::memory_order_relaxed)
             ? 1
             : 0;
}

void weft_note_file(int descriptor, int is_file) {
  if (weft::process::is_known(descriptor))
    weft::process::is_file[static_cast<std::size_t>(descriptor)].store(is_file != 0,
                                                                       std::memory_order_relaxed);
}

int weft_made_descriptor(const void* from, int descriptor, int stays_closed) {
  // A child of vfork() has its parent's memory.
  if (descriptor < 0 || weft::is_forked_child()) return descriptor;
  const int rank = weft::process::rank_of_new(from);
  weft_note_file(descriptor, 0);
  weft_note_owner(descriptor, rank);
  if (rank < 0 || stays_closed != 0) return descriptor;
  const weft::kept_errno kept;
  ::syscall(SYS_fcntl, descriptor, F_SETFD, 0);
  return descriptor;
}

int weft_has_descriptors_of_others(void) {
  int any = 0;
  weft::process::each_run_of_others([&any](int, int) { any = 1; });
  return any;
}

void weft_close_descriptors_of_others(void) {
  weft::process::each_run_of_others(
      [](int first, int last) { weft::process::close_all(first, last); });
}

void weft_give_up_own_descriptors(int all) {
  weft::process::give_up_descriptors_of(weft_number(), all != 0);
}
void weft_end_descriptors_of(int rank) {
  weft::process::give_up_descriptors_of(rank, false);
}

int weft_close_own_descriptors(unsigned first, unsigned last, int flags,
                               void (*closing)(int descriptor)) {
  const int mine = weft_number() + 1;
  const auto end = static_cast<unsigned>(weft::process::owned_end.load(std::memory_order_relaxed));
  const bool at_exec = (flags & CLOSE_RANGE_CLOEXEC) != 0;
  if (first >= end) return 0;
  weft::process::each_run(
      static_cast<int>(std::max(first, static_cast<unsigned>(weft::process::first_of_ranks))),
      static_cast<int>(std::min(last, end - 1) + 1), [mine](int owner) { return owner == mine; },
      [at_exec, closing](int begin, int until) {
        if (!at_exec) {
          for (int each = begin; each <= until; ++each) {
            closing(each);
            weft_note_closed(each);
          }
          return weft::process::close_all(begin, until);
        }
        for (int each = begin; each <= until; ++each)
          ::syscall(SYS_fcntl, each, F_SETFD, FD_CLOEXEC);
      });
  return 0;
}
}
