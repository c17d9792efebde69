// A transport around another one. A test derives from it and changes what it wants to be different.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace weft::tests {

class forwarding_endpoint : public transport {
 public:
  explicit forwarding_endpoint(std::unique_ptr<transport> beneath) : beneath_(std::move(beneath)) {}

  [[nodiscard]] const transport_traits& traits() const noexcept override {
    return beneath_->traits();
  }
  [[nodiscard]] std::vector<std::byte> address() const override { return beneath_->address(); }
  void connect(std::span<const std::vector<std::byte>> addresses, std::uint32_t self) override {
    beneath_->connect(addresses, self);
  }
  [[nodiscard]] bool reaches(std::uint32_t peer) const noexcept override {
    return beneath_->reaches(peer);
  }
  status send(std::uint32_t peer, const wire_header& header, wire_parts parts,
              void* context) noexcept override {
    return beneath_->send(peer, header, parts, context);
  }
  int poll(arrivals& to, int budget) noexcept override { return beneath_->poll(to, budget); }
  [[nodiscard]] memory_region register_memory(std::span<std::byte> memory,
                                              peer_access peers) override {
    return beneath_->register_memory(memory, peers);
  }
  void deregister(memory_region& region) noexcept override { beneath_->deregister(region); }
  status put(std::uint32_t peer, std::span<const std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override {
    return beneath_->put(peer, local, region, key, offset, context);
  }
  status put_and_tell(std::uint32_t peer, std::span<const std::byte> local,
                      const memory_region* region, const remote_key& key, std::uint64_t offset,
                      std::uint64_t word, void* context) noexcept override {
    return beneath_->put_and_tell(peer, local, region, key, offset, word, context);
  }
  status get(std::uint32_t peer, std::span<std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override {
    return beneath_->get(peer, local, region, key, offset, context);
  }
  [[nodiscard]] bool arm() noexcept override { return beneath_->arm(); }
  void disarm() noexcept override { beneath_->disarm(); }
  void mark_failed(std::uint32_t peer, const char* why) noexcept override {
    beneath_->mark_failed(peer, why);
  }

 protected:
  [[nodiscard]] transport& beneath() noexcept { return *beneath_; }

 private:
  const std::unique_ptr<transport> beneath_;
};

}  // namespace weft::tests
