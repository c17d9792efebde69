// What is on the connections of the tcp parcelport, and what may be believed of it. Whoever finds the port may connect and
// send any bytes: nothing is read of him but a greeting. Of a process of the job, too, no number is taken as it comes.
//
// Each two processes have one connection. The one with the lower number makes it and sends a greeting with the other's key,
// which that one has told through the bootstrap, and is answered by a greeting with its own: each then knows that the
// other is of the job. Then both send frames: a message, or at the end that there will be no more.
//
//   frame, 16 bytes    the message, `bytes` long    its chunks, one after the other
//
// How many chunks there are and how long each is stands at the end of the message (wire.hpp).
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/format.hpp"
#include "parcel/wire.hpp"

namespace weft::detail {

struct tcp_key {
  std::uint64_t words[2] = {};
  // Takes the same time for any two.
  [[nodiscard]] bool is(const tcp_key& other) const noexcept {
    return ((words[0] ^ other.words[0]) | (words[1] ^ other.words[1])) == 0;
  }
};

struct tcp_greeting {
  static constexpr std::uint64_t right_magic = 0x6c65637261703a77;
  std::uint64_t magic = right_magic;
  std::uint32_t version = parcel_version;
  std::uint32_t process = 0;  // This process sends it.
  tcp_key key;                // The key is that of the process to which it is sent.
};
static_assert(sizeof(tcp_greeting) == 32 && std::is_trivially_copyable_v<tcp_greeting>);

// Null when it is of a process of the job; `own` is the receiver's key.
[[nodiscard]] inline const char* why_refused(const tcp_greeting& said, const tcp_key& own,
                                             std::uint32_t process_count) noexcept {
  if (said.magic != tcp_greeting::right_magic) return "it does not speak of parcels";
  if (said.version != parcel_version) return "it is of another version of weft";
  if (said.process >= process_count) return "it claims to be a process that there is not";
  if (!said.key.is(own)) return "it does not know this job's key";
  return nullptr;
}

enum class tcp_mark : std::uint32_t { message = 0x6d617266, end = 0x646e6566 };

struct tcp_frame {
  tcp_mark mark = tcp_mark::message;
  std::uint32_t chunks = 0;
  std::uint64_t bytes = 0;  // The message has so many.
};
static_assert(sizeof(tcp_frame) == 16 && std::is_trivially_copyable_v<tcp_frame>);

// A message has at most so many; several parcels that the layer sends as one are far shorter.
inline constexpr std::uint64_t tcp_message_bytes_max = std::uint64_t{1} << 33;
// A chunk has at most so many: there can be no memory for more.
inline constexpr std::uint64_t tcp_chunk_bytes_max = std::uint64_t{1} << 40;

// Null when it can be. What is in the message is the layer's to judge.
[[nodiscard]] inline const char* why_refused(const tcp_frame& frame) noexcept {
  if (frame.mark == tcp_mark::end)
    return frame.chunks == 0 && frame.bytes == 0 ? nullptr : "an end with something behind it";
  if (frame.mark != tcp_mark::message) return "a frame of no kind";
  if (frame.bytes > tcp_message_bytes_max) return "a message longer than any";
  if (frame.chunks > parcel_chunks_max) return "a message with more chunks than any";
  return nullptr;
}

// What a message says of its chunks.
struct tcp_chunks {
  std::uint64_t word = 0;
  std::vector<std::uint64_t> sizes;
};

// Nothing when the message is not one with so many chunks.
[[nodiscard]] inline std::optional<tcp_chunks> chunks_of(std::span<const std::byte> message,
                                                         std::uint32_t count) {
  parcel_header header;
  if (message.size() < sizeof header) return {};
  std::memcpy(&header, message.data(), sizeof header);
  // A message with chunks is a single parcel.
  if (header.chunk_count != count) return {};
  tcp_chunks told;
  if (count == 0) return told;
  const std::size_t bytes = transmission_bytes(count);
  if (header.size != message.size() - sizeof header || header.size < bytes) return {};
  const std::byte* const at = message.data() + message.size() - bytes;
  std::memcpy(&told.word, at, sizeof told.word);
  told.sizes.resize(count);
  std::memcpy(told.sizes.data(), at + sizeof told.word, count * sizeof(std::uint64_t));
  for (const std::uint64_t size : told.sizes)
    if (size == 0 || size > tcp_chunk_bytes_max) return {};
  return told;
}

// What a process tells the others: where it listens, and its key.
struct tcp_address {
  tcp_key key;
  std::uint16_t port = 0;
  std::vector<std::string> hosts;  // Numeric, the likeliest first.

  [[nodiscard]] std::string text() const {
    std::string all = formatted("{:x} {:x} {}", key.words[0], key.words[1], port);
    for (const std::string& host : hosts) all += " " + host;
    return all;
  }
  [[nodiscard]] static std::optional<tcp_address> of(std::string_view text) {
    tcp_address read;
    const auto next = [&text] {
      const std::size_t end = std::min(text.find(' '), text.size());
      const std::string_view word = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      return word;
    };
    const auto number = [&next](auto& to, int base) {
      const std::string_view word = next();
      const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), to, base);
      return failure == std::errc() && end == word.data() + word.size();
    };
    if (!number(read.key.words[0], 16) || !number(read.key.words[1], 16) || !number(read.port, 10))
      return {};
    while (!text.empty()) read.hosts.emplace_back(next());
    if (read.port == 0 || read.hosts.empty()) return {};
    return read;
  }
};

}  // namespace weft::detail
