#include "front/palette.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace front {

color rank_color(int rank) {
  static constexpr std::array<color, 20> wheel{
      {{31, 119, 180},  {255, 127, 14},  {44, 160, 44},   {214, 39, 40},   {148, 103, 189},
       {227, 190, 20},  {23, 190, 207},  {227, 119, 194}, {140, 86, 75},   {150, 200, 90},
       {110, 120, 135}, {250, 150, 140}, {20, 60, 110},   {174, 199, 232}, {0, 100, 60},
       {255, 187, 120}, {120, 20, 60},   {197, 176, 213}, {90, 140, 150},  {60, 60, 60}}};
  return wheel[static_cast<std::size_t>(rank) % wheel.size()];
}

color scale_color(double share) {
  static constexpr std::array<color, 6> scale{
      {{68, 1, 84}, {65, 68, 135}, {42, 120, 142}, {34, 168, 132}, {122, 209, 81}, {253, 231, 37}}};
  const double place = std::clamp(share, 0.0, 1.0) * (scale.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), scale.size() - 2);
  color c{};
  for (std::size_t k = 0; k < 3; ++k)
    c[k] = static_cast<std::uint8_t>(
        std::lround(scale[below][k] + (place - static_cast<double>(below)) *
                                          (scale[below + 1][k] - scale[below][k])));
  return c;
}

}  // namespace front
