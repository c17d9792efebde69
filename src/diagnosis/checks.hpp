// What a job with `check` on looks for besides, and how it is told: locks held across waits, requests
// whose memory overlaps, requests and messages that nobody concluded. A job without it has none of
// these objects, and its data path never asks for them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rank/state.hpp"
#include "runtime/held_locks.hpp"

namespace weft::detail {

// Where something happened: the calls, innermost first.
using call_list = std::vector<std::uintptr_t>;

// In the text of a finding: the function and line of a place. printable() leaves it in nothing that a user wrote.
inline constexpr char place_mark = '\x01';

// One line for a person. Each place_mark in the text stands for the next place: names are looked for when it is
// told, on a stack of ordinary size.
struct finding {
  enum class kind : std::uint8_t { warning, error };
  kind severity;
  std::string text;
  std::vector<call_list> places;
};

// The findings of one job. Added by any worker, told by one thread at a time.
class job_checks {
 public:
  job_checks();
  // `call` makes somebody call tell(); any worker calls it.
  void set_call(std::function<void()> call) { call_ = std::move(call); }
  // The same kind of finding at the same places is kept once.
  void add(finding what);
  // Of a worker: whose fiber is about to wait in `call`.
  void look_at_locks(worker& here, const char* call);
  // Prints what was added since.
  void tell();
  [[nodiscard]] bool has_errors() const;

 private:
  std::function<void()> call_;
  const lock_watch* const locks_;
  mutable std::mutex lock_;
  std::vector<finding> untold_;
  std::set<std::pair<std::string, std::vector<call_list>>> known_;
  std::size_t left_out_ = 0;
  bool errors_ = false;
};

// The requests of one rank that are active. Touched by its worker alone.
class request_watch {
 public:
  // Before the operation can be matched. Adds a finding where its memory overlaps another's.
  void started(job_checks& to, const operation& op);
  // Of one that is active: what the program called, a name that lasts as long as the job.
  void name(const operation& op, const char* call) noexcept;
  void ended(const operation& op) noexcept;
  // Adds what is still active when the rank has ended.
  void look_at_rest(job_checks& to) const;

  struct entry {
    const operation* op;
    call_list calls;
    const char* call = "";  // Empty: nobody has said.
  };
  // Null: it is not active.
  [[nodiscard]] const entry* find(const operation& op) const noexcept;

 private:
  // From the first byte of an operation to the last; what lies between need not be its own.
  struct extent {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
  };
  [[nodiscard]] static extent extent_of(const operation& op);
  // Operations by where they begin: those that overlap others begin no further before them than the longest.
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
  struct active : entry {
    memories* in = nullptr;  // Null: it has no memory.
    memories::by_begin::iterator at;
  };

  std::list<active> active_;  // In the order of their starts.
  std::unordered_map<const operation*, std::list<active>::iterator> by_operation_;
  memories sent_, received_;
};

// For a rank that binds itself to CPUs, where its worker stays as it is.
void look_at_choice_of_cpus(job_checks& to, const rank_state& r);
// For a message that was taken out of the matching and is given up.
void look_at_dropped(job_checks& to, const rank_state& r, const unexpected_message& m);
// For the end of the job, when everything has been delivered: what its ranks did not receive.
void look_at_unreceived(job_checks& to, job& j);

}  // namespace weft::detail
