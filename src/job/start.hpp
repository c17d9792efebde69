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
  comm::runtime::endpoint_maker make_endpoints;  // Empty: the transport setting chooses.
  std::string run;                               // A prefix for this run's keys in the bootstrap.
  // Called with the network once it is up, and with null before it goes down: the caller of run_job() tells the network
  // which processes have died.
  std::function<void(network*)> connected;
};

// Runs this process's ranks, each of which calls `body`, and returns the job's exit status. It runs all ranks when
// `others.job` is null or has one process. Called by a thread that is no worker.
int run_job(options how, const std::function<void(job_rank&)>& body, const launch_context& others);

}  // namespace weft::detail
