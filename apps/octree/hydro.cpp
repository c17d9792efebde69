#include "octree/hydro.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "octree/kernels.hpp"

namespace octree {
namespace {

constexpr std::size_t padded = side + 2 * ghost_layers;  // Layers across an axis with the ghosts'.
constexpr std::size_t face_layers = side + 1;

// Of one axis of one leaf, [field][layer][cell of the layer]; too much for a fiber's stack.
struct workspace {
  std::array<double, fields * padded * face_cells> states, slopes;
  std::array<double, fields * face_layers * face_cells> fluxes;
};

double smaller_slope(double a, double b) {
  return a * b <= 0 ? 0.0 : std::abs(a) < std::abs(b) ? a : b;
}

// Differences of a cell from the next along an axis; at the leaf's end the one there is.
double slope_at(const double* u, std::size_t at, std::size_t position, std::size_t step) {
  const double below = position > 0 ? u[at] - u[at - step] : u[at + step] - u[at];
  const double above = position < side - 1 ? u[at + step] - u[at] : below;
  return smaller_slope(below, above);
}

// The cell (i, j, k) as its eight halves, [field][8].
void prolong_cell(const hydro_block& u, const std::array<std::size_t, 3>& cell,
                  std::array<double, fields * 8>& out) {
  const std::size_t at = cell[0] * stride[0] + cell[1] * stride[1] + cell[2];
  std::array<double, fields * 3> slopes;
  bool positive = true;
  for (std::size_t f = 0; f < fields; ++f) {
    double reach = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      slopes[3 * f + axis] = slope_at(&u[f * cells], at, cell[axis], stride[axis]);
      reach += 0.25 * std::abs(slopes[3 * f + axis]);
    }
    if (f == density || f == energy) positive &= reach < u[f * cells + at];
  }
  // Where a linear form would reach zero, all is constant.
  if (!positive) slopes.fill(0);
  for (std::size_t f = 0; f < fields; ++f)
    for (std::size_t half = 0; half < 8; ++half) {
      double value = u[f * cells + at];
      for (std::size_t axis = 0; axis < 3; ++axis)
        value += (half >> (2 - axis) & 1 ? 0.25 : -0.25) * slopes[3 * f + axis];
      out[8 * f + half] = value;
    }
}

double average_of_eight(const double* u, std::size_t at) {
  double sum = 0;
  for (const std::size_t i : {std::size_t{0}, stride[0]})
    for (const std::size_t j : {std::size_t{0}, stride[1]})
      for (const std::size_t k : {std::size_t{0}, stride[2]}) sum += u[at + i + j + k];
  return 0.125 * sum;
}

// --- Kernels: the loops over the cells of a layer are vectorised ---------------------------------------
[[gnu::always_inline]] inline void to_primitive(
    std::array<double, fields * padded * face_cells>& w) {
  constexpr std::size_t n = padded * face_cells;
  double* const u = w.data();
  for (std::size_t i = 0; i < n; ++i) {
    const double inverse = 1.0 / u[density * n + i];
    const double x = u[momentum_x * n + i] * inverse, y = u[momentum_y * n + i] * inverse,
                 z = u[momentum_z * n + i] * inverse;
    const double kinetic = 0.5 * u[density * n + i] * (x * x + y * y + z * z);
    const double pressure = (gamma_gas - 1) * (u[energy * n + i] - kinetic);
    u[momentum_x * n + i] = x;
    u[momentum_y * n + i] = y;
    u[momentum_z * n + i] = z;
    u[energy * n + i] = pressure > pressure_min ? pressure : pressure_min;
    u[first_star * n + i] *= inverse;
    u[second_star * n + i] *= inverse;
  }
}

// Half the difference across a cell, no more than keeps the faces between the neighbours' values.
[[gnu::always_inline]] inline void find_slopes(const double* w, double* slopes) {
  for (std::size_t i = face_cells; i < (padded - 1) * face_cells; ++i) {
    const double below = w[i] - w[i - face_cells], above = w[i + face_cells] - w[i];
    const double middle = 0.5 * (below + above);
    const double size = std::min(std::abs(middle), 2 * std::min(std::abs(below), std::abs(above)));
    slopes[i] = below * above > 0 ? 0.5 * std::copysign(size, middle) : 0.0;
  }
}

[[gnu::always_inline]] inline void solve_riemann(const workspace& s, std::size_t normal,
                                                 std::size_t layer, double* flux) {
  constexpr std::size_t n = padded * face_cells, m = face_layers * face_cells;
  const std::size_t left_at = (layer + 1) * face_cells, right_at = (layer + 2) * face_cells;
  const double* const w = s.states.data();
  const double* const d = s.slopes.data();
  for (std::size_t p = 0; p < face_cells; ++p) {
    double left[fields], right[fields], left_u[fields], right_u[fields];
    for (std::size_t f = 0; f < fields; ++f) {
      left[f] = w[f * n + left_at + p] + d[f * n + left_at + p];
      right[f] = w[f * n + right_at + p] - d[f * n + right_at + p];
    }
    for (const auto& [from, to] : {std::pair{&left, &left_u}, std::pair{&right, &right_u}}) {
      const double* const v = *from;
      double* const u = *to;
      u[density] = v[density];
      double squares = 0;
      for (std::size_t f = momentum_x; f <= momentum_z; ++f) {
        u[f] = v[density] * v[f];
        squares += v[f] * v[f];
      }
      u[energy] = v[energy] * (1 / (gamma_gas - 1)) + 0.5 * v[density] * squares;
      u[first_star] = v[density] * v[first_star];
      u[second_star] = v[density] * v[second_star];
    }
    const double left_speed = left[normal], right_speed = right[normal];
    const double left_sound = std::sqrt(gamma_gas * left[energy] / left[density]);
    const double right_sound = std::sqrt(gamma_gas * right[energy] / right[density]);
    const double down = std::min(std::min(left_speed - left_sound, right_speed - right_sound), 0.0);
    const double up = std::max(std::max(left_speed + left_sound, right_speed + right_sound), 0.0);
    const double scale = 1.0 / (up - down);
    for (std::size_t f = 0; f < fields; ++f) {
      double left_flux = left_speed * left_u[f], right_flux = right_speed * right_u[f];
      if (f == normal) left_flux += left[energy], right_flux += right[energy];
      if (f == energy)
        left_flux += left_speed * left[energy], right_flux += right_speed * right[energy];
      flux[f * m + layer * face_cells + p] =
          scale * (up * left_flux - down * right_flux + up * down * (right_u[f] - left_u[f]));
    }
  }
}

// `s.states` holds conserved values.
[[gnu::always_inline]] inline void fluxes_along(workspace& s, std::size_t normal) {
  to_primitive(s.states);
  for (std::size_t f = 0; f < fields; ++f)
    find_slopes(&s.states[f * padded * face_cells], &s.slopes[f * padded * face_cells]);
  for (std::size_t layer = 0; layer < face_layers; ++layer)
    solve_riemann(s, normal, layer, s.fluxes.data());
}

using flux_kernel = void (*)(workspace&, std::size_t);
[[gnu::noinline]] void fluxes_portable(workspace& s, std::size_t normal) {
  fluxes_along(s, normal);
}
#if defined(__x86_64__)
// Without fused operations, so that the results are those of the portable one.
[[gnu::noinline, gnu::target("avx2")]] void fluxes_avx2(workspace& s, std::size_t normal) {
  fluxes_along(s, normal);
}
flux_kernel best_kernel() {
  return has_fast_kernels() ? &fluxes_avx2 : &fluxes_portable;
}
#else
flux_kernel best_kernel() {
  return &fluxes_portable;
}
#endif

// Matter may leave where the domain ends; beyond it is gas that does not move inwards.
void leave_domain(workspace& s, int axis, bool upper) {
  constexpr std::size_t n = padded * face_cells;
  const std::size_t inner = upper ? padded - ghost_layers - 1 : ghost_layers;
  const std::size_t first = upper ? padded - ghost_layers : 0;
  const std::size_t normal = momentum_x + static_cast<std::size_t>(axis);
  for (std::size_t layer = first; layer < first + ghost_layers; ++layer)
    for (std::size_t p = 0; p < face_cells; ++p) {
      const std::size_t to = layer * face_cells + p;
      for (std::size_t f = 0; f < fields; ++f)
        s.states[f * n + to] = s.states[f * n + inner * face_cells + p];
      double& momentum = s.states[normal * n + to];
      if (upper ? momentum >= 0 : momentum <= 0) continue;
      s.states[energy * n + to] -= 0.5 * momentum * momentum / s.states[density * n + to];
      momentum = 0;
    }
}

}  // namespace

