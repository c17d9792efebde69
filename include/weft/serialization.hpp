// Objects that cannot be sent as their bytes, because they own memory: std::map, std::vector<std::string>, aggregates with
// containers in them. They are written into bytes and read from them again by cereal (https://uscilab.github.io/cereal),
// which knows the types of the standard library and types with
//
//   template <class Archive> void serialize(Archive& archive) { archive(first, second); }
//
//   world.send(weft::serialized(table), 1);                             // Written into bytes, which are sent.
//   auto table = world.recv<weft::serialized<std::map<std::string, int>>>(0);
//   world.recv(weft::serialized(table), 0);                             // Into a variable.
//   world.bcast(weft::serialized(table), 0);
//   auto all = world.gather(weft::serialized(table), 0);                // A std::vector of tables.
//
// Each costs a walk through the object and a copy of it at either side: hence the word in the call. A request needs bytes
// that live as long as it does: const auto bytes = weft::serialize(table); world.isend(bytes, 1). Sender and
// receiver are programs for the same kind of machine. Called by any thread.
#pragma once
#if !__has_include(<cereal/cereal.hpp>)
#error "weft/serialization.hpp needs cereal (Debian: libcereal-dev)"
#endif
#include <algorithm>
#include <cereal/cereal.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/common.hpp>
#include <cereal/types/complex.hpp>
#include <cereal/types/deque.hpp>
#include <cereal/types/list.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/tuple.hpp>
#include <cereal/types/unordered_map.hpp>
#include <cereal/types/unordered_set.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "weft/error.hpp"

namespace weft {

// Writes at the end of a vector. No container is written shorter than one byte for each element: so its reader can refuse
// any length that the bytes left do not bear out, before it makes room for it.
class output_archive
    : public cereal::OutputArchive<output_archive, cereal::AllowEmptyClassElision> {
 public:
  explicit output_archive(std::vector<std::byte>& to) : OutputArchive(this), to_(to) {}
  void write(const void* from, std::size_t bytes) {
    const auto* const first = static_cast<const std::byte*>(from);
    to_.insert(to_.end(), first, first + bytes);
  }
  void write_length(std::uint64_t elements) {
    write(&elements, sizeof elements);
    least_ = std::max<std::uint64_t>(least_, to_.size() + elements);
  }
  void finish() {
    if (to_.size() < least_) to_.resize(static_cast<std::size_t>(least_));
  }

 private:
  std::vector<std::byte>& to_;
  std::uint64_t least_ = 0;
};

// Reads what an output_archive wrote. Believes nothing of it: throws weft::error when it is not what the type needs.
class input_archive : public cereal::InputArchive<input_archive, cereal::AllowEmptyClassElision> {
 public:
  explicit input_archive(std::span<const std::byte> from) : InputArchive(this), from_(from) {}
  void read(void* to, std::size_t bytes) {
    if (bytes > left()) refuse();
    if (bytes != 0) std::memcpy(to, from_.data() + position_, bytes);
    position_ += bytes;
  }
  [[nodiscard]] std::uint64_t read_length() {
    std::uint64_t elements = 0;
    read(&elements, sizeof elements);
    if (elements > left()) refuse();
    least_ = std::max<std::uint64_t>(least_, position_ + elements);
    return elements;
  }
  void finish() const {
    if (std::max<std::uint64_t>(position_, least_) != from_.size()) refuse();
  }

