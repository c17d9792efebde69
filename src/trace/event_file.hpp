// Event files: what ranks did when, for programs that read on: weftrun --trace FILE.events. Unlike a timeline they
// have the calls of the program, the sizes of messages, and which collectives belong together.
//
// A file is a row of parts, one for each process: header, places, events. Times are those of the clock that all
// processes of a host share. Readers believe nothing of it (breakdown/event_log.hpp).
#pragma once
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/accounts.hpp"
#include "trace/trace.hpp"

namespace weft {
namespace timeline {
struct event;
struct clock_of_trace;
}  // namespace timeline

namespace event_file {

inline constexpr std::string_view suffix = ".events";
inline constexpr std::uint64_t magic = 0x3130'7374'6e65'7665;  // "events01"

struct part_header {
  std::uint64_t magic = event_file::magic;
  std::uint32_t header_bytes = sizeof(part_header);
  std::uint32_t event_bytes = 0;
  std::int32_t process = 0, processes = 1;
  std::int32_t workers = 1;
  std::int32_t unused = 0;
  double begun_ns = 0, ended_ns = 0;  // Nothing is missing in between.
  std::uint64_t missing = 0;          // Events before, which were overwritten.
  std::uint64_t places = 0, events = 0;
  char program[256] = {};
};

// Where the program called, or the name of a region.
struct place_row {
  char name[40] = {};     // Of the call.
  char object[256] = {};  // The file that has the code; empty: not known.
  std::uint64_t offset = 0;
};

inline constexpr std::uint32_t no_place = 0xffff'ffff;

struct event_row {
  double ns;
  std::int64_t argument;
  std::int64_t bytes;
  std::int32_t rank;
  std::uint32_t place;
  std::uint16_t worker;
  trace_kind kind;
  trace_phase phase;
  std::uint32_t unused;
};
static_assert(sizeof(event_row) == 40);

// Which collective a rank is in, as the argument of its event: those of one have all but `is_root` in common.
struct meeting {
  std::uint32_t communicator = 0;  // A mixture of what names it.
  std::uint64_t turn = 0;
  accounts::relation how = accounts::relation::all;
  bool is_root = false;
};
inline constexpr int turn_bits = 32, communicator_bits = 28;
[[nodiscard]] constexpr std::int64_t packed(const accounts::meeting_name& m) noexcept {
  std::uint64_t mixed = (std::uint64_t{static_cast<std::uint32_t>(m.first)} << 32 | m.context) ^
                        std::uint64_t{static_cast<std::uint32_t>(m.size)} << 17;
  mixed *= 0x9e37'79b9'7f4a'7c15;
  return static_cast<std::int64_t>(mixed >> (64 - communicator_bits) << (turn_bits + 3) |
                                   (m.turn & 0xffff'ffff) << 3 |
                                   static_cast<std::uint64_t>(m.how) << 1 | (m.is_root ? 1 : 0));
}
[[nodiscard]] constexpr meeting unpacked(std::int64_t argument) noexcept {
  const auto bits = static_cast<std::uint64_t>(argument);
  return {static_cast<std::uint32_t>(bits >> (turn_bits + 3)), bits >> 3 & 0xffff'ffff,
          static_cast<accounts::relation>(bits >> 1 & 3), (bits & 1) != 0};
}

// The same text as long as the process lives.
[[nodiscard]] const char* kept_name(const char* name);

// What stop_trace() writes, on its one thread.
class part_writer {
 public:
  explicit part_writer(const timeline::clock_of_trace& clock) : clock_(clock) {}
  void add(const timeline::event& e, int worker);

  struct bounds {
    int process, processes, workers;
    std::uint64_t begun_ticks, ended_ticks, missing;
  };
  // Behind what other processes have written; the file stays locked until it is closed.
  void write(std::FILE* file, const bounds& of) const;

 private:
  [[nodiscard]] std::uint32_t place_of(const timeline::event& e);

  const timeline::clock_of_trace& clock_;
  std::vector<event_row> events_;
  std::vector<place_row> places_;
  std::map<std::pair<std::int64_t, const char*>, std::uint32_t> numbers_;
};

}  // namespace event_file
}  // namespace weft
