// A timeline that has been recorded, and the forms in which it is written. Called by stop_trace() alone, but for
// keep_event().
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "trace/trace.hpp"

namespace weft::timeline {

struct event {
  std::uint64_t time_ticks;
  std::int64_t argument;
  std::int64_t more;  // This and the text are for event files.
  const char* text;
  std::int32_t rank;
  trace_kind kind;
  trace_phase phase;
};
static_assert(sizeof(event) == 40);

// Into the ring of the calling thread, while a timeline is recorded. Those of a thread come in the order of their times.
void keep_event(const event& e) noexcept;

// Takes back the last event of the calling thread, if it is the begin of that call.
[[nodiscard]] bool take_back_call(int rank, std::uint64_t begun_ticks) noexcept;

// How a kind looks.
struct kind_style {
  const char* category;
  const char* name;      // {} is the rank.
  const char* argument;  // Empty: the event has none.
  bool on_rank_track;
};
[[nodiscard]] const kind_style& style_of(trace_kind kind) noexcept;
[[nodiscard]] std::string name_of(const event& e);
// The argument of a message has no flow here (flows.hpp).
[[nodiscard]] std::int64_t argument_of(const event& e) noexcept;
// The flow that leads from a send to its receive; 0: none is known.
[[nodiscard]] std::uint64_t flow_of(const event& e) noexcept;

// Groups of tracks. Ranks are numbered over all processes, workers in each.
inline constexpr int rank_group = 1;  // Viewers take 0 for the processor that idles.
[[nodiscard]] constexpr int group_of_workers(const trace_part& part) noexcept {
  return 2 + part.process;
}

// When events were, on the clock that all processes of a host share.
struct clock_of_trace {
  std::uint64_t start_ns;
  std::uint64_t start_ticks;
  double ns_per_tick;
  [[nodiscard]] double ns(std::uint64_t ticks) const noexcept {
    return static_cast<double>(start_ns) +
           static_cast<double>(static_cast<std::int64_t>(ticks - start_ticks)) * ns_per_tick;
  }
};

// Numbers over time that a process shows.
enum class counter : std::uint8_t { ranks_waiting, workers_asleep, messages_under_way };
inline constexpr std::array counter_names{"ranks that wait", "workers asleep",
                                          "messages under way"};

// Adds to what other processes have written into the file, which stays locked until it is closed. Events of a
// track come in the order of their times, and nest.
class writer {
 public:
  virtual ~writer() = default;
  // `note`: what a reader must know of all that is in it; may be empty.
  virtual void group(int group, const std::string& name, const std::string& note) = 0;
  virtual void track(int group, int number, const std::string& name) = 0;
  virtual void begin(const event& e, int worker) = 0;
  // Ends the slice that `begun` began.
  virtual void end(const event& begun, std::uint64_t end_ticks, int worker) = 0;
  virtual void instant(const event& e, int worker) = 0;
  virtual void count(counter which, std::uint64_t ticks, std::int64_t value) = 0;
  virtual void finish() = 0;
};

// Chrome's JSON, for a file whose name ends so.
[[nodiscard]] std::unique_ptr<writer> make_json_writer(std::FILE* file, const trace_part& part,
                                                       const clock_of_trace& clock);
// Perfetto's own format: length-delimited packets, so that what processes write one after another is one trace.
[[nodiscard]] std::unique_ptr<writer> make_perfetto_writer(std::FILE* file, const trace_part& part,
                                                           const clock_of_trace& clock);

}  // namespace weft::timeline
