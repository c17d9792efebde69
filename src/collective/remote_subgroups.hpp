// The active messages between subgroups of a communicator: that it is broken, questions about a broadcast, and the
// messages of meetings (meetings.hpp).
//
// Everything is called on the home worker of this process's rank.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collective/meetings.hpp"
#include "rank/remote.hpp"
#include "remote/handlers.hpp"
#include "remote/reply_table.hpp"

namespace weft::detail {

class remote_subgroups {
 public:
  remote_subgroups(remote_messaging& ways, remote::handlers handlers);

  // Tells the leaders of all other subgroups that the communicator is broken, or revoked.
  void tell_broken(worker& here, const communicator_state& c, const std::string& why) noexcept;
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
  // The same without data, for who may neither wait nor fail. A dead leader hears nothing.
  void tell(const rank_state& speaker, const peer& to, std::uint32_t context,
            std::uint32_t sequence, std::uint64_t digest) const noexcept;
  // A question to the leader of another subgroup, which call it made in a meeting. Used on the asking leader's worker.
  class call_question {
   public:
    call_question(remote_subgroups& of, const rank_state& leader, const peer& to,
                  std::uint32_t context, std::uint32_t sequence);
    // An answer that comes later finds that nobody wants it.
    ~call_question();
    call_question(const call_question&) = delete;
    call_question& operator=(const call_question&) = delete;
    [[nodiscard]] bool is_answered() const noexcept { return answer().has_come; }
    // call.name is empty when the other subgroup does not remember it.
    [[nodiscard]] call_on_wire& call() const noexcept { return answer().call; }

   private:
    friend class remote_subgroups;
    struct awaited {
      bool has_come = false;
      bool is_given_up = false;
      call_on_wire call;
    };
    [[nodiscard]] awaited& answer() const noexcept { return *asked_.find(name_, process_); }

    remote::reply_table<awaited>& asked_;
    const int process_;
    const std::uint64_t name_;
  };

  [[nodiscard]] remote_messaging& ways() const noexcept { return ways_; }

 private:
  void find_meetings(communicator_state& c);
  void on_broken(worker& here, rank_state& to, const comm::event& happened);
  void on_question(worker& here, rank_state& to, const comm::event& happened);
  // Inlined into what checks the message.
  [[gnu::always_inline]] inline void on_said(worker& here, rank_state& to,
                                             const comm::event& happened);
  void on_call_asked(worker& here, rank_state& to, const comm::event& happened);
  void on_call_told(worker& here, const comm::event& happened);
  void post(worker& here, const comm::address& to, comm::handler_id handler, std::uint32_t context,
            const std::array<std::uint64_t, 2>& head, std::uint32_t sequence,
            std::span<const std::byte> data) const noexcept;

  remote_messaging& ways_;
  comm::handler_id broken_;
  comm::handler_id question_;
  comm::handler_id said_;
  comm::handler_id call_asked_;
  comm::handler_id call_told_;
  std::vector<meeting_table> meetings_;                             // By worker.
  std::vector<remote::reply_table<call_question::awaited>> asked_;  // Likewise.
};

}  // namespace weft::detail
