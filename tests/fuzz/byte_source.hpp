// What a fuzzer's bytes say.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::tests {

// The fuzzer's bytes, and zeros behind their end.
class byte_source {
 public:
  byte_source(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] bool ended() const { return size_ == 0; }
  std::uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  // One of what may mean something, something near it, or anything.
  std::uint64_t word(std::uint64_t meaningful) {
    const std::uint8_t how = byte();
    if (how < 128) return meaningful + how % 8 * 8;
    if (how < 192) return std::uint64_t{byte()};
    if (how < 224) return ~std::uint64_t{0} - byte();
    std::uint64_t all = 0;
    for (int i = 0; i < 8; ++i) all = all << 8 | byte();
    return all;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace weft::tests
