// Where the scheduler and the communication core meet. In a job of several processes each process has one network,
// with a device for every worker. Faces send and receive by the room above, remote.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "sched/event_source.hpp"
#include "sched/scheduler.hpp"
#include "sync/lifetime_count.hpp"
#include "sync/published.hpp"
#include "sync/traffic_count.hpp"
#include "weft/comm.hpp"

namespace weft {

namespace comm {
class offered_endpoints;  // comm/joining.hpp
}  // namespace comm

class network;
class progress_worker;
class termination;

namespace remote {
class port;
class uncounted_messages;
}  // namespace remote

// What all devices of a process have counted, and the deaths.
struct network_look {
  traffic_look counted;
  int deaths = 0;                // Processes that are known to be dead,
  std::int64_t deaths_seen = 0;  // and on how many of them each worker has acted, in sum.
};

// A worker's device as the worker polls it, with the counts of its messages. Only that worker's thread uses it; other
// threads read the counts. Nobody but remote::port posts to the device, and that counts.
class worker_device final : public event_source {
 public:
  worker_device(network& owner, comm::device& device);

  [[nodiscard]] network& owner() const noexcept { return owner_; }

  [[nodiscard]] const traffic_count<>& all() const noexcept { return all_; }
  [[nodiscard]] const traffic_count<>& with(int process) const noexcept {
    return of_process_[static_cast<std::size_t>(process)];
  }
  // What was counted before this worker parked; none: it did not expect to be the last.
  [[nodiscard]] const std::optional<network_look>& look_before_parking() const noexcept {
    return look_before_parking_;
  }
  // The number of dead processes from which this device has delivered everything, and whose waiters this worker has
  // ended.
  [[nodiscard]] int deaths_seen() const noexcept { return deaths_seen_.value(); }
  // Refuses a message that no sound peer sends: counts it, and reports the first.
  void refuse(const comm::event& happened, const char* why) noexcept {
    device_.refuse(happened, why);
  }
  // While it lives, the worker does not park: a fiber waits for something that rings no bell, such as room for a post.
  class awake {
   public:
    explicit awake(worker_device& d) noexcept : of_(d) { ++of_.awake_; }
    ~awake() { --of_.awake_; }
    awake(const awake&) = delete;
    awake& operator=(const awake&) = delete;

   private:
    worker_device& of_;
  };

  // For handlers, which may not wait: calls `attempt(context)` in each pass until it returns true. The attempt may call
  // keep_trying().
  void keep_trying(bool (*attempt)(worker& here, void* context), void* context) {
    attempts_.push_back({attempt, context});
  }

  bool poll() noexcept override;
  bool poll_cheap() noexcept override { return device_.progress() > 0; }
  [[nodiscard]] bool busy() const noexcept override;
  [[nodiscard]] bool no_writes_pending() const noexcept override;
  void look_before_parking(bool may_be_last) noexcept override;
  [[nodiscard]] bool arm() noexcept override;
  void disarm() noexcept override;
  [[nodiscard]] bell ringing() const noexcept override;
  [[nodiscard]] std::int64_t sleep_ns_max() const noexcept override;
  // Endpoints for processes of another job. Called by the device's worker, which destroys what it gets.
  [[nodiscard]] std::unique_ptr<comm::offered_endpoints> offer_endpoints();

 private:
  friend class network;
  friend class progress_worker;
  friend class termination;
  friend class remote::port;
  friend class remote::uncounted_messages;

  // Count messages of ranks, before they are sent and before a handler acts on them; termination compares the counts.
  // Messages of the core's protocols and of termination itself are not counted. The sum is raised before the count of
  // the process: a reader who subtracts dead processes' counts meanwhile gets too many, never too few.
  void count_sent(int process) noexcept {
    all_.count_sent();
    of_process_[static_cast<std::size_t>(process)].count_sent();
  }
  void count_received(int process) noexcept {
    all_.count_received();
    of_process_[static_cast<std::size_t>(process)].count_received();
  }
  // The same in a turn of the progress worker: the device's worker may be counting at the same time.
  void count_sent_in_turn(int process) noexcept {
    all_.count_sent_in_turn();
    of_process_[static_cast<std::size_t>(process)].count_sent_in_turn();
  }
  void count_received_in_turn(int process) noexcept {
    all_.count_received_in_turn();
    of_process_[static_cast<std::size_t>(process)].count_received_in_turn();
  }
  // Count operations under way that write into memory of ranks, which go on when they end: no message says so. Ranks may not
  // unwind before.
  void begin_writing() noexcept { all_.count_begun(); }
  void end_writing() noexcept { all_.count_ended(); }

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
  std::optional<network_look> look_before_parking_;
  std::vector<traffic_count<>> of_process_;
  alignas(padding_bytes) traffic_count<> all_;
  published<int> deaths_seen_{0};
};

// What workers do in a pass for the whole process; termination implements it.
class pass_hook {
 public:
  // Called in each pass of worker 0.
  virtual void progress() noexcept = 0;
  // Called by a worker of a stopping job once nothing of its own writes into memory of ranks. True: this holds in all
  // processes, and its ranks may unwind.
  [[nodiscard]] virtual bool may_unwind(int worker) noexcept = 0;
  // As event_source::sleep_ns_max().
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

