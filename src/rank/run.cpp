// Starts a job: options, machine, workers, ranks; ends it: failures, statistics, timeline.
#include "weft/run.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <ranges>
#include <string>
#include <typeinfo>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/rank_map.hpp"
#include "base/settings.hpp"
#include "base/topology.hpp"
#include "base/uncaught.hpp"
#include "rank/stacks.hpp"
#include "rank/state.hpp"
#include "runtime/monitor.hpp"
#include "trace/trace.hpp"

namespace weft {
namespace detail {
void free_messages_of(rank_state& r) noexcept;

namespace {

// The first failure of a job, and its exit status. It is told when it is known: what the program
// does while it ends may hang, or end the process.
class failure_note {
 public:
  void tell(const std::string& what, int exit_status) {
    const std::lock_guard hold(lock_);
    if (status_ != 0) return;
    status_ = exit_status;
    log_text(what);
  }
  [[nodiscard]] int status() const {
    const std::lock_guard hold(lock_);
    return status_;
  }

 private:
  mutable std::mutex lock_;
  int status_ = 0;
};

struct rank_start {
  job* of;
  rank_state* rank;
  const std::function<void(communicator&)>* body;
  failure_note* failure;
};

std::string text_of_failure(int rank, const std::exception* e) {
  const std::string who = "rank " + std::to_string(rank);
  if (e == nullptr) return who + " ended with an exception that is not a std::exception";
  std::string text = e->what();
  text.erase(text.find_last_not_of('\n') + 1);
  // Further lines stand below the first, so that all are read as one report.
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 3) text.insert(at + 1, "  ");
  return text.starts_with(who + ":") ? text : who + ": " + text;
}

// The exception is told before its rank unwinds; the others unwind after it has.
void tell_exception(void* argument, const std::exception* e, const std::type_info& type) {
  const auto& start = *static_cast<const rank_start*>(argument);
  if (type != typeid(job_stopped)) start.failure->tell(text_of_failure(start.rank->number, e), 1);
}

void call_body(void* argument) {
  const auto& start = *static_cast<const rank_start*>(argument);
  communicator world(start.of->world, start.rank->number);
  (*start.body)(world);
}

void run_rank(void* argument) {
  const auto& start = *static_cast<const rank_start*>(argument);
  const auto fail = [&](const std::exception* e) {
    start.failure->tell(text_of_failure(start.rank->number, e), 1);
    start.of->workers->request_stop();
  };
  try {
    call_watched({&call_body, argument, &tell_exception});
  } catch (const job_stopped&) {
  } catch (const std::exception& e) {
    fail(&e);
  } catch (...) {
    fail(nullptr);
  }
  start.rank->ended = true;
}

scheduler_options plan(options& how) {
  const topology& machine = machine_topology();
  const int cores = static_cast<int>(machine.threads.size());
  if (how.workers == 0) how.workers = how.ranks == 0 ? cores : std::min(cores, how.ranks);
  if (how.ranks == 0) how.ranks = how.workers;
  how.workers = std::min(how.workers, how.ranks);
  if (how.schedule) {
    how.workers = 1;  // One interleaving is one thread.
    how.helpers = 0;
  }
  scheduler_options plan;
  const int all = how.workers + how.helpers;
  if (all > workers_max)
    throw error(std::to_string(all) + " workers and helpers: the limit is " +
                std::to_string(workers_max));
  for (int i = 0; i < all; ++i) {
    const hardware_thread& place = machine.threads[static_cast<std::size_t>(i % cores)];
    // With more workers than cores, pinning would only keep the kernel from balancing them.
    plan.cores.push_back(how.pin && all <= cores ? place.cpu : -1);
    plan.nodes.push_back(place.numa_node);
  }
  plan.stack_bytes = how.stack_bytes;
  plan.spin_ns = static_cast<std::uint64_t>(how.spin_us) * 1000;
  plan.steal = how.steal == "near"     ? steal_mode::near
               : how.steal == "sticky" ? steal_mode::sticky
                                       : steal_mode::random;
  plan.seed = how.schedule;
  return plan;
}

void print_statistics(job& j, double seconds) {
  std::string text = "rank  worker       sent     octets   received     octets unexpected"
                     " collectives     chunks     stolen\n";
  char line[160];
  for (const auto& r : j.ranks) {
    const rank_counts& c = r->counts;
    std::snprintf(line, sizeof line,
                  "%4d  %6d %10llu %10llu %10llu %10llu %10llu %11llu %10llu %10llu\n", r->number,
                  r->home->index(), static_cast<unsigned long long>(c.sent),
                  static_cast<unsigned long long>(c.sent_bytes),
                  static_cast<unsigned long long>(c.received),
                  static_cast<unsigned long long>(c.received_bytes),
                  static_cast<unsigned long long>(c.unexpected),
                  static_cast<unsigned long long>(c.collectives),
                  static_cast<unsigned long long>(c.chunks),
                  static_cast<unsigned long long>(c.chunks_stolen));
    text += line;
  }
  text += "worker   switches      parks stolen chunks  failed steals\n";
  for (int i = 0; i < j.workers->worker_count(); ++i) {
    const worker::statistics& c = j.workers->at(i).counts();
    std::snprintf(line, sizeof line, "%6d %10llu %10llu %13llu %14llu\n", i,
                  static_cast<unsigned long long>(c.switches),
                  static_cast<unsigned long long>(c.parks),
                  static_cast<unsigned long long>(c.steals),
                  static_cast<unsigned long long>(c.failed_steals));
    text += line;
  }
  std::snprintf(line, sizeof line, "%.3f s", seconds);
  log_text(text + line);
}

void report_state(job& j) {
  std::mutex lock;
  std::map<int, std::string> lines;
  std::vector<bool> heard(static_cast<std::size_t>(j.workers->worker_count()), false);
  waiting_stacks stacks;
  const bool all = j.workers->on_every_worker([&](worker& w) {
    stacks.add(j, w);
    const std::lock_guard hold(lock);
    append_worker_report(j, w, lines);
    heard[static_cast<std::size_t>(w.index())] = true;
  });
  const std::lock_guard hold(lock);
  std::string text = "state of the ranks:\n";
  for (const auto& line : lines | std::views::take(ranks_listed_max) | std::views::values) text += line;
  if (lines.size() > ranks_listed_max)
    text += formatted("  and {} ranks more\n", lines.size() - ranks_listed_max);
  if (!all)
    for (int i = 0; i < j.workers->worker_count(); ++i)
      if (!heard[static_cast<std::size_t>(i)])
        text += "worker " + std::to_string(i) + ": computing in rank " +
                std::to_string(j.workers->at(i).running_number()) + "\n";
  text += stacks.text();
  text.pop_back();
  log_text(text);
}

// Found by the worker that parked last, told by the monitor: that one can ask every worker where its
// ranks stand.
struct deadlock_note {
  std::atomic<bool> found{false};
  std::string text;

