// What the subgroups of a communicator send each other in a collective. The leader of a subgroup speaks for all its
// ranks. Its messages are messages between ranks, in a context of their own (hidden_context).
//
// Called on the home worker of the leader, by the fiber that comes last to a meeting.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "collective/control_messages.hpp"
#include "rank/communicator_state.hpp"
#include "weft/reduction.hpp"

namespace weft::detail {

// Tags in the hidden context.
inline constexpr int tag_of_parts = 1;
inline constexpr int tag_of_lengths = 2;
inline constexpr int tag_of_broadcast = 1 << 30;  // Plus the broadcast's number, modulo 2^30.

// The subgroups of a subgroup's node, and its place among them.
[[nodiscard]] inline const std::vector<int>& node_subgroups(const communicator_state& c,
                                                            int subgroup) noexcept {
  return c.node_at(c.node_of_subgroup[static_cast<std::size_t>(subgroup)]);
}
[[nodiscard]] inline std::size_t place_on_node(const communicator_state& c, int subgroup) noexcept {
  const std::vector<int>& subgroups = node_subgroups(c, subgroup);
  return static_cast<std::size_t>(std::lower_bound(subgroups.begin(), subgroups.end(), subgroup) -
                                  subgroups.begin());
}

// Several sends and receives between leaders, under way together.
class subgroup_messages {
 public:
  // `speaker`: the rank on whose worker this runs: the leader, or the root of a broadcast.
  subgroup_messages(communicator_state& c, rank_state& speaker,
                    const wait_description& what) noexcept;
  subgroup_messages(const subgroup_messages&) = delete;
  subgroup_messages& operator=(const subgroup_messages&) = delete;

  // The data stay where they are until wait().
  void send(int subgroup, int tag, std::span<const std::byte> data);
  void receive(int subgroup, int tag, std::span<std::byte> into);
  // Returns when all that was begun is complete.
  void wait() {
    begin_wait();
    end_wait();
  }
  // wait() that calls `look` now and then.
  template <class Look>
  void wait(const Look& look) {
    begin_wait();
    messages_.watch(look);
    end_wait();
  }

 private:
  void begin_wait();
  void end_wait();

  communicator_state& c_;
  const wait_description& what_;
  const conversation until_all_is_over_;  // Of the leader's worker alone.
  control_messages messages_;
};

// Returns when all subgroups have come here. `call` is this subgroup's, as `rank` made it.
void meet_subgroups(communicator_state& c, const collective_call& call, int rank,
                    const wait_description& what);
// meet_subgroups() that also reduces `data`, at most small_bytes_max bytes, over all subgroups, in their order.
// `data` is aligned for any element.
void reduce_over_subgroups(communicator_state& c, const collective_call& call, int rank,
                           const wait_description& what, const reduction& how, std::byte* data);

// A small broadcast between subgroups. The root calls send_broadcast(). The leaders of other subgroups call
// receive_broadcast(), which also hands the data on to further subgroups.
void send_broadcast(communicator_state& c, rank_state& root, const collective_call& call, int rank,
                    std::uint64_t number, std::span<const std::byte> data);
// Calls `ask` now and then while it waits.
void receive_broadcast(communicator_state& c, const collective_call& call, int rank,
                       std::uint64_t number, const wait_description& what,
                       std::span<std::byte> data, const std::function<void()>& ask);

// Called on any worker of a broken communicator. On the leader's home worker it ends what this subgroup waits for from
// others, and refuses their rendezvous requests. Does nothing on other workers.
void end_control_messages(worker& here, communicator_state& c);

// Called by the speaker when data from or to another subgroup could not be moved. Throws why the communicator is broken,
// or that a subgroup is dead; returns when neither becomes known.
void throw_reason(communicator_state& c, rank_state& speaker, const wait_description& what);

// Throws weft::error when a process of the communicator is dead.
void check_subgroups_alive(communicator_state& c, const char* call);

}  // namespace weft::detail
