// The part of a job in this process, from its options to its exit status: it makes workers and ranks, runs them, and
// says what went wrong.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/settings.hpp"
#include "diagnosis/checks.hpp"
#include "job/caller.hpp"
#include "job/connection.hpp"
#include "job/held_waits.hpp"
#include "job/rank_body.hpp"
#include "job/start.hpp"
#include "job/watching.hpp"
#include "profile/accounts.hpp"
#include "profile/call_paths.hpp"
#include "trace/trace.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

// The ranks of this process, each on its home worker.
void make_ranks(job& j, const placement& places) {
  j.process = places.process;
  for (std::size_t i = 0; i < places.of_rank.size(); ++i) {
    const auto [process, home] = places.of_rank[i];
    job_rank* here = nullptr;
    if (process == j.process) {
      here = j.ranks.emplace_back(make_rank()).get();
      here->number = static_cast<int>(i);
      here->of = &j;
      here->home = &j.workers->at(home);
    }
    j.places.push_back({here, process, home});
    j.by_number.push_back(here);
  }
  j.workers->set_user_data(j.by_number.data());
  j.workers->set_job(&j);
}

// Accounts and events of one job are known by this number, which is never 0.
std::uint64_t number_of(const placement& places) {
  return std::hash<std::string>{}(places.job_id.empty() ? formatted("{} {}", ::getpid(), now_ns())
                                                        : places.job_id) |
         1;
}

// Called when all processes are connected, so that none ends its part before the first process of its host is here.
void start_timeline(const job& j, const placement& places, std::uint64_t number,
                    const std::string& file, std::size_t events_max) {
  trace_part part{places.process, places.process_count};
  part.ranks = static_cast<int>(places.of_rank.size());
  part.job = number;
  profile::call_paths::start(j.how.call_paths);
  for (int other = 0; other < places.process; ++other)
    if (j.node_of_process[static_cast<std::size_t>(other)] ==
        j.node_of_process[static_cast<std::size_t>(places.process)])
      part.first = false;
  start_trace(file, j.workers->worker_count(), part, events_max);
}

// What weftrun --breakdown asks for. Only the first job of a process has accounts. False: this has none.
bool start_accounts(const job& j, const placement& places, std::uint64_t number) {
  const char* const file = std::getenv(accounts_variable);
  if (file == nullptr || *file == '\0') {
    if (j.how.breakdown && places.process == 0)
      log_line("breakdown: start the program by weftrun --breakdown, which tells the result");
    return false;
  }
  profile::job_shape shape;
  shape.job = number;
  shape.has_call_paths = j.how.call_paths;
  profile::call_paths::start(j.how.call_paths);
  shape.ranks = static_cast<int>(places.of_rank.size());
  shape.processes = places.process_count;
  shape.workers = j.workers->worker_count();
  if (j.workers->at(0).moves()) shape.threads = places.workers.threads;
  for (const int node : j.node_of_process)
    shape.has_other_hosts = shape.has_other_hosts || node != j.node_of_process.front();
  shape.program = program_invocation_name;
  for (const setting& row : settings())
    if (row.text(j.how) != row.text(options{}))
      shape.settings +=
          formatted("{}{}={}", shape.settings.empty() ? "" : " ", row.name, row.text(j.how));
  const profile::beginning how = profile::start(file, shape);
  const bool begun = how == profile::beginning::begun;
  if (!begun && places.process == 0)
    log_line("breakdown: {}",
             how == profile::beginning::other_job
                 ? "only the first job that the program starts is in it"
                 : "the ranks of this host are not in it, since weftrun runs on another one");
  return begun;
}

void start_checks(job& j) {
  j.checks = std::make_shared<diagnosis::job_checks>();
  // Between processes it is not known when all ranks wait without ending the job.
  if (j.node_of_process.empty()) j.held = std::make_shared<held_waits>();
  j.workers->set_wait_watcher([](worker& here, const wait_description& what) {
    if (here.identity() == nullptr) return;
    const auto& r = *static_cast<const job_rank*>(here.identity());
    r.of->checks->look_at_locks(here, r.number, what.call);
  });
}

// A job that has failed leaves messages and requests behind for that reason: they are no findings.
void end_checks(job& j, failure_note& failure) {
  j.checks->set_call({});
  if (failure.status() == 0) {
    j.workers->deliver_rest();
    j.each_face([&](face_job& face) { face.look_when_quiescent(*j.checks); });
  }
  j.checks->tell();
  if (j.checks->has_errors())
    failure.tell("check: the job ran to its end, but with the errors above", 1);
}

