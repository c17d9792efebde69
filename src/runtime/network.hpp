// Where the scheduler and the communication core meet: a job of several processes has one network in
// each of them, with a port for every worker.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "sched/outside.hpp"
#include "sched/scheduler.hpp"
#include "sync/published.hpp"
#include "weft/comm.hpp"

namespace weft {

class network;

class progress_worker;

// A worker's own device, as the worker looks at it. Used by that worker's thread alone, but for the
// counts.
class port final : public outside {
 public:
  port(network& owner, comm::device& device);

  [[nodiscard]] comm::device& device() const noexcept { return device_; }
  [[nodiscard]] network& owner() const noexcept { return owner_; }

  // The messages of ranks, counted before they are sent and before they are acted upon: what
  // termination compares. Not those of the core's protocols, nor those of termination itself. The sum
  // first: who takes away a process's share meanwhile finds too many, never too few.
  void count_sent(int process) noexcept {
    raise(all_.sent);
    raise(of_process_[static_cast<std::size_t>(process)].sent);
  }
  void count_received(int process) noexcept {
    raise(all_.received);
    raise(of_process_[static_cast<std::size_t>(process)].received);
  }
  // Likewise, by handlers that the progress worker may call (face_handlers::add), under the device's lock: the worker
  // may be sending meanwhile.
  void count_answer(int process) noexcept {
    raise(all_.answered);
    raise(of_process_[static_cast<std::size_t>(process)].answered);
  }
  struct traffic {
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> received{0};
    std::atomic<std::uint64_t> answered{0};
  };
  [[nodiscard]] const traffic& all() const noexcept { return all_; }
  [[nodiscard]] const traffic& with(int process) const noexcept {
    return of_process_[static_cast<std::size_t>(process)];
  }
  // Of how many processes this device has delivered all, and this worker ended what waited for them.
  [[nodiscard]] int deaths_seen() const noexcept { return deaths_seen_.value(); }
  // Operations under way that write into the memory of ranks.
  void begin_writing() noexcept { raise(writing_); }
  void end_writing() noexcept { writing_.store(writing() - 1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t writing() const noexcept {
    return writing_.load(std::memory_order_relaxed);
  }
  // A fiber waits for what nothing rings for, as room for a post or a time: the worker does not park.
  class awake {
   public:
    explicit awake(port& p) noexcept : of_(p) { ++of_.awake_; }
    ~awake() { --of_.awake_; }
    awake(const awake&) = delete;
    awake& operator=(const awake&) = delete;

   private:
    port& of_;
  };

  // For handlers, which may not wait: `attempt(context)` is called in each pass until it is true. It may itself
  // keep_trying() something.
  void keep_trying(bool (*attempt)(worker& here, void* context), void* context) {
    attempts_.push_back({attempt, context});
  }

  bool poll() noexcept override;
  bool glance() noexcept override { return device_.progress() > 0; }
  [[nodiscard]] bool busy() const noexcept override;
  [[nodiscard]] bool at_rest() const noexcept override;
  [[nodiscard]] bool arm() noexcept override;
  void disarm() noexcept override;
  [[nodiscard]] bell ringing() const noexcept override;
  [[nodiscard]] std::int64_t sleep_ns_max() const noexcept override;

 private:
  // Relaxed: only this worker writes, or who has its device's lock; others compare the counts while it is parked, for
  // which it has taken the lock.
  static void raise(std::atomic<std::uint64_t>& count) noexcept {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  [[nodiscard]] int count_living() const noexcept;
  bool try_again() noexcept;

  struct unfinished {
    bool (*attempt)(worker&, void*);
    void* context;
  };

  network& owner_;
  comm::device& device_;
  std::vector<unfinished> attempts_;
  bool armed_ = false;
  int awake_ = 0;
  int lost_seen_ = 0;
  std::vector<traffic> of_process_;
  alignas(padding_bytes) traffic all_;
  std::atomic<std::uint64_t> writing_{0};
  published<int> deaths_seen_{0};
};

// What else a worker does in a pass, and how long it may sleep: the business of a whole process.
class pass_hook {
 public:
  // In each pass of worker 0.
  virtual void attend() noexcept = 0;
  // Asked by a worker of a job that stops, under whose hands nothing is written into the memory of
  // ranks any more: whether all processes are so far.
  [[nodiscard]] virtual bool may_unwind(int worker) noexcept = 0;
  [[nodiscard]] virtual std::int64_t sleep_ns_max() const noexcept = 0;

 protected:
  ~pass_hook() = default;
};

class network {
 public:
  // Returns when all processes of the job have come here. `how.devices` is the number of workers.
  network(bootstrap& job, comm::runtime_options how,
          const comm::runtime::endpoint_maker& make_endpoints = {});
  network(const network&) = delete;
  network& operator=(const network&) = delete;
  ~network();

  // Called before the workers run. They look at their ports from now on.
  void attach(scheduler& workers, pass_hook& whole);

  [[nodiscard]] int process() const noexcept { return core_->process(); }
  [[nodiscard]] int process_count() const noexcept { return core_->process_count(); }
  [[nodiscard]] bootstrap& job() const noexcept { return job_; }
  [[nodiscard]] comm::runtime& core() const noexcept { return *core_; }
  // Another one of the same processes over the same network, for devices beside those of the workers. Called in all
  // processes of the job at the same place.
  [[nodiscard]] std::unique_ptr<comm::runtime> make_core(const comm::runtime_options& how) const;
  [[nodiscard]] port& at(int worker) noexcept { return *ports_[static_cast<std::size_t>(worker)]; }
  [[nodiscard]] std::vector<std::unique_ptr<port>>& ports() noexcept { return ports_; }
  // The calling worker's.
  [[nodiscard]] static port& of(const worker& here) noexcept {
    return static_cast<port&>(*here.outside());
  }
  // In a handler of messages: the worker whose device they came to. Null: the workers have ended.
  [[nodiscard]] static worker* receiver() noexcept {
    worker* const here = worker::current();
    return here != nullptr ? here : driven;
  }

  // From now on the progress worker moves messages on while workers compute. Called by any thread, any number of times.
  // Nothing happens where devices are not shared ones.
  void start_progress() noexcept;

  // Every worker has delivered what had come from the processes that are dead, and ended its ranks'
  // operations with them.
  [[nodiscard]] bool all_have_seen_deaths() const noexcept;
  // The number alone: whoever wants to know which asks a device.
  [[nodiscard]] bool any_has_died() const noexcept { return deaths_.hint() != 0; }

  // Called once for each process that dies, by some worker's thread. Set before the workers run.
  void set_failure_handler(std::function<void(int process, const std::string& why)> handler) {
    on_failure_ = std::move(handler);
  }
  // Called by each worker when a process has died, and from then on in each pass that found nothing:
  // ends what its ranks wait for in vain. True when there was any: a wait may be over. Set before the
  // workers run.
  void set_visitor(std::function<bool(int worker)> visit) { visit_ = std::move(visit); }
  // After the workers have ended, by the thread that ran them, and before they go: what was sent
  // leaves this process, and nobody wakes them any more. May be called again.
  void detach() noexcept;
  // Somebody knows that this process is dead; called by any thread.
  void mark_failed(int process, const std::string& why) noexcept;

 private:
  friend class port;
  friend class progress_worker;
  class descriptor_watch;  // A thread that waits for descriptors to become readable.

  bootstrap& job_;
  const comm::runtime::endpoint_maker make_endpoints_;  // Empty: as the options of a core say.
  std::function<void(int, const std::string&)> on_failure_;
  std::function<bool(int)> visit_;
  published<int> deaths_;
  std::unique_ptr<comm::runtime> core_;
  std::vector<std::unique_ptr<port>> ports_;
  scheduler* workers_ = nullptr;
  pass_hook* whole_ = nullptr;
  std::unique_ptr<descriptor_watch> descriptors_;
  std::unique_ptr<progress_worker> progress_;
  // Of the progress worker's thread: the worker whose device it pumps.
  static inline constinit thread_local worker* driven = nullptr;
};

// Posts until there is room, in a wait of the calling fiber: `post` says done, posted, retry or
// failed, as operations of the core do. `describe` says to a person what the wait is for.
template <class Post, class Describe>
status post_in_wait(worker& here, const Post& post, const Describe& describe) {
  status answer = post();
  if (answer != status::retry) [[likely]]
    return answer;
  const port::awake until_there_is_room(network::of(here));
  const wait_description what = describe();
  // The condition is looked at once more after it was true.
  here.wait_until(
      [&] {
        if (answer == status::retry) answer = post();
        return answer != status::retry;
      },
      what);
  return answer;
}

}  // namespace weft
