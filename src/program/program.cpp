#include "program/program.hpp"
#include "job/accounted_call.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/library_function.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/private_code.hpp"
#include "base/settings.hpp"
#include "base/topology.hpp"
#include "job/constructors.hpp"
#include "job/state.hpp"
#include "program/kernel_state.hpp"
#include "program/own_environment.hpp"
#include "program/program.h"
#include "program/program_run.hpp"
#include "program/regions.hpp"
#include "program/sanitized_stack.hpp"
#include "runtime/monitor.hpp"
#include "sync/published.hpp"
#include "weft/run.hpp"

namespace weft {
namespace {

// The words of a command line in memory of their own: programs write to their argv.
class private_arguments {
 public:
  private_arguments(int argc, char** argv) {
    for (int i = 0; i < argc; ++i) {
      const std::size_t size = std::strlen(argv[i]) + 1;
      words_.push_back(std::make_unique<char[]>(size));
      std::memcpy(words_.back().get(), argv[i], size);
      pointers_.push_back(words_.back().get());
    }
    pointers_.push_back(nullptr);
  }
  [[nodiscard]] char** pointers() { return pointers_.data(); }

 private:
  std::vector<std::unique_ptr<char[]>> words_;
  std::vector<char*> pointers_;
};

using detail::job_rank;
using detail::program_run;
using detail::state_of_caller;

// By the rank's state, whose address is its identity.
struct active_runs {
  std::mutex lock;  // Never held across a wait.
  std::unordered_map<const void*, program_run*> by_rank;
};

active_runs& runs() {
  static active_runs all;
  // A child that a rank forks asks too: another rank's thread, which the child has not, must not have the lock.
  [[maybe_unused]] static const int is_held_in_forks = ::pthread_atfork(
      [] { all.lock.lock(); }, [] { all.lock.unlock(); }, [] { all.lock.unlock(); });
  return all;
}

// Null where this is no rank, or one that has no main() of its own. `use` is called under the lock: threads
// of a rank may ask while it ends.
template <class Use>
auto with_run_of(const job_rank* rank, Use&& use) -> decltype(use(std::declval<program_run&>())) {
  if (rank == nullptr) return nullptr;
  const std::lock_guard hold(runs().lock);
  const auto found = runs().by_rank.find(rank);
  return found == runs().by_rank.end() ? nullptr : use(*found->second);
}

const weft_own_state* own_of(const job_rank* rank) {
  return with_run_of(rank, [](program_run& run) { return run.own; });
}

// Of the calling rank, not of threads that it has made.
program_run* own_run() {
  return with_run_of(state_of_caller(), [](program_run& run) { return &run; });
}

class registered_run {
 public:
  explicit registered_run(program_run& run) : rank_(state_of_caller()) {
    const std::lock_guard hold(runs().lock);
    runs().by_rank[rank_] = &run;
  }
  ~registered_run() {
    forget_regions(rank_);
    const std::lock_guard hold(runs().lock);
    runs().by_rank.erase(rank_);
  }
  registered_run(const registered_run&) = delete;
  registered_run& operator=(const registered_run&) = delete;