void pack_layers(const hydro_block& u, int face, std::span<double> out) {
  const std::size_t first = is_upper(face) ? side - ghost_layers : 0;
  std::size_t to = 0;
  for (std::size_t f = 0; f < fields; ++f)
    for (std::size_t layer = 0; layer < ghost_layers; ++layer)
      for (std::size_t b = 0; b < side; ++b)
        for (std::size_t c = 0; c < side; ++c)
          out[to++] = u[f * cells + cell_in_layer(axis_of(face), first + layer, b, c)];
}

void pack_restricted(const hydro_block& u, int face, std::span<double> out) {
  const std::size_t first = is_upper(face) ? side - 2 * ghost_layers : 0;
  std::size_t to = 0;
  for (std::size_t f = 0; f < fields; ++f)
    for (std::size_t layer = 0; layer < ghost_layers; ++layer)
      for (std::size_t b = 0; b < side; b += 2)
        for (std::size_t c = 0; c < side; c += 2)
          out[to++] = average_of_eight(&u[f * cells],
                                       cell_in_layer(axis_of(face), first + 2 * layer, b, c));
}

void pack_prolonged(const hydro_block& u, int face, int quarter, std::span<double> out) {
  const int axis = axis_of(face);
  const auto a = static_cast<std::size_t>(axis);
  const auto [first, second] = axes_across(axis);
  const auto across_b = static_cast<std::size_t>(first),
             across_c = static_cast<std::size_t>(second);
  std::array<double, fields * 8> halves;
  std::array<std::size_t, 3> cell{};
  cell[a] = is_upper(face) ? side - 1 : 0;
  const std::size_t begin_b = quarter / 2 == 1 ? side / 2 : 0,
                    begin_c = quarter % 2 == 1 ? side / 2 : 0;
  for (std::size_t b = 0; b < side / 2; ++b)
    for (std::size_t c = 0; c < side / 2; ++c) {
      cell[across_b] = begin_b + b;
      cell[across_c] = begin_c + c;
      prolong_cell(u, cell, halves);
      for (std::size_t half = 0; half < 8; ++half) {
        const std::size_t layer = half >> (2 - a) & 1;
        const std::size_t p =
            (2 * b + (half >> (2 - across_b) & 1)) * side + 2 * c + (half >> (2 - across_c) & 1);
        for (std::size_t f = 0; f < fields; ++f)
          out[(f * ghost_layers + layer) * face_cells + p] = halves[8 * f + half];
      }
    }
}

