#include "rma/element_update.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

namespace weft::rma {
namespace {

constexpr std::size_t owners_max = 4;
std::array<element_updates, owners_max> owners;
std::size_t owners_known = 0;

}  // namespace

std::uint8_t register_element_updates(element_updates find) {
  if (owners_known == owners_max) std::abort();  // A face more than this file knows of.
  owners[owners_known] = find;
  return static_cast<std::uint8_t>(owners_known++);
}

element_update find_element_update(std::uint32_t name) noexcept {
  const std::uint32_t owner = name >> element_owner_bit;
  return owner < owners_known ? owners[owner](name) : element_update{};
}

void element_update::apply_otherwise(std::byte* at, const std::byte* operand,
                                     std::size_t count) const noexcept {
  switch (change) {
    case element_change::nothing:
      return;
    case element_change::replace:
      std::memcpy(at, operand, count * element_bytes);
      return;
    case element_change::compare_swap:
      for (; count != 0; --count, at += element_bytes, operand += operand_bytes)
        if (std::memcmp(at, operand, element_bytes) == 0)
          std::memcpy(at, operand + element_bytes, element_bytes);
      return;
    case element_change::combine:
      break;
  }
  // Elements of the largest type have 64 bytes.
  alignas(64) std::byte left[64], right[64];
  for (; count != 0; --count, at += element_bytes, operand += operand_bytes) {
    std::memcpy(left, at, element_bytes);
    std::memcpy(right, operand, element_bytes);
    combine(nullptr, left, right, 1);
    std::memcpy(at, left, element_bytes);
  }
}

}  // namespace weft::rma
