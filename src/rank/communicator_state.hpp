// What a communicator is made of: who is in it, for messages; and where its ranks meet, for collectives
// (src/collective), whose data lie here so that a communicator is one piece of memory.
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

namespace weft::detail {

struct parts;
struct subgroup_meetings;  // collective/meetings.hpp

// What a rank calls on a communicator; must be the same on all.
struct collective_call {
  collective_call() = default;
  collective_call(const char* call, std::int32_t from, bool same, std::uint64_t byte_view,
                  combination combined = {}) noexcept
      : name(call), root(from), same_size(same), combines(combined), bytes(byte_view) {}
  const char* name = "";
  std::int32_t root = no_root;
  bool same_size = true;  // Whether all ranks pass as many bytes.
  combination combines;   // Of a reduction.
  std::uint64_t bytes = 0;
  // Roots and sizes of the small broadcasts so far, whose roots met nobody, as one number. That of a
  // member's call goes on from call to call.
  std::uint64_t history = 0;

  // True: the same in all that is compared here. False: perhaps; see is_same(). One branch: it is asked often.
  [[nodiscard]] bool is_surely(const collective_call& other) const noexcept {
    const auto differences = (bytes ^ other.bytes) | (history ^ other.history) |
                             static_cast<std::uint32_t>(root ^ other.root) |
                             static_cast<std::uint16_t>(combines.code ^ other.combines.code);
    return name == other.name && differences == 0;
  }
};

struct worker_group;

// One rank's side of a communicator: written by its worker, read by others after they have met.
// That of a rank of another process is written by the leader: it shows what has come from there.
struct alignas(padding_bytes) member {
  // What others read stands in a cache line of its own, what the rank touches in every collective in the next two.
  rank_state* rank = nullptr;  // Null: of another process.
  worker_group* group = nullptr;
  const void* in = nullptr;
  void* out = nullptr;
  const void* more = nullptr;    // What else a collective shows the others.
  const parts* takes = nullptr;  // Where what it gets belongs, when others may put it there.
  std::size_t bytes = 0;
  std::ptrdiff_t stride = 0;  // From part to part of those that it shows, in exchange().

  alignas(cache_line) collective_call call;
  std::uint64_t gathering = 0;  // Of its group, the last to which it came, counted from 1.
  std::uint64_t tickets = 0;    // Collectives called, those that were refused too.
  std::uint64_t turn = 0;       // Collectives ended: those of one rank take turns.
  // Non-blocking ones that had their turn and were none: others make no such call.
  std::uint64_t refused = 0;

  alignas(cache_line) bool moving = false;  // Past the first meeting of a collective.
  bool has_turn = false;      // A collective's own fiber, which waited for its turn, calls now.
  wait_description waits_in;  // The same as `call`, for reports, while it waits.
  std::uint64_t acting = broadcast_question::none;  // The turn for which `call` is.
  broadcast_question asked;                         // About a turn that has not come.
  std::uint64_t broadcasts = 0;
  // For their turn, by ticket; none before the first that waits.
  std::unique_ptr<std::map<std::uint64_t, completion_counter*>> waiting;

