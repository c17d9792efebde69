// Operations for reduce, allreduce and scan: std::plus<>, std::multiplies<>, weft::min, weft::max,
// std::bit_or<> ..., or any callable T(T, T). Taken as commutative unless non_commutative(f) says
// otherwise; then ranks are combined strictly in rank order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "weft/operators.hpp"

namespace weft {

struct min {
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};
struct max {
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};

template <class Op>
struct non_commutative {
  Op op;
  explicit non_commutative(Op f) : op(f) {}
  template <class T>
  constexpr T operator()(const T& a, const T& b) const {
    return op(a, b);
  }
};

namespace detail {

// What ranks compare of their reductions: an operation of these names, on elements of one kind of
// number.
enum class operation_name : std::uint8_t {
  none,  // No reduction.
  own,
  own_in_rank_order,
  sum,
  product,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  logical_and,
  logical_or,
  logical_xor,
  min_location,
  max_location
};
template <class Op>
inline constexpr operation_name operation_name_of = operation_name::own;
template <class Op>
inline constexpr operation_name operation_name_of<non_commutative<Op>> =
    operation_name::own_in_rank_order;
template <>
inline constexpr operation_name operation_name_of<weft::min> = operation_name::min;
template <>
inline constexpr operation_name operation_name_of<weft::max> = operation_name::max;
template <class T>
inline constexpr operation_name operation_name_of<std::plus<T>> = operation_name::sum;
template <class T>
inline constexpr operation_name operation_name_of<std::multiplies<T>> = operation_name::product;
template <class T>
inline constexpr operation_name operation_name_of<std::bit_and<T>> = operation_name::bit_and;
template <class T>
inline constexpr operation_name operation_name_of<std::bit_or<T>> = operation_name::bit_or;
template <class T>
inline constexpr operation_name operation_name_of<std::bit_xor<T>> = operation_name::bit_xor;
template <class T>
inline constexpr operation_name operation_name_of<std::logical_and<T>> =
    operation_name::logical_and;
template <class T>
inline constexpr operation_name operation_name_of<std::logical_or<T>> = operation_name::logical_or;

enum class number_kind : std::uint8_t { none, boolean, signed_integer, unsigned_integer, floating };
template <class T>
[[nodiscard]] constexpr number_kind kind_of_number() noexcept {
  if (std::is_same_v<T, bool>) return number_kind::boolean;
  if (std::is_floating_point_v<T>) return number_kind::floating;
  if (!std::is_integral_v<T>) return number_kind::none;
  return std::is_signed_v<T> ? number_kind::signed_integer : number_kind::unsigned_integer;
}

// Both as one number, so that it costs a call little.
struct combination {
  std::uint16_t code = 0;
  constexpr combination() = default;
  constexpr combination(operation_name op, number_kind kind, std::size_t bytes) noexcept
      : code(static_cast<std::uint16_t>(static_cast<std::size_t>(op) << 8 |
                                        static_cast<std::size_t>(kind) << 5 |
                                        (kind == number_kind::none ? 0 : bytes))) {}
  [[nodiscard]] constexpr operation_name operation() const noexcept {
    return static_cast<operation_name>(code >> 8);
  }
  [[nodiscard]] constexpr number_kind kind() const noexcept {
    return static_cast<number_kind>(code >> 5 & 7);
  }
  [[nodiscard]] constexpr int element_bits() const noexcept { return (code & 31) * 8; }
  friend bool operator==(const combination&, const combination&) = default;
};
template <class T>
[[nodiscard]] constexpr combination combination_of(operation_name op) noexcept {
  return {op, kind_of_number<T>(), sizeof(T)};
}

}  // namespace detail

// An operation on `count` elements, without its types. `op` must outlive it.
struct reduction {
  const void* op;
  // left[i] = op(left[i], right[i]) for `count` elements.
  void (*combine)(const void* op, void* left, const void* right, std::size_t count);
  std::size_t element_bytes;
  std::size_t count;
  bool commutative;
  detail::combination combines = {};
  [[nodiscard]] std::size_t bytes() const noexcept { return element_bytes * count; }
};

template <class Op>
inline constexpr bool is_commutative = true;
template <class Op>
inline constexpr bool is_commutative<non_commutative<Op>> = false;

template <class T, class Op>
requires std::is_invocable_r_v<T, const Op&, const T&, const T&>
[[nodiscard]] reduction make_reduction(const Op& op, std::size_t count) noexcept {
  return {&op,
          [](const void* f, void* left, const void* right, std::size_t n) {
            T* l = static_cast<T*>(left);
            const T* r = static_cast<const T*>(right);
            for (std::size_t i = 0; i < n; ++i)
              l[i] = static_cast<T>((*static_cast<const Op*>(f))(l[i], r[i]));
          },
          sizeof(T),
          count,
          is_commutative<Op>,
          detail::combination_of<T>(detail::operation_name_of<Op>)};
}

}  // namespace weft
