#include "trace/trace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "trace/callers.h"
#include "trace/event_file.hpp"
#include "trace/flows.hpp"
#include "trace/noted_caller.hpp"
#include "trace/timeline.hpp"
#include "trace/tool_events.hpp"
#include "trace/worker_events.hpp"
#include "weft/error.hpp"

unsigned char weft_traces_calls = 0;

namespace weft {

constinit std::atomic<bool> trace_on{false};
constinit thread_local const void* noted_caller = nullptr;

namespace {

using timeline::event;

// Written by its thread alone while the trace is on; read by stop_trace() afterwards.
struct event_ring {
  event_ring(int thread_number, std::size_t events_max)
      : thread(thread_number),
        capacity(events_max),
        // The events are not initialised, so that pages are touched only as events arrive.
        events(std::make_unique_for_overwrite<event[]>(events_max)) {}

  // A place that was taken back is used again, but not counted twice: what it has overwritten is gone.
  void push(const event& e) noexcept {
    if (std::exchange(is_free, false)) {
      events[last()] = e;
      return;
    }
    events[next] = e;
    next = next + 1 == capacity ? 0 : next + 1;
    ++count;
  }
  [[nodiscard]] std::size_t last() const noexcept { return (next == 0 ? capacity : next) - 1; }
  void take_back() noexcept {
    events[last()] = {events[last()].time_ticks, 0, 0, nullptr, 0, trace_kind::park,
                      trace_phase::instant};
    is_free = true;
  }
  std::uint64_t dropped() const noexcept { return count > capacity ? count - capacity : 0; }
  const event& at(std::uint64_t i) const noexcept { return events[i % capacity]; }