void pack_fluxes(const leaf_state& leaf, int face, std::span<double> out) {
  const double* const border = &leaf.border[static_cast<std::size_t>(face) * fields * face_cells];
  std::size_t to = 0;
  for (std::size_t f = 0; f < fields; ++f)
    for (std::size_t b = 0; b < side; b += 2)
      for (std::size_t c = 0; c < side; c += 2) {
        const double* const four = border + f * face_cells + b * side + c;
        out[to++] = 0.25 * (four[0] + four[1] + four[side] + four[side + 1]);
      }
}

void place_quarter(std::span<const double> part, int quarter, std::size_t layers,
                   std::span<double> out) {
  const std::size_t corner =
      (quarter / 2 == 1 ? side / 2 * side : 0) + (quarter % 2 == 1 ? side / 2 : 0);
  std::size_t from = 0;
  for (std::size_t block = 0; block < fields * layers; ++block)
    for (std::size_t b = 0; b < side / 2; ++b)
      for (std::size_t c = 0; c < side / 2; ++c)
        out[block * face_cells + corner + b * side + c] = part[from++];
}

void find_fluxes(leaf_state& leaf, const std::array<std::span<const double>, faces>& beyond,
                 double cell) {
  const flux_kernel kernel = best_kernel();
  thread_local const auto scratch = std::make_unique<workspace>();
  workspace& s = *scratch;
  constexpr std::size_t n = padded * face_cells, m = face_layers * face_cells;
  leaf.rate.fill(0);
  leaf.lost_rate = 0;
  const double inverse = 1 / cell;
  for (int axis = 0; axis < 3; ++axis) {
    for (std::size_t f = 0; f < fields; ++f)
      for (std::size_t layer = 0; layer < side; ++layer)
        for (std::size_t b = 0; b < side; ++b)
          for (std::size_t c = 0; c < side; ++c)
            s.states[f * n + (layer + ghost_layers) * face_cells + b * side + c] =
                leaf.u[f * cells + cell_in_layer(axis, layer, b, c)];
    for (const bool upper : {false, true}) {
      const std::span<const double> layers = beyond[static_cast<std::size_t>(2 * axis + upper)];
      if (layers.empty()) {
        leave_domain(s, axis, upper);
        continue;
      }
      const std::size_t first = upper ? padded - ghost_layers : 0;
      for (std::size_t f = 0; f < fields; ++f)
        std::copy_n(&layers[f * ghost_layers * face_cells], ghost_layers * face_cells,
                    &s.states[f * n + first * face_cells]);
    }
    kernel(s, momentum_x + static_cast<std::size_t>(axis));
    for (std::size_t f = 0; f < fields; ++f)
      for (std::size_t layer = 0; layer < side; ++layer) {
        const double* const flux = &s.fluxes[f * m + layer * face_cells];
        for (std::size_t b = 0; b < side; ++b)
          for (std::size_t c = 0; c < side; ++c)
            leaf.rate[f * cells + cell_in_layer(axis, layer, b, c)] -=
                (flux[face_cells + b * side + c] - flux[b * side + c]) * inverse;
      }
    for (std::size_t layer = 0; layer < side; ++layer) {
      const double* const flux = &s.fluxes[density * m + layer * face_cells];
      for (std::size_t b = 0; b < side; ++b)
        for (std::size_t c = 0; c < side; ++c)
          leaf.mass_flux[static_cast<std::size_t>(axis) * cells +
                         cell_in_layer(axis, layer, b, c)] =
              0.5 * (flux[face_cells + b * side + c] + flux[b * side + c]);
    }
    for (const bool upper : {false, true}) {
      const auto face = static_cast<std::size_t>(2 * axis + upper);
      for (std::size_t f = 0; f < fields; ++f)
        std::copy_n(&s.fluxes[f * m + (upper ? side * face_cells : 0)], face_cells,
                    &leaf.border[(face * fields + f) * face_cells]);
      if (!beyond[face].empty()) continue;
      double through = 0;
      for (std::size_t p = 0; p < face_cells; ++p)
        through += leaf.border[(face * fields + density) * face_cells + p];
      leaf.lost_rate += (upper ? through : -through) * cell * cell;
    }
  }
}

