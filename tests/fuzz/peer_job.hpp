// A job of which one process is real, and its only peer an endpoint of a fuzzer.
#pragma once
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "made_up_endpoint.hpp"
#include "mirrored_job.hpp"
#include "rank/start.hpp"
#include "weft/weft.hpp"

namespace weft::tests {

// Of weftrun and of jobs, as of timeout(1).
inline constexpr int timeout_status = 124;

// Runs `body` on so many ranks, whose one worker has the endpoint that `make` returns. Aborts where the job does not end
// within 20 s, which a fuzzer reports.
inline void run_beside_peer(int ranks, const std::function<std::unique_ptr<transport>()>& make,
                            const std::function<void(communicator&)>& body) {
  mirrored_job job(0, 2);
  options how;
  how.ranks = ranks;
  how.workers = 1;
  how.pin = false;
  how.on_failure = "error";
  how.timeout_s = 20;
  detail::launch_context others;
  others.job = &job;
  others.make_endpoints = [&](int) {
    std::vector<std::unique_ptr<transport>> made;
    made.push_back(make());
    return made;
  };
  if (detail::run_ranks_of_job(how, body, others) == timeout_status) std::abort();
}

}  // namespace weft::tests
