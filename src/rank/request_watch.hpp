// What a job with `check` on looks for in the messages of its ranks: requests whose memory overlaps or changes, requests and
// messages that nobody concluded.
#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "diagnosis/checks.hpp"
#include "diagnosis/races.hpp"
#include "rank/state.hpp"

namespace weft::detail {

// The requests of one rank that are active. Touched by its worker alone.
class request_watch {
 public:
  // Called before the operation can be matched. Adds a finding when its memory overlaps another's.
  void started(diagnosis::job_checks& to, const operation& op);
  // Its memory is in use from now on, by `call`, until ended(). Not of a partitioned message, whose parts the program fills in
  // meanwhile.
  void use_memory(const operation& op, const char* call);
  // Called when the program has waited for it: adds a finding when memory that nobody may change has changed.
  void waited_for(diagnosis::job_checks& to, const operation& op);
  // Notes which call of the program started an active operation. `call` lives as long as the job.
  void name(const operation& op, const char* call) noexcept;
  void ended(const operation& op) noexcept;
  // Called for memory that a call uses without a request. Adds findings when it overlaps that of an active request, or,
  // where the call writes, itself. Part of it may be an active request's while the call only reads and that one sends.
  void used(diagnosis::job_checks& to, int rank, const char* call, const segments& memory,
            bool writes) const;
  // Notes memory of the collective that is started next, or that it is not started; and that it is that operation's.
  void will_use(const segments& memory, bool writes);
  void will_use_nothing() noexcept { to_be_used_.clear(); }
  void started_collective(const operation& op, const char* call);
  // The program has seen that it is complete, and has not ended it: its memory is free.
  void seen_complete(const operation& op);
  // Of a receive whose message has come while it was started: what has come is not to be changed.
  void came_at_once(const operation& op);
  // Of a receive that nothing has matched: adds a finding when the program has written to its memory.
  void look_at_unmatched(diagnosis::job_checks& to, const operation& op);
  // The program has freed the request of an active operation. How it knows when the memory is free again is its own affair: nothing
  // is said of its memory from then on.
  void freed(const operation& op) noexcept;
  // Adds what is still active when the rank has ended.
  void look_when_quiescent(diagnosis::job_checks& to) const;

  struct entry {
    const operation* op;
    diagnosis::call_list calls;
    const char* call = "";  // Empty: nobody has said.
  };
  // Null: the operation is not active.
  [[nodiscard]] const entry* find(const operation& op) const noexcept;

  // Null in a job of several processes, or of very many ranks.
  [[nodiscard]] diagnosis::race_watch* races() const noexcept { return races_.get(); }
  void look_for_races(std::shared_ptr<diagnosis::race_watch> by) { races_ = std::move(by); }

 private:
  // From the first byte of an operation to the last. Bytes between them may be somebody else's.
  struct extent {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
  };
  [[nodiscard]] static extent extent_of(const operation& op);
  // Operations by their begin. One that overlaps another begins at most `longest_` before it.
  class memories {
   public:
    struct piece {
      std::uintptr_t end;
      const entry* of;
    };
    using by_begin = std::multimap<std::uintptr_t, piece>;
    by_begin::iterator add(extent where, const entry& of);
    void remove(by_begin::iterator at) { pieces_.erase(at); }
    // Null: there is none.
    [[nodiscard]] const entry* find_overlap(const operation& op, extent where) const;

   private:
    by_begin pieces_;
    std::uintptr_t longest_ = 0;
  };
  // An active operation whose memory `op` may not use; null: there is none.
  [[nodiscard]] const entry* find_overlap(const operation& op, extent where) const;
  struct active : entry {
    memories* in = nullptr;  // Null: it has no memory.
    memories::by_begin::iterator at;
    std::vector<diagnosis::memory_range> memory;  // What `sum` is of: bytes that nobody may change.
    std::uint64_t sum = 0;
    bool is_final = false;  // The sum holds until the program has waited.
  };
  struct to_be_used {
    std::vector<diagnosis::memory_range> memory;
    bool writes;
  };
  [[nodiscard]] active* find_active(const operation& op) noexcept;
  void hold(const active& by, const std::vector<diagnosis::memory_range>& memory, bool writes);
  void give_memory_back(active& of) noexcept;
  static void tell_changed(diagnosis::job_checks& to, active& by);

  std::list<active> active_;  // In the order of their starts.
  std::unordered_map<const operation*, std::list<active>::iterator> by_operation_;
  memories sent_, received_;
  std::vector<to_be_used> to_be_used_;
  std::shared_ptr<diagnosis::race_watch> races_;
};

// Adds a finding for a message that a matched probe took and nobody received.
void look_at_dropped(diagnosis::job_checks& to, const rank_state& r, const unexpected_message& m);
// Adds the messages that ranks did not receive. Called at the end of the job, when all have been delivered.
void look_at_unreceived(diagnosis::job_checks& to, job& j);

}  // namespace weft::detail
