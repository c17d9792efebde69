#include "md/forces.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

// Values of 32 bytes are passed between inlined functions only, so their ABI does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace md {
namespace {

// Registers of 4 or 8 doubles; on machines with shorter ones the compiler takes several for one.
using v4 = double __attribute__((vector_size(32)));
using v8 = double __attribute__((vector_size(64)));
using i4 = int __attribute__((vector_size(16)));
using i8 = int __attribute__((vector_size(32)));
template <class Real>
using integer_of = std::conditional_t<std::is_same_v<Real, v8>, i8, i4>;

#define MD_INLINE [[gnu::always_inline]] inline

template <class Real>
MD_INLINE Real load(const double* p) {
  return *reinterpret_cast<const Real*>(p);
}
template <class Real>
constexpr int width_of = sizeof(Real) / sizeof(double);
template <class Real>
MD_INLINE Real root(const Real& a) {
  Real result;
  for (int lane = 0; lane < width_of<Real>; ++lane) result[lane] = __builtin_sqrt(a[lane]);
  return result;
}
// One field of as many records as a register has places.
template <class Real>
struct columns {
  Real a, b, c, d;
};

MD_INLINE columns<v4> transpose(const v4& r0, const v4& r1, const v4& r2, const v4& r3) {
  const v4 low01 = __builtin_shufflevector(r0, r1, 0, 4, 2, 6);
  const v4 high01 = __builtin_shufflevector(r0, r1, 1, 5, 3, 7);
  const v4 low23 = __builtin_shufflevector(r2, r3, 0, 4, 2, 6);
  const v4 high23 = __builtin_shufflevector(r2, r3, 1, 5, 3, 7);
  return {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
          __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
          __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
          __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
}

// Loads records of four doubles; `record(k)` is the address of the k-th.
template <class Record>
MD_INLINE columns<v4> load_columns(v4*, const Record& record) {
  return transpose(load<v4>(record(0)), load<v4>(record(1)), load<v4>(record(2)),
                   load<v4>(record(3)));
}
template <class Record>
MD_INLINE columns<v8> load_columns(v8*, const Record& record) {
  // Record k in the lower half, record k + 4 in the upper one; then as above in each half.
  const auto both = [&](int k) __attribute__((always_inline)) {
    return __builtin_shufflevector(load<v4>(record(k)), load<v4>(record(k + 4)), 0, 1, 2, 3, 4, 5,
                                   6, 7);
  };
  const v8 r0 = both(0), r1 = both(1), r2 = both(2), r3 = both(3);
  const v8 low01 = __builtin_shufflevector(r0, r1, 0, 8, 2, 10, 4, 12, 6, 14);
  const v8 high01 = __builtin_shufflevector(r0, r1, 1, 9, 3, 11, 5, 13, 7, 15);
  const v8 low23 = __builtin_shufflevector(r2, r3, 0, 8, 2, 10, 4, 12, 6, 14);
  const v8 high23 = __builtin_shufflevector(r2, r3, 1, 9, 3, 11, 5, 13, 7, 15);
  return {__builtin_shufflevector(low01, low23, 0, 1, 8, 9, 4, 5, 12, 13),
          __builtin_shufflevector(high01, high23, 0, 1, 8, 9, 4, 5, 12, 13),
          __builtin_shufflevector(low01, low23, 2, 3, 10, 11, 6, 7, 14, 15),
          __builtin_shufflevector(high01, high23, 2, 3, 10, 11, 6, 7, 14, 15)};
}

MD_INLINE v4 halves_added(const v4& a) {
  return a;
}
MD_INLINE v4 halves_added(const v8& a) {
  return __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
}
// The sums over the places of four registers, together cheaper than one by one.
template <class Real>
MD_INLINE v4 sums(const Real& a, const Real& b, const Real& c, const Real& d) {
  const columns<v4> t =
      transpose(halves_added(a), halves_added(b), halves_added(c), halves_added(d));
  return (t.a + t.b) + (t.c + t.d);
}

template <class Real>
MD_INLINE columns<Real> load_sites(const site* sites, const std::uint32_t* index) {
  return load_columns(static_cast<Real*>(nullptr), [&](int k) { return &sites[index[k]].x; });
}

// The piece of the table that holds distance r, and where in the piece r lies.
template <class Real>
struct table_place {
  integer_of<Real> piece;
  Real t;
};
template <class Real>
MD_INLINE table_place<Real> place_of(const Real& r, const eam_kernel::tables& tables) {
  using integer = integer_of<Real>;
  const Real scaled = r * tables.pieces_per_distance;
  integer piece = __builtin_convertvector(scaled, integer);
  const Real t = scaled - __builtin_convertvector(piece, Real);
  const integer zero = tables.zero_piece - integer{};
  piece = piece < zero ? piece : zero;
  return {piece, t};
}

template <class Real>
MD_INLINE void density_loop(const eam_kernel::tables& tables, const eam_potential& potential,
                            const site* sites, std::uint32_t distant, neighbor_list& list,
                            eam_kernel::results& out, std::size_t begin, std::size_t end) {
  const double cutoff2 = tables.cutoff2;
  constexpr std::size_t width = width_of<Real>;
  const auto* pieces = tables.density.data();
  alignas(64) double distance2[neighbors_max];
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t* neighbors = &list.neighbors[i * list.stride];
    std::uint32_t* close = &list.close[i * list.stride];
    const std::size_t count = list.count[i];
    const double x = sites[i].x, y = sites[i].y, z = sites[i].z;
    std::size_t close_count = 0;
    for (std::size_t k = 0; k < count; k += width) {
      const columns at = load_sites<Real>(sites, neighbors + k);
      const Real dx = at.a - x, dy = at.b - y, dz = at.c - z;
      const Real r2 = dx * dx + dy * dy + dz * dz;
      // Without a branch: every neighbour is written, only close ones are kept.
      for (int lane = 0; lane < width_of<Real>; ++lane) {
        close[close_count] = neighbors[k + static_cast<std::size_t>(lane)];
        distance2[close_count] = r2[lane];
        close_count += r2[lane] < cutoff2;
      }
    }
    for (std::size_t k = close_count; k % width != 0; ++k) {
      close[k] = distant;
      distance2[k] = 4.0 * cutoff2;
    }
    list.close_count[i] = static_cast<std::uint32_t>(close_count);
    Real density{};
    for (std::size_t k = 0; k < close_count; k += width) {
      const auto [piece, t] = place_of(root(load<Real>(distance2 + k)), tables);
      const columns c = load_columns(static_cast<Real*>(nullptr),
                                     [&](int lane) { return &pieces[piece[lane]].c0; });
      density += ((c.d * t + c.c) * t + c.b) * t + c.a;
    }
    const v4 quarters = halves_added(density);
    const auto embedding =
        potential.embed((quarters[0] + quarters[1]) + (quarters[2] + quarters[3]));
    out.embedding_slope[i] = embedding.slope;
    out.energy[i] = embedding.energy;
  }
}

template <class Real>
MD_INLINE void force_loop(const eam_kernel::tables& tables, const site* sites,
                          const neighbor_list& list, eam_kernel::results& out, std::size_t begin,
                          std::size_t end) {
  constexpr std::size_t width = width_of<Real>;
  const auto* pieces = tables.force.data();
  const double scale = tables.pieces_per_distance;
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t* close = &list.close[i * list.stride];
    const std::size_t count = list.close_count[i];
    const double x = sites[i].x, y = sites[i].y, z = sites[i].z;
    const double slope = sites[i].embedding_slope;
    Real fx{}, fy{}, fz{}, pair_energy{}, virial{};
    for (std::size_t k = 0; k < count; k += width) {
      const columns at = load_sites<Real>(sites, close + k);
      const Real dx = at.a - x, dy = at.b - y, dz = at.c - z;
      const Real r2 = dx * dx + dy * dy + dz * dz;
      const Real r = root(r2);
      const Real inverse = 1.0 / r;
      const auto [piece, t] = place_of(r, tables);
      const columns d = load_columns(static_cast<Real*>(nullptr),
                                     [&](int lane) { return &pieces[piece[lane]].d0; });
      const columns c = load_columns(static_cast<Real*>(nullptr),
                                     [&](int lane) { return &pieces[piece[lane]].c0; });
      const Real density_slope = (d.c * t + d.b) * t + d.a;
      const Real phi = (((c.d * t + c.c) * t + c.b) * t + c.a) * inverse;
      const Real rphi_slope = ((3.0 * c.d * t + 2.0 * c.c) * t + c.b) * scale;
      const Real phi_slope = (rphi_slope - phi) * inverse;
      const Real force_over_r = ((slope + at.d) * density_slope + phi_slope) * inverse;
      fx += force_over_r * dx;
      fy += force_over_r * dy;
      fz += force_over_r * dz;
      pair_energy += phi;
      virial -= force_over_r * r2;
    }
    const v4 force_and_energy = sums(fx, fy, fz, pair_energy);
    out.force[i] = {force_and_energy[0], force_and_energy[1], force_and_energy[2]};
    out.energy[i] += 0.5 * force_and_energy[3];
    const v4 quarters = halves_added(virial);
    out.virial[i] = 0.5 * ((quarters[0] + quarters[1]) + (quarters[2] + quarters[3]));
  }
}

