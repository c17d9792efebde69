#include "base/checksum.hpp"

#include <boost/crc.hpp>

namespace weft {

std::uint32_t checksum_of(std::initializer_list<std::span<const std::byte>> parts) {
  boost::crc_32_type sum;
  for (const std::span<const std::byte> part : parts) sum.process_bytes(part.data(), part.size());
  return sum.checksum();
}

}  // namespace weft
