// The registration cache of a device: a buffer that is used again is not registered again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/transport.hpp"

namespace weft::comm {

struct registration {
  transport* with = nullptr;  // Null: not in use.
  memory_region region;
  std::uint32_t users = 0;
  std::uint64_t used_last = 0;
};

class registration_cache {
 public:
  explicit registration_cache(std::size_t capacity);
  registration_cache(const registration_cache&) = delete;
  registration_cache& operator=(const registration_cache&) = delete;
  ~registration_cache();

  // A registration of exactly this memory, from the cache or made anew, that stays until
  // give_back(). Null when the transport refuses.
  [[nodiscard]] registration* take(transport& with, std::span<std::byte> memory) noexcept;
  void give_back(registration* used) noexcept { --used->users; }
  // Before the transport goes.
  void clear() noexcept;

  [[nodiscard]] std::uint64_t made() const noexcept { return made_; }

 private:
  [[nodiscard]] registration* find_slot() noexcept;

  std::vector<std::unique_ptr<registration>> slots_;
  const std::size_t capacity_;
  std::uint64_t uses_ = 0;
  std::uint64_t made_ = 0;
};

}  // namespace weft::comm
