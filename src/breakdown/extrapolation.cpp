#include "breakdown/extrapolation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

// The way from one place to another along a dimension, the shorter one where it closes to a ring.
int way(int from, int to, int size, bool wraps) noexcept {
  const int plain = to - from;
  if (!wraps) return plain;
  const int around = plain > 0 ? plain - size : plain + size;
  return std::abs(around) < std::abs(plain) ? around : plain;
}

std::set<std::pair<int, int>> partners_of(const pattern& p) {
  std::set<std::pair<int, int>> all;
  for (int rank = 0; rank < p.ranks(); ++rank)
    for (const step& s : p.of_rank[static_cast<std::size_t>(rank)])
      if (s.kind == step_kind::send && s.peer != rank) all.emplace(rank, s.peer);
  return all;
}

}  // namespace

extrapolation::coordinates extrapolation::coordinates_of(int rank,
                                                         const coordinates& sizes) noexcept {
  return {rank / (sizes[1] * sizes[2]), rank / sizes[2] % sizes[1], rank % sizes[2]};
}

extrapolation::extrapolation(const pattern& p, int ranks) : recorded_(p), ranks_(ranks) {
  if (is_as_recorded()) return;
  if (ranks < p.ranks())
    throw error(formatted("{} ranks are fewer than the {} that were recorded: record fewer", ranks,
                          p.ranks()));
  for (const communicator_of_pattern& c : p.communicators)
    if (c.ranks.size() != 1 && static_cast<int>(c.ranks.size()) != p.ranks())
      throw error(
          formatted("{} has collectives of {} of its {} ranks: such a pattern is predicted for {} "
                    "ranks only",
                    p.program, c.ranks.size(), p.ranks(), p.ranks()));
  find_grid();
  spread();
}

// The fewest dimensions in which all who talk are neighbours; else a ring, where the distance stays.
void extrapolation::find_grid() {
  const auto partners = partners_of(recorded_);
  const int n = recorded_.ranks();
  const auto try_sizes = [&](const coordinates& sizes) {
    std::array<bool, dimensions_max> wraps{};
    // It closes where the first talks to the last.
    for (const auto& [a, b] : partners) {
      const coordinates from = coordinates_of(a, sizes), to = coordinates_of(b, sizes);
      for (std::size_t d = 0; d < from.size(); ++d)
        if (sizes[d] > 2 && std::abs(from[d] - to[d]) == sizes[d] - 1) wraps[d] = true;
    }
    for (const auto& [a, b] : partners) {
      const coordinates from = coordinates_of(a, sizes), to = coordinates_of(b, sizes);
      for (std::size_t d = 0; d < from.size(); ++d)
        if (std::abs(way(from[d], to[d], sizes[d], wraps[d])) > 1) return false;
    }
    from_ = sizes;
    wraps_ = wraps;
    return true;
  };
  const auto use = [&](int count, const coordinates& sizes) {
    if (!try_sizes(sizes)) return false;
    count_ = count;
    return true;
  };
  if (partners.empty() || use(1, {1, 1, n})) {
    from_ = {1, 1, n};
    return;
  }
  for (int a = static_cast<int>(std::sqrt(n)); a > 1; --a)
    if (n % a == 0 && (use(2, {1, n / a, a}) || use(2, {1, a, n / a}))) return;
  for (int a = 2; a * a * a <= n * a; ++a)
    for (int b = 2; n % a == 0 && b <= n / a; ++b)
      if (n / a % b == 0 && n / a / b > 1 && use(3, {a, b, n / a / b})) return;
  count_ = 1;
  from_ = {1, 1, n};
  wraps_ = {false, false, true};
}

// The wanted ranks as a grid of as many dimensions, as even as their number allows.
void extrapolation::spread() {
  const auto fits = [&](std::size_t d, int size) {
    return from_[d] == 1 ? size == 1 || count_ == 1 : size >= from_[d] || size == 1;
  };
  const std::size_t first = static_cast<std::size_t>(dimensions_max - count_);
  double best = -1;
  const auto consider = [&](const coordinates& sizes) {
    double most = 0, least = ranks_;
    for (std::size_t d = first; d < sizes.size(); ++d) {
      if (!fits(d, sizes[d])) return;
      // It stays as oblong as the recorded one.
      const double stretched = static_cast<double>(sizes[d]) / from_[d];
      most = std::max(most, stretched);
      least = std::min(least, stretched);
    }
    const double even = least / most;
    if (even > best) {
      best = even;
      to_ = sizes;
    }
  };
  if (count_ == 1) {
    consider({1, 1, ranks_});
  } else {
    for (int a = 1; a <= ranks_; ++a) {
      if (ranks_ % a != 0) continue;
      if (count_ == 2)
        consider({1, a, ranks_ / a});
      else
        for (int b = 1; b <= ranks_ / a; ++b)
          if (ranks_ / a % b == 0) consider({a, b, ranks_ / a / b});
    }
  }
  if (best < 0)
    throw error(formatted("{} ranks cannot be laid out as the {} of {}: take a multiple", ranks_,
                          shape(), recorded_.program));
  const bool talk = !partners_of(recorded_).empty();
  for (std::size_t d = first; talk && d < from_.size(); ++d)
    if (!wraps_[d] && from_[d] == 2 && to_[d] > 2)
      throw error(formatted(
          "{} was recorded with {} ranks, {}, of which each is at a border: record at least 3 in each "
          "direction ({} ranks), so that there is one that has neighbours on both sides",
          recorded_.program, recorded_.ranks(), shape(), static_cast<int>(std::pow(3, count_))));
}

int extrapolation::recorded_along(int dimension, int at) const noexcept {
  const auto d = static_cast<std::size_t>(dimension);
  const int from = from_[d], to = to_[d];
  if (from == to || from == 1) return from == 1 ? 0 : at;
  if (wraps_[d] || from == 2) return at % from;
  // Borders stay borders.
  if (at == 0) return 0;
  if (at == to - 1) return from - 1;
  return 1 + (at - 1) % (from - 2);
}

int extrapolation::recorded(int rank) const noexcept {
  if (is_as_recorded()) return rank;
  const coordinates at = coordinates_of(rank, to_);
  return (recorded_along(0, at[0]) * from_[1] + recorded_along(1, at[1])) * from_[2] +
         recorded_along(2, at[2]);
}

int extrapolation::peer(int rank, int peer) const noexcept {
  if (is_as_recorded()) return peer;
  const coordinates mine = coordinates_of(recorded(rank), from_),
                    theirs = coordinates_of(peer, from_);
  coordinates at = coordinates_of(rank, to_);
  for (std::size_t d = 0; d < at.size(); ++d) {
    at[d] += way(mine[d], theirs[d], from_[d], wraps_[d]);
    if (at[d] < 0 || at[d] >= to_[d]) {
      if (!wraps_[d]) return -1;
      at[d] = (at[d] % to_[d] + to_[d]) % to_[d];
    }
  }
  return (at[0] * to_[1] + at[1]) * to_[2] + at[2];
}

std::string extrapolation::shape() const {
  std::string text;
  for (std::size_t d = static_cast<std::size_t>(dimensions_max - count_); d < from_.size(); ++d)
    text += formatted("{}{}{}", text.empty() ? "" : " x ", from_[d], wraps_[d] ? " (ring)" : "");
  return text;
}

}  // namespace weft::breakdown
