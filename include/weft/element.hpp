// What can be sent: a trivially copyable value, or a contiguous range of such elements.
#pragma once
#include <cstddef>
#include <functional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace weft {

template <class R>
concept element_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<R>>;
// An address means nothing to another rank, by whatever name.
template <class T>
concept address_like =
    std::is_pointer_v<std::remove_cvref_t<T>> || std::is_null_pointer_v<std::remove_cvref_t<T>> ||
    !std::is_same_v<std::unwrap_reference_t<std::remove_cvref_t<T>>, std::remove_cvref_t<T>>;
template <class T>
concept element =
    std::is_trivially_copyable_v<std::remove_cvref_t<T>> && !address_like<T> && !element_range<T>;

// What a call writes to, and what a request refers to, must outlive the call: a variable, or a temporary that refers to
// its elements, as a span does. A type of the program's own does when it can be copied octet by octet and a const of
// it gives elements that are not, or when it is a std::ranges::borrowed_range.
template <class T>
concept lasting_value = std::is_lvalue_reference_v<T> && element<T> && !std::ranges::range<T>;
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
concept result_range_of = writable_range<R> &&
    std::is_same_v<std::ranges::range_value_t<R>, std::ranges::range_value_t<M>>;
template <class R, class M>
concept result_elements_of = writable_elements<R> && lasting_elements<M> &&
    std::is_same_v<typename decltype(span_of(std::declval<R>()))::value_type,
                   typename decltype(span_of(std::declval<M>()))::value_type>;

template <element_range R>
[[nodiscard]] auto bytes_of(const R& range) noexcept {
  return std::as_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
}
template <element T>
[[nodiscard]] auto bytes_of(const T& value) noexcept {
  return std::as_bytes(std::span(&value, 1));
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
