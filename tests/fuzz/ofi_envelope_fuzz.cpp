// The check of what comes over libfabric, fed by senders that know everything but may write anything:
// nothing outside the bytes and the table is read, and a message is accepted only with the key and as
// the next one of its sender.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "fuzz/byte_source.hpp"
#include "transport/ofi/envelope.hpp"

namespace {

using namespace weft;

constexpr std::uint64_t key = 0x5eedf00d5eedf00d;

void require(bool condition) {
  if (!condition) std::abort();
}

// An endpoint that has heard some messages of each sender; the counts lie near where they wrap.
class listener {
 public:
  void hear(const std::vector<std::byte>& bytes) {
    const ofi_arrival arrived = judge(bytes, key, received_.size(), [&](std::uint32_t sender) {
      require(sender < received_.size());
      return received_[sender];
    });
    const bool is_refused = why_refused(arrived.verdict) != nullptr;
    if (bytes.size() <= sizeof(ofi_envelope)) {
      require(arrived.verdict == ofi_verdict::no_envelope);
      return;
    }
    ofi_envelope envelope;
    std::memcpy(&envelope, bytes.data(), sizeof envelope);
    const bool is_known = envelope.sender < received_.size();
    const bool is_authentic = is_known && envelope.key == key;
    require(is_authentic || is_refused);
    if (!is_authentic) return;
    require(arrived.sender == envelope.sender);
    std::uint32_t& received = received_[envelope.sender];
    const bool is_next = envelope.sequence == received;
    if (!is_next) {
      const bool has_come = received - envelope.sequence <= 0x80000000;
      require((arrived.verdict == ofi_verdict::repeated) == has_come);
      require(has_come || (arrived.verdict == ofi_verdict::gap &&
                           received + arrived.ahead == envelope.sequence));
      return;
    }
    ++received;
    const std::size_t behind = bytes.size() - sizeof envelope;
    require((arrived.verdict == ofi_verdict::message) == (behind >= sizeof(wire_header)));
    require((arrived.verdict == ofi_verdict::note) == (behind == 1));
    require(is_refused == (behind != 1 && behind < sizeof(wire_header)));
  }
  [[nodiscard]] std::uint32_t received(std::uint32_t sender) const {
    return received_[sender % received_.size()];
  }

 private:
  std::array<std::uint32_t, 3> received_{0, 0xfffffffe, 0x7fffffff};
};

std::vector<std::byte> make(tests::byte_source& from, const listener& to) {
  ofi_envelope envelope{};
  envelope.sender = from.byte() % 4;
  if (envelope.sender == 3) envelope.sender = static_cast<std::uint32_t>(from.word(3));
  envelope.key = from.byte() < 208 ? key : from.word(key);
  envelope.sequence = to.received(envelope.sender);
  if (from.byte() >= 160) envelope.sequence += static_cast<std::uint32_t>(from.word(0));
  // As long as it is, so that AddressSanitizer sees its end.
  std::vector<std::byte> bytes(from.byte() % 96);
  std::ranges::copy(
      std::as_bytes(std::span(&envelope, 1)).first(std::min(bytes.size(), sizeof envelope)),
      bytes.begin());
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  listener to;
  for (tests::byte_source from(data, size); !from.ended();) to.hear(make(from, to));
  return 0;
}
