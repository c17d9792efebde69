// Programs that have a main(): each rank runs it, and ends by returning from it or by exit().
#pragma once
#include <functional>

#include "base/settings.hpp"

namespace weft {

// A rank's own copy of the program, as its loader hands it over. All three run in the rank.
struct program_copy {
  int (*main)(int argc, char** argv, char** environment) = nullptr;
  std::function<void(int argc, char** argv)> construct = {};  // Constructors of its globals.
  std::function<void()> destroy = {};  // atexit() handlers and destructors.
};

// Runs main() in every rank, each with an argv of its own, and returns the exit status of the job:
// that of the first rank that failed. `load` is called by each rank.
int run_program(const options& how, int argc, char** argv,
                const std::function<program_copy(int rank)>& load);

// What a program expects of its main thread: the stack that the system would give it, and one rank
// unless told otherwise.
resolved_options program_options(int& argc, char** argv);

}  // namespace weft
