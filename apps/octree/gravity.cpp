#include "octree/gravity.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "octree/kernels.hpp"
#include "octree/plan.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octree {
namespace {

constexpr std::size_t half_side = side / 2, eighth = cells / 8;
// Cells whose parents touch a given one: 6 x 6 x 6.
constexpr std::size_t group = 216;

// Several doubles, which compilers split where a machine's vectors are shorter. The order of additions is the same
// everywhere. Functions of it are inlined always: how it would be passed does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"
using pack = double __attribute__((vector_size(32)));
constexpr std::size_t lanes = sizeof(pack) / sizeof(double);
static_assert(group % lanes == 0 && cells % lanes == 0);

// Of terms 4 to 9 and of second moments: xx, xy, xz, yy, yz, zz.
constexpr std::size_t pair_of[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
// Of terms 10 to 19.
constexpr std::size_t triple_of[3][3][3] = {{{0, 1, 2}, {1, 3, 4}, {2, 4, 5}},
                                            {{1, 3, 4}, {3, 6, 7}, {4, 7, 8}},
                                            {{2, 4, 5}, {4, 7, 8}, {5, 8, 9}}};

std::size_t cell_of(std::size_t i, std::size_t j, std::size_t k) {
  return i * stride[0] + j * stride[1] + k;
}
std::size_t in_child(std::size_t child, std::size_t i, std::size_t j, std::size_t k) {
  return cell_of(i + half_side * (child >> 2 & 1), j + half_side * (child >> 1 & 1),
                 k + half_side * (child & 1));
}
// Where the center of a half lies, in its own width.
double half_at(std::size_t half, std::size_t axis) {
  return half >> (2 - axis) & 1 ? 0.5 : -0.5;
}

// --- Cells of leaves only: what unit masses do depends on the places alone ------------------------------
struct unit_fields {
  double terms[8][4][group];  // For each of the eight cells of a parent; 0 for itself.
};
const unit_fields& table() {
  static const auto made = [] {
    auto t = std::make_unique<unit_fields>();
    for (std::size_t half = 0; half < 8; ++half)
      for (std::size_t s = 0; s < group; ++s) {
        const std::size_t at[3] = {s / 36, s / 6 % 6, s % 6};
        double r[3], square = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          r[axis] = half_at(half, axis) - (static_cast<double>(at[axis]) - 2.5);
          square += r[axis] * r[axis];
        }
        const double inverse = square > 0 ? 1 / std::sqrt(square) : 0.0;
        t->terms[half][0][s] = inverse;
        for (std::size_t axis = 0; axis < 3; ++axis)
          t->terms[half][1 + axis][s] = -r[axis] * inverse * inverse * inverse;
      }
    return t;
  }();
  return *made;
}

[[gnu::always_inline]] inline pack load(const double* from) {
  pack p;
  std::memcpy(&p, from, sizeof p);
  return p;
}
[[gnu::always_inline]] inline double total(const pack& p) {
  return (p[0] + p[1]) + (p[2] + p[3]);
}
[[gnu::always_inline]] inline pack larger(const pack& a, const pack& b) {
  return a > b ? a : b;
}
[[gnu::always_inline]] inline pack size_of(const pack& p) {
  return p < 0 ? -p : p;
}
[[gnu::always_inline]] inline pack square_root(const pack& p) {
#if defined(__x86_64__)
  struct halves {
    __m128d low, high;
  };
  const auto of = std::bit_cast<halves>(p);
  return std::bit_cast<pack>(halves{_mm_sqrt_pd(of.low), _mm_sqrt_pd(of.high)});
#else
  pack roots = p;
  for (std::size_t l = 0; l < lanes; ++l) roots[l] = std::sqrt(p[l]);
  return roots;
#endif
}

// `out`: what one target gets, in units of a cell's width.
[[gnu::always_inline]] inline void add_masses(const double* mass, const double (*terms)[group],
                                              double* out) {
  pack sums[4] = {};
  for (std::size_t s = 0; s < group; s += lanes) {
    const pack m = load(mass + s);
    for (std::size_t term = 0; term < 4; ++term) sums[term] += m * load(terms[term] + s);
  }
  for (std::size_t term = 0; term < 4; ++term) out[term] = total(sums[term]);
}

// Sources in a row, in units of a cell's width, places from the middle of the targets' parent.
struct row_of_sources {
  std::size_t count = 0;
  // Centre of the cell, centre of mass, mass, second moments, whether it is a leaf's.
  std::vector<double> cell[3], center[3], mass, second[6], of_leaf;
  row_of_sources() {
    for (auto* list :
         {&cell[0], &cell[1], &cell[2], &center[0], &center[1], &center[2], &mass, &second[0],
          &second[1], &second[2], &second[3], &second[4], &second[5], &of_leaf})
      list->resize(cells);
  }
};

template <bool Leaf>
[[gnu::always_inline]] inline void add_moments(const row_of_sources& from, const double (&at)[3],
                                               double* out) {
  constexpr std::size_t terms = Leaf ? 4 : field_terms;
  pack sums[terms] = {};
  for (std::size_t s = 0; s < from.count; s += lanes) {
    // Cells that touch meet if one of them has no children; none meets itself.
    pack distance = size_of(load(&from.cell[0][s]) - at[0]);
    distance = larger(distance, size_of(load(&from.cell[1][s]) - at[1]));
    distance = larger(distance, size_of(load(&from.cell[2][s]) - at[2]));
    const pack none = {}, one = none + 1.0;
    const pack far = distance > (Leaf ? 0.5 : 1.5) ? one : none;
    const pack share = Leaf ? far : larger(far, load(&from.of_leaf[s]));
    const pack x = at[0] - load(&from.center[0][s]), y = at[1] - load(&from.center[1][s]),
               z = at[2] - load(&from.center[2][s]);
    const pack a = 1.0 / square_root(x * x + y * y + z * z + (1.0 - share)), a2 = a * a;
    const pack b = -a * a2, c = -3.0 * b * a2, d = -5.0 * c * a2;
    const pack m = share * load(&from.mass[s]), half = 0.5 * share;
    const pack xx = half * load(&from.second[0][s]), xy = half * load(&from.second[1][s]),
               xz = half * load(&from.second[2][s]), yy = half * load(&from.second[3][s]),
               yz = half * load(&from.second[4][s]), zz = half * load(&from.second[5][s]);
    const pack trace = xx + yy + zz;
    const pack vx = xx * x + xy * y + xz * z, vy = xy * x + yy * y + yz * z,
               vz = xz * x + yz * y + zz * z;
    const pack q = x * vx + y * vy + z * vz;
    const pack radial = m * b + d * q + c * trace, c2 = c + c;
    sums[0] += m * a + c * q + b * trace;
    sums[1] += radial * x + c2 * vx;
    sums[2] += radial * y + c2 * vy;
    sums[3] += radial * z + c2 * vz;
    if constexpr (!Leaf) {
      const pack mb = m * b, mc = m * c, md = m * d, mc3 = 3.0 * mc;
      const pack x2 = md * x * x, y2 = md * y * y, z2 = md * z * z;
      sums[4] += mc * x * x + mb;
      sums[5] += mc * x * y;
      sums[6] += mc * x * z;
      sums[7] += mc * y * y + mb;
      sums[8] += mc * y * z;
      sums[9] += mc * z * z + mb;
      sums[10] += (x2 + mc3) * x;
      sums[11] += (x2 + mc) * y;
      sums[12] += (x2 + mc) * z;
      sums[13] += (y2 + mc) * x;
      sums[14] += md * x * y * z;
      sums[15] += (z2 + mc) * x;
      sums[16] += (y2 + mc3) * y;
      sums[17] += (y2 + mc) * z;
      sums[18] += (z2 + mc) * y;
      sums[19] += (z2 + mc3) * z;
    }
  }
  for (std::size_t term = 0; term < terms; ++term) out[term] = total(sums[term]);
}

struct kernels {
  void (*masses)(const double* mass, const double (*terms)[group], double* out);
  void (*to_leaf)(const row_of_sources& from, const double (&at)[3], double* out);
  void (*to_interior)(const row_of_sources& from, const double (&at)[3], double* out);
};
#define OCTREE_KERNELS(name, how)                                                              \
  how void masses_##name(const double* mass, const double(*terms)[group], double* out) {       \
    add_masses(mass, terms, out);                                                              \
  }                                                                                            \
  how void to_leaf_##name(const row_of_sources& from, const double(&at)[3], double* out) {     \
    add_moments<true>(from, at, out);                                                          \
  }                                                                                            \
  how void to_interior_##name(const row_of_sources& from, const double(&at)[3], double* out) { \
    add_moments<false>(from, at, out);                                                         \
  }                                                                                            \
  constexpr kernels of_##name{&masses_##name, &to_leaf_##name, &to_interior_##name};