 private:
  const void* rank_;
};

// Standard input belongs to the first rank, as launchers of processes have it. Streams of the others are
// their own, since each remembers that it has come to the end.
std::FILE* standard_input_of(int rank) {
  if (rank == 0) return nullptr;
  cookie_io_functions_t calls{};
  calls.read = [](void*, char*, std::size_t) { return ssize_t{0}; };
  return ::fopencookie(nullptr, "r", calls);
}

// exit() leaves the frames below without unwinding them, as it does in any process; those of this
// function hold nothing that must be unwound. A handler of atexit() may call exit() again: the
// handlers that are left run then.
[[gnu::noinline]] int run_to_the_end(program_run& run, const program_copy& copy, int argc,
                                     char** argv) {
  if (_setjmp(run.stopped) != 0) throw job_stopped{};
  if (_setjmp(run.end) == 0) {
    char** const own_table = detail::environment_of_rank(detail::calling_job_rank("main"), environ);
    if (run.own != nullptr)
      run.own->begin(own_table, standard_input_of(this_rank()));
    else
      environ = own_table;
    char*** const environment = run.own != nullptr ? run.own->environment : &environ;
    copy.construct(argc, argv, *environment);
    detail::note_constructors_have_run(detail::calling_job_rank("main"));
    try {
      run.exit_status = copy.main(argc, argv, *environment);
    } catch (const job_stopped&) {
      if (!run.is_leaving) throw;
    }
  }
  _setjmp(run.end);
  detail::note_constructors_have_run(
      detail::calling_job_rank("main"));  // One of them may have called exit().
  run.is_leaving = false;
  run.is_ending = true;
  if (!run.at_once) copy.destroy();
  run.is_ending = false;
  return run.exit_status;
}

_Unwind_Reason_Code stop_in_program(int, _Unwind_Action actions, _Unwind_Exception_Class,
                                    _Unwind_Exception*, _Unwind_Context* context, void* run) {
  if ((actions & _UA_END_OF_STACK) == 0 &&
      is_code_of_weft(reinterpret_cast<const void*>(_Unwind_GetIP(context))))
    return _URC_NO_REASON;
  auto& left = *static_cast<program_run*>(run);
  _longjmp(left.is_leaving ? left.end : left.stopped, 1);
}

// Handlers of such a rank are still known to the C library, which would run them when the process ends.
std::atomic<bool> any_ended_at_once{false};

void (*at_rank_end)(int rank) = nullptr;
constinit published<const detail::signal_hooks*> hooks_of_signals;

std::optional<sigset_t> mask_of_only_rank;  // Written before there are any threads of weft's.

// The exit status. That of a rank which is not alone ends the job when it is not 0.
int run_rank_of_program(int argc, char** argv, const std::function<program_copy(int)>& load) {
  private_arguments words(argc, argv);
  const program_copy copy = [&] {
    const detail::accounted_call call("load of the program", nullptr);
    return load(this_rank());
  }();
  detail::calling_job_rank("main").statics = copy.statics;
  program_run run{};
  run.own = copy.own;
  allow_own_output(copy.own != nullptr ? own_output::of_rank : own_output::of_process);
  const registered_run registered(run);
  // However the rank ends: nothing that is kept for it outlives it.
  const struct kept_for_rank {
    const detail::job_rank& rank;
    const bool has_copy;
    ~kept_for_rank() {
      if (at_rank_end != nullptr && has_copy) at_rank_end(rank.number);
      detail::forget_kernel_state_of(rank);
    }
  } kept{detail::calling_job_rank("main"), copy.own != nullptr};
  detail::take_signals_of_process();
  const detail::sanitized_stack stack(detail::calling_job_rank("main").main.stack);
  const int status = run_to_the_end(run, copy, argc, words.pointers()) & 0xff;
  if (run.at_once) any_ended_at_once.store(true, std::memory_order_relaxed);
  if (status != 0 && world_size() != 1)
    throw rank_failure(formatted("ended with exit status {}, which ends the job", status), status);
  return status;
}

// Where the system sets no limit there must be one, and address space for all ranks of a process with the gaps between.
constexpr std::size_t unlimited_stack_bytes = std::size_t{1} << 30;
constexpr std::size_t address_space_of_stacks = std::size_t{1} << 45;

bool promises_no_more_than_there_is() {
  int mode = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> mode;
  return mode == 2;
}

// What ulimit -s says, so that a program finds the stack that it has elsewhere; it is committed page by page.
std::size_t stack_of_system(std::size_t ranks_of_process) {
  rlimit limit{};
  const bool is_limited = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  const std::size_t wanted =
      is_limited ? std::clamp<std::size_t>(limit.rlim_cur, stack_bytes_min, stack_bytes_max)
                 : unlimited_stack_bytes;
  rlimit space{};
  std::size_t room = address_space_of_stacks;
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    room = std::min<std::size_t>(room, space.rlim_cur / 2);
  std::size_t most = room / 2 / std::max<std::size_t>(ranks_of_process, 1);
  if (promises_no_more_than_there_is()) most = std::min(most, program_stack_bytes_max);
  if (wanted <= most) return wanted;
  const std::size_t less = std::max(most / 4096 * 4096, stack_bytes_min);
  if (is_limited)
    log_line(
        "stacks of ranks have {} KiB, not the {} of ulimit -s: there is no address space for more; start fewer "
        "ranks in a process, or say --stack",
        less / 1024, wanted / 1024);
  return less;
}

bool is_default(const resolved_options& resolved, std::string_view name) {
  const setting* const row = find_setting(name);
  return resolved.sources[static_cast<std::size_t>(row - settings().data())] ==
         setting_source::default_value;
}

// A thread that a rank has made cannot leave the rank's own stack.
void leave_in_thread(const job_rank& maker, int status, bool at_once) {
  if (detail::has_others_beside(maker))
    detail::end_process(maker, formatted("{}({})", at_once ? "_exit" : "exit", status), status);
}

// Returns when the caller is no rank that is in its program.
void leave_program(int status, bool at_once) {
  if (is_forked_child()) {
    // Its handlers ask for it.
    if (program_run* const copied = own_run(); copied != nullptr) copied->exit_status = status;
    return;
  }
  const detail::maker_of_thread maker;
  if (maker.get() != nullptr) return leave_in_thread(*maker.get(), status, at_once);
  program_run* const mine = own_run();
  if (mine == nullptr) return;
  program_run& run = *mine;
  run.exit_status = status;
  run.at_once = run.at_once || at_once;
  if (const auto* const hooks = detail::signals_of_ranks(); hooks != nullptr) {
    run.is_leaving = true;
    hooks->leave_wait();  // A handler of a signal that runs in a wait: the wait is left first.
    run.is_leaving = false;
  }
  if (!worker::current()->in_chunk()) _longjmp(run.end, 1);
  log_line("rank {} called {}({}) inside a chunk of a loop: the process ends", this_rank(),
           at_once ? "_exit" : "exit", status);
  std::fflush(nullptr);
  ::syscall(SYS_exit_group, status != 0 ? status : 1);
}

// By default.
bool ends_process(int number) {
  switch (number) {
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGSYS:
    case SIGKILL:
    case SIGUSR1:
    case SIGUSR2:
    case SIGPIPE:
    case SIGALRM:
    case SIGTERM:
    case SIGVTALRM:
    case SIGPROF:
    case SIGIO:
    case SIGXCPU:
    case SIGXFSZ:
      return true;
    default:
      return number >= SIGRTMIN && number <= SIGRTMAX;
  }
}

bool is_fault(int number) {
  return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
         number == SIGTRAP;
}

// May be called by a handler of a fault, also in malloc().
void tell_of_own_signal(int number, bool by_abort) {
  struct sigaction now {};
  const detail::maker_of_thread maker;
  const job_rank* const me = maker.get() != nullptr ? maker.get() : state_of_caller();
  if (me == nullptr || is_forked_child() || !ends_process(number) ||
      sigaction(number, nullptr, &now) != 0)
    return;
  // Another thread may be waiting for it. Nobody waits for faults, which are blocked in their own handlers.
  sigset_t blocked;
  if (detail::has_kernels_signals() && !by_abort && !is_fault(number) &&
      pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0 && sigismember(&blocked, number) == 1)
    return;
  const bool is_reported = reports_fault(now);
  if (!is_reported && (now.sa_handler != SIG_DFL || me->of->places.size() == 1)) return;
  // A signal to the process may come to any of its threads, which knows no rank. So the fault's own report is
  // not needed any more.
  if (is_reported) ::signal(number, SIG_DFL);
  char line[128];
  int length = 0;
  if (by_abort)
    length = std::snprintf(line, sizeof line, "weft: rank %d called abort()%s\n", me->number,
                           maker.get() != nullptr ? " in a thread" : "");
  else if (const char* const name = sigabbrev_np(number); name != nullptr)
    length =
        std::snprintf(line, sizeof line,
                      "weft: rank %d sent its process the signal SIG%s (%s), which ends the job\n",
                      me->number, name, sigdescr_np(number));
  else
    length = std::snprintf(line, sizeof line,
                           "weft: rank %d sent its process the signal %d, which ends the job\n",
                           me->number, number);
  write_begun_lines_before_death();
  write_directly(STDERR_FILENO, {line, static_cast<std::size_t>(length)});
}

}  // namespace

detail::signals_for_rank::signals_for_rank() noexcept {
  sigset_t all;
  sigfillset(&all);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, stack_signal})
    sigdelset(&all, number);
  pthread_sigmask(SIG_BLOCK, &all, &before_);
  mask_of_only_rank = before_;
}
detail::signals_for_rank::~signals_for_rank() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void detail::take_signals_of_process() noexcept {
  if (mask_of_only_rank) pthread_sigmask(SIG_SETMASK, &*mask_of_only_rank, nullptr);
}

