// A transport into which a test puts whatever it likes.
#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "made_up_endpoint.hpp"

namespace weft::tests {

// An endpoint into which a test puts whatever it likes, as if it came from process 1. What the core
// sends is thrown away.
class open_endpoint final : public made_up_endpoint {
 public:
  struct message {
    wire_header header;
    std::vector<std::byte> payload;
    bool is_write = false;  // No message, but a write that tells of header.operation.
  };
  explicit open_endpoint(std::deque<message>& incoming, std::vector<wire_header>& outgoing)
      : made_up_endpoint("open"), incoming_(incoming), outgoing_(outgoing) {}
  status send(std::uint32_t, const wire_header& header, wire_parts parts, void*) noexcept override {
    outgoing_.push_back(header);
    read(parts);
    return status::done;
  }
  int poll(arrivals& to, int) noexcept override {
    int count = 0;
    for (; !incoming_.empty(); ++count) {
      const message first = std::move(incoming_.front());
      incoming_.pop_front();
      if (first.is_write)
        to.written(first.header.operation);
      else
        to.delivered(1, first.header, first.payload);
    }
    return count;
  }

 private:
  std::deque<message>& incoming_;
  std::vector<wire_header>& outgoing_;
};

}  // namespace weft::tests
