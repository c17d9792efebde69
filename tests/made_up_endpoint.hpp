// A transport with nothing behind it. A test derives from it and says what comes, and what becomes of that
// which is sent.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "transport/transport.hpp"

namespace weft::tests {

class made_up_endpoint : public transport {
 public:
  [[nodiscard]] const transport_traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] std::vector<std::byte> address() const override { return {}; }
  void connect(std::span<const std::vector<std::byte>>, std::uint32_t) override {}
  [[nodiscard]] bool reaches(std::uint32_t) const noexcept override { return true; }
  [[nodiscard]] memory_region register_memory(std::span<std::byte>, peer_access) override {
    return {};
  }
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

 protected:
  explicit made_up_endpoint(std::string_view name, bool can_get = false) {
    traits_.name = name;
    traits_.message_bytes_max = 8192;
    traits_.inject_bytes_max = 8192;
    traits_.can_get = can_get;
  }
  // As it would be if it left the process: a sanitizer may object.
  void read(wire_parts parts) noexcept {
    std::uint64_t sum = 0;
    for (const auto& part : parts)
      for (const std::byte byte : part) sum += static_cast<std::uint64_t>(byte);
    read_ = sum;
  }

  transport_traits traits_;

 private:
  volatile std::uint64_t read_ = 0;
};

}  // namespace weft::tests
