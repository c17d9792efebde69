// The machine for which a prediction is made: what messages cost in a node, and a network between nodes.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "breakdown/measured.hpp"

namespace weft::breakdown {

// What a message of so many bytes costs between ranks of one node, in nanoseconds.
struct message_cost {
  double bytes = 0;
  double post = 0;     // What the sender is busy with.
  double flight = 0;   // The time from the beginning of the post until the receiver can see it.
  double deliver = 0;  // What the receiver is busy with.
};

struct machine {
  int nodes = 1;
  int ranks_per_node = 1;
  int workers_per_node = 1;         // Ranks of one worker take turns.
  std::vector<message_cost> costs;  // They are in the order of bytes; there is at least one.
  double bytes_per_ns = 8;          // What more bytes than measured take.
  double network_post = 0;          // What the sender is busy with for a message to another node.
  double network_deliver = 0;

  [[nodiscard]] int ranks() const noexcept { return nodes * ranks_per_node; }
  [[nodiscard]] message_cost cost(double bytes) const noexcept;
};

[[nodiscard]] message_cost cost_of(const measured& m);
// The paper's table has these nanoseconds in the network, at the sender and at the receiver.
struct network_cost {
  double latency_ns, post_ns, deliver_ns, bytes_per_ns;
};
[[nodiscard]] network_cost published_network();

// Something that will happen at a time of the simulation.
struct happening {
  enum class what : std::uint8_t { resume, deliver, combined, told, leave } kind = what::resume;
  std::int32_t a = 0, b = 0;
  std::uint64_t c = 0;
};

// Time, and messages between nodes. All on one thread.
class network {
 public:
  virtual ~network() = default;
  [[nodiscard]] virtual double now_ns() const = 0;
  virtual void at(double ns, const happening& h) = 0;
  // `h` happens when the message has come.
  virtual void send(int from_node, int to_node, std::uint64_t bytes, const happening& h) = 0;
  // Until nothing happens any more.
  virtual void run(const std::function<void(const happening&)>& handle) = 0;
};

// Messages that do not disturb each other.
[[nodiscard]] std::unique_ptr<network> make_plain_network(double latency_ns, double bytes_per_ns);

}  // namespace weft::breakdown
