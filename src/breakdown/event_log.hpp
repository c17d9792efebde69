// What an event file holds (trace/event_file.hpp), rank by rank: read with nothing in it believed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event_file.hpp"

namespace weft::breakdown {

struct log_event {
  double ns;
  std::int64_t argument;
  std::uint64_t bytes;
  std::int32_t place;   // -1: none.
  std::int32_t worker;  // Counted over all processes.
  trace_kind kind;
  trace_phase phase;
};

struct log_place {
  std::string call;
  std::string where;  // "main at heat.c:40"; empty: not known.
};

struct event_log {
  std::string program;
  std::uint64_t job = 0;  // The number that the record of its accounts has.
  int processes = 1;
  int workers = 1;  // The sum over all processes.
  double begun_ns = 0, ended_ns = 0;
  std::uint64_t missing = 0;
  std::vector<log_place> places;
  std::vector<std::vector<log_event>> of_rank;  // Those of a rank are in the order of time.
  std::vector<std::int32_t> process_of_rank, worker_of_rank;

  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(of_rank.size()); }
};

// Throws weft::error of one line, which names file, field and what is allowed. `with_places`: looks up where
// the calls are, which takes a while.
[[nodiscard]] event_log read_event_log(const std::string& path, bool with_places);
[[nodiscard]] event_log parse_event_log(std::string_view content, std::string_view file,
                                        bool with_places);

}  // namespace weft::breakdown
