// What ranks of a process share and change as if each had its own: told with `check`.
#include "process/life/shared_state.h"
#include "job/caller.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "base/forked_child.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "diagnosis/checks.hpp"
#include "job/state.hpp"
#include "process/life/running_program.hpp"

namespace weft::process {
namespace {

std::mutex shared_lock;

struct shared_value {
  std::string value;
  int rank;
};
std::map<std::string, shared_value> shared_values;

void note_shared(const std::string& what, const std::string& value) {
  const detail::rank_of_caller caller;
  const detail::job_rank* const me = is_forked_child() ? nullptr : caller.get();
  if (me == nullptr || me->of->checks == nullptr || !has_copy()) return;
  const std::lock_guard hold(shared_lock);
  const auto [at, is_first] = shared_values.try_emplace(what, shared_value{value, me->number});
  if (is_first || at->second.rank == me->number || at->second.value == value) return;
  me->of->checks->add(
      {diagnosis::finding::kind::warning,
       formatted(
           "rank {} sets {} to {}, rank {} to {}: ranks of a process share it, and the last one "
           "counts; with --ranks-per-process 1 each has its own",
           me->number, what, value, at->second.rank, at->second.value),
       {}});
}

}  // namespace
}  // namespace weft::process

extern "C" {

void weft_tells_of_same_file(const char* path, int other) {
  static std::atomic<bool> is_told{false};  // Relaxed: one line is enough.
  if (is_told.exchange(true, std::memory_order_relaxed)) return;
  weft::log_line(
      "rank {} creates {}, as rank {} has: its name has the number of the process, which ranks of a process share; "
      "name it by the rank (WEFT_RANK), or give each rank a process (--ranks-per-process 1)",
      weft::detail::number_of_caller(), path, other);
}

void weft_shares(const char* what, const char* value) {
  weft::process::note_shared(what, value);
}
}
