// What may stand in a matching engine: a receive, or a message that came before its receive.
#pragma once
#include <cstdint>

namespace weft::comm {

struct match_key {
  std::uint64_t tag = 0;
  std::int32_t process = -1;
  std::uint8_t by = 0;  // The matching; each has a key space of its own.
  friend bool operator==(const match_key&, const match_key&) = default;
};

struct match_node {
  explicit match_node(bool receive) noexcept : is_receive(receive) {}

  match_key key;
  bool is_receive;
  match_node* after = nullptr;
};

}  // namespace weft::comm
