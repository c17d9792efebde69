// A rank in a collective: it waits for its turn among the rank's own collectives, then it meets the other ranks.
//
// Everything is called on the home worker of the rank, by its fiber or by the fiber of a non-blocking collective.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "collective/broken_communicator.hpp"
#include "collective/calls.hpp"
#include "collective/exchange.hpp"
#include "collective/peer_failure.hpp"
#include "collective/subgroups.hpp"
#include "job/accounted_call.hpp"
#include "profile/accounts.hpp"
#include "rank/communicator_state.hpp"
#include "rank/messages.hpp"
#include "rank/remote.hpp"
#include "sync/memory_use.hpp"
#include "trace/event_file.hpp"
#include "trace/trace.hpp"

namespace weft::detail {

// Up to this many workers, each reads all dropboxes itself.
inline constexpr std::size_t tree_width = 8;

// Returns when the member's collectives with smaller tickets have ended. A few thousand may be under way at once.
void wait_for_turn(worker& here, member& m, std::uint64_t ticket, const wait_description& why);
// Called when the turn has moved on while collectives wait for theirs: makes the next one ready.
void tell_next(worker& here, member& m) noexcept;

// In a checked job: what the rank has done until it enters happened before what the others do once they have left
// (diagnosis/races.hpp).
[[gnu::noinline, gnu::cold]] void note_entered(const rank_state& me, const communicator_state& c,
                                               std::uint64_t turn);
[[gnu::noinline, gnu::cold]] void note_left(const rank_state& me, const communicator_state& c,
                                            std::uint64_t turn) noexcept;

// For the accounts: which ranks wait for which in this collective, by its name.
[[nodiscard]] inline collective_relation relation_of(const collective_call& call) noexcept {
  if (call.root == no_root) return collective_relation::all;
  const std::string_view name(call.name);
  const bool gives = name.find("cast") != name.npos || name.find("catter") != name.npos;
  return gives ? collective_relation::from_root : collective_relation::to_root;
}

// One collective of one rank: its turn, its statistics, its slice of the timeline.
class collective_turn {
 public:
  // Waits for the turn. Inline, so that the compiler knows the fields of `call`; the rare cases are functions.
  [[gnu::always_inline]] collective_turn(communicator_state& c, int rank,
                                         const collective_call& call)
      : c_(c), me_(calling_rank(call.name)), member_(c.at(rank)), rank_(rank) {
    check_is_own(c, rank, me_, call.name);
    if (call.root != no_root && (call.root < 0 || call.root >= c.size())) [[unlikely]]
      throw_no_root(call.name, call.root);
    if (const remote_messaging* const ways = c.of.ways.get();
        ways != nullptr && ways->between().any_has_died()) [[unlikely]]
      check_subgroups_alive(c, call.name);
    const std::uint64_t ticket =
        std::exchange(member_.has_turn, false) ? member_.next_ticket() : member_.tickets++;
    me_.home->begin_call();  // With the ticket taken: another fiber of this rank may run now.
    if (ticket != member_.next_ticket()) [[unlikely]]
      wait_for_turn(*me_.home, member_, ticket, {call.name, c.context, -1, -1, call.bytes});
    if (c.failed.load(std::memory_order_relaxed)) [[unlikely]]  // Relaxed: see note_failure().
      leave_failed(call.name);
    member_.call.name = call.name;
    member_.call.root = call.root;
    member_.call.same_size = call.same_size;
    member_.call.combines = call.combines;
    member_.call.bytes = call.bytes;
    member_.waits_in.call = call.name;
    member_.waits_in.peer = call.root;
    member_.waits_in.bytes = call.bytes;
    member_.acting = member_.turn;
    if (member_.asked.turn == member_.turn) [[unlikely]]
      answer_early_question();
    ++me_.counts.collectives;
    if (me_.watch != nullptr) [[unlikely]]
      note_entered(me_, c, member_.turn);
    if (tracing()) [[unlikely]]
      begin_traced();
  }
  ~collective_turn() {
    // Relaxed: who was woken because it broke knows it. Who moves looks again.
    if (member_.moving || c_.broken.load(std::memory_order_relaxed)) [[unlikely]]
      end_moving();
    if (me_.watch != nullptr) [[unlikely]]
      note_left(me_, c_, member_.turn);
    end_turn();
    if (tracing()) [[unlikely]]
      end_traced();
  }
  collective_turn(const collective_turn&) = delete;
  collective_turn& operator=(const collective_turn&) = delete;

