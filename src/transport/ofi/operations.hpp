// What libfabric is given a pointer to while an operation is under way, and where it gets its
// memory from: fixed numbers, made at start.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/ofi/fabric.hpp"
#include "transport/ofi/random_keys.hpp"

namespace weft {

enum class operation_kind : std::uint8_t { receive, send, remote };

struct operation {
  fi_context2 provider;  // First: libfabric hands its address back.
  operation_kind kind = operation_kind::send;
  bool is_under_way = false;
  std::uint32_t peer = 0;
  void* context = nullptr;      // Of the caller, to be told; null: nobody waits for it.
  std::byte* memory = nullptr;  // Its packet or buffer.
  void* descriptor = nullptr;   // Of that memory.
  operation* next = nullptr;    // Of those that are free, or of a queue that it is in.
  std::size_t size = 0;         // Of what is in the packet, where libfabric does not tell.
  class operation_pool* owner = nullptr;
};

struct unmapping {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const noexcept;
};

// Operations of one kind with packets of one size, which may be 0. Used by the endpoint's thread.
class operation_pool {
 public:
  // `domain` is null where local memory need not be registered.
  operation_pool(operation_kind kind, std::size_t count, std::size_t packet_bytes,
                 fid_domain* domain, random_keys& keys);

  // Null when all are under way.
  [[nodiscard]] operation* take() noexcept {
    operation* const taken = free_;
    if (taken == nullptr) return nullptr;
    free_ = taken->next;
    taken->is_under_way = true;
    ++taken_;
    return taken;
  }
  void give_back(operation& done) noexcept {
    done.is_under_way = false;
    done.context = nullptr;
    done.next = free_;
    free_ = &done;
    --taken_;
  }
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  [[nodiscard]] std::size_t packet_bytes() const noexcept { return packet_bytes_; }
  [[nodiscard]] std::vector<operation>& all() noexcept { return operations_; }

 private:
  std::size_t packet_bytes_;
  std::unique_ptr<std::byte, unmapping> memory_;
  fabric_handle<fid_mr> registration_;
  std::vector<operation> operations_;
  operation* free_ = nullptr;
  std::size_t taken_ = 0;
};

}  // namespace weft
