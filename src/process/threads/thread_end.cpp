// pthread_exit() of a rank's own thread, in libweft.so, where it stands before the C library's, which would end the worker: the frames of
// the program are unwound, with their cleanup handlers and destructors, and no frame of weft's; the rank goes on where main() would have
// returned, when the threads that it has made have ended. Not part of libweft.a.
//
// What pthread_cleanup_push() registers in programs of C, where nothing unwinds, is the rank's, too: the C library has one list for
// each of its threads, and ranks of a worker wait in between.
#include "process/threads/thread_end.hpp"

#include <pthread.h>
#include <threads.h>
#include <unwind.h>

#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "base/library_function.hpp"
#include "base/log.hpp"
#include "base/private_code.hpp"
#include "job/caller.hpp"
#include "process/life/running_program.hpp"
#include "process/threads/own_keys.h"
#include "sched/worker.hpp"

namespace weft::process {
namespace {

struct living_threads {
  std::mutex lock;
  std::unordered_map<const void*, reader_count<>> by_rank;
};
reader_count<>& living_of(const detail::job_rank& rank) {
  static living_threads& all = *new living_threads;  // Threads may outlive main().
  const std::lock_guard hold(all.lock);
  return all.by_rank[&rank];
}

// The run of the calling rank, on its own thread and in its main(); null elsewhere.
program_run* run_here() {
  return worker::caller() != nullptr && origin_of_this_thread().identity == nullptr
             ? run_of_caller()
             : nullptr;
}

void on_caught(_Unwind_Reason_Code, _Unwind_Exception*) {
  log_line("rank {} caught what pthread_exit() unwinds with, and did not throw it again",
           detail::number_of_caller());
  std::abort();
}

void await_threads() {
  worker& here = *worker::current();
  reader_count<>& living = living_of(*detail::state_of_caller());
  static constexpr wait_description description{.call = "pthread_exit"};
  here.wait_for_external([&] { return living.none() || here.is_unwinding(); }, description);
  here.check_stopped();
}

[[noreturn]] void end_of_main(program_run& run) {
  weft_destroy_values();
  if (is_forked_child()) std::exit(0);
  run.after_main = &await_threads;
  run.exit_status = 0;
  _longjmp(run.end, 1);
}

// Until the first frame of weft's behind those of the program.
_Unwind_Reason_Code leave_frame(int, _Unwind_Action actions, _Unwind_Exception_Class,
                                _Unwind_Exception*, _Unwind_Context* context, void* argument) {
  auto& run = *static_cast<program_run*>(argument);
  const auto place = static_cast<std::uintptr_t>(_Unwind_GetCFA(context));
  if (run.cleanups != nullptr && reinterpret_cast<std::uintptr_t>(run.cleanups) < place)
    _longjmp(reinterpret_cast<__jmp_buf_tag*>(run.cleanups->__cancel_jmp_buf), 1);
  if ((actions & _UA_END_OF_STACK) != 0) end_of_main(run);
  const bool is_wefts = is_code_of_weft(reinterpret_cast<const void*>(_Unwind_GetIP(context)));
  if (is_wefts && run.is_in_program) end_of_main(run);
  run.is_in_program = run.is_in_program || !is_wefts;
  return _URC_NO_REASON;
}

[[noreturn]] void unwind(program_run& run) {
  run.unwinding = {};
  run.unwinding.exception_cleanup = &on_caught;
  run.is_in_program = false;
  _Unwind_ForcedUnwind(&run.unwinding, &leave_frame, &run);
  end_of_main(run);
}

}  // namespace

counted_thread::counted_thread(const detail::job_rank* maker)
    : living_(maker != nullptr ? &living_of(*maker) : nullptr) {
  if (living_ != nullptr) living_->enter();
}

counted_thread::~counted_thread() {
  if (living_ == nullptr) return;
  living_->leave();
  const detail::maker_of_thread maker;
  if (maker.get() != nullptr) maker.get()->home->notify();
}

}  // namespace weft::process

extern "C" {

void pthread_exit(void* result) {
  if (weft::process::program_run* const run = weft::process::run_here(); run != nullptr)
    weft::process::unwind(*run);
  static auto* const next = weft::next_definition<void(void*)>("pthread_exit");
  next(result);
  __builtin_unreachable();
}

void thrd_exit(int result) {
  if (weft::process::program_run* const run = weft::process::run_here(); run != nullptr)
    weft::process::unwind(*run);
  static auto* const next = weft::next_definition<void(int)>("thrd_exit");
  next(result);
  __builtin_unreachable();
}

#define REGISTER(name)                                                                     \
  void name(__pthread_unwind_buf_t* place) {                                               \
    static auto* const next = weft::next_definition<void(__pthread_unwind_buf_t*)>(#name); \
    weft::process::program_run* const run = weft::process::run_here();                     \
    if (run == nullptr) return next(place);                                                \
    place->__pad[0] = run->cleanups;                                                       \
    run->cleanups = place;                                                                 \
  }
#define UNREGISTER(name)                                                                   \
  void name(__pthread_unwind_buf_t* place) {                                               \
    static auto* const next = weft::next_definition<void(__pthread_unwind_buf_t*)>(#name); \
    weft::process::program_run* const run = weft::process::run_here();                     \
    if (run == nullptr) return next(place);                                                \
    run->cleanups = static_cast<__pthread_unwind_buf_t*>(place->__pad[0]);                 \
  }
REGISTER(__pthread_register_cancel)
REGISTER(__pthread_register_cancel_defer)
UNREGISTER(__pthread_unregister_cancel)
UNREGISTER(__pthread_unregister_cancel_restore)

// A cleanup handler is over, and the next frames follow.
[[noreturn]] void __pthread_unwind_next(__pthread_unwind_buf_t* place) {
  if (weft::process::program_run* const run = weft::process::run_here(); run != nullptr) {
    run->cleanups = static_cast<__pthread_unwind_buf_t*>(place->__pad[0]);
    weft::process::unwind(*run);
  }
  static auto* const next =
      weft::next_definition<void(__pthread_unwind_buf_t*)>("__pthread_unwind_next");
  next(place);
  __builtin_unreachable();
}
}
