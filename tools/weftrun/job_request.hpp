// What a user asks weftrun for: the programs of a job, and what becomes of their output.
#pragma once
#include <string>
#include <vector>

#include "weft/options.hpp"

namespace weft {

// A program of the job with ranks of its own. A job of several has a process for each at least.
struct job_program {
  options how;  // What differs between programs: ranks, processes, ranks per process, hosts.
  std::vector<std::string> command = {};
  std::string directory = {};                 // Where it runs; empty: here.
  std::vector<std::string> environment = {};  // NAME=value, of its processes alone.
  bool opens_modules = false;                 // It is none of weft's, and each rank has a process.
  // What it starts is weft's, perhaps: a script, say, or a tool. It finds the number of its rank where each has a process.
  bool starts_program = false;
};

// Files for what each rank prints; %r in a name is its rank.
struct rank_file_names {
  std::string output = {};  // Empty: standard output passes, as ever.
  std::string errors = {};
  bool are_copies = false;  // What is in the files is printed as well.
  [[nodiscard]] bool any() const noexcept { return !output.empty() || !errors.empty(); }
};

struct job_request {
  options how;                             // Of the whole job.
  std::vector<job_program> programs = {};  // One at least.
  rank_file_names files = {};
  bool reads_input = true;  // Process 0 has the standard input of weftrun; otherwise an empty one.
};

}  // namespace weft
