// The command line of weft-octree.
#pragma once
#include <optional>
#include <string>

#include "octree/simulation.hpp"

namespace octree {

struct program_options {
  physics star;
  int steps = 15;
  int report_every = 5;  // Steps between two lines of the table.
  std::string exchange = "ranks";
  std::string csv_path, picture_path, vtk_path;
  bool checks = false;
  int workers = 1;  // In each process; for what is printed.
};

// Nothing: help was printed. Throws weft::error, one line, for wrong words.
[[nodiscard]] std::optional<program_options> parse_program_options(int argc, char** argv);

}  // namespace octree
