// Ranks as people read them.
#pragma once
#include <span>
#include <string>

namespace weft::detail {

// "rank 7" or "ranks 0-4, 7" of numbers in rising order, of many only the first; without the word.
[[nodiscard]] std::string ranks_name(std::span<const int> ranks);
[[nodiscard]] std::string ranges_of(std::span<const int> ranks);

}  // namespace weft::detail
