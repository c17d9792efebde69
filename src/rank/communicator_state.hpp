// What a communicator is made of: who is in it, for messages; and where its ranks meet, for collectives. The data of
// collectives (src/collective) lie here so that a communicator is one piece of memory.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rank/state.hpp"
#include "sync/dropbox.hpp"
#include "sync/published.hpp"

namespace weft::detail {

struct parts;
struct subgroup_meetings;  // collective/meetings.hpp

// The collective that a rank calls on a communicator. All ranks have to make the same call; they compare this.
struct collective_call {
  collective_call() = default;
  collective_call(const char* call, std::int32_t from, bool same, std::uint64_t size,
                  combination combined = {}) noexcept
      : name(call), root(from), same_size(same), combines(combined), bytes(size) {}
  const char* name = "";
  std::int32_t root = no_root;
  bool same_size = true;  // Whether all ranks pass as many bytes.
  combination combines;   // A reduction's operator and type.
  std::uint64_t bytes = 0;
  // Roots and sizes of the member's small broadcasts so far, folded into one number: in these nobody meets and compares
  // calls, so the next meeting does (calls.hpp).
  std::uint64_t history = 0;

  // True: the two calls are the same. False: they may be; is_same() decides. One branch, since it runs in each meeting.
  [[nodiscard]] bool is_surely(const collective_call& other) const noexcept {
    const auto differences = (bytes ^ other.bytes) | (history ^ other.history) |
                             static_cast<std::uint32_t>(root ^ other.root) |
                             static_cast<std::uint16_t>(combines.code ^ other.combines.code);
    return name == other.name && differences == 0;
  }
};

struct worker_group;

// What a rank knows of the ranks of a communicator that have died, in the order in which it has found them, and how many of
// these it has acknowledged.
struct known_failures {
  std::vector<int> ranks;
  std::size_t acknowledged = 0;
};

// One rank's side of a communicator. Its worker writes it; other ranks read it after they have met. For a rank of
// another process the leader writes it: the fields then say where the data from there are.
struct alignas(padding_bytes) member {
  // Other ranks read the first cache line. The rank touches the next two in every collective.
  rank_state* rank = nullptr;  // Null: in another process.
  worker_group* group = nullptr;
  const void* in = nullptr;      // The buffer that others read in this collective.
  void* out = nullptr;           // The buffer that others may write.
  const void* more = nullptr;    // A third thing that the collective shows the others.
  const parts* takes = nullptr;  // Set when others may write: where each part belongs.
  std::size_t bytes = 0;
  std::ptrdiff_t stride = 0;  // In exchange(): from one part of `in` to the next.

  alignas(cache_line) collective_call call;
  std::uint64_t gathering = 0;  // The last gathering of its group that it came to, from 1.
  std::uint64_t tickets = 0;    // Collectives called, with refused ones. They take turns by ticket.
  std::uint64_t turn = 0;       // Collectives ended.
  // Non-blocking collectives that were refused when their turn came: no other rank waits for them.
  std::uint64_t refused = 0;

  alignas(cache_line) bool moving = false;  // It has passed the first meeting of a collective.
  bool has_turn = false;  // The caller is the fiber of a non-blocking collective whose turn came.
  wait_description waits_in;                        // `call` for reports, while the rank waits.
  std::uint64_t acting = broadcast_question::none;  // The turn that `call` belongs to.
  broadcast_question asked;                         // A question about a turn that has not come.
  std::uint64_t broadcasts = 0;
  // Collectives that wait for their turn, by ticket. Made for the first that waits.
  std::unique_ptr<std::map<std::uint64_t, completion_counter*>> waiting;

  // A face's count of the ranks that messages may go to: 0 from when the communicator is revoked. Null: the rank has no
  // face that tells its program of failures.
  int* open_peers = nullptr;
  std::unique_ptr<known_failures> failures;  // Made by the first question.

