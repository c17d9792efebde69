// What a process has once and ranks with copies of a program change as if each had its own. The working directory and
// the file mask are (kernel_state.hpp); where the system does not allow that, ranks may all go to one directory, and what
// leads them apart is refused. The rest is told with `check`.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "base/format.hpp"
#include "base/log.hpp"
#include "base/system_path.hpp"
#include "diagnosis/checks.hpp"
#include "program/kernel_state.hpp"
#include "program/program.h"
#include "program/program_run.hpp"
#include "weft/run.hpp"

namespace weft::detail {
namespace {

std::mutex shared_lock;

// --- The working directory --------------------------------------------------------------------------

// Where ranks have gone. Each believes to be where it went last, or where the process began.
struct shared_directory {
  int first = -1;      // Where the process began; -1 before a rank has gone elsewhere.
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
  const std::lock_guard hold(shared_lock);
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

// --- What is told -----------------------------------------------------------------------------------

struct shared_value {
  std::string value;
  int rank;
};
std::map<std::string, shared_value> shared_values;

void note_shared(const std::string& what, const std::string& value, bool once_only) {
  const rank_of_caller caller;
  const job_rank* const me = is_forked_child() ? nullptr : caller.get();
  if (me == nullptr || me->of->checks == nullptr || !has_copy()) return;
  const std::lock_guard hold(shared_lock);
  const auto [at, is_first] = shared_values.try_emplace(what, shared_value{value, me->number});
  if (is_first || at->second.rank == me->number || (!once_only && at->second.value == value))
    return;
  me->of->checks->add(
      {finding::kind::warning,
       formatted(
           "rank {} sets {} to {}, rank {} to {}: ranks of a process share it, and the last one "
           "counts; with --ranks-per-process 1 each has its own",
           me->number, what, value, at->second.rank, at->second.value),
       {}});
}

std::string name_of_function(const void* address) {
  Dl_info found{};
  if (dladdr(address, &found) != 0 && found.dli_sname != nullptr && found.dli_saddr == address)
    return formatted("{}()", found.dli_sname);
  return "a function of its own";
}

}  // namespace

}  // namespace weft::detail

extern "C" {

int weft_change_directory(const char* path, int descriptor) {
  using namespace weft::detail;
  if (weft::is_forked_child() || !has_copy())
    return static_cast<int>(change_directory(path, descriptor));
  {
    const rank_of_caller caller;
    bool is_shared = false;
    const int failed = change_directory_of(*caller.get(), state_of_caller() != nullptr, path,
                                           descriptor, is_shared);
    if (!is_shared) return failed;
  }
  return change_directory_of_all(path, descriptor, number_of_caller());
}

unsigned weft_change_mask(unsigned mask) {
  using namespace weft::detail;
  if (!weft::is_forked_child() && has_copy()) {
    const rank_of_caller caller;
    bool is_shared = false;
    const unsigned before =
        change_mask_of(*caller.get(), state_of_caller() != nullptr, mask, is_shared);
    if (!is_shared) return before;
    weft_shares("the file mask", weft::formatted("{:03o}", mask).c_str());
  }
  return static_cast<unsigned>(::syscall(SYS_umask, mask));
}

int weft_number(void) {
  return weft::detail::number_of_writer();
}

void weft_tells_of_same_file(const char* path, int other) {
  static std::atomic<bool> is_told{false};  // Relaxed: one line is enough.
  if (is_told.exchange(true, std::memory_order_relaxed)) return;
  weft::log_line(
      "rank {} creates {}, as rank {} has: its name has the number of the process, which ranks of a process share; "
      "name it by the rank (WEFT_RANK), or give each rank a process (--ranks-per-process 1)",
      weft::detail::number_of_caller(), path, other);
}

void weft_shares(const char* what, const char* value) {
  weft::detail::note_shared(what, value, false);
}

void weft_handles(int number, void (*handler)(int)) {
  using namespace weft::detail;
  if (const rank_of_caller caller; caller.get() == nullptr || caller.get()->of->checks == nullptr)
    return;
  // Those of a language's run time do the same for each copy.
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(handler), &found) != 0 &&
      weft::is_of_system(found.dli_fname))
    return;
  note_shared(weft::formatted("the handler of SIG{}", sigabbrev_np(number)),
              name_of_function(reinterpret_cast<const void*>(handler)), true);
}
}
