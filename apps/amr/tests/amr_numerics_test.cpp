// The numbers and the mesh of weft-amr, without ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>

#include "amr/simulation.hpp"
#include "front/plain_loops.hpp"

namespace amr {
namespace {

// One caller that is all ranks there are.
struct alone {
  [[nodiscard]] int rank() const { return 0; }
  [[nodiscard]] int size() const { return 1; }
  void post(std::span<const double>, int) { std::abort(); }
  void receive(std::span<double>, int) { std::abort(); }
  void finish() {}
  void sum(std::span<double>) {}
  [[nodiscard]] std::uint64_t sum(std::uint64_t value) { return value; }
  [[nodiscard]] double max(double value) { return value; }
};
using serial = simulation<alone, front::plain_loops>;

TEST(amr_objects, stay_in_the_cube_and_move_steadily) {
  const moving_spheres spheres(5, 0.01, 3);
  for (int step = 0; step < 400; ++step) {
    const auto before = spheres.at(step), after = spheres.at(step + 1);
    for (std::size_t i = 0; i < before.size(); ++i) {
      double way2 = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double c = before[i].centre[axis];
        ASSERT_GE(c, before[i].radius - 1e-12);
        ASSERT_LE(c, 1 - before[i].radius + 1e-12);
        way2 += std::pow(after[i].centre[axis] - c, 2);
      }
      ASSERT_LE(std::sqrt(way2), 0.01 + 1e-12);
    }
  }
}

TEST(amr_objects, a_surface_meets_the_blocks_that_lie_neither_within_nor_without) {
  const std::vector<sphere> one{{{0.5, 0.5, 0.5}, 0.2}};
  EXPECT_TRUE(meets_surface(octree::root_key, one));
  EXPECT_TRUE(meets_surface(octree::key_of(3, {5, 4, 4}), one));   // x from 0.625 to 0.75.
  EXPECT_FALSE(meets_surface(octree::key_of(3, {6, 4, 4}), one));  // From 0.75 on.
  EXPECT_FALSE(meets_surface(octree::key_of(4, {8, 8, 8}), one));  // Within.
  EXPECT_FALSE(meets_surface(octree::root_key, {}));
}

physics uniform(int level, std::size_t variables) {
  physics p;
  p.base = p.levels = level;
  p.variables = variables;
  p.objects = 0;
  return p;
}

TEST(amr_numerics, a_wave_decays_as_its_difference_equation_says) {
  alone peers;
  serial s(uniform(2, 1), peers, {});
  constexpr int n = 32, steps = 20;  // Cells along the cube's edge.
  const auto wave = [&](double x) { return std::cos(std::numbers::pi * x); };
  const auto each = [&](auto&& visit) {
    for (std::size_t b = 0; b < s.own().blocks().size(); ++b)
      for (std::size_t cell = 0; cell < cells; ++cell) {
        const octree::node& node = s.nodes()[s.own().blocks()[b].node];
        const double y = (node.at[1] * 8 + static_cast<double>(cell / side % side) + 0.5) / n;
        visit(s.values(b, 0)[cell], wave(y));
      }
  };
  each([](double& value, double start) { value = start; });
  for (int step = 0; step < steps; ++step) s.step();
  const double factor =
      std::pow(1 - 2 * physics{}.rate * (1 - std::cos(std::numbers::pi / n)), steps);
  each([&](double value, double start) { ASSERT_NEAR(value, factor * start, 1e-13); });
}

physics adaptive() {
  physics p;
  p.base = 1;
  p.levels = 4;
  p.variables = 3;
  p.speed = 0.02;
  p.regrid_every = 2;
  return p;
}

TEST(amr_numerics, a_constant_stays_one_to_the_bit_on_a_mesh_that_changes) {
  alone peers;
  serial s(adaptive(), peers, {});
  for (std::size_t b = 0; b < s.own().blocks().size(); ++b)
    for (double& value : s.values(b, 1)) value = 0.7;
  for (int step = 0; step < 12; ++step) {
    s.step();
    s.regrid_when_due();
  }
  EXPECT_GT(s.nodes().depth(), 2);
  for (std::size_t b = 0; b < s.own().blocks().size(); ++b)
    for (const double value : s.values(b, 1)) ASSERT_EQ(value, 0.7);
}

TEST(amr_numerics, sums_and_bounds_hold_while_blocks_are_refined_and_coarsened) {
  alone peers;
  serial s(adaptive(), peers, {});
  const totals start = s.measure();
  std::set<std::size_t> sizes;
  for (int step = 0; step < 30; ++step) {
    s.step();
    s.regrid_when_due();
    sizes.insert(s.nodes().leaves().size());
    const totals now = s.measure();
    ASSERT_LT(change_of_sums(start, now), 1e-13) << step;
    ASSERT_GE(now.least, start.least - 1e-14);
    ASSERT_LE(now.most, start.most + 1e-14);
  }
  EXPECT_GT(sizes.size(), 5u) << "the mesh changes";
  EXPECT_LT(s.measure().most, start.most);
}

TEST(amr_numerics, the_mesh_is_finest_wherever_a_surface_passes) {
  alone peers;
  physics p;
  p.base = 1;
  p.variables = 1;
  p.regrid_every = 3;
  serial s(p, peers, {});
  for (int step = 0; step < 30; ++step) {
    s.step();
    s.regrid_when_due();
    if (step % 3 != 2) continue;
    for (const int leaf : s.nodes().leaves())
      if (meets_surface(s.nodes()[leaf].key, s.spheres())) {
        ASSERT_EQ(s.nodes()[leaf].level, p.levels) << step;
      }
  }
}

TEST(amr_numerics, a_flux_that_leaves_a_coarse_cell_arrives_in_four_fine_ones) {
  std::array<double, cells> coarse{}, next{};
  std::array<std::array<double, cells>, 4> fine{}, fine_next{};
  for (std::size_t i = 0; i < cells; ++i) {
    coarse[i] = static_cast<double>(front::mixed(i) >> 11) * 0x1p-53;
    for (std::size_t part = 0; part < 4; ++part)
      fine[part][i] = static_cast<double>(front::mixed(1000 * part + 5000 + i) >> 11) * 0x1p-53;
  }
  for (int face = 0; face < octree::faces; ++face) {
    std::array<std::array<double, face_cells>, 4> layers, quarters;
    std::array<face_values, 6> around{};
    around[static_cast<std::size_t>(face)].what = beyond::finer;
    double before = 0, after = 0;
    for (std::size_t part = 0; part < 4; ++part) {
      pack_layer(fine[part].data(), octree::opposite(face), beyond::finer, 0, layers[part].data());
      around[static_cast<std::size_t>(face)].parts[part] = layers[part].data();
      pack_layer(coarse.data(), face, beyond::coarser, part, quarters[part].data());
      std::array<face_values, 6> of_fine{};
      of_fine[static_cast<std::size_t>(octree::opposite(face))] = {beyond::coarser,
                                                                   {quarters[part].data()}};
      diffuse(fine_next[part].data(), fine[part].data(), of_fine, 0.1);
      before += std::accumulate(fine[part].begin(), fine[part].end(), 0.0);
      after += std::accumulate(fine_next[part].begin(), fine_next[part].end(), 0.0);
    }
    diffuse(next.data(), coarse.data(), around, 0.1 / 4);
    before += 8 * std::accumulate(coarse.begin(), coarse.end(), 0.0);
    after += 8 * std::accumulate(next.begin(), next.end(), 0.0);
    EXPECT_NEAR(after, before, 1e-11) << face;
  }
}

TEST(amr_numerics, an_octant_that_becomes_a_block_and_back_is_the_same) {
  std::array<double, cells> block, finer, back{};
  std::iota(block.begin(), block.end(), 1.0);
  for (std::size_t child = 0; child < 8; ++child) {
    std::array<double, cells / 8> octant;
    pack_octant(block.data(), child, octant.data());
    prolong(octant.data(), finer.data());
    restrict_block(finer.data(), octant.data());
    place_octant(octant.data(), child, back.data());
  }
  EXPECT_EQ(back, block);
}

TEST(amr_mesh, both_sides_of_a_face_agree_on_what_a_message_holds) {
  const auto interior = octree::build(
      1, 4, [](octree::node_key key) { return meets_surface(key, moving_spheres(2, 0, 1).at(0)); });
  constexpr int ranks = 5;
  const tree nodes(interior, ranks);
  std::vector<int> owners;
  for (const int leaf : nodes.leaves()) owners.push_back(nodes[leaf].owner);
  std::vector<mesh> all;
  for (int rank = 0; rank < ranks; ++rank) all.emplace_back(nodes, owners, rank, 3);
  std::size_t blocks = 0, links = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const mesh& mine = all[static_cast<std::size_t>(rank)];
    blocks += mine.blocks().size();
    EXPECT_EQ(mine.inner().size() + mine.border().size(), mine.blocks().size());
    for (const peer_link& peer : mine.peers()) {
      EXPECT_NE(peer.rank, rank);
      bool found = false;
      for (const peer_link& other : all[static_cast<std::size_t>(peer.rank)].peers())
        if (other.rank == rank) {
          found = true;
          EXPECT_EQ(other.in_values, peer.out_values);
          EXPECT_EQ(other.out_values, peer.in_values);
          ++links;
        }
      EXPECT_TRUE(found);
    }
  }
  EXPECT_EQ(blocks, nodes.leaves().size());
  EXPECT_GE(links, 2u * (ranks - 1));
}

}  // namespace
}  // namespace amr
