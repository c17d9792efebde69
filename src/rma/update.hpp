// What an atomic update does to a word of memory. Every way to a word uses the instructions of a processor of its
// node: so updates by whatever way are atomic to each other.
#pragma once
#include <atomic>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace weft::rma {

enum class update : std::uint8_t {
  fetch,
  set,
  swap,
  compare_swap,
  add,
  bit_and,
  bit_or,
  bit_xor,
};
inline constexpr int updates = 8;

template <class T>
concept word = std::is_arithmetic_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

// The old value; of `set` it means nothing. `expected` is for compare_swap alone.
template <update Operation, word T>
inline T apply(T* at, T operand, T expected = T()) noexcept {
  const std::atomic_ref<T> word(*at);
  if constexpr (Operation == update::fetch) return word.load(std::memory_order_acquire);
  if constexpr (Operation == update::set) {
    word.store(operand, std::memory_order_release);
    return T();
  }
  if constexpr (Operation == update::swap) return word.exchange(operand, std::memory_order_acq_rel);
  if constexpr (Operation == update::compare_swap) {
    word.compare_exchange_strong(expected, operand, std::memory_order_acq_rel,
                                 std::memory_order_acquire);
    return expected;
  }
  if constexpr (Operation == update::add) return word.fetch_add(operand, std::memory_order_acq_rel);
  if constexpr (std::integral<T>) {
    if constexpr (Operation == update::bit_and)
      return word.fetch_and(operand, std::memory_order_acq_rel);
    if constexpr (Operation == update::bit_or)
      return word.fetch_or(operand, std::memory_order_acq_rel);
    if constexpr (Operation == update::bit_xor)
      return word.fetch_xor(operand, std::memory_order_acq_rel);
  }
  return T();
}

// How an update travels: of the numbers that a face knows, those that differ in what `add` does.
enum class number : std::uint8_t { bits32, bits64, float32, float64 };
template <word T>
[[nodiscard]] constexpr number number_of() noexcept {
  if constexpr (std::floating_point<T>)
    return sizeof(T) == 4 ? number::float32 : number::float64;
  else
    return sizeof(T) == 4 ? number::bits32 : number::bits64;
}

enum class comparison : std::uint8_t {
  equal,
  not_equal,
  greater,
  greater_equal,
  less,
  less_equal,
};
template <class T>
[[nodiscard]] inline bool compares(T value, comparison how, T with) noexcept {
  switch (how) {
    case comparison::equal:
      return value == with;
    case comparison::not_equal:
      return value != with;
    case comparison::greater:
      return value > with;
    case comparison::greater_equal:
      return value >= with;
    case comparison::less:
      return value < with;
    case comparison::less_equal:
      return value <= with;
  }
  return false;
}

}  // namespace weft::rma
