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

struct host_cores {
  int threads = 1;     // Of the hardware, those that the job may use.
  int numa_nodes = 0;  // That they belong to; 0: not known.
};

// Of this machine.
host_cores cores_of_this_host();

// Throws weft::error when the options ask for what cannot be.
job_shape shape_of(const options& how, const std::vector<host_cores>& hosts);

// How many ranks each process is given where one holds `at_most` of them and nobody has said how many: as few processes as
// possible, as many for each of `hosts`. 0: one process for each host holds all.
int ranks_of_each_process(int ranks, int hosts, int at_most);

// The words of --hosts; empty when the job is to run here.
std::vector<std::string> host_names(const options& how);

}  // namespace weft
