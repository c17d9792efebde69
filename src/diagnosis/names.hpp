// Ranks and tags as people read them, wildcards too.
#pragma once
#include <span>
#include <string>

#include "weft/communicator.hpp"

namespace weft::detail {

[[nodiscard]] inline std::string rank_name(int rank) {
  return rank == any_source ? "any" : std::to_string(rank);
}
// "rank 7" or "ranks 0-4, 7" of numbers in rising order, of many only the first; without the word.
[[nodiscard]] std::string ranks_name(std::span<const int> ranks);
[[nodiscard]] std::string ranges_of(std::span<const int> ranks);
// The other side of a message.
[[nodiscard]] inline std::string peer_name(int rank) {
  return rank == any_source ? "any rank" : "rank " + std::to_string(rank);
}
[[nodiscard]] inline std::string tag_name(int tag) {
  return tag == any_tag ? "any" : std::to_string(tag);
}

}  // namespace weft::detail
