// The life of a job of several processes: starts them, serves what they tell each other, forwards
// signals and output, and ends all when one dies. docs/protocols/starting.md has the states.
#pragma once
#include <string>
#include <vector>

#include "weft/options.hpp"

namespace weft {

// Returns the exit status of the job. The program's environment is this process's.
int supervise(const options& how, const std::vector<std::string>& command);

}  // namespace weft
