#include "process/life/program.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "job/accounted_call.hpp"
#include "job/constructors.hpp"
#include "job/state.hpp"
#include "process/environment/own_environment.hpp"
#include "process/files/working_directory.hpp"
#include "process/life/program.h"
#include "process/life/running_program.hpp"
#include "process/life/sanitized_stack.hpp"
#include "process/signals/only_rank.hpp"
#include "weft/run.hpp"

namespace weft::process {
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
    char** const own_table = environment_of_rank(detail::calling_job_rank("main"), environ);
    if (run.own != nullptr)
      run.own->begin(own_table, standard_input_of(this_rank()), stdout, stderr);
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
  if (run.after_main != nullptr) std::exchange(run.after_main, nullptr)();
  _setjmp(run.end);
  detail::note_constructors_have_run(
      detail::calling_job_rank("main"));  // One of them may have called exit().
  run.is_leaving = false;
  run.is_ending = true;
  if (!run.at_once) copy.destroy();
  run.is_ending = false;
  return run.exit_status;
}

// Handlers of such a rank are still known to the C library, which would run them when the process ends.
std::atomic<bool> any_ended_at_once{false};

void (*at_rank_end)(int rank) = nullptr;
weft_statics_finder* statics_finder = nullptr;

std::vector<std::span<std::byte>> statics_of_only_copy() {
  std::vector<std::span<std::byte>> all;
  statics_finder(
      [](void* to, void* begin, unsigned long bytes) {
        static_cast<std::vector<std::span<std::byte>>*>(to)->push_back(
            {static_cast<std::byte*>(begin), bytes});
      },
      &all);
  return all;
}

// In a job that goes on after failures a rank that fails alone in its process is one that has died: the process ends at once, and
// the launcher tells the others. Elsewhere this does nothing.
void end_as_dead_process(const detail::job_rank& rank, int status) {
  const detail::job& j = *rank.of;
  if (j.how.on_failure != "error" || j.ranks.size() != 1 || j.node_of_process.size() < 2) return;
  std::fflush(nullptr);
  ::syscall(SYS_exit_group, status);  // _exit() is the rank's.
}

// The exit status. That of a rank which is not alone ends the job when it is not 0.
int run_rank_of_program(int argc, char** argv, const std::function<program_copy(int)>& load) {
  private_arguments words(argc, argv);
  const program_copy copy = [&] {
    const detail::accounted_call call("load of the program", nullptr);
    return load(this_rank());
  }();
  detail::calling_job_rank("main").statics = copy.statics;
  if (statics_finder != nullptr)
    detail::calling_job_rank("main").find_statics = &statics_of_only_copy;
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
      forget_kernel_state_of(rank);
    }
  } kept{detail::calling_job_rank("main"), copy.own != nullptr};
  take_signals_of_process();
  const sanitized_stack stack(detail::calling_job_rank("main").main.stack);
  const int status = run_to_the_end(run, copy, argc, words.pointers()) & 0xff;
  if (run.at_once) any_ended_at_once.store(true, std::memory_order_relaxed);
  if (status != 0) end_as_dead_process(detail::calling_job_rank("main"), status);
  if (status != 0 && world_size() != 1)
    throw rank_failure(formatted("ended with exit status {}, which ends the job", status), status);
  return status;
}

}  // namespace

// Relaxed: called when the ranks have ended.
bool has_rank_ended_at_once() noexcept {
  return any_ended_at_once.load(std::memory_order_relaxed);
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

}  // namespace weft::process

extern "C" {

void weft_set_statics_finder(weft_statics_finder* find) {
  weft::process::statics_finder = find;
}

void weft_set_rank_end(void (*hook)(int rank)) {
  weft::process::at_rank_end = hook;
}

int weft_run_alone(const weft_own_code* code, int argc, char** argv) {
  const weft::process::signals_for_rank only_rank;
  try {
    const weft::options how = weft::process::program_options(argc, argv).values;
    const weft::process::program_copy own{code->main, code->construct, code->destroy};
    const int status = weft::process::run_program(how, argc, argv, [&](int) { return own; });
    if (weft::process::has_rank_ended_at_once()) ::syscall(SYS_exit_group, status);
    return status;
  } catch (const weft::error& e) {
    weft::log_text(e.what());
    return 2;
  }
}
}