  // Called by one worker after the other.
  bool note(job& j) {
    if (found.load(std::memory_order_relaxed)) return false;  // Relaxed: the monitor is told already.
    text = deadlock_report(j);
    found.store(true, std::memory_order_release);  // R1, read in run_job before the text.
    return true;
  }
};

std::string stacks_of(job& j) {
  waiting_stacks stacks;
  j.workers->on_every_worker([&](worker& w) { stacks.add(j, w); });
  std::string text = stacks.text();
  if (!text.empty()) text.pop_back();
  return text.empty() ? text : "\n" + text;
}

int run_job(options how, const std::function<void(communicator&)>& body) {
  if (worker::current() != nullptr)
    throw error("weft::run() was called by a rank, whose worker it would block: use split() for a "
                "part of the ranks, or a thread of your own");
  failure_note failure;
  job j;
  j.how = std::move(how);
  const scheduler_options workers = plan(j.how);
  const std::vector<int> places = map_ranks(j.how.map, j.how.ranks, j.how.workers);
  j.workers = std::make_unique<scheduler>(workers);
  j.chunks = j.how.chunks == "single" ? chunk_mode::single : chunk_mode::guided;
  set_mail_handlers(*j.workers);

  std::vector<rank_state*>& ranks = j.by_number;
  std::vector<rank_start> starts;
  starts.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    rank_state& r = *j.ranks.emplace_back(std::make_unique<rank_state>());
    r.number = static_cast<int>(i);
    r.of = &j;
    r.home = &j.workers->at(places[i]);
    j.places.push_back({&r, 0, places[i]});
    ranks.push_back(&r);
    starts.push_back({&j, &r, &body, &failure});
    r.main.identity = &r;
    r.main.number = r.number;
    r.main.body = &run_rank;
    r.main.argument = &starts.back();
  }
  j.workers->set_tenant(ranks.data());
  std::vector<int> numbers(ranks.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  j.world = std::make_shared<communicator_state>(j, numbers, j.next_context++);
  for (rank_state* r : ranks) r->home->spawn(r->main);

  if (!j.how.trace_file.empty()) start_trace(j.how.trace_file, j.workers->worker_count());
  const std::uint64_t start = now_ns();
  {
    const fault_reports faults;
    std::optional<tagged_output> tags;
    if (j.how.tag_output) tags.emplace(&this_rank);
    monitor_options watching;
    watching.report_signal = report_signal_number(j.how);
    watching.timeout_s = j.how.timeout_s;
    watching.busy_warning_s = j.how.busy_warning_s;
    watching.report = [&] { report_state(j); };
    watching.timed_out = [&] {
      report_state(j);
      char limit[64];
      std::snprintf(limit, sizeof limit, "%g", j.how.timeout_s);
      failure.tell("the job was ended after its timeout of " + std::string(limit) + " s", 124);
      j.workers->request_stop();
    };
    watching.exit_status = [&] { return failure.status(); };
    deadlock_note deadlock;
    watching.called = [&] {
      if (!deadlock.found.load(std::memory_order_acquire)) return;  // A1
      failure.tell(deadlock.text + stacks_of(j), 1);
      j.workers->request_stop();
    };
    // Before the workers: the report signal may come at any time from now on.
    monitor watch(*j.workers, std::move(watching));
    j.workers->set_quiescent_handler([&](worker&) {
      if (deadlock.note(j)) watch.call();
      return false;
    });
    j.workers->run();
  }
  const double seconds = static_cast<double>(now_ns() - start) * 1e-9;
  stop_trace();
  if (j.how.stats) print_statistics(j, seconds);
  for (const auto& r : j.ranks) {
    free_messages_of(*r);
    r->self.reset();
  }
  if (!j.abandoned.empty()) failure.tell(j.abandoned, 1);
  return failure.status();
}

}  // namespace

void run_loop(std::size_t count, void (*invoke)(void*, std::int64_t, std::int64_t), void* body,
              const loop_options& how) {
  worker* here = worker::current();
  if (here == nullptr || here->identity() == nullptr)
    throw error("a loop was started outside of a rank: start it in the body that weft::run() runs");
  auto& me = *static_cast<rank_state*>(here->identity());
  const chunk_mode mode = how.mode == chunk_mode::automatic ? me.of->chunks : how.mode;
  loop l{invoke, body, static_cast<std::int64_t>(count), mode == chunk_mode::single,
         how.stealable};
  // Counted by the owner alone; a loop inside a stolen chunk is not the owner's to count.
  rank_counts* counts = here->in_chunk() ? nullptr : &me.counts;
  here->execute(l);
  if (counts == nullptr) return;
  counts->chunks += count;
  counts->chunks_stolen +=
      static_cast<std::uint64_t>(l.stolen_chunks.load(std::memory_order_relaxed));
}

}  // namespace detail

