// In a checked job of one process: who uses which memory, and what orders it. Three things are looked for:
//
//   memory that an operation under way sends from or receives into, used by its rank meanwhile;
//   memory of a rank that other ranks reach (windows, symmetric memory), used by two ranks without order;
//   messages that a receive from any rank could have taken instead of the one that it took.
//
// Order is kept by vector clocks: clocks_[r][s] says how much of what rank s has done happened before what rank r does now. A
// rank publishes its clock under a name (a message, a turn of a collective, a lock), and who learns of it by that name takes
// it. Where it is not known what a rank has learnt, it takes more: then a race may be missed, and none is made up.
//
// Ranks are numbers in the world. Called by any worker and any thread of a rank; memory is looked up under one lock.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/checks.hpp"
#include "sync/word_lock.hpp"

namespace weft::diagnosis {

// At the begin of a finding's text: it is told only when its places have different names. A loop that a compiler has unrolled has
// several addresses for one place.
inline constexpr char names_differ_mark = '\x02';

struct memory_range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  [[nodiscard]] static memory_range of(const void* at, std::size_t bytes) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    return {begin, begin + bytes};
  }
  [[nodiscard]] bool overlaps(const memory_range& other) const noexcept {
    return begin < other.end && other.begin < end;
  }
};

// How memory is used. Two updates of the same elements are atomic to each other.
enum class use_kind : std::uint8_t { load, store, get, put, fetch, update };

// Whose an operation under way is: a request's, or a window's (or the like) at a target, and then perhaps a request's as well.
struct use_owner {
  const void* of = nullptr;
  int target = -1;  // -1: all.
  const void* request = nullptr;
};

class race_watch {
 public:
  // Up to so many ranks: each has a clock of as many words.
  static constexpr int ranks_max = 512;

  race_watch(job_checks& to, int ranks);
  ~race_watch();
  race_watch(const race_watch&) = delete;
  race_watch& operator=(const race_watch&) = delete;

  // The one of a job, made by the first rank that asks.
  [[nodiscard]] static std::shared_ptr<race_watch> of(job_checks& checks, int ranks);
  // Whether a job of this process looks for races. Relaxed: who looks at memory has met those who use it.
  [[nodiscard]] static bool any() noexcept { return alive_.load(std::memory_order_relaxed) != 0; }

  // --- Order ---------------------------------------------------------------------------------------
  struct name {
    std::uint64_t first;
    std::uint64_t second;
    friend auto operator<=>(const name&, const name&) = default;
  };
  void publish(int rank, const name& where);
  void take(int rank, const name& where);
  // What ranks have done up to now: for what is not known better. From a rank of another job, what all have done.
  void take_from(int rank, int other);
  void take_all(int rank);
  // Two communicators may have the same context if no rank is in both.
  struct collective {
    std::uint32_t context;
    int first;  // Its first rank.
    int ranks;  // So many are in it.
    std::uint64_t turn;
  };
  // One that is not remembered any more takes from all.
  void entered(int rank, const collective& what);
  void left(int rank, const collective& what);

  struct message {
    std::uint32_t context;
    int source;  // In the communicator.
    int to;
    int tag;
    friend auto operator<=>(const message&, const message&) = default;
  };
  void sent(const message& m, int from);
  // One of those that were sent may never be received.
  void lost(const message& m);
  struct receive {
    std::uint64_t turn;  // Among the receives of its rank, in the order in which they were posted.
    bool is_first;       // None that was posted before is open.
    bool names_source;
    int tag;  // Below 0: any.
    const char* call;
    call_list calls;  // Where it was posted.
  };
  void received(const message& m, const receive& by);

  // --- Memory that operations under way use at the rank that has started them ------------------------
  struct pending {
    int rank;
    memory_range where;
    bool writes;
    use_owner of;
    const char* call;  // Lives as long as the job.
    call_list calls;
  };
  // `is_request`: those are compared with each other elsewhere.
  void begin(pending what, bool is_request);
  void end(int rank, const use_owner& of);
  // The rank has learnt something: what operations only read here and send to a rank that has learnt of them since is free.
  void end_of_answered(int rank);
  // A request with operations of a window has ended: what they use here is free, and what they only read has been read.
  void end_of_request(int rank, const void* request);

  // --- Memory that other ranks reach -----------------------------------------------------------------
  // `may_be_polled`: a load of the program beside what another rank writes is no error there, but its value is not determined.
  void expose(int rank, memory_range where, bool may_be_polled = false);
  // `begin`: of memory that the rank has exposed.
  void hide(int rank, const void* begin);
  struct use {
    int rank;
    use_kind kind;
    memory_range where;
    std::uint32_t element = 0;        // Which datatype an update changes.
    std::uint32_t element_bytes = 1;  // Of an update from one element to the next; of one load.
    use_owner of;
    const char* call;
    call_list calls;
    bool is_over = false;    // Set by over().
    std::uint32_t when = 0;  // The rank's own clock when it was over.
  };
  // Of an operation that ends later.
  void start(use what);
  // Of one that is over when it returns.
  void record_at_once(use what);
  // The operations of the owner are over at their targets: all, or those that only read, or those that write.
  enum class which : std::uint8_t { all, reads, writes };
  void over(int rank, const use_owner& of, which those);
  // The rank has seen there what others have written: those operations are over, and it may have learnt anything.
  void seen(int rank, memory_range where);
  // Of what a call of the rank, or the program itself, loads or stores. `call` is null for the program, which is at `calls`.
  void touch(int rank, memory_range where, bool writes, const char* call, const call_list& calls);
  // Of what a call of the rank is about to use: compares it with what operations under way use at this rank.
  void look(int rank, memory_range where, bool writes, const char* call, const call_list& calls);
  // touch() by the program, for instrumented code: most memory is of no interest.
  void touch_by_program(int rank, memory_range where, bool writes, std::uintptr_t place) {
    if (where.end <= lowest_.load(std::memory_order_relaxed) ||
        where.begin >= highest_.load(std::memory_order_relaxed)) [[likely]]
      return;
    touch(rank, where, writes, nullptr, {place});
  }

