// Colours of pictures.
#pragma once
#include "front/canvas.hpp"

namespace front {

// Ranks with near numbers get far colours; beyond the list, colours come back.
[[nodiscard]] color rank_color(int rank);
// Of 0 to 1: dark blue through green to yellow, even in lightness.
[[nodiscard]] color scale_color(double share);

}  // namespace front
