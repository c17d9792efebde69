// A copy's own std::cout and its kin: what a rank sets there, a format, a language, a state, another buffer, is no other rank's. They write
// where the C library's streams do, at once, and so as whole lines.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::process {

class own_streams {
 public:
  // They are kept until the process ends, as copies are.
  static own_streams& make() { return *new own_streams; }
  // The offset of the stream of this symbol in them; nothing for any other name.
  [[nodiscard]] static std::optional<std::uint64_t> offset_of(std::string_view symbol) noexcept;
  [[nodiscard]] std::uintptr_t address() const noexcept {
    return reinterpret_cast<std::uintptr_t>(bytes_.data());
  }
  // The rank calls it before its constructors, or before those of a library that it opens; once is enough.
  void begin();

  static constexpr std::size_t slot_bytes = 512, slots = 8;
  static constexpr std::size_t size_bytes = slot_bytes * slots;

 private:
  own_streams() = default;
  bool has_begun_ = false;
  alignas(64) std::array<std::byte, size_bytes> bytes_;  // Nothing touches it before begin().
};

}  // namespace weft::process