  // Returns when every rank has arrived. With `how`, also reduces member::in of all ranks into member::out of those
  // that have one; only for small_bytes_max bytes, and for an order of ranks that the dropboxes keep.
  [[gnu::always_inline]] void meet(const reduction* how = nullptr) {
    meet_all(how, c_.spans_processes());
  }
  // meet() for ranks that expose buffers, of which others read or write parts until all of them have met again.
  void meet_to_move() {
    meet();
    begin_moving();
  }
  // Called after a meeting in which all have exposed buffers. When the communicator breaks, ranks that wait are woken although
  // others may still read or write their memory. So who leaves waits for those who move, and who has not begun does not
  // begin (sync/memory_use.hpp).
  void begin_moving() {
    if (member_.moving)
      return;  // The leader in direct transfers, who comes to their end in any case.
    if (!memory_use::try_begin(std::atomic_ref(member_.moving), c_.broken)) [[unlikely]]
      throw_failed(c_);
  }
  // meet_to_move() with steps of the caller. The speaker of each group calls `prepare(group)` first; who speaks to other
  // subgroups calls `meet_others()`, which returns when all have come.
  template <class Prepare, class MeetOthers>
  void meet_prepared(const Prepare& prepare, const MeetOthers& meet_others) {
    others_ = {[](const void* of) { (*static_cast<const MeetOthers*>(of))(); }, &meet_others};
    meet_with([&](worker_group& g) {
      prepare(g);
      speak_of_meeting(g, nullptr, c_.spans_processes());
    });
    others_ = {};
    begin_moving();
  }
  // Returns when every rank of this process has arrived.
  void meet_here() { meet_all(nullptr, false); }
  // Returns when every rank has arrived and has the parts that the others give it. Only for parts small enough for the
  // dropboxes: goes_in_dropboxes() of exchange.cpp.
  void meet_and_exchange(const exchange_plan& plan, const parts& give, const parts& take) {
    member_.in = &give;
    member_.out = const_cast<parts*>(&take);
    meet_with([&](worker_group& g) { speak_for_exchange(g, plan); });
  }

  // Returns when every rank has arrived. Where each is alone on its worker, in one process, with at most tree_width of
  // them. `say(group, number of the meeting, data)` writes what goes into the dropbox and returns its size, at most
  // small_bytes_max; `hear(group, data)` gets what each group has said, in the order of groups.
  template <class Say, class Hear>
  void meet_saying(const Say& say, const Hear& hear) {
    meet_with([&](worker_group& g) {
      ++g.sequence;
      partial mine;
      publish(g.own, g.sequence, mine, say(g, g.sequence, mine.data));
      for (worker_group& other : c_.groups)
        hear(other, (&other == &g ? g.own.content(g.sequence) : await(other.own, g.sequence)).data);
    });
  }
  // Called in a meeting in which another rank fails, and says why: throws that.
  [[noreturn, gnu::cold]] void await_failure() {
    // Relaxed: throw_failed() reads what was noted before, under a lock.
    const auto& broken = c_.broken;
    here().wait_until(looks{[&] { return broken.load(std::memory_order_relaxed); }}, description());
    throw_failed(c_);
  }

  [[nodiscard]] member& self() noexcept { return member_; }
  [[nodiscard]] rank_state& rank() noexcept { return me_; }
  [[nodiscard]] worker& here() noexcept { return *me_.home; }
  [[nodiscard]] const wait_description& description() const noexcept { return member_.waits_in; }
  // Runs `step`, which the leader alone does while the other ranks wait for it. When it throws, they are told.
  template <class Step>
  void lead(const Step& step) {
    try {
      step();
    } catch (const job_stopped&) {
      throw;
    } catch (...) {
      break_communicator(*me_.home, c_, failed_here());
      throw;
    }
  }
  // Called after the meeting that follows the moving of data, before which ranks have noted failures. Throws when any
  // rank of this process has failed; `own` is this rank's failure, or null.
  void end_of_moving(const std::exception_ptr& own) {
    // Relaxed: failures are noted before a meeting of all ranks of this process.
    if (!c_.failed.load(std::memory_order_relaxed)) [[likely]]
      return;
    // Other subgroups do not know yet.
    if (c_.spans_processes() && rank_ == c_.local()[0]) break_communicator(*me_.home, c_, {});
    if (own != nullptr) std::rethrow_exception(own);
    throw_failed(c_);
  }
  // Called after end_of_moving(): returns when the ranks of all processes have moved their data. A process in which a
  // rank has failed does not come; it has told the others.
  void meet_moved() {
    end_moving();
    meet_all(nullptr, true);
  }
  // The text for the other ranks about the exception that is being handled.
  [[nodiscard]] std::string failed_here() const { return peer_failure(c_, rank_, member_.call); }
  void notify_all() {
    for (const int worker : c_.workers)
      if (worker != me_.home->index()) me_.home->owner().at(worker).notify();
  }