  [[nodiscard]] std::uint64_t next_ticket() const noexcept { return turn + refused; }
  [[nodiscard]] std::uint64_t called() const noexcept { return tickets - refused; }
};

// What the speaker of one worker tells the other workers, and what the root of a small broadcast tells all ranks.
inline constexpr std::size_t small_bytes_max = 960;
struct contribution {
  collective_call call;
  std::int32_t rank = 0;
  alignas(8) std::byte data[small_bytes_max];
};

// Where the ranks of one worker meet, and the worker's dropbox: Pure's sequenced dropbox, one for each worker instead
// of each thread.
struct alignas(padding_bytes) worker_group {
  std::vector<int> members;  // In rank order. Never changes, and all workers read it.
  // The rest belongs to the group's own worker, but for the dropboxes, which all workers read.
  alignas(cache_line) std::size_t missing = 0;  // Members that have not come to this gathering yet.
  const member* first_arrived = nullptr;        // Null: none.
  std::uint64_t gathered = 0;                   // The number of gatherings to which all have come.
  // Members wait for one of the two, by turns. When all have come to the next gathering, all have left this one, so its
  // counter is free for the gathering after that.
  std::array<completion_counter, 2> waits;
  completion_counter* wait = &waits[0];  // The one of this gathering.
  std::uint64_t sequence = 0;
  dropbox<contribution> own;     // Up the tree.
  dropbox<contribution> result;  // Down from the first group, when there are many.
};

struct small_broadcasts {
  static constexpr std::size_t slots = 16;
  broadcast_slots<contribution, slots> sent;
};

// The ranks of a communicator that one process holds.
struct subgroup {
  int process = 0;
  std::vector<int>
      members;  // In rank order. The first is the leader: it speaks for all to other subgroups.
};

// What a collective has brought here from other subgroups. The leader writes it; all ranks of this process read it
// after they have met again.
struct staging {
  std::vector<std::unique_ptr<std::byte[]>> buffers;
  // By the rank that sends, and, when each receiver gets a part of its own, then by the receiver's local_place().
  std::vector<std::span<const std::byte>> parts;
  // For a large reduction: memory of the three buffers below, which are this process's own result, that of another
  // subgroup as it arrives, and the combined result.
  std::unique_ptr<std::byte[]> partials;
  std::byte* partial = nullptr;
  std::byte* arriving = nullptr;
  std::byte* result = nullptr;
  std::uint32_t context = 0;  // The context that was agreed on for new communicators.
};

struct communicator_state {
  // `ranks` are numbers in the world, `number` is the context. Lists the communicator, so other workers find it from
  // then on: it is complete by then.
  [[nodiscard]] static shared_handle<communicator_state> make(messaging& of,
                                                              const std::vector<int>& ranks,
                                                              std::uint32_t number);
  communicator_state(messaging& of, const std::vector<int>& ranks,
                     std::uint32_t number);  // For make().
  ~communicator_state();
  communicator_state(const communicator_state&) = delete;
  communicator_state& operator=(const communicator_state&) = delete;
  messaging& of;  // Of its job.
  const std::shared_ptr<communicator_list> listed_in;
  const std::uint32_t context;
  const int rank_count;
  std::vector<peer> peers;
  std::vector<member> members;
  std::vector<worker_group> groups;
  std::vector<int> workers;         // Of the groups, in memory that these do not write.
  std::vector<subgroup> subgroups;  // In the order of their first ranks.
  // The process of each rank, shared with known_sources, which may outlive the communicator; null when all are here.
  std::shared_ptr<const std::int32_t[]> processes;
  int here = -1;  // The index of this process's subgroup.
  // The ranks of the largest group; and the most parts that a group gives when each of its ranks has a part for each
  // rank of the other groups.
  std::size_t ranks_of_group_max = 0;
  std::size_t parts_of_group_max = 0;
  bool subgroups_in_rank_order = true;
  // The subgroups of each node, in order. They meet on their node first; then the first of each node speaks to the
  // other nodes. With a single node each subgroup counts as a node.
  std::vector<std::vector<int>> nodes;
  std::vector<int> node_of_subgroup;
  // `failed`: a collective has failed, and none works any more. `broken`: moreover, not all ranks will come to the
  // end of the collective that they are in. See broken_communicator.cpp.
  std::atomic<bool> failed{false};
  std::atomic<bool> broken{false};
  std::atomic<bool> cut_off{false};              // Nothing is sent to other subgroups any more.
  std::atomic<bool> revoked{false};              // Operations on it fail, but shrink and agree.
  std::atomic<bool> has_told_revocation{false};  // This process has told the others.
  // The context of the communicator with the same ranks with which this one is revoked.
  std::atomic<std::uint32_t> revoked_with{wait_description::no_context};
  std::atomic<bool> has_agreed{
      false};             // Its ranks have begun agreements (collective/agreements.hpp).
  int conversations = 0;  // See conversation. The leader's worker's.
  std::string failure;  // The first failure; written under the list's lock before `failed` is set.
  // Whether small reductions combine the ranks in their order, in all processes.
  bool combines_in_rank_order = true;
  staging staged;
  std::unique_ptr<small_broadcasts> broadcasts;  // Null for one rank alone.
  subgroup_meetings* meetings = nullptr;  // Of the leader's worker; null before the first meeting.
  join_count<> owners;                    // Handles. The last to go ends the communicator.

