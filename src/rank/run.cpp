// weft::run(): the part of this process in the job that it was started for; and what a rank asks about
// itself.
#include "weft/run.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "base/standard_descriptors.hpp"
#include "base/topology.hpp"
#include "rank/start.hpp"
#include "rank/state.hpp"
#include "weft/tasks/run.hpp"

namespace weft {
namespace {

// Hands what the launcher knows of dead processes to the network, which may not stand yet.
class failure_relay {
 public:
  void tell(int process, const std::string& why) {
    const std::lock_guard hold(lock_);
    if (to_ != nullptr)
      to_->mark_failed(process, why);
    else
      early_.emplace_back(process, why);
  }
  void connect(network* to) {
    const std::lock_guard hold(lock_);
    to_ = to;
    if (to_ == nullptr) return;
    for (const auto& [process, why] : early_) to_->mark_failed(process, why);
  }

 private:
  std::mutex lock_;
  network* to_ = nullptr;
  std::vector<std::pair<int, std::string>> early_;
};

// The part of this process in the job that it was started for.
int run_part(const options& how, const std::function<void(communicator&)>& body) {
  if (how.processes == 1) {
    tell_of_environment();
    return detail::run_ranks_of_job(how, body, {});
  }
  failure_relay failures;  // The bootstrap calls it for as long as that stands.
  const std::unique_ptr<bootstrap> job = make_bootstrap();
  // weftrun has told it; its variables may not reach other hosts.
  if (job->process() == 0 && job->name() != "local") tell_of_environment();
  if (job->process_count() == 1) {
    if (how.processes > 1)
      throw error(
          formatted("a job of {} processes is started by a launcher: weftrun --processes {}",
                    how.processes, how.processes));
    if (!how.hosts.empty() && job->name() == "single")
      throw error(formatted("a job on the hosts {} is started by a launcher: weftrun --hosts {}",
                            how.hosts, how.hosts));
    return detail::run_ranks_of_job(how, body, {});
  }
  job->on_failure([&](int process, const std::string& why) { failures.tell(process, why); });
  detail::launch_context others;
  others.job = job.get();
  others.run = "weft.rank.";
  others.connected = [&](network* to) { failures.connect(to); };
  const int status = detail::run_ranks_of_job(how, body, others);
  job->finish();
  return status;
}

}  // namespace

int detail::run_ranks_of_job(options how, const std::function<void(communicator&)>& body,
                             const launch_context& others) {
  const auto call = [&](job_rank& me) {
    communicator world(messaging_of(*me.of).world, me.number);
    body(world);
  };
  WEFT_ASSERT(has_face_of_ranks());
  return run_job(std::move(how), call, others);
}

int detail::run(const options& how, body_of_ranks body) {
  try {
    take_standard_descriptors();
    check_options(how);
    return run_part(how, [body](communicator& world) { body.call(body.object, world); });
  } catch (const error& e) {
    if (*e.what() != '\0') log_text(e.what());  // Another process says it.
    return 2;
  }
}

int detail::run(int& argc, char** argv, body_of_ranks body) {
  try {
    const resolved_options how = resolve_options(argc, argv);
    return run(how.values, body);
  } catch (const error& e) {
    log_text(e.what());
    return 2;
  }
}

// One rank for each process; the other workers are its helpers.
int run_tasks(const options& how, const std::function<void()>& body) {
  if (worker::current() != nullptr) {
    log_text(
        "run_tasks() was called by a rank or a task, which has workers already: call spawn(), or use a task_group");
    return 2;
  }
  options mine = how;
  mine.ranks = std::max(how.processes, 1);
  mine.workers = 1;
  const std::size_t processes = static_cast<std::size_t>(mine.ranks);
  const std::size_t cores = std::max<std::size_t>(machine_topology().threads.size() / processes, 1);
  const int workers = how.workers != 0 ? how.workers : how.schedule ? 1 : static_cast<int>(cores);
  mine.helpers += workers - 1;
  return run(mine, [&](communicator&) { body(); });
}

int run_tasks(int& argc, char** argv, const std::function<void()>& body) {
  try {
    const resolved_options how = resolve_options(argc, argv);
    return run_tasks(how.values, body);
  } catch (const error& e) {
    log_text(e.what());
    return 2;
  }
}

int this_rank() noexcept {
  const worker* here = worker::current();
  if (here == nullptr || here->identity() == nullptr) return -1;
  return static_cast<const detail::job_rank*>(here->identity())->number;
}

int world_size() noexcept {
  const worker* here = worker::current();
  if (here == nullptr || here->identity() == nullptr) return 0;
  return static_cast<int>(
      static_cast<const detail::job_rank*>(here->identity())->of->places.size());
}

void detail::refuse_rank_local(std::size_t ranks) {
  const int rank = this_rank();
  if (rank < 0)
    throw error(
        "a rank_local was read outside of a rank: read it in the body that weft::run() runs");
  throw error(
      formatted("rank {}: a rank_local was made for {} ranks, but the job has {}: make it for as "
                "many as the job has",
                rank, ranks, world_size()));
}

communicator this_world() {
  const detail::rank_state& me = detail::calling_rank("this_world");
  return communicator(me.shared->world, me.number);
}

void yield() {
  worker* const here = worker::current();
  if (here == nullptr) return;
  if (worker::in_chunk()) static_cast<void>(detail::calling_rank("yield"));  // Says why not.
  const shared_section inside(*here);
  here->yield();
}

void detail::sleep_ns(std::int64_t duration) {
  worker* home = worker::current();
  const bool is_task = home != nullptr && worker::identity() == nullptr && !worker::in_chunk();
  if (!is_task)
    home = detail::calling_rank("sleep_for").home;  // Says why not, in a chunk and outside.
  const shared_section inside(*home);
  home->check_stopped();
  if (duration <= 0) return home->yield();
  static constexpr wait_description sleep{.call = "sleep_for", .ends_by_itself = true};
  home->sleep(static_cast<std::uint64_t>(duration), sleep);
}

}  // namespace weft
