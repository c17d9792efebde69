// A picture of a slice of the crystal: by owning rank on the left, by potential energy on the
// right.
#pragma once
#include <string>
#include <vector>

#include "md/domain.hpp"
#include "md/simulation.hpp"

namespace md {

// Draws the atoms just below the middle of the box along z, where blocks of ranks may meet. Throws
// weft::error when the file cannot be written.
void draw_slice(const std::string& path, const std::vector<atom_record>& atoms,
                const process_grid& grid, const vec3& box, double thickness,
                const std::string& title);

}  // namespace md