void detail::leave_handlers_of_exit() {
  program_run* const run = own_run();
  if (run == nullptr || !(run->is_ending || run->is_leaving)) return;
  _Unwind_ForcedUnwind(&run->unwinding, &stop_in_program, run);
  std::terminate();
}

void detail::leave_stopped_rank() {
  if (program_run* const run = own_run(); run != nullptr) _longjmp(run->stopped, 1);
}

bool detail::has_kernels_signals() noexcept {
  return mask_of_only_rank.has_value();
}

void detail::set_signal_hooks(const signal_hooks& hooks) noexcept {
  hooks_of_signals.publish(&hooks);
}

const detail::signal_hooks* detail::signals_of_ranks() noexcept {
  return hooks_of_signals.value();
}

// Relaxed: called when the ranks have ended.
bool has_rank_ended_at_once() noexcept {
  return any_ended_at_once.load(std::memory_order_relaxed);
}

resolved_options program_options(int& argc, char** argv) {
  resolved_options resolved = resolve_options(argc, argv);
  // weftrun names the number when its user does not.
  if (is_default(resolved, "ranks") && ::secure_getenv("WEFT_JOB") == nullptr)
    resolved.values.ranks = 1;
  if (is_default(resolved, "stack")) {
    const options& how = resolved.values;
    const int ranks = how.ranks == 0 ? static_cast<int>(machine_topology().threads.size())
                                     : how.ranks / std::max(1, how.processes);
    resolved.values.stack_bytes = stack_of_system(static_cast<std::size_t>(std::max(1, ranks)));
  }
  return resolved;
}

