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

// What a person reads about a wait. It lives until the wait ends; the fiber's worker reads it.
struct wait_description {
  static constexpr std::uint32_t no_context = ~std::uint32_t{0};
  // In place of a context: `subject` is the waiting module's own text, a wait_words (job/face.hpp).
  static constexpr std::uint32_t in_words = no_context - 1;
  const char* call = "";               // "recv", "barrier", ...
  std::uint32_t context = no_context;  // The communicator's context id.
  int peer = -1;                       // Rank in the communicator, any_source, or -1.
  int tag = -1;
  std::size_t bytes = 0;
  const void* subject = nullptr;  // For the module that waits: what else its report needs.
  bool ends_by_itself = false;    // The wait ends at a time that the program has chosen.
  bool needs_one = false;         // Any one of several requests ends the wait.
  bool has_more = false;          // This is an explained_wait.
  std::uint32_t requests = 1;     // How many it waits for; the other fields describe one of them.
};

// For a module whose waits need more words. `explain` is called while the wait lasts, on the fiber's worker or by
// another thread while that worker sleeps.
struct explained_wait : wait_description {
  void (*explain)(const explained_wait& wait, std::string& text) = nullptr;  // Appends to it.
};

// A user-level thread of control. Its home worker never changes.
struct alignas(cache_line) fiber {
  // A switch touches the fields down to waits_for. They fit one cache line but for the last word: with 1,000 fibers each
  // line is a cache miss.
  fiber* next = nullptr;  // In the ready list, or among those that wait for a completion counter.
  void* identity = nullptr;  // Whose fiber this is: the rank, as the faces see it.
  int number = -1;           // What a timeline calls it: the rank; -1: not shown.
  bool is_urgent = false;    // It runs weft's own code, on any thread: attached_thread.hpp.
  bool is_apart =
      false;  // It has kernel state of its own, such as a signal mask: fiber_hooks::change.
  bool is_called = false;  // Something has to run on its stack in its wait: fiber_hooks::answer.
  bool is_idle = false;    // In a wait that a timeline shows as nothing.
  std::optional<context> flow;  // Empty until the first run.
  // Set during a wait: its description, and the completion counter that ends it, if one does.
  const wait_description* waiting_in = nullptr;
  struct completion_counter* waits_for = nullptr;

  worker* home = nullptr;
  void (*body)(void*) = nullptr;
  void (*reclaimed)(fiber&) =
      nullptr;  // Called on its worker when the fiber has ended; may free it.
  void* argument = nullptr;
  std::span<std::byte> stack;
  // The doubly linked list of the worker's living fibers.
  fiber* older = nullptr;
  fiber* newer = nullptr;
  // For the source of its work: functions on its stack that cannot go on while it waits.
  std::uint32_t callers_below = 0;
  // What it runs, where that has a name, for the report of a fault: text that stays.
  const char* runs = nullptr;
};

// Counts what a fiber still waits for. The fiber's own worker lowers it, usually in a message handler, and at zero
// makes the fiber that waits for it ready. A wait for 1,000 requests is one completion counter. Several fibers may
// wait for a counter that their worker sets to zero by worker::end().
struct completion_counter {
  std::uint32_t pending = 0;
  fiber* last = nullptr;  // The waiting fibers are a ring: `last->next` is the first.

  void add(fiber& f) noexcept {
    f.next = &f;
    if (last != nullptr) f.next = std::exchange(last->next, &f);
    last = &f;
  }
};

// A condition that has no effects and means the same on every thread. Where workers move, any thread may look at it to learn
// whether the worker can go on. Every other condition may act, by sending what it could not send before, and the worker's own
// thread alone looks at it.
template <class Holds>
struct looks {
  Holds holds;
  [[nodiscard]] bool operator()() const { return holds(); }
};
template <class Holds>
inline constexpr bool is_look = false;
template <class Holds>
inline constexpr bool is_look<looks<Holds>> = true;

// One wait. The worker looks at a condition that other threads make true; such a thread calls the worker's notify()
// afterwards, in case the worker is parked.
struct waiter {
  bool (*holds)(const void* subject) noexcept;
  const void* subject;
  const wait_description* description;
  completion_counter* counter =
      nullptr;                    // Set: this counter ends the wait, and `holds` is not used.
  std::uint64_t deadline_ns = 0;  // Not 0: a parked worker wakes in time for it.
  int victim = -1;                // The worker to steal from first.
  bool may_switch = true;         // False inside a chunk.
  bool may_steal = true;
  bool may_stop = true;  // Whether the job's end ends this wait, by job_stopped.
  bool may_act = true;   // False: `holds` only looks.
  [[nodiscard]] bool is_over() const noexcept {
    return counter != nullptr ? counter->pending == 0 : holds(subject);
  }
  // For a thread that owns the worker's state and is not its own: is_over(), as far as a look without effects can tell.
  [[nodiscard]] bool is_seen_over() const noexcept {
    return counter != nullptr ? counter->pending == 0 : !may_act && holds(subject);
  }
  // The worker has to run to learn whether the wait is over.
  [[nodiscard]] bool needs_own_thread() const noexcept { return counter == nullptr && may_act; }
};

// Waits throw it when the job ends early; it unwinds the stack of every rank. It is no std::exception, so that the
// program's handlers of errors let it pass.
struct job_stopped {};

}  // namespace weft
