// A recorded pattern as one of more ranks: each new rank does what a recorded one did, with partners that lie as
// far from it as those did. Ranks are taken for a grid of one to three dimensions whose neighbours talk.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "breakdown/pattern.hpp"

namespace weft::breakdown {

class extrapolation {
 public:
  // Throws weft::error of one line when the pattern cannot be had with so many ranks. `p` outlives this.
  extrapolation(const pattern& p, int ranks);

  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] bool is_as_recorded() const noexcept { return ranks_ == recorded_.ranks(); }
  // The recorded rank whose steps the rank does.
  [[nodiscard]] int recorded(int rank) const noexcept;
  // The rank that stands for the partner `peer` of recorded(rank); -1: none does.
  [[nodiscard]] int peer(int rank, int peer) const noexcept;
  // "4 as a ring", "2 x 2", ...
  [[nodiscard]] std::string shape() const;
  [[nodiscard]] int dimensions() const noexcept { return count_; }

 private:
  static constexpr int dimensions_max = 3;
  using coordinates = std::array<int, dimensions_max>;

  void find_grid();
  void spread();
  [[nodiscard]] static coordinates coordinates_of(int rank, const coordinates& sizes) noexcept;
  [[nodiscard]] int recorded_along(int dimension, int at) const noexcept;

  const pattern& recorded_;
  int ranks_;
  int count_ = 1;
  coordinates from_{1, 1, 1}, to_{1, 1, 1};  // Sizes, recorded and wanted.
  std::array<bool, dimensions_max> wraps_{};
};

}  // namespace weft::breakdown
