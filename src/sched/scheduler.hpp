// The workers of one process, and what they share.
#pragma once
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/pause.hpp"
#include "sched/worker.hpp"
#include "sync/abandonable_count.hpp"
#include "sync/lifetime_count.hpp"
#include "sync/published.hpp"

namespace weft {

class moving_threads;

// The signal that makes a thread record its stack (runtime/thread_calls.hpp). Its default action is to be ignored, so
// one that comes late does nothing.
inline constexpr int stack_signal = SIGURG;

enum class steal_mode : std::uint8_t { random, near, sticky };

struct scheduler_options {
  std::vector<int> cores;  // One worker for each; the core to pin to, or -1.
  std::vector<int> nodes;  // The NUMA node of each worker.
  std::size_t stack_bytes = 256 * 1024;
  std::optional<std::uint64_t> spin_ns;  // Before a sleep; none: spin_limit.hpp decides.
  bool is_crowded =
      false;  // There are more workers here, with those of other processes, than cores.
  steal_mode steal = steal_mode::random;
  std::optional<std::uint64_t> seed;
  int threads = 0;  // Fewer than workers, which move between them; 0: a thread for each worker.
  bool always_moves = false;  // They move at every wait that finds nothing: for tests.
};

// How a worker that has found nothing spins before it sleeps: for how long (spin_limit.hpp), and how.
struct spinning {
  std::uint64_t at_least_ns;
  std::uint64_t at_most_ns;
  std::uint32_t rounds_per_clock;  // How often it looks at the clock.
  // Whether the worker gives its core away after each round, since the sender of what it waits for may need the core.
  bool gives_core_up;

  [[nodiscard]] static spinning with(const scheduler_options& options) noexcept;
};

class scheduler {
 public:
  using mail_handler = void (*)(worker& here, record_header header, const std::byte* payload);
  static constexpr std::size_t mail_kinds = 16;

  explicit scheduler(const scheduler_options& options);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  [[nodiscard]] int worker_count() const noexcept { return static_cast<int>(workers_.size()); }
  [[nodiscard]] worker& at(int index) noexcept {
    return *workers_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] const scheduler_options& options() const noexcept { return options_; }

  // Called before run(): `handler` gets the records of this kind. It runs on the receiving worker, inside its waits,
  // and does not wait.
  void set_handler(std::uint8_t kind, mail_handler handler) noexcept { handlers_[kind] = handler; }
  // Called before run(). `observer` outlives it. Rest is a deadlock, unless another process brings work.
  void set_quiescence_observer(quiescence_observer& observer) noexcept {
    quiescence_observer_ = &observer;
  }
  // Called by a worker that becomes shared: threads that ranks have made may bring work from now on.
  void note_attached() noexcept { attached_threads_.store(true, std::memory_order_relaxed); }
  // Called by any thread, hints: whether a thread that a rank has made lives, and how many of them wait in calls of
  // weft.
  [[nodiscard]] bool has_attached_threads() const noexcept {
    return !no_attached_since(made_->lived.ended());
  }
  [[nodiscard]] std::size_t waiting_attached() const noexcept {
    return waiting_attached_.load(std::memory_order_relaxed);
  }
  // The gate through which a thread that is about to be made enters workers. run() returns when it is closed and nobody
  // is inside. The thread counts as living while a copy of the pointer exists.
  [[nodiscard]] std::shared_ptr<gate> way_in_of_new_thread() const;
  // Called by any thread, a hint: fibers that have not ended.
  [[nodiscard]] std::uint64_t living() const noexcept { return living_.left(); }
  [[nodiscard]] bool has_ended() const noexcept {
    return living_.left() == 0;  // The number alone: somebody is told soon enough.
  }
  // Called before run(). Each worker calls `watcher` when one of its fibers begins to wait, on that fiber. Every wait
  // then takes the slow path.
  using wait_watcher = void (*)(worker& here, const wait_description& description);
  void set_wait_watcher(wait_watcher watcher) noexcept;
  // Called after run(): delivers the mail that nobody has looked at.
  void deliver_rest();
  // Keeps run() from returning when all fibers have ended, until release(). Called once, before run().
  void hold() noexcept {
    living_.expect_another();
    held_ = 1;
  }
  void release() noexcept { count_out(); }
  [[nodiscard]] bool fibers_have_ended() const noexcept { return living_.at_most(held_); }

  // Called by a worker when work of its source begins and ends: meanwhile run() does not return.
  void expect_work() noexcept { living_.expect_another(); }
  void end_work() noexcept { count_out(); }
  // The same for work that a network ends, perhaps on another worker, and that may never end once the job stops: a stop does
  // not wait for it.
  void expect_network_work() noexcept {
    expect_work();
    if (!network_work_.begin()) end_work();
  }
  void end_network_work() noexcept {
    if (network_work_.end()) end_work();
  }

  // Pointers that the scheduler only keeps: for handlers of mail, and what its fibers are parts of.
  void set_user_data(void* user_data) noexcept { user_data_ = user_data; }
  [[nodiscard]] void* user_data() const noexcept { return user_data_; }
  void set_job(void* job) noexcept { job_ = job; }
  [[nodiscard]] void* job() const noexcept { return job_; }

  // Runs until every fiber has ended; the calling thread waits.
  void run();

