// Functions of the program in the one wait. A fiber of the rank calls them one after another and yields: so they run whenever
// another fiber of the worker waits or tests, as the rank, and may call whatever the rank may. While there are any their worker
// does not sleep, does not help with loops of other ranks, and its job is never seen at rest.
#include "mpi/object/poll_hooks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "collective/collectives.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
#include "sched/worker.hpp"

namespace weft::mpi {
namespace {

// Calls each once. One that the functions start meanwhile is called from the next round on.
void poll_once(poll_hooks& hooks) {
  std::vector<std::unique_ptr<poll_hook>> round;
  round.swap(hooks.all);
  std::vector<std::unique_ptr<poll_hook>> kept;
  for (auto& hook : round) {
    const bool is_done =
        hook->poll(reinterpret_cast<MPIX_Async_thing>(hook.get())) == MPIX_ASYNC_DONE;
    std::ranges::move(hook->spawned, std::back_inserter(kept));
    hook->spawned.clear();
    if (!is_done) kept.push_back(std::move(hook));
  }
  std::ranges::move(hooks.all, std::back_inserter(kept));
  hooks.all = std::move(kept);
}

std::unique_ptr<poll_hook> make_hook(MPIX_Async_poll_function* poll, void* extra_state,
                                     MPIX_Stream stream) {
  check_not_null(reinterpret_cast<const void*>(poll), "poll_fn");
  if (stream != MPIX_STREAM_NULL)
    fail(MPI_ERR_ARG, "stream is {}: there is no stream but MPIX_STREAM_NULL", stream);
  auto hook = std::make_unique<poll_hook>();
  hook->poll = poll;
  hook->extra_state = extra_state;
  return hook;
}

void start(state& me, std::unique_ptr<poll_hook> hook) {
  poll_hooks& hooks = me.hooks;
  hooks.all.push_back(std::move(hook));
  if (hooks.runs) return;
  hooks.runs = true;   // Others that start one meanwhile leave it to the new fiber.
  hooks.fiber.wait();  // The last one has nothing more to do, but may not be gone.
  try {
    hooks.fiber = detail::start_activity(me.self->ranks.shared_state(), [&me, &hooks] {
      for (poll_once(hooks); !hooks.all.empty(); poll_once(hooks)) me.rank.home->yield();
      hooks.runs = false;
    });
  } catch (...) {
    hooks.runs = false;  // MPI_Finalize waits for nothing.
    throw;
  }
}

poll_hook& hook_of(MPIX_Async_thing thing) {
  check_not_null(thing, "thing");
  return *reinterpret_cast<poll_hook*>(thing);
}

}  // namespace

void finish_poll_hooks(state& me) {
  do me.hooks.fiber.wait();
  while (me.hooks.runs);  // One may have been started meanwhile.
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPIX_Async_start,
                  (MPIX_Async_poll_function * poll_fn, void* extra_state, MPIX_Stream stream)) {
  return in_call(
      "MPIX_Async_start", MPI_COMM_SELF,
      [&](state& me) { start(me, make_hook(poll_fn, extra_state, stream)); },
      static_cast<const void*>(extra_state), stream);
}

WEFT_MPI_FUNCTION(int, MPIX_Async_spawn,
                  (MPIX_Async_thing thing, MPIX_Async_poll_function* poll_fn, void* extra_state,
                   MPIX_Stream stream)) {
  return in_call(
      "MPIX_Async_spawn", MPI_COMM_SELF,
      [&](state&) { hook_of(thing).spawned.push_back(make_hook(poll_fn, extra_state, stream)); },
      static_cast<const void*>(extra_state), stream);
}

// Reads what does not change while the hook lives, so it needs no rank.
WEFT_MPI_FUNCTION(void*, MPIX_Async_get_state, (MPIX_Async_thing thing)) {
  return thing == nullptr ? nullptr : reinterpret_cast<const poll_hook*>(thing)->extra_state;
}
