// The receive path of shared memory, fed by a sender that writes anything anywhere in its ring: the
// receiver must stay within the ring, end, and once it has refused a record deliver nothing more.
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "transport/shm/inbox.hpp"

namespace {

constexpr std::size_t ring_bytes = 4096;
constexpr std::size_t payload_bytes_max = weft::max_record_payload(ring_bytes) - 32;
constexpr std::uint32_t mark = 3;

void require(bool condition) {
  if (!condition) std::abort();
}

class listener final : public weft::arrivals {
 public:
  explicit listener(std::span<const std::byte> ring) : ring_(ring) {}

  void delivered(std::uint32_t, const weft::wire_header& header,
                 std::span<const std::byte> payload) noexcept override {
    require(refusals == 0);
    require(payload.size() <= payload_bytes_max);
    require(payload.data() >= ring_.data());
    require(payload.data() + payload.size() <= ring_.data() + ring_.size());
    std::uint64_t sum = header.tag;
    for (const std::byte byte : payload) sum += static_cast<std::uint64_t>(byte);
    seen = sum;
  }
  void completed(void*, bool) noexcept override { std::abort(); }
  void written(std::uint64_t) noexcept override { std::abort(); }
  void peer_failed(std::uint32_t, const char*) noexcept override { std::abort(); }
  void refused(std::uint32_t, const char*) noexcept override { ++refusals; }

  int refusals = 0;
  volatile std::uint64_t seen = 0;

 private:
  std::span<const std::byte> ring_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto words = std::make_unique<weft::shm_inbox::word[]>(ring_bytes / 8);
  auto* bytes = reinterpret_cast<std::byte*>(words.get());
  std::atomic<std::size_t> head{0};
  weft::shm_inbox inbox(weft::record_consumer<>(words.get(), ring_bytes, head), mark,
                        payload_bytes_max);
  listener to({bytes, ring_bytes});
  // Each step writes some bytes, at a place relative to where the receiver stands, and a header
  // there that is right in all that the input does not change.
  while (size >= 4) {
    const std::size_t length = std::min<std::size_t>(data[1], size - 4);
    const auto here =
        static_cast<std::size_t>(reinterpret_cast<const std::byte*>(inbox.next()) - bytes);
    const std::size_t at = (here + std::size_t{data[0]} % 8 * 32) % ring_bytes;
    if ((data[0] & 0x80) != 0) {
      const std::uint64_t good = weft::record_header::pack(
          static_cast<std::size_t>(data[2]) << 4 | data[3], weft::shm_message_kind, mark);
      std::memcpy(bytes + at, &good, sizeof good);
    }
    for (std::size_t i = 0; i < length; ++i)
      bytes[(at + ((data[0] & 0x40) != 0 ? 8 : 0) + i) % ring_bytes] =
          static_cast<std::byte>(data[4 + i]);
    (void)inbox.deliver(0, to, 100'000);
    require(to.refusals == (inbox.broken() ? 1 : 0));
    data += 4 + length;
    size -= 4 + length;
  }
  return 0;
}
