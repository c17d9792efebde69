// What the subgroups of a communicator say to each other besides messages: that it is broken, which broadcast a
// rank waits for, and the words of a meeting.
//
// Everything is called on the home worker of the rank concerned.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "collective/meetings.hpp"
#include "rank/remote.hpp"

namespace weft::detail {

class remote_subgroups {
 public:
  remote_subgroups(remote_messaging& ways, face_handlers& handlers);

  // The leaders of all other subgroups learn that the communicator is broken.
  void tell_broken(worker& here, const communicator_state& c) noexcept;
  // Whether that rank, of another process, is in the broadcast that `asked` tells of.
  void ask(worker& here, const communicator_state& c, int rank,
           const broadcast_question& asked) noexcept;
  // Where the subgroup of this process meets the others of `c`; called by the leader's worker.
  [[nodiscard]] subgroup_meetings& meetings_of(communicator_state& c) {
    if (c.meetings == nullptr) [[unlikely]]
      find_meetings(c);
    return *c.meetings;
  }
  // To the leader of another subgroup: what is the same in every meeting of a communicator.
  [[nodiscard]] comm::am word_to(const peer& leader, std::uint32_t context) const noexcept;
  // What the leader here says in one of them, in such a word; waits for room.
  void say(rank_state& speaker, const peer& to, comm::am& word, std::uint32_t sequence,
           std::uint64_t digest, std::span<const std::byte> data, const wait_description& what);
  // That leader tells which call it made in the meeting.
  void ask_call(const rank_state& leader, const peer& to, std::uint32_t context,
                std::uint32_t sequence) noexcept;

  [[nodiscard]] remote_messaging& ways() const noexcept { return ways_; }

 private:
  void find_meetings(communicator_state& c);
  void on_broken(worker& here, const comm::event& happened);
  void on_question(worker& here, const comm::event& happened);
  void on_said(worker& here, const comm::event& happened);
  void on_call_asked(worker& here, const comm::event& happened);
  void on_call_told(worker& here, const comm::event& happened);

  remote_messaging& ways_;
  comm::handler_id broken_;
  comm::handler_id question_;
  comm::handler_id said_;
  comm::handler_id call_asked_;
  comm::handler_id call_told_;
  std::vector<meeting_table> meetings_;  // By worker.
};

}  // namespace weft::detail
