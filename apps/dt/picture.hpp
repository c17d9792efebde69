// A picture of a wave: the graph on the left, what each node did when on the right.
#pragma once
#include <string>
#include <vector>

#include "dt/job.hpp"

namespace dt {

// Throws weft::error when the file cannot be written.
void draw_wave(const std::string& path, const graph& nodes, const std::vector<interval>& intervals,
               const std::string& title);

}  // namespace dt
