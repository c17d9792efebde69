// Operations for reduce, allreduce and scan: std::plus<>, std::multiplies<>, weft::min, weft::max,
// std::bit_or<> ..., or any callable T(T, T). Taken as commutative unless non_commutative(f) says
// otherwise; then ranks are combined strictly in rank order.
#pragma once
#include <cstddef>
#include <type_traits>

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

// An operation on `count` elements, without its types. `op` must outlive it.
struct reduction {
  const void* op;
  // left[i] = op(left[i], right[i]) for `count` elements.
  void (*combine)(const void* op, void* left, const void* right, std::size_t count);
  std::size_t element_bytes;
  std::size_t count;
  bool commutative;
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
          sizeof(T), count, is_commutative<Op>};
}

}  // namespace weft
