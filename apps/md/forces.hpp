// The two passes over neighbours that an embedded-atom force needs.
//
//   density pass   ρ_i = Σ_j ρ(r_ij), then F(ρ_i) and F'(ρ_i)
//   force pass     f_i = Σ_j [(F'_i + F'_j) ρ'(r_ij) + φ'(r_ij)] r_ij / |r_ij|
//
// Every atom's list is full: both passes write only to atom i, so any chunk of atoms may be
// computed by any worker at any time, and the sums do not depend on how the atoms are cut into
// chunks. That costs each pair twice; the kernels win it back by working on four or eight pairs at
// once and by leaving the pairs beyond the cutoff out of the force pass.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "md/potential.hpp"
#include "md/units.hpp"

namespace md {

// An atom as its neighbours see it. `embedding_slope` is F' of the last density pass; it travels
// with the position so that the force pass loads both at once.
struct alignas(32) site {
  double x = 0, y = 0, z = 0, embedding_slope = 0;
};

// Limit on one atom's list; it bounds the scratch space of a chunk on its worker's stack.
inline constexpr std::size_t neighbors_max = 1024;
// Lists are filled up to a multiple of this, the most neighbours that a kernel takes at once.
inline constexpr std::size_t list_multiple = 8;

// Neighbour lists with room for `stride` neighbours of each atom.
struct neighbor_list {
  std::size_t stride = 0;
  std::vector<std::uint32_t> neighbors;  // Within cutoff + skin.
  std::vector<std::uint32_t> count;
  std::vector<std::uint32_t> close;        // Those within the cutoff, found by the density pass,
  std::vector<std::uint32_t> close_count;  // filled up with the remote site.
};

enum class instructions { portable, avx2, avx512 };
// The widest that this machine has.
instructions best_instructions();

class eam_kernel {
 public:
  explicit eam_kernel(const eam_potential& potential, instructions set = best_instructions());

  const eam_potential& potential() const { return potential_; }
  const char* instruction_set() const;

  // What the passes write, one entry per owned atom.
  struct results {
    std::vector<double> embedding_slope;  // F'(ρ_i)
    std::vector<double> energy;           // F(ρ_i) + ½ Σ φ
    std::vector<double> virial;           // ½ Σ f_ij · r_ij
    std::vector<vec3> force;
    void resize(std::size_t atoms);
  };

  // Sites past the owned and ghost atoms must hold one more, `remote_subgroup()`, with the index
  // `remote`: list ends are filled up with it.
  static site remote_subgroup() { return {1e5, 1e5, 1e5, 0}; }

  void density_pass(const site* sites, std::uint32_t distant, neighbor_list& list, results& out,
                    std::size_t begin, std::size_t end) const;
  // Needs embedding_slope in the sites of owned and ghost atoms alike.
  void force_pass(const site* sites, const neighbor_list& list, results& out, std::size_t begin,
                  std::size_t end) const;

  // The tables as the passes read them: one line of memory per distance.
  struct alignas(32) density_piece {
    double c0, c1, c2, c3;
  };
  struct alignas(64) force_piece {
    double d0, d1, d2, unused;  // ρ' = (d2 t + d1) t + d0
    double c0, c1, c2, c3;      // r φ
  };
  struct tables {
    std::vector<density_piece> density;
    std::vector<force_piece> force;
    double cutoff2, pieces_per_distance;
    // The last piece is zero: every distance beyond the cutoff is clamped to it.
    int zero_piece;
  };

 private:
  using density_function = void (*)(const tables&, const eam_potential&, const site*, std::uint32_t,
                                    neighbor_list&, results&, std::size_t, std::size_t);
  using force_function = void (*)(const tables&, const site*, const neighbor_list&, results&,
                                  std::size_t, std::size_t);

  const eam_potential& potential_;
  tables tables_;
  density_function density_pass_;
  force_function force_pass_;
  instructions set_;
};

}  // namespace md
