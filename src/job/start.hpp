// How a process takes part in a job: the seam between weft::run(), which learns of its job from
// whoever started the process, and tests, which make all processes of a job themselves.
#pragma once
#include <functional>
#include <string>

#include "runtime/network.hpp"
#include "weft/options.hpp"

namespace weft::detail {

struct job_rank;

struct launch_context {
  bootstrap* job = nullptr;
  comm::runtime::endpoint_maker make_endpoints;  // Empty: those that the transport setting says.
  std::string run;                               // In front of the keys of this run.
  // Told when the network stands, and with null before it goes: whom to tell of dead processes.
  std::function<void(network*)> connected;
};

// Runs this process's ranks, each of which calls `body`. `others.job` null or of one process: all ranks.
int run_job(options how, const std::function<void(job_rank&)>& body, const launch_context& others);

}  // namespace weft::detail
