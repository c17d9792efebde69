// The predefined operations on the datatypes that the standard defines them for (MPI 4.1 section
// 6.9.2), as loops over elements in a row.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "mpi/object/operation.hpp"

namespace weft::mpi {
namespace {

// Indexed by the last five bits of the operation's handle and the last eight of the datatype's.
predefined_combination table[32][256];

__extension__ using int128 = __int128;
__extension__ using float128 = __float128;

// Its product is the plain formula; that of std::complex handles infinities, which is slower.
template <class T>
struct complex {
  T re, im;
  friend complex operator+(complex a, complex b) { return {a.re + b.re, a.im + b.im}; }
  friend complex operator*(complex a, complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

template <class Value, class Index>
struct pair {
  Value value;
  Index index;
};

// The type in which a sum is computed: unsigned for integers, which therefore wrap around.
template <class T>
using arithmetic = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>,
                                      std::make_unsigned<T>, std::type_identity<T>>;
struct sum {
  static constexpr auto name = detail::operation_name::sum;
  template <class T>
  T operator()(const T& a, const T& b) const {
    using U = typename arithmetic<T>::type;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  }
};
struct product {
  static constexpr auto name = detail::operation_name::product;
  template <class T>
  T operator()(const T& a, const T& b) const {
    // Not int, which would overflow for products of 16-bit numbers.
    using U = std::conditional_t<std::is_integral_v<T> && (sizeof(T) < 4), std::uint32_t,
                                 typename arithmetic<T>::type>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  }
};
struct least {
  static constexpr auto name = detail::operation_name::min;
  template <class T>
  T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};
struct greatest {
  static constexpr auto name = detail::operation_name::max;
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct bit_and {
  static constexpr auto name = detail::operation_name::bit_and;
  template <class T>
  T operator()(const T& a, const T& b) const {
    return static_cast<T>(a & b);
  }
};
struct bit_or {
  static constexpr auto name = detail::operation_name::bit_or;
  template <class T>
  T operator()(const T& a, const T& b) const {
    return static_cast<T>(a | b);
  }
};
struct bit_xor {
  static constexpr auto name = detail::operation_name::bit_xor;
  template <class T>
  T operator()(const T& a, const T& b) const {
    return static_cast<T>(a ^ b);
  }
};
struct logical_and {
  static constexpr auto name = detail::operation_name::logical_and;
  template <class T>
  T operator()(const T& a, const T& b) const {
    return static_cast<T>(a != 0 && b != 0);
  }
};
struct logical_or {
  static constexpr auto name = detail::operation_name::logical_or;
  template <class T>
  T operator()(const T& a, const T& b) const {
    return static_cast<T>(a != 0 || b != 0);
  }
};
struct logical_xor {
  static constexpr auto name = detail::operation_name::logical_xor;
  template <class T>
  T operator()(const T& a, const T& b) const {
    return static_cast<T>((a != 0) != (b != 0));
  }
};
// When the values are equal, the lower index is taken.
struct least_at {
  static constexpr auto name = detail::operation_name::min_location;
  template <class P>
  P operator()(const P& a, const P& b) const {
    if (a.value < b.value) return a;
    if (b.value < a.value) return b;
    return {a.value, std::min(a.index, b.index)};
  }
};
struct greatest_at {
  static constexpr auto name = detail::operation_name::max_location;
  template <class P>
  P operator()(const P& a, const P& b) const {
    if (b.value < a.value) return a;
    if (a.value < b.value) return b;
    return {a.value, std::min(a.index, b.index)};
  }
};

template <class T, class Op>
[[gnu::always_inline]] inline void combine_each(void* left, const void* right, std::size_t count) {
  const Op op;
  if constexpr (alignof(T) <= 8) {
    T* const l = static_cast<T*>(left);
    const T* const r = static_cast<const T*>(right);
    for (std::size_t i = 0; i < count; ++i) l[i] = op(l[i], r[i]);
  } else {  // Small messages are aligned at 8 bytes only.
    for (std::size_t i = 0; i < count; ++i) {
      auto* const at = static_cast<std::byte*>(left) + i * sizeof(T);
      T l, r;
      std::memcpy(&l, at, sizeof l);
      std::memcpy(&r, static_cast<const std::byte*>(right) + i * sizeof(T), sizeof r);
      l = op(l, r);
      std::memcpy(at, &l, sizeof l);
    }
  }
}

template <class T, class Op>
void combine(const void*, void* left, const void* right, std::size_t count) {
  combine_each<T, Op>(left, right, count);
}

#if defined(__x86_64__)
// With registers of 32 bytes. The elements are combined each for itself: the results are the same.
template <class T, class Op>
[[gnu::target("avx2")]] void combine_wide(const void*, void* left, const void* right,
                                          std::size_t count) {
  combine_each<T, Op>(left, right, count);
}
#endif

// What suits the processor.
template <class T, class Op>
combine_function best_combine() {
#if defined(__x86_64__)
  if constexpr (std::is_arithmetic_v<T> && alignof(T) <= 8)
    if (__builtin_cpu_supports("avx2")) return &combine_wide<T, Op>;
#endif
  return &combine<T, Op>;
}

predefined_combination& place(MPI_Op op, MPI_Datatype type) {
  return table[value_of(op) & 0x1f][value_of(type) & 0xff];
}
template <class T, class Op>
void define(MPI_Op op, MPI_Datatype type) {
  place(op, type) = {best_combine<T, Op>(), detail::combination_of<T>(Op::name)};
}

template <class T>
void define_order(MPI_Datatype type) {
  define<T, least>(MPI_MIN, type);
  define<T, greatest>(MPI_MAX, type);
}
template <class T>
void define_sums(MPI_Datatype type) {
  define<T, sum>(MPI_SUM, type);
  define<T, product>(MPI_PROD, type);
}
template <class T>
void define_bits(MPI_Datatype type) {
  define<T, bit_and>(MPI_BAND, type);
  define<T, bit_or>(MPI_BOR, type);
  define<T, bit_xor>(MPI_BXOR, type);
}
template <class T>
void define_logic(MPI_Datatype type) {
  define<T, logical_and>(MPI_LAND, type);
  define<T, logical_or>(MPI_LOR, type);
  define<T, logical_xor>(MPI_LXOR, type);
}
// Logic beyond C's integers is not the standard's, but programs use it.
template <class T>
void define_integer(MPI_Datatype type) {
  define_order<T>(type);
  define_sums<T>(type);
  define_bits<T>(type);
  define_logic<T>(type);
}
template <class T>
void define_float(MPI_Datatype type) {
  define_order<T>(type);
  define_sums<T>(type);
}
template <class Value, class Index>
void define_pair(MPI_Datatype type) {
  define<pair<Value, Index>, least_at>(MPI_MINLOC, type);
  define<pair<Value, Index>, greatest_at>(MPI_MAXLOC, type);
}

[[maybe_unused]] const bool defined = [] {
  define_integer<short>(MPI_SHORT);
  define_integer<int>(MPI_INT);
  define_integer<long>(MPI_LONG);
  define_integer<long long>(MPI_LONG_LONG);
  define_integer<signed char>(MPI_SIGNED_CHAR);
  define_integer<char>(MPI_CHAR);  // Beyond the standard, as is MPI_CHARACTER: programs use them.
  define_integer<unsigned char>(MPI_UNSIGNED_CHAR);
  define_integer<unsigned short>(MPI_UNSIGNED_SHORT);
  define_integer<unsigned>(MPI_UNSIGNED);
  define_integer<unsigned long>(MPI_UNSIGNED_LONG);
  define_integer<unsigned long long>(MPI_UNSIGNED_LONG_LONG);
  define_integer<std::int8_t>(MPI_INT8_T);
  define_integer<std::int16_t>(MPI_INT16_T);
  define_integer<std::int32_t>(MPI_INT32_T);
  define_integer<std::int64_t>(MPI_INT64_T);
  define_integer<std::uint8_t>(MPI_UINT8_T);
  define_integer<std::uint16_t>(MPI_UINT16_T);
  define_integer<std::uint32_t>(MPI_UINT32_T);
  define_integer<std::uint64_t>(MPI_UINT64_T);

  define_integer<char>(MPI_CHARACTER);
  define_integer<std::int32_t>(MPI_INTEGER);
  define_integer<std::int8_t>(MPI_INTEGER1);
  define_integer<std::int16_t>(MPI_INTEGER2);
  define_integer<std::int32_t>(MPI_INTEGER4);
  define_integer<std::int64_t>(MPI_INTEGER8);
  define_integer<int128>(MPI_INTEGER16);
  define_integer<MPI_Aint>(MPI_AINT);
  define_integer<MPI_Offset>(MPI_OFFSET);
  define_integer<MPI_Count>(MPI_COUNT);

  define_float<float>(MPI_FLOAT);
  define_float<double>(MPI_DOUBLE);
  define_float<long double>(MPI_LONG_DOUBLE);
  define_float<float>(MPI_REAL);
  define_float<double>(MPI_DOUBLE_PRECISION);
  define_float<float>(MPI_REAL4);
  define_float<double>(MPI_REAL8);
  define_float<float128>(MPI_REAL16);

  define_logic<bool>(MPI_C_BOOL);
  define_logic<bool>(MPI_CXX_BOOL);
  define_logic<std::int32_t>(MPI_LOGICAL);
  define_logic<std::int8_t>(MPI_LOGICAL1);
  define_logic<std::int16_t>(MPI_LOGICAL2);
  define_logic<std::int32_t>(MPI_LOGICAL4);
  define_logic<std::int64_t>(MPI_LOGICAL8);
  define_logic<int128>(MPI_LOGICAL16);

  define_sums<complex<float>>(MPI_C_FLOAT_COMPLEX);
  define_sums<complex<double>>(MPI_C_DOUBLE_COMPLEX);
  define_sums<complex<long double>>(MPI_C_LONG_DOUBLE_COMPLEX);
  define_sums<complex<float>>(MPI_CXX_FLOAT_COMPLEX);
  define_sums<complex<double>>(MPI_CXX_DOUBLE_COMPLEX);
  define_sums<complex<long double>>(MPI_CXX_LONG_DOUBLE_COMPLEX);
  define_sums<complex<float>>(MPI_COMPLEX);
  define_sums<complex<double>>(MPI_DOUBLE_COMPLEX);
  define_sums<complex<float>>(MPI_COMPLEX8);
  define_sums<complex<double>>(MPI_COMPLEX16);
  define_sums<complex<float128>>(MPI_COMPLEX32);

  define_bits<std::uint8_t>(MPI_BYTE);

  define_pair<float, int>(MPI_FLOAT_INT);
  define_pair<double, int>(MPI_DOUBLE_INT);
  define_pair<long, int>(MPI_LONG_INT);
  define_pair<int, int>(MPI_2INT);
  define_pair<short, int>(MPI_SHORT_INT);
  define_pair<long double, int>(MPI_LONG_DOUBLE_INT);
  define_pair<float, float>(MPI_2REAL);
  define_pair<double, double>(MPI_2DOUBLE_PRECISION);
  define_pair<std::int32_t, std::int32_t>(MPI_2INTEGER);
  return true;
}();

}  // namespace

predefined_combination find_combine(MPI_Op op, MPI_Datatype type) {
  const bool are_predefined = value_of(op) >> 5 == 1 && value_of(type) >> 8 == 2;
  return are_predefined ? place(op, type) : predefined_combination{};
}

}  // namespace weft::mpi