 private:
  struct partial {
    alignas(64) std::byte data[small_bytes_max];
  };

  [[gnu::noinline]] void end_moving() noexcept {
    if (!memory_use::end(std::atomic_ref(member_.moving), c_.broken)) [[likely]]
      return;
    notify_all();  // They may wait for this one.
    worker& here = *me_.home;
    const auto any_moves = [&] {
      return std::ranges::any_of(c_.local(), [&](int rank) {
        return memory_use::is_in_use(std::atomic_ref(c_.at(rank).moving));
      });
    };
    if (any_moves())
      here.wait_until([&] { return !any_moves() || here.is_unwinding(); }, description(), false);
  }

  [[noreturn, gnu::cold]] void throw_no_root(const char* call, int root) const {
    throw error(std::string(call) + " with root " + std::to_string(root) +
                ": the communicator has ranks 0 to " + std::to_string(c_.size() - 1));
  }
  // Whether this goes on beside the rank's own code, as a non-blocking collective or on another thread of the rank: its
  // waits are not the rank's.
  [[nodiscard]] bool is_beside() const noexcept { return goes_on_beside(*me_.home); }
  [[nodiscard]] static bool is_barrier(std::string_view call) noexcept {
    return call.find("arrier") != call.npos || call.find("_sync") != call.npos;
  }
  [[nodiscard]] collective_name name_of_turn(std::uint64_t turn) const {
    return {c_.to(0).number,
            c_.context,
            turn,
            c_.size(),
            relation_of(member_.call),
            member_.call.root == rank_,
            is_barrier(member_.call.name),
            member_.call.name,
            c_.spans_processes()};
  }
  // The fiber of a non-blocking collective, or what stands for another thread of the rank, which has no account.
  [[nodiscard]] const void* flow() const noexcept { return &me_.home->running(); }
  [[gnu::noinline]] void begin_traced() {
    const collective_name name = name_of_turn(member_.turn);
    if (is_beside())
      profile::begin_beside(me_.number, name, member_.call.bytes, flow());
    else
      profile::begin_collective(me_.number, name, member_.call.bytes);
  }
  [[gnu::noinline]] void end_traced() {
    if (!tracing()) return;
    if (is_beside())
      profile::end_beside(me_.number, name_of_turn(member_.turn - 1), flow());
    else
      profile::end_collective(me_.number);
  }
  [[gnu::always_inline]] void end_turn() noexcept {
    ++member_.turn;
    if (member_.waiting != nullptr) [[unlikely]]
      tell_next(*me_.home, member_);
  }
  [[noreturn, gnu::cold]] void leave_failed(const char* call) {
    end_turn();
    // Ranks that did not know may be in the collective already, and wait for this one.
    if (c_.spans_processes()) break_communicator(*me_.home, c_, {});
    throw_failed(c_, call);
  }
  // A broadcast_question about this call came before the rank made it.
  [[gnu::noinline]] void answer_early_question() {
    const broadcast_question asked = std::exchange(member_.asked, {});
    try {
      collective_call call = call_of(asked);
      call.history = member_.call.history;
      check_same(c_, asked.rank, call, rank_, member_.call);
    } catch (...) {
      end_turn();
      throw;
    }
  }

  [[gnu::always_inline]] void meet_all(const reduction* how, bool across) {
    meet_with([&](worker_group& g) { speak_of_meeting(g, how, across); });
  }
  [[gnu::always_inline]] void speak_of_meeting(worker_group& g, const reduction* how, bool across) {
    if (how != nullptr || c_.groups.size() > 1)
      speak(g, how, across);
    else if (across)  // The only group of this process.
      meet_others();
  }

  void meet_others() {
    if (others_.call == nullptr) [[likely]]
      return meet_subgroups(c_, member_.call, rank_, description());
    others_.call(others_.of);
  }

