// A runtime of a process that was started by somebody else's launcher, or by none.
#include <cstdlib>

#include "comm/endpoints.hpp"
#include "comm/runtime_state.hpp"

namespace weft::comm {

namespace {

// Makes its runtime only when the job is known, so that failures find somebody.
std::unique_ptr<weft::bootstrap> job_of_this_process(runtime& owner) {
  auto job = make_bootstrap();
  job->on_failure(
      [&owner](int process, const std::string& why) { owner.mark_failed(process, why); });
  return job;
}

runtime_options with_environment(runtime_options how) {
  if (const char* const named = std::getenv("WEFT_TRANSPORT");
      named != nullptr && *named != '\0' && how.transport == "auto")
    how.transport = named;
  return how;
}

}  // namespace

runtime::runtime(const runtime_options& how)
    : state_(std::make_unique<state>(*this, with_environment(how))) {
  state_->own_job = job_of_this_process(*this);
  state_->join(*state_->own_job, default_endpoints(*state_->own_job, state_->options));
}

}  // namespace weft::comm
