// The command line of weft-dt.
#pragma once
#include <optional>
#include <string>

#include "dt/wave.hpp"

namespace dt {

struct program_options {
  graph_kind kind = graph_kind::shuffle;
  graph_class size = graph_classes[0];
  std::uint64_t seed = 1;
  int waves = 10;
  bool tasks = true;
  bool check = false;
  std::string csv_path, picture_path;
  int workers = 1, helpers = 0;  // Of the runtime, for what is printed and drawn.
};

// Returns nothing after it has printed the help. Throws weft::error on words it does not know and
// on values out of range. weft's own words must have been taken out already.
std::optional<program_options> parse_program_options(int argc, char** argv);

}  // namespace dt
