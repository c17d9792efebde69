#include "process/files/working_directory.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <set>
#include <unordered_map>

#include "base/forked_child.hpp"
#include "base/format.hpp"
#include "base/kept_errno.hpp"
#include "base/log.hpp"
#include "job/caller.hpp"
#include "process/files/working_directory.h"
#include "process/life/running_program.hpp"
#include "process/life/shared_state.h"
#include "sched/worker.hpp"

namespace weft::process {
namespace {

constexpr int inherited = -1;

// Descriptor of the directory and mask; `inherited`: those with which the process began.
struct kernel_state {
  int directory = inherited;
  std::uint64_t which = 0;  // It tells directories apart: a descriptor's number comes again.
  int mask = inherited;
};

struct all_states {
  std::mutex lock;  // Never held across a wait.
  std::unordered_map<const void*, kernel_state> by_rank;
  kernel_state of_process;  // Complete once some thread has left it.
  std::uint64_t directories = 0;
};
all_states& states() {
  static all_states& all = *new all_states;  // Threads may ask while the process ends.
  return all;
}
// Whether any thread has left what the process began with. Relaxed: a thread that does not see it yet is not the rank's
// that has.
constinit std::atomic<bool> any_apart{false};

// Both are of the calling thread.
thread_local constinit bool is_apart = false;
thread_local constinit kernel_state applied;

int open_here() noexcept {
  return static_cast<int>(
      ::syscall(SYS_openat, AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
}

// False: the kernel, or a container's rules, do not allow it.
bool leave_process() noexcept {
  if (is_apart) return true;
  {
    const std::lock_guard hold(states().lock);
    kernel_state& first = states().of_process;
    if (first.directory == inherited) {
      first.directory = open_here();
      first.which = ++states().directories;
    }
    if (first.directory < 0 || ::unshare(CLONE_FS) != 0) return false;
    if (first.mask == inherited) {
      first.mask = static_cast<int>(::syscall(SYS_umask, 0));
      ::syscall(SYS_umask, first.mask);
    }
  }
  is_apart = true;
  any_apart.store(true, std::memory_order_relaxed);
  return true;
}

// The caller holds the lock.
kernel_state wanted_by(const void* rank) noexcept {
  kernel_state wanted = states().of_process;
  if (const auto own = states().by_rank.find(rank); own != states().by_rank.end()) {
    if (own->second.directory != inherited) {
      wanted.directory = own->second.directory;
      wanted.which = own->second.which;
    }
    if (own->second.mask != inherited) wanted.mask = own->second.mask;
  }
  return wanted;
}

void apply(const kernel_state& wanted) noexcept {
  if (wanted.which != applied.which && ::syscall(SYS_fchdir, wanted.directory) == 0) {
    applied.directory = wanted.directory;
    applied.which = wanted.which;
  }
  if (wanted.mask != applied.mask) ::syscall(SYS_umask, wanted.mask);
  applied.mask = wanted.mask;
}

void on_switch(const fiber& next) noexcept {
  // The worker of a rank that has left its process's state may have moved to a thread that has not.
  if (!is_apart && (!next.is_apart || !leave_process())) return;
  const kept_errno kept;
  const std::lock_guard hold(states().lock);
  apply(wanted_by(next.is_apart ? next.identity : nullptr));
}

// The rank's fiber is from now on one whose thread has another state than others'.
void set_apart(const detail::job_rank& me) noexcept {
  worker::hooks.change = &on_switch;
  const_cast<detail::job_rank&>(me).main.is_apart = true;
}

}  // namespace

int change_directory_of(const detail::job_rank& me, bool on_home, const char* path, int descriptor,
                        bool& is_shared) noexcept {
  is_shared = !leave_process();
  if (is_shared) return -1;
  const long failed =
      path != nullptr ? ::syscall(SYS_chdir, path) : ::syscall(SYS_fchdir, descriptor);
  if (failed != 0) return -1;
  const int now = open_here();
  if (now < 0) {  // There is no descriptor left: where the rank was is all that can be kept.
    const kept_errno kept;
    ::syscall(SYS_fchdir,
              applied.directory != inherited ? applied.directory : states().of_process.directory);
    return -1;
  }
  const std::lock_guard hold(states().lock);
  kernel_state& own = states().by_rank[&me];
  const int before = own.directory;
  own.directory = now;
  own.which = ++states().directories;
  applied.directory = now;
  applied.which = own.which;
  if (on_home) set_apart(me);
  if (before != inherited) ::syscall(SYS_close, before);
  return 0;
}

unsigned change_mask_of(const detail::job_rank& me, bool on_home, unsigned mask,
                        bool& is_shared) noexcept {
  is_shared = !leave_process();
  if (is_shared) return 0;
  const auto before = static_cast<unsigned>(::syscall(SYS_umask, mask));
  const std::lock_guard hold(states().lock);
  states().by_rank[&me].mask = static_cast<int>(mask & 0777);
  applied.mask = static_cast<int>(mask & 0777);
  if (on_home) set_apart(me);
  return before;
}

void take_kernel_state_of(const detail::job_rank& me, bool is_new_thread) noexcept {
  if (!any_apart.load(std::memory_order_relaxed)) return;
  if (is_new_thread ? !leave_process() : !is_apart) return;
  const std::lock_guard hold(states().lock);
  const auto own = states().by_rank.find(&me);
  if (!is_new_thread && own == states().by_rank.end()) return;
  apply(wanted_by(&me));
  if (!is_new_thread) set_apart(me);
}

void forget_kernel_state_of(const detail::job_rank& me) noexcept {
  if (!any_apart.load(std::memory_order_relaxed)) return;
  const std::lock_guard hold(states().lock);
  const auto own = states().by_rank.find(&me);
  if (own == states().by_rank.end()) return;
  const int left = own->second.directory;
  states().by_rank.erase(own);
  apply(wanted_by(nullptr));
  const_cast<detail::job_rank&>(me).main.is_apart = false;
  if (left != inherited) ::syscall(SYS_close, left);
}

namespace {

// --- Where no thread may leave its process -----------------------------------------------------------

std::mutex shared_directory_lock;

// Directories of ranks. Each rank believes to be where it went last, or where the process began.
struct shared_directory {
  int first = -1;      // The process began there; -1 before a rank has gone elsewhere.
  std::set<int> gone;  // Ranks that are in the working directory of now, if that is another one.
};
shared_directory directory;

long change_directory(const char* path, int descriptor) noexcept {
  return path != nullptr ? ::syscall(SYS_chdir, path) : ::syscall(SYS_fchdir, descriptor);
}

bool are_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Whether this directory, seen from where the calling rank believes to be, is the one of all.
bool is_working_directory(const char* path, int descriptor, bool has_gone) {
  struct stat wanted {
  }, now{};
  const int failed = path != nullptr
                         ? ::fstatat(has_gone ? AT_FDCWD : directory.first, path, &wanted, 0)
                         : ::fstat(descriptor, &wanted);
  return failed == 0 && ::stat(".", &now) == 0 && are_same(wanted, now);
}

// The first that goes leads. The others may follow; none may leave those behind who have.
int change_directory_of_all(const char* path, int descriptor, int rank) {
  const std::lock_guard hold(shared_directory_lock);
  if (directory.first < 0)
    directory.first =
        static_cast<int>(::syscall(SYS_openat, AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
  const bool has_gone = directory.gone.contains(rank);
  if (is_working_directory(path, descriptor, has_gone)) {
    directory.gone.insert(rank);
    return 0;
  }
  if (directory.gone.empty() || (has_gone && directory.gone.size() == 1)) {
    const int failed = static_cast<int>(change_directory(path, descriptor));
    if (failed == 0) directory.gone = {rank};
    return failed;
  }
  struct stat there {};
  if (path != nullptr && ::fstatat(has_gone ? AT_FDCWD : directory.first, path, &there, 0) != 0)
    return -1;
  log_line(
      "rank {} may not change to directory {}: rank {} has changed to another one, which ranks of a process "
      "share; with --ranks-per-process 1 each has its own",
      rank, path != nullptr ? path : "(by descriptor)", *directory.gone.begin());
  errno = EPERM;
  return -1;
}

}  // namespace
}  // namespace weft::process

extern "C" {

int weft_change_directory(const char* path, int descriptor) {
  using namespace weft::process;
  if (weft::is_forked_child() || !has_copy())
    return static_cast<int>(change_directory(path, descriptor));
  {
    const weft::detail::rank_of_caller caller;
    bool is_shared = false;
    const int failed = change_directory_of(
        *caller.get(), weft::detail::state_of_caller() != nullptr, path, descriptor, is_shared);
    if (!is_shared) return failed;
  }
  return change_directory_of_all(path, descriptor, weft::detail::number_of_caller());
}

unsigned weft_change_mask(unsigned mask) {
  using namespace weft::process;
  if (!weft::is_forked_child() && has_copy()) {
    const weft::detail::rank_of_caller caller;
    bool is_shared = false;
    const unsigned before =
        change_mask_of(*caller.get(), weft::detail::state_of_caller() != nullptr, mask, is_shared);
    if (!is_shared) return before;
    weft_shares("the file mask", weft::formatted("{:03o}", mask).c_str());
  }
  return static_cast<unsigned>(::syscall(SYS_umask, mask));
}
}
