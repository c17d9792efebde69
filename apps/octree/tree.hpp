// The adaptive octree: its nodes in depth-first order, who owns which, and how it changes.
//
// Every locality holds the whole tree, without the data of its cells: some 300 bytes a node. All build the same one
// from the same interior nodes, so that nobody needs to be told of anything.
//
//   balanced   leaves that touch, also in an edge or a corner, differ by one level at most
//   owners     leaves are cut, in the order of their Morton keys, into pieces of equal length; an interior
//              node lives where its first leaf does
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_set>
#include <vector>

#include "octree/block.hpp"

namespace octree {

inline constexpr int level_max = 10;

// A 1, followed by three bits for each level, the upper one of the root's children first: x, y, z.
using node_key = std::uint64_t;
inline constexpr node_key root_key = 1;

[[nodiscard]] node_key key_of(int level, const index3& at) noexcept;
[[nodiscard]] int level_of(node_key key) noexcept;
[[nodiscard]] index3 place_of(node_key key) noexcept;  // In units of a node's edge.
[[nodiscard]] constexpr node_key parent_of(node_key key) noexcept {
  return key >> 3;
}
[[nodiscard]] constexpr node_key child_of(node_key key, std::size_t child) noexcept {
  return key << 3 | child;
}
// The node beside it, `step` away along each axis; 0 outside of the domain.
[[nodiscard]] node_key beside(node_key key, const index3& step) noexcept;

// A direction to a node beside: 9 (x + 1) + 3 (y + 1) + z + 1; 13 is the node itself.
inline constexpr int directions = 27, no_direction = 13;
[[nodiscard]] constexpr index3 step_of(int direction) noexcept {
  return {direction / 9 - 1, direction / 3 % 3 - 1, direction % 3 - 1};
}

struct node {
  node_key key = 0;
  int level = 0;
  index3 at{};
  int parent = -1;
  std::array<int, 8> children{};            // Of an interior node.
  int leaf = -1;                            // Its number among the leaves; -1 for an interior node.
  int owner = 0;                            // A locality.
  std::array<int, directions> neighbors{};  // Of the same level; -1: none.

  [[nodiscard]] bool is_leaf() const noexcept { return leaf >= 0; }
};

// Those whose children exist. A set of keys that is closed: the parent of a member is one.
using interior_set = std::unordered_set<node_key>;

// Adds what makes leaves that touch differ by one level at most.
void balance(interior_set& interior);

class tree {
 public:
  // `interior` is closed and balanced; empty: the root is a leaf.
  tree(const interior_set& interior, int localities);

  [[nodiscard]] const std::vector<node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const node& operator[](int index) const noexcept {
    return nodes_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(nodes_.size()); }
  // The nodes that are leaves, in Morton order.
  [[nodiscard]] const std::vector<int>& leaves() const noexcept { return leaves_; }
  [[nodiscard]] int localities() const noexcept { return localities_; }
  [[nodiscard]] int depth() const noexcept { return depth_; }
  [[nodiscard]] int find(node_key key) const noexcept;  // -1: no such node.
  [[nodiscard]] interior_set interior() const;

 private:
  int add(const interior_set& interior, node_key key, int parent);

  std::vector<node> nodes_;
  std::vector<int> leaves_;
  std::vector<std::pair<node_key, int>> by_key_;  // Sorted.
  int localities_;
  int depth_ = 0;
};

// What a leaf asks for.
enum class wish : std::int8_t { coarser = -1, stay = 0, finer = 1 };

// The tree in which each leaf that wishes so is refined by one level, what balance demands too, and those eight
// leaves become one that all wish so and whom balance lets. No leaf changes by more than one level.
[[nodiscard]] interior_set adapted(const tree& before, const std::vector<wish>& wishes);

// The tree whose nodes above `levels` and below `base` are as `refine` says: node by node from the root.
[[nodiscard]] interior_set build(int base, int levels, const std::function<bool(node_key)>& refine);

// What a leaf of the next tree gets from one of the present tree, where no leaf has changed by more than one level: the whole
// block, an octant of it, or what becomes its octant `child`.
struct transfer {
  enum class how : std::uint8_t { moved, finer, coarser };
  int from = 0, to = 0;  // Node in the present tree, node in the next.
  how change = how::moved;
  std::uint8_t child = 0;
};
[[nodiscard]] std::vector<transfer> transfers_between(const tree& now, const tree& next);

}  // namespace octree
