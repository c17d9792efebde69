// How many ranks and processes a job has, and which process is on which host.
#pragma once
#include <string>
#include <vector>

#include "weft/options.hpp"

namespace weft {

struct job_shape {
  int ranks = 0;
  std::vector<int> host_of_process;
  int processes() const noexcept { return static_cast<int>(host_of_process.size()); }
};

// `cpus` has the number of hardware threads of each host. Throws weft::error when the options ask
// for what cannot be.
job_shape shape_of(const options& how, const std::vector<int>& cpus);

// The words of --hosts; empty when the job is to run here.
std::vector<std::string> host_names(const options& how);

}  // namespace weft
