// From what a caller gives to bytes: of data that are sent, of data that a request refers to, of memory that is written
// to. What is none of them does not compile (refusal.hpp says why).
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/element.hpp"
#include "weft/layout.hpp"
#include "weft/reduction.hpp"
#include "weft/refusal.hpp"

namespace weft {

// What a message can be made of.
template <class M>
concept sendable = element_value<M> || element_range<M> || copied_range<std::remove_cvref_t<M>> ||
    any_layout<M> || serialized_form<M>;
// What a request can refer to, and what can be received into.
template <class M>
concept lasting_message = lasting_value<M> || lasting_range<M> || any_layout<M>;
template <class M>
concept message_room = writable_range<M> || writable_layout<M>;
template <class M>
concept lasting_room = lasting_writable_value<M> || message_room<M>;

namespace detail {

// What a blocking call sends: bytes where they lie, or something that holds a copy of them.
template <class M>
[[nodiscard]] decltype(auto) sent(const M& data) {
  if constexpr (serialized_form<M>) {
    return data.pack();
  } else if constexpr (sendable<M>) {
    return bytes_of(data);
  } else {
    refuse<M, use::send>();
    return std::span<const std::byte>();
  }
}
// The same for collectives, whose bytes lie in a row.
template <class M>
[[nodiscard]] auto sent_in_a_row(const M& data) {
  if constexpr (sendable<M> && !any_layout<M> && !serialized_form<M>) {
    return bytes_of(data);
  } else {
    refuse<M, use::send>();
    return std::span<const std::byte>();
  }
}
// What a request refers to.
template <class M>
[[nodiscard]] decltype(auto) lent(M&& data) noexcept {
  if constexpr (lasting_message<M>) {
    return bytes_of(data);
  } else {
    refuse<M, use::refer_to>();
    return std::span<const std::byte>();
  }
}
template <class M>
[[nodiscard]] auto lent_in_a_row(M&& data) noexcept {
  if constexpr (lasting_elements<M>) {
    return std::as_bytes(span_of(data));
  } else {
    refuse<M, use::refer_to>();
    return std::span<const std::byte>();
  }
}
// What is written to, by a call or until a request is complete.
template <class M>
[[nodiscard]] decltype(auto) room_of(M&& into) noexcept {
  if constexpr (lasting_room<M>) {
    return writable_bytes_of(std::forward<M>(into));
  } else {
    refuse<M, use::write_to>();
    return std::span<std::byte>();
  }
}
template <class M>
[[nodiscard]] auto room_in_a_row(M&& into) noexcept {
  if constexpr (writable_elements<M>) {
    return writable_bytes_of(std::forward<M>(into));
  } else {
    refuse<M, use::write_to>();
    return std::span<std::byte>();
  }
}

// The type of the elements: of a value itself, of anything that is refused a byte.
template <class M>
struct element_type {
  using type = std::conditional_t<element<M>, std::remove_cvref_t<M>, std::byte>;
};
template <any_range M>
struct element_type<M> {
  using type = std::conditional_t<element<std::ranges::range_value_t<M>>,
                                  std::ranges::range_value_t<M>, std::byte>;
};
template <class M>
using element_of = typename element_type<std::remove_cvref_t<M>>::type;

// The elements of what a blocking reduction reads.
template <class M>
[[nodiscard]] auto elements_in(const M& in) {
  if constexpr (element_range<M>)
    return std::span(std::ranges::data(in), std::ranges::size(in));
  else if constexpr (copied_range<M>)
    return copied_elements<std::ranges::range_value_t<M>>::of(in);
  else
    return std::span(&in, 1);
}

// Whether `op` combines the elements of In into Out, now or, where For is refer_to, until a request is complete; where
// not, why.
template <class In, class Out, class Op, use For = use::send>
consteval bool can_reduce() {
  using T = element_of<In>;
  if constexpr (!(lasting_elements<In> ||
                  (For == use::send && (element_value<In> || element_range<In> ||
                                        copied_range<std::remove_cvref_t<In>>)))) {
    refuse<In, For>();
    return false;
  } else if constexpr (!writable_elements<Out>) {
    refuse<Out, use::write_to>();
    return false;
  } else if constexpr (!std::is_same_v<T, element_of<Out>>) {
    static_assert(never<Out>,
                  "weft: a reduction gives elements of the type that it takes: let "
                  "input and output be of the same type");
    return false;
  } else if constexpr (!std::is_invocable_r_v<T, const Op&, const T&, const T&>) {
    static_assert(never<Op>,
                  "weft: the operation is called as T(T, T), T being the type of the "
                  "elements: give std::plus<>(), weft::max() or a function like that");
    return false;
  } else {
    return true;
  }
}
// One element, or none, of each rank.
template <class T>
[[nodiscard]] std::vector<T> elements_of_ranks(std::size_t count) {
  static_assert(!std::is_same_v<T, bool>,
                "weft: std::vector<bool> packs bits: give char instead of bool");
  return std::vector<T>(count);
}

}  // namespace detail
}  // namespace weft
