#include "md/forces.hpp"

#include <algorithm>
#include <cmath>

// The square root of a positive number sets no errno; without the pragma each one is checked.
#pragma GCC optimize("no-math-errno")
// Values of 32 bytes are passed between inlined functions only, so their ABI does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace md {
namespace {

// Four doubles in one register where the machine has such registers, in two where it has not.
using v4 = double __attribute__((vector_size(32)));
using v4i = int __attribute__((vector_size(16)));
using v4l = long long __attribute__((vector_size(32)));

#define MD_INLINE [[gnu::always_inline]] inline

MD_INLINE v4 load4(const double* p) {
  return *reinterpret_cast<const v4*>(p);
}
MD_INLINE v4 all(double value) {
  return v4{value, value, value, value};
}
MD_INLINE v4 root(const v4& a) {
  return v4{__builtin_sqrt(a[0]), __builtin_sqrt(a[1]), __builtin_sqrt(a[2]), __builtin_sqrt(a[3])};
}
MD_INLINE double sum(const v4& a) {
  return (a[0] + a[2]) + (a[1] + a[3]);
}

struct columns {
  v4 a, b, c, d;
};
// Rows are four records of four doubles; the columns hold one field of all four records.
MD_INLINE columns transpose(const v4& r0, const v4& r1, const v4& r2, const v4& r3) {
  const v4 low01 = __builtin_shuffle(r0, r1, v4l{0, 4, 2, 6});
  const v4 high01 = __builtin_shuffle(r0, r1, v4l{1, 5, 3, 7});
  const v4 low23 = __builtin_shuffle(r2, r3, v4l{0, 4, 2, 6});
  const v4 high23 = __builtin_shuffle(r2, r3, v4l{1, 5, 3, 7});
  return {__builtin_shuffle(low01, low23, v4l{0, 1, 4, 5}),
          __builtin_shuffle(high01, high23, v4l{0, 1, 4, 5}),
          __builtin_shuffle(low01, low23, v4l{2, 3, 6, 7}),
          __builtin_shuffle(high01, high23, v4l{2, 3, 6, 7})};
}

MD_INLINE columns load_sites(const site* sites, const std::uint32_t* index) {
  return transpose(load4(&sites[index[0]].x), load4(&sites[index[1]].x), load4(&sites[index[2]].x),
                   load4(&sites[index[3]].x));
}

// The piece of the table that holds distance r, and where in the piece r lies.
struct table_place {
  v4i piece;
  v4 t;
};
MD_INLINE table_place place_of(const v4& r, const eam_kernel::tables& tables) {
  const v4 scaled = r * tables.pieces_per_distance;
  v4i piece = __builtin_convertvector(scaled, v4i);
  const v4 t = scaled - __builtin_convertvector(piece, v4);
  const v4i zero = {tables.zero_piece, tables.zero_piece, tables.zero_piece, tables.zero_piece};
  piece = piece < zero ? piece : zero;
  return {piece, t};
}

MD_INLINE void density_loop(const eam_kernel::tables& tables, const eam_potential& potential,
                            const site* sites, std::uint32_t distant, neighbor_list& list,
                            eam_kernel::results& out, std::size_t begin, std::size_t end) {
  const double cutoff2 = tables.cutoff2;
  const auto* pieces = tables.density.data();
  alignas(32) double distance2[neighbors_max];
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t* neighbors = &list.neighbors[i * list.stride];
    std::uint32_t* close = &list.close[i * list.stride];
    const std::size_t count = list.count[i];
    const v4 x = all(sites[i].x), y = all(sites[i].y), z = all(sites[i].z);
    std::size_t close_count = 0;
    for (std::size_t k = 0; k < count; k += 4) {
      const columns at = load_sites(sites, neighbors + k);
      const v4 dx = at.a - x, dy = at.b - y, dz = at.c - z;
      const v4 r2 = dx * dx + dy * dy + dz * dz;
      // Without a branch: every neighbour is written, only close ones are kept.
      for (int lane = 0; lane < 4; ++lane) {
        close[close_count] = neighbors[k + static_cast<std::size_t>(lane)];
        distance2[close_count] = r2[lane];
        close_count += r2[lane] < cutoff2;
      }
    }
    for (std::size_t k = close_count; k % 4 != 0; ++k) {
      close[k] = distant;
      distance2[k] = 4.0 * cutoff2;
    }
    list.close_count[i] = static_cast<std::uint32_t>(close_count);
    v4 density = all(0);
    for (std::size_t k = 0; k < close_count; k += 4) {
      const auto [piece, t] = place_of(root(load4(distance2 + k)), tables);
      const columns c = transpose(load4(&pieces[piece[0]].c0), load4(&pieces[piece[1]].c0),
                                  load4(&pieces[piece[2]].c0), load4(&pieces[piece[3]].c0));
      density += ((c.d * t + c.c) * t + c.b) * t + c.a;
    }
    const auto embedding = potential.embed(sum(density));
    out.embedding_slope[i] = embedding.slope;
    out.energy[i] = embedding.energy;
  }
}

