// What the accounts of a job say: shares, efficiencies, who caused which waits, and what to do about it.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "breakdown/record.hpp"
#include "breakdown/run_summary.hpp"

namespace weft::breakdown {

[[nodiscard]] const char* name_of(profile::share s) noexcept;
[[nodiscard]] const char* name_of(profile::wait_state s) noexcept;

// Factors whose product is `parallel`, after POP; of workers, where several ranks share one.
struct efficiencies {
  double parallel = 0;       // Useful computation of all against time x workers.
  double load_balance = 0;   // Mean against maximum.
  double communication = 0;  // Maximum against time.
  double serialisation = 0;  // Maximum against the time of an ideal network.
  double transfer = 0;       // The time of an ideal network against the time.
  // Both are parts of `parallel`: what ranks computed for themselves, and for others while they waited.
  double own = 0;
  double stolen = 0;
  double ideal_seconds = 0;  // The longest chain of computation.
};

struct rank_summary {
  int rank = 0;
  int process = 0;
  int worker = 0;
  bool has_run = false;
  bool has_ended = false;
  double seconds = 0;
  double could_run_elsewhere = 0;  // Seconds in which it could run although a core was free.
  std::array<double, profile::share_count> share_seconds{};
  std::string
      last_call;  // The call in which the rank was if it did not end: "MPI_Recv in f at a.c:3".
};

// Waits with the same state, place and cause.
struct wait_group {
  profile::wait_state state{};
  std::string at;        // The place where they wait: "MPI_Recv in main at a.c:12".
  int cause = -1;        // The rank that came late; -1: not known, or none in particular.
  std::string cause_at;  // The call with which it came; empty: not known.
  std::vector<int> waiters;
  double seconds = 0;  // The sum over all that wait.
  std::uint64_t count = 0;
  double longest = 0;
};

// Calls at one place of the program, and the computation that leads there.
struct place_summary {
  std::string at;
  std::uint64_t calls = 0;
  double computing = 0;  // Seconds of all ranks.
  double in_calls = 0;
  profile::spread times;       // Ticks of each call.
  double least = 0, most = 0;  // The same, in seconds.
  profile::spread sent;        // Bytes of each message and collective.
  [[nodiscard]] double mean() const noexcept {
    return times.count == 0 ? 0 : in_calls / static_cast<double>(times.count);
  }
  int ranks = 0;  // The number of those that came there.
  int slowest = -1;
  double slowest_seconds = 0;
};

// What POP's efficiencies are within a region of the program, or one time of it.
struct region_summary {
  std::string name;
  int iteration = -1;         // -1: all of them.
  std::uint64_t entries = 0;  // How often the rank that entered it most often did.
  int ranks = 0;
  double seconds = 0;  // The time of the worker that was in it longest.
  double parallel = 0, load_balance = 0, communication = 0, serialisation = 0, transfer = 0;
  double stolen = 0;   // The part of `parallel` that was for other ranks.
  double waiting = 0;  // The part of the time of all ranks.
};

struct exchange {
  int from = 0, to = 0;
  std::uint64_t messages = 0, bytes = 0;
  double waiting = 0;  // Seconds that `from` waited for `to`.
};

struct message_summary {
  std::uint64_t sent = 0, bytes = 0, received = 0, unexpected = 0, rendezvous = 0, collectives = 0;
  std::array<profile::size_class, profile::size_classes> sizes{};
};

struct summary {
  std::string program, host, processor, settings;
  int ranks = 0, processes = 0, workers = 0;
  int cores = 0;  // As many as workers, or as many as those share.
  int exit_status = 0;
  int ended = 0;  // Ranks that came to their end.
  int seen = 0;   // Ranks whose accounts are here.
  double seconds = 0;
  double rank_seconds = 0;  // The sum over all ranks.
  std::array<double, profile::share_count> share_seconds{};
  std::array<double, profile::wait_state_count> state_seconds{};
  efficiencies efficiency;
  std::vector<rank_summary> by_rank;
  std::vector<wait_group> waits;      // The longest first.
  std::vector<place_summary> places;  // Those of most computation and calls first.
  std::vector<exchange> exchanges;    // Those of most bytes first.
  message_summary messages;
  std::vector<region_summary> regions;     // The longest first.
  std::vector<region_summary> iterations;  // They are in their order, region by region.
  std::uint64_t causes_lost = 0;
  // Of all ranks: they could run, as far as is known, and did not, although a core of their process was free.
  double could_run_elsewhere_seconds = 0;
  std::vector<std::string> advice;
  std::optional<run_summary> run;  // What the events say, where there are any.
};

[[nodiscard]] summary summarise(const record& r);

// Calls of one rank at one place.
struct rank_calls {
  int rank = 0;
  std::string at;
  double computing = 0;  // Seconds, before them.
  profile::spread times, sent;
};
// Rank by rank, in the order in which each came there first.
[[nodiscard]] std::vector<rank_calls> calls_by_rank(const record& r);

}  // namespace weft::breakdown
