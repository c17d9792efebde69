// A rank in a collective: its turn among its own, and the meeting of all.
#pragma once
#include <algorithm>
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
#include "rank/communicator_state.hpp"
#include "rank/messages.hpp"
#include "rank/remote.hpp"
#include "trace/accounts.hpp"
#include "trace/event_file.hpp"
#include "trace/trace.hpp"

namespace weft::detail {

// Up to this many workers, each reads all dropboxes itself.
inline constexpr std::size_t tree_width = 8;

// Returns when those with smaller tickets have ended. A few thousand may be under way at once.
void wait_for_turn(worker& here, member& m, std::uint64_t ticket, const wait_description& why);
// Called when the turn has moved on, while others wait for theirs.
void tell_next(worker& here, member& m) noexcept;

// Whom its ranks wait for, by its name in either face.
[[nodiscard]] inline accounts::relation relation_of(const collective_call& call) noexcept {
  if (call.root == no_root) return accounts::relation::all;
  const std::string_view name(call.name);
  const bool gives = name.find("cast") != name.npos || name.find("catter") != name.npos;
  return gives ? accounts::relation::from_root : accounts::relation::to_root;
}

// One collective of one rank: its turn, its statistics, its slice of the timeline.
class collective_turn {
 public:
  // Inline, so that what the caller says of its call is known here; what is rare is not.
  [[gnu::always_inline]] collective_turn(communicator_state& c, int rank,
                                         const collective_call& call)
      : c_(c), me_(calling_rank(call.name)), member_(c.at(rank)), rank_(rank) {
    check_is_own(c, rank, me_, call.name);
    if (call.root != no_root && (call.root < 0 || call.root >= c.size())) [[unlikely]]
      throw_no_root(call.name, call.root);
    if (c.of.ways != nullptr && c.of.ways->between().any_has_died()) [[unlikely]]
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
    if (tracing()) [[unlikely]]
      begin_traced();
  }
  ~collective_turn() {
    member_.moving = false;
    end_turn();
    if (tracing()) [[unlikely]]
      end_traced();
  }
  collective_turn(const collective_turn&) = delete;
  collective_turn& operator=(const collective_turn&) = delete;

  // Returns when every rank has arrived. With `how`, also reduces in() of all into out() of those
  // that have one; only for small data and for orders that dropboxes can keep.
  [[gnu::always_inline]] void meet(const reduction* how = nullptr) {
    meet_all(how, c_.spans_processes());
    member_.moving = true;
  }
  // The same for ranks that show each other something; before, who speaks for a group calls `prepare(group)`.
  template <class Prepare>
  void meet_prepared(const Prepare& prepare) {
    meet_with([&](worker_group& g) {
      prepare(g);
      speak_of_meeting(g, nullptr, c_.spans_processes());
    });
    member_.moving = true;
  }
  // Only those of this process.
  void meet_here() { meet_all(nullptr, false); }
  // Returns when every rank has arrived and has what the others give it: small parts, as
  // exchanges_in_dropboxes() says, which travel in the dropboxes.
  void meet_and_exchange(const exchange_plan& plan, const parts& give, const parts& take) {
    member_.in = &give;
    member_.out = const_cast<parts*>(&take);
    meet_with([&](worker_group& g) { speak_for_exchange(g, plan); });
  }

  [[nodiscard]] member& self() noexcept { return member_; }
  [[nodiscard]] rank_state& rank() noexcept { return me_; }
  [[nodiscard]] worker& here() noexcept { return *me_.home; }
  [[nodiscard]] const wait_description& description() const noexcept { return member_.waits_in; }
  // What the leader alone does while the others wait for it: they are told when it fails.
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
  // Called after the last meeting, before which failures were noted: `own` is that of this rank.
  void end_of_moving(const std::exception_ptr& own) {
    // Relaxed: noted before a meeting of all of this process.
    if (!c_.failed.load(std::memory_order_relaxed)) [[likely]]
      return;
    // Other subgroups have not noticed.
    if (c_.spans_processes() && rank_ == c_.local()[0]) break_communicator(*me_.home, c_, {});
    if (own != nullptr) std::rethrow_exception(own);
    throw_failed(c_);
  }
  // Those of all processes, after end_of_moving(): a process of which a rank has failed does not come, and
  // tells the others.
  void meet_moved() {
    member_.moving = false;
    meet_all(nullptr, true);
  }
  // What the others are told of the exception that is handled now.
  [[nodiscard]] std::string failed_here() const { return peer_failure(c_, rank_, member_.call); }
  void notify_all() {
    for (const int worker : c_.workers)
      if (worker != me_.home->index()) me_.home->owner().at(worker).notify();
  }