MD_INLINE void force_loop(const eam_kernel::tables& tables, const site* sites,
                          const neighbor_list& list, eam_kernel::results& out, std::size_t begin,
                          std::size_t end) {
  const auto* pieces = tables.force.data();
  const double scale = tables.pieces_per_distance;
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t* close = &list.close[i * list.stride];
    const std::size_t count = list.close_count[i];
    const v4 x = all(sites[i].x), y = all(sites[i].y), z = all(sites[i].z);
    const v4 slope = all(sites[i].embedding_slope);
    v4 fx = all(0), fy = all(0), fz = all(0), pair_energy = all(0), virial = all(0);
    for (std::size_t k = 0; k < count; k += 4) {
      const columns at = load_sites(sites, close + k);
      const v4 dx = at.a - x, dy = at.b - y, dz = at.c - z;
      const v4 r2 = dx * dx + dy * dy + dz * dz;
      const v4 r = root(r2);
      const v4 inverse = all(1.0) / r;
      const auto [piece, t] = place_of(r, tables);
      const columns d = transpose(load4(&pieces[piece[0]].d0), load4(&pieces[piece[1]].d0),
                                  load4(&pieces[piece[2]].d0), load4(&pieces[piece[3]].d0));
      const columns c = transpose(load4(&pieces[piece[0]].c0), load4(&pieces[piece[1]].c0),
                                  load4(&pieces[piece[2]].c0), load4(&pieces[piece[3]].c0));
      const v4 density_slope = (d.c * t + d.b) * t + d.a;
      const v4 phi = (((c.d * t + c.c) * t + c.b) * t + c.a) * inverse;
      const v4 rphi_slope = ((3.0 * c.d * t + 2.0 * c.c) * t + c.b) * scale;
      const v4 phi_slope = (rphi_slope - phi) * inverse;
      const v4 force_over_r = ((slope + at.d) * density_slope + phi_slope) * inverse;
      fx += force_over_r * dx;
      fy += force_over_r * dy;
      fz += force_over_r * dz;
      pair_energy += phi;
      virial -= force_over_r * r2;
    }
    out.force[i] = {sum(fx), sum(fy), sum(fz)};
    out.energy[i] += 0.5 * sum(pair_energy);
    out.virial[i] = 0.5 * sum(virial);
  }
}

// One copy of both loops for each instruction set. Chosen by hand at run time: the resolvers that
// the compiler's own mechanism adds run before a sanitizer is ready.
#define MD_KERNELS(NAME, TARGET)                                                                   \
  TARGET void density_##NAME(const eam_kernel::tables& tables, const eam_potential& potential,     \
                             const site* sites, std::uint32_t distant, neighbor_list& list,        \
                             eam_kernel::results& out, std::size_t begin, std::size_t end) {       \
    density_loop(tables, potential, sites, distant, list, out, begin, end);                        \
  }                                                                                                \
  TARGET void force_##NAME(const eam_kernel::tables& tables, const site* sites,                    \
                           const neighbor_list& list, eam_kernel::results& out, std::size_t begin, \
                           std::size_t end) {                                                      \
    force_loop(tables, sites, list, out, begin, end);                                              \
  }

MD_KERNELS(portable, )
#ifdef __x86_64__
MD_KERNELS(avx2, [[gnu::target("avx2,fma")]])
MD_KERNELS(avx512, [[gnu::target("avx512f,avx512dq,avx512vl,avx2,fma")]])
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
