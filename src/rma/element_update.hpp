// Updates of elements of any size, of which a face says what each does. They are made under locks of the target's memory
// (element_locks.hpp): so they are atomic to each other by whatever way they come, be it an instruction of the processor or not.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::rma {

enum class element_change : std::uint8_t {
  nothing,       // For the old element alone.
  replace,       // By the operand.
  compare_swap,  // The operand is two elements; the second replaces one that has the bytes of the first.
  combine,       // With the operand, by a function.
};

struct element_update {
  // left[i] = op(left[i], right[i]); the first argument means nothing.
  using combine_function = void (*)(const void* op, void* left, const void* right,
                                    std::size_t count);

  std::uint32_t name = 0;           // Messages name it; the uppermost byte says whose it is.
  std::uint32_t element_bytes = 0;  // From one element to the next. 0: there is no such update.
  std::uint32_t operand_bytes = 0;  // Of each element.
  std::uint32_t alignment = 1;      // That of the function's arguments: a power of two.
  element_change change = element_change::nothing;
  combine_function combine = nullptr;

  [[nodiscard]] bool is_defined() const noexcept { return element_bytes != 0; }
  // Changes elements of which nobody else makes such an update meanwhile.
  void apply(std::byte* at, const std::byte* operand, std::size_t count) const noexcept {
    const std::uintptr_t addresses =
        reinterpret_cast<std::uintptr_t>(at) | reinterpret_cast<std::uintptr_t>(operand);
    if (change == element_change::combine && addresses % alignment == 0) [[likely]]
      combine(nullptr, at, operand, count);
    else
      apply_otherwise(at, operand, count);
  }

 private:
  [[gnu::noinline]] void apply_otherwise(std::byte* at, const std::byte* operand,
                                         std::size_t count) const noexcept;
};

// Each face that has such updates says by a function of its own what their names mean. Called while static objects are made.
using element_updates = element_update (*)(std::uint32_t name) noexcept;
[[nodiscard]] std::uint8_t register_element_updates(element_updates find);
// Not defined for a name that there is not.
[[nodiscard]] element_update find_element_update(std::uint32_t name) noexcept;

inline constexpr int element_owner_bit =
    24;  // The owner's number stands from this bit of a name on.

}  // namespace weft::rma
