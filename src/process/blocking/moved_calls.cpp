// Calls of the kernel that would block a rank, in libweft.so: where other ranks of the worker are to go on, the call
// moves, not the rank. It is made on a blocking thread, while the rank waits in the one wait. Not part of
// libweft.a.
//
// Such a thread waits for one call at a time, under a lock of its own: `work` is the call from the moment it is handed over
// until the thread has told the rank's worker of its end. A rank that does not wait for the end (its job stops, or a
// handler of a signal is to interrupt the call) sends the thread a signal that weft keeps for itself. Its handler ends
// the call wherever between the last look at `cancelled` and the kernel the thread is: it goes on behind the call, as
// if the kernel had said EINTR. So nothing of the rank's memory is written once weft_move() has returned.
#include "process/blocking/moved_calls.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/blocked_signals.hpp"
#include "base/forked_child.hpp"
#include "base/format.hpp"
#include "base/kept_errno.hpp"
#include "base/kernel.hpp"
#include "base/library_function.hpp"
#include "base/log.hpp"
#include "base/private_code.hpp"
#include "job/caller.hpp"
#include "job/face.hpp"
#include "process/files/descriptors.h"
#include "process/life/caller.h"
#include "process/life/program.h"
#include "process/life/thread_locals.hpp"
#include "process/signals/rank_signals.hpp"
#include "process/signals/signal_hooks.hpp"
#include "process/signals/signals.h"
#include "process/threads/affinity.hpp"
#include "sched/worker.hpp"
#include "sync/published.hpp"
#include "trace/trace.hpp"

// The C library leaves one signal less to programs.
extern "C" int __libc_allocate_rtsig(int high) noexcept;

// `cancelled`, the number, six arguments. The kernel's result; -EINTR when `*cancelled` is not 0, or the handler has
// led it to weft_cancelled_call.
extern "C" long weft_cancellable_call(const std::uint32_t* cancelled, long number,
                                      const long* arguments);
extern "C" const char weft_call_begins[], weft_call_ended[], weft_cancelled_call[];

#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .globl weft_cancellable_call, weft_call_begins, weft_call_ended, weft_cancelled_call
  .hidden weft_cancellable_call, weft_call_begins, weft_call_ended, weft_cancelled_call
  .type weft_cancellable_call, @function
weft_cancellable_call:
  .cfi_startproc
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  movq %rdi, %rbx
  movq %rsi, %rax
  movq %rdx, %r11
  movq (%r11), %rdi
  movq 8(%r11), %rsi
  movq 16(%r11), %rdx
  movq 24(%r11), %r10
  movq 32(%r11), %r8
  movq 40(%r11), %r9
weft_call_begins:
  cmpl $0, (%rbx)
  jne weft_cancelled_call
  syscall
weft_call_ended:
  popq %rbx
  .cfi_remember_state
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  ret
  .cfi_restore_state