// One copy of both loops for each instruction set. Chosen by hand at run time: the resolvers that
// the compiler's own mechanism adds run before a sanitizer is ready.
#define MD_KERNELS(NAME, REAL, TARGET)                                                             \
  TARGET void density_##NAME(const eam_kernel::tables& tables, const eam_potential& potential,     \
                             const site* sites, std::uint32_t distant, neighbor_list& list,        \
                             eam_kernel::results& out, std::size_t begin, std::size_t end) {       \
    density_loop<REAL>(tables, potential, sites, distant, list, out, begin, end);                  \
  }                                                                                                \
  TARGET void force_##NAME(const eam_kernel::tables& tables, const site* sites,                    \
                           const neighbor_list& list, eam_kernel::results& out, std::size_t begin, \
                           std::size_t end) {                                                      \
    force_loop<REAL>(tables, sites, list, out, begin, end);                                        \
  }

MD_KERNELS(portable, v4, )
#ifdef __x86_64__
MD_KERNELS(avx2, v4, [[gnu::target("avx2,fma")]])
MD_KERNELS(avx512, v8, [[gnu::target("avx512f,avx512dq,avx512vl,avx2,fma")]])
#endif

}  // namespace

void eam_kernel::results::resize(std::size_t atoms) {
  embedding_slope.resize(atoms);
  energy.resize(atoms);
  virial.resize(atoms);
  force.resize(atoms);
}

