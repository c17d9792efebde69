// What can be sent: a value that goes as its own bytes, a range of such values, or what a wrapper makes of an object
// (layout.hpp, serialization.hpp). The concepts here can be asked by generic code; a call that is given something else
// does not compile, with one sentence that names the remedy.
#pragma once
#include <cstddef>
#include <iterator>
#include <new>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include "weft/operators.hpp"

namespace weft {

// Specialise it as true for a trivially copyable type of your own that holds addresses, or a range, and shall be sent as
// its bytes all the same: receivers must not use the addresses.
template <class T>
inline constexpr bool sent_as_bytes = false;

// An address means nothing to another rank, by whatever name.
template <class T>
concept address_like =
    std::is_pointer_v<std::remove_cvref_t<T>> || std::is_null_pointer_v<std::remove_cvref_t<T>> ||
    std::is_member_pointer_v<std::remove_cvref_t<T>> ||
    !std::is_same_v<std::unwrap_reference_t<std::remove_cvref_t<T>>, std::remove_cvref_t<T>>;

namespace detail {

template <class T>
consteval bool is_element();

// Stand for the members of an aggregate T: anything at all, only what is no element, and nothing.
template <class T>
struct any_member {
  template <class M>
  requires(!std::is_same_v<M, T>) operator M() const noexcept;
};
template <class T>
struct member_of_no_element {
  template <class M>
  requires(!std::is_same_v<M, T> && !is_element<M>()) operator M() const noexcept;
};
struct no_member {};

template <class T, class Last, std::size_t... Before>
consteval bool can_begin_with(std::index_sequence<Before...>) {
  return requires {
    T{(static_cast<void>(Before), any_member<T>{})..., Last{}};
  };
}
// Whether member `I` of the aggregate T, or one after it, is no element. The elements of an array count as members.
// Beyond `members_max` of them it is not looked at.
inline constexpr std::size_t members_max = 200;
template <class T, std::size_t I = 0>
consteval bool has_member_of_no_element() {
  if constexpr (I == members_max)
    return false;
  else if constexpr (!can_begin_with<T, any_member<T>>(std::make_index_sequence<I>()))
    return false;
  else if constexpr (can_begin_with<T, member_of_no_element<T>>(std::make_index_sequence<I>()) &&
                     !can_begin_with<T, no_member>(std::make_index_sequence<I>()))
    return true;
  else
    return has_member_of_no_element<T, I + 1>();
}

template <class T>
concept any_range = std::ranges::range<T&> || std::ranges::range<const T&>;
template <class T>
concept bytes_can_be_assigned = std::is_trivially_copyable_v<T> &&
    (std::is_trivially_copy_assignable_v<T> || std::is_trivially_move_assignable_v<T>);

template <class T>
consteval bool is_element() {
  if constexpr (std::is_array_v<T>) {
    return std::is_bounded_array_v<T> && is_element<std::remove_cv_t<std::remove_extent_t<T>>>();
  } else if constexpr (std::is_union_v<T>) {  // Nobody but the program knows which member it holds.
    return std::is_trivially_copyable_v<T>;
  } else if constexpr (!bytes_can_be_assigned<T>) {
    return false;
  } else if constexpr (sent_as_bytes<T> || std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return true;
  } else if constexpr (address_like<T> || std::input_or_output_iterator<T>) {
    return false;
  } else if constexpr (std::ranges::contiguous_range<T> &&
                       requires { std::tuple_size<T>::value; }) {
    return is_element<std::ranges::range_value_t<T>>();  // std::array
  } else if constexpr (any_range<T> && !std::is_aggregate_v<T>) {
    return false;  // A view.
  } else if constexpr (requires { typename T::value_type; }) {
    if constexpr (!is_element<typename T::value_type>()) return false;  // std::optional
    return true;
  } else if constexpr (std::is_aggregate_v<T> && alignof(T) >= alignof(void*)) {
    return !has_member_of_no_element<T>();
  } else {
    return true;
  }
}

}  // namespace detail

// A trivially copyable value that holds no address, as far as that can be seen: pointers, references, iterators and views
// are none, nor is an aggregate or array with one of them in it. What classes keep private is not seen.
template <class T>
concept element = detail::is_element<std::remove_cvref_t<T>>();
template <class R>
concept element_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    element<std::ranges::range_value_t<R>>;
// A range of elements that do not lie in a row: a view, a list, a deque. Blocking calls send a copy of it.
template <class R>
concept copied_range = !element_range<R> && std::ranges::input_range<R> &&
                       std::ranges::sized_range<R> && element<std::ranges::range_value_t<R>> &&
                       (std::ranges::input_range<const std::remove_reference_t<R>> ||
                        std::ranges::view<std::remove_cvref_t<R>>);
// One value. An array of elements is a range, not a value.
template <class T>
concept element_value = element<T> && !detail::any_range<std::remove_reference_t<T>>;
// What weft::serialized() makes.
template <class S>
concept serialized_form = requires {
  typename std::remove_cvref_t<S>::serialized_type;
};

// What a call writes to, and what a request refers to, must outlive the call: a variable, or a temporary that refers to
// its elements, as a span does. A type of the program's own does when it can be copied byte by byte and a const of
// it gives elements that are not, or when it is a std::ranges::borrowed_range.
template <class T>
concept lasting_value = std::is_lvalue_reference_v<T> && element_value<T>;
template <class T>
concept lasting_writable_value = lasting_value<T> && !std::is_const_v<std::remove_reference_t<T>>;
template <class R>
concept refers_to_writable_elements = std::is_trivially_copyable_v<std::remove_reference_t<R>> &&
    std::ranges::contiguous_range<const std::remove_reference_t<R>> && !std::is_const_v<
        std::remove_reference_t<std::ranges::range_reference_t<const std::remove_reference_t<R>>>>;
template <class R>
concept lasting_range = element_range<R> &&
    (std::ranges::borrowed_range<R> || refers_to_writable_elements<R>);
template <class R>
concept writable_range = lasting_range<R> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
// One variable or a range of them.
template <class M>
concept lasting_elements = lasting_value<M> || lasting_range<M>;
template <class M>
concept writable_elements = lasting_writable_value<M> || writable_range<M>;
// A range that a receive makes, as long as the message: std::vector, std::string.
template <class R>
concept growing_range =
    element_range<R> && std::is_default_constructible_v<R> && !std::is_trivially_copyable_v<R> &&
    requires(R & range) {
  range.resize(std::size_t{1});
};

namespace detail {

// The elements of a range that do not lie in a row, in a row.
template <class T>
class copied_elements {
 public:
  template <class R>
  static copied_elements of(const R& range) {
    if constexpr (std::ranges::input_range<const R>) {
      return filled_from(range);
    } else {  // A view that changes as it is walked through.
      R walked = range;
      return filled_from(walked);
    }
  }
  copied_elements(copied_elements&& other) noexcept
      : size_(std::exchange(other.size_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  copied_elements& operator=(copied_elements&&) = delete;
  ~copied_elements() { ::operator delete(data_, std::align_val_t(alignof(T))); }

  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  operator std::span<const std::byte>() const noexcept {
    return std::as_bytes(std::span(data_, size_));
  }

 private:
  explicit copied_elements(std::size_t size)
      : size_(size),
        data_(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t(alignof(T))))) {}
  template <class R>
  static copied_elements filled_from(R& range) {
    copied_elements copy(static_cast<std::size_t>(std::ranges::size(range)));
    T* to = copy.data_;
    for (auto&& each : range) {
      if (to == copy.data_ + copy.size_) break;
      ::new (static_cast<void*>(to++)) T(std::forward<decltype(each)>(each));
    }
    return copy;
  }

