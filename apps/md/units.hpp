// The units are LAMMPS' "metal" units: Å, ps, eV, K, bar and g/mol. The constants carry the same
// digits as LAMMPS does, so that energies and pressures can be compared to the last bar.
#pragma once
#include <cstdint>

namespace md {

inline constexpr double boltzmann_ev_per_k = 8.617343e-5;
// (g/mol) (Å/ps)² in eV: turns mass × velocity² into energy.
inline constexpr double mass_velocity2_to_ev = 1.0364269e-4;
// eV/Å³ in bar.
inline constexpr double ev_per_volume_to_bar = 1.6021765e6;

struct vec3 {
  double x = 0, y = 0, z = 0;

  double& operator[](int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  double operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  vec3& operator+=(const vec3& o) { return x += o.x, y += o.y, z += o.z, *this; }
  friend vec3 operator+(vec3 a, const vec3& b) { return a += b; }
  friend vec3 operator-(const vec3& a, const vec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend vec3 operator*(double s, const vec3& a) { return {s * a.x, s * a.y, s * a.z}; }
  friend double dot(const vec3& a, const vec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
};

}  // namespace md
