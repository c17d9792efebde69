// A transport into which a test puts whatever it likes.
#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace weft::tests {

// An endpoint into which a test puts whatever it likes, as if it came from process 1. What the core
// sends is thrown away.
class open_endpoint final : public transport {
 public:
  struct message {
    wire_header header;
    std::vector<std::byte> payload;
  };
  explicit open_endpoint(std::deque<message>& incoming, std::vector<wire_header>& outgoing)
      : incoming_(incoming), outgoing_(outgoing) {
    traits_.name = "open";
    traits_.message_bytes_max = 8192;
    traits_.inject_bytes_max = 8192;
  }
  [[nodiscard]] const transport_traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] std::vector<std::byte> address() const override { return {}; }
  void connect(std::span<const std::vector<std::byte>>, std::uint32_t) override {}
  [[nodiscard]] bool reaches(std::uint32_t) const noexcept override { return true; }
  status send(std::uint32_t, const wire_header& header, wire_parts parts, void*) noexcept override {
    outgoing_.push_back(header);
    // What would leave the process is read, as it would be: a sanitizer may object.
    std::uint64_t sum = 0;
    for (const auto& part : parts)
      for (const std::byte octet : part) sum += static_cast<std::uint64_t>(octet);
    sent_ = sum;
    return status::done;
  }
  int poll(arrivals& to, int) noexcept override {
    int count = 0;
    for (; !incoming_.empty(); ++count) {
      const message first = std::move(incoming_.front());
      incoming_.pop_front();
      to.delivered(1, first.header, first.payload);
    }
    return count;
  }
  [[nodiscard]] memory_region register_memory(std::span<std::byte>) override { return {}; }
  void deregister(memory_region&) noexcept override {}
  status put(std::uint32_t, std::span<const std::byte>, const memory_region*, const remote_key&,
             std::uint64_t, void*) noexcept override {
    return status::failed;
  }
  status get(std::uint32_t, std::span<std::byte>, const memory_region*, const remote_key&,
             std::uint64_t, void*) noexcept override {
    return status::failed;
  }
  [[nodiscard]] bool arm() noexcept override { return true; }
  void disarm() noexcept override {}
  void mark_failed(std::uint32_t, const char*) noexcept override {}

 private:
  transport_traits traits_;
  std::deque<message>& incoming_;
  std::vector<wire_header>& outgoing_;
  volatile std::uint64_t sent_ = 0;
};

}  // namespace weft::tests
