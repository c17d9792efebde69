// What the accounts know of a worker that changes its threads. A thread keeps that of the worker which it runs.
#pragma once
#include <cstdint>

namespace weft::profile {

struct live;

struct worker_accounts {
  live* running = nullptr;         // The rank whose code it runs.
  live* ran_last = nullptr;        // The rank that ran last, whose wait gives the worker its time.
  std::uint64_t nobody_since = 0;  // When a stolen chunk began while it ran no rank.
  std::uint64_t first_begun = 0;   // When its first rank began.
  std::uint64_t engaged_from =
      0;  // When it has looked at no mail last: while a rank computed, or while it waited
  std::uint64_t engaged_until = 0;  // for a thread.
  std::uint64_t paid = 0;           // What it has paid of an experiment.
};

// The calling thread has `with` from now on, and `with` becomes what it has had.
void exchange_accounts(worker_accounts& with) noexcept;

// Called by the thread that runs the worker, which had none in between.
void note_engaged(std::uint64_t from, std::uint64_t until) noexcept;

}  // namespace weft::profile
