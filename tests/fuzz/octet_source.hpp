// What a fuzzer's octets say.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::tests {

// The fuzzer's octets, and zeros behind their end.
class octet_source {
 public:
  octet_source(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] bool ended() const { return size_ == 0; }
  std::uint8_t octet() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  // One of what may mean something, something near it, or anything.
  std::uint64_t word(std::uint64_t meaningful) {
    const std::uint8_t how = octet();
    if (how < 128) return meaningful + how % 8 * 8;
    if (how < 192) return std::uint64_t{octet()};
    if (how < 224) return ~std::uint64_t{0} - octet();
    std::uint64_t all = 0;
    for (int i = 0; i < 8; ++i) all = all << 8 | octet();
    return all;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace weft::tests
