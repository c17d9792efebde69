// A transport for tests: endpoints of one operating system process that misbehave as far as the
// contract allows. Messages are late, those of different senders overtake each other, queues fill,
// sends are still in use after they were posted, a peer dies in the middle.
//
// Nothing depends on time: delays are counted in polls of the receiver and drawn from a seed, so
// calls in the same order have the same outcome. Endpoints may be used by different threads, each
// by one at a time; they share one lock, since this is for being right, not fast.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/transport.hpp"

namespace weft {

struct sim_options {
  std::uint64_t seed = 1;
  int delay_polls_max = 8;          // A message is held back for 0 to this many polls.
  std::size_t queue_capacity = 64;  // Messages under way from one endpoint to another, 1 or more.
  int refusals_percent = 0;  // So many sends, puts and gets say retry although there is room.
  std::size_t message_bytes_max = 16 * 1024;
  std::size_t inject_bytes_max = 256;  // Longer ones with a context are often posted.
  bool can_put = true;
  bool can_get = true;
  bool can_tell_put = false;
  std::size_t put_message_bytes_max = 0;
  bool needs_registration = false;
  bool registration_opens = false;
};

// The network. Endpoints keep it alive.
class sim_fabric {
 public:
  explicit sim_fabric(const sim_options& options = {});

  // Endpoints are numbered from 0 in the order in which they are made. Each connect()s to addresses
  // of the same fabric.
  [[nodiscard]] std::unique_ptr<transport> make_endpoint();

  // Called by any thread: the endpoint dies as its process would. Of its messages under way a
  // prefix, drawn from the seed, still arrives; then the others are told that it failed. Its own
  // calls do nothing from then on, and sends return failed.
  void kill(std::uint32_t endpoint);
  // The same as soon as the endpoint has sent so many further messages.
  void kill_after(std::uint32_t endpoint, std::uint64_t messages);

  // Called by any thread: the bytes of messages, puts and gets that have come from one to another.
  [[nodiscard]] std::uint64_t bytes_moved(std::uint32_t from, std::uint32_t to) const;

  class network;  // What the endpoints share.

 private:
  std::shared_ptr<network> network_;
};

}  // namespace weft
