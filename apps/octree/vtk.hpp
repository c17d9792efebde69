// All cells as an unstructured grid of VTK, which ParaView and VisIt read (.vtu): XML with raw binary data behind it.
#pragma once
#include <vector>

#include "front/output_file.hpp"
#include "octree/locality.hpp"

namespace octree {

// Cells are voxels; each leaf has corners of its own. With density, potential, velocity, level and locality.
void write_vtk(front::output_file& file, const std::vector<leaf_record>& leaves, double time);

}  // namespace octree