int run_program(const options& how, int argc, char** argv,
                const std::function<program_copy(int rank)>& load) {
  // The rank's lines are whole; a single rank's pass as they come, prompts too.
  std::optional<line_output> lines;
  if (how.ranks != 1) lines.emplace(&detail::number_of_writer, line_style::whole);
  int status_alone = 0;
  detail::expect_constructors();
  const int status = run(how, [&](communicator& world) {
    const int ended_with = run_rank_of_program(argc, argv, load);
    if (world.size() == 1) status_alone = ended_with;
  });
  lines.reset();  // Writes lines that were begun.
  const std::string lost = lost_output();
  if (!lost.empty()) log_text(lost);
  if (status != 0 || status_alone != 0) return status != 0 ? status : status_alone;
  return lost.empty() ? 0 : 1;
}

}  // namespace weft

extern "C" {

void weft_set_rank_end(void (*hook)(int rank)) {
  weft::at_rank_end = hook;
}

int weft_run_alone(const weft_own_code* code, int argc, char** argv) {
  const weft::detail::signals_for_rank only_rank;
  try {
    const weft::options how = weft::program_options(argc, argv).values;
    const weft::program_copy own{code->main, code->construct, code->destroy};
    const int status = weft::run_program(how, argc, argv, [&](int) { return own; });
    if (weft::has_rank_ended_at_once()) ::syscall(SYS_exit_group, status);
    return status;
  } catch (const weft::error& e) {
    weft::log_text(e.what());
    return 2;
  }
}

const struct weft_own_state* weft_own(void) {
  const weft::detail::rank_of_caller me;
  return weft::own_of(me.get());
}

void weft_exit(int status) {
  weft::leave_program(status, false);
}
void weft_exit_at_once(int status) {
  weft::leave_program(status, true);
}

int weft_exit_status(void) {
  const weft::detail::program_run* const run = weft::own_run();
  return run == nullptr ? 0 : run->exit_status;
}

void weft_raises(int number) {
  weft::tell_of_own_signal(number, false);
}
int weft_takes_signals(void) {
  return weft::detail::has_kernels_signals() ? 1 : 0;
}
void weft_aborts(void) {
  weft::tell_of_own_signal(SIGABRT, true);
}

int (*weft_pthread_kill_of_libc(void))(pthread_t, int) {
  static const auto found = weft::next_definition<int(pthread_t, int)>("pthread_kill");
  return found;
}

int weft_has_no_input(void) {
  return weft::detail::number_of_caller() > 0;
}

long weft_write(int descriptor, const void* bytes, unsigned long size) {
  const int saved = errno;
  if (descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO) {
    const weft::detail::maker_of_thread maker;  // Whose job has the lines.
    if ((maker.get() != nullptr || weft::this_rank() >= 0) &&
        weft::append_to_line(descriptor, {static_cast<const char*>(bytes), size})) {
      errno = saved;
      return static_cast<long>(size);
    }
  }
  return ::syscall(SYS_write, descriptor, bytes, size);
}

int weft_sleep(long long nanoseconds) {
  if (weft::worker::caller() == nullptr || weft::detail::is_in_middle_of_code() ||
      weft::is_forked_child())
    return 0;
  if (nanoseconds <= 0)
    weft::yield();
  else
    weft::sleep_for(std::chrono::nanoseconds(nanoseconds));
  return 1;
}
}