  int thread;  // The worker's number, or one above all of them.
  std::size_t capacity;
  std::uint64_t count = 0;
  std::size_t next = 0;  // The index of the next event.
  bool is_free = false;  // The last event means nothing.
  std::unique_ptr<event[]> events;
};

struct file_closer {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

struct trace_state {
  std::mutex mutex;  // Guards what follows; recording an event does not take it.
  std::string path;
  std::unique_ptr<std::FILE, file_closer> file;
  int workers = 0;
  trace_part part;
  std::size_t events_max = 0;
  int next_other_thread = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t start_ticks = 0;
  std::vector<std::unique_ptr<event_ring>> rings;
};

trace_state& state() {
  static trace_state instance;
  return instance;
}

// Those that take events; trace_on is true while anybody does. Relaxed, as that.
constinit std::atomic<bool> timeline_on{false};
constinit std::atomic<event_listener*> listener{nullptr};
constinit std::atomic<bool> event_file_on{false};
// Changes while workers run. Relaxed: who has not seen it yet is not heard.
constinit std::atomic<tool_listener*> tool{nullptr};
void set_trace_on() noexcept {
  const bool on = timeline_on.load(std::memory_order_relaxed) ||
                  listener.load(std::memory_order_relaxed) != nullptr ||
                  tool.load(std::memory_order_relaxed) != nullptr;
  trace_on.store(on, std::memory_order_relaxed);
  weft_traces_calls = on ? 1 : 0;
}

// Counts traces, so that a thread that outlives one does not write into its freed ring.
std::atomic<std::uint64_t> trace_number{0};

struct thread_ring {
  event_ring* ring;
  std::uint64_t trace;
};
constinit thread_local thread_ring this_thread{nullptr, 0};

event_ring* join_trace(int worker) {
  trace_state& trace = state();
  const std::lock_guard lock(trace.mutex);
  const int number = worker >= 0 ? worker : trace.workers + trace.next_other_thread++;
  trace.rings.push_back(std::make_unique<event_ring>(number, trace.events_max));
  this_thread = {trace.rings.back().get(), trace_number.load(std::memory_order_relaxed)};
  return this_thread.ring;
}

bool joined() noexcept {
  // Relaxed, as trace_on: both change only while no worker runs.
  return this_thread.trace == trace_number.load(std::memory_order_relaxed);
}

using timeline::style_of;

// Pairs begins with ends. A begin may be missing (overwritten) as may an end (still open when the
// trace stopped): the first is left out, the second lasts until the end of the trace.
void write_ring(timeline::writer& to, const event_ring& ring, std::uint64_t end_ticks) {
  std::vector<event> open;            // Slices of the worker's track, innermost last.
  std::map<int, event> open_of_rank;  // The wait each rank is in.
  for (std::uint64_t i = ring.dropped(); i < ring.count; ++i) {
    const event& e = ring.at(i);
    const bool on_rank_track = style_of(e.kind).on_rank_track;
    if (e.phase == trace_phase::instant) {
      to.instant(e, ring.thread);
    } else if (e.phase == trace_phase::begin && !on_rank_track) {
      open.push_back(e);
      to.begin(e, ring.thread);
    } else if (on_rank_track) {
      // The inner of two waits is shown.
      if (const auto begun = open_of_rank.find(e.rank); begun != open_of_rank.end()) {
        to.end(begun->second, e.time_ticks, ring.thread);
        open_of_rank.erase(begun);
      }
      if (e.phase == trace_phase::end) continue;
      open_of_rank[e.rank] = e;
      to.begin(e, ring.thread);
    } else if (!open.empty() && open.back().kind == e.kind && open.back().rank == e.rank) {
      to.end(open.back(), e.time_ticks, ring.thread);
      open.pop_back();
    }
  }
  for (; !open.empty(); open.pop_back()) to.end(open.back(), end_ticks, ring.thread);
  for (const auto& [rank, begun] : open_of_rank) to.end(begun, end_ticks, ring.thread);
}

// How many ranks wait, workers sleep and messages are under way, whenever that changes. What was overwritten is
// not counted: then all rings begin with the youngest that is whole.
void write_counters(timeline::writer& to, const trace_state& trace) {
  struct change {
    std::uint64_t ticks;
    timeline::counter which;
    int by;
  };
  std::uint64_t since = 0;
  for (const auto& ring : trace.rings)
    if (ring->dropped() != 0) since = std::max(since, ring->at(ring->dropped()).time_ticks);
  std::vector<change> changes;
  for (const auto& ring : trace.rings) {
    std::set<int> waiting;
    bool is_asleep = false;
    for (std::uint64_t i = ring->dropped(); i < ring->count; ++i) {
      const event& e = ring->at(i);
      if (e.time_ticks < since) continue;
      const bool begins = e.phase == trace_phase::begin;
      if (e.kind == trace_kind::park) {
        if (begins == is_asleep) continue;  // Its other end is missing.
        is_asleep = begins;
        changes.push_back({e.time_ticks, timeline::counter::workers_asleep, begins ? 1 : -1});
      } else if (style_of(e.kind).on_rank_track) {
        if (begins ? !waiting.insert(e.rank).second : waiting.erase(e.rank) == 0) continue;
        changes.push_back({e.time_ticks, timeline::counter::ranks_waiting, begins ? 1 : -1});
      } else if (trace.part.process_count == 1 &&
                 (e.kind == trace_kind::send || e.kind == trace_kind::recv)) {
        changes.push_back({e.time_ticks, timeline::counter::messages_under_way,
                           e.kind == trace_kind::send ? 1 : -1});
      }
    }
  }
  std::ranges::stable_sort(changes, {}, &change::ticks);
  std::array<std::int64_t, timeline::counter_names.size()> values{};
  for (const change& each : changes) {
    std::int64_t& value = values[static_cast<std::size_t>(each.which)];
    // A receive whose send was overwritten.
    if (value + each.by < 0) continue;
    value += each.by;
    to.count(each.which, each.ticks, value);
  }
}

void name_tracks(timeline::writer& to, const trace_state& trace, const std::string& note) {
  const int workers = timeline::group_of_workers(trace.part);
  to.group(workers,
           trace.part.process_count == 1 ? "workers" : formatted("process {}", trace.part.process),
           note);
  to.group(timeline::rank_group, "ranks", "");
  for (int worker = 0; worker < trace.workers; ++worker)
    to.track(workers, worker, formatted("worker {}", worker));
  std::set<int> ranks;
  for (const auto& ring : trace.rings) {
    if (ring->thread >= trace.workers)
      to.track(workers, ring->thread, formatted("thread {}", ring->thread));
    for (std::uint64_t i = ring->dropped(); i < ring->count; ++i) {
      const event& e = ring->at(i);
      if (style_of(e.kind).on_rank_track) ranks.insert(e.rank);
    }
  }
  for (const int rank : ranks) to.track(timeline::rank_group, rank, formatted("rank {}", rank));
}

void write_timeline(const trace_state& trace, const timeline::clock_of_trace& clock,
                    std::uint64_t end_ticks, std::uint64_t dropped) {
  const auto to = trace.path.ends_with(".json")
                      ? timeline::make_json_writer(trace.file.get(), trace.part, clock)
                      : timeline::make_perfetto_writer(trace.file.get(), trace.part, clock);
  name_tracks(*to, trace,
              dropped != 0 ? formatted("the first {} events are missing", dropped) : "");
  for (const auto& ring : trace.rings) write_ring(*to, *ring, end_ticks);
  write_counters(*to, trace);
  to->finish();
}

void write_event_file(const trace_state& trace, const timeline::clock_of_trace& clock,
                      std::uint64_t end_ticks, std::uint64_t dropped) {
  event_file::part_writer part(clock);
  // All that follows the youngest beginning of a ring is whole.
  std::uint64_t since = trace.start_ticks;
  for (const auto& ring : trace.rings)
    if (ring->dropped() != 0) since = std::max(since, ring->at(ring->dropped()).time_ticks);
  for (const auto& ring : trace.rings)
    for (std::uint64_t i = ring->dropped(); i < ring->count; ++i)
      if (ring->at(i).time_ticks >= since) part.add(ring->at(i), ring->thread);
  part.write(trace.file.get(), {trace.part, trace.workers, since, end_ticks, dropped});
}

}  // namespace

namespace {
// The rank that ran last on this thread: tasks and what goes on beside it run in its time.
constinit thread_local int ran_here_last = -1;
}  // namespace

void record_trace_event(trace_phase phase, trace_kind kind, int rank, std::int64_t argument,
                        std::int64_t more, const char* text, std::uint64_t now) noexcept {
  if (kind == trace_kind::run)
    ran_here_last = rank;
  else if (kind == trace_kind::task || kind == trace_kind::beside)
    rank = ran_here_last;
  else if (kind == trace_kind::sleep && phase == trace_phase::begin)
    argument = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(take_noted_caller()));
  if (event_listener* const tell = listener.load(std::memory_order_relaxed); tell != nullptr)
    tell(phase, kind, rank, now);
  timeline::keep_event({now, argument, more, text, rank, kind, phase});
}

void exchange_events(worker_events& with) noexcept {
  const worker_events before{this_thread.ring, this_thread.trace, ran_here_last};
  this_thread = {static_cast<event_ring*>(with.ring), with.trace};
  ran_here_last = with.ran_last;
  with = before;
}

namespace timeline {
void keep_event(const event& e) noexcept {
  if (!timeline_on.load(std::memory_order_relaxed)) return;
  event_ring* const ring = joined() ? this_thread.ring : join_trace(-1);
  ring->push(e);
}

bool take_back_call(int rank, std::uint64_t begun_ticks) noexcept {
  if (!timeline_on.load(std::memory_order_relaxed) || !joined()) return false;
  event_ring& ring = *this_thread.ring;
  if (ring.count == 0 || ring.is_free) return false;
  const event& e = ring.events[ring.last()];
  if (e.kind != trace_kind::call || e.phase != trace_phase::begin || e.rank != rank ||
      e.time_ticks != begun_ticks)
    return false;
  ring.take_back();
  return true;
}
}  // namespace timeline

bool is_event_file_on() noexcept {
  return event_file_on.load(std::memory_order_relaxed);
}

bool is_timeline_on() noexcept {
  return timeline_on.load(std::memory_order_relaxed);
}

void start_trace(const std::string& path, int workers, const trace_part& part,
                 std::size_t events_max) {
  trace_state& trace = state();
  const std::lock_guard lock(trace.mutex);
  if (trace.file) throw error(formatted("a trace is being written to {} already", trace.path));
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (part.first ? O_TRUNC : 0), 0666);
  trace.file.reset(descriptor < 0 ? nullptr : ::fdopen(descriptor, "w"));
  if (!trace.file)
    throw error(formatted("cannot write the trace {}: {}; name another file with --trace", path,
                          std::strerror(errno)));
  trace.path = path;
  trace.workers = workers;
  trace.part = part;
  trace.events_max = events_max;
  trace.next_other_thread = 0;
  trace.start_ns = now_ns();
  trace.start_ticks = ticks();
  trace_number.fetch_add(1, std::memory_order_relaxed);
  forget_flows();
  event_file_on.store(path.ends_with(event_file::suffix), std::memory_order_relaxed);
  timeline_on.store(true, std::memory_order_relaxed);
  set_trace_on();
}

