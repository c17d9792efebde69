// The active messages between subgroups of a communicator: that it is broken, questions about a broadcast, and the
// messages of meetings (meetings.hpp).
//
// Everything is called on the home worker of this process's rank.
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

  // Tells the leaders of all other subgroups that the communicator is broken.
  void tell_broken(worker& here, const communicator_state& c) noexcept;
  // Asks whether `rank`, in another process, is in the broadcast that `asked` describes.
  void ask(worker& here, const communicator_state& c, int rank,
           const broadcast_question& asked) noexcept;
  // The meetings of the subgroups of `c`. Called by the leader's worker.
  [[nodiscard]] subgroup_meetings& meetings_of(communicator_state& c) {
    if (c.meetings == nullptr) [[unlikely]]
      find_meetings(c);
    return *c.meetings;
  }
  // A message to the leader of another subgroup, with the fields that are the same in every meeting.
  [[nodiscard]] comm::am word_to(const peer& leader, std::uint32_t context) const noexcept;
  // Fills in `word`, made by word_to(), and sends it; waits for room.
  void say(rank_state& speaker, const peer& to, comm::am& word, std::uint32_t sequence,
           std::uint64_t digest, std::span<const std::byte> data, const wait_description& what);
  // Asks the leader `to` which call it made in meeting `sequence`: its answer goes into subgroup_meetings::answer.
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
