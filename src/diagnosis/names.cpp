#include "diagnosis/names.hpp"

#include "base/format.hpp"
#include "base/limits.hpp"

namespace weft::diagnosis {

std::string ranges_of(std::span<const int> ranks) {
  std::string text;
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    if (pieces++ == rank_ranges_shown_max)
      return text + formatted(" and {} more", ranks.size() - i);
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (i != 0) text += ", ";
    text += end - i == 1 ? formatted("{}", ranks[i]) : formatted("{}-{}", ranks[i], ranks[end - 1]);
    i = end;
  }
  return text;
}

std::string ranks_name(std::span<const int> ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + ranges_of(ranks);
}

}  // namespace weft::diagnosis
