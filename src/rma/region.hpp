// A range of memory that every rank of a job has, of equal size: a symmetric heap, the globals of a program. An
// address of a rank's own range means, at another rank, the place at the same distance from that one's begin.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::rma {

struct region {
  std::uintptr_t begin = 0;  // Of the rank that asks.
  std::size_t size = 0;
  // By rank, of all ranks of the job; null: loads and stores from here do not reach it.
  std::byte* const* bases = nullptr;

  // How far an address lies behind the begin; not less than `size` when it lies outside.
  [[nodiscard]] std::uintptr_t distance(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - begin;
  }
  [[nodiscard]] bool has(const void* address, std::size_t bytes) const noexcept {
    const std::uintptr_t at = distance(address);
    return at < size && bytes <= size - at;
  }
};

// Of one rank: the heap, the program and its private libraries.
inline constexpr std::size_t regions_max = 64;

}  // namespace weft::rma
