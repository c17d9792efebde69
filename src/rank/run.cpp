// Starts a job: options, machine, workers, ranks; ends it: failures, statistics, timeline.
#include "weft/run.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <typeinfo>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/settings.hpp"
#include "base/uncaught.hpp"
#include "rank/checks.hpp"
#include "rank/distant.hpp"
#include "rank/placement.hpp"
#include "rank/stacks.hpp"
#include "rank/start.hpp"
#include "rank/state.hpp"
#include "runtime/monitor.hpp"
#include "runtime/progress.hpp"
#include "runtime/termination.hpp"
#include "sync/published.hpp"
#include "trace/trace.hpp"

namespace weft {
namespace detail {
void free_messages_of(rank_state& r) noexcept;

namespace {

// As of timeout(1).
constexpr int timeout_status = 124;

// The first failure of a job, and its exit status. It is told when it is known: what the program
// does while it ends may hang, or end the process. In a job of several processes one of them tells
// what happened first.
class failure_note {
 public:
  void tell(const std::string& what, int exit_status) {
    if (!note(exit_status)) return;
    if (ending_ != nullptr)
      ending_->fail(what, exit_status);
    else
      log_text(what);
  }
  // False when there was one before.
  bool note(int exit_status) {
    const std::lock_guard hold(lock_);
    return std::exchange(status_, status_ != 0 ? status_ : exit_status) == 0;
  }
  [[nodiscard]] int status() const {
    const std::lock_guard hold(lock_);
    return status_;
  }
  // Before the ranks run: others decide who tells.
  void set_ending(termination* ending) noexcept { ending_ = ending; }

