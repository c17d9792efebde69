// Names that several ranks give to one thing alike: a message, on both sides; a collective, on all its ranks.
#pragma once
#include <cstdint>

#include "trace/mixing.hpp"

namespace weft {

// It tells a message from others that are sent to the same rank.
struct message_name {
  std::uint32_t context;
  std::int32_t source;  // The sender's rank in the communicator.
  std::int32_t tag;
  std::int32_t to;  // The receiver's rank in the world.
};

// All messages of one name; each of them has a number, which sender and receiver count alike. Names of four small numbers
// all differ.
[[nodiscard]] constexpr std::uint64_t stream_of(const message_name& m) noexcept {
  const auto word = [](auto value) { return std::uint64_t{static_cast<std::uint32_t>(value)}; };
  const std::uint64_t context = word(m.context), source = word(m.source), tag = word(m.tag),
                      to = word(m.to);
  if ((context | source | tag | to) >> 16 == 0) [[likely]]
    return mixed(context << 48 | source << 32 | tag << 16 | to);
  return mixed(context << 32 | source, tag << 32 | to);
}

// How a rank depends on the others of a collective.
enum class collective_relation : std::uint8_t { all, from_root, to_root };

struct collective_name {
  std::int32_t first;  // The communicator's first rank, in the world.
  std::uint32_t context;
  std::uint64_t turn;  // The number among the communicator's collectives.
  std::int32_t size;
  collective_relation how;
  bool is_root;
  bool is_barrier;
  const char* call;
  bool spans_processes = false;  // Its communicator does.
};

}  // namespace weft
