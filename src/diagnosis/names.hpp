// Ranks as people read them.
#pragma once
#include <span>
#include <string>

namespace weft::diagnosis {

// "rank 7" or "ranks 0-4, 7" for numbers in rising order, cut short when they are many; and the same without the word.
[[nodiscard]] std::string ranks_name(std::span<const int> ranks);
[[nodiscard]] std::string ranges_of(std::span<const int> ranks);

}  // namespace weft::diagnosis
