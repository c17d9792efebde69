#include "program/kernel_state.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "base/kept_errno.hpp"
#include "sched/worker.hpp"

namespace weft::detail {
namespace {

constexpr int inherited = -1;

// Descriptor of the directory and mask; `inherited`: those with which the process began.
struct kernel_state {
  int directory = inherited;
  std::uint64_t which = 0;  // Of all directories: a descriptor's number comes again.
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

// Of the calling thread.
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

// With the lock held.
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
  if (!is_apart) return;
  const kept_errno kept;
  const std::lock_guard hold(states().lock);
  apply(wanted_by(next.is_apart ? next.identity : nullptr));
}

// The rank's fiber is from now on one whose thread has another state than others'.
void set_apart(const job_rank& me) noexcept {
  worker::hooks.change = &on_switch;
  const_cast<job_rank&>(me).main.is_apart = true;
}

}  // namespace

int change_directory_of(const job_rank& me, bool on_home, const char* path, int descriptor,
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

unsigned change_mask_of(const job_rank& me, bool on_home, unsigned mask, bool& is_shared) noexcept {
  is_shared = !leave_process();
  if (is_shared) return 0;
  const auto before = static_cast<unsigned>(::syscall(SYS_umask, mask));
  const std::lock_guard hold(states().lock);
  states().by_rank[&me].mask = static_cast<int>(mask & 0777);
  applied.mask = static_cast<int>(mask & 0777);
  if (on_home) set_apart(me);
  return before;
}

void take_kernel_state_of(const job_rank& me, bool is_new_thread) noexcept {
  if (!any_apart.load(std::memory_order_relaxed)) return;
  if (is_new_thread ? !leave_process() : !is_apart) return;
  const std::lock_guard hold(states().lock);
  const auto own = states().by_rank.find(&me);
  if (!is_new_thread && own == states().by_rank.end()) return;
  apply(wanted_by(&me));
  if (!is_new_thread) set_apart(me);
}

void forget_kernel_state_of(const job_rank& me) noexcept {
  if (!any_apart.load(std::memory_order_relaxed)) return;
  const std::lock_guard hold(states().lock);
  const auto own = states().by_rank.find(&me);
  if (own == states().by_rank.end()) return;
  const int left = own->second.directory;
  states().by_rank.erase(own);
  apply(wanted_by(nullptr));
  const_cast<job_rank&>(me).main.is_apart = false;
  if (left != inherited) ::syscall(SYS_close, left);
}

}  // namespace weft::detail