void correct_fluxes(leaf_state& leaf, int face, int quarter, std::span<const double> finer,
                    double cell) {
  const double scale = (is_upper(face) ? -1 : 1) / cell;
  const std::size_t layer = is_upper(face) ? side - 1 : 0;
  const std::size_t begin_b = quarter / 2 == 1 ? side / 2 : 0,
                    begin_c = quarter % 2 == 1 ? side / 2 : 0;
  std::size_t from = 0;
  for (std::size_t f = 0; f < fields; ++f)
    for (std::size_t b = begin_b; b < begin_b + side / 2; ++b)
      for (std::size_t c = begin_c; c < begin_c + side / 2; ++c) {
        const double own =
            leaf.border[(static_cast<std::size_t>(face) * fields + f) * face_cells + b * side + c];
        const double more = finer[from++] - own;
        const std::size_t at = cell_in_layer(axis_of(face), layer, b, c);
        leaf.rate[f * cells + at] += scale * more;
        if (f == density)
          leaf.mass_flux[static_cast<std::size_t>(axis_of(face)) * cells + at] += 0.5 * more;
      }
}

bool update(leaf_state& leaf, int stage, double dt, double cell) {
  constexpr double of_base[3] = {0, 0.75, 1.0 / 3}, of_stage[3] = {1, 0.25, 2.0 / 3};
  const double kept = of_base[stage], taken = of_stage[stage];
  if (stage == 0) {
    leaf.base = leaf.u;
    leaf.lost_base = leaf.lost;
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double* const g = &leaf.acceleration[axis * cells];
    double* const of_momentum = &leaf.rate[(momentum_x + axis) * cells];
    double* const of_energy = &leaf.rate[energy * cells];
    for (std::size_t i = 0; i < cells; ++i) {
      of_momentum[i] += leaf.u[density * cells + i] * g[i];
      of_energy[i] += leaf.mass_flux[axis * cells + i] * g[i];
    }
  }
  for (std::size_t i = 0; i < fields * cells; ++i)
    leaf.u[i] = kept * leaf.base[i] + taken * (leaf.u[i] + dt * leaf.rate[i]);
  leaf.lost = kept * leaf.lost_base + taken * (leaf.lost + dt * leaf.lost_rate);
  bool sound = true;
  for (std::size_t i = 0; i < cells; ++i)
    sound &= leaf.u[density * cells + i] > 0 && leaf.u[density * cells + i] < 1e30 &&
             leaf.u[energy * cells + i] > -1e30 && leaf.u[energy * cells + i] < 1e30;
  if (stage == 2) leaf.signal = signal_of(leaf.u, cell);
  return sound;
}