  [[nodiscard]] int size() const noexcept { return rank_count; }
  [[nodiscard]] bool has(int rank) const noexcept {
    return static_cast<unsigned>(rank) < static_cast<unsigned>(rank_count);
  }
  [[nodiscard]] const peer& to(int rank) const noexcept {
    return peers[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] member& at(int rank) noexcept { return members[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int rank_of(const member& m) const noexcept {
    return static_cast<int>(&m - members.data());
  }
  // Whether the member waits in its group, or speaks for it.
  [[nodiscard]] bool has_arrived(const member& m) const noexcept {
    return m.group != nullptr && m.gathering > m.group->gathered;
  }
  [[nodiscard]] bool spans_processes() const noexcept { return subgroups.size() > 1; }
  // The ranks of this process; the first is their leader.
  [[nodiscard]] const std::vector<int>& local() const noexcept {
    return subgroups[static_cast<std::size_t>(here)].members;
  }
  [[nodiscard]] int subgroup_of(int rank) const noexcept {
    int s = 0;
    while (!std::binary_search(subgroups[static_cast<std::size_t>(s)].members.begin(),
                               subgroups[static_cast<std::size_t>(s)].members.end(), rank))
      ++s;
    return s;
  }
  [[nodiscard]] const std::vector<int>& node_at(int node) const noexcept {
    return nodes[static_cast<std::size_t>(node)];
  }
  // The process of a rank that a message from another process names; -1: there is no such rank.
  [[nodiscard]] int process_of(int rank) const noexcept {
    if (rank < 0 || rank >= rank_count) return -1;
    return processes != nullptr ? processes[rank] : subgroups[0].process;
  }
  [[nodiscard]] bool has_ranks_in(int process) const noexcept {
    return std::any_of(subgroups.begin(), subgroups.end(),
                       [&](const subgroup& s) { return s.process == process; });
  }
  // The index in local() of a rank of this process.
  [[nodiscard]] std::size_t local_place(int rank) const noexcept {
    return static_cast<std::size_t>(std::lower_bound(local().begin(), local().end(), rank) -
                                    local().begin());
  }

 private:
  bool group_subgroups_by_node();
};

// While it exists the leader's subgroup talks to others: no rank of it may leave the collective, whose buffers may be read and
// written. Made and destroyed on the leader's worker. Null: does nothing.
class conversation {
 public:
  explicit conversation(communicator_state* of) noexcept : of_(of) {
    if (of_ != nullptr) ++of_->conversations;
  }
  ~conversation() {
    if (of_ != nullptr) --of_->conversations;
  }
  conversation(const conversation&) = delete;
  conversation& operator=(const conversation&) = delete;

 private:
  communicator_state* const of_;
};

}  // namespace weft::detail
