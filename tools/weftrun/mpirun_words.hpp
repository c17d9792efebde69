// The words of mpirun and mpiexec, as users of Open MPI and of MPICH know them, in weftrun's own.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weftrun/job_request.hpp"

namespace weft {

// One program with its words: what stands between two colons.
struct program_words {
  std::vector<std::string> words = {};  // Options of weftrun, then the program and its own words.
  std::string directory = {};
  std::vector<std::string> environment = {};  // NAME=value.
};

struct mpirun_request {
  enum class question { none, help, version, build };
  question asks = question::none;  // Nothing is run.
  std::vector<program_words> programs = {};
  std::vector<std::pair<std::string, std::string>> environment = {};  // Of the whole job.
  bool is_bare = false;  // The job has no other variables than these, PATH and weft's own.
  rank_file_names files = {};
  std::vector<int> cpus = {};  // Those that the job may use; empty: all.
  bool reads_input = true;
};

// Throws weft::error for a word that is not known, or cannot be obeyed. `is_here` says whether a name of a host is this
// one's; `read` returns what is in a file.
[[nodiscard]] mpirun_request understand_mpirun(
    const std::vector<std::string>& words, const std::function<bool(const std::string&)>& is_here,
    const std::function<std::string(const std::string&)>& read);

// By its name or an address of its own.
[[nodiscard]] bool is_this_host(const std::string& name);

// A line of a file as a shell splits it into words: blanks, quotes and backslashes.
[[nodiscard]] std::vector<std::string> split_words(std::string_view line);

[[nodiscard]] std::string mpirun_help(const std::string& name);

}  // namespace weft
