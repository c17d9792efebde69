// How a job of several processes ends: when all its ranks have ended, when one has failed, when a process has died, or when
// all ranks wait for each other. One process decides, the coordinator: the living process with the lowest number. The
// messages and the proof are in docs/protocols/processes.md.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/network.hpp"
#include "runtime/quiescence_agreement.hpp"
#include "sync/published.hpp"

namespace weft {

class termination final : public pass_hook, public quiescence_observer {
 public:
  struct actions {
    // Called on the coordinator, once: tells people the job's first failure.
    std::function<void(const std::string& text, int exit_status)> tell;
    // Called in every process: stops its part of the job.
    std::function<void(int exit_status)> stop;
    // `describe` returns this process's part of a deadlock report. `deadlock` makes the report of all parts, on the
    // coordinator.
    std::function<std::string()> describe;
    std::function<std::string(const std::vector<std::string>& parts, const std::vector<int>& dead)>
        deadlock;
    // Whether ranks of this process may still wait for that one, which is of another job.
    std::function<bool(int process)> is_joined_with;
    // Whether the job goes on after a process has died: then operations with it fail.
    bool survive_failures = false;
    // For how long this process leaves it to the launcher to end the job after a death.
    std::uint64_t patience_ns = 0;
    // The text about a dead process.
    std::function<std::string(int process, const std::string& why)> in_words;
  };

  // Made before the workers run. Keeps the scheduler from ending until the ranks of all processes have ended.
  termination(network& between, scheduler& workers, actions what);
  termination(const termination&) = delete;
  termination& operator=(const termination&) = delete;

  // Called by any thread when something in this process has failed. People hear of the job's first failure, once, from the
  // coordinator.
  void fail(const std::string& text, int exit_status);
  // What every process finds out by itself, people hear from the coordinator alone.
  [[nodiscard]] bool is_coordinator() const noexcept { return coordinator() == between_.process(); }
  [[nodiscard]] answer look(worker& last) noexcept override;
  void tell(worker& last) override;
  // Called before the workers run. `ask` makes another thread, the monitor, find out what else to say after describe();
  // that thread calls described() with it.
  void set_describer(std::function<void()> ask) { ask_further_ = std::move(ask); }
  void described(const std::string& further);
  // Called by any thread when a process has died.
  void process_died(int process, const std::string& why);
  [[nodiscard]] bool is_dead(int process) const noexcept {
    return dead_[static_cast<std::size_t>(process)].value();
  }
  [[nodiscard]] bool any_dead() const noexcept { return dead_count_.value() != 0; }

  void progress() noexcept override;
  bool may_unwind(int worker) noexcept override;
  std::int64_t sleep_ns_max() const noexcept override;

  // The lowest byte of an active message's tag; the bytes above it are the round.
  enum class message : std::uint8_t {
    ended,      // to the coordinator: all ranks of this process have ended; counts, the dead
    all_ended,  // from the coordinator: so have those of all others
    failure,    // to the coordinator: text, status
    stop,       // from the coordinator: status, the dead
    halted,     // to the coordinator: this process reads and writes no memory of others any more
    unwind,     // from the coordinator: all are halted
    quiet,  // to the coordinator: all workers were parked at a moment; the counts of that moment, the dead
    confirm,    // from the coordinator: is that so still? round
    confirmed,  // to the coordinator: they were all parked once more; round, counts, the dead
    describe,   // from the coordinator: say what your ranks wait for
    part,       // to the coordinator: some of that text; round; user: whether more follows
  };

 private:
  // What the coordinator knows of a process.
  struct participant {
    bool ended = false;
    bool halted = false;
    std::string failure;
    std::string part;  // Its part of a deadlock report.
    bool part_complete = false;
    // The status of a stop that it sent as the coordinator, although an earlier process lives as far as is known here.
    std::optional<int> early_stop;
  };

  static void on_message(void* self, const comm::event& happened) noexcept;
  // Why no sound process sends this message; null when one may.
  [[nodiscard]] const char* objection(int from, const comm::event& happened) const;
  void handle(int from, const comm::event& happened);
  void send(int process, message what, std::uint64_t first = 0, std::uint64_t second = 0,
            std::uint32_t user = 0, std::string_view text = {});
  void broadcast(message what, std::uint64_t first = 0);
  void state(message what, const message_counts& now);
  [[nodiscard]] int coordinator() const noexcept;
  [[nodiscard]] message_counts share_of_dead() const noexcept;
  [[nodiscard]] message_counts count() const noexcept;

  [[nodiscard]] std::string dead_list() const;
  void send_text(message what, std::uint64_t first, std::string_view text);
  [[nodiscard]] quiescence_agreement::deaths deaths() const;
  void stop(int exit_status);
  void say_why(const std::string& text, int exit_status);
  void coordinate_failure(const std::string& text, int exit_status);
  void coordinate_end();
  void coordinate_quiet();
  void coordinate_description();
  void coordinate_parts();
  void send_description();
  void give_urgent() noexcept;
  void end_by_death();
  template <class Is>
  [[nodiscard]] bool all(const Is& is) const;

  network& between_;
  scheduler& workers_;
  const actions actions_;
  std::function<void()> ask_further_;
  comm::handler_id handler_;
  std::vector<published<bool>> dead_;
  published<int> dead_count_;
  published<bool> may_unwind_;
  // Whether worker 0 has something of termination to do. Written under the lock, read without it: a hint, after which
  // comes notify().
  std::atomic<bool> has_urgent_{false};
  std::atomic<std::uint64_t> stopping_since_ns_{0};

  // One lock for all that follows: no message of a rank comes by here.
  std::recursive_mutex lock_;
  std::vector<participant> participants_;
  quiescence_agreement agreement_;  // Of the coordinator, or of who may become it.
  std::vector<bool> halted_workers_;
  std::vector<std::pair<std::string, int>> failures_;  // From threads that are no workers.
  std::optional<std::pair<std::string, int>>
      told_failure_;   // The coordinator it went to may have died.
  std::string death_;  // The text about the first dead process, when it ends the job.
  std::uint64_t death_since_ns_ = 0;
  std::optional<message_counts> quiescent_counts_;  // What look() has found, for tell().
  message_counts told_;
  bool told_valid_ = false;
  bool is_asked_ = false;  // By the coordinator, whether that is so still.
  std::uint32_t statement_ = 0;
  bool said_ended_ = false;
  message_counts ended_with_;
  bool said_halted_ = false;
  bool said_stop_ = false;
  bool decided_ = false;  // The job has failed or stops.
  bool said_why_ = false;
  int stop_status_ = 1;
  bool stops_again_ = false;
  bool describing_ = false;
  std::optional<std::string> description_;  // This process's part, until it is sent.
  bool is_described_ = false;               // description_ is complete.
  bool released_ = false;
  int asked_by_ = -1;  // The process that has begun the newest round known here.
};

}  // namespace weft
