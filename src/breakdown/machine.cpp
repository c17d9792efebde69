#include "breakdown/machine.hpp"

#include <algorithm>
#include <memory>
#include <queue>

namespace weft::breakdown {

message_cost machine::cost(double bytes) const noexcept {
  const auto above =
      std::ranges::find_if(costs, [&](const message_cost& c) { return c.bytes >= bytes; });
  if (above == costs.end()) {
    message_cost made = costs.back();
    const double more = (bytes - made.bytes) / bytes_per_ns;
    made.flight += more;
    made.post += more;  // It is copied by whoever sends.
    made.bytes = bytes;
    return made;
  }
  if (above == costs.begin() || above->bytes == bytes) return *above;
  const message_cost& less = *(above - 1);
  const double part = (bytes - less.bytes) / (above->bytes - less.bytes);
  const auto between = [&](double a, double b) { return a + part * (b - a); };
  return {bytes, between(less.post, above->post), between(less.flight, above->flight),
          between(less.deliver, above->deliver)};
}

message_cost cost_of(const measured& m) {
  message_cost c;
  c.bytes = static_cast<double>(m.bytes);
  c.post = std::max(m.post(), 0.0);
  const auto wire =
      std::ranges::find(m.latency.parts, std::string("network"), &measured_part::level);
  // The test's loop is not the receiver's, and misc is of both sides: they stay in the flight.
  for (auto part = wire; part != m.latency.parts.end(); ++part)
    if (part != wire && part->level != "test" && part->level != "misc")
      c.deliver += std::max(part->ns.mean, 0.0);
  c.flight = std::max(m.latency.observed.mean - c.deliver, c.post);
  return c;
}

network_cost published_network() {
  const components& c = published_components();
  const prediction p = predict(c);
  // 100 Gb/s, as the paper's network.
  return {2 * c.pcie + p.network + c.memory_write, p.post, p.high_receive_progress, 12.5};
}

namespace {

class plain_network final : public network {
 public:
  plain_network(double latency_ns, double bytes_per_ns)
      : latency_(latency_ns), bytes_per_ns_(bytes_per_ns) {}

  [[nodiscard]] double now_ns() const override { return now_; }
  void at(double ns, const happening& h) override {
    queue_.push({std::max(ns, now_), count_++, h});
  }
  void send(int, int, std::uint64_t bytes, const happening& h) override {
    at(now_ + latency_ + static_cast<double>(bytes) / bytes_per_ns_, h);
  }
  void run(const std::function<void(const happening&)>& handle) override {
    while (!queue_.empty()) {
      const entry next = queue_.top();
      queue_.pop();
      now_ = next.ns;
      handle(next.what);
    }
  }

 private:
  struct entry {
    double ns;
    std::uint64_t number;  // What was asked for first happens first.
    happening what;
    bool operator<(const entry& other) const noexcept {
      return ns != other.ns ? ns > other.ns : number > other.number;
    }
  };
  double latency_, bytes_per_ns_;
  double now_ = 0;
  std::uint64_t count_ = 0;
  std::priority_queue<entry> queue_;
};

}  // namespace

std::unique_ptr<network> make_plain_network(double latency_ns, double bytes_per_ns) {
  return std::make_unique<plain_network>(latency_ns, bytes_per_ns);
}

}  // namespace weft::breakdown