  // Called by any thread. Once all workers have acknowledged the stop in a wait, no worker reads memory of another's
  // fibers any more, and every wait with may_stop throws job_stopped. docs/protocols/stopping.md.
  void request_stop() noexcept;
  [[nodiscard]] bool stopping() const noexcept { return stop_.value(); }

  // Called by any thread that is no worker: `collect` runs once on every worker, in its next pass, on one at a time.
  // Returns false when some are missing and none has come to a pass for `pass_ns_max`.
  static constexpr std::uint64_t pass_ns_max = 500'000'000;
  bool on_every_worker(const std::function<void(worker&)>& collect);

  // Called now and then by the monitor. If all workers are parked it wakes one, which looks again for a deadlock: a
  // count of parked workers that was too low for a moment can hide one. Else it wakes thieves for loops whose owners
  // have not woken any (docs/protocols/stealing.md).
  void look_again() noexcept;

  // Called by any thread, a hint: whether `is_such` holds for the oldest record from some worker to worker `index`.
  bool any_mail(int index, const std::function<bool(record_header)>& is_such);

  // Called by any thread: wakes up to `count` parked workers that may steal, for a loop of worker `owner`.
  void wake_thieves(int owner, int count) noexcept;
  // Called by any thread, but not in signal handlers: each worker's next pass calls hooks.look.
  void look_for_calls() noexcept { interrupt_workers(); }
  [[nodiscard]] bool any_parked() const noexcept { return parked_.any(); }

 private:
  friend class worker;
  friend class moving_threads;

  void run_bound();
  void interrupt_workers() noexcept;
  void count_out() noexcept;
  // The first look comes before a worker parks, the second after it was the last to park.
  [[nodiscard]] quiescence_look look_before_parking() const noexcept {
    return {made_->lived.ended(), timers_.ended()};
  }
  [[nodiscard]] bool no_attached_since(std::uint64_t ended) const noexcept {
    return !attached_threads_.load(std::memory_order_relaxed) || made_->lived.none_since(ended);
  }
  [[nodiscard]] bool none_since(const quiescence_look& look) const noexcept {
    return no_attached_since(look.threads_ended) && timers_.none_since(look.timers_ended);
  }
  // Called by each worker in a stop, when all have acknowledged it.
  void abandon_network_work() noexcept;
  [[nodiscard]] bool has_surplus(int index);

  scheduler_options options_;
  const spinning spinning_;
  std::array<mail_handler, mail_kinds> handlers_{};
  quiescence_observer* quiescence_observer_ = nullptr;
  wait_watcher watcher_ = nullptr;
  void* user_data_ = nullptr;
  void* job_ = nullptr;
  std::vector<std::unique_ptr<worker>> workers_;
  std::vector<std::thread> threads_;
  std::unique_ptr<moving_threads> moving_;  // Null: each worker stays on its thread.

  join_count<> living_;               // Fibers, work of sources, and one more after hold().
  abandonable_count<> network_work_;  // A part of these.
  std::uint64_t held_ = 0;            // How many hold() has added; constant while workers run.
  alignas(padding_bytes) parked_count<> parked_;
  lifetime_count<> timers_;  // Fibers that wait for a time: parked workers are no deadlock.
  std::atomic<bool> attached_threads_{false};
  std::atomic<std::size_t> waiting_attached_{0};
  struct threads_of_ranks {
    gate way_in;
    lifetime_count<> lived;
  };
  const std::shared_ptr<threads_of_ranks> made_ = std::make_shared<threads_of_ranks>();
  // Changes when workers have to look at something rare; worker::handle_interrupts() finds out what.
  alignas(padding_bytes) published<std::uint64_t> interrupts_;
  published<bool> stop_;
  join_count<> stop_acknowledged_;  // Lowered by each worker, once.

  // For connecting mailboxes and sources, and for collecting reports. Never on the data path.
  std::mutex lock_;
  std::vector<std::unique_ptr<work_source>> sources_;  // None, or one for each worker.
  std::mutex one_collection_at_a_time_;
  const std::function<void(worker&)>* collect_ = nullptr;
  std::uint64_t collect_round_ = 0;
  std::vector<std::uint64_t> collected_;
  int collect_left_ = 0;
};

inline void worker::notify() noexcept {
  owner_.parked_.wake_if_parked(spot_);
}

inline void worker::send_reserved(const mail_room& record, int to, std::uint8_t kind,
                                  std::uint32_t target) noexcept {
  record.in->publish(record.place, kind, target);
  owner_.at(to).notify();
}

inline worker::ring* worker::undivided_mail(int sender) noexcept {
  // The value alone: handle_interrupts() looks again.
  if (undivided_left_ == 0 || first_ready() != nullptr || !looked_at_.empty() ||
      owner_.interrupts_.hint() != interrupts_seen_ || tracing())
    return nullptr;
  ring* const mail = mail_of_[static_cast<std::size_t>(sender)];
  if (mail != nullptr) --undivided_left_;
  return mail;
}

inline std::uint64_t worker::look_for_mail(ring& from) noexcept {
  for (int left = awaits_one_mailbox() ? 48 : 6; left > 0; --left) {
    if (const std::uint64_t header = from.front(); header != 0) return header;
    rest_between_looks();
  }
  undivided_left_ = 0;
  return 0;
}

[[gnu::always_inline]] inline void worker::drop_front(ring& from, int sender,
                                                      std::uint64_t header) noexcept {
  if (from.pop(header)) owner_.at(sender).notify();  // It may wait for room.
}

}  // namespace weft
