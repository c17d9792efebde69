// One meeting of the subgroups of a communicator, as the leader of one of them holds it: what it says to other
// subgroups, and hears from them. The slots are those of meetings.hpp.
//
// Called on the home worker of the leader, by the fiber that comes last to the meeting of this process.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/format.hpp"
#include "collective/broken_communicator.hpp"
#include "collective/calls.hpp"
#include "collective/meetings.hpp"
#include "collective/peer_failure.hpp"
#include "collective/remote_subgroups.hpp"
#include "collective/subgroups.hpp"
#include "rank/names.hpp"

namespace weft::detail {

class subgroups_meeting {
 public:
  subgroups_meeting(communicator_state& c, const collective_call& call, int rank,
                    const wait_description& what)
      : c_(c),
        call_(call),
        rank_(rank),
        what_(what),
        ways_(*c.of.subgroups),
        all_(ways_.meetings_of(c)),
        leader_(*all_.leader),
        sequence_(++all_.sequence),
        digest_(all_.digest_of(call)),
        until_all_is_over_(&c) {
    subgroup_meetings::begun& mine = all_.mine[sequence_ % 2];
    mine.sequence = sequence_;
    mine.call = call;
    mine.rank = rank;
  }
  subgroups_meeting(const subgroups_meeting&) = delete;
  subgroups_meeting& operator=(const subgroups_meeting&) = delete;

  // First the subgroups of each node, then the heads of the nodes, then those of each node again.
  void meet() {
    if (all_.steps.empty()) [[unlikely]]
      lay_out();
    for (subgroup_meetings::step& s : all_.steps)
      if (s.to != nullptr)
        ways_.say(leader_, *s.to, s.word, sequence_, digest_, {}, what_);
      else
        (void)hear(*s.from, s.subgroup);
  }
  void reduce(const reduction& how, std::byte* data) {
    const byte_view mine(data, how.bytes());
    const auto hand_on = [&](int subgroup) { say(subgroup, mine); };
    if (climb([&](int subgroup) { take(how, data, subgroup); }, hand_on))
      reduce_over_heads(how, data);
    descend([&](int subgroup) { std::memcpy(data, hear(subgroup), how.bytes()); }, hand_on);
  }

  void say(int subgroup, byte_view data) { say(subgroup, data, digest_); }
  // Says that this subgroup has come here, also when it has failed. Neither waits nor throws.
  void tell(int subgroup, bool failed) const noexcept {
    ways_.tell(leader_, c_.to(leader_at(subgroup)), c_.context, sequence_,
               failed ? failed_digest(digest_) : digest_);
  }
  // The digest of a subgroup that has failed.
  [[nodiscard]] static std::uint64_t failed_digest(std::uint64_t digest) noexcept {
    return ~digest;
  }
  // The data that the other subgroup has sent in this meeting. The caller may write to them.
  [[nodiscard]] std::byte* hear(int subgroup) {
    return hear(all_.of(process_of(subgroup)), subgroup);
  }

