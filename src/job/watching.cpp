#include "job/watching.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/forked_child.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/settings.hpp"
#include "diagnosis/checks.hpp"
#include "diagnosis/names.hpp"
#include "diagnosis/stacks.hpp"
#include "diagnosis/stall_detection.hpp"
#include "job/caller.hpp"
#include "job/held_waits.hpp"
#include "job/report.hpp"
#include "runtime/monitor.hpp"
#include "sync/published.hpp"

namespace weft::detail {
namespace {

// Describes a worker that has not answered because one of its ranks computes.
std::string not_asked(const job& j, const worker& silent, int computing) {
  std::vector<int> others;
  for (const auto& r : j.ranks)
    if (r->home == &silent && r->number != computing) others.push_back(r->number);
  if (others.empty()) return {};
  return formatted("; its {} cannot be asked meanwhile", diagnosis::ranks_name(others));
}

// Describes the ranks of this worker that wait. The worker calls it.
void add_stacks(diagnosis::waiting_stacks& to, const job& j, worker& here) {
  for (const auto& r : j.ranks)
    if (r->home == &here && !r->ended) to.add(here, r->number, r->main);
}

// What the ranks of this worker have done and whether they wait; called by it.
diagnosis::worker_standing standing_of(const job& j, worker& w) {
  diagnosis::worker_standing now;
  for (const auto& r : j.ranks) {
    if (r->home != &w) continue;
    j.each_face([&](const face_job& face) { now.done += face.done_by(*r); });
    if (r->ended) ++now.done;
    const wait_description* const what = r->main.waiting_in;
    now.all_wait &= r->ended || (what != nullptr && !what->ends_by_itself);
  }
  return now;
}

// `why` is a line that comes before it, or empty.
void report_state(job& j, std::string why = {}) {
  std::mutex lock;
  std::map<int, std::string> lines;
  std::vector<bool> heard(static_cast<std::size_t>(j.workers->worker_count()), false);
  diagnosis::waiting_stacks stacks;
  const bool all = j.workers->on_every_worker([&](worker& w) {
    add_stacks(stacks, j, w);
    const std::lock_guard hold(lock);
    append_worker_report(j, w, lines);
    heard[static_cast<std::size_t>(w.index())] = true;
  });
  const std::lock_guard hold(lock);
  std::string text = std::move(why) + "state of the ranks:\n";
  std::size_t listed = 0;
  for (const auto& [rank, line] : lines)
    if (listed++ < ranks_listed_max) text += line;
  if (lines.size() > ranks_listed_max)
    text += formatted("  and {} ranks more\n", lines.size() - ranks_listed_max);
  if (!all)
    for (int i = 0; i < j.workers->worker_count(); ++i)
      if (!heard[static_cast<std::size_t>(i)]) {
        const worker& silent = j.workers->at(i);
        const int rank = silent.running_number();
        if (const int owner = silent.stolen_from_number(); owner >= 0)
          text +=
              formatted("worker {}: computing a chunk of rank {}, stolen while its {}\n", i, owner,
                        rank >= 0 ? formatted("rank {} waits{}", rank, not_asked(j, silent, rank))
                                  : "own ranks wait or have ended");
        else if (silent.moves() && silent.thread() == 0)
          text += formatted(
              "worker {}: waiting for a thread; its ranks cannot be asked meanwhile\n", i);
        else if (rank >= 0)
          text +=
              formatted("worker {}: computing in rank {}{}\n", i, rank, not_asked(j, silent, rank));
        else if (silent.thread() != 0)  // Its own ranks wait or have ended.
          text += formatted("worker {}: computing in a task, or for another's rank\n", i);
        else
          text += formatted("worker {}: not at work, no rank lives in this process\n", i);
        stacks.add_computing(silent);
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
  diagnosis::waiting_stacks stacks;
  j.workers->on_every_worker([&](worker& w) { add_stacks(stacks, j, w); });
  return written(stacks.places());
}

}  // namespace

void run_workers(job& j, failure_note& failure, termination* ending) {
  note_process_of_job();
  const fault_reports faults;
  std::optional<line_output> lines;
  if (j.how.tag_output || j.ranks.size() > 1)
    lines.emplace(&number_of_writer, j.how.tag_output ? line_style::tagged : line_style::plain);
  monitor_options watching;
  watching.report_signal = report_signal_number(j.how);
  watching.timeout_s = j.how.timeout_s;
  watching.busy_warning_s = j.how.busy_warning_s;
  if (base_face() != nullptr) watching.is_for_other = base_face()->is_for_other;
  watching.report = [&] { report_state(j); };
  // All processes of a job have the same limit. The first that finds it exceeded stops the others, each says what
  // its ranks do, and the coordinator says why. Called by the monitor.
  bool time_is_up = false;
  const auto end_by_timeout = [&] {
    if (std::exchange(time_is_up, true)) return;
    report_state(j);
    std::string why;
    if (ending == nullptr || ending->is_coordinator())
      why = formatted("the job was ended after its timeout of {} s", j.how.timeout_s);
    failure.tell(why, timeout_status);
    j.workers->request_stop();
  };
  watching.timed_out = end_by_timeout;
  // Other processes may bring a message at any time. Without threads of ranks it is a deadlock, which ends the job.
  const auto standing = [&j](worker& w) { return standing_of(j, w); };
  diagnosis::stall_detector rest(*j.workers, standing, diagnosis::polling::stands);
  const bool looks_for_rest = ending == nullptr && j.how.busy_warning_s > 0;
  if (looks_for_rest || j.held != nullptr)
    watching.looked = [&, looks_for_rest](std::uint64_t now_ns) {
      if (j.held != nullptr) j.held->look_again(*j.workers);
      if (!looks_for_rest) return;
      if (!j.workers->has_attached_threads()) return rest.forget();
      if (!rest.has_lasted(j.how.busy_warning_s, now_ns)) return;
      report_state(
          j,
          formatted(
              "for {} s no rank has sent or received anything, and none computes, nor do their threads: the job "
              "hangs unless something outside of it wakes one of them; --timeout ends such jobs\n",
              j.how.busy_warning_s));
    };
  diagnosis::stall_detector end(*j.workers, standing, diagnosis::polling::runs);
  watching.may_end = [&](std::uint64_t now_ns) { return !end.has_lasted(stall_grace_s, now_ns); };
  watching.does_not_end = [&] {
    if (const std::string left = j.why_abandoned(nullptr); !left.empty())
      failure.tell(left, 1, true);
    const std::string why =
        "the job does not end: ranks compute without calling weft, or wait for threads that do not end; process ended";
    if (time_is_up)
      log_text(why);  // What they do has been told.
    else
      report_state(j, why + "\n");
  };
  std::atomic<bool> stops_by_timeout{false};
  // The coordinator of a deadlock between processes wants to know where this one's ranks stand.
  std::atomic<bool> wants_stacks{false};
  watching.exit_status = [&] { return failure.status(); };
  deadlock_note deadlock;
  watching.called = [&] {
    if (j.checks != nullptr) j.checks->tell();
    if (stops_by_timeout.load(std::memory_order_relaxed)) end_by_timeout();
    if (wants_stacks.exchange(false, std::memory_order_relaxed))
      ending->described(describe_stacks(j));
    if (!deadlock.found.value()) return;
    failure.tell(diagnosis::deadlock_report(std::vector{deadlock.waits + describe_stacks(j)}), 1);
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
  // In a job of one process that is quiescent there is a deadlock, unless a check holds waits.
  struct alone_in_job final : quiescence_observer {
    alone_in_job(job& of, deadlock_note& noted, monitor& told)
        : j(of), deadlock(noted), watch(told) {}
    answer look(worker&) noexcept override { return answer::tell; }
    void tell(worker&) override {
      if (j.held != nullptr && j.held->let_go_when_quiescent(*j.workers)) return;
      if (deadlock.note(j)) watch.call();
    }
    job& j;
    deadlock_note& deadlock;
    monitor& watch;
  } alone(j, deadlock, watch);
  if (ending != nullptr)
    j.workers->set_quiescence_observer(*ending);
  else
    j.workers->set_quiescence_observer(alone);
  j.workers->run();
  j.stop_by_timeout = nullptr;
  if (ending != nullptr) ending->set_describer(nullptr);
}

}  // namespace weft::detail
