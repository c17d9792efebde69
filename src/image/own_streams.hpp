// A copy's own std::cout and its kin: what a rank sets there, a format, a language, a state, another buffer, is no other rank's. They write
// where the C library's streams do, at once, and so as whole lines.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

class own_streams {
 public:
  // Kept until the process ends, as copies are.
  static own_streams& make() { return *new own_streams; }
  // Where the stream of this symbol lies in them; nothing for any other name.
  [[nodiscard]] static std::optional<std::uint64_t> place_of(std::string_view symbol) noexcept;
  [[nodiscard]] std::uintptr_t address() const noexcept {
    return reinterpret_cast<std::uintptr_t>(bytes_.data());
  }
  // Called by the rank before its constructors, or before those of a library that it opens; once is enough.
  void begin();

  static constexpr std::size_t slot_bytes = 512, slots = 8;
  static constexpr std::size_t size_bytes = slot_bytes * slots;

 private:
  own_streams() = default;
  bool has_begun_ = false;
  alignas(64) std::array<std::byte, size_bytes> bytes_;  // Not touched before they begin.
};

}  // namespace weft
