// What an atomic update does to a word of memory. Every way to a word uses the instructions of a processor of its
// node: so updates by whatever way are atomic to each other.
#pragma once
#include <atomic>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "sync/memory_word.hpp"

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

// Returns the old value, which means nothing for `set`. compare_swap alone uses `expected`.
template <update Operation, word T>
inline T apply(T* at, T operand, T expected = T()) noexcept {
  std::atomic_ref<T> word(*at);
  using on = memory_word<>;
  if constexpr (Operation == update::fetch) return on::load(word);
  if constexpr (Operation == update::set) {
    on::store(word, operand);
    return T();
  }
  if constexpr (Operation == update::swap) return on::swap(word, operand);
  if constexpr (Operation == update::compare_swap) return on::compare_swap(word, expected, operand);
  if constexpr (Operation == update::add) return on::add(word, operand);
  if constexpr (std::integral<T>) {
    if constexpr (Operation == update::bit_and) return on::bit_and(word, operand);
    if constexpr (Operation == update::bit_or) return on::bit_or(word, operand);
    if constexpr (Operation == update::bit_xor) return on::bit_xor(word, operand);
  }
  return T();
}

// The type that a message names. Types of a size that differ in what `add` does differ here.
enum class number : std::uint8_t { bits32, bits64, float32, float64 };
template <word T>
[[nodiscard]] constexpr number number_of() noexcept {
  if constexpr (std::floating_point<T>)
    return sizeof(T) == 4 ? number::float32 : number::float64;
  else
    return sizeof(T) == 4 ? number::bits32 : number::bits64;
}

}  // namespace weft::rma
