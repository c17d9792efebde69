#include "rma/exposed_memory.hpp"

#include <bit>

namespace weft::rma {
namespace {

constexpr std::uint32_t index_mask = 0xffff;

}  // namespace

exposed_memory::record* exposed_memory::at(std::size_t index) const noexcept {
  const std::size_t position = index + first_block;
  const auto block =
      static_cast<std::size_t>(std::bit_width(position) - std::bit_width(first_block));
  if (block >= blocks) return nullptr;
  record* const first = blocks_[block].value();
  return first != nullptr ? first + (position - (first_block << block)) : nullptr;
}

std::uint32_t exposed_memory::reserve() {
  std::size_t index = generations_.size();
  if (!free_.empty()) {
    index = free_.front();
    free_.pop_front();
  } else if (index == parts_max) {
    return 0;
  } else {
    generations_.push_back(0);
    if (at(index) == nullptr) {
      const auto block = static_cast<std::size_t>(std::bit_width(index + first_block) -
                                                  std::bit_width(first_block));
      storage_[block] = std::make_unique<record[]>(first_block << block);
      blocks_[block].publish(storage_[block].get());
    }
  }
  if (++generations_[index] == 0) ++generations_[index];  // No number is 0.
  return std::uint32_t{generations_[index]} << index_bits | static_cast<std::uint32_t>(index);
}

void exposed_memory::expose(std::uint32_t number, std::span<std::byte> part) noexcept {
  record& r = *at(number & index_mask);
  r.begin = part.data();
  r.bytes = part.size();
  r.ranges = nullptr;
  r.number.publish(number);
}

void exposed_memory::expose(std::uint32_t number, const attached_memory& ranges) noexcept {
  record& r = *at(number & index_mask);
  r.ranges = &ranges;
  r.number.publish(number);
}

void exposed_memory::remove(std::uint32_t number) noexcept {
  const auto index = static_cast<std::uint16_t>(number & index_mask);
  at(index)->number.publish(0);
  free_.push_back(index);
}

std::byte* exposed_memory::find(std::uint32_t number, std::uint64_t offset,
                                std::size_t bytes) const noexcept {
  const record* const r = at(number & index_mask);
  if (r == nullptr || number == 0 || r->number.value() != number) [[unlikely]]
    return nullptr;
  if (r->ranges != nullptr) [[unlikely]]
    return r->ranges->find(offset, bytes);
  if (offset >= r->bytes || bytes > r->bytes - offset) [[unlikely]]
    return nullptr;
  return r->begin + offset;
}

}  // namespace weft::rma