weft_cancelled_call:
  movq $-4, %rax
  jmp weft_call_ended
  .cfi_endproc
  .size weft_cancellable_call, . - weft_cancellable_call
  .popsection
)");
#elif defined(__aarch64__)
asm(R"(
  .pushsection .text
  .globl weft_cancellable_call, weft_call_begins, weft_call_ended, weft_cancelled_call
  .hidden weft_cancellable_call, weft_call_begins, weft_call_ended, weft_cancelled_call
  .type weft_cancellable_call, %function
weft_cancellable_call:
  .cfi_startproc
  mov x9, x0
  mov x8, x1
  mov x10, x2
  ldp x0, x1, [x10]
  ldp x2, x3, [x10, #16]
  ldp x4, x5, [x10, #32]
weft_call_begins:
  ldr w11, [x9]
  cbnz w11, weft_cancelled_call
  svc #0
weft_call_ended:
  ret
weft_cancelled_call:
  mov x0, #-4
  ret
  .cfi_endproc
  .size weft_cancellable_call, . - weft_cancellable_call
  .popsection
)");
#endif

namespace weft::process {
namespace {

static_assert(EINTR == 4);

struct moved_call {
  const weft_moved_call& what;
  worker& home;
  const int rank;
  std::uint32_t cancelled = 0;  // Read by the instructions above. Written by the rank alone.
  long result = 0;
  bool is_pipe_broken = false;  // The kernel has sent SIGPIPE on its account.
  published<bool> is_over;
};

class blocking_thread {
 public:
  // Throws weft::error when there is no thread.
  blocking_thread();
  // Called by a rank, of an idle thread. The call is over when its is_over says so; then, or before, end() is called.
  void begin(moved_call& call) noexcept;
  // Returns when the thread has done with the call. Where it is not over it is cancelled.
  void end(moved_call& call) noexcept;

 private:
  static void* run(void* self) noexcept;
  void serve() noexcept;

  std::mutex lock_;
  std::condition_variable wake_;
  moved_call* work_ = nullptr;
  int thread_ = 0;
};

constinit std::atomic<void (*)(ucontext_t&)> relay{
    nullptr};  // Relaxed: set before the signal is sent.

thread_local constinit const moved_call* call_here = nullptr;

void on_own_signal(int, siginfo_t*, void* interrupted) {
  if (call_here == nullptr) {
    if (auto* const to = relay.load(std::memory_order_relaxed))
      to(*static_cast<ucontext_t*>(interrupted));
    return;
  }
  if (call_here->cancelled == 0) return;
  auto& registers = static_cast<ucontext_t*>(interrupted)->uc_mcontext;
#if defined(__x86_64__)
  auto& at = registers.gregs[REG_RIP];
#else
  auto& at = registers.pc;
#endif
  const auto begins = reinterpret_cast<std::uintptr_t>(weft_call_begins);
  const auto ended = reinterpret_cast<std::uintptr_t>(weft_call_ended);
  const auto place = static_cast<std::uintptr_t>(at);
  if (place >= begins && place < ended)
    at = static_cast<std::remove_reference_t<decltype(at)>>(
        reinterpret_cast<std::uintptr_t>(weft_cancelled_call));
}

bool handle_own_signal() {
  struct sigaction action {};
  action.sa_sigaction = &on_own_signal;
  // A rank's handler may leave it by a jump.
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  return next_definition<decltype(::sigaction)>("sigaction")(own_signal(), &action, nullptr) == 0;
}

void handle_own_signal_once() {
  [[maybe_unused]] static const bool is_handled = handle_own_signal();
}

constexpr std::size_t blocking_stack_bytes =
    128 * 1024;  // Its thread-local variables are there, too.

blocking_thread::blocking_thread() {
  handle_own_signal_once();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, blocking_stack_bytes + room_for_thread_locals());
  const cpu_set_t cpus = cpus_of_new_thread();
  pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
  // The C library's own: it is no thread of the rank.
  static auto* const create = next_definition<decltype(::pthread_create)>("pthread_create");
  pthread_t made;
  const blocked_signals none;
  const int failed = create(&made, &attributes, &blocking_thread::run, this);
  pthread_attr_destroy(&attributes);
  if (failed != 0) throw error("there is no thread");
}

void* blocking_thread::run(void* self) noexcept {
  pthread_setname_np(pthread_self(), "weft-blocking");
  // What the kernel keeps for a worker's thread may be a rank's own.
  static_cast<void>(::unshare(CLONE_FS));
  sigset_t mask;
  sigfillset(&mask);
  sigdelset(&mask, own_signal());
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  static_cast<blocking_thread*>(self)->serve();
  return nullptr;
}

// One that is pending for the thread, which has it blocked.
bool take_own_signal(int number) noexcept {
  const std::uint64_t wanted = std::uint64_t{1} << (number - 1);
  const timespec none{};
  return ::syscall(SYS_rt_sigtimedwait, &wanted, nullptr, &none, sizeof wanted) == number;
}

void blocking_thread::serve() noexcept {
  std::unique_lock hold(lock_);
  thread_ = gettid();
  for (;;) {
    wake_.wait(hold, [this] { return work_ != nullptr; });
    moved_call& call = *work_;
    call_here = &call;
    hold.unlock();
    long result = 0;
    do  // A signal that is late for the call before may come now.
      result = weft_cancellable_call(&call.cancelled, call.what.number, call.what.arguments);
    while (result == -EINTR && __atomic_load_n(&call.cancelled, __ATOMIC_RELAXED) == 0);
    if (result >= 0 && (call.what.traits & weft_call_makes_descriptor) != 0)
      weft_note_owner(static_cast<int>(result), call.rank);
    if (result == -EPIPE) call.is_pipe_broken = take_own_signal(SIGPIPE);
    hold.lock();
    call_here = nullptr;
    work_ = nullptr;
    call.result = result;
    call.is_over.publish(true);
    call.home.notify();
  }
}

void blocking_thread::begin(moved_call& call) noexcept {
  {
    const std::lock_guard hold(lock_);
    work_ = &call;
  }
  wake_.notify_one();
}

void blocking_thread::end(moved_call& call) noexcept {
  std::unique_lock hold(lock_);
  if (work_ != &call) return;
  // One signal is enough: it comes before the thread has looked at `cancelled`, or leads it out of the call. More would
  // lie on each other.
  __atomic_store_n(&call.cancelled, 1, __ATOMIC_RELAXED);
  if (thread_ != 0) ::syscall(SYS_tgkill, getpid(), thread_, own_signal());
  while (work_ == &call) {
    // This takes long only for a call that the kernel does not interrupt: of a disk that hangs, say.
    hold.unlock();
    sleep_in_kernel(std::chrono::microseconds(100));
    hold.lock();
  }
}

// Blocking threads are never many more than ranks that were blocked at one time, and stay.
struct idle_threads {
  std::mutex lock;
  std::vector<blocking_thread*> all;

  // Null when there is no thread for another.
  blocking_thread* take() noexcept {
    {
      const std::lock_guard hold(lock);
      if (!all.empty()) {
        blocking_thread* const one = all.back();
        all.pop_back();
        return one;
      }
    }
    try {
      return std::make_unique<blocking_thread>().release();
    } catch (const std::exception&) {
      return nullptr;
    }
  }
  void give_back(blocking_thread* one) noexcept {
    const std::lock_guard hold(lock);
    all.push_back(one);
  }
};
idle_threads& idle() {
  static idle_threads& all = *new idle_threads;
  return all;
}

struct words_of_call final : detail::wait_words {
  const weft_moved_call& call;
  explicit words_of_call(const weft_moved_call& of) noexcept : call(of) {}
  [[nodiscard]] std::string text() const override {
    return call.descriptor < 0 ? ", a call of the system"
                               : formatted(", descriptor {}", call.descriptor);
  }
};

bool may_move(const void* from) {
  return !worker::current()->running_here().is_urgent && weft_is_ranks_code(from) != 0 &&
         !is_forked_child();
}

// Whether the kernel begins this call again after a handler that lets it.
bool may_restart(const weft_moved_call& call) noexcept {
  switch (call.number) {
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_semtimedop:
      return (call.traits & weft_call_restarts) != 0;
    default:
      return true;
  }
}

}  // namespace

int own_signal() noexcept {
  static const int number = __libc_allocate_rtsig(0);  // The highest.
  return number;
}

void accept_own_signal() noexcept {
  handle_own_signal_once();
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, own_signal());
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

void set_relay(void (*to)(ucontext_t& interrupted)) noexcept {
  relay.store(to, std::memory_order_relaxed);
}

}  // namespace weft::process

extern "C" {

int weft_may_move(const void* from) {
  if (weft::worker::caller() == nullptr) return 0;
  // A handler of a signal is to end the call, perhaps.
  const weft::process::signal_hooks* const signals = weft::process::signals_of_ranks();
  if (!weft::worker::current()->has_others() && (signals == nullptr || !signals->has_own()))
    return 0;
  if (signals != nullptr && signals->is_in_the_middle()) return 0;
  return weft::process::may_move(from) ? 1 : 0;
}

long weft_move(const weft_moved_call* what) {
  weft::worker& here = *weft::worker::current();
  weft::process::rank_signals* const signals = weft::process::signals_of_caller();
  for (;;) {
    weft::process::blocking_thread* const by = weft::process::idle().take();
    // The other ranks wait.
    if (by == nullptr) {
      const std::uint32_t never = 0;
      return weft_cancellable_call(&never, what->number, what->arguments);
    }
    weft::process::moved_call call{
        .what = *what, .home = here, .rank = weft::detail::number_of_caller(), .is_over = {}};
    {
      const weft::process::handlers_kept_back kept(signals);
      by->begin(call);
      const weft::shared_section inside(here);
      const weft::process::words_of_call words(*what);
      const weft::wait_description description{
          .call = what->name,
          .context = weft::wait_description::in_words,
          .subject = static_cast<const weft::detail::wait_words*>(&words),
          .ends_by_itself = true};
      const weft::trace_span traced(weft::trace_kind::sleep, here.number(), 0, what->name);
      here.wait_for_external(
          [&] {
            return call.is_over.hint() || here.is_unwinding() ||
                   (signals != nullptr && weft::process::has_handlers_to_run(*signals));
          },
          description);
      by->end(call);
    }
    weft::process::idle().give_back(by);
    if (call.is_pipe_broken) weft_is_sent_sigpipe();
    if ((what->traits & weft_call_leaves_handlers) != 0) return call.result;
    const bool restarts = signals == nullptr || weft::process::run_handlers(*signals);
    if (call.result != -EINTR) return call.result;
    weft_check_stopped((what->traits & weft_call_is_noexcept) != 0);
    if (signals == nullptr || !restarts || !weft::process::may_restart(*what)) return call.result;
  }
}

int weft_can_wait(int descriptor) {
  if (weft_is_file(descriptor) != 0) return 0;
  const weft::kept_errno kept;
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) return 0;
  constexpr unsigned memory = 1;  // /dev/null, /dev/zero, /dev/urandom and their kin.
  if (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode) || S_ISBLK(found.st_mode) ||
      (S_ISCHR(found.st_mode) && major(found.st_rdev) == memory)) {
    weft_note_file(descriptor, 1);
    return 0;
  }
  const long flags = ::syscall(SYS_fcntl, descriptor, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) == 0 ? 1 : 0;
}

