// Why something cannot be sent, referred to or received into: one sentence in the compiler's error, with the remedy.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <type_traits>

#include "weft/element.hpp"

namespace weft {

template <class Byte>
class basic_layout;
using layout = basic_layout<std::byte>;
using const_layout = basic_layout<const std::byte>;

template <class L>
concept any_layout = std::same_as<std::remove_cvref_t<L>, layout> ||
    std::same_as<std::remove_cvref_t<L>, const_layout>;
template <class L>
concept writable_layout = std::same_as<std::remove_cvref_t<L>, layout>;

namespace detail {

template <class>
inline constexpr bool never = false;

// What a call would do with what it is given.
enum class use : std::uint8_t { send, refer_to, write_to, make };

// In one sentence, why an M cannot be used so. All of them in one function: each call between a program's line and its
// error is one more line to read.
template <class M, use For>
consteval void refuse() {
  using T = std::remove_cvref_t<M>;
  constexpr bool reads = For == use::send || For == use::refer_to;
  if constexpr (For == use::make && (element_range<T> || address_like<T>)) {
    static_assert(never<T>,
                  "weft: what refers to memory cannot be received: receive a std::vector "
                  "or std::string, or into memory, recv(range, from)");
  } else if constexpr (address_like<T> || std::input_or_output_iterator<T>) {
    static_assert(never<T>,
                  "weft: an address means nothing to another rank: give what lies there, "
                  "as *p or std::span(p, count)");
  } else if constexpr (serialized_form<T> && reads) {
    static_assert(never<T>,
                  "weft: this call takes no weft::serialized(x): give it the bytes, "
                  "auto bytes = weft::serialize(x)");
  } else if constexpr (serialized_form<T>) {
    static_assert(never<T>,
                  "weft: this call takes no weft::serialized(x): receive a "
                  "std::vector<std::byte>, then x = weft::deserialize<T>(bytes)");
  } else if constexpr (std::same_as<T, const_layout> && For == use::write_to) {
    static_assert(never<T>, "weft: this memory is const: give some that may be written to");
  } else if constexpr (any_layout<T>) {
    static_assert(never<T>, "weft: collective operations take no layouts: give a range");
  } else if constexpr (copied_range<T> && For == use::refer_to) {
    static_assert(never<T>,
                  "weft: elements of this range do not lie in a row, and nobody keeps a "
                  "copy until the wait: give a std::vector, or call the blocking form");
  } else if constexpr (copied_range<T>) {
    static_assert(never<T>,
                  "weft: elements of this range do not lie in a row: receive a "
                  "std::vector of them (of char instead of bool)");
  } else if constexpr ((element<T> || element_range<T>)&&For == use::refer_to) {
    static_assert(never<T>, "weft: a temporary ends before the request does: give a variable");
  } else if constexpr (lasting_elements<M> ||
                       (element_range<T> && std::ranges::borrowed_range<T>)) {
    static_assert(never<T>, "weft: this memory is const: give some that may be written to");
  } else if constexpr (element<T> || element_range<T>) {
    static_assert(never<T>, "weft: what is written to a temporary is lost: give a variable");
  } else if constexpr (For == use::make) {
    static_assert(never<T>,
                  "weft: this object owns or points to memory: send weft::serialized(x), "
                  "of <weft/serialization.hpp>, and recv<weft::serialized<T>>()");
  } else if constexpr (!any_range<T>) {
    static_assert(never<T>,
                  "weft: this object owns or points to memory: give weft::serialized(x), "
                  "of <weft/serialization.hpp>, or weft::members() of it");
  } else if constexpr (element<std::ranges::range_value_t<T>>) {
    static_assert(never<T>,
                  "weft: the size of this range is not known before it is walked "
                  "through: copy it into a std::vector and give that");
  } else {
    static_assert(never<T>,
                  "weft: elements of this range own or point to memory: give "
                  "weft::serialized(x), of <weft/serialization.hpp>");
  }
}

}  // namespace detail
}  // namespace weft
