// The messages of the core's protocols: what the fields of a wire_header mean, kind by kind, and
// what stands in front of the payload. Bytes are those of the sender's machine; all processes of a
// job run on the same kind.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "transport/transport.hpp"

namespace weft::comm {

// "operation" is a name that the addressee gave to an operation under way; it checks all of it.
enum class message_kind : std::uint8_t {
  none = 0,
  am,              // handler; tag, size, operation: the three words of the user
  eager,           // handler: engine; flags: matching; tag
  am_announce,     // handler; size; operation: the sender's; payload: announcement
  send_announce,   // handler: engine; flags: matching; tag; size; operation; payload: announcement
  ready,           // operation: the sender's; tag: the receiver's; flags; payload: exposed parts
  data,            // operation: the receiver's; tag: offset
  finished,        // operation; flags: failed
  put_data,        // operation: region; tag: offset; flags: notify; handler; payload: notification
  notify,          // handler; operation: region; payload: notification
  get_request,     // operation: the asker's; flags: unwritten; payload: get_body
  atomic_request,  // operation: the asker's; payload: atomic_body
  atomic_reply,    // operation: the asker's; tag: the old value; flags: failed
  gathered,        // payload: ams, each with a gathered_head, in full words
};

inline constexpr std::uint8_t failed_flag = 1;  // finished, atomic_reply
inline constexpr std::uint8_t write_flag = 1;   // ready: put into the exposed parts
inline constexpr std::uint8_t get_flag = 1;     // notify: of a get
inline constexpr std::uint8_t notify_flag = 1;  // put_data: the last, and a handler is to be called
// get_request: of memory that no peer may write. It may go past messages that wait for the owner, as a network's own reads do.
inline constexpr std::uint8_t unwritten_flag = 1;

// Memory of the sender of a message that the addressee may read or write.
struct exposed_part {
  std::uint64_t size = 0;
  remote_key key;
};
// In front of the exposed parts of an announcement.
struct announcement {
  std::array<std::uint64_t, 3> words{};  // The user's, of an am.
  std::uint32_t part_count = 0;          // 0: nothing is exposed, the data come as messages.
  std::uint32_t padding = 0;
};
// What a shared device gathers for a peer before it goes, and the longest message that is gathered.
inline constexpr std::size_t gathered_bytes_max = 8 * 1024;
inline constexpr std::size_t gathered_am_bytes_max = 256;
// In front of each am of several in one message.
struct gathered_head {
  std::uint64_t size = 0;  // Of its payload.
  wire_header header;
};
[[nodiscard]] constexpr std::size_t gathered_size(std::size_t payload) noexcept {
  constexpr std::size_t word = sizeof(std::uint64_t);
  return sizeof(gathered_head) + (payload + word - 1) / word * word;
}
struct notification {
  std::uint64_t tag = 0;
  std::uint64_t offset = 0;  // Of the whole put or get.
  std::uint64_t size = 0;
};
struct get_body {
  std::uint64_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};
struct atomic_body {
  std::uint64_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  std::uint64_t what = 0;
};

template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] std::span<const std::byte> bytes_of(const T& value) noexcept {
  return std::as_bytes(std::span(&value, 1));
}

// Takes a T off the front of a payload; false when it is too short.
template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] bool take(std::span<const std::byte>& payload, T& to) noexcept {
  if (payload.size() < sizeof to) return false;
  std::memcpy(&to, payload.data(), sizeof to);
  payload = payload.subspan(sizeof to);
  return true;
}

}  // namespace weft::comm
