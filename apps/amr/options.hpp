// The command line of weft-amr.
#pragma once
#include <optional>
#include <string>

#include "amr/simulation.hpp"

namespace amr {

struct program_options {
  amr::physics physics;
  int steps = 100;
  bool tasks = true;
  int report_every = 10;
  std::string csv_path, picture_path;
  int workers = 1;  // Of the runtime, for what is printed about sharing work.
};

// Returns nothing after it has printed the help. Throws weft::error on words it does not know and
// on values out of range. weft's own words must have been taken out already.
std::optional<program_options> parse_program_options(int argc, char** argv);

}  // namespace amr
