// How arguments and results become bytes, in one pass. What may be sent:
//
//   elements          values without addresses (element.hpp), copied as they are
//   std::vector and std::string of elements, std::vector, std::array and built-in arrays of anything below
//   aggregates        of such bases and members, at most 16 members, without code
//   other types       that cereal knows, or with the program's `serialize(archive)`; needs cereal (libcereal-dev)
//
// Where a type has such a function, that is called, also within what could else be copied.
//
// A vector or string of elements of at least the threshold (8192 bytes) is not copied into the parcel: it travels from
// its place to its place, as a chunk of its own. Not so within a set or map, which looks at its keys before
// a chunk would have come.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/element.hpp"
#include "weft/error.hpp"
#if __has_include(<cereal/cereal.hpp>)
#include "weft/serialization.hpp"
#define WEFT_PARCELS_HAVE_CEREAL 1
#endif

namespace weft::detail {

// Of one parcel; what comes beyond them is copied.
inline constexpr std::size_t parcel_chunks_max = 64;
inline constexpr std::size_t parcel_header_bytes = 24;
// Of a chunk: a receiver makes room for what a sender says.
inline constexpr std::uint64_t parcel_chunk_bytes_max = std::uint64_t{4} << 30;
// In front of a vector or string: how many elements, and whether they are in a chunk.
inline constexpr std::uint64_t length_in_chunk = std::uint64_t{1} << 63;

struct parcel_chunk {
  const std::byte* data = nullptr;
  std::size_t size = 0;
};

// Puts the bytes of a parcel together behind room for its header. Refers to the chunks.
class parcel_writer {
 public:
  explicit parcel_writer(std::size_t chunk_bytes_min) noexcept
      : chunk_bytes_min_(chunk_bytes_min) {}
  parcel_writer(const parcel_writer&) = delete;
  parcel_writer& operator=(const parcel_writer&) = delete;

  void write(const void* from, std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) < bytes) [[unlikely]]
      grow(bytes);
    if (bytes != 0) std::memcpy(at_, from, bytes);
    at_ += bytes;
  }
  // Of a container: its reader may refuse any length that is greater than the bytes left.
  void write_length(std::uint64_t elements) {
    write(&elements, sizeof elements);
    const std::size_t least = size() + static_cast<std::size_t>(elements);
    if (least > least_) least_ = least;
  }
  // Elements in a row, with their length.
  void write_row(const void* from, std::uint64_t elements, std::size_t bytes) {
    if (bytes >= chunk_bytes_min_ && chunk_count_ < parcel_chunks_max && !copies_all_)
        [[unlikely]] {
      add_chunk(static_cast<const std::byte*>(from), bytes);
      elements |= length_in_chunk;
      return write(&elements, sizeof elements);
    }
    write(&elements, sizeof elements);
    write(from, bytes);
  }
  void finish() {
    if (size() < least_) [[unlikely]]
      pad();
  }
  void restart() noexcept {
    at_ = begin_ + parcel_header_bytes;
    chunk_count_ = 0;
    least_ = 0;
  }
  // Until it goes nothing becomes a chunk.
  class copying {
   public:
    explicit copying(parcel_writer& of) noexcept
        : of_(of), before_(std::exchange(of.copies_all_, true)) {}
    ~copying() { of_.copies_all_ = before_; }
    copying(const copying&) = delete;
    copying& operator=(const copying&) = delete;

   private:
    parcel_writer& of_;
    bool before_;
  };

  // With the room in front.
  [[nodiscard]] std::span<std::byte> bytes() noexcept { return {begin_, size()}; }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - begin_); }
  [[nodiscard]] std::span<const parcel_chunk> chunks() const noexcept {
    return {chunks_.get(), chunk_count_};
  }
  // Where the bytes lie, when they did not fit into the writer: the caller's from now on.
  [[nodiscard]] std::unique_ptr<std::byte[]> take_heap() noexcept { return std::move(heap_); }

 private:
  void grow(std::size_t bytes);
  void pad();
  void add_chunk(const std::byte* data, std::size_t size);

  static constexpr std::size_t inside_bytes = 512;
  const std::size_t chunk_bytes_min_;
  bool copies_all_ = false;
  std::size_t chunk_count_ = 0;
  std::size_t least_ = 0;
  std::byte* begin_ = inside_;
  std::byte* at_ = inside_ + parcel_header_bytes;
  std::byte* end_ = inside_ + inside_bytes;
  std::unique_ptr<std::byte[]> heap_;
  std::unique_ptr<parcel_chunk[]> chunks_;
  alignas(8) std::byte inside_[inside_bytes];
};

