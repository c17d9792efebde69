// Threads between which the workers of a job move. docs/protocols/moving.md.
//
// There are more workers than threads. A worker is run by one thread at a time; while nobody runs it, all its fibers are
// suspended. A thread serves the workers that are its own, in turn, and takes one that waits for a thread that is busy
// with something else. A worker is put down only in its wait, by the fiber that runs the wait loop, and goes on there.
//
// A job whose workers stay on their threads has none of this: worker::place_ is null.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/limits.hpp"
#include "fiber/context.hpp"
#include "profile/worker_accounts.hpp"
#include "sched/fiber.hpp"
#include "sync/runner_word.hpp"
#include "sync/word_list.hpp"
#include "trace/worker_events.hpp"

namespace weft {

class scheduler;
class worker;
struct moving_thread;

// Where a worker stands.
struct alignas(padding_bytes) worker_place {
  worker* of = nullptr;
  // Whoever is in it owns the worker's plain state and the fields below the hints. Its home, whose worker it is, changes while
  // the worker is run, to the thread that runs it.
  kept_runner<> runner;

  // Hints, read by every thread.
  std::atomic<std::uint64_t> wakes_at_ns{
      0};  // Of a parked one: when it goes on by itself. 0: never.
  // Of a parked one: the word that its device rings at, which is always the same; null: whatever comes wakes the worker.
  std::atomic<const std::atomic<std::uint32_t>*> bell{nullptr};
  std::atomic<std::uint32_t> bell_value{0};
  std::atomic<bool> bell_is_shared{false};
  // Of one that rests: it has to run to learn whether it can go on, since it has a device or waits for a condition that may act.
  // It has done so last at this time.
  std::atomic<bool> needs_passes{false};
  std::atomic<std::uint64_t> passed_at_ns{0};
  std::atomic<bool> has_ended{false};

  moving_thread* on = nullptr;       // Null while nobody runs it.
  fiber* put_down_in = nullptr;      // The fiber that runs its wait loop; first the root.
  const waiter* rests_in = nullptr;  // The wait in which it was put down; null: it can go on.
  bool has_parked = false;           // It was put down parked.
  // While tracing(), while it has no thread.
  worker_events events;
  profile::worker_accounts accounts;
  std::uint64_t put_down_ticks = 0;
  bool is_to_park = false;  // Its thread wants to sleep.
  // It goes on for a pass alone, and then had made so many.
  bool only_looks = false;
  std::uint64_t passes_then = 0;
};

// A thread that runs workers.
struct alignas(padding_bytes) moving_thread {
  int index = 0;
  bool is_spare = false;  // It runs what the lookout gives it, and has no workers of its own.

  call_word<> called;
  // Hints. `runs`: the worker, -1 for none. `passes` changes whenever a worker begins or rests. `is_wanted`: other
  // workers have waited for the thread for a while. `number`: the kernel's.
  std::atomic<int> runs{-1};
  std::atomic<std::uint64_t> passes{0};
  std::atomic<bool> is_wanted{false};
  std::atomic<int> number{0};
  // Of a spare thread: set before it is called, and cleared when it has done with it.
  std::atomic<worker_place*> given{nullptr};

  // The thread's own.
  fiber own;  // Its flow of control between two workers.
  thread_state state{};
  worker_place* chosen = nullptr;  // It is in this one's runner word already.
  int next = 0;                    // The place at which it looks first.
  int next_look = 0;               // The same for those that need passes.
  unsigned choices = 0;
  std::uint64_t idle_since_ns = 0;
  bool is_free = false;  // While tracing(): it has no worker to run.
  word_list words;
  std::vector<const worker_place*> slept_at;

  // Who it is in a runner word.
  [[nodiscard]] std::uint32_t runner() const noexcept {
    return static_cast<std::uint32_t>(index) + 1;
  }
};

class moving_threads {
 public:
  // Each worker of `of` gets a place. Called before anything runs.
  moving_threads(scheduler& of, int threads);
  ~moving_threads();
  moving_threads(const moving_threads&) = delete;
  moving_threads& operator=(const moving_threads&) = delete;

  // Returns when every worker has ended. Throws weft::error when there are no threads for it; nothing has run then.
  void run();

