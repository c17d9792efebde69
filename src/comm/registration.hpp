// The registration cache of a device: a buffer that is used again is not registered again.
//
// A registration that pins pages goes wrong without a word when the memory is unmapped and
// something else is mapped at the same place. free() unmaps inside of the C library, where nobody
// can see it; so registrations with transports that pin are kept only when the program promised to
// tell (runtime_options::keep_registrations, runtime::forget_memory). Otherwise they last as long
// as the operation, and libfabric's own cache beneath, which watches the memory, makes them cheap.
// Keys of transports that do not pin (shared memory between processes) are names of addresses, and
// stay right.
//
// A registration that opens memory to anybody who has its key is never kept: it ends with the last operation that
// uses it.
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
  peer_access peers = peer_access::none;
  memory_region region;
  std::uint32_t users = 0;
  bool is_stale = false;  // No new operation may use it.
  std::uint64_t used_last = 0;
};

class registration_cache {
 public:
  registration_cache(std::size_t capacity, bool keep_pinned);
  registration_cache(const registration_cache&) = delete;
  registration_cache& operator=(const registration_cache&) = delete;
  ~registration_cache();

  // A registration of exactly this memory for exactly this access, from the cache or new. It is valid until
  // give_back(). `owner`: the accelerator whose memory it is, or null. Returns null when the transport refuses.
  [[nodiscard]] registration* take(transport& with, std::span<std::byte> memory, peer_access peers,
                                   const accelerator* owner = nullptr) noexcept;
  void give_back(registration* used) noexcept;
  // Drops all registrations that are kept: the program may have unmapped their memory.
  void forget() noexcept;
  // Called before the transport is destroyed.
  void clear() noexcept;

  [[nodiscard]] std::uint64_t made() const noexcept { return made_; }

 private:
  [[nodiscard]] registration* find_slot() noexcept;

  std::vector<std::unique_ptr<registration>> slots_;
  const std::size_t capacity_;
  const bool keep_pinned_;
  std::uint64_t uses_ = 0;
  std::uint64_t made_ = 0;
};

}  // namespace weft::comm
