#include "trace/trace.hpp"

#include <fcntl.h>
#include <sys/file.h>
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
#include <vector>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "trace/accounts.hpp"
#include "weft/error.hpp"

namespace weft {

constinit std::atomic<bool> trace_on{false};

namespace {

struct event {
  std::uint64_t time_ticks;
  std::int64_t argument;
  std::int32_t rank;
  trace_kind kind;
  trace_phase phase;
};
static_assert(sizeof(event) == 24);

// Written by its thread alone while the trace is on; read by stop_trace() afterwards.
struct event_ring {
  event_ring(int thread_number, std::size_t events_max)
      : thread(thread_number),
        capacity(events_max),
        // Not initialised, so that pages are touched only as events arrive.
        events(std::make_unique_for_overwrite<event[]>(events_max)) {}

  void push(const event& e) noexcept { events[count++ % capacity] = e; }
  std::uint64_t dropped() const noexcept { return count > capacity ? count - capacity : 0; }
  const event& at(std::uint64_t i) const noexcept { return events[i % capacity]; }

  int thread;  // The worker's number, or one above all of them.
  std::size_t capacity;
  std::uint64_t count = 0;
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

// Who takes events: trace_on while anybody does. Relaxed, as that.
constinit std::atomic<bool> timeline_on{false};
constinit std::atomic<bool> accounts_on{false};
void set_trace_on() noexcept {
  trace_on.store(
      timeline_on.load(std::memory_order_relaxed) || accounts_on.load(std::memory_order_relaxed),
      std::memory_order_relaxed);
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

// How a kind looks in the timeline.
struct kind_style {
  const char* category;
  const char* name;      // {} is the rank.
  const char* argument;  // Empty: the event has none.
  bool on_rank_track;
};
constexpr std::array<kind_style, trace_kind_count> styles{{
    {"wait", "wait to receive", "source", true},
    {"wait", "wait to send", "destination", true},
    {"wait", "wait in collective", "", true},
    {"run", "rank {}", "", false},
    {"chunk", "chunk of rank {}", "first chunk", false},
    {"stolen", "chunk of rank {} (stolen)", "first chunk", false},
    {"message", "send", "destination", false},
    {"message", "receive", "source", false},
    {"park", "park", "", false},
    {"copy", "copy", "bytes", false},
    {"wait", "sleep", "", true},
    {"wait", "wait for thieves", "", true},
}};

const kind_style& style_of(trace_kind kind) {
  return styles[static_cast<std::size_t>(kind)];
}

// Groups of tracks. Ranks are numbered over all processes, workers in each.
constexpr int rank_group = 1;  // Viewers take 0 for the processor that idles.
constexpr int group_of_workers(const trace_part& part) noexcept {
  return 2 + part.process;
}

// The track of a worker, thread or rank. Viewers take track 0 of a group for the one whose number is
// the group's.
constexpr int tracks_begin = 1'000'000;  // Beyond the number of any group.
constexpr int track_of(int number) noexcept {
  return tracks_begin + number;
}

// Turns events into the objects of Chrome's trace format, which Perfetto reads. Behind the events of
// other processes when the file has some.
class json_writer {
 public:
  json_writer(std::FILE* file, const trace_state& trace, double ns_per_tick)
      : file_(file),
        workers_(group_of_workers(trace.part)),
        start_ns_(trace.start_ns),
        start_ticks_(trace.start_ticks),
        ns_per_tick_(ns_per_tick) {
    const int descriptor = fileno(file);
    flock(descriptor, LOCK_EX);  // Until it is closed.
    const off_t written = lseek(descriptor, 0, SEEK_END);
    first_ = written <= static_cast<off_t>(end.size());
    if (first_)
      write(R"({"displayTimeUnit":"ns","traceEvents":[)");
    else if (std::fseek(file, static_cast<long>(written) - static_cast<long>(end.size()),
                        SEEK_SET) != 0)
      log_line("cannot add to the trace: {}", std::strerror(errno));
  }

  void group(int group, const std::string& name) {
    metadata("process_name", group, 0, formatted(R"("name":"{}")", name));
    // Ranks stand below the workers.
    metadata("process_sort_index", group, 0,
             formatted(R"("sort_index":{})", group == rank_group ? 1 << 20 : group));
  }
  void note(int group, const std::string& text) {
    metadata("process_labels", group, 0, formatted(R"("labels":"{}")", text));
  }

  void track(int group, int number, const std::string& name) {
    metadata("thread_name", group, track_of(number), formatted(R"("name":"{}")", name));
    metadata("thread_sort_index", group, track_of(number), formatted(R"("sort_index":{})", number));
  }

  void slice(const event& begin, std::uint64_t end_ticks, int worker) {
    object(formatted(R"("ph":"X","ts":{:.3f},"dur":{:.3f},{})", time_us(begin.time_ticks),
                     time_us(end_ticks) - time_us(begin.time_ticks),
                     place_and_name(begin, worker)));
  }

  void instant(const event& e, int worker) {
    object(formatted(R"("ph":"i","s":"t","ts":{:.3f},{})", time_us(e.time_ticks),
                     place_and_name(e, worker)));
  }

  void finish() { write(end); }

 private:
  void metadata(const char* kind, int group, int track, const std::string& arguments) {
    object(formatted(R"("ph":"M","name":"{}","pid":{},"tid":{},"args":{{{}}})", kind, group, track,
                     arguments));
  }

  std::string place_and_name(const event& e, int worker) {
    const kind_style& style = style_of(e.kind);
    const std::string name = fmt::format(fmt::runtime(style.name), e.rank);
    std::string arguments = e.kind == trace_kind::park ? "" : formatted(R"("rank":{})", e.rank);
    if (*style.argument != '\0') arguments += formatted(R"(,"{}":{})", style.argument, e.argument);
    return formatted(R"("pid":{},"tid":{},"cat":"{}","name":"{}","args":{{{}}})",
                     style.on_rank_track ? rank_group : workers_,
                     track_of(style.on_rank_track ? e.rank : worker), style.category, name,
                     arguments);
  }

  // Of the clock that all processes of a host share.
  double time_us(std::uint64_t ticks) const {
    return (static_cast<double>(start_ns_) +
            static_cast<double>(ticks - start_ticks_) * ns_per_tick_) /
           1000;
  }

  void object(const std::string& fields) {
    write(formatted("{}\n{{{}}}", first_ ? "" : ",", fields));
    first_ = false;
  }

  void write(std::string_view text) { std::fwrite(text.data(), 1, text.size(), file_); }

  static constexpr std::string_view end = "\n]}\n";

  std::FILE* file_;
  int workers_;
  std::uint64_t start_ns_;
  std::uint64_t start_ticks_;
  double ns_per_tick_;
  bool first_;
};

// Pairs begins with ends. A begin may be missing (overwritten) as may an end (still open when the
// trace stopped): the first is left out, the second lasts until the end of the trace.
void write_ring(json_writer& json, const event_ring& ring, std::uint64_t end_ticks) {
  std::vector<event> open;            // Slices of the worker's track, innermost last.
  std::map<int, event> open_of_rank;  // The wait each rank is in.
  for (std::uint64_t i = ring.dropped(); i < ring.count; ++i) {
    const event& e = ring.at(i);
    const bool on_rank_track = style_of(e.kind).on_rank_track;
    if (e.phase == trace_phase::instant) {
      json.instant(e, ring.thread);
    } else if (e.phase == trace_phase::begin) {
      if (on_rank_track)
        open_of_rank[e.rank] = e;
      else
        open.push_back(e);
    } else if (on_rank_track) {
      const auto begin = open_of_rank.find(e.rank);
      if (begin == open_of_rank.end()) continue;
      json.slice(begin->second, e.time_ticks, ring.thread);
      open_of_rank.erase(begin);
    } else if (!open.empty() && open.back().kind == e.kind && open.back().rank == e.rank) {
      json.slice(open.back(), e.time_ticks, ring.thread);
      open.pop_back();
    }
  }
  for (const event& begin : open) json.slice(begin, end_ticks, ring.thread);
  for (const auto& [rank, begin] : open_of_rank) json.slice(begin, end_ticks, ring.thread);
}

void name_tracks(json_writer& json, const trace_state& trace) {
  const int workers = group_of_workers(trace.part);
  json.group(workers, trace.part.process_count == 1 ? "workers"
                                                    : formatted("process {}", trace.part.process));
  json.group(rank_group, "ranks");
  for (int worker = 0; worker < trace.workers; ++worker)
    json.track(workers, worker, formatted("worker {}", worker));
  std::set<int> ranks;
  for (const auto& ring : trace.rings) {
    if (ring->thread >= trace.workers)
      json.track(workers, ring->thread, formatted("thread {}", ring->thread));
    for (std::uint64_t i = ring->dropped(); i < ring->count; ++i) {
      const event& e = ring->at(i);
      if (style_of(e.kind).on_rank_track) ranks.insert(e.rank);
    }
  }
  for (const int rank : ranks) json.track(rank_group, rank, formatted("rank {}", rank));
}

}  // namespace

void record_trace_event(trace_phase phase, trace_kind kind, int rank,
                        std::int64_t argument) noexcept {
  if (accounts_on.load(std::memory_order_relaxed)) accounts::note_event(phase, kind, rank);
  if (!timeline_on.load(std::memory_order_relaxed)) return;
  event_ring* const ring = joined() ? this_thread.ring : join_trace(-1);
  ring->push({ticks(), argument, rank, kind, phase});
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
  timeline_on.store(true, std::memory_order_relaxed);
  set_trace_on();
}

void trace_accounts(bool on) noexcept {
  accounts_on.store(on, std::memory_order_relaxed);
  set_trace_on();
}

void trace_thread(int worker) {
  if (timeline_on.load(std::memory_order_relaxed)) join_trace(worker);
}

void stop_trace() {
  trace_state& trace = state();
  const std::lock_guard lock(trace.mutex);
  if (!trace.file) return;
  timeline_on.store(false, std::memory_order_relaxed);
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
  json_writer json(file, trace, ratio);
  name_tracks(json, trace);
  std::uint64_t dropped = 0;
  for (const auto& ring : trace.rings) {
    write_ring(json, *ring, end_ticks);
    dropped += ring->dropped();
  }
  if (dropped != 0)
    json.note(group_of_workers(trace.part), formatted("the first {} events are missing", dropped));
  json.finish();
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