  // The ranks of a worker meet: the last to arrive calls speak_for(group), the others wait for it. Inline, as are its
  // callers: other fibers run meanwhile, so the return of each frame between here and the fiber's code is mispredicted.
  template <class Speak>
  [[gnu::always_inline]] void meet_with(const Speak& speak_for) {
    worker_group& g = *member_.group;
    completion_counter& all = *g.wait;
    if (const member* const first = g.first_arrived; first == nullptr) {
      g.first_arrived = &member_;
      all.pending = 1;
    } else if (!first->call.is_surely(member_.call)) [[unlikely]] {
      check_same_slowly(c_, c_.rank_of(*first), first->call, rank_, member_.call);
    }
    member_.gathering = g.gathered + 1;
    if (--g.missing != 0) {
      // Relaxed: the mail that wakes waiting ranks of a broken communicator may have come before this wait.
      if (c_.broken.load(std::memory_order_relaxed)) [[unlikely]]
        throw_failed(c_);
      me_.home->wait(all, description());
      me_.home->check_stopped();
      if (g.gathered < member_.gathering) [[unlikely]]  // Woken because the communicator broke.
        throw_failed(c_);
      return;
    }
    try {
      speak_for(g);
    } catch (const job_stopped&) {
      throw;
    } catch (...) {  // Calls do not match, or the user's reduction operator threw.
      break_communicator(*me_.home, c_, failed_here());
      throw;
    }
    me_.home->check_stopped();          // The others' buffers may be gone.
    if (all.pending == 0) [[unlikely]]  // The communicator broke: the others were woken unmet.
      return;
    g.first_arrived = nullptr;
    g.missing = g.members.size();
    ++g.gathered;
    g.wait = &g.waits[g.gathered % 2];
    me_.home->end(all);
  }

  [[gnu::noinline]] void speak(worker_group& g, const reduction* how, bool across) {
    partial mine;
    if (how != nullptr) {
      // In rank order, whatever the order of arrival: the same result every time.
      copy_short(mine.data, c_.at(g.members[0]).in, how->bytes());
      for (std::size_t i = 1; i < g.members.size(); ++i)
        how->combine(how->op, mine.data, c_.at(g.members[i]).in, how->count);
    }
    if (across || c_.groups.size() > 1) {
      ++g.sequence;
      if (!across && c_.groups.size() <= tree_width)
        exchange(g, how, mine);
      else
        climb(g, how, mine, across);
    }
    check_all_here(g);
    if (how != nullptr)
      for (const int r : g.members)
        if (void* out = c_.at(r).out; out != nullptr) copy_short(out, mine.data, how->bytes());
  }

  // After a wait of the speaker: the others of its group may have been woken unmet meanwhile, because the communicator broke.
  // Their memory is theirs again.
  void check_all_here(const worker_group& g) const {
    if (g.wait->pending == 0) [[unlikely]]
      throw_failed(c_);
  }

  // The speakers of up to tree_width groups: each reads the dropboxes of all.
  void exchange(worker_group& g, const reduction* how, partial& mine) {
    publish(g.own, g.sequence, mine, how != nullptr ? how->bytes() : 0);
    partial total;
    bool first = true;
    for (worker_group& other : c_.groups) {
      const contribution& theirs =
          &other == &g ? g.own.content(g.sequence) : await(other.own, g.sequence);
      if (how == nullptr) continue;
      if (std::exchange(first, false))
        copy_short(total.data, theirs.data, how->bytes());
      else
        how->combine(how->op, total.data, theirs.data, how->count);
    }
    if (how != nullptr) copy_short(mine.data, total.data, how->bytes());
  }