  // --- Called by a worker, on its fiber that waits or yields, not in a chunk of a loop ----------------------------
  enum class rested : std::uint8_t {
    alone,       // Nobody else needs the thread; the worker has kept it.
    was_away,    // Others have had it. The worker may be on another thread now.
    is_to_park,  // The same, and the worker is to park if it has nothing to do.
  };
  // The worker has found nothing to do; or, without a wait, its fiber could go on and lets others have the thread.
  // `has_worked`: it has done something since it rested last. `has_slept`: it has slept in this wait already, for nothing.
  [[nodiscard]] rested rest(worker& here, const waiter* w, bool has_worked,
                            bool has_slept = false) noexcept;
  // Whether other workers have waited long for the thread of `here`.
  [[nodiscard]] static bool is_wanted(const worker& here) noexcept;
  // From now on the worker goes on on the thread on which it returns, one of its own, and on no other; until as many calls of
  // may_move(). Not called in a chunk of a loop.
  static void stay(worker& here) noexcept;
  static void may_move(worker& here) noexcept;
  // Called by any thread: for good, and on the thread that runs `of` next.
  static void stay_from_next_wait(worker& of) noexcept;
  // The worker has parked. Returns when somebody has woken it or the time is over; negative: no limit.
  void sleep(worker& here, std::int64_t timeout_ns) noexcept;

 private:
  struct seen {
    std::uint64_t passes_then = 0;
    int ticks = 0;  // How many looks ago it was somewhere else.
  };

  static void root_main(void* place);
  void serve(moving_thread& me) noexcept;
  void serve_as_spare(moving_thread& me) noexcept;
  void begin(moving_thread& me) noexcept;
  // While tracing(): what the thread records is the worker's from now on, and the thread's own again.
  static void begin_records(worker_place& p, int moved_to) noexcept;
  static void end_records(worker_place& p) noexcept;
  static void note_free(moving_thread& me, bool is_free) noexcept;
  void go_on(moving_thread& me, worker_place& p) noexcept;
  static void put_down(worker& here) noexcept;
  static void put_down_unlocked(worker& here) noexcept;
  void send_elsewhere(worker_place& p) noexcept;
  void note_end() noexcept;

  [[nodiscard]] std::uint64_t looks_for_ns(bool has_slept) const noexcept;
  [[nodiscard]] bool take_if_it_can_go_on(worker_place& p, std::uint32_t runner) noexcept;
  [[nodiscard]] bool take_to_look(worker_place& p, std::uint32_t runner, std::uint64_t now,
                                  std::uint64_t after_ns) noexcept;
  [[nodiscard]] worker_place* choose(moving_thread& me) noexcept;
  [[nodiscard]] worker_place* choose_own(moving_thread& me) noexcept;
  [[nodiscard]] worker_place* choose_to_look(moving_thread& me, std::uint64_t now) noexcept;
  [[nodiscard]] worker_place* choose_others(const moving_thread& me) noexcept;
  void idle(moving_thread& me) noexcept;
  void sleep_idle(moving_thread& me) noexcept;
  [[nodiscard]] bool is_over() const noexcept {
    return ended_.load(std::memory_order_relaxed) == static_cast<int>(places_.size());
  }

  void look_out();
  void look();
  [[nodiscard]] bool call_an_idle_one() noexcept;
  [[nodiscard]] bool has_held_long(const moving_thread& t, const seen& s) const;
  [[nodiscard]] bool give_to_spare(worker_place& p);

  scheduler& owner_;
  const int count_;
  std::vector<worker_place> places_;    // By worker.
  std::vector<moving_thread> threads_;  // As many as cores.
  std::atomic<int> ended_{0};           // Workers.
  std::atomic<int> spares_at_work_{0};

  std::atomic<bool> lookout_rests_{false};  // It looks when it is called.

  // The lookout's.
  std::deque<moving_thread> spares_;
  std::vector<seen> seen_;
  std::vector<std::thread> started_;
  std::mutex lock_;
  std::condition_variable changed_;
  bool ends_ = false;
};

// While it lives, the worker that the calling thread runs, if any, goes on on the same thread after each wait.
class kept_on_thread {
 public:
  explicit kept_on_thread(worker* here) noexcept;
  ~kept_on_thread();
  kept_on_thread(const kept_on_thread&) = delete;
  kept_on_thread& operator=(const kept_on_thread&) = delete;

  // Also when this has gone. In a chunk of a loop it is the worker of the rank whose loop it is, which other threads may run
  // meanwhile: it stays where it goes on. False: workers stay anyway.
  bool keep_for_good() noexcept;

 private:
  worker* const here_;  // Null: it stays anyway.
  const bool is_kept_;  // False in a chunk, where it keeps its thread.
};

}  // namespace weft