 private:
  mutable std::mutex lock_;
  int status_ = 0;
  termination* ending_ = nullptr;
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
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 3)
    text.insert(at + 1, "  ");
  return text.starts_with(who + ":") ? text : who + ": " + text;
}

int status_of_failure(const std::exception* e) {
  const auto* const failure = dynamic_cast<const rank_failure*>(e);
  return failure != nullptr ? failure->exit_status() : 1;
}

// The exception is told before its rank unwinds; the others unwind after it has.
void tell_exception(void* argument, const std::exception* e, const std::type_info& type) {
  const auto& start = *static_cast<const rank_start*>(argument);
  if (type != typeid(job_stopped))
    start.failure->tell(text_of_failure(start.rank->number, e), status_of_failure(e));
}

void call_body(void* argument) {
  const auto& start = *static_cast<const rank_start*>(argument);
  communicator world(start.of->world, start.rank->number);
  const struct in_program {  // Whose code leaves a worker with guests to them.
    worker& home;
    explicit in_program(worker& w) : home(w) { home.leave_shared(); }
    ~in_program() { (void)home.enter_shared(); }
  } running(*start.rank->home);
  (*start.body)(world);
  if (start.rank->face != nullptr) start.rank->face->ended();
}

void run_rank(void* argument) {
  const auto& start = *static_cast<const rank_start*>(argument);
  const auto fail = [&](const std::exception* e) {
    start.failure->tell(text_of_failure(start.rank->number, e), status_of_failure(e));
    start.of->workers->request_stop();
  };
  try {
    call_watched({&call_body, argument, &tell_exception});
    if (start.rank->watch != nullptr) start.rank->watch->look_at_rest(*start.of->checks);
    start.rank->ended = true;
    return;
  } catch (const job_stopped&) {
  } catch (const std::exception& e) {
    fail(&e);
  } catch (...) {
    fail(nullptr);
  }
  if (start.rank->face != nullptr) start.rank->face->cut_short();
  start.rank->ended = true;
}

void print_statistics(job& j, double seconds) {
  std::string text =
      "rank  worker       sent     octets   received     octets unexpected"
      " collectives     chunks     stolen\n";
  char line[160];
  for (const auto& r : j.ranks) {
    const rank_counts& c = r->counts;
    std::snprintf(
        line, sizeof line, "%4d  %6d %10llu %10llu %10llu %10llu %10llu %11llu %10llu %10llu\n",
        r->number, r->home->index(), static_cast<unsigned long long>(c.sent),
        static_cast<unsigned long long>(c.sent_bytes), static_cast<unsigned long long>(c.received),
        static_cast<unsigned long long>(c.received_bytes),
        static_cast<unsigned long long>(c.unexpected),
        static_cast<unsigned long long>(c.collectives), static_cast<unsigned long long>(c.chunks),
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
  std::size_t listed = 0;
  for (const auto& [rank, line] : lines)
    if (listed++ < ranks_listed_max) text += line;
  if (lines.size() > ranks_listed_max)
    text += formatted("  and {} ranks more\n", lines.size() - ranks_listed_max);
  if (!all)
    for (int i = 0; i < j.workers->worker_count(); ++i)
      if (!heard[static_cast<std::size_t>(i)]) {
        text +=
            formatted("worker {}: computing in rank {}\n", i, j.workers->at(i).running_number());
        stacks.add_computing(j.workers->at(i));
      }
  text += text_of(stacks.places());
  text.pop_back();
  log_text(text);
}

// Found by the worker that parked last, told by the monitor: that one can ask every worker where its
// ranks stand.
struct deadlock_note {
  published<bool> found;
  std::string waits;

  // Called by one worker after the other.
  bool note(job& j) {
    if (found.hint()) return false;  // The monitor is told already.
    waits = describe_waits(j);
    found.publish(true);
    return true;
  }
};

std::string describe_stacks(job& j) {
  waiting_stacks stacks;
  j.workers->on_every_worker([&](worker& w) { stacks.add(j, w); });
  return written(stacks.places());
}

// The ranks of this process, each on its home worker.
void make_ranks(job& j, const placement& places) {
  j.process = places.process;
  j.distant.congested.store(true, std::memory_order_relaxed);  // Never a short message to it.
  j.distant.of = &j;
  for (std::size_t i = 0; i < places.of_rank.size(); ++i) {
    const auto [process, home] = places.of_rank[i];
    rank_state* here = nullptr;
    if (process == j.process) {
      here = j.ranks.emplace_back(std::make_unique<rank_state>()).get();
      here->number = static_cast<int>(i);
      here->of = &j;
      here->home = &j.workers->at(home);
    }
    j.places.push_back({here, process, home});
    j.by_number.push_back(here);
  }
  j.workers->set_tenant(j.by_number.data());
  std::vector<int> numbers(places.of_rank.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  j.world = std::make_shared<communicator_state>(j, numbers, 0);
}

std::string ranks_of(const job& j, int process) {
  std::string text;
  int count = 0;
  for (std::size_t i = 0; i < j.places.size(); ++i) {
    if (j.places[i].process != process) continue;
    if (++count <= ranks_named_max) text += (count == 1 ? "" : ", ") + std::to_string(i);
  }
  if (count > ranks_named_max) text += " and " + std::to_string(count - ranks_named_max) + " more";
  return (count == 1 ? "rank " : "ranks ") + text;
}

termination::actions actions_of(job& j, failure_note& failure, network& between) {
  termination::actions what;
  what.tell = [&](const std::string& text, int status) {
    failure.note(status);
    log_text(text);
  };
  what.stop = [&](int status) {
    failure.note(status);
    if (status == timeout_status && j.stop_by_timeout)
      j.stop_by_timeout();
    else
      j.workers->request_stop();
  };
  what.describe = [&] { return describe_waits(j); };
  what.deadlock = [&](const std::vector<std::string>& parts, const std::vector<int>& dead) {
    std::string text = deadlock_report(parts);
    for (const int process : dead)
      text += formatted("\n  {} died with process {}", ranks_of(j, process), process);
    return text;
  };
  what.survive_failures = j.how.on_failure == "error";
  // weftrun knows best how a process died, and ends the others itself.
  if (between.job().name() == "local") what.patience_ns = 1'000'000'000;
  what.in_words = [&](int process, const std::string& why) {
    return why + "; it held " + ranks_of(j, process) + " on host " + between.job().host_of(process);
  };
  return what;
}

// Called when all processes are connected: none ends its part before the first of its host is here.
void start_timeline(const job& j, const placement& places) {
  trace_part part{places.process, places.process_count};
  for (int other = 0; other < places.process; ++other)
    if (j.node_of_process[static_cast<std::size_t>(other)] ==
        j.node_of_process[static_cast<std::size_t>(places.process)])
      part.first = false;
  start_trace(j.how.trace_file, j.workers->worker_count(), part);
}

void start_checks(job& j) {
  j.checks = std::make_shared<job_checks>();
  for (const auto& r : j.ranks) r->watch = std::make_shared<request_watch>();
  j.workers->set_wait_watcher([](worker& here, const wait_description& what) {
    if (here.identity() != nullptr)
      static_cast<rank_state*>(here.identity())->of->checks->look_at_locks(here, what.call);
  });
}

// A job that has failed has left messages and requests behind for that reason.
void end_checks(job& j, failure_note& failure) {
  j.checks->set_call({});
  if (failure.status() == 0) {
    j.workers->deliver_rest();
    look_at_unreceived(*j.checks, j);
  }
  j.checks->tell();
  if (j.checks->has_errors())
    failure.tell("check: the job ran to its end, but with the errors above", 1);
}

// Watches the job while its workers run.
void run_workers(job& j, failure_note& failure, termination* ending) {
  const fault_reports faults;
  std::optional<line_output> tags;
  if (j.how.tag_output) tags.emplace(&this_rank, line_style::tagged);
  monitor_options watching;
  watching.report_signal = report_signal_number(j.how);
  watching.timeout_s = j.how.timeout_s;
  watching.busy_warning_s = j.how.busy_warning_s;
  watching.is_for_other = [](worker& w, record_header header) {
    return header.kind != mail_finished &&
           header.target != static_cast<std::uint32_t>(w.running_number());
  };
  watching.report = [&] { report_state(j); };
  std::atomic<bool> time_is_up{false};
  const auto report_timeout = [&] {
    if (!time_is_up.exchange(true, std::memory_order_relaxed)) report_state(j);
  };
  watching.timed_out = [&] {
    report_timeout();
    char limit[64];
    std::snprintf(limit, sizeof limit, "%g", j.how.timeout_s);
    failure.tell("the job was ended after its timeout of " + std::string(limit) + " s",
                 timeout_status);
    j.workers->request_stop();
  };
  // Another process of the job was first to find that its time is up: this one says what its ranks
  // do before it stops.
  std::atomic<bool> stops_by_timeout{false};
  // The judge of a deadlock between processes wants to know where this one's ranks stand.
  std::atomic<bool> wants_stacks{false};
  watching.exit_status = [&] { return failure.status(); };
  deadlock_note deadlock;
  watching.called = [&] {
    if (j.checks != nullptr) j.checks->tell();
    if (stops_by_timeout.load(std::memory_order_relaxed)) {
      report_timeout();
      j.workers->request_stop();
    }
    if (wants_stacks.exchange(false, std::memory_order_relaxed))
      ending->described(describe_stacks(j));
    if (!deadlock.found.value()) return;
    failure.tell(deadlock_report({deadlock.waits + describe_stacks(j)}), 1);
    j.workers->request_stop();
  };
  // Before the workers: the report signal may come at any time from now on.
  monitor watch(*j.workers, std::move(watching));
  if (j.checks != nullptr) j.checks->set_call([&] { watch.call(); });
  j.stop_by_timeout = [&] {
    stops_by_timeout.store(true, std::memory_order_relaxed);  // Relaxed: the call orders it.
    watch.call();
  };
  if (ending != nullptr)
    ending->set_describer([&] {
      wants_stacks.store(true, std::memory_order_relaxed);  // Relaxed: the call orders it.
      watch.call();
    });
  j.workers->set_quiescent_handler([&](worker& last) {
    if (ending != nullptr) return ending->quiescent(last);
    if (deadlock.note(j)) watch.call();
    return false;
  });
  j.workers->run();
  j.stop_by_timeout = nullptr;
  if (ending != nullptr) ending->set_describer(nullptr);
}

// What connects this process with the others of its job, while it lives.
class connection {
 public:
  connection(const company& others, const placement& places, const options& how) : others_(others) {
    if (places.process_count == 1) return;
    comm::runtime_options core;
    core.devices = places.worker_count;
    core.transport = how.transport;
    core.shared_devices = how.progress;  // With the progress worker.
    between_.emplace(*others.job, core, others.make_endpoints);
  }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void attach(job& j, failure_note& failure) {
    if (!between_) return;
    j.ways = {new distant_ways(j, *between_), [](distant_ways* w) { delete w; }};
    ending_.emplace(*between_, *j.workers, actions_of(j, failure, *between_));
    between_->attach(*j.workers, *ending_);
    between_->set_visitor(
        [&j](int worker) { return j.ways->end_operations_with_dead(j.workers->at(worker)); });
    failure.set_ending(&*ending_);
    j.tell_abandoned = [&failure](const std::string& why) { failure.tell(why, 1); };
    if (others_.connected) others_.connected(&*between_);
    if (j.how.progress) progress_.emplace(*between_, *j.workers);
  }
  // After the workers have ended, before the job's memory goes.
  void detach(failure_note& failure) {
    if (!between_) return;
    progress_.reset();
    if (others_.connected) others_.connected(nullptr);
    failure.set_ending(nullptr);
    between_->detach();
  }
  [[nodiscard]] termination* ending() noexcept { return ending_ ? &*ending_ : nullptr; }

 private:
  const company& others_;
  std::optional<network> between_;
  std::optional<termination> ending_;
  std::optional<progress_worker> progress_;
};

// Before the job goes, whichever way.
struct leaving {
  connection& from;
  failure_note& failure;
  ~leaving() { from.detach(failure); }
};

}  // namespace

int run_job(options how, const std::function<void(communicator&)>& body, const company& others) {
  if (worker::current() != nullptr)
    throw error(
        "weft::run() was called by a rank, whose worker it would block: use split() for a "
        "part of the ranks, or a thread of your own");
  failure_note failure;
  const placement places = place_ranks(how, others.job, others.run);
  connection between(others, places, how);
  job j;
  j.how = std::move(how);
  j.workers = std::make_unique<scheduler>(places.workers);
  j.chunks = j.how.chunks == "single" ? chunk_mode::single : chunk_mode::guided;
  set_mail_handlers(*j.workers);
  for (int p = 0; places.process_count > 1 && p < places.process_count; ++p)
    j.node_of_process.push_back(others.job->node_of(p));
  make_ranks(j, places);
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
  if (j.how.check) start_checks(j);
  if (!j.how.trace_file.empty()) start_timeline(j, places);
  const std::uint64_t start = now_ns();
  run_workers(j, failure, between.ending());
  const double seconds = static_cast<double>(now_ns() - start) * 1e-9;
  between.detach(failure);
  stop_trace();
  if (j.how.stats) print_statistics(j, seconds);
  if (j.checks != nullptr) end_checks(j, failure);
  if (failure.status() == 0 && places.process_count > 1)
    if (const std::string text = unmet_broadcast(j); !text.empty()) failure.tell(text, 1);
  for (const auto& r : j.ranks) {
    free_messages_of(*r);
    r->self.reset();
  }
  if (!j.abandoned.empty()) failure.tell(j.abandoned, 1);
  return failure.status();
}

void run_loop(std::size_t count, void (*invoke)(void*, std::int64_t, std::int64_t), void* body,
              const loop_options& how) {
  worker* here = worker::current();
  if (here == nullptr || here->identity() == nullptr)
    throw error("a loop was started outside of a rank: start it in the body that weft::run() runs");
  auto& me = *static_cast<rank_state*>(here->identity());
  const chunk_mode mode = how.mode == chunk_mode::automatic ? me.of->chunks : how.mode;
  loop l{invoke, body, static_cast<std::int64_t>(count), mode == chunk_mode::single, how.stealable};
  // Counted by the owner alone; a loop inside a stolen chunk is not the owner's to count.
  rank_counts* counts = here->in_chunk() ? nullptr : &me.counts;
  here->execute(l);
  if (counts == nullptr) return;
  counts->chunks += count;
  counts->chunks_stolen +=
      static_cast<std::uint64_t>(l.stolen_chunks.load(std::memory_order_relaxed));
}

}  // namespace detail

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
  if (how.processes == 1) return detail::run_job(how, body, {});
  const std::unique_ptr<bootstrap> job = make_bootstrap();
  if (job->process_count() == 1) {
    if (how.processes > 1)
      throw error(
          formatted("a job of {} processes is started by a launcher: weftrun --processes {}",
                    how.processes, how.processes));
    if (!how.hosts.empty() && job->name() == "single")
      throw error(formatted("a job on the hosts {} is started by a launcher: weftrun --hosts {}",
                            how.hosts, how.hosts));
    return detail::run_job(how, body, {});
  }
  failure_relay failures;
  job->on_failure([&](int process, const std::string& why) { failures.tell(process, why); });
  detail::company others;
  others.job = job.get();
  others.run = "weft.rank.";
  others.connected = [&](network* to) { failures.connect(to); };
  const int status = detail::run_job(how, body, others);
  job->finish();
  return status;
}

}  // namespace

int run(const options& how, const std::function<void(communicator&)>& body) {
  try {
    check_options(how);
    return run_part(how, body);
  } catch (const error& e) {
    if (*e.what() != '\0') log_text(e.what());  // Another process says it.
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
      static_cast<const detail::rank_state*>(here->identity())->of->places.size());
}

communicator this_world() {
  const detail::rank_state& me = detail::calling_rank("this_world");
  return communicator(me.of->world, me.number);
}

void yield() {
  worker* const here = worker::current();
  if (here == nullptr) return;
  const shared_section inside(*here);
  here->yield();
}

void sleep_for(std::chrono::nanoseconds duration) {
  detail::rank_state& me = detail::calling_rank("sleep_for");
  const shared_section inside(*me.home);
  me.home->check_stopped();
  if (duration.count() <= 0) return me.home->yield();
  me.home->sleep_until(now_ns() + static_cast<std::uint64_t>(duration.count()), {"sleep_for"});
}

}  // namespace weft