  // The parts that ranks of `g` give to ranks of other workers travel in its dropbox, ordered by the giver and, when
  // each reader gets a part of its own, then by the reader.
  void speak_for_exchange(worker_group& g, const exchange_plan& plan) {
    const std::size_t bytes = plan.part_bytes;
    const auto part_of = [&](int giver, int reader) {
      return static_cast<const parts*>(c_.at(giver).in)->at(reader);
    };
    const auto take = [&](int reader, int giver, const std::byte* from) {
      static_cast<const parts*>(c_.at(reader).out)->put(giver, from, bytes);
    };
    partial mine;
    std::byte* to = mine.data;
    for (const int giver : g.members) {
      const parts& given = *static_cast<const parts*>(c_.at(giver).in);
      const int readers = plan.per_reader ? c_.size() : 1;
      // Readers of this group are skipped by its list: a reader's own worker writes the line of its `member`.
      auto own = g.members.begin();
      for (int reader = 0; reader < readers; ++reader) {
        if (plan.per_reader && own != g.members.end() && *own == reader) {
          ++own;
          continue;
        }
        given.get(reader, to, bytes);
        to += bytes;
      }
    }
    ++g.sequence;
    if (c_.groups.size() > 1)
      publish(g.own, g.sequence, mine, static_cast<std::size_t>(to - mine.data));
    for (const int reader : g.members)
      for (const int giver : g.members) {
        if (giver == reader && plan.leaves_own) continue;
        const parts& given = *static_cast<const parts*>(c_.at(giver).in);
        if (const std::byte* row = given.row(reader); row != nullptr) [[likely]] {
          take(reader, giver, row);
        } else {
          const segments part = part_of(giver, reader);
          copy_segments(static_cast<const parts*>(c_.at(reader).out)->at(giver), part, 0, bytes);
        }
      }
    for (worker_group& other : c_.groups) {
      if (&other == &g) continue;
      const std::byte* const theirs = await(other.own, g.sequence).data;
      check_all_here(g);
      const std::size_t readers = plan.per_reader ? c_.members.size() - other.members.size() : 0;
      for (const int reader : g.members) {
        // The number of ranks outside `other` that come before this reader.
        const std::size_t place =
            plan.per_reader
                ? static_cast<std::size_t>(reader) -
                      static_cast<std::size_t>(
                          std::lower_bound(other.members.begin(), other.members.end(), reader) -
                          other.members.begin())
                : 0;
        for (std::size_t i = 0; i < other.members.size(); ++i)
          take(reader, other.members[i],
               theirs + (plan.per_reader ? i * readers + place : i) * bytes);
      }
    }
  }

  // The speakers of more groups, or of several processes: up a tree by the groups' `own`, then down from its root in
  // one hop by `result`. The root is the leader's group; its speaker meets the other subgroups.
  void climb(worker_group& g, const reduction* how, partial& mine, bool across) {
    const auto index = static_cast<std::size_t>(&g - c_.groups.data());
    const std::size_t bytes = how != nullptr ? how->bytes() : 0;
    const std::size_t first_child = tree_width * index + 1;
    const std::size_t last_child = std::min(first_child + tree_width, c_.groups.size());
    for (std::size_t child = first_child; child < last_child; ++child) {
      const contribution& theirs = await(c_.groups[child].own, g.sequence);
      if (how != nullptr) how->combine(how->op, mine.data, theirs.data, how->count);
    }
    if (index == 0) {
      if (across && how != nullptr)
        reduce_over_subgroups(c_, member_.call, rank_, description(), *how, mine.data);
      else if (across)
        meet_others();
      if (c_.groups.size() > 1) publish(g.result, g.sequence, mine, bytes);
      return;
    }
    publish(g.own, g.sequence, mine, bytes);
    const contribution& result = await(c_.groups[0].result, g.sequence);
    if (how != nullptr) std::memcpy(mine.data, result.data, how->bytes());
  }

  void publish(dropbox<contribution>& box, std::uint64_t sequence, const partial& mine,
               std::size_t bytes) {
    box.publish(sequence, [&](contribution& to) {
      to.call = member_.call;
      to.rank = rank_;
      copy_short(to.data, mine.data, bytes);
    });
    notify_all();
  }
  const contribution& await(const dropbox<contribution>& box, std::uint64_t sequence) {
    const auto& broken = c_.broken;  // Relaxed: it only says that nobody will publish.
    here().wait_until(
        looks{[&] { return box.holds(sequence) || broken.load(std::memory_order_relaxed); }},
        description());
    if (!box.holds(sequence)) [[unlikely]]
      throw_failed(c_);
    const contribution& theirs = box.content(sequence);
    check_same(c_, theirs.rank, theirs.call, rank_, member_.call);
    return theirs;
  }

  // What the ranks of this process do to meet those of others, when they do more than that.
  struct other_meeting {
    void (*call)(const void* of) = nullptr;
    const void* of = nullptr;
  };

  communicator_state& c_;
  rank_state& me_;
  member& member_;
  int rank_;
  other_meeting others_{};
};

}  // namespace weft::detail
