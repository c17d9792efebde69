#include "mpi/io/blocking_operations.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "base/blocked_signals.hpp"
#include "base/forked_child.hpp"
#include "base/format.hpp"
#include "base/library_function.hpp"
#include "job/face.hpp"
#include "sync/published.hpp"
#include "trace/trace.hpp"

namespace weft::mpi {

class blocking_operation {
 public:
  blocking_operation(worker& home, std::function<void()> work)
      : home_(home), work_(std::move(work)) {}

  // Called by a thread of the pool.
  void run() noexcept {
    work_();
    work_ = nullptr;  // What it holds goes before the rank goes on, which has it, too.
    const std::lock_guard hold(ending_);
    is_over_.publish(true);
    home_.notify();
  }
  void await(const wait_description& description) {
    home_.wait_for_external([this] { return is_over_.hint(); }, description);
    // The thread has used the worker for the last time, and what the work did is seen.
    const std::lock_guard hold(ending_);
    (void)is_over_.value();
  }

 private:
  worker& home_;
  std::function<void()> work_;
  published<bool> is_over_;
  std::mutex ending_;
};

namespace {

// The CPUs of the process before workers were pinned.
const cpu_set_t cpus_of_process = [] {
  cpu_set_t all;
  CPU_ZERO(&all);
  ::sched_getaffinity(0, sizeof all, &all);
  return all;
}();

// Detached, with all signals blocked, on the CPUs of the process once it has called leave_worker().
bool start_thread(void* (*body)(void*), void* argument) noexcept {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The C library's own: it is no thread of a rank.
  auto* create = next_definition<decltype(::pthread_create)>("pthread_create");
  if (create == nullptr) create = &::pthread_create;
  pthread_t made;
  const blocked_signals none;
  const bool is_made = create(&made, &attributes, body, argument) == 0;
  pthread_attr_destroy(&attributes);
  return is_made;
}
void leave_worker(const char* name) noexcept {
  pthread_setname_np(pthread_self(), name);
  ::sched_setaffinity(0, sizeof cpus_of_process, &cpus_of_process);
}

// Threads are made as they are needed, and stay.
class file_threads {
 public:
  // False when there is no thread at all.
  bool add(std::shared_ptr<blocking_operation> one) {
    const std::lock_guard hold(lock_);
    if (idle_ <= static_cast<int>(waiting_.size()) && threads_ < file_threads_max && start())
      ++threads_, ++idle_;
    if (threads_ == 0) return false;
    waiting_.push_back(std::move(one));
    wake_.notify_one();
    return true;
  }

 private:
  static void* run(void* self) noexcept {
    leave_worker("weft-files");
    // Files that it makes have the mode that it is told, whatever mask the process has.
    if (::unshare(CLONE_FS) == 0) ::syscall(SYS_umask, 0);
    static_cast<file_threads*>(self)->serve();
    return nullptr;
  }
  bool start() noexcept { return start_thread(&file_threads::run, this); }
  [[noreturn]] void serve() noexcept {
    std::unique_lock hold(lock_);
    for (;;) {
      wake_.wait(hold, [this] { return !waiting_.empty(); });
      const std::shared_ptr<blocking_operation> one = std::move(waiting_.front());
      waiting_.pop_front();
      --idle_;
      hold.unlock();
      one->run();
      hold.lock();
      ++idle_;
    }
  }

  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<blocking_operation>> waiting_;
  int threads_ = 0;
  int idle_ = 0;  // Those that wait, or are on their way to.
};

// Never destroyed: its threads may be there until the end of the process.
file_threads& threads() {
  static file_threads& all = *new file_threads;
  return all;
}

void* run_alone(void* given) noexcept {
  const std::unique_ptr<std::shared_ptr<blocking_operation>> one(
      static_cast<std::shared_ptr<blocking_operation>*>(given));
  leave_worker("weft-meeting");
  (*one)->run();
  return nullptr;
}
bool start_alone(const std::shared_ptr<blocking_operation>& one) {
  auto given = std::make_unique<std::shared_ptr<blocking_operation>>(one);
  if (!start_thread(&run_alone, given.get())) return false;
  (void)given.release();
  return true;
}

struct words_of_file final : detail::wait_words {
  const char* kind;
  const std::string& name;
  explicit words_of_file(const blocking_purpose& of) noexcept : kind(of.kind), name(of.file) {}
  [[nodiscard]] std::string text() const override {
    return formatted(", {} \"{}\"", kind, printable(name));
  }
};

}  // namespace

// By system calls: the C library's functions may be a rank's own.
unpinned_thread::unpinned_thread() noexcept {
  CPU_ZERO(&before_);
  ::syscall(SYS_sched_getaffinity, 0, sizeof before_, &before_);
  ::syscall(SYS_sched_setaffinity, 0, sizeof cpus_of_process, &cpus_of_process);
}
unpinned_thread::~unpinned_thread() {
  ::syscall(SYS_sched_setaffinity, 0, sizeof before_, &before_);
}

std::shared_ptr<blocking_operation> begin_blocking(state& me, const blocking_purpose& what,
                                                   std::function<void()> work) {
  if (what.in_memory || is_forked_child()) return nullptr;
  auto begun = std::make_shared<blocking_operation>(*me.rank.home, std::move(work));
  const bool is_begun = what.alone ? start_alone(begun) : threads().add(begun);
  return is_begun ? begun : nullptr;
}

void await_blocking(state& me, const blocking_purpose& what, blocking_operation& begun) {
  const words_of_file words(what);
  const wait_description description{.call = what.call,
                                     .context = wait_description::in_words,
                                     .subject = static_cast<const detail::wait_words*>(&words),
                                     .ends_by_itself = true};
  const trace_span traced(trace_kind::sleep, me.rank.number, 0, what.call);
  begun.await(description);
}

void run_blocking(state& me, const blocking_purpose& what, const std::function<void()>& work) {
  std::shared_ptr<blocking_operation> begun;
  if (me.rank.home->has_others()) begun = begin_blocking(me, what, work);
  if (begun == nullptr) return work();
  await_blocking(me, what, *begun);
}

}  // namespace weft::mpi
