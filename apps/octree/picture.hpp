// A plane through the middle as a picture: by owner, and by a value with the borders of leaves.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "octree/tree.hpp"

namespace octree {

// A leaf's first layer of cells along z, and who has it.
struct plane_leaf {
  node_key key = 0;
  int owner = 0;
  std::array<float, face_cells> values;
};

struct plane_circle {
  double x, y, radius;  // Of the unit square.
};

// How values are shown, and what else.
struct plane_look {
  const char* owners = "locality";
  const char* values = "density";
  bool logarithmic = true;
  std::vector<plane_circle> circles = {};
};

void draw_plane(const std::string& path, const std::vector<plane_leaf>& leaves,
                const std::string& title, const plane_look& look);

}  // namespace octree