double signal_of(const hydro_block& u, double cell) {
  double most = 0;
  for (std::size_t i = 0; i < cells; ++i) {
    const double inverse = 1 / u[density * cells + i];
    const double x = u[momentum_x * cells + i] * inverse, y = u[momentum_y * cells + i] * inverse,
                 z = u[momentum_z * cells + i] * inverse;
    const double pressure =
        (gamma_gas - 1) *
        (u[energy * cells + i] - 0.5 * u[density * cells + i] * (x * x + y * y + z * z));
    const double sound = std::sqrt(gamma_gas * std::max(pressure, pressure_min) * inverse);
    most = std::max(most, std::abs(x) + std::abs(y) + std::abs(z) + 3 * sound);
  }
  return most / cell;
}

void prolong_block(const hydro_block& u, std::size_t child, hydro_block& out) {
  constexpr std::size_t half_side = side / 2;
  std::array<double, fields * 8> halves;
  for (std::size_t i = 0; i < half_side; ++i)
    for (std::size_t j = 0; j < half_side; ++j)
      for (std::size_t k = 0; k < half_side; ++k) {
        prolong_cell(u,
                     {i + half_side * (child >> 2 & 1), j + half_side * (child >> 1 & 1),
                      k + half_side * (child & 1)},
                     halves);
        for (std::size_t half = 0; half < 8; ++half) {
          const std::size_t to = (2 * i + (half >> 2 & 1)) * stride[0] +
                                 (2 * j + (half >> 1 & 1)) * stride[1] + 2 * k + (half & 1);
          for (std::size_t f = 0; f < fields; ++f) out[f * cells + to] = halves[8 * f + half];
        }
      }
}

void restrict_block(const hydro_block& u, std::span<double> out) {
  std::size_t to = 0;
  for (std::size_t f = 0; f < fields; ++f)
    for (std::size_t i = 0; i < side; i += 2)
      for (std::size_t j = 0; j < side; j += 2)
        for (std::size_t k = 0; k < side; k += 2)
          out[to++] = average_of_eight(&u[f * cells], i * stride[0] + j * stride[1] + k);
}

void place_eighth(std::span<const double> part, std::size_t child, hydro_block& out) {
  constexpr std::size_t half_side = side / 2;
  std::size_t from = 0;
  for (std::size_t f = 0; f < fields; ++f)
    for (std::size_t i = 0; i < half_side; ++i)
      for (std::size_t j = 0; j < half_side; ++j)
        for (std::size_t k = 0; k < half_side; ++k)
          out[f * cells + (i + half_side * (child >> 2 & 1)) * stride[0] +
              (j + half_side * (child >> 1 & 1)) * stride[1] + k + half_side * (child & 1)] =
              part[from++];
}

}  // namespace octree
