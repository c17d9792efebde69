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
#include <tuple>
#include <vector>

#include "base/limits.hpp"
#include "trace/mixing.hpp"
#include "trace/names.hpp"
#include "trace/trace.hpp"

namespace weft {
namespace timeline {
struct event;
struct clock_of_trace;
}  // namespace timeline

namespace event_file {

inline constexpr std::string_view suffix = ".events";
inline constexpr std::uint64_t magic = 0x3330'7374'6e65'7665;  // "events03"

struct part_header {
  std::uint64_t magic = event_file::magic;
  std::uint32_t header_bytes = sizeof(part_header);
  std::uint32_t event_bytes = 0;
  std::uint32_t checksum = 0;  // The sum of the whole part, in which this field is 0.
  std::int32_t ranks = 1;      // The number that the job has.
  std::uint64_t job = 0;       // The same in all its processes, and in no other job.
  std::int32_t process = 0, processes = 1;
  std::int32_t workers = 1;
  std::int32_t unused = 0;
  double begun_ns = 0, ended_ns = 0;  // Nothing is missing in between.
  std::uint64_t missing = 0;          // Events before, which were overwritten.
  std::uint64_t places = 0, events = 0;
  char program[256] = {};
};

inline constexpr std::uint32_t no_place = 0xffff'ffff;

// A place from which the program called, or the name of a region.
struct place_row {
  char name[64] = {};     // The name of the call; empty: it is one of a path.
  char object[256] = {};  // The file that has the code; empty: not known.
  std::uint64_t offset = 0;
  // Which row, of a lower number, has the next call of the path: of a call of weft's that is the call itself, of the others
  // their caller. no_place: not known.
  std::uint32_t path = no_place;
  std::uint32_t unused = 0;
};

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

// What events mean here that a timeline does not show. Instants: wait_recv: a probe has found this message, as the argument of a
// receive has it; wait_send: the message that the rank has sent last is kept for its receive; wait_collective: what goes on
// beside the rank's own code comes to a collective; wait_task: what another one waits for is computed so far; wait_memory: the
// rank has asked again and again, for so many nanoseconds as it has bytes, for what has come now; of those calls the first and
// the last are kept. The end of a
// wait_collective that is no wait of the rank itself has the collective as its argument, and waits for messages beside it
// have this in place of their bytes.
inline constexpr std::int64_t goes_on_beside = 1;

// Which collective a rank is in, as the argument of its event: those of one have all but `is_root` in common.
struct meeting {
  std::uint64_t communicator = 0;  // A mixture of what names it.
  std::uint64_t turn = 0;          // The last bits of it.
  collective_relation how = collective_relation::all;
  bool is_root = false;
};
// More turns than a thread keeps events.
inline constexpr int root_bits = 1, how_bits = 2, turn_bits = 22;
inline constexpr int communicator_bits = 64 - turn_bits - how_bits - root_bits;
static_assert(trace_events_max < std::size_t{1} << turn_bits);
[[nodiscard]] constexpr std::int64_t packed(const collective_name& m) noexcept {
  const std::uint64_t communicator =
      mixed(std::uint64_t{static_cast<std::uint32_t>(m.first)} << 32 | m.context,
            std::uint64_t{static_cast<std::uint32_t>(m.size)}) >>
      (64 - communicator_bits);
  std::uint64_t bits = communicator << turn_bits | (m.turn & ((1U << turn_bits) - 1));
  bits = bits << how_bits | static_cast<std::uint64_t>(m.how);
  return static_cast<std::int64_t>(bits << root_bits | (m.is_root ? 1 : 0));
}
[[nodiscard]] constexpr meeting unpacked(std::int64_t argument) noexcept {
  const auto bits = static_cast<std::uint64_t>(argument);
  return {bits >> (turn_bits + how_bits + root_bits),
          bits >> (how_bits + root_bits) & ((1U << turn_bits) - 1),
          static_cast<collective_relation>(bits >> root_bits & ((1U << how_bits) - 1)),
          (bits & 1) != 0};
}

// The same text as long as the process lives.
[[nodiscard]] const char* kept_name(const char* name);

// What stop_trace() writes, on its one thread.
class part_writer {
 public:
  explicit part_writer(const timeline::clock_of_trace& clock) : clock_(clock) {}
  void add(const timeline::event& e, int worker);

  struct bounds {
    trace_part part;
    int workers;
    std::uint64_t begun_ticks, ended_ticks, missing;
  };
  // Adds to what other processes have written; the file stays locked until it is closed.
  void write(std::FILE* file, const bounds& of) const;

 private:
  // The path is the number of call_tree.hpp; 0: none.
  [[nodiscard]] std::uint32_t place_of(std::int64_t address, const char* text, std::uint32_t path);

  const timeline::clock_of_trace& clock_;
  std::vector<event_row> events_;
  std::vector<place_row> places_;
  std::map<std::tuple<std::int64_t, const char*, std::uint32_t>, std::uint32_t> numbers_;
};

}  // namespace event_file
}  // namespace weft