 private:
  struct partial {
    alignas(64) std::byte data[small_bytes_max];
  };

  [[noreturn, gnu::cold]] void throw_no_root(const char* call, int root) const {
    throw error(std::string(call) + " with root " + std::to_string(root) +
                ": the communicator has ranks 0 to " + std::to_string(c_.size() - 1));
  }
  // What goes on beside the rank's own code is no wait of the rank.
  [[nodiscard]] bool is_beside() const noexcept { return me_.home->running().is_urgent; }
  [[nodiscard]] static bool is_barrier(std::string_view call) noexcept {
    return call.find("arrier") != call.npos || call.find("_sync") != call.npos;
  }
  [[gnu::noinline]] void begin_traced() {
    const accounts::meeting_name name{c_.to(0).number,
                                      c_.context,
                                      member_.turn,
                                      c_.size(),
                                      relation_of(member_.call),
                                      member_.call.root == rank_,
                                      is_barrier(member_.call.name),
                                      member_.call.name};
    trace_begin(trace_kind::wait_collective, me_.number, event_file::packed(name),
                static_cast<std::int64_t>(member_.call.bytes), is_beside() ? nullptr : name.call);
    if (is_beside()) return;
    accounts::begin_collective(me_.number, name);
  }
  [[gnu::noinline]] void end_traced() {
    if (!is_beside()) accounts::end_collective(me_.number);
    // Event files tell by the argument what goes on beside the rank's own code.
    if (tracing())
      record_trace_event(trace_phase::end, trace_kind::wait_collective, me_.number, is_beside());
  }
  [[gnu::always_inline]] void end_turn() noexcept {
    ++member_.turn;
    if (member_.waiting != nullptr) [[unlikely]]
      tell_next(*me_.home, member_);
  }
  [[noreturn, gnu::cold]] void leave_failed(const char* call) {
    end_turn();
    // Whoever is there already, since it did not know, waits for this rank.
    if (c_.spans_processes()) break_communicator(*me_.home, c_, {});
    throw_failed(c_, call);
  }
  // It came before this rank did.
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
    else if (across)  // Nobody else of this process is to be told.
      meet_subgroups(c_, member_.call, rank_, description());
  }

  // Inline, as are those that call it: of each frame between here and the fiber's code the return is
  // mispredicted, since others of its worker have run meanwhile.
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
      // Relaxed: the mail, which wakes those that wait, may have come already.
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
    } catch (
        ...) {  // A mismatch, which has broken the communicator, or the user's operation threw.
      break_communicator(*me_.home, c_, failed_here());
      throw;
    }
    me_.home->check_stopped();          // The others' buffers may be gone.
    if (all.pending == 0) [[unlikely]]  // Those that were woken before have not met.
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
      // In rank order, whoever came first: the same result every time.
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
    if (how != nullptr)
      for (const int r : g.members)
        if (void* out = c_.at(r).out; out != nullptr) copy_short(out, mine.data, how->bytes());
  }

  // Everybody reads everybody: one hop.
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

  // What one of `g` gives to ranks of other workers travels in its dropbox: by the giver, and, when
  // each reader gets a part of its own, by the reader.
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
      // Whether a reader is of this group is not asked of its member, whose line its own worker writes.
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
      const std::size_t readers = plan.per_reader ? c_.members.size() - other.members.size() : 0;
      for (const int reader : g.members) {
        // How many of the readers of `other` come before this one.
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

  // Up a tree and down from its root in one hop. The root is the leader's group: it meets those of
  // other processes.
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
        meet_subgroups(c_, member_.call, rank_, description());
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
    const auto& broken = c_.broken;  // Relaxed: it says only that nobody will publish.
    here().wait_until([&] { return box.holds(sequence) || broken.load(std::memory_order_relaxed); },
                      description());
    if (!box.holds(sequence)) [[unlikely]]
      throw_failed(c_);
    const contribution& theirs = box.content(sequence);
    check_same(c_, theirs.rank, theirs.call, rank_, member_.call);
    return theirs;
  }

  communicator_state& c_;
  rank_state& me_;
  member& member_;
  int rank_;
};

}  // namespace weft::detail
