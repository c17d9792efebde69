#include "job/connection.hpp"

#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/log.hpp"
#include "diagnosis/names.hpp"
#include "job/late_connection.hpp"
#include "job/report.hpp"

namespace weft::detail {
namespace {

constinit bool every_worker_sends = false;

std::string ranks_of(const job& j, int process) {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < j.places.size(); ++i)
    if (j.places[i].process == process) ranks.push_back(static_cast<int>(i));
  return diagnosis::ranks_name(ranks);
}

// Whether processes reach each other's memory over a network, where the target has to make progress for it.
bool is_over_network(const launch_context& others, const std::string& transport) {
  if (transport != "auto" || others.make_endpoints) return transport.starts_with("ofi");
  const bootstrap& job = *others.job;
  for (int process = 1; process < job.process_count(); ++process)
    if (job.node_of(process) != job.node_of(0)) return true;
  return false;
}

termination::actions actions_of(job& j, failure_note& failure, network& between) {
  termination::actions what;
  what.tell = [&](const std::string& text, int status) {
    failure.note(status);
    between.job().tells_failure(status);
    log_text(text);
  };
  what.stop = [&](int status) {
    if (status == timeout_status && j.stop_by_timeout) return j.stop_by_timeout();
    failure.note(status);
    j.workers->request_stop();
  };
  what.describe = [&] { return describe_waits(j); };
  what.deadlock = [&](const std::vector<std::string>& parts, const std::vector<int>& dead) {
    std::string text = diagnosis::deadlock_report(parts);
    for (const int process : dead)
      text += formatted("\n  {} died with process {}", ranks_of(j, process), process);
    return text;
  };
  what.is_joined_with = [&](int process) { return is_joined_with(j, process); };
  what.survive_failures = j.how.on_failure == "error";
  // weftrun knows best how a process died, and ends the others itself.
  if (between.job().name() == "local") what.patience_ns = 1'000'000'000;
  what.in_words = [&](int process, const std::string& why) {
    return why + "; it held " + ranks_of(j, process) + " on host " + between.job().host_of(process);
  };
  return what;
}

}  // namespace

bool let_every_worker_send() noexcept {
  return every_worker_sends = true;
}

connection::connection(const launch_context& others, const placement& places, const options& how)
    : others_(others) {
  if (places.process_count == 1) return;
  comm::runtime_options core;
  core.devices =
      every_worker_sends ? static_cast<int>(places.workers.cores.size()) : places.worker_count;
  core.transport = how.transport;
  core.secure = how.secure;
  // A progress worker shares them; it starts later where memory of ranks is reached over a network.
  core.shared_devices = how.progress || is_over_network(others, how.transport);
  between_.emplace(*others.job, core, others.make_endpoints);
}

void connection::attach(job& j, failure_note& failure) {
  begin_base(j, between_ ? &*between_ : nullptr);
  if (!between_) return begin_faces(j, nullptr);
  ending_.emplace(*between_, *j.workers, actions_of(j, failure, *between_));
  between_->attach(*j.workers, *ending_);
  between_->set_visitor([&j](int worker) {
    bool any = false;
    j.each_face(
        [&](face_job& face) { any |= face.end_operations_with_dead(j.workers->at(worker)); });
    return any;
  });
  begin_faces(j, &*between_);
  failure.set_ending(&*ending_);
  if (j.how.progress) between_->start_progress();
  // Last: after an exception of a line above, nobody would be told that the network goes.
  if (others_.connected) others_.connected(&*between_);
}

void connection::detach(failure_note& failure) {
  if (!between_) return;
  if (others_.connected) others_.connected(nullptr);
  failure.set_ending(nullptr);
  between_->detach();
}

}  // namespace weft::detail