 private:
  [[nodiscard]] std::size_t left() const noexcept { return from_.size() - position_; }
  [[noreturn]] void refuse() const {
    throw error(
        "a serialized object of another type, or none, lies in " + std::to_string(from_.size()) +
        " bytes: send weft::serialized(x) and receive weft::serialized<T> of the same type");
  }
  std::span<const std::byte> from_;
  std::size_t position_ = 0;
  std::uint64_t least_ = 0;
};

// cereal finds these by name.
template <class T>
requires std::is_arithmetic_v<T>
void CEREAL_SAVE_FUNCTION_NAME(output_archive& archive, const T& value) {
  archive.write(&value, sizeof value);
}
template <class T>
requires std::is_arithmetic_v<T>
void CEREAL_LOAD_FUNCTION_NAME(input_archive& archive, T& value) {
  archive.read(&value, sizeof value);
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(output_archive& archive, const cereal::BinaryData<T>& part) {
  archive.write(part.data, static_cast<std::size_t>(part.size));
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(input_archive& archive, cereal::BinaryData<T>& part) {
  archive.read(part.data, static_cast<std::size_t>(part.size));
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(output_archive& archive, const cereal::SizeTag<T>& length) {
  archive.write_length(length.size);
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(input_archive& archive, cereal::SizeTag<T>& length) {
  length.size = static_cast<std::remove_reference_t<T>>(archive.read_length());
}
template <class Archive, class T>
requires(std::is_same_v<Archive, output_archive> ||
         std::is_same_v<
             Archive, input_archive>) void CEREAL_SERIALIZE_FUNCTION_NAME(Archive& archive,
                                                                          cereal::NameValuePair<T>&
                                                                              named) {
  archive(named.value);
}

// The bytes of an object, and the object of such bytes: for requests, files, and whatever else takes bytes.
template <class T>
[[nodiscard]] std::vector<std::byte> serialize(const T& object) {
  constexpr bool known = cereal::traits::is_output_serializable<T, output_archive>::value;
  static_assert(
      known,
      "weft: cereal cannot write this type: give it a member `template <class A> void serialize(A& "
      "archive) { archive(first, second); }`");
  std::vector<std::byte> bytes;
  if constexpr (known) {
    output_archive archive(bytes);
    archive(object);
    archive.finish();
  }
  return bytes;
}
template <class T>
void deserialize_into(T& object, std::span<const std::byte> bytes) {
  constexpr bool known = cereal::traits::is_input_serializable<T, input_archive>::value;
  static_assert(
      known,
      "weft: cereal cannot read this type: give it a member `template <class A> void serialize(A& "
      "archive) { archive(first, second); }`");
  if constexpr (known) {
    input_archive archive(bytes);
    archive(object);
    archive.finish();
  }
}
template <class T>
[[nodiscard]] T deserialize(std::span<const std::byte> bytes) {
  T object{};
  deserialize_into(object, bytes);
  return object;
}

// Refers to an object that goes through serialization in the call that it is given to.
template <class T>
class serialized {
 public:
  using serialized_type = T;
  using value_type = std::remove_const_t<T>;
  explicit serialized(T& object) noexcept : object_(object) {}

  [[nodiscard]] std::vector<std::byte> pack() const { return serialize(object_); }
  void unpack(std::span<const std::byte> bytes) const {
    static_assert(!std::is_const_v<T>,
                  "weft: this is const or a temporary: receive into weft::serialized(variable)");
    if constexpr (!std::is_const_v<T>) deserialize_into(object_, bytes);
  }
  [[nodiscard]] static value_type unpacked(std::span<const std::byte> bytes) {
    return deserialize<value_type>(bytes);
  }
  // Objects one after the other, of the lengths given.
  [[nodiscard]] static std::vector<value_type> unpacked_all(
      std::span<const std::byte> bytes, const std::vector<std::size_t>& lengths) {
    std::vector<value_type> objects;
    objects.reserve(lengths.size());
    for (const std::size_t length : lengths) {
      objects.push_back(unpacked(bytes.first(length)));
      bytes = bytes.subspan(length);
    }
    return objects;
  }
  // Of a range of objects: one after the other, and one of them.
  [[nodiscard]] std::vector<std::byte> pack_each(std::vector<std::size_t>& lengths) const {
    std::vector<std::byte> all;
    for (const auto& each : object_) {
      const std::vector<std::byte> bytes = serialize(each);
      all.insert(all.end(), bytes.begin(), bytes.end());
      lengths.push_back(bytes.size());
    }
    return all;
  }
  [[nodiscard]] static auto unpacked_one(std::span<const std::byte> bytes) {
    return deserialize<typename value_type::value_type>(bytes);
  }

 private:
  T& object_;
};
template <class T>
serialized(T&) -> serialized<T>;
template <class T>
serialized(const T&&) -> serialized<const T>;

}  // namespace weft

CEREAL_REGISTER_ARCHIVE(weft::output_archive)
CEREAL_REGISTER_ARCHIVE(weft::input_archive)
CEREAL_SETUP_ARCHIVE_TRAITS(weft::input_archive, weft::output_archive)