OCTREE_KERNELS(portable, [[gnu::noinline]])
#if defined(__x86_64__)
// Without fused operations, so that the results are those of the portable ones.
OCTREE_KERNELS(avx2, [[gnu::noinline]] [[gnu::target("avx2")]])
const kernels& best_kernels() {
  return has_fast_kernels() ? of_avx2 : of_portable;
}
#else
const kernels& best_kernels() {
  return of_portable;
}
#endif
#undef OCTREE_KERNELS

// The sources near the parent at (i, j, k) of a node's 4 x 4 x 4; of the root all of its cells.
void gather_row(const near_sources& sources, const std::array<std::size_t, 3>& parent, bool alone,
                double cell, row_of_sources& out) {
  const std::size_t edge = alone ? side : 6;
  const double per_cell = 1 / cell, per_square = per_cell * per_cell;
  out.count = edge * edge * edge;
  std::size_t s = 0;
  for (std::size_t i = 0; i < edge; ++i)
    for (std::size_t j = 0; j < edge; ++j)
      for (std::size_t k = 0; k < edge; ++k, ++s) {
        const std::size_t place[3] = {i, j, k};
        std::size_t from = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const std::size_t at = alone ? place[axis] + 2 : place[axis] + 2 * parent[axis];
          from = from * near_side + at;
          // The parent's middle lies between its cells 2 + 2 p and 3 + 2 p.
          out.cell[axis][s] = static_cast<double>(at) - static_cast<double>(2 * parent[axis]) - 2.5;
        }
        for (std::size_t axis = 0; axis < 3; ++axis)
          out.center[axis][s] =
              out.cell[axis][s] + sources.values[(1 + axis) * near_cells + from] * per_cell;
        out.mass[s] = sources.values[from];
        for (std::size_t q = 0; q < 6; ++q)
          out.second[q][s] = sources.values[(4 + q) * near_cells + from] * per_square;
        out.of_leaf[s] = sources.of_leaf[from];
      }
}

