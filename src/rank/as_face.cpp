// What the job asks of the messages of ranks: job/face.hpp.
#include "job/face.hpp"

#include <algorithm>
#include <array>
#include <mutex>

#include "rank/communicator_state.hpp"
#include "rank/messages.hpp"
#include "rank/remote.hpp"
#include "rank/request_watch.hpp"

namespace weft::detail {
namespace {

template <std::uint64_t rank_counts::*Counter>
std::uint64_t count_of(const job_rank& r) {
  return static_cast<const rank_state&>(r).counts.*Counter;
}

}  // namespace

constinit const std::array<rank_column, 6> columns_of_ranks{{
    {"sent", 10, &count_of<&rank_counts::sent>},
    {"bytes", 10, &count_of<&rank_counts::sent_bytes>},
    {"received", 10, &count_of<&rank_counts::received>},
    {"bytes", 10, &count_of<&rank_counts::received_bytes>},
    {"unexpected", 10, &count_of<&rank_counts::unexpected>},
    {"collectives", 11, &count_of<&rank_counts::collectives>},
}};

rank_pointer make_rank_state() {
  return {new rank_state, [](job_rank* r) { delete static_cast<rank_state*>(r); }};
}

bool is_for_other_rank(worker& w, record_header header) {
  return header.kind() != mail_finished &&
         mailed_message::receiver_of(header) != static_cast<std::uint32_t>(w.running_number());
}

messaging::messaging(job& j) noexcept : in_job(j) {
  remote.congested.store(true, std::memory_order_relaxed);  // Never a short message to it.
  remote.of = &j;
  remote.shared = this;
}

bool messaging::end_operations_with_dead(worker& here) {
  return ways != nullptr && ways->end_operations_with_dead(here);
}

bool messaging::is_joined_with(int process) {
  const std::lock_guard hold(communicators->lock);
  return std::ranges::any_of(communicators->by_context, [process](const auto& listed) {
    return listed.second->has_ranks_in(process);
  });
}

void messaging::rank_ended(job_rank& r) {
  const auto& mine = static_cast<rank_state&>(r);
  if (mine.watch != nullptr) mine.watch->look_when_quiescent(*in_job.checks);
}

std::uint64_t messaging::done_by(const job_rank& r) const {
  const rank_counts& all = static_cast<const rank_state&>(r).counts;
  return all.sent + all.received + all.collectives;
}

void messaging::look_when_quiescent(diagnosis::job_checks& checks) {
  look_at_unreceived(checks, in_job);
}

void messaging::job_has_failed() noexcept {
  if (ways != nullptr) ways->between().leave_other_jobs_as_dead();
}

void messaging::free_rest() noexcept {
  for (const auto& r : in_job.ranks) {
    auto& mine = static_cast<rank_state&>(*r);
    free_messages_of(mine);
    mine.self = nullptr;
  }
}

}  // namespace weft::detail
