// weft's own messages between ranks, in contexts that programs cannot use: several sends and receives under way
// together. Called on the home worker of the speaker.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "rank/communicator_state.hpp"
#include "rank/messages.hpp"

namespace weft::detail {

// Whether a message must be as long as its receive, or may be shorter.
enum class lengths { equal, any };

// Declared after the memory that the messages are read from and written to, and after `what`: it may be left by an exception.
class control_messages {
 public:
  control_messages(rank_state& speaker, const wait_description& what, lengths expected) noexcept
      : speaker_(speaker), what_(what), expected_(expected) {}
  control_messages(rank_state&, wait_description&&, lengths) = delete;
  ~control_messages();
  control_messages(const control_messages&) = delete;
  control_messages& operator=(const control_messages&) = delete;

  // `to` is `rank` of the communicator. The caller keeps the data, and the layout, until wait() returns.
  void send(const peer& to, int rank, const envelope& from, byte_view data);
  void send(const peer& to, int rank, const envelope& from, const segments& data);
  // `by`: the speaker, or another rank of its worker.
  void receive(rank_state& by, const envelope& wanted, std::span<std::byte> into);
  void receive(rank_state& by, const envelope& wanted, const segments& into);
  // Returns when all that was begun is complete.
  void wait();
  // Called before wait(), to wait with a `look` that is called now and then.
  template <class Look>
  void watch(const Look& look) {
    speaker_.home->wait_until(
        [&] {
          if (pending_.pending != 0) look();
          return pending_.pending == 0;
        },
        what_);
  }

  [[nodiscard]] rank_state& speaker() const noexcept { return speaker_; }

 private:
  struct message : operation {
    detail::peer to;  // Of a send.
  };

  [[nodiscard]] message& next();
  template <class Start>
  void begin(operation& op, const Start& start);
  template <class Data>
  void start_send(const peer& to, int rank, const envelope& from, const Data& data);
  template <class Room>
  void start_receive(rank_state& by, const envelope& wanted, const Room& into);
  template <class Visit>
  void each(const Visit& visit);
  void conclude(operation& op);

  rank_state& speaker_;
  const wait_description& what_;
  const lengths expected_;
  completion_counter pending_;
  std::size_t count_ = 0;
  std::array<message, 4> few_;
  std::vector<std::unique_ptr<message>> more_;
};

}  // namespace weft::detail
