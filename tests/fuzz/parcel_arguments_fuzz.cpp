// Arguments of an action as any process may send them: they are read, or refused as malformed, and what was read is written
// and read again as the same bytes.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "weft/parcels/encoding.hpp"

namespace {

using namespace weft::detail;

struct inner {
  std::string name;
  std::vector<int> values;
};
struct outer {
  double x = 0;
  inner one;
  std::vector<inner> more;
  std::vector<std::string> texts;
};

std::vector<std::byte> written(const outer& value) {
  parcel_writer to(~std::size_t{0});  // Without chunks.
  encode(to, value);
  to.finish();
  const auto bytes = to.bytes().subspan(parcel_header_bytes);
  return {bytes.begin(), bytes.end()};
}
bool read(std::span<const std::byte> bytes, std::span<const std::byte> chunks, outer& value) {
  try {
    parcel_reader from(bytes, chunks);
    decode(from, value);
    from.finish();
    return true;
  } catch (const malformed_parcel&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span<const std::byte> all(reinterpret_cast<const std::byte*>(data), size);
  if (all.empty()) return 0;
  const std::size_t chunks =
      std::min<std::size_t>(static_cast<std::size_t>(all[0]) % 4, (size - 1) / 8);
  all = all.subspan(1);
  std::vector<std::byte> sizes(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(8 * chunks));
  for (std::size_t i = 2; i < sizes.size(); ++i)
    if (i % 8 >= 2) sizes[i] = std::byte{0};  // No more memory than a fuzzer has.
  outer value;
  if (!read(all.subspan(8 * chunks), sizes, value)) return 0;
  const std::vector<std::byte> bytes = written(value);
  outer again;
  if (!read(bytes, {}, again) || written(again) != bytes) std::abort();
  return 0;
}
