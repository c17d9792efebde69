// The parts of regions that messages may name of one rank. A part has a number: the lower half is an index, the upper half
// a generation, so a message that comes when its region is gone finds none. The number is published (sync/published.hpp)
// behind the record of the part.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "rma/attached_memory.hpp"
#include "sync/published.hpp"

namespace weft::rma {

class exposed_memory {
 public:
  // A rank may expose so many parts at a time: an index has 16 bits.
  static constexpr std::size_t parts_max = 65520;

  exposed_memory() = default;
  exposed_memory(const exposed_memory&) = delete;
  exposed_memory& operator=(const exposed_memory&) = delete;

  // Returns the number of a part that is exposed later; 0: there are parts_max. The rank calls it, and the next two.
  [[nodiscard]] std::uint32_t reserve();
  void expose(std::uint32_t number, std::span<std::byte> part) noexcept;
  // The part is what is attached to `ranges`: its offsets are addresses.
  void expose(std::uint32_t number, const attached_memory& ranges) noexcept;
  // Messages do not find the part any more; its index is used again after all others that are free. All operations on the
  // part have ended.
  void remove(std::uint32_t number) noexcept;

  // Returns the place of so many bytes; null when the part is gone, or does not have them. The worker of the rank calls it,
  // or the progress worker in its place.
  [[nodiscard]] std::byte* find(std::uint32_t number, std::uint64_t offset,
                                std::size_t bytes) const noexcept;

 private:
  // A record stays where it is, so a reader needs no lock.
  struct record {
    published<std::uint32_t> number{0};  // 0: the part is not exposed.
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
    const attached_memory* ranges = nullptr;  // Null: the bytes lie in a row.
  };
  // Block b has first_block << b records.
  static constexpr std::size_t first_block = 16;
  static constexpr std::size_t blocks = 12;
  static constexpr int index_bits = 16;
  static_assert(parts_max == first_block * ((1 << blocks) - 1));

  // Null: there is no such index.
  [[nodiscard]] record* at(std::size_t index) const noexcept;

  std::array<published<record*>, blocks> blocks_{};
  std::array<std::unique_ptr<record[]>, blocks> storage_;
  // The rank alone uses these.
  std::vector<std::uint16_t> generations_;  // The last one of each index.
  std::deque<std::uint16_t> free_;          // The one that has been free longest is the first.
};

}  // namespace weft::rma
