// What the processes of a communicator say to each other in a collective: one rank of each, the
// leader of the subgroup, speaks for all. Its messages are those of ranks, in a context of their own.
//
// Called on the home worker of the leader; whichever fiber of it comes last to a meeting speaks.
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

// Tags of the hidden context.
inline constexpr int tag_of_parts = 1;
inline constexpr int tag_of_lengths = 2;
inline constexpr int tag_of_broadcast = 1 << 30;  // And the number of the broadcast, modulo that.

// The subgroups of a subgroup's node, and its place among them.
[[nodiscard]] inline const std::vector<int>& mates_of(const communicator_state& c,
                                                      int subgroup) noexcept {
  return c.node_at(c.node_of_subgroup[static_cast<std::size_t>(subgroup)]);
}
[[nodiscard]] inline std::size_t place_on_node(const communicator_state& c, int subgroup) noexcept {
  const std::vector<int>& mates = mates_of(c, subgroup);
  return static_cast<std::size_t>(std::lower_bound(mates.begin(), mates.end(), subgroup) -
                                  mates.begin());
}

// Some sends and receives between leaders, under way together.
class subgroup_messages {
 public:
  // `speaker`: on whose worker this runs: a leader, or the root of a broadcast.
  subgroup_messages(communicator_state& c, rank_state& speaker,
                    const wait_description& what) noexcept;
  ~subgroup_messages() {
    if (leads_) --c_.conversations;
  }
  subgroup_messages(const subgroup_messages&) = delete;
  subgroup_messages& operator=(const subgroup_messages&) = delete;

  // The data stay where they are until wait().
  void send(int subgroup, int tag, std::span<const std::byte> data);
  void receive(int subgroup, int tag, std::span<std::byte> into);
  // Until all that was begun is complete.
  void wait() {
    begin_wait();
    end_wait();
  }
  // The same; `look` is called now and then.
  template <class Look>
  void wait(const Look& look) {
    begin_wait();
    messages_.watch(look);
    end_wait();
  }

 private:
  void begin_wait();
  void end_wait();
  // Something failed. Throws what has broken the communicator, or that a subgroup is dead; returns when
  // neither comes to be known.
  void hear_why();

  communicator_state& c_;
  const wait_description& what_;
  control_messages messages_;
  const bool leads_;  // Its speaker is at home where the leader is.
};

// Returns when all subgroups have come here with this call, which `rank` says for its own.
void meet_subgroups(communicator_state& c, const collective_call& call, int rank,
                    const wait_description& what);
// The same; `data`, at most small_bytes_max bytes, become the reduction of those of all subgroups, in
// their order; they are aligned as what the operation combines may want.
void reduce_over_subgroups(communicator_state& c, const collective_call& call, int rank,
                           const wait_description& what, const reduction& how, std::byte* data);

// The data of a small broadcast from the subgroup of its root to all others. send_broadcast: called by
// the root. receive_broadcast: called by the leaders of other subgroups; hands it on.
void send_broadcast(communicator_state& c, rank_state& root, const collective_call& call, int rank,
                    std::uint64_t number, std::span<const std::byte> data);
// `ask` is called now and then while it waits.
void receive_broadcast(communicator_state& c, const collective_call& call, int rank,
                       std::uint64_t number, const wait_description& what,
                       std::span<std::byte> data, const std::function<void()>& ask);

// Called on any worker of a broken communicator: where its leader is at home, what this subgroup waits
// for from others ends, and what they offered is refused.
void end_control_messages(worker& here, communicator_state& c);

// Throws weft::error when a process of the communicator is dead.
void check_subgroups_alive(const communicator_state& c, const char* call);

}  // namespace weft::detail