void gather_masses(const near_sources& sources, const std::array<std::size_t, 3>& parent,
                   double* out) {
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j)
      for (std::size_t k = 0; k < 6; ++k)
        *out++ = sources.values[((i + 2 * parent[0]) * near_side + j + 2 * parent[1]) * near_side +
                                k + 2 * parent[2]];
}

// Calls visit(cell of the node, cell in the near array) for what a node seen in this direction packs.
template <class Visit>
void for_near(int direction, Visit&& visit) {
  const index3 step = step_of(direction);
  const near_range x = near_layers(step[0]), y = near_layers(step[1]), z = near_layers(step[2]);
  for (int i = x.begin; i < x.end; ++i)
    for (int j = y.begin; j < y.end; ++j)
      for (int k = z.begin; k < z.end; ++k) {
        const auto to =
            ((i + width * step[0] + 2) * static_cast<int>(near_side) + j + width * step[1] + 2) *
                static_cast<int>(near_side) +
            k + width * step[2] + 2;
        visit(cell_of(static_cast<std::size_t>(i), static_cast<std::size_t>(j),
                      static_cast<std::size_t>(k)),
              static_cast<std::size_t>(to));
      }
}

}  // namespace

void near_sources::clear() {
  std::ranges::fill(values, 0);
  std::ranges::fill(of_leaf, 0);
  leaves_only = true;
}

void near_sources::place(std::span<const double> packed, int direction, bool leaf) {
  const std::size_t kinds = leaf ? 1 : moments;
  const std::size_t each = packed.size() / kinds;
  leaves_only &= leaf;
  std::size_t from = 0;
  for_near(direction, [&](std::size_t, std::size_t to) {
    for (std::size_t kind = 0; kind < kinds; ++kind)
      values[kind * near_cells + to] = packed[kind * each + from];
    of_leaf[to] = leaf ? 1 : 0;
    ++from;
  });
}

void pack_near(const moment_block& from, int direction, bool leaf, std::span<double> out) {
  const std::size_t kinds = leaf ? 1 : moments;
  const std::size_t each = out.size() / kinds;
  std::size_t to = 0;
  for_near(direction, [&](std::size_t cell, std::size_t) {
    for (std::size_t kind = 0; kind < kinds; ++kind)
      out[kind * each + to] = from[kind * cells + cell];
    ++to;
  });
}

void moments_of_leaf(std::span<const double> density, double cell, moment_block& out) {
  const double volume = cell * cell * cell;
  out.fill(0);
  for (std::size_t i = 0; i < cells; ++i) out[i] = density[i] * volume;
}

void pack_up(const moment_block& from, double cell, std::span<double> out) {
  std::size_t to = 0;
  for (std::size_t i = 0; i < half_side; ++i)
    for (std::size_t j = 0; j < half_side; ++j)
      for (std::size_t k = 0; k < half_side; ++k, ++to) {
        std::size_t at[8];
        double mass = 0, center[3] = {}, second[6] = {};
        for (std::size_t half = 0; half < 8; ++half) {
          at[half] = cell_of(2 * i + (half >> 2 & 1), 2 * j + (half >> 1 & 1), 2 * k + (half & 1));
          const double m = from[at[half]];
          mass += m;
          for (std::size_t axis = 0; axis < 3; ++axis)
            center[axis] += m * (half_at(half, axis) * cell + from[(1 + axis) * cells + at[half]]);
        }
        for (double& c : center) c /= mass;
        for (std::size_t half = 0; half < 8; ++half) {
          double offset[3];
          for (std::size_t axis = 0; axis < 3; ++axis)
            offset[axis] =
                half_at(half, axis) * cell + from[(1 + axis) * cells + at[half]] - center[axis];
          for (std::size_t a = 0; a < 3; ++a)
            for (std::size_t b = a; b < 3; ++b)
              second[pair_of[a][b]] += from[(4 + pair_of[a][b]) * cells + at[half]] +
                                       from[at[half]] * offset[a] * offset[b];
        }
        out[to] = mass;
        for (std::size_t axis = 0; axis < 3; ++axis) out[(1 + axis) * eighth + to] = center[axis];
        for (std::size_t q = 0; q < 6; ++q) out[(4 + q) * eighth + to] = second[q];
      }
}

