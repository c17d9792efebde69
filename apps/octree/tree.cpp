#include "octree/tree.hpp"

#include <algorithm>
#include <bit>
#include <deque>

namespace octree {

node_key key_of(int level, const index3& at) noexcept {
  node_key key = root_key;
  for (int bit = level - 1; bit >= 0; --bit)
    for (const int coordinate : at) key = key << 1 | (static_cast<unsigned>(coordinate) >> bit & 1);
  return key;
}

int level_of(node_key key) noexcept {
  return static_cast<int>((std::bit_width(key) - 1) / 3);
}

index3 place_of(node_key key) noexcept {
  index3 at{};
  for (int level = level_of(key), bit = 0; bit < level; ++bit)
    for (int axis = 2; axis >= 0; --axis) {
      at[static_cast<std::size_t>(axis)] |= static_cast<int>(key & 1) << bit;
      key >>= 1;
    }
  return at;
}

node_key beside(node_key key, const index3& step) noexcept {
  const int level = level_of(key);
  index3 at = place_of(key);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    at[axis] += step[axis];
    if (at[axis] < 0 || at[axis] >= 1 << level) return 0;
  }
  return key_of(level, at);
}

// An interior node's children lie beside leaves of its neighbours: those must be of its own level at least, so its
// neighbours must exist, and their parents be interior.
void balance(interior_set& interior) {
  std::deque<node_key> open(interior.begin(), interior.end());
  while (!open.empty()) {
    const node_key key = open.front();
    open.pop_front();
    for (int direction = 0; direction < directions; ++direction) {
      const node_key other = beside(key, step_of(direction));
      if (other <= root_key) continue;
      if (interior.insert(parent_of(other)).second) open.push_back(parent_of(other));
    }
  }
}

tree::tree(const interior_set& interior, int localities) : localities_(localities) {
  add(interior, root_key, -1);
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    by_key_.emplace_back(nodes_[i].key, static_cast<int>(i));
  std::ranges::sort(by_key_);
  for (node& n : nodes_)
    for (int direction = 0; direction < directions; ++direction)
      n.neighbors[static_cast<std::size_t>(direction)] = find(beside(n.key, step_of(direction)));
  // Backwards: an interior node comes before its first leaf.
  int leaf = static_cast<int>(leaves_.size());
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    node& n = nodes_[i];
    if (n.is_leaf()) --leaf;
    // Piece p begins at leaf p n / P, rounded down; the first leaf of an interior node is the last one seen.
    n.owner = static_cast<int>(((static_cast<std::int64_t>(leaf) + 1) * localities_ - 1) /
                               static_cast<std::int64_t>(leaves_.size()));
  }
}

int tree::add(const interior_set& interior, node_key key, int parent) {
  const auto index = nodes_.size();
  const int self = static_cast<int>(index);
  nodes_.emplace_back();
  nodes_[index].key = key;
  nodes_[index].level = level_of(key);
  nodes_[index].at = place_of(key);
  nodes_[index].parent = parent;
  depth_ = std::max(depth_, nodes_[index].level);
  if (!interior.contains(key)) {
    nodes_[index].leaf = static_cast<int>(leaves_.size());
    leaves_.push_back(self);
    return self;
  }
  for (std::size_t child = 0; child < 8; ++child) {
    const int made = add(interior, child_of(key, child), self);
    nodes_[index].children[child] = made;
  }
  return self;
}

int tree::find(node_key key) const noexcept {
  const auto found = std::ranges::lower_bound(by_key_, key, {}, &std::pair<node_key, int>::first);
  return found != by_key_.end() && found->first == key ? found->second : -1;
}

interior_set tree::interior() const {
  interior_set set;
  for (const node& n : nodes_)
    if (!n.is_leaf()) set.insert(n.key);
  return set;
}

interior_set adapted(const tree& before, const std::vector<wish>& wishes) {
  interior_set interior = before.interior();
  const auto wish_of = [&](const node& n) { return wishes[static_cast<std::size_t>(n.leaf)]; };
  for (const int leaf : before.leaves())
    if (wish_of(before[leaf]) == wish::finer) interior.insert(before[leaf].key);
  balance(interior);
  // The lowest first, so that what becomes coarser there lets those above follow.
  std::vector<node_key> candidates;
  for (const node& n : before.nodes()) {
    if (n.is_leaf()) continue;
    const bool all = std::ranges::all_of(n.children, [&](int child) {
      return before[child].is_leaf() && wish_of(before[child]) == wish::coarser &&
             !interior.contains(before[child].key);
    });
    if (all) candidates.push_back(n.key);
  }
  std::ranges::sort(candidates, std::greater{});
  for (const node_key key : candidates) {
    bool holds = true;  // Nothing that touches it has grandchildren.
    for (std::size_t child = 0; child < 8 && holds; ++child)
      for (int direction = 0; direction < directions && holds; ++direction)
        holds = !interior.contains(beside(child_of(key, child), step_of(direction)));
    if (holds) interior.erase(key);
  }
  return interior;
}

interior_set build(int base, int levels, const std::function<bool(node_key)>& refine) {
  interior_set interior;
  const std::function<void(node_key)> descend = [&](node_key key) {
    const int level = level_of(key);
    if (level >= levels || (level >= base && !refine(key))) return;
    interior.insert(key);
    for (std::size_t child = 0; child < 8; ++child) descend(child_of(key, child));
  };
  descend(root_key);
  balance(interior);
  return interior;
}

std::vector<transfer> transfers_between(const tree& now, const tree& next) {
  std::vector<transfer> all;
  for (const int leaf : next.leaves()) {
    const node_key key = next[leaf].key;
    const int same = now.find(key);
    if (same < 0) {
      all.push_back({now.find(parent_of(key)), leaf, transfer::how::finer,
                     static_cast<std::uint8_t>(key & 7)});
    } else if (now[same].is_leaf()) {
      all.push_back({same, leaf, transfer::how::moved, 0});
    } else {
      for (std::size_t child = 0; child < 8; ++child)
        all.push_back({now[same].children[child], leaf, transfer::how::coarser,
                       static_cast<std::uint8_t>(child)});
    }
  }
  return all;
}

}  // namespace octree