 private:
  using clock = std::vector<std::uint32_t>;
  class guard;

  struct held : pending {
    bool is_request = false;
    std::uint32_t since = 0;  // The rank's own clock.
  };
  // Entries by the begin of their memory. Those of like length are together, so that a look meets few that it is not about.
  template <class Entry>
  class by_begin {
   public:
    using entries = std::multimap<std::uintptr_t, Entry>;
    using iterator = typename entries::iterator;
    iterator add(Entry e) {
      ++size_;
      const memory_range where = e.where;
      return of_length_[bits_of(where)].emplace(where.begin, std::move(e));
    }
    void erase(iterator at) {
      --size_;
      of_length_[bits_of(at->second.where)].erase(at);
    }
    template <class Condition>
    void erase_if(const Condition& is_gone) {
      for (auto& [bits, all] : of_length_)
        size_ -= std::erase_if(all, [&](const auto& entry) { return is_gone(entry.second); });
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    // The first of just this memory that fits; null: none does.
    template <class Condition>
    [[nodiscard]] Entry* find(const memory_range& where, const Condition& fits) {
      const auto [first, last] = of_length_[bits_of(where)].equal_range(where.begin);
      for (auto at = first; at != last; ++at)
        if (at->second.where.end == where.end && fits(at->second)) return &at->second;
      return nullptr;
    }
    template <class Visit>  // Stops when visit(iterator) returns true.
    void each_overlap(const memory_range& where, const Visit& visit) {
      for (auto& [bits, all] : of_length_) {
        const std::uintptr_t longest = std::uintptr_t{1} << bits;
        const std::uintptr_t first = where.begin - std::min(where.begin, longest);
        for (auto at = all.lower_bound(first); at != all.end() && at->first < where.end; ++at)
          if (at->second.where.overlaps(where) && visit(at)) return;
      }
    }

   private:
    [[nodiscard]] static int bits_of(const memory_range& where) noexcept {
      return static_cast<int>(std::bit_width(where.end - where.begin));
    }
    std::map<int, entries> of_length_;  // Those of less than 2^bits bytes.
    std::size_t size_ = 0;
  };

  void merge(int rank, const clock& other);
  void merge_all(int rank);
  void end_of_seen(int rank, memory_range where);
  void see(int rank, memory_range where);
  void catch_up(int rank);
  [[nodiscard]] bool is_poll(const use& load, const use& other);
  void grow_bounds(const memory_range& where) noexcept;
  [[nodiscard]] bool is_ordered(const use& before, int rank) const;
  [[nodiscard]] static bool conflict(const use& one, const use& two);
  void record(use what, std::vector<finding>& found);
  void compare_with_holds(int rank, memory_range where, bool writes, const char* call,
                          const call_list& calls, bool is_request, std::vector<finding>& found);
  // Whether one more use can be remembered.
  [[nodiscard]] bool make_room();
  // The same that an operation which began before holds until the same end; null: none does.
  [[nodiscard]] held* find_held(const pending& what);
  [[nodiscard]] bool is_told(const call_list& one, const call_list& two);
  void tell(std::vector<finding> found);

  static std::atomic<int> alive_;

  job_checks& to_;
  word_lock lock_;
  // Of memory that is held or exposed, the first byte and the end of the last. They only grow. Relaxed: hints for the rank that has set
  // them, or has met it since.
  std::atomic<std::uintptr_t> lowest_{UINTPTR_MAX};
  std::atomic<std::uintptr_t> highest_{0};

  std::vector<clock> clocks_;
  std::map<name, clock> published_;
  clock published_besides_;  // Under all names for which there was no room.
  struct sent_messages {
    std::deque<clock> waiting;  // Not received yet, the oldest first.
    std::uint64_t dropped = 0;  // So many before them were too many.
    bool has_lost = false;      // Some of them may never be received.
  };
  std::map<message, sent_messages> messages_;
  struct turn_of_all {
    clock known;   // By those that have entered.
    int left = 0;  // So many have left.
  };
  // By context and first rank, and by turn: those that some rank is in, or has still to come to.
  std::map<std::pair<std::uint32_t, int>, std::map<std::uint64_t, turn_of_all>> collectives_;
  struct wildcard_receive {
    message taken;
    std::uint32_t when;  // The receiver's own clock.
    receive by;
    std::set<int> sources =
        {};  // Of messages received since: only the first of each could have come instead.
  };
  std::vector<std::deque<wildcard_receive>> wildcards_;  // By receiver, the last few.

  by_begin<held> holds_;
  std::map<std::pair<int, const void*>, std::vector<by_begin<held>::iterator>> holds_of_;
  struct exposed {
    memory_range where;
    int rank;
    bool may_be_polled;
  };
  by_begin<exposed> exposed_;
  // By rank: what it may have seen by a load, which it knows when it goes on. Empty: nothing.
  std::vector<memory_range> polled_;
  by_begin<use> uses_;
  std::size_t uses_since_look_ = 0;
  std::map<std::pair<int, const void*>, std::vector<by_begin<use>::iterator>> open_uses_;
  std::set<std::pair<int, const void*>> requests_;  // Those of use_owner::request.
  std::set<std::pair<call_list, call_list>> told_;
};

}  // namespace weft::diagnosis
