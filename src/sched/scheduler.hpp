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
#include "sync/lifetime_count.hpp"
#include "sync/published.hpp"

namespace weft {

// Asks a worker where it stands (runtime/thread_calls.hpp). Ignored by default, so that one that comes
// late does nothing.
inline constexpr int stack_signal = SIGURG;

enum class steal_mode : std::uint8_t { random, near, sticky };

struct scheduler_options {
  std::vector<int> cores;  // One worker for each; the core to pin to, or -1.
  std::vector<int> nodes;  // The NUMA node of each worker.
  std::size_t stack_bytes = 256 * 1024;
  std::optional<std::uint64_t> spin_ns;  // None: as long as it pays.
  bool is_crowded =
      false;  // There are more workers here, with those of other processes, than cores.
  steal_mode steal = steal_mode::random;
  std::optional<std::uint64_t> seed;
};

// How a worker that has found nothing goes on looking before it sleeps.
struct looking {
  std::uint64_t at_least_ns;
  std::uint64_t at_most_ns;        // See look_limit.hpp.
  std::uint32_t rounds_per_clock;  // How often it looks at the clock.
  // Whether it gives its core away after each round: whoever is to send what it waits for may need the
  // core, and it may be back late.
  bool gives_core_up;

  [[nodiscard]] static looking with(const scheduler_options& options) noexcept;
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

  // Called before run(). Handlers run on the receiving worker, inside its waits; they do not wait.
  void set_handler(std::uint8_t kind, mail_handler handler) noexcept { handlers_[kind] = handler; }
  // Called by the worker that found every worker parked, no mail and no timer, but living fibers.
  // True: there is nothing to do but sleep, since somebody else may bring work.
  using quiescent_handler = std::function<bool(worker& last)>;
  void set_quiescent_handler(quiescent_handler handler) { quiescent_ = std::move(handler); }
  // Threads that ranks have made may bring work from now on.
  void note_attached() noexcept { attached_threads_.store(true, std::memory_order_relaxed); }
  // Called before all workers are seen to be parked, and after it with what that said: no thread that
  // might have brought work has lived in between. docs/protocols/parking.md.
  [[nodiscard]] std::uint64_t threads_ended() const noexcept { return made_->lived.ended(); }
  [[nodiscard]] bool no_attached_since(std::uint64_t ended) const noexcept {
    return !attached_threads_.load(std::memory_order_relaxed) || made_->lived.none_since(ended);
  }
  // Called by any thread, hints: whether such a thread lives, and how many wait in calls of weft.
  [[nodiscard]] bool has_attached_threads() const noexcept {
    return !no_attached_since(threads_ended());
  }
  [[nodiscard]] std::size_t waiting_attached() const noexcept {
    return waiting_attached_.load(std::memory_order_relaxed);
  }
  // The way of a thread that is about to be made into workers; closed, with nobody inside, when run()
  // returns. The thread lives while somebody has it.
  [[nodiscard]] std::shared_ptr<gate> way_in_of_new_thread() const;
  // Called by any thread, a hint: fibers that have not ended.
  [[nodiscard]] std::uint64_t living() const noexcept { return living_.left(); }
  [[nodiscard]] bool has_ended() const noexcept {
    return living_.left() == 0;  // The number alone: somebody is told soon enough.
  }
  // Called before run(). `watcher` is called by each worker whenever one of its fibers begins to
  // wait, on that fiber. Every wait then goes the long way.
  using wait_watcher = void (*)(worker& here, const wait_description& description);
  void set_wait_watcher(wait_watcher watcher) noexcept;
  // Called after run(): delivers what had been sent but not yet looked at.
  void deliver_rest();
  // Called by a worker, in whose memory nothing of the others is missing afterwards: whether all
  // the others are parked.
  [[nodiscard]] bool others_are_parked() const noexcept { return parked_.all_but_one(); }

  // Keeps run() from ending although every fiber has, until release(). Called once, before run().
  void hold() noexcept {
    living_.expect_another();
    held_ = 1;
  }
  void release() noexcept { count_out(); }
  [[nodiscard]] bool fibers_have_ended() const noexcept { return living_.at_most(held_); }

  // Called by a worker for work of its source, which keeps run() from ending likewise.
  void expect_work() noexcept { living_.expect_another(); }
  void end_work() noexcept { count_out(); }

  // What the handlers work for; the scheduler only keeps it.
  void set_user_data(void* user_data) noexcept { user_data_ = user_data; }
  [[nodiscard]] void* user_data() const noexcept { return user_data_; }

  // Runs until every fiber has ended; the calling thread waits.
  void run();

  // Called by any thread. Every wait that may be stopped throws job_stopped, once all workers have
  // come to a wait: from then on no worker reads the memory of another's fibers.
  void request_stop() noexcept;
  [[nodiscard]] bool stopping() const noexcept { return stop_.value(); }

  // Called by any thread: `collect` runs once on every worker, in its next pass, one worker after
  // the other. Returns false when none came to a pass for `pass_ns_max` although some are missing.
  static constexpr std::uint64_t pass_ns_max = 500'000'000;
  bool on_every_worker(const std::function<void(worker&)>& collect);

  // Called now and then by a thread that is no worker. When all are parked, one looks again whether that is a
  // deadlock: a count of parked workers that was too low for a moment could hide it. And thieves wake for loops
  // whose owners have not woken any (docs/protocols/stealing.md).
  void look_again() noexcept;

  // Called by any thread, a hint: whether the oldest record of some worker to this one is such.
  bool any_mail(int index, const std::function<bool(record_header)>& is_such);

  // Called by any thread: wakes up to so many workers that are parked and may steal, for a loop of worker `owner`.
  void wake_thieves(int owner, int count) noexcept;
  // Called by any thread, not by handlers of signals: each worker's next pass calls hooks.look.
  void look_for_calls() noexcept { attract_attention(); }
  [[nodiscard]] bool any_parked() const noexcept { return parked_.any(); }

 private:
  friend class worker;

  void attract_attention() noexcept;
  void count_out() noexcept;
  [[nodiscard]] bool has_surplus(int index);

  scheduler_options options_;
  const looking looking_;
  std::array<mail_handler, mail_kinds> handlers_{};
  quiescent_handler quiescent_;
  wait_watcher watcher_ = nullptr;
  void* user_data_ = nullptr;
  std::vector<std::unique_ptr<worker>> workers_;
  std::vector<std::thread> threads_;

  join_count<> living_;     // Fibers, and one more while it is held.
  std::uint64_t held_ = 0;  // How many of them are no fibers; constant while workers run.
  alignas(padding_bytes) parked_count<> parked_;
  std::atomic<std::int64_t> timers_{0};
  std::atomic<bool> attached_threads_{false};
  std::atomic<std::size_t> waiting_attached_{0};
  struct threads_of_ranks {
    gate way_in;
    lifetime_count<> lived;
  };
  const std::shared_ptr<threads_of_ranks> made_ = std::make_shared<threads_of_ranks>();
  // Changes when workers have to look at something rare; who attends to it sees what that is.
  alignas(padding_bytes) published<std::uint64_t> attention_;
  published<bool> stop_;
  join_count<> stop_acknowledged_;  // Lowered by each worker, once.

  std::mutex
      lock_;  // Connecting mailboxes and sources, collecting reports. Never on the data path.
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
  // The value alone: attend() looks again.
  if (undivided_left_ == 0 || first_ready() != nullptr || !looked_at_.empty() ||
      owner_.attention_.hint() != attended_ || tracing())
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
