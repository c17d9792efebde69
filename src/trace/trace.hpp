// Trace points: what each worker and each rank does when, for a timeline in ui.perfetto.dev.
//
// An event goes into the ring of its thread; nothing is shared, formatted or written before
// stop_trace(). A ring that is full overwrites its oldest events, and their number is reported.
//
// Slices of a worker's track (run, task, chunk, copy, park) begin and end on that thread and nest. Waits
// are slices of the rank's own track: while one rank of a worker waits, others run.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.hpp"
#include "base/limits.hpp"

namespace weft {

enum class trace_kind : std::uint8_t {  // argument of the event
  wait_recv,                            // source
  wait_send,                            // destination
  wait_collective,                      // none
  run,                                  // none; from a switch to the rank until the switch away
  chunk_own,                            // first chunk
  chunk_stolen,                         // first chunk; `rank` is the owner
  send,                                 // destination
  recv,                                 // source
  park,                                 // none; `rank` is of no meaning
  copy,                                 // bytes
  sleep,                                // none
  wait_chunks,                          // none; the owner of a loop, for thieves
  call,                                 // return address; in event files alone, as what follows
  region,                               // none; its text is the name of the region
  task,         // none; a fiber that runs tasks; `rank` ran before on its worker
  wait_memory,  // none; for a word that another rank writes
  wait_task,    // none; for a task or a promise
  beside,       // none; a fiber of the rank beside its own code
  move,         // the thread's number; its worker goes on on another one. `rank` is of no meaning
  no_thread,    // none; its worker has something to do or not, and no thread runs it. Likewise
};
inline constexpr int trace_kind_count = 20;

// Read in place: by a table of the linker each look would be two loads.
[[gnu::visibility("hidden")]] extern std::atomic<bool> trace_on;

enum class trace_phase : std::uint8_t { begin, end, instant };
// `more` and `text` are for event files (event_file.hpp): the bytes of a message or collective, and the name
// of the call, which stays where it is until the trace stops. Each look at the clock takes some 10 ns: `now` is for those
// who have looked.
void record_trace_event(trace_phase, trace_kind, int rank, std::int64_t argument,
                        std::int64_t more = 0, const char* text = nullptr,
                        std::uint64_t now = ticks()) noexcept;

// Relaxed: the flag changes only while no worker runs, and starting a thread orders it.
inline bool tracing() noexcept {
  return trace_on.load(std::memory_order_relaxed);
}

inline void trace_begin(trace_kind kind, int rank, std::int64_t argument = 0, std::int64_t more = 0,
                        const char* text = nullptr) noexcept {
  if (tracing()) [[unlikely]]
    record_trace_event(trace_phase::begin, kind, rank, argument, more, text);
}

inline void trace_end(trace_kind kind, int rank) noexcept {
  if (tracing()) [[unlikely]]
    record_trace_event(trace_phase::end, kind, rank, 0);
}

inline void trace_instant(trace_kind kind, int rank, std::int64_t argument = 0,
                          std::int64_t more = 0) noexcept {
  if (tracing()) [[unlikely]]
    record_trace_event(trace_phase::instant, kind, rank, argument, more);
}

// One slice as long as a block. Never across a switch to another fiber, unless it is a wait.
class trace_span {
 public:
  trace_span(trace_kind kind, int rank, std::int64_t argument = 0,
             const char* text = nullptr) noexcept
      : kind_(kind), rank_(rank) {
    trace_begin(kind, rank, argument, 0, text);
  }
  ~trace_span() { trace_end(kind_, rank_); }
  trace_span(const trace_span&) = delete;
  trace_span& operator=(const trace_span&) = delete;

 private:
  trace_kind kind_;
  int rank_;
};

// Which part of a timeline this process writes. Processes of one host write into one file.
struct trace_part {
  int process = 0;
  int process_count = 1;
  bool first = true;      // The first of its host empties the file, before any of them ends.
  int ranks = 1;          // The number that the job has.
  std::uint64_t job = 0;  // The same in all its processes, and in no other job.
};

// Opens the file and starts recording; throws weft::error when the file cannot be written or a
// trace is on already. Called while no worker runs, as is stop_trace(). A thread keeps its last
// `events_max` events.
void start_trace(const std::string& path, int workers, const trace_part& part = {},
                 std::size_t events_max = trace_events_max);

// Each worker's thread calls it before its first event; other threads get tracks of their own.
void trace_thread(int worker);

// Adds the events to the file, which is complete after each process; throws weft::error when that
// fails. Does nothing when no trace is on.
void stop_trace();

// Whether an event file is recorded, which has the calls of the program as well.
[[nodiscard]] bool is_event_file_on() noexcept;

// record_trace_event() tells `to_tell` each event as well; null: nobody. Called while no worker runs.
using event_listener = void(trace_phase, trace_kind, int rank, std::uint64_t now) noexcept;
void listen_to_events(event_listener* to_tell) noexcept;

}  // namespace weft