// Thrown where a parcel is not what its receiver expects.
struct malformed_parcel : error {
  using error::error;
};

// Reads what a parcel_writer wrote. Believes nothing of it: throws malformed_parcel when it is not what the types need.
class parcel_reader {
 public:
  // `chunk_bytes`: the sizes of the chunks, as the parcel says, not aligned.
  parcel_reader(std::span<const std::byte> from, std::span<const std::byte> chunk_bytes) noexcept
      : at_(from.data()), end_(from.data() + from.size()), chunk_bytes_(chunk_bytes) {}
  parcel_reader(const parcel_reader&) = delete;
  parcel_reader& operator=(const parcel_reader&) = delete;

  void read(void* to, std::size_t bytes) {
    if (bytes > left()) [[unlikely]]
      refuse();
    if (bytes != 0) std::memcpy(to, at_, bytes);
    at_ += bytes;
  }
  [[nodiscard]] std::uint64_t read_length() {
    std::uint64_t elements = 0;
    read(&elements, sizeof elements);
    if (elements > left()) [[unlikely]]
      refuse();
    const std::byte* const least = at_ + elements;
    if (least > least_) least_ = least;
    return elements;
  }
  // Makes the row as long as it says. What is in a chunk comes later to where the row then lies: the row may be moved,
  // not copied.
  template <class Row>
  void read_row(Row& row) {
    using element_type = typename Row::value_type;
    std::uint64_t elements = 0;
    read(&elements, sizeof elements);
    if ((elements & length_in_chunk) != 0) [[unlikely]] {
      elements &= ~length_in_chunk;
      const std::uint64_t bytes = next_chunk();
      if (bytes % sizeof(element_type) != 0 || bytes / sizeof(element_type) != elements) refuse();
      // A short string would lie in the row itself, and not stay where it is when that is moved.
      if (bytes < sizeof(Row)) refuse();
      row.resize(static_cast<std::size_t>(elements));
      expect_chunk(reinterpret_cast<std::byte*>(row.data()), static_cast<std::size_t>(bytes));
      return;
    }
    if (elements > left() / sizeof(element_type)) [[unlikely]]
      refuse();
    const auto count = static_cast<std::size_t>(elements);
    row.resize(count);
    read(row.data(), count * sizeof(element_type));
  }
  // All has been read, and every chunk has a place.
  void finish() {
    if (least_ > at_) at_ = least_;
    if (at_ != end_ || chunks_read_ * sizeof(std::uint64_t) != chunk_bytes_.size()) [[unlikely]]
      refuse();
  }
  [[nodiscard]] bool has_chunks() const noexcept { return !chunk_bytes_.empty(); }
  // Where they belong, in their order.
  [[nodiscard]] std::vector<std::span<std::byte>>& places() noexcept { return places_; }

 private:
  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  [[noreturn, gnu::cold]] void refuse() const;
  [[nodiscard]] std::uint64_t next_chunk();
  void expect_chunk(std::byte* place, std::size_t bytes);

  const std::byte* at_;
  const std::byte* end_;
  const std::byte* least_ = nullptr;
  std::span<const std::byte> chunk_bytes_;
  std::size_t chunks_read_ = 0;
  std::vector<std::span<std::byte>> places_;
};

}  // namespace weft::detail