void place_up(std::span<const double> part, std::size_t child, moment_block& to) {
  std::size_t from = 0;
  for (std::size_t kind = 0; kind < moments; ++kind)
    for (std::size_t i = 0; i < half_side; ++i)
      for (std::size_t j = 0; j < half_side; ++j)
        for (std::size_t k = 0; k < half_side; ++k)
          to[kind * cells + in_child(child, i, j, k)] = part[from++];
}

void interact(const near_sources& sources, bool is_leaf, bool alone, double cell,
              field_block& out) {
  const kernels& kernel = best_kernels();
  thread_local const auto row = std::make_unique<row_of_sources>();
  alignas(64) double mass[group];
  const bool by_table = is_leaf && sources.leaves_only && !alone;
  const std::size_t terms = is_leaf ? 4 : field_terms;
  double scale[field_terms];
  for (std::size_t term = 0; term < field_terms; ++term) {
    const double order = term == 0 ? 1 : term < 4 ? 2 : term < 10 ? 3 : 4;
    scale[term] = std::pow(cell, -order);
  }
  for (std::size_t i = 0; i < half_side; ++i)
    for (std::size_t j = 0; j < half_side; ++j)
      for (std::size_t k = 0; k < half_side; ++k) {
        if (by_table)
          gather_masses(sources, {i, j, k}, mass);
        else
          gather_row(sources, {i, j, k}, alone, cell, *row);
        for (std::size_t half = 0; half < 8; ++half) {
          double sums[field_terms];
          const double at[3] = {half_at(half, 0), half_at(half, 1), half_at(half, 2)};
          if (by_table)
            kernel.masses(mass, table().terms[half], sums);
          else
            (is_leaf ? kernel.to_leaf : kernel.to_interior)(*row, at, sums);
          const std::size_t to =
              cell_of(2 * i + (half >> 2 & 1), 2 * j + (half >> 1 & 1), 2 * k + (half & 1));
          for (std::size_t term = 0; term < terms; ++term)
            out[term * cells + to] = sums[term] * scale[term];
        }
      }
}

void pack_down(const field_block& from, std::size_t child, std::span<double> out) {
  std::size_t to = 0;
  for (std::size_t term = 0; term < field_terms; ++term)
    for (std::size_t i = 0; i < half_side; ++i)
      for (std::size_t j = 0; j < half_side; ++j)
        for (std::size_t k = 0; k < half_side; ++k)
          out[to++] = from[term * cells + in_child(child, i, j, k)];
}

void add_down(std::span<const double> part, bool is_leaf, double cell, field_block& to) {
  for (std::size_t from = 0; from < eighth; ++from)
    for (std::size_t half = 0; half < 8; ++half) {
      double e[3];
      for (std::size_t axis = 0; axis < 3; ++axis) e[axis] = half_at(half, axis) * cell;
      const auto term = [&](std::size_t t) { return part[t * eighth + from]; };
      double value = term(0), first[3], second[6];
      for (std::size_t a = 0; a < 3; ++a) {
        first[a] = term(1 + a);
        for (std::size_t b = 0; b < 3; ++b) {
          const double ab = term(4 + pair_of[a][b]);
          double third = 0;
          for (std::size_t c = 0; c < 3; ++c) third += e[c] * term(10 + triple_of[a][b][c]);
          first[a] += e[b] * (ab + 0.5 * third);
          value += e[a] * e[b] * (0.5 * ab + third / 6);
          if (b >= a) second[pair_of[a][b]] = ab + third;
        }
        value += e[a] * term(1 + a);
      }
      const std::size_t at =
          cell_of(2 * (from / 16) + (half >> 2 & 1), 2 * (from / 4 % 4) + (half >> 1 & 1),
                  2 * (from % 4) + (half & 1));
      to[at] += value;
      for (std::size_t a = 0; a < 3; ++a) to[(1 + a) * cells + at] += first[a];
      if (is_leaf) continue;
      for (std::size_t q = 0; q < 6; ++q) to[(4 + q) * cells + at] += second[q];
      for (std::size_t t = 0; t < 10; ++t) to[(10 + t) * cells + at] += term(10 + t);
    }
}

}  // namespace octree