int run(const options& how, const std::function<void(communicator&)>& body) {
  try {
    check_options(how);
    return detail::run_job(how, body);
  } catch (const error& e) {
    log_text(e.what());
    return 2;
  }
}

int run(int& argc, char** argv, const std::function<void(communicator&)>& body) {
  try {
    const resolved_options how = resolve_options(argc, argv);
    return run(how.values, body);
  } catch (const error& e) {
    log_text(e.what());
    return 2;
  }
}

int this_rank() noexcept {
  const worker* here = worker::current();
  if (here == nullptr || here->identity() == nullptr) return -1;
  return static_cast<const detail::rank_state*>(here->identity())->number;
}

int world_size() noexcept {
  const worker* here = worker::current();
  if (here == nullptr || here->identity() == nullptr) return 0;
  return static_cast<int>(
      static_cast<const detail::rank_state*>(here->identity())->of->ranks.size());
}

void yield() {
  if (worker* here = worker::current(); here != nullptr) here->yield();
}

void sleep_for(std::chrono::nanoseconds duration) {
  detail::rank_state& me = detail::calling_rank("sleep_for");
  me.home->check_stopped();
  if (duration.count() <= 0) return me.home->yield();
  me.home->sleep_until(now_ns() + static_cast<std::uint64_t>(duration.count()), {"sleep_for"});
}

}  // namespace weft
