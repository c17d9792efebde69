// Messages between ranks that have no communicator in common yet: each has a name, which both ends know. Messages of one
// name arrive in order. Several threads and fibers of a rank may wait at once, for different names.
//
// A name travels as a hash, in the tag, and in full. What comes for a name other than the awaited one, of the same hash and
// sender, is kept for whoever waits for it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rank/state.hpp"

namespace weft::detail {

// One for each rank, which alone uses it.
class named_inbox {
 public:
  // Returns the next message of this name from the rank with this number in the world. Throws weft::error when it is longer
  // than `bytes_max`.
  [[nodiscard]] std::vector<std::byte> receive(rank_state& me, int from, std::string_view name,
                                               std::size_t bytes_max, const char* call);

 private:
  struct message {
    int from;
    std::string name;
    std::vector<std::byte> data;
  };
  [[nodiscard]] bool has_kept(int from, std::string_view name) const noexcept;

  std::vector<message> kept_;
  std::set<std::pair<int, int>> heard_;  // Senders and tags that somebody receives from.
};

// Returns when the message has been taken or copied. `name` has named_bytes_max characters at most.
void send_named(rank_state& me, int to, std::string_view name, std::span<const std::byte> data,
                const char* call);

inline constexpr std::size_t named_bytes_max = 1100;

}  // namespace weft::detail
