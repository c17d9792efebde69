// A job in this process, from its options to its status: workers and ranks, and what is told when all have
// ended.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/settings.hpp"
#include "collective/calls.hpp"
#include "diagnosis/checks.hpp"
#include "job/connection.hpp"
#include "job/rank_body.hpp"
#include "job/start.hpp"
#include "job/watching.hpp"
#include "program/program_run.hpp"
#include "rank/messages.hpp"
#include "trace/accounts.hpp"
#include "trace/trace.hpp"
#include "weft/run.hpp"

namespace weft::detail {
namespace {

// The ranks of this process, each on its home worker.
void make_ranks(job& j, const placement& places) {
  j.process = places.process;
  j.remote.congested.store(true, std::memory_order_relaxed);  // Never a short message to it.
  j.remote.of = &j;
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
  j.workers->set_user_data(j.by_number.data());
  std::vector<int> numbers(places.of_rank.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  j.world = communicator_state::make(j, numbers, 0);
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

// What weftrun --breakdown asks for. Only the first job of a process has accounts.
void start_accounts(const job& j, const placement& places) {
  const char* const file = std::getenv(accounts_variable);
  if (file == nullptr || *file == '\0') {
    if (j.how.breakdown && places.process == 0)
      log_line("breakdown: start the program by weftrun --breakdown, which tells the result");
    return;
  }
  accounts::job_shape shape;
  shape.ranks = static_cast<int>(places.of_rank.size());
  shape.processes = places.process_count;
  shape.workers = j.workers->worker_count();
  shape.program = program_invocation_name;
  for (const setting& row : settings())
    if (row.text(j.how) != row.text(options{}))
      shape.settings +=
          formatted("{}{}={}", shape.settings.empty() ? "" : " ", row.name, row.text(j.how));
  if (!accounts::start(file, shape) && places.process == 0)
    log_line("breakdown: only the first job that the program starts is in it");
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

void print_statistics(job& j, double seconds) {
  std::string text =
      "rank  worker       sent     bytes   received     bytes unexpected"
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

// Of communicators that have gone away and of those that live. Ranks that go on after an error may leave
// out what others call.
std::string unequal_ends(job& j) {
  if (j.how.on_failure == "error") return {};
  communicator_list& listed = *j.communicators;
  const std::lock_guard hold(listed.lock);
  std::string text = listed.unequal;
  for (const auto& [context, c] : listed.by_context)
    if (text.empty()) text = unequal_calls(*c);
  return text;
}

// In programs with a main() for each rank a call ends the calling rank alone, and does not come here.
void end_with_others(const std::string& call, int status) {
  if (is_forked_child()) return;
  const rank_of_caller caller;
  const rank_state* const me = caller.get();
  if (me != nullptr && has_others_beside(*me)) end_process(*me, call, status);
  end_begun_lines();
}

void on_exit_of_rank(int status, void*) {
  end_with_others(formatted("exit({})", status), status);
}

// Which status it was called with nobody says.
void on_quick_exit_of_rank() {
  end_with_others("quick_exit()", 1);
}

// Of a process that a rank ends beside others: the system looks at the last byte alone.
int status_of_failure(int status) {
  return (status & 0xff) != 0 ? status : 1;
}

// A handler of a signal may call it, which has interrupted anything: nothing is allocated, no lock waited for.
[[noreturn]] void end_at_once(const char* call, int status) noexcept {
  // One that is forked by vfork() has its parent's memory.
  if (is_forked_child())
    for (;;) ::syscall(SYS_exit_group, status);
  const rank_of_caller caller;
  const rank_state* const me = caller.get();
  if (me != nullptr && has_others_beside(*me)) {
    write_begun_lines_before_death();
    char line[160];
    const int length = std::snprintf(
        line, sizeof line,
        "weft: rank %d called %s(%d) while other ranks run, which ends the job: return from its "
        "function instead\n",
        me->number, call, status);
    write_directly(STDERR_FILENO, {line, static_cast<std::size_t>(length)});
    status = status_of_failure(status);
  }
  for (;;) ::syscall(SYS_exit_group, status);
}

// Before the job goes, whichever way.
struct leaving {
  connection& from;
  failure_note& failure;
  ~leaving() { from.detach(failure); }
};

class timeline {
 public:
  timeline(const job& j, const placement& places) : is_on_(!j.how.trace_file.empty()) {
    if (is_on_) start_timeline(j, places);
    start_accounts(j, places);
  }
  void end() {
    accounts::stop();
    if (std::exchange(is_on_, false)) stop_trace();
  }
  ~timeline() {
    accounts::stop();
    try {
      end();
    } catch (const error&) {  // What ends the job was told.
    }
  }
  timeline(const timeline&) = delete;
  timeline& operator=(const timeline&) = delete;

 private:
  bool is_on_;
};

}  // namespace

bool has_others_beside(const rank_state& me) {
  // Of several processes each is held until all may end, which counts as one more.
  const std::uint64_t held = me.of->ranks.size() != me.of->places.size() ? 1 : 0;
  return me.of->ranks.size() != 1 && me.of->workers->living() > 1 + held;
}

// Destructors of globals would run while ranks use them. Not _exit(), which may lead back here.
void end_process(const rank_state& me, const std::string& call, int status) {
  const bool in_thread = origin_of_this_thread().identity != nullptr;
  std::fflush(nullptr);
  log_line(
      "rank {} called {}{} while other ranks run, which ends the job: return from its function "
      "instead",
      me.number, call, in_thread ? " in a thread" : "");
  end_begun_lines();
  for (;;) ::syscall(SYS_exit_group, status_of_failure(status));
}

int run_job(options how, const std::function<void(communicator&)>& body,
            const launch_context& others) {
  if (worker::current() != nullptr)
    throw error(formatted(
        "rank {} called weft::run(), which would block its worker: use split() for a part of the "
        "ranks, or a thread of your own",
        this_rank()));
  static const int watches_exit =
      ::on_exit(&on_exit_of_rank, nullptr) + std::at_quick_exit(&on_quick_exit_of_rank);
  static_cast<void>(watches_exit);
  failure_note failure;
  const placement places = place_ranks(how, others.job, others.run);
  connection between(others, places, how);
  job j;
  j.how = std::move(how);
  j.workers = std::make_unique<scheduler>(places.workers);
  j.part = places.part;
  j.chunks = j.how.chunks == "single" ? chunk_mode::single : chunk_mode::guided;
  set_mail_handlers(*j.workers);
  set_mail_handlers_of_faces(*j.workers);
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
  j.tell_failure = [&failure](const std::string& why) { failure.tell(why, 1); };
  timeline traced(j, places);
  const std::uint64_t start = now_ns();
  run_workers(j, failure, between.ending());
  const double seconds = static_cast<double>(now_ns() - start) * 1e-9;
  between.detach(failure);
  traced.end();
  if (j.how.stats) print_statistics(j, seconds);
  if (j.checks != nullptr) end_checks(j, failure);
  if (failure.status() == 0) {
    std::string text = places.process_count > 1 ? unmet_broadcast(j) : "";
    if (text.empty()) text = unequal_ends(j);
    if (!text.empty()) failure.tell(text, 1);
  }
  for (const auto& r : j.ranks) {
    free_messages_of(*r);
    r->self.reset();
  }
  if (!j.abandoned.empty()) failure.tell(j.abandoned, 1);
  if (const std::string lost = lost_output(); !lost.empty()) {
    log_text(lost);
    failure.note(1);
  }
  return failure.status();
}

}  // namespace weft::detail

// Before those of the C library, which no handler hears of. Weak: a program's own go first.
extern "C" {

[[gnu::weak]] void _exit(int status) {
  weft::detail::end_at_once("_exit", status);
}
[[gnu::weak]] void _Exit(int status) noexcept {
  weft::detail::end_at_once("_Exit", status);
}

}  // extern "C"