  std::size_t size_;
  T* data_;
};

}  // namespace detail

template <lasting_range R>
[[nodiscard]] auto span_of(R&& range) noexcept {
  return std::span(std::ranges::data(range), std::ranges::size(range));
}
template <lasting_value T>
[[nodiscard]] auto span_of(T&& value) noexcept {
  return std::span(&value, 1);
}
// What takes the result of a reduction of M: as many elements of the same type.
template <class R, class M>
concept result_elements_of = writable_elements<R> && lasting_elements<M> &&
    std::is_same_v<typename decltype(span_of(std::declval<R>()))::value_type,
                   typename decltype(span_of(std::declval<M>()))::value_type>;

// The bytes of what is sent: a span; of a copied_range something that is one, and holds the copy.
template <element_range R>
[[nodiscard]] auto bytes_of(const R& range) noexcept {
  return std::as_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
}
template <element_value T>
[[nodiscard]] auto bytes_of(const T& value) noexcept {
  return std::as_bytes(std::span(&value, 1));
}
template <copied_range R>
[[nodiscard]] auto bytes_of(const R& range) {
  return detail::copied_elements<std::ranges::range_value_t<R>>::of(range);
}
template <writable_range R>
[[nodiscard]] auto writable_bytes_of(R&& range) noexcept {
  return std::as_writable_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
}
template <lasting_writable_value T>
[[nodiscard]] auto writable_bytes_of(T&& value) noexcept {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace weft
