// Programs that have a main(): each rank runs it, and ends by returning from it or by exit().
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/settings.hpp"
#include "process/life/caller.h"

namespace weft::process {

// A rank's own copy of the program, as its loader hands it over. All three run in the rank.
struct program_copy {
  int (*main)(int argc, char** argv, char** environment) = nullptr;
  // Constructors of its globals.
  std::function<void(int argc, char** argv, char** environment)> construct = {};
  std::function<void()> destroy = {};   // atexit() handlers and destructors.
  const weft_own_state* own = nullptr;  // Null where the program is the process's only one.
  // The copy's own globals, the program's first. Empty where it is the only one.
  std::vector<std::span<std::byte>> statics = {};
};

// Runs main() in every rank, each with an argv of its own, and returns the exit status of the job:
// that of the first rank that failed. `load` is called by each rank.
int run_program(const options& how, int argc, char** argv,
                const std::function<program_copy(int rank)>& load);

// Whether a rank has called _exit(): then the process ends in the same way when its job has.
bool has_rank_ended_at_once() noexcept;

// What a program expects of its main thread: the stack that the system would give it, and one rank
// unless told otherwise.
resolved_options program_options(int& argc, char** argv);

}  // namespace weft::process