void listen_to_events(event_listener* to_tell) noexcept {
  listener.store(to_tell, std::memory_order_relaxed);
  set_trace_on();
}

void listen_as_tool(tool_listener* to_tell) noexcept {
  tool.store(to_tell, std::memory_order_relaxed);
  set_trace_on();
}

void tell_tool(const told_event& what) noexcept {
  if (tool_listener* const tell = tool.load(std::memory_order_relaxed); tell != nullptr) tell(what);
}

void trace_thread(int worker) {
  if (timeline_on.load(std::memory_order_relaxed)) join_trace(worker);
}

void stop_trace() {
  trace_state& trace = state();
  const std::lock_guard lock(trace.mutex);
  if (!trace.file) return;
  timeline_on.store(false, std::memory_order_relaxed);
  event_file_on.store(false, std::memory_order_relaxed);
  set_trace_on();
  trace_number.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t end_ticks = ticks();
  // The longer of the two measurements is the better one.
  const std::uint64_t span_ns = now_ns() - trace.start_ns;
  const double ratio =
      span_ns < 10'000'000
          ? ns_per_tick()
          : static_cast<double>(span_ns) / static_cast<double>(end_ticks - trace.start_ticks);

  std::FILE* const file = trace.file.get();
  const timeline::clock_of_trace clock{trace.start_ns, trace.start_ticks, ratio};
  std::uint64_t dropped = 0;
  for (const auto& ring : trace.rings) dropped += ring->dropped();
  if (trace.path.ends_with(event_file::suffix))
    write_event_file(trace, clock, end_ticks, dropped);
  else
    write_timeline(trace, clock, end_ticks, dropped);
  trace.rings.clear();
  const bool failed = std::ferror(file) != 0;
  const bool closed = std::fclose(trace.file.release()) == 0;
  if (failed || !closed)
    throw error(formatted("cannot write the trace {}: {}; the file is not complete", trace.path,
                          std::strerror(errno)));
  if (dropped != 0)
    log_line("{}: the first {} events are missing; a thread keeps its last {}", trace.path, dropped,
             trace.events_max);
}

}  // namespace weft

void weft_note_caller(const void* return_address) {
  weft::noted_caller = return_address;
}
