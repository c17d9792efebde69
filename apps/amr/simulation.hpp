// What each rank of weft-amr holds and does: steps, regrids, sums. `Peers` moves messages, `Loops` runs loops over blocks; weft and MPI
// have theirs. Without weft, since the MPI form of the program includes it.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "amr/mesh.hpp"
#include "amr/objects.hpp"

namespace amr {

struct physics {
  int base = 2, levels = 4;
  std::size_t variables = 8;
  int objects = 2;
  double speed = 0.01;  // Edges of the cube in a step.
  std::uint64_t seed =
      9;  // Two ranks that keep their blocks get uneven shares: sharing could win 1.7.
  int regrid_every = 5;   // Steps; 0: the tree stays.
  int balance_every = 1;  // Regrids; 0: blocks stay where they begin.
  // Diffusion number of the finest cells; explicit steps are stable up to 1/6.
  double rate = 0.1;
};

// Of all blocks of all ranks, for variable 0; `sums` for each.
struct totals {
  std::vector<double> sums;
  double least = 0, most = 0;
  std::uint64_t hash = 0;
};

// Peers: rank(), size(); post(span<const double>, to) and receive(span<double>, from), in the order in which the other posts; finish(),
// which waits until all that was posted is sent; sum(span<double>), sum(uint64_t), max(double) over all ranks. Loops: see
// front/plain_loops.hpp.
template <class Peers, class Loops>
class simulation {
 public:
  simulation(const physics& p, Peers& peers, const Loops& loops)
      : physics_(p),
        spheres_(p.objects, p.speed, p.seed),
        peers_(peers),
        loops_(loops),
        tree_(std::make_unique<tree>(octree::build(p.base, p.levels,
                                                   [now = spheres_.at(0)](octree::node_key key) {
                                                     return meets_surface(key, now);
                                                   }),
                                     peers.size())) {
    adopt(balanced_owners(*tree_));
    now_.resize(own_values());
    loops_.for_ranges(mesh_->blocks().size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) fill(i);
    });
    next_.resize(now_.size());
  }

  void step() {
    for (const peer_link& peer : mesh_->peers()) {
      std::vector<double>& out = outbox_[number_of(peer)];
      loops_.for_ranges(peer.out.size(), layers_at_once, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) pack(peer.out[i], out.data());
      });
      peers_.post(out, peer.rank);
    }
    update(mesh_->inner());
    for (const peer_link& peer : mesh_->peers()) peers_.receive(inbox_[number_of(peer)], peer.rank);
    update(mesh_->border());
    peers_.finish();
    std::swap(now_, next_);
    ++steps_;
  }

  // Adapts the tree by at most one level anywhere, and moves blocks to their new ranks. False: not yet.
  bool regrid_when_due() {
    if (physics_.regrid_every == 0 || steps_ % physics_.regrid_every != 0) return false;
    ++regrids_;
    auto next = std::make_unique<tree>(octree::adapted(*tree_, wishes()), peers_.size());
    const std::vector<octree::transfer> moves = octree::transfers_between(*tree_, *next);
    std::vector<int> owners = balanced_owners(*next);
    if (physics_.balance_every == 0 || regrids_ % physics_.balance_every != 0)
      for (const octree::transfer& t : moves)
        if (t.change != octree::transfer::how::coarser || t.child == 0)
          owners[leaf_of(*next, t.to)] = owners_[leaf_of(*tree_, t.from)];
    move(std::move(next), std::move(owners), moves);
    return true;
  }

  [[nodiscard]] totals measure() {
    struct part {
      std::vector<double> sums;
      double least = std::numeric_limits<double>::infinity(), most = -least;
      std::uint64_t hash = 0;
    };
    std::vector<part> parts(mesh_->blocks().size());
    loops_.for_ranges(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        part& p = parts[i];
        const block_place& place = mesh_->blocks()[i];
        const double volume = std::ldexp(1.0 / cells, -3 * place.level);
        for (std::size_t v = 0; v < physics_.variables; ++v) {
          const std::span<const double> values(variable(now_, i, v), cells);
          double sum = 0;
          for (const double x : values) sum += x;
          p.sums.push_back(sum * volume);
          p.hash += hash_of((*tree_)[place.node].key * physics_.variables + v, values);
        }
        for (const double x : std::span(variable(now_, i, 0), cells)) {
          p.least = std::min(p.least, x);
          p.most = std::max(p.most, x);
        }
      }
    });
    totals all;
    all.sums.resize(physics_.variables);
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const part& p : parts) {
      for (std::size_t v = 0; v < physics_.variables; ++v) all.sums[v] += p.sums[v];
      least = std::min(least, p.least);
      most = std::max(most, p.most);
      all.hash += p.hash;
    }
    peers_.sum(all.sums);
    all.least = -peers_.max(-least);
    all.most = peers_.max(most);
    all.hash = peers_.sum(all.hash);
    return all;
  }

  [[nodiscard]] const tree& nodes() const { return *tree_; }
  [[nodiscard]] const std::vector<int>& owners() const { return owners_; }  // Of leaves.
  [[nodiscard]] const mesh& own() const { return *mesh_; }
  [[nodiscard]] std::span<const double> values(std::size_t block, std::size_t v) const {
    return {now_.data() + (block * physics_.variables + v) * cells, cells};
  }
  [[nodiscard]] std::span<double> values(std::size_t block, std::size_t v) {
    return {variable(now_, block, v), cells};
  }
  [[nodiscard]] std::vector<sphere> spheres() const { return spheres_.at(steps_); }
  [[nodiscard]] int steps() const { return steps_; }
  [[nodiscard]] int regrids() const { return regrids_; }
  [[nodiscard]] std::vector<std::size_t> blocks_of_ranks() const {
    std::vector<std::size_t> blocks(static_cast<std::size_t>(peers_.size()));
    for (const int owner : owners_) ++blocks[static_cast<std::size_t>(owner)];
    return blocks;
  }

 private:
  // Some 5 µs of copies.
  static constexpr std::size_t layers_at_once = 8;

  [[nodiscard]] std::size_t own_values() const {
    return mesh_->blocks().size() * physics_.variables * cells;
  }
  [[nodiscard]] double* variable(std::vector<double>& of, std::size_t block, std::size_t v) const {
    return of.data() + (block * physics_.variables + v) * cells;
  }
  [[nodiscard]] std::size_t number_of(const peer_link& peer) const {
    return static_cast<std::size_t>(&peer - mesh_->peers().data());
  }
  [[nodiscard]] static std::size_t leaf_of(const tree& t, int node) {
    return static_cast<std::size_t>(t[node].leaf);
  }
  [[nodiscard]] static std::vector<int> balanced_owners(const tree& t) {
    std::vector<int> owners;
    for (const int leaf : t.leaves()) owners.push_back(t[leaf].owner);
    return owners;
  }

  void adopt(std::vector<int> owners) {
    owners_ = std::move(owners);
    mesh_ = std::make_unique<mesh>(*tree_, owners_, peers_.rank(), physics_.variables);
    inbox_.clear();
    outbox_.clear();
    for (const peer_link& peer : mesh_->peers()) {
      inbox_.emplace_back(peer.in_values);
      outbox_.emplace_back(peer.out_values);
    }
  }

  // Variable 0 is 1 within the objects; the others are waves, each with another length.
  void fill(std::size_t block) {
    const block_place& place = mesh_->blocks()[block];
    const octree::node& node = (*tree_)[place.node];
    const double cell = std::ldexp(1.0 / side, -place.level);
    const std::vector<sphere> spheres = spheres_.at(0);
    std::size_t at = 0;
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j)
        for (std::size_t k = 0; k < side; ++k, ++at) {
          const std::array<std::size_t, 3> index{i, j, k};
          point p;
          for (std::size_t axis = 0; axis < 3; ++axis)
            p[axis] = (node.at[axis] * side + static_cast<double>(index[axis]) + 0.5) * cell;
          variable(now_, block, 0)[at] = is_within(p, spheres) ? 1.0 : 0.0;
          for (std::size_t v = 1; v < physics_.variables; ++v)
            variable(now_, block, v)[at] =
                1 + 0.5 * std::cos(std::numbers::pi * static_cast<double>(v) * p[v % 3]);
        }
  }

  void pack(const outgoing_layer& layer, double* out) {
    out += layer.offset;
    for (std::size_t v = 0; v < physics_.variables; ++v, out += values_of(layer.seen_as))
      pack_layer(variable(now_, static_cast<std::size_t>(layer.own), v), layer.face, layer.seen_as,
                 layer.quarter, out);
  }

  void update(const std::vector<int>& blocks) {
    loops_.for_ranges(blocks.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) update(static_cast<std::size_t>(blocks[i]));
    });
  }

  void update(std::size_t block) {
    const block_place& place = mesh_->blocks()[block];
    const double rate = std::ldexp(physics_.rate, 2 * (place.level - physics_.levels));
    std::array<std::array<std::array<double, face_cells>, 4>, 6> layers;
    for (std::size_t v = 0; v < physics_.variables; ++v) {
      std::array<face_values, 6> faces;
      for (std::size_t face = 0; face < faces.size(); ++face) {
        const beyond what = place.beyond_face[face];
        faces[face].what = what;
        const std::size_t parts = what == beyond::wall ? 0 : what == beyond::finer ? 4 : 1;
        for (std::size_t part = 0; part < parts; ++part) {
          const face_source& from = place.sources[face][part];
          if (from.own < 0) {
            faces[face].parts[part] = inbox_[static_cast<std::size_t>(from.peer)].data() +
                                      from.offset + v * values_of(what);
            continue;
          }
          pack_layer(variable(now_, static_cast<std::size_t>(from.own), v),
                     octree::opposite(static_cast<int>(face)), what, from.quarter,
                     layers[face][part].data());
          faces[face].parts[part] = layers[face][part].data();
        }
      }
      diffuse(variable(next_, block, v), variable(now_, block, v), faces, rate);
    }
  }

  [[nodiscard]] std::vector<octree::wish> wishes() const {
    // A leaf takes a regrid for each level, so it looks as far ahead.
    std::vector<std::vector<sphere>> times;
    for (int ahead = 0; ahead <= physics_.levels - physics_.base; ++ahead)
      times.push_back(spheres_.at(steps_ + ahead * physics_.regrid_every));
    std::vector<octree::wish> all;
    for (const int leaf : tree_->leaves()) {
      const octree::node& node = (*tree_)[leaf];
      const bool meets = std::ranges::any_of(
          times, [&](const std::vector<sphere>& then) { return meets_surface(node.key, then); });
      all.push_back(meets && node.level < physics_.levels  ? octree::wish::finer
                    : !meets && node.level > physics_.base ? octree::wish::coarser
                                                           : octree::wish::stay);
    }
    return all;
  }

  [[nodiscard]] std::size_t size_of(const octree::transfer& t) const {
    return physics_.variables * (t.change == octree::transfer::how::moved ? cells : cells / 8);
  }

  void pack(const octree::transfer& t, std::size_t from, double* out) {
    for (std::size_t v = 0; v < physics_.variables; ++v) {
      const double* const block = variable(now_, from, v);
      switch (t.change) {
        case octree::transfer::how::moved:
          out = std::copy_n(block, cells, out);
          break;
        case octree::transfer::how::finer:
          pack_octant(block, t.child, out);
          out += cells / 8;
          break;
        case octree::transfer::how::coarser:
          restrict_block(block, out);
          out += cells / 8;
          break;
      }
    }
  }
  void place(const octree::transfer& t, const double* in, std::size_t to) {
    for (std::size_t v = 0; v < physics_.variables; ++v) {
      double* const block = variable(next_, to, v);
      switch (t.change) {
        case octree::transfer::how::moved:
          std::copy_n(in, cells, block);
          in += cells;
          break;
        case octree::transfer::how::finer:
          prolong(in, block);
          in += cells / 8;
          break;
        case octree::transfer::how::coarser:
          place_octant(in, t.child, block);
          in += cells / 8;
          break;
      }
    }
  }

  void move(std::unique_ptr<tree> next, std::vector<int> owners,
            const std::vector<octree::transfer>& moves) {
    const int rank = peers_.rank();
    const auto numbers = [&](const std::vector<int>& owners_of) {
      std::vector<std::size_t> own(owners_of.size());
      std::size_t count = 0;
      for (std::size_t leaf = 0; leaf < own.size(); ++leaf)
        if (owners_of[leaf] == rank) own[leaf] = count++;
      return std::pair{own, count};
    };
    const std::vector<std::size_t> from_numbers = numbers(owners_).first;
    const auto [to_numbers, count] = numbers(owners);
    next_.assign(count * physics_.variables * cells, 0.0);

    // One message to each rank that gets something, in the order of the moves.
    struct one_move {
      const octree::transfer* what;
      std::size_t block, offset;
    };
    struct traffic {
      std::vector<one_move> moves;
      std::vector<double> values;
      std::size_t size = 0;
    };
    std::map<int, traffic> out, in;
    std::vector<std::pair<const octree::transfer*, std::array<std::size_t, 2>>> here;
    for (const octree::transfer& t : moves) {
      const std::size_t from = leaf_of(*tree_, t.from), to = leaf_of(*next, t.to);
      const int sender = owners_[from], receiver = owners[to];
      const auto note = [&](traffic& with, std::size_t block) {
        with.moves.push_back({&t, block, with.size});
        with.size += size_of(t);
      };
      if (sender == rank && receiver == rank)
        here.push_back({&t, {from_numbers[from], to_numbers[to]}});
      else if (sender == rank)
        note(out[receiver], from_numbers[from]);
      else if (receiver == rank)
        note(in[sender], to_numbers[to]);
    }
    for (auto& [other, with] : out) {
      with.values.resize(with.size);
      loops_.for_ranges(with.moves.size(), 1, [&with, this](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
          pack(*with.moves[i].what, with.moves[i].block, with.values.data() + with.moves[i].offset);
      });
      peers_.post(with.values, other);
    }
    loops_.for_ranges(here.size(), 1, [&](std::size_t begin, std::size_t end) {
      std::vector<double> values;
      for (std::size_t i = begin; i < end; ++i) {
        values.resize(size_of(*here[i].first));
        pack(*here[i].first, here[i].second[0], values.data());
        place(*here[i].first, values.data(), here[i].second[1]);
      }
    });
    for (auto& [other, with] : in) {
      with.values.resize(with.size);
      peers_.receive(with.values, other);
      loops_.for_ranges(with.moves.size(), 1, [&with, this](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
          place(*with.moves[i].what, with.values.data() + with.moves[i].offset,
                with.moves[i].block);
      });
    }
    peers_.finish();
    tree_ = std::move(next);
    adopt(std::move(owners));
    std::swap(now_, next_);
    next_.resize(now_.size());
  }

  physics physics_;
  moving_spheres spheres_;
  Peers& peers_;
  Loops loops_;
  std::unique_ptr<tree> tree_;
  std::vector<int> owners_;
  std::unique_ptr<mesh> mesh_;
  std::vector<double> now_, next_;                   // [block][variable][cell]
  std::vector<std::vector<double>> inbox_, outbox_;  // By peer.
  int steps_ = 0, regrids_ = 0;
};

// Of themselves: rounding of some thousand steps.
inline constexpr double sum_tolerance = 1e-12;

// By how much the sum of a variable has changed at most, of itself.
[[nodiscard]] inline double change_of_sums(const totals& start, const totals& now) {
  double most = 0;
  for (std::size_t v = 0; v < start.sums.size(); ++v)
    most = std::max(
        most, std::abs(now.sums[v] - start.sums[v]) / std::max(std::abs(start.sums[v]), 1e-300));
  return most;
}

}  // namespace amr
