// A loop in execution, and the slot through which thieves find it.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>

#include "sync/claim_slot.hpp"

namespace weft {

class worker;

// On the owner's stack while it executes.
struct loop {
  // Runs chunks first..last-1. May throw.
  void (*invoke)(void* body, std::int64_t first, std::int64_t last);
  void* body;
  std::int64_t chunk_count;
  bool single;  // One chunk a claim, instead of guided self-scheduling.
  bool stealable;
  void* identity = nullptr;  // The owner's: a chunk sees it as its rank, whoever runs the chunk.
  int number = -1;           // The owner's, for the timeline.
  worker* home = nullptr;    // The owner's.
  std::atomic<bool> failed{false};
  std::exception_ptr failure{};  // Written by the one that set `failed`.
  std::atomic<std::int64_t> stolen_chunks{0};

  void run(std::int64_t first, std::int64_t last) noexcept;
};

struct alignas(padding_bytes) loop_slot {
  claim_slot<> claims;
  loop* current = nullptr;          // Read only after a successful claim.
  std::atomic<bool> single{false};  // A hint before the claim: how much to take.
  bool in_use = false;              // The owner's note.
};

}  // namespace weft
