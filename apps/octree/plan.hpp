// A sub-step as a graph that follows from the tree alone: what each node does, and the messages between.
//
//   gather    a leaf: sends its layers to neighbours, and its masses up. An interior node: combines the moments of its
//             eight children. Both give their moments to the neighbours of their level
//   flux      a leaf, with the layers of its neighbours: reconstruction, Riemann problems, fluxes
//   interact  the field that cells of neighbours make in this node's cells
//   descend   adds the field that the parent has, and hands it on to the children
//   update    a leaf, with the fluxes of finer neighbours: one Runge-Kutta stage
//
// A node's stages run in this order, but flux, which only update waits for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "octree/tree.hpp"

namespace octree {

enum class stage : std::uint8_t { gather, flux, interact, descend, update };
inline constexpr std::size_t stages = 5;

enum class link_kind : std::uint8_t {
  layers,      // Two layers of cells, from a leaf of the same level.
  restricted,  // From one of four finer leaves: a quarter of two layers, averages of eight cells.
  prolonged,   // From a coarser leaf: two layers of this leaf's cells, interpolated.
  fluxes,      // From one of four finer leaves, through a quarter of a face.
  up,          // Moments, child to parent.
  beside,      // Moments of the two layers that are near, between nodes of a level.
  down,        // The field around cell centres, parent to child.
};
inline constexpr std::size_t link_kinds = 7;
[[nodiscard]] const char* name_of(link_kind kind) noexcept;
[[nodiscard]] constexpr stage made_by(link_kind kind) noexcept {
  return kind == link_kind::fluxes ? stage::flux
         : kind == link_kind::down ? stage::descend
                                   : stage::gather;
}
[[nodiscard]] constexpr stage fed_by(link_kind kind) noexcept {
  switch (kind) {
    case link_kind::fluxes:
      return stage::update;
    case link_kind::up:
      return stage::gather;
    case link_kind::beside:
      return stage::interact;
    case link_kind::down:
      return stage::descend;
    default:
      return stage::flux;
  }
}

// A message of each sub-step, from node to node. Its number in the plan is the same on every locality.
struct link {
  int from = 0, to = 0;
  link_kind kind = link_kind::layers;
  std::uint8_t place =
      0;  // Seen from `to`: a face; of `beside` a direction; of `up` and `down` the child.
  std::uint8_t quarter = 0;  // Of a face: 2 b + c.
  std::uint32_t offset = 0;  // In the memory that `to` has for what arrives, in doubles.
  std::uint32_t size = 0;    // Doubles.
};

class plan {
 public:
  explicit plan(const tree& of);

  [[nodiscard]] const std::vector<link>& links() const noexcept { return links_; }
  [[nodiscard]] const link& operator[](int number) const noexcept {
    return links_[static_cast<std::size_t>(number)];
  }
  // Numbers of links: what arrives at a node, and what leaves it.
  [[nodiscard]] int first_in(int node) const noexcept {
    return in_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] int last_in(int node) const noexcept {
    return in_[static_cast<std::size_t>(node) + 1];
  }
  [[nodiscard]] std::span<const int> out(int node) const noexcept {
    const auto n = static_cast<std::size_t>(node);
    return std::span(out_).subspan(first_out_[n], first_out_[n + 1] - first_out_[n]);
  }
  // Doubles that arrive at a node in a sub-step.
  [[nodiscard]] std::size_t inbox(int node) const noexcept {
    return inbox_[static_cast<std::size_t>(node)];
  }

 private:
  void add(link l);
  void add_leaf(const tree& of, int node);

  std::vector<link> links_;  // By `to`.
  std::vector<int> in_, out_;
  std::vector<std::size_t> first_out_, inbox_;
};

// The cells of the two layers of a neighbour that are near a node which sees it in this direction: their range along an axis.
struct near_range {
  int begin, end;
};
[[nodiscard]] constexpr near_range near_layers(int step) noexcept {
  return step < 0   ? near_range{width - 2, width}
         : step > 0 ? near_range{0, 2}
                    : near_range{0, width};
}

}  // namespace octree
