// The plane of the orbits as a picture: by locality, and by density with the borders of leaves.
#pragma once
#include <string>
#include <vector>

#include "octree/locality.hpp"

namespace octree {

void draw_plane(const std::string& path, const std::vector<leaf_record>& leaves,
                const std::string& title);

}  // namespace octree
