// How a job of several processes ends: when all its ranks have ended, when one has failed, when a
// process has died, or when all ranks wait for each other. One process, the judge, decides: the
// first that lives. docs/protocols/processes.md has the messages and the proof.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/network.hpp"
#include "sync/published.hpp"

namespace weft {

class termination final : public pass_hook {
 public:
  struct actions {
    // On the judge: the job's first failure, to be told to people. Anywhere: the job stops.
    std::function<void(const std::string& text, int exit_status)> tell;
    std::function<void(int exit_status)> stop;
    // What this process adds to a report of a deadlock, and, on the judge, the report made of all.
    std::function<std::string()> describe;
    std::function<std::string(const std::vector<std::string>& parts, const std::vector<int>& dead)>
        deadlock;
    // Whether operations with a dead process fail, instead of all ending.
    bool survive_failures = false;
    // How long a launcher that ends the job itself has for it before this process does.
    std::uint64_t patience_ns = 0;
    // What to say of a dead process.
    std::function<std::string(int process, const std::string& why)> in_words;
  };

  // Before the workers run; holds the scheduler until all processes have ended.
  termination(network& between, scheduler& workers, actions what);
  termination(const termination&) = delete;
  termination& operator=(const termination&) = delete;

  // Something of this process failed; called by any thread. Told once in the whole job, by the judge.
  void fail(const std::string& text, int exit_status);
  // What all processes find by themselves is the judge's to tell.
  [[nodiscard]] bool is_judge() const noexcept { return judge() == between_.process(); }
  // Called by the worker that found all parked. True when all it can do is sleep.
  bool quiescent(worker& last);
  // Before the workers run: `ask` makes another thread find out more to say after describe(), which it
  // hands to described().
  void set_describer(std::function<void()> ask) { ask_further_ = std::move(ask); }
  void described(const std::string& further);
  void process_died(int process, const std::string& why);
  [[nodiscard]] bool is_dead(int process) const noexcept {
    return dead_[static_cast<std::size_t>(process)].value();
  }
  [[nodiscard]] bool any_dead() const noexcept { return dead_count_.value() != 0; }

  void attend() noexcept override;
  bool may_unwind(int worker) noexcept override;
  std::int64_t sleep_ns_max() const noexcept override;

  // On the wire in the lowest byte of an active message's tag; above it stands the round.
  enum class message : std::uint8_t {
    ended,      // to the judge: all ranks of this process have ended; counts, the dead
    all_ended,  // from the judge: so have those of all others
    failure,    // to the judge: text, status
    stop,       // from the judge: status, the dead
    halted,     // to the judge: nothing of this process reads or writes others' memory any more
    unwind,     // from the judge: all are halted
    quiet,      // to the judge: all workers are parked; counts, the dead
    confirm,    // from the judge: is that so still? round
    confirmed,  // to the judge: it is; round, counts, the dead
    denied,     // to the judge: it is not; round, counts, the dead
    describe,   // from the judge: say what your ranks wait for
    part,       // to the judge: some of that text; round; user: whether more follows
  };

 private:
  // Of messages to and from processes that live.
  struct counts {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    bool operator==(const counts&) const = default;
  };
  // What the judge knows of a process.
  struct witness {
    bool ended = false;
    bool halted = false;
    bool quiet = false;
    bool confirmed = false;
    counts told;
    std::string dead;             // As dead_list() of that process.
    std::uint32_t statement = 0;  // The number of the one that told that.
    std::string failure;
    std::string part;  // Of a description.
    bool part_complete = false;
    std::optional<int>
        early_stop;  // It says so as the judge, which it is not as far as known here.
  };

  static void on_message(void* self, const comm::event& happened) noexcept;
  // Why nobody means this; null when somebody may.
  [[nodiscard]] const char* objection(int from, const comm::event& happened) const;
  void handle(int from, const comm::event& happened);
  void send(int process, message what, std::uint64_t first = 0, std::uint64_t second = 0,
            std::uint32_t user = 0, std::string_view text = {});
  void broadcast(message what, std::uint64_t first = 0);
  void state(message what, const counts& now);
  [[nodiscard]] int judge() const noexcept;
  [[nodiscard]] counts count() noexcept;
  [[nodiscard]] std::optional<counts> counts_at_rest() noexcept;
  [[nodiscard]] bool is_writing() noexcept;
  [[nodiscard]] bool still_quiet();

  [[nodiscard]] std::string dead_list() const;
  void send_text(message what, std::uint64_t first, std::string_view text);
  [[nodiscard]] static bool is_news(witness& w, const counts& told, std::string_view dead,
                                    std::uint32_t statement);
  void stop(int exit_status);
  void say_why(const std::string& text, int exit_status);
  void judge_failure(const std::string& text, int exit_status);
  void judge_ends();
  [[nodiscard]] bool none_under_way() const;
  void judge_quiet();
  void judge_confirmations();
  void judge_parts();
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
  // For worker 0. Written under the lock, as the urgent fibers are, and looked at without: a hint, which
  // notify() follows.
  std::atomic<bool> has_urgent_{false};
  std::atomic<std::uint64_t> stopping_since_ns_{0};

  // Nothing here is on the way of a rank's message: one lock for all of it.
  std::recursive_mutex lock_;
  std::vector<witness> witnesses_;
  std::vector<bool> halted_workers_;
  std::vector<std::pair<std::string, int>> failures_;        // Of threads that are no workers.
  std::optional<std::pair<std::string, int>> told_failure_;  // To a judge, who may have died since.
  std::string death_;  // What to say of the first dead process, when it ends the job.
  std::uint64_t death_since_ns_ = 0;
  counts told_;
  bool told_valid_ = false;
  std::uint32_t statement_ = 0;
  bool said_ended_ = false;
  counts ended_with_;
  bool said_halted_ = false;
  bool said_stop_ = false;
  bool judged_ = false;  // The job has failed or stops.
  bool said_why_ = false;
  int stop_status_ = 1;
  bool stops_again_ = false;
  bool describing_ = false;
  std::optional<std::string> description_;  // While some of it may be missing, or it was not sent.
  bool is_described_ = false;               // Of it, nothing is missing.
  bool released_ = false;
  std::uint64_t round_ = 0;
  int asked_by_ = -1;  // Whose round that is.
  bool confirming_ = false;
};

}  // namespace weft