  // Called before the workers run: from then on they poll their devices.
  void attach(scheduler& workers, pass_hook& whole);
  // The same for a network that is made while they run, in a job of one process: it serves only processes of other jobs, and a
  // worker polls its device after attach_worker(), which it calls itself.
  void attach_late(scheduler& workers, pass_hook& whole);
  void attach_worker(worker& here) noexcept;

  [[nodiscard]] int process() const noexcept { return core_->process(); }
  [[nodiscard]] int process_count() const noexcept { return core_->process_count(); }
  // Those of the job, and behind them those of other jobs that have been joined.
  [[nodiscard]] int known_processes() const noexcept;
  // Gives numbers to processes of another job, with so many devices each; returns the first.
  [[nodiscard]] int add_processes(std::span<const int> devices_of);
  [[nodiscard]] bootstrap& job() const noexcept { return job_; }
  [[nodiscard]] const comm::runtime_options& options() const noexcept { return core_->options(); }
  // How many devices another process of the job has.
  [[nodiscard]] int device_count(int process) const noexcept {
    return core_->device_count(process);
  }
  // Another one of the same processes over the same network, for devices beside those of the workers. Called in all
  // processes of the job at the same place.
  [[nodiscard]] std::unique_ptr<comm::runtime> make_core(const comm::runtime_options& how) const;
  [[nodiscard]] worker_device& at(int worker) noexcept {
    return *devices_[static_cast<std::size_t>(worker)];
  }
  [[nodiscard]] std::vector<std::unique_ptr<worker_device>>& devices() noexcept { return devices_; }
  // The device of worker `here`.
  [[nodiscard]] static worker_device& of(const worker& here) noexcept {
    return static_cast<worker_device&>(*here.events());
  }

  // Who may call a handler of messages.
  enum class called_by : std::uint8_t {
    worker,  // The worker whose device the message has come to.
    also_progress_worker  // Also the progress worker, in place of a worker that computes: possibly before older messages
                          // for other handlers.
  };
  // Registers a handler of messages between processes; all processes register the same ones in the same order.
  // Handle(context, here, happened) is called for each message, which has been counted; `here` is the worker to whose
  // device it came. It is not called for messages that come when the job stops or the workers have ended. Before(here) is
  // called before the message is counted.
  template <auto Handle, called_by By = called_by::worker,
            void (*Before)(worker&) noexcept = nullptr>
  [[nodiscard]] comm::handler_id add_handler(void* context) {
    return core_->register_handler(comm::completion(&counted<Handle, By, Before>, context),
                                   By == called_by::also_progress_worker);
  }

  // From now on the progress worker moves messages while workers compute. Called by any thread, any number of times.
  // Does nothing where the devices are not shared ones.
  void start_progress() noexcept;

  // Called by any thread.
  [[nodiscard]] network_look look() const noexcept;
  // Called for two looks between which all workers were parked at a moment: whether both have the numbers of that moment, and
  // nobody had anything in hand then.
  [[nodiscard]] bool was_quiescent(const network_look& first,
                                   const network_look& second) const noexcept;
  // Whether any process is dead. Ask a device which.
  [[nodiscard]] bool any_has_died() const noexcept { return deaths_.hint() != 0; }
  // Whether it is known that this one is dead: before the handler of failures is called.
  [[nodiscard]] bool has_died(int process) const noexcept;

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
  // Called after detach() in a job that has failed: ranks of other jobs shall not wait for its own.
  void leave_other_jobs_as_dead() noexcept;
  // Says that a process is dead. Called by any thread.
  void mark_failed(int process, const std::string& why) noexcept;

 private:
  friend class worker_device;
  friend class progress_worker;
  friend class termination;
  friend class remote::port;
  friend class remote::uncounted_messages;
  class descriptor_watch;  // A thread that waits for descriptors to become readable.

  template <auto Handle, called_by By, void (*Before)(worker&) noexcept>
  static void counted(void* context, const comm::event& happened) noexcept;

  bootstrap& job_;
  const comm::runtime::endpoint_maker make_endpoints_;  // Empty: as the options of a core say.
  std::function<void(int, const std::string&)> on_failure_;
  std::function<bool(int)> visit_;
  published<int> deaths_;
  std::unique_ptr<comm::runtime> core_;
  std::vector<std::unique_ptr<worker_device>> devices_;
  scheduler* workers_ = nullptr;
  pass_hook* whole_ = nullptr;
  std::unique_ptr<descriptor_watch> descriptors_;
  std::unique_ptr<progress_worker> progress_;
  lifetime_count<> turns_;  // Of the progress worker, in which it may have a message in hand.
  // On the progress worker's thread: the worker whose device it pumps.
  static inline constinit thread_local worker* driven = nullptr;
};

template <auto Handle, network::called_by By, void (*Before)(worker&) noexcept>
void network::counted(void* context, const comm::event& happened) noexcept {
  worker* const current = worker::current();
  worker* here = current;
  if constexpr (By == called_by::also_progress_worker)
    if (here == nullptr) here = driven;
  if (here == nullptr) return;  // The workers have ended.
  if constexpr (Before != nullptr) Before(*here);
  if (By == called_by::also_progress_worker && here != current)
    of(*here).count_received_in_turn(happened.process);
  else
    of(*here).count_received(happened.process);
  if (here->owner().stopping()) [[unlikely]]
    return;
  Handle(context, *here, happened);
  // It may be about to sleep.
  if constexpr (By == called_by::also_progress_worker)
    if (here != current) here->notify();
}

}  // namespace weft
