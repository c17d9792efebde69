// The check of what comes over libfabric, fed by senders that know everything but may write anything:
// nothing outside the bytes and the table is read, and a message is accepted only with the key and as
// the next one of its sender.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
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

// The same of sealed messages, with real keys of two endpoints: what the other one seals, and what anybody makes of it.
class sealed_listener {
 public:
  void hear(tests::byte_source& from) {
    std::vector<std::byte> bytes(sizeof(ofi_sealed_envelope) + 1 + from.byte() % 96);
    for (std::byte& each : bytes) each = static_cast<std::byte>(from.byte());
    const std::span<std::byte> message = std::span(bytes).subspan(sizeof(ofi_sealed_envelope));
    const std::vector<std::byte> plain(message.begin(), message.end());
    // Of its past, its next or a later number.
    const std::uint64_t number = received_ + from.byte() % 5 - 2;
    ofi_sealed_envelope envelope{0, static_cast<std::uint32_t>(number), {}};
    require(sender_->seal(number, message, envelope.code.data()));
    std::memcpy(bytes.data(), &envelope, sizeof envelope);
    const std::vector<std::byte> as_sealed = bytes;
    for (int changes = from.byte() % 4; changes > 0; --changes) {
      const std::size_t at = from.byte() % bytes.size();
      bytes[at] ^= static_cast<std::byte>(from.byte());
    }
    if (from.byte() < 32) bytes.resize(from.byte() % (bytes.size() + 1));
    const bool is_changed = bytes != as_sealed;
    const ofi_arrival arrived = judge_sealed(
        bytes, 2, [&](std::uint32_t sender) { return sender == 0 ? received_ : 0; },
        [&](std::uint32_t sender, std::uint64_t claimed, std::span<std::byte> what,
            const std::byte* code) { return sender == 0 && receiver_->open(claimed, what, code); });
    if (is_changed) {
      require(why_refused(arrived.verdict) != nullptr && arrived.verdict != ofi_verdict::repeated);
      return;
    }
    require(std::equal(plain.begin(), plain.end(), bytes.begin() + sizeof envelope, bytes.end()));
    if (number != received_) {
      require(arrived.verdict == (number < received_ ? ofi_verdict::repeated : ofi_verdict::gap));
      return;
    }
    require(arrived.verdict == what_stands_behind(plain.size(), ofi_sealed_note_bytes));
    ++received_;
  }

 private:
  const key_pair keys_[2];
  const std::unique_ptr<sealed_channel> sender_ =
      keys_[0].channel_with(keys_[1].told(), 0, 1, protection::encrypt);
  const std::unique_ptr<sealed_channel> receiver_ =
      keys_[1].channel_with(keys_[0].told(), 1, 0, protection::encrypt);
  std::uint64_t received_ = 0xfffffffd;  // Near where 32 bits wrap.
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
  // The keys of a run differ from those of the next; what holds does not depend on them.
  static sealed_listener of_sealed;
  for (tests::byte_source from(data, size); !from.ended();) of_sealed.hear(from);
  return 0;
}