// A table in which each column is as wide as its title or its width says.
void print_statistics(const job& j, double seconds) {
  std::vector<rank_column> columns = columns_of_faces();
  columns.push_back({"chunks", 10, [](const job_rank& r) { return r.chunks; }});
  columns.push_back({"stolen", 10, [](const job_rank& r) { return r.chunks_stolen; }});
  std::string text = "rank  worker";
  for (const rank_column& c : columns) text += formatted(" {:>{}}", c.title, c.width);
  for (const auto& r : j.ranks) {
    text += formatted("\n{:4}  {:6}", r->number, r->home->index());
    for (const rank_column& c : columns) text += formatted(" {:{}}", c.value(*r), c.width);
  }
  const bool moves = j.workers->at(0).moves();
  text += formatted("\nworker   switches      parks stolen chunks  failed steals{}\n",
                    moves ? "      moves" : "");
  char line[160];
  for (int i = 0; i < j.workers->worker_count(); ++i) {
    const worker::statistics& c = j.workers->at(i).counts();
    std::snprintf(line, sizeof line, "%6d %10llu %10llu %13llu %14llu\n", i,
                  static_cast<unsigned long long>(c.switches),
                  static_cast<unsigned long long>(c.parks),
                  static_cast<unsigned long long>(c.steals),
                  static_cast<unsigned long long>(c.failed_steals));
    text += line;
    if (moves) text.insert(text.size() - 1, formatted(" {:10}", c.moves));
  }
  std::snprintf(line, sizeof line, "%.3f s", seconds);
  log_text(text + line);
}

// Detaches before the job is destroyed, also after an exception.
struct leaving {
  connection& from;
  failure_note& failure;
  ~leaving() { from.detach(failure); }
};

class timeline {
 public:
  timeline(const job& j, const placement& places) : is_on_(!j.how.trace_file.empty()) {
    const std::uint64_t number = number_of(places);
    if (is_on_) start_timeline(j, places, number, j.how.trace_file, trace_events_max);
    const char* const events = std::getenv(breakdown_events_variable);
    if (!start_accounts(j, places, number) || is_on_ || events == nullptr || *events == '\0')
      return;
    start_timeline(j, places, number, events, breakdown_events_max);
    is_on_ = true;
  }
  void end() {
    profile::stop();
    if (std::exchange(is_on_, false)) stop_trace();
  }
  ~timeline() {
    profile::stop();
    try {
      end();
    } catch (const std::exception&) {  // The error that ends the job has been told.
    }
  }
  timeline(const timeline&) = delete;
  timeline& operator=(const timeline&) = delete;

 private:
  bool is_on_;
};

}  // namespace

int run_job(options how, const std::function<void(job_rank&)>& body, const launch_context& others) {
  if (worker::current() != nullptr)
    throw error(formatted(
        "rank {} called weft::run(), which would block its worker: use split() for a part of the "
        "ranks, or a thread of your own",
        number_of_caller()));
  watch_exit_of_process();
  failure_note failure;
  const placement places = place_ranks(how, others.job, others.run);
  connection between(others, places, how);
  job j;
  j.how = std::move(how);
  j.workers = std::make_unique<scheduler>(places.workers);
  j.part = places.part;
  j.known_faces = places.faces;
  j.chunks = j.how.chunks == "single" ? chunk_mode::single : chunk_mode::guided;
  set_mail_handlers(*j.workers);
  for (int p = 0; places.process_count > 1 && p < places.process_count; ++p)
    j.node_of_process.push_back(others.job->node_of(p));
  make_ranks(j, places);
  if (j.how.check) start_checks(j);
  between.attach(j, failure);
  const leaving also_after_an_exception{between, failure};

  std::vector<rank_start> starts;
  starts.reserve(j.ranks.size());
  for (const auto& r : j.ranks) {
    starts.push_back({&j, r.get(), &body, &failure});
    r->main.identity = r.get();
    r->main.number = r->number;
    r->main.body = &run_rank;
    r->main.argument = &starts.back();
    r->home->spawn(r->main);
  }
  j.tell_end = [&failure](const std::string& why, int status) { failure.tell(why, status); };
  timeline traced(j, places);
  const std::uint64_t start = now_ns();
  run_workers(j, failure, between.ending());
  const double seconds = static_cast<double>(now_ns() - start) * 1e-9;
  between.detach(failure);
  traced.end();
  if (j.how.stats) print_statistics(j, seconds);
  if (j.checks != nullptr) end_checks(j, failure);
  // A job that was stopped has not failed in every case: shmem_global_exit(0).
  if (failure.status() == 0 && !j.workers->stopping()) {
    std::string text;
    j.each_face([&](face_job& face) {
      if (text.empty()) text = face.wrong_at_end();
    });
    if (!text.empty()) failure.tell(text, 1);
  }
  j.each_face([](face_job& face) { face.free_rest(); });
  if (const std::string lost = lost_output(); !lost.empty()) {
    log_text(lost);
    failure.note(1);
  }
  if (failure.status() != 0) j.each_face([](face_job& face) { face.job_has_failed(); });
  return failure.status();
}

}  // namespace weft::detail