#include "weft/parcels/aggregate.hpp"

namespace weft::detail {

// Calls visit(members...) of the aggregate, which has `n` of them and no bases with members.
template <std::size_t n, class T, class Visit>
decltype(auto) with_own_members(T& of, const Visit& visit) {
  static_assert(n <= aggregate_members_max,
                "weft: an aggregate in a parcel has at most 16 members: nest it, or give it a "
                "`template <class A> void serialize(A& archive)`");
  if constexpr (n == 0) {
    return visit();
  } else if constexpr (n == 1) {
    auto& [a] = of;
    return visit(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = of;
    return visit(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = of;
    return visit(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = of;
    return visit(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = of;
    return visit(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = of;
    return visit(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = of;
    return visit(a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = of;
    return visit(a, b, c, d, e, f, g, h);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = of;
    return visit(a, b, c, d, e, f, g, h, i);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = of;
    return visit(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = of;
    return visit(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (n == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = of;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (n == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = of;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (n == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o] = of;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, o);
  } else if constexpr (n == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p] = of;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p);
  } else if constexpr (n == 16) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q] = of;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q);
  }
}

// Calls visit(parts...): a base_part of each base, and each member.
template <class T, class Visit>
decltype(auto) with_parts(T& of, const Visit& visit) {
  using type = std::remove_const_t<T>;
  if constexpr (!has_base<type>()) {
    return with_own_members<count_parts<type>()>(of, visit);
  } else {
    using parts = parts_of<type>;
    const auto with_bases = [&](auto&... member) {
      return [&]<std::size_t... B>(std::index_sequence<B...>) {
        return visit(base_part<copied_constness<T, typename parts::template base<B>>>{of}...,
                     member...);
      }
      (std::make_index_sequence<parts::base_count>());
    };
    if constexpr (parts::member_count == 0) {
      return with_bases();
    } else if constexpr (parts::has_empty_bases) {
      return with_own_members<parts::member_count>(of, with_bases);
    } else {
      return [&]<std::size_t... M>(std::index_sequence<M...>) {
        return with_bases(parts::template member<M>(of)...);
      }
      (std::make_index_sequence<parts::member_count>());
    }
  }
}

// --- Which way a type goes -------------------------------------------------------------------------

// A type that says itself how it is written.
#ifdef WEFT_PARCELS_HAVE_CEREAL
class parcel_output;
class parcel_input;
template <class T>
struct serializes_itself;
#else
template <class T>
struct serializes_itself : std::false_type {};
#endif

// An element that has such a type in it.
template <class T>
consteval bool has_own_code();
template <class T>
struct member_with_own_code {
  template <class M>
  requires(!std::is_same_v<M, T> && has_own_code<M>()) operator M() const noexcept;
};
template <class T, std::size_t I = 0>
consteval bool has_member_with_own_code() {
  if constexpr (I == members_max)
    return false;
  else if constexpr (!can_begin_with<T, any_member<T>>(std::make_index_sequence<I>()))
    return false;
  else if constexpr (can_begin_with<T, member_with_own_code<T>>(std::make_index_sequence<I>()) &&
                     !can_begin_with<T, no_member>(std::make_index_sequence<I>()))
    return true;
  else
    return has_member_with_own_code<T, I + 1>();
}
template <class T>
inline constexpr bool alternative_has_own_code = false;
template <class... T>
inline constexpr bool alternative_has_own_code<std::variant<T...>> = (has_own_code<T>() || ...);
template <class T>
consteval bool has_own_code() {
  if constexpr (std::is_array_v<T>) {
    return has_own_code<std::remove_cv_t<std::remove_extent_t<T>>>();
  } else if constexpr (!std::is_class_v<T>) {
    return false;
  } else if constexpr (serializes_itself<T>::value || alternative_has_own_code<T>) {
    return true;
  } else if constexpr (requires { typename T::value_type; }) {
    if constexpr (has_own_code<typename T::value_type>()) return true;  // std::array, std::optional
    return false;
  } else if constexpr (std::is_aggregate_v<T>) {
    return has_member_with_own_code<T>();
  } else {
    return false;
  }
}
// What is copied as it is.
template <class T>
concept copied_element = element<T> && !has_own_code<T>();

template <class T>
inline constexpr bool is_row = false;
template <class T, class Allocator>
inline constexpr bool is_row<std::vector<T, Allocator>> =
    copied_element<T> && !std::is_same_v<T, bool>;
template <class C, class Traits, class Allocator>
inline constexpr bool is_row<std::basic_string<C, Traits, Allocator>> = copied_element<C>;
template <class T>
inline constexpr bool is_vector = false;
template <class T, class Allocator>
inline constexpr bool is_vector<std::vector<T, Allocator>> = !std::is_same_v<T, bool>;
// As many elements as its type says.
template <class T>
inline constexpr bool is_array = std::is_bounded_array_v<T>;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;

template <class T>
inline constexpr bool is_tuple_like = requires {
  std::tuple_size<T>::value;
};
template <class T>
concept plain_aggregate = std::is_aggregate_v<T> && !std::is_array_v<T> && !is_tuple_like<T> &&
                          !any_range<T> && !serializes_itself<T>::value;

template <class T>
void encode(parcel_writer& to, const T& value);
template <class T>
void decode(parcel_reader& from, T& value);

template <class T>
void encode_part(parcel_writer& to, const T& member) {
  encode(to, member);
}
template <class B>
void encode_part(parcel_writer& to, const base_part<B>& base) {
  encode(to, base.of);
}
template <class T>
void decode_part(parcel_reader& from, T& member) {
  decode(from, member);
}
// Its last bytes may be the first of a member of what is derived from it: they are not written.
template <class B>
void decode_part(parcel_reader& from, base_part<B>& base) {
  if constexpr (copied_element<B>) {
    B whole = base.of;
    from.read(&whole, sizeof whole);
    base.of = std::move(whole);
  } else {
    decode(from, base.of);
  }
}

}  // namespace weft::detail

#ifdef WEFT_PARCELS_HAVE_CEREAL
// --- cereal ----------------------------------------------------------------------------------------

namespace weft::detail {

class parcel_output : public cereal::OutputArchive<parcel_output, cereal::AllowEmptyClassElision> {
 public:
  explicit parcel_output(parcel_writer& writer) : OutputArchive(this), to(writer) {}
  parcel_writer& to;
};
class parcel_input : public cereal::InputArchive<parcel_input, cereal::AllowEmptyClassElision> {
 public:
  explicit parcel_input(parcel_reader& reader) : InputArchive(this), from(reader) {}
  parcel_reader& from;
};

template <class T>
struct serializes_itself
    : std::bool_constant<cereal::traits::has_member_serialize<T, parcel_output>::value ||
                         cereal::traits::has_non_member_serialize<T, parcel_output>::value ||
                         cereal::traits::has_member_save<T, parcel_output>::value ||
                         cereal::traits::has_member_save_minimal<T, parcel_output>::value> {};

// cereal finds these by name.
template <class T>
requires std::is_arithmetic_v<T>
void CEREAL_SAVE_FUNCTION_NAME(parcel_output& archive, const T& value) {
  archive.to.write(&value, sizeof value);
}
template <class T>
requires std::is_arithmetic_v<T>
void CEREAL_LOAD_FUNCTION_NAME(parcel_input& archive, T& value) {
  archive.from.read(&value, sizeof value);
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(parcel_output& archive, const cereal::BinaryData<T>& part) {
  archive.to.write(part.data, static_cast<std::size_t>(part.size));
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(parcel_input& archive, cereal::BinaryData<T>& part) {
  archive.from.read(part.data, static_cast<std::size_t>(part.size));
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(parcel_output& archive, const cereal::SizeTag<T>& length) {
  archive.to.write_length(length.size);
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(parcel_input& archive, cereal::SizeTag<T>& length) {
  length.size = static_cast<std::remove_reference_t<T>>(archive.from.read_length());
}
template <class Archive, class T>
requires(std::is_same_v<Archive, parcel_output> ||
         std::is_same_v<Archive,
                        parcel_input>) void CEREAL_SERIALIZE_FUNCTION_NAME(Archive& archive,
                                                                           cereal::NameValuePair<T>&
                                                                               named) {
  archive(named.value);
}
// The rows and aggregates of the list above, also within what cereal walks through.
template <class T, class Allocator>
requires(is_row<std::vector<T, Allocator>>) void CEREAL_SAVE_FUNCTION_NAME(
    parcel_output& archive, const std::vector<T, Allocator>& row) {
  archive.to.write_row(row.data(), row.size(), row.size() * sizeof(T));
}
template <class T, class Allocator>
requires(is_row<std::vector<T, Allocator>>) void CEREAL_LOAD_FUNCTION_NAME(
    parcel_input& archive, std::vector<T, Allocator>& row) {
  archive.from.read_row(row);
}
template <class C, class Traits, class Allocator>
void CEREAL_SAVE_FUNCTION_NAME(parcel_output& archive,
                               const std::basic_string<C, Traits, Allocator>& row) {
  archive.to.write_row(row.data(), row.size(), row.size() * sizeof(C));
}
template <class C, class Traits, class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(parcel_input& archive,
                               std::basic_string<C, Traits, Allocator>& row) {
  archive.from.read_row(row);
}
template <plain_aggregate T>
void CEREAL_SAVE_FUNCTION_NAME(parcel_output& archive, const T& value) {
  encode(archive.to, value);
}
template <plain_aggregate T>
void CEREAL_LOAD_FUNCTION_NAME(parcel_input& archive, T& value) {
  decode(archive.from, value);
}
// Containers that look at their keys while they are read.
#define WEFT_KEYED_CONTAINER(container, parameters, arguments)                    \
  template <WEFT_UNPACKED parameters>                                             \
  void CEREAL_SAVE_FUNCTION_NAME(parcel_output& archive,                          \
                                 const container<WEFT_UNPACKED arguments>& all) { \
    const parcel_writer::copying keys(archive.to);                                \
    cereal::CEREAL_SAVE_FUNCTION_NAME(archive, all);                              \
  }
#define WEFT_UNPACKED(...) __VA_ARGS__
WEFT_KEYED_CONTAINER(std::set, (class K, class C, class A), (K, C, A))
WEFT_KEYED_CONTAINER(std::multiset, (class K, class C, class A), (K, C, A))
WEFT_KEYED_CONTAINER(std::map, (class K, class V, class C, class A), (K, V, C, A))
WEFT_KEYED_CONTAINER(std::multimap, (class K, class V, class C, class A), (K, V, C, A))
WEFT_KEYED_CONTAINER(std::unordered_set, (class K, class H, class E, class A), (K, H, E, A))
WEFT_KEYED_CONTAINER(std::unordered_multiset, (class K, class H, class E, class A), (K, H, E, A))
WEFT_KEYED_CONTAINER(std::unordered_map, (class K, class V, class H, class E, class A),
                     (K, V, H, E, A))
WEFT_KEYED_CONTAINER(std::unordered_multimap, (class K, class V, class H, class E, class A),
                     (K, V, H, E, A))
#undef WEFT_KEYED_CONTAINER
#undef WEFT_UNPACKED

}  // namespace weft::detail

CEREAL_REGISTER_ARCHIVE(weft::detail::parcel_output)
CEREAL_REGISTER_ARCHIVE(weft::detail::parcel_input)
CEREAL_SETUP_ARCHIVE_TRAITS(weft::detail::parcel_input, weft::detail::parcel_output)
#endif

namespace weft::detail {

template <class T>
consteval bool is_known_to_cereal() {
#ifdef WEFT_PARCELS_HAVE_CEREAL
  return cereal::traits::is_output_serializable<T, parcel_output>::value &&
         cereal::traits::is_input_serializable<T, parcel_input>::value;
#else
  return false;
#endif
}

// --- What both sides must agree upon ---------------------------------------------------------------

[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t before, std::uint64_t next) noexcept {
  const std::uint64_t product = (before ^ next) * 0x9e37'79b9'7f4a'7c15u;
  return product ^ product >> 29;
}

// Of the bytes of a T in parcels, as far as they are seen from its type: how large what is copied is, how many parts an
// aggregate has.
template <class T>
consteval std::uint64_t shape_of() {
  if constexpr (std::is_void_v<T>) {
    return 1;
  } else if constexpr (address_like<T>) {
    return 2;
  } else if constexpr (copied_element<T>) {
    return mixed(mixed(3, sizeof(T)), std::is_floating_point_v<T> ? 1 : 0);
  } else if constexpr (std::is_bounded_array_v<T>) {
    return mixed(mixed(4, std::extent_v<T>), shape_of<std::remove_cv_t<std::remove_extent_t<T>>>());
  } else if constexpr (is_row<T> || is_vector<T>) {
    return mixed(5, shape_of<typename T::value_type>());
  } else if constexpr (is_array<T>) {
    return mixed(mixed(4, std::tuple_size_v<T>), shape_of<typename T::value_type>());
  } else if constexpr (plain_aggregate<T>) {
    return mixed(6, count_parts<T>());
  } else {
    return 7;
  }
}
template <class... T>
consteval std::uint64_t shape_of_all() {
  std::uint64_t all = sizeof...(T);
  ((all = mixed(all, shape_of<T>())), ...);
  return all;
}

template <class T>
void encode(parcel_writer& to, const T& value) {
  static_assert(!address_like<T>,
                "weft: an address means nothing in another process: send what it points to");
  if constexpr (address_like<T>) {
  } else if constexpr (copied_element<T>) {
    to.write(&value, sizeof value);
  } else if constexpr (is_array<T>) {
    for (const auto& each : value) encode(to, each);
  } else if constexpr (is_row<T>) {
    to.write_row(value.data(), value.size(), value.size() * sizeof(typename T::value_type));
  } else if constexpr (is_vector<T>) {
    to.write_length(value.size());
    for (const auto& each : value) encode(to, each);
  } else if constexpr (plain_aggregate<T>) {
    with_parts(value, [&to](const auto&... part) { (encode_part(to, part), ...); });
  } else {
    constexpr bool known = is_known_to_cereal<T>();
    static_assert(
        known,
        "weft: a parcel cannot carry this type: make it an aggregate of types that it can "
        "carry, or give it a `template <class A> void serialize(A& archive) { "
        "archive(first, second); }` (with cereal, libcereal-dev)");
#ifdef WEFT_PARCELS_HAVE_CEREAL
    if constexpr (known) {
      parcel_output archive(to);
      archive(value);
    }
#endif
  }
}

template <class T>
void decode(parcel_reader& from, T& value) {
  if constexpr (address_like<T>) {  // encode() says so.
  } else if constexpr (copied_element<T>) {
    from.read(&value, sizeof value);
  } else if constexpr (is_array<T>) {
    for (auto& each : value) decode(from, each);
  } else if constexpr (is_row<T>) {
    from.read_row(value);
  } else if constexpr (is_vector<T>) {
    value.resize(static_cast<std::size_t>(from.read_length()));
    for (auto& each : value) decode(from, each);
  } else if constexpr (plain_aggregate<T>) {
    with_parts(value, [&from](auto&&... part) { (decode_part(from, part), ...); });
  } else {
#ifdef WEFT_PARCELS_HAVE_CEREAL
    if constexpr (is_known_to_cereal<T>()) {
      parcel_input archive(from);
      archive(value);
    }
#endif
  }
}

}  // namespace weft::detail
