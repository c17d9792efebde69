// Hydrodynamics of one leaf: Euler's equations with gravity as a source, finite volumes, piecewise linear primitive
// variables with the limiter of monotonised central differences, HLL fluxes, three Runge-Kutta stages (SSP).
//
// Gravity does its work on the mass that the fluxes move, not on the momentum of the cells: what a flux carries uphill by its
// own diffusion is paid for, and the sum of all energies stays but for what the field's differences are off.
//
// Everything is a function of its arguments alone and adds in a fixed order.
#pragma once
#include <cstddef>
#include <span>

#include "octree/block.hpp"

namespace octree {

inline constexpr double gamma_gas = 5.0 / 3.0;
inline constexpr double pressure_min = 1e-12;
inline constexpr std::size_t layer_values = fields * ghost_layers * face_cells;

struct leaf_state {
  hydro_block u{};                                           // Now.
  hydro_block base{};                                        // At the beginning of the step.
  hydro_block rate{};                                        // du/dt of the present stage.
  std::array<double, faces * fields * face_cells> border{};  // Fluxes through the leaf's faces.
  std::array<double, 3 * cells>
      mass_flux{};  // Through a cell along each axis: the mean of its two faces.
  std::array<double, cells> potential{};
  std::array<double, 3 * cells> acceleration{};
  double lost = 0, lost_base = 0, lost_rate = 0;  // Mass that has left the domain.
  double signal = 0;  // Largest sum over the axes of (|velocity| + sound speed) / cell, per time.
};

// --- Layers for neighbours, [field][layer][cell of the layer], in the order of the axis --------------
// The two layers of this leaf next to `face`.
void pack_layers(const hydro_block& u, int face, std::span<double> out);
// The same as averages of eight cells each, [field][layer][4 x 4], for a coarser neighbour.
void pack_restricted(const hydro_block& u, int face, std::span<double> out);
// Two layers of cells of half the size beyond `face`, which is this leaf's, in quarter (b, c) of it. Exact for linear
// fields; averages are kept.
void pack_prolonged(const hydro_block& u, int face, int quarter, std::span<double> out);
// Fluxes through `face`, averages of four, [field][4 x 4].
void pack_fluxes(const leaf_state& leaf, int face, std::span<double> out);
// Places a quarter of a face, [field][layer][4 x 4], in [field][layer][8 x 8].
void place_quarter(std::span<const double> part, int quarter, std::size_t layers,
                   std::span<double> out);

// --- A stage ---------------------------------------------------------------------------------------
// Two layers beyond each face; an empty one: the domain ends there, matter may leave. Sets rate, border, mass_flux,
// lost_rate.
void find_fluxes(leaf_state& leaf, const std::array<std::span<const double>, faces>& beyond,
                 double cell);
// Fluxes of finer neighbours, [field][4 x 4], take the place of the own ones.
void correct_fluxes(leaf_state& leaf, int face, int quarter, std::span<const double> finer,
                    double cell);
// Stage 0, 1 or 2 of a step; after the last one `signal` is set. False when a density or energy is no longer a
// positive number.
[[nodiscard]] bool update(leaf_state& leaf, int stage, double dt, double cell);
[[nodiscard]] double signal_of(const hydro_block& u, double cell);

// --- Other levels ------------------------------------------------------------------------------------
// The eighth `child` of a block as a block of its own, and back as averages, [field][4 x 4 x 4].
void prolong_block(const hydro_block& u, std::size_t child, hydro_block& out);
void restrict_block(const hydro_block& u, std::span<double> out);
void place_eighth(std::span<const double> part, std::size_t child, hydro_block& out);

}  // namespace octree