  [[nodiscard]] std::uint64_t next_ticket() const noexcept { return turn + refused; }
  [[nodiscard]] std::uint64_t called() const noexcept { return tickets - refused; }
};

// What the last to arrive of one worker tells the other workers, and the root of a small broadcast
// all ranks.
inline constexpr std::size_t small_bytes_max = 960;
struct contribution {
  collective_call call;
  std::int32_t rank = 0;
  alignas(8) std::byte data[small_bytes_max];
};

// Where the ranks of one worker meet: Pure's sequenced dropbox, one for each worker instead of each
// thread.
struct alignas(padding_bytes) worker_group {
  std::vector<int> members;  // In rank order. Never changes, and all workers read it.
  // From here on of its own worker, but for the dropboxes.
  alignas(cache_line) std::size_t missing = 0;  // Of the members, in this gathering.
  const member* first_arrived = nullptr;        // Null: none.
  std::uint64_t gathered = 0;                   // How often all have arrived.
  // From the first arrival to the last; used in turn: the next but one gathering begins after all have
  // come to the next, and so have left this one.
  std::array<completion_counter, 2> waits;
  completion_counter* wait = &waits[0];  // Of this gathering.
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
      members;  // In rank order; the first leads: it speaks for all to other subgroups.
};

// What a collective has brought here from other subgroups: written by the leader, read by all ranks of
// this process after they have met again.
struct staging {
  std::vector<std::unique_ptr<std::byte[]>> buffers;
  // By the rank that shows, and, when each reader gets a part of its own, by the reader's place here.
  std::vector<std::span<const std::byte>> parts;
  // Of a large reduction: this process's own result, the same of other subgroups, and what comes out.
  std::unique_ptr<std::byte[]> partials;
  std::byte* partial = nullptr;
  std::byte* arriving = nullptr;
  std::byte* result = nullptr;
  std::uint32_t context = 0;  // Agreed upon for new communicators.
};

struct communicator_state : std::enable_shared_from_this<communicator_state> {
  // `ranks` are numbers in the world; all that a communicator shares with others carries `number`.
  // From then on other workers find it, hence whole.
  [[nodiscard]] static std::shared_ptr<communicator_state> make(messaging& of,
                                                                const std::vector<int>& ranks,
                                                                std::uint32_t number);
  communicator_state(messaging& of, const std::vector<int>& ranks,
                     std::uint32_t number);  // For make().
  ~communicator_state();
  communicator_state(const communicator_state&) = delete;
  communicator_state& operator=(const communicator_state&) = delete;
  messaging& of;  // Whose job it is in.
  const std::shared_ptr<communicator_list> listed_in;
  const std::uint32_t context;
  const int rank_count;
  std::vector<peer> peers;
  std::vector<member> members;
  std::vector<worker_group> groups;
  std::vector<int> workers;         // Of the groups, apart from what they write.
  std::vector<subgroup> subgroups;  // In the order of their first ranks.
  // Where each rank is, for those that outlive the communicator; null when all are here.
  std::shared_ptr<const std::int32_t[]> processes;
  int here = -1;  // This process among them.
  // Of the groups the largest, and the most that one gives where each of its ranks has a part for each
  // rank of the others.
  std::size_t ranks_of_group_max = 0;
  std::size_t parts_of_group_max = 0;
  bool subgroups_in_rank_order = true;
  // The subgroups of each node, in their order, which meet before the first of them speaks to other nodes.
  // Where there is one node only, every subgroup counts as one.
  std::vector<std::vector<int>> nodes;
  std::vector<int> node_of_subgroup;
  // A collective has failed: none works any more. `broken` also says that not all ranks will come to
  // the end of the one that they are in. See broken_communicator.cpp.
  std::atomic<bool> failed{false};
  std::atomic<bool> broken{false};
  std::atomic<bool> cut_off{false};  // Nothing is said to other subgroups any more.
  int conversations = 0;  // Of the leader with other subgroups, under way. Of its worker.
  std::string failure;    // The first; written under the lock of the list before `failed`.
  // Whether small reductions combine the ranks in their order, in all processes.
  bool combines_in_rank_order = true;
  staging staged;
  std::unique_ptr<small_broadcasts> broadcasts;  // Null for one rank alone.
  subgroup_meetings* meetings =
      nullptr;  // Of the leader's worker, from the first meeting of subgroups on.

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
  // Whether it waits in its group, or speaks for it.
  [[nodiscard]] bool has_arrived(const member& m) const noexcept {
    return m.group != nullptr && m.gathering > m.group->gathered;
  }
  [[nodiscard]] bool spans_processes() const noexcept { return subgroups.size() > 1; }
  // The ranks of this process; the first of them leads.
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
  // Of a rank that another process names; -1: there is no such rank.
  [[nodiscard]] int process_of(int rank) const noexcept {
    if (rank < 0 || rank >= rank_count) return -1;
    return processes != nullptr ? processes[rank] : subgroups[0].process;
  }
  [[nodiscard]] bool has_ranks_in(int process) const noexcept {
    return std::any_of(subgroups.begin(), subgroups.end(),
                       [&](const subgroup& s) { return s.process == process; });
  }
  // The place of a rank of this process among those of local().
  [[nodiscard]] std::size_t local_place(int rank) const noexcept {
    return static_cast<std::size_t>(std::lower_bound(local().begin(), local().end(), rank) -
                                    local().begin());
  }

 private:
  bool group_subgroups_by_node();
};

}  // namespace weft::detail