int weft_may_wait(int error) {
  switch (error) {
    case EAGAIN:
    case EOPNOTSUPP:
    case ENOSYS:  // A kernel, or a container's rules, that do not know this way of asking.
    case EPERM:
    case EINVAL:
      return 1;
    default:
      return 0;
  }
}

long weft_write_moved(int descriptor, const void* bytes, unsigned long size) {
  if (weft_can_wait(descriptor) == 0) return ::syscall(SYS_write, descriptor, bytes, size);
  const int saved = errno;
  const iovec part{const_cast<void*>(bytes), size};
  const long put = ::syscall(SYS_pwritev2, descriptor, &part, 1L, -1L, -1L, RWF_NOWAIT);
  const bool waits = put < 0 && weft_may_wait(errno) != 0;
  if (put < 0 && errno == EPIPE) weft_pipe_is_broken();
  if (put == static_cast<long>(size) || (put < 0 && !waits)) return put;
  errno = saved;
  const long done = std::max(put, 0L);
  const weft_moved_call rest{
      "write",
      descriptor,
      0,
      SYS_write,
      {descriptor, reinterpret_cast<long>(static_cast<const char*>(bytes) + done),
       static_cast<long>(size) - done}};
  const long written = weft_move(&rest);
  if (written >= 0 || done > 0) return done + std::max(written, 0L);
  errno = static_cast<int>(-written);
  return -1;
}

int weft_may_rest(void) {
  return weft::worker::caller() != nullptr && !weft::process::is_in_middle_of_code() &&
                 !weft::worker::current()->running_here().is_urgent && !weft::is_forked_child()
             ? 1
             : 0;
}
}
