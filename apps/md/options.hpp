// The command line of weft-md.
#pragma once
#include <optional>
#include <string>

#include "md/simulation.hpp"

namespace md {

struct program_options {
  md::physics physics;
  std::string potential = "Cu_mishin1.eam.alloy";
  std::string element = "Cu";
  int steps = 200;
  bool tasks = true;
  int thermo_every = 20;
  std::string csv_path, dump_path, picture_path;
  int dump_every = 0;  // 0: the end only.
  int void_count = 0;
  double void_radius = 0;  // Å; 0: a fifth of the shortest edge of the box.
  bool halo_only = false;
  int workers = 1;  // Of the runtime, for what is printed about sharing work.
};

// Returns nothing after it has printed the help. Throws weft::error on words it does not know and
// on values out of range. weft's own words must have been taken out already.
std::optional<program_options> parse_program_options(int argc, char** argv);

// What the potential decides: lattice constant and the size of the voids.
void complete(program_options& options, const eam_potential& potential);

}  // namespace md
