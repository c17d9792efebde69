// Which blocks a rank has, what lies beyond their faces, and which values ranks send each other in a step. All ranks build the same from
// the same tree, so nobody needs to be told of anything. Without weft, since the MPI form of the program includes it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "amr/cells.hpp"
#include "octree/tree.hpp"

namespace amr {

using octree::tree;

// Where the values beyond a face are: of a block of this rank, or in the message of a peer.
struct face_source {
  int own = -1;              // Number among this rank's blocks; -1: the peer has it.
  int peer = -1;             // Number among the peers.
  std::size_t offset = 0;    // Of the first value in the message.
  std::uint8_t quarter = 0;  // Of a coarser block's layer.
};

struct block_place {
  int node = 0;  // In the tree.
  int level = 0;
  std::array<beyond, 6> beyond_face{};
  std::array<std::array<face_source, 4>, 6> sources{};  // Four of finer blocks, else one.
  bool waits_for_peers = false;
};

// Values of a block that go into the message to a peer.
struct outgoing_layer {
  int own = 0;
  int face = 0;  // Of this rank's block.
  beyond seen_as{};
  std::uint8_t quarter = 0;
  std::size_t offset = 0;
};

struct peer_link {
  int rank = 0;
  std::size_t in_values = 0, out_values = 0;
  std::vector<outgoing_layer> out;
};

class mesh {
 public:
  // `owners` are the ranks of the leaves, in their order.
  mesh(const tree& nodes, const std::vector<int>& owners, int rank, std::size_t variables) {
    std::vector<int> own_of_leaf(nodes.leaves().size(), -1);
    for (std::size_t leaf = 0; leaf < owners.size(); ++leaf)
      if (owners[leaf] == rank) {
        own_of_leaf[leaf] = static_cast<int>(blocks_.size());
        const int node = nodes.leaves()[leaf];
        blocks_.push_back({node, nodes[node].level, {}, {}, false});
      }
    std::map<int, int> peers;  // By rank: the peer's number.
    const auto peer_of = [&](int other) -> int {
      const auto [at, is_new] = peers.try_emplace(other, static_cast<int>(peers_.size()));
      if (is_new) peers_.push_back({other, 0, 0, {}});
      return at->second;
    };
    // Receivers in the order of leaves, faces and quarters: the order of values in every message.
    for (std::size_t leaf = 0; leaf < owners.size(); ++leaf) {
      const octree::node& to = nodes[nodes.leaves()[leaf]];
      const bool is_own = owners[leaf] == rank;
      for (int face = 0; face < octree::faces; ++face) {
        const around near = beyond_of(nodes, to, face);
        for (std::size_t part = 0; part < near.count; ++part) {
          const auto from = static_cast<std::size_t>(nodes[near.nodes[part]].leaf);
          const bool has_other = owners[from] == rank;
          if (!is_own && !has_other) continue;
          face_source source{own_of_leaf[from], -1, 0, near.quarter};
          if (is_own != has_other) {
            source.peer = peer_of(is_own ? owners[from] : owners[leaf]);
            peer_link& link = peers_[static_cast<std::size_t>(source.peer)];
            std::size_t& size = is_own ? link.in_values : link.out_values;
            source.offset = size;
            size += variables * values_of(near.what);
            if (has_other)
              link.out.push_back({own_of_leaf[from], octree::opposite(face), near.what,
                                  near.quarter, source.offset});
          }
          if (!is_own) continue;
          block_place& place = blocks_[static_cast<std::size_t>(own_of_leaf[leaf])];
          place.sources[static_cast<std::size_t>(face)][part] = source;
          place.waits_for_peers = place.waits_for_peers || source.peer >= 0;
        }
        if (is_own)
          blocks_[static_cast<std::size_t>(own_of_leaf[leaf])]
              .beyond_face[static_cast<std::size_t>(face)] = near.what;
      }
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      (blocks_[i].waits_for_peers ? border_ : inner_).push_back(static_cast<int>(i));
  }

  [[nodiscard]] const std::vector<block_place>& blocks() const { return blocks_; }
  [[nodiscard]] const std::vector<peer_link>& peers() const { return peers_; }
  // Blocks that need nothing of a peer, and the others.
  [[nodiscard]] const std::vector<int>& inner() const { return inner_; }
  [[nodiscard]] const std::vector<int>& border() const { return border_; }

 private:
  struct around {
    beyond what = beyond::wall;
    std::size_t count = 0;
    std::array<int, 4> nodes{};
    std::uint8_t quarter = 0;
  };

  static around beyond_of(const tree& nodes, const octree::node& to, int face) {
    const auto axis = static_cast<std::size_t>(octree::axis_of(face));
    octree::index3 step{};
    step[axis] = octree::is_upper(face) ? 1 : -1;
    const octree::node_key key = octree::beside(to.key, step);
    if (key == 0) return {};
    const auto [first, second] = octree::axes_across(static_cast<int>(axis));
    const int same = nodes.find(key);
    if (same < 0)  // Balance: the one above is a leaf.
      return {beyond::coarser,
              1,
              {nodes.find(octree::parent_of(key))},
              static_cast<std::uint8_t>(2 * (to.at[static_cast<std::size_t>(first)] & 1) +
                                        (to.at[static_cast<std::size_t>(second)] & 1))};
    if (nodes[same].is_leaf()) return {beyond::same, 1, {same}, 0};
    around four{beyond::finer, 4, {}, 0};
    for (std::size_t part = 0; part < 4; ++part) {
      octree::index3 at{};
      at[axis] = octree::is_upper(face) ? 0 : 1;
      at[static_cast<std::size_t>(first)] = static_cast<int>(part / 2);
      at[static_cast<std::size_t>(second)] = static_cast<int>(part % 2);
      four.nodes[part] =
          nodes[same].children[static_cast<std::size_t>(4 * at[0] + 2 * at[1] + at[2])];
    }
    return four;
  }

  std::vector<block_place> blocks_;
  std::vector<peer_link> peers_;
  std::vector<int> inner_, border_;
};

}  // namespace amr
