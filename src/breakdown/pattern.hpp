// What a recorded program does, rank by rank, without when: computation of so long, messages to and from whom,
// collectives. Such steps can be run again on another machine, by other numbers of ranks, or with a part made faster.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "breakdown/event_log.hpp"

namespace weft::breakdown {

enum class step_kind : std::uint8_t {
  compute,  // The program's own code runs.
  in_call,  // The rank is in weft, and does not wait.
  sleep,    // The program asked for it.
  send,     // Message `number` of those to `peer`.
  post,     // The receive of that message of `peer` exists from here on.
  receive,  // What follows needs that message of `peer`.
  found,    // What follows needs that message of `peer`, which is received later.
  caused,  // What follows needs what `peer` did `ns` before the end of this; -1: nobody knows whom.
  taken,   // What follows needs `peer` to have posted the receive of that message to it.
  collective,  // `peer` is the collective's number in `pattern::meetings`: it comes there, and waits for the others.
  come,        // It comes to that collective, which goes on beside its own code.
  met,         // What follows needs that collective's end.
};

struct step {
  step_kind kind = step_kind::compute;
  bool is_stolen = false;  // It is a wait in which others' chunks ran.
  std::int32_t peer = -1;
  std::int32_t place =
      -1;  // The call that it belongs to, or that ends a computation; -1: not known.
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
  double ns = 0;      // How long it took; of a wait, until it was over.
  double end_ns = 0;  // When it was over, in the time of the record.
};

// The collectives of one communicator are met by the same ranks.
struct communicator_of_pattern {
  std::vector<std::int32_t> ranks;
};
struct meeting_of_pattern {
  std::int32_t communicator = 0;
  std::int32_t root = -1;  // The rank; -1: none.
  collective_relation how = collective_relation::all;
  std::uint64_t bytes = 0;
  std::string name;
};

struct pattern {
  std::string program;
  std::vector<log_place> places;
  std::vector<std::vector<step>> of_rank;
  std::vector<std::int32_t> worker_of_rank;
  int workers = 1;
  int processes = 1;
  std::vector<communicator_of_pattern> communicators;
  std::vector<meeting_of_pattern> meetings;
  double begun_ns = 0;               // When its first rank began.
  double recorded_ns = 0;            // The time from then until the last one ended.
  std::uint64_t without_sender = 0;  // Messages whose send is not in the record.

  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(of_rank.size()); }
};

[[nodiscard]] pattern pattern_of(const event_log& log);

}  // namespace weft::breakdown
