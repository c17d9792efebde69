// What the scheduler switches between, and what a fiber can wait for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/limits.hpp"
#include "fiber/context.hpp"

namespace weft {

class worker;

// Says to a person what a fiber waits for. Lives until the wait ends; read by its worker.
struct wait_description {
  static constexpr std::uint32_t no_context = ~std::uint32_t{0};
  // In place of a context: `subject` is what the waiting module says of the wait (job/face.hpp).
  static constexpr std::uint32_t in_words = no_context - 1;
  const char* call = "";               // "recv", "barrier", ...
  std::uint32_t context = no_context;  // The communicator's context id.
  int peer = -1;                       // Rank in the communicator, any_source, or -1.
  int tag = -1;
  std::size_t bytes = 0;
  const void* subject = nullptr;  // For the module that waits: what its report needs beyond this.
  bool ends_by_itself = false;    // At a time that the program has chosen.
  bool needs_one = false;         // Of several requests: any of them ends it.
  bool has_more = false;          // It is an explained_wait.
  std::uint32_t requests = 1;     // How many it waits for; the rest tells of one of them.
};

// Of a module whose waits need more words. Called while the wait lasts, on its worker or while that sleeps.
struct explained_wait : wait_description {
  void (*explain)(const explained_wait& wait, std::string& text) = nullptr;  // Appends to it.
};

// A user-level thread of control with a home worker, for good.
struct alignas(cache_line) fiber {
  // What each switch touches stands first, in one cache line but for the last word: with 1,000 fibers their lines do not
  // stay near.
  fiber* next = nullptr;  // In the ready list, or among those that wait for a completion counter.
  void* identity = nullptr;  // Whose fiber this is: the rank, as the faces see it.
  int number = -1;           // What a timeline calls it: the rank; -1: not shown.
  bool is_urgent = false;  // Weft's own code, which any thread may go on with: attached_thread.hpp.
  bool is_apart =
      false;  // What the kernel keeps for its thread is another while it runs: fiber_hooks::change.
  bool is_called =
      false;  // Something is to run on its stack before it waits on: fiber_hooks::answer.
  std::optional<context> flow;  // Empty until the first run.
  // While in a wait: what for, and the completion counter that tells it, if one does.
  const wait_description* waiting_in = nullptr;
  struct completion_counter* told_by = nullptr;

  worker* home = nullptr;
  void (*body)(void*) = nullptr;
  void (*reclaimed)(fiber&) =
      nullptr;  // Called on its worker when the fiber has ended; may free it.
  void* argument = nullptr;
  std::span<std::byte> stack;
  // The doubly linked list of the worker's living fibers.
  fiber* older = nullptr;
  fiber* newer = nullptr;
};

// Counted down to zero by the waiting fiber's own worker (from message handlers, say), which then
// makes the fiber ready: being told. A wait for 1,000 requests is one completion counter. Several fibers may
// wait for one that their worker ends by end().
struct completion_counter {
  std::uint32_t pending = 0;
  fiber* last = nullptr;  // Of those that wait, in a ring: its `next` is the first.

  void add(fiber& f) noexcept {
    f.next = &f;
    if (last != nullptr) f.next = std::exchange(last->next, &f);
    last = &f;
  }
};

// One wait. A condition that other threads make true is looked at by the worker; whoever makes it
// true calls scheduler::notify() afterwards, in case the worker is parked.
struct waiter {
  bool (*holds)(const void* subject) noexcept;
  const void* subject;
  const wait_description* description;
  completion_counter* told =
      nullptr;  // Set: nobody needs to look, the completion counter tells in place of `holds`.
  std::uint64_t deadline_ns = 0;  // Not 0: a timer; parked workers wake in time for it.
  int victim = -1;                // The worker to steal from first.
  bool may_switch = true;         // False inside a chunk.
  bool may_steal = true;
  bool may_stop = true;  // Whether the job's end ends this wait, by job_stopped.
  [[nodiscard]] bool is_over() const noexcept {
    return told != nullptr ? told->pending == 0 : holds(subject);
  }
};

// Thrown out of waits when the job ends early. Not a std::exception, so that handlers of errors
// let it pass; every rank's stack is unwound by it.
struct job_stopped {};

}  // namespace weft
