// The calls by which a thread chooses its CPUs, in libweft.so, where they stand before those of the C library. A rank that
// chooses for itself would move its worker, which runs other ranks, to where another worker is: so in a process of
// several ranks a choice is the rank's own affair. It is remembered and answered, holds for threads that the rank makes
// from then on, and moves no worker. Other threads are moved by the kernel. Not part of libweft.a.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <mutex>
#include <span>
#include <vector>

#include "process/threads/affinity.hpp"

#include "base/forked_child.hpp"
#include "base/library_function.hpp"
#include "diagnosis/checks.hpp"
#include "job/caller.hpp"
#include "process/signals/own_number.h"

namespace weft::process {
namespace {

using detail::job_rank;
using cpu_words = std::vector<unsigned long>;

// The C library's.
#define NEXT(function) \
  static auto* const next_##function = weft::next_definition<decltype(::function)>(#function)

std::mutex choice_lock;  // A rank's threads may choose for it.

cpu_words words_of(const cpu_set_t* set, std::size_t size) {
  cpu_words words(size / sizeof(unsigned long));
  std::memcpy(words.data(), set, words.size() * sizeof(unsigned long));
  return words;
}

// What the process had before workers were pinned.
const cpu_words cpus_of_process = [] {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return words_of(&set, sizeof set);
}();

// The rank that runs on the thread of this number, 0 the caller, in a call of this rank or of a thread that it has made;
// null: none.
job_rank* chooser(const detail::rank_of_caller& caller, pid_t thread) noexcept {
  auto* const me = const_cast<job_rank*>(caller.get());
  if (me == nullptr || is_forked_child()) return nullptr;
  if (thread == 0) return origin_of_this_thread().identity == nullptr ? me : nullptr;
  // A program of one rank sees its own first thread there.
  if (thread == ::getpid() || weft_is_own_number(thread) != 0) return me;
  scheduler& workers = *me->of->workers;
  for (int i = 0; i < workers.worker_count(); ++i)
    if (workers.at(i).thread() == thread) return me;
  return nullptr;
}

// The kernel's number of a thread, which its clock has.
pid_t number_of(pthread_t thread) noexcept {
  clockid_t clock = 0;
  if (pthread_equal(thread, pthread_self()) != 0) return 0;
  return pthread_getcpuclockid(thread, &clock) == 0 ? ~(clock >> 3) : -1;
}

bool is_alone(const job_rank* me) noexcept {
  return me->of->ranks.size() == 1;
}

// CPUs that the machine does not have are left out, as by the kernel. Those that weftrun has not given to this process
// count, as they would if the rank were alone. False: there are none.
bool note_choice(job_rank& me, std::size_t size, const cpu_set_t* set) {
  static const auto cpu_count = static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF));
  constexpr std::size_t word_bits = 8 * sizeof(unsigned long);
  cpu_words chosen = words_of(set, size);
  chosen.resize(std::min(chosen.size(), cpu_count / word_bits + 1));
  if (chosen.size() > cpu_count / word_bits) chosen.back() &= (1UL << cpu_count % word_bits) - 1;
  if (std::ranges::all_of(chosen, [](unsigned long word) { return word == 0; })) return false;
  const std::lock_guard hold(choice_lock);
  me.cpus = std::move(chosen);
  return true;
}

// The rank binds itself to CPUs; its worker stays as it is.
void look_at_choice_of_cpus(diagnosis::job_checks& to, const job_rank& r) {
  to.add({diagnosis::finding::kind::warning,
          formatted(
              "rank {} binds itself to CPUs in {}: its worker, {}, which runs other ranks of the "
              "process as well, stays where it is; with --ranks-per-process 1 a rank can be bound",
              r.number, diagnosis::place_mark,
              r.home->core() < 0 ? "which is not pinned"
                                 : formatted("pinned to CPU {}", r.home->core())),
          {diagnosis::calls_here()}});
}

// Returns errno. A rank alone is bound, which `bind` does.
template <class Bind>
int choose(job_rank* me, std::size_t size, const cpu_set_t* set, const Bind& bind) {
  if (me == nullptr || is_alone(me)) {
    const int failed = bind();
    if (failed == 0 && me != nullptr) (void)note_choice(*me, size, set);  // Its threads get it.
    return failed;
  }
  if (!note_choice(*me, size, set)) return EINVAL;
  if (me->of->checks != nullptr) look_at_choice_of_cpus(*me->of->checks, *me);
  return 0;
}

// False: the rank has not chosen.
bool answer(const job_rank& me, std::size_t size, cpu_set_t* set) {
  const std::lock_guard hold(choice_lock);
  if (me.cpus.empty()) return false;
  std::memset(set, 0, size);
  std::memcpy(set, me.cpus.data(), std::min(size, me.cpus.size() * sizeof(unsigned long)));
  return true;
}

}  // namespace

cpu_set_t cpus_of_new_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const detail::rank_of_caller caller;
  if (caller.get() == nullptr || !answer(*caller.get(), sizeof set, &set))
    std::memcpy(&set, cpus_of_process.data(),
                std::min(sizeof set, cpus_of_process.size() * sizeof(unsigned long)));
  return set;
}

}  // namespace weft::process

extern "C" {

__attribute__((visibility("default"))) int sched_setaffinity(pid_t thread, std::size_t size,
                                                             const cpu_set_t* set) noexcept {
  NEXT(sched_setaffinity);
  const weft::detail::rank_of_caller caller;
  weft::detail::job_rank* const me = weft::process::chooser(caller, thread);
  const int failed = weft::process::choose(me, size, set, [&] {
    return next_sched_setaffinity(me != nullptr ? me->home->thread() : thread, size, set) == 0
               ? 0
               : errno;
  });
  if (failed != 0) errno = failed;
  return failed == 0 ? 0 : -1;
}

__attribute__((visibility("default"))) int sched_getaffinity(pid_t thread, std::size_t size,
                                                             cpu_set_t* set) noexcept {
  NEXT(sched_getaffinity);
  const weft::detail::rank_of_caller caller;
  const weft::detail::job_rank* const me = weft::process::chooser(caller, thread);
  if (me == nullptr) return next_sched_getaffinity(thread, size, set);
  if (!weft::process::is_alone(me) && weft::process::answer(*me, size, set)) return 0;
  return next_sched_getaffinity(me->home->thread(), size, set);
}

__attribute__((visibility("default"))) int pthread_setaffinity_np(pthread_t thread,
                                                                  std::size_t size,
                                                                  const cpu_set_t* set) noexcept {
  NEXT(pthread_setaffinity_np);
  const weft::detail::rank_of_caller caller;
  return weft::process::choose(weft::process::chooser(caller, weft::process::number_of(thread)),
                               size, set,
                               [&] { return next_pthread_setaffinity_np(thread, size, set); });
}

__attribute__((visibility("default"))) int pthread_getaffinity_np(pthread_t thread,
                                                                  std::size_t size,
                                                                  cpu_set_t* set) noexcept {
  NEXT(pthread_getaffinity_np);
  const weft::detail::rank_of_caller caller;
  const weft::detail::job_rank* const me =
      weft::process::chooser(caller, weft::process::number_of(thread));
  if (me != nullptr && !weft::process::is_alone(me) && weft::process::answer(*me, size, set))
    return 0;
  return next_pthread_getaffinity_np(thread, size, set);
}
}
