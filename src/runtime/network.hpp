// Where the scheduler and the communication core meet. In a job of several processes each process has one network,
// with a port for every worker.
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

// A worker's device as the worker polls it. Only that worker's thread uses it; other threads read the counts.
class port final : public outside {
 public:
  port(network& owner, comm::device& device);

  [[nodiscard]] comm::device& device() const noexcept { return device_; }
  [[nodiscard]] network& owner() const noexcept { return owner_; }

  // Count messages of ranks, before they are sent and before a handler acts on them; termination compares the counts.
  // Messages of the core's protocols and of termination itself are not counted. The sum is raised before the count of
  // the process: a reader who subtracts dead processes' counts meanwhile gets too many, never too few.
  void count_sent(int process) noexcept {
    raise(all_.sent);
    raise(of_process_[static_cast<std::size_t>(process)].sent);
  }
  void count_received(int process) noexcept {
    raise(all_.received);
    raise(of_process_[static_cast<std::size_t>(process)].received);
  }
  // Counts a message that a handler sends which the progress worker may call (face_handlers::add). A count of its own,
  // written under the device's lock: the worker may be sending meanwhile.
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
  // The number of dead processes from which this device has delivered everything, and whose waiters this worker has
  // ended.
  [[nodiscard]] int deaths_seen() const noexcept { return deaths_seen_.value(); }
  // Count operations under way that write into memory of ranks: ranks may not unwind before they end.
  void begin_writing() noexcept { raise(writing_); }
  void end_writing() noexcept { writing_.store(writing() - 1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t writing() const noexcept {
    return writing_.load(std::memory_order_relaxed);
  }
  // While it lives, the worker does not park: a fiber waits for something that rings no bell, such as room for a post.
  class awake {
   public:
    explicit awake(port& p) noexcept : of_(p) { ++of_.awake_; }
    ~awake() { --of_.awake_; }
    awake(const awake&) = delete;
    awake& operator=(const awake&) = delete;

   private:
    port& of_;
  };

  // For handlers, which may not wait: calls `attempt(context)` in each pass until it returns true. The attempt may call
  // keep_trying().
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
  // Relaxed: this worker alone writes, or the holder of its device's lock. Others compare the counts while the worker
  // is parked, and parking takes that lock.
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

// What workers do in a pass for the whole process; termination implements it.
class pass_hook {
 public:
  // Called in each pass of worker 0.
  virtual void attend() noexcept = 0;
  // Called by a worker of a stopping job once nothing of its own writes into memory of ranks. True: this holds in all
  // processes, and its ranks may unwind.
  [[nodiscard]] virtual bool may_unwind(int worker) noexcept = 0;
  // As outside::sleep_ns_max().
  [[nodiscard]] virtual std::int64_t sleep_ns_max() const noexcept = 0;

 protected:
  ~pass_hook() = default;
};

class network {
 public:
  // Returns when all processes of the job have made theirs. `how.devices` is the number of workers.
  network(bootstrap& job, comm::runtime_options how,
          const comm::runtime::endpoint_maker& make_endpoints = {});
  network(const network&) = delete;
  network& operator=(const network&) = delete;
  ~network();

  // Called before the workers run: from then on they poll their ports.
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
  // The port of worker `here`.
  [[nodiscard]] static port& of(const worker& here) noexcept {
    return static_cast<port&>(*here.outside());
  }
  // Called in a handler of messages: the worker to whose device the message came. Null: the workers have ended.
  [[nodiscard]] static worker* receiver() noexcept {
    worker* const here = worker::current();
    return here != nullptr ? here : driven;
  }

  // From now on the progress worker moves messages while workers compute. Called by any thread, any number of times.
  // Does nothing where the devices are not shared ones.
  void start_progress() noexcept;

  // Whether deaths_seen() of every port is the number of dead processes.
  [[nodiscard]] bool all_have_seen_deaths() const noexcept;
  // Whether any process is dead. Ask a device which.
  [[nodiscard]] bool any_has_died() const noexcept { return deaths_.hint() != 0; }

  // Sets what some worker's thread calls once for each process that dies. Called before the workers run.
  void set_failure_handler(std::function<void(int process, const std::string& why)> handler) {
    on_failure_ = std::move(handler);
  }
  // Sets what each worker calls when a process has died, and from then on in each pass that finds nothing: it ends what
  // the worker's ranks wait for in vain, and returns whether there was any. Called before the workers run.
  void set_visitor(std::function<bool(int worker)> visit) { visit_ = std::move(visit); }
  // Called after the workers have ended, while they still live, by the thread that ran them: pushes out what was sent,
  // and ends the threads that wake workers. A second call does the same.
  void detach() noexcept;
  // Says that a process is dead. Called by any thread.
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
  // On the progress worker's thread: the worker whose device it pumps.
  static inline constinit thread_local worker* driven = nullptr;
};

// Calls `post` until it returns something other than retry, in a wait of the calling fiber. `post` returns done,
// posted, retry or failed, as the core's operations do. `describe` returns the wait's description, for reports.
template <class Post, class Describe>
status post_in_wait(worker& here, const Post& post, const Describe& describe) {
  status answer = post();
  if (answer != status::retry) [[likely]]
    return answer;
  const port::awake until_there_is_room(network::of(here));
  const wait_description what = describe();
  // The condition is looked at once more after it was true: it must not post again then.
  here.wait_until(
      [&] {
        if (answer == status::retry) answer = post();
        return answer != status::retry;
      },
      what);
  return answer;
}

}  // namespace weft