 private:
  void lay_out() {
    const auto hear_it = [&](int subgroup) {
      all_.steps.push_back({.subgroup = subgroup, .from = &all_.of(process_of(subgroup))});
    };
    const auto tell_it = [&](int subgroup) {
      const peer& leader = c_.to(leader_at(subgroup));
      all_.steps.push_back(
          {.subgroup = subgroup, .to = &leader, .word = ways_.word_to(leader, c_.context)});
    };
    if (climb(hear_it, tell_it)) meet_heads(hear_it, tell_it);
    descend(hear_it, tell_it);
  }
  [[nodiscard]] int node() const noexcept {
    return c_.node_of_subgroup[static_cast<std::size_t>(c_.here)];
  }
  [[nodiscard]] const std::vector<int>& on_node() const noexcept { return c_.node_at(node()); }
  [[nodiscard]] int place() const noexcept { return static_cast<int>(place_on_node(c_, c_.here)); }
  [[nodiscard]] int subgroup_at(int place) const noexcept {
    return on_node()[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] int head(int node) const noexcept { return c_.node_at(node)[0]; }

  // Up a binomial tree, in which every subgroup takes what those behind it have combined: so the order
  // is kept. True for the head, to which all comes.
  template <class Take, class Say>
  bool climb(const Take& take_from, const Say& say_to) {
    const int count = static_cast<int>(on_node().size());
    const int me = place();
    for (int step = 1; step < count; step *= 2) {
      if ((me & step) != 0) {
        say_to(subgroup_at(me - step));
        return false;
      }
      if (me + step < count) take_from(subgroup_at(me + step));
    }
    return true;
  }
  // Down the same tree.
  template <class Take, class Say>
  void descend(const Take& take_from, const Say& say_to) {
    const int count = static_cast<int>(on_node().size());
    const int me = place();
    int step = static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)));
    if (me != 0) {
      step = me & -me;
      take_from(subgroup_at(me - step));
    }
    for (step /= 2; step != 0; step /= 2)
      if (me + step < count) say_to(subgroup_at(me + step));
  }

  // Dissemination: after round k every node has heard of the 2^k before it.
  template <class Take, class Say>
  void meet_heads(const Take& take_from, const Say& say_to) {
    const int nodes = static_cast<int>(c_.nodes.size());
    for (int step = 1; step < nodes; step *= 2) {
      say_to(head((node() + step) % nodes));
      take_from(head((node() - step + nodes) % nodes));
    }
  }

  // Recursive doubling between neighbours, so that blocks of nodes are combined in their order, and
  // by the same calls on both sides. Nodes beyond a power of two give their data before the rounds, and get the result after them.
  void reduce_over_heads(const reduction& how, std::byte* data) {
    const int nodes = static_cast<int>(c_.nodes.size());
    const int me = node();
    const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(nodes)));
    const int extra = nodes - power;
    const byte_view mine(data, how.bytes());
    if (me < 2 * extra && me % 2 == 0) {
      say(head(me + 1), mine);
      std::memcpy(data, hear(head(me + 1)), how.bytes());
      return;
    }
    const bool is_paired = me < 2 * extra;
    if (is_paired) take(how, data, head(me - 1));
    const int place = is_paired ? me / 2 : me - extra;
    for (int mask = 1; mask < power; mask *= 2) {
      const int other = place ^ mask;
      const int partner = head(other < extra ? 2 * other + 1 : other + extra);
      say(partner, mine);
      take(how, data, partner);
    }
    if (is_paired) say(head(me - 1), mine);
  }

  [[nodiscard]] int process_of(int subgroup) const noexcept {
    return c_.subgroups[static_cast<std::size_t>(subgroup)].process;
  }
  [[nodiscard]] int leader_at(int subgroup) const noexcept {
    return c_.subgroups[static_cast<std::size_t>(subgroup)].members[0];
  }
  [[nodiscard]] bool is_dead(int process) const noexcept {
    return ways_.ways().between().any_has_died() &&
           !remote::port::of(*leader_.home).is_alive(process);
  }

  void say(int subgroup, byte_view data, std::uint64_t digest) {
    const peer& leader = c_.to(leader_at(subgroup));
    comm::am word = ways_.word_to(leader, c_.context);
    ways_.say(leader_, leader, word, sequence_, digest, data, what_);
  }
  [[nodiscard]] std::byte* hear(subgroup_meetings::other& from, int subgroup) {
    meeting_slot& theirs = from.said[sequence_ % 2];
    wait_for([&] { return theirs.sequence == sequence_; }, from.process);
    if (theirs.digest != digest_) [[unlikely]]
      find_difference(subgroup);
    return theirs.data;
  }
  // Until the other side has answered. Throws when it will not.
  template <class Came>
  void wait_for(const Came& came, int process) {
    leader_.home->wait_until(
        [&] {
          // Relaxed: they say only that nobody will come.
          return came() || c_.broken.load(std::memory_order_relaxed) ||
                 c_.cut_off.load(std::memory_order_relaxed) || is_dead(process);
        },
        what_);
    if (came()) [[likely]]
      return;
    leader_.home->check_stopped();
    if (is_dead(process)) check_subgroups_alive(c_, call_.name);
    throw_failed(c_);
  }
  // Digests alone travel, so the subgroup is asked which call that was.
  [[noreturn, gnu::noinline]] void find_difference(int subgroup) {
    const remote_subgroups::call_question asked(ways_, leader_, c_.to(leader_at(subgroup)),
                                                c_.context, sequence_);
    wait_for([&] { return asked.is_answered(); }, process_of(subgroup));
    if (asked.call().name[0] != '\0') check_call(c_, asked.call(), rank_, call_);
    throw coded_error(
        formatted(
            "collective mismatch on {}: rank {} calls {}, but process {} has called something "
            "else: all ranks must call the same collectives in the same order, with the same "
            "sizes",
            name_of(c_), rank_, described(call_), process_of(subgroup)),
        calls_differ);
  }
  // Combines what that subgroup says with `data`.
  void take(const reduction& how, std::byte* data, int subgroup) {
    std::byte* const theirs = hear(subgroup);
    if (subgroup < c_.here) {
      how.combine(how.op, theirs, data, how.count);
      std::memcpy(data, theirs, how.bytes());
    } else {
      how.combine(how.op, data, theirs, how.count);
    }
  }

  communicator_state& c_;
  const collective_call& call_;
  const int rank_;
  const wait_description& what_;
  remote_subgroups& ways_;
  subgroup_meetings& all_;
  rank_state& leader_;
  const std::uint32_t sequence_;
  const std::uint64_t digest_;
  const conversation until_all_is_over_;
};

}  // namespace weft::detail