instructions best_instructions() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
               ? instructions::avx512
               : instructions::avx2;
#endif
  return instructions::portable;
}

const char* eam_kernel::instruction_set() const {
  return set_ == instructions::avx512 ? "AVX-512"
         : set_ == instructions::avx2 ? "AVX2"
                                      : "portable";
}

eam_kernel::eam_kernel(const eam_potential& potential, instructions set)
    : potential_(potential),
      density_pass_(density_portable),
      force_pass_(force_portable),
      set_(set) {
#ifdef __x86_64__
  if (set == instructions::avx2) {
    density_pass_ = density_avx2;
    force_pass_ = force_avx2;
  } else if (set == instructions::avx512) {
    density_pass_ = density_avx512;
    force_pass_ = force_avx512;
  }
#endif
  const double per_distance = 1.0 / potential.distance_step;
  tables_.cutoff2 = potential.cutoff * potential.cutoff;
  tables_.pieces_per_distance = per_distance;
  const auto used = static_cast<std::size_t>(potential.cutoff * per_distance) + 1;
  for (std::size_t m = 0; m < used; ++m) {
    // A cutoff past the end of the tables is reached with their last values.
    const bool past = m >= potential.density.size();
    cubic rho = past ? potential.density.back() : potential.density[m];
    cubic pair = past ? potential.pair_times_r.back() : potential.pair_times_r[m];
    if (past) {
      rho = {rho.c0 + rho.c1 + rho.c2 + rho.c3, 0, 0, 0};
      pair = {pair.c0 + pair.c1 + pair.c2 + pair.c3, 0, 0, 0};
    }
    tables_.density.push_back({rho.c0, rho.c1, rho.c2, rho.c3});
    tables_.force.push_back({rho.c1 * per_distance, 2.0 * rho.c2 * per_distance,
                             3.0 * rho.c3 * per_distance, 0, pair.c0, pair.c1, pair.c2, pair.c3});
  }
  tables_.zero_piece = static_cast<int>(used);
  tables_.density.push_back({});
  tables_.force.push_back({});
}

void eam_kernel::density_pass(const site* sites, std::uint32_t distant, neighbor_list& list,
                              results& out, std::size_t begin, std::size_t end) const {
  density_pass_(tables_, potential_, sites, distant, list, out, begin, end);
}

void eam_kernel::force_pass(const site* sites, const neighbor_list& list, results& out,
                            std::size_t begin, std::size_t end) const {
  force_pass_(tables_, sites, list, out, begin, end);
}

}  // namespace md
