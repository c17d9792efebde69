// A loop of a rank, whose chunks others take: its start. The rest is the scheduler's.
#include "weft/loop.hpp"

#include <algorithm>
#include <string>

#include "job/state.hpp"
#include "profile/accounts.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

[[noreturn]] void refuse(const std::string& what, std::size_t largest) {
  const char* const remedy =
      largest > indices_max
          ? "an end, extent or count below 0 becomes such a number: check their signs"
          : "run several shorter loops";
  throw error(what + ": the limit is " + std::to_string(indices_max) + "; " + remedy);
}

}  // namespace

void refuse_extents(std::span<const std::size_t> extents) {
  if (std::ranges::find(extents, std::size_t{0}) != extents.end()) return;
  std::string text;
  for (const std::size_t extent : extents)
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  refuse("a loop over " + text + " indices", std::ranges::max(extents));
}

void run_loop(std::size_t count, void (*invoke)(void*, std::int64_t, std::int64_t), void* body,
              const loop_options& how) {
  worker* here = worker::current();
  if (here == nullptr)
    throw error(
        "a loop was started outside of a rank or a task: start it in the body that weft::run() or weft::run_tasks() runs");
  if (count > indices_max) refuse("a loop of " + std::to_string(count) + " chunks", count);
  // Null in a task, and in a chunk of its loops.
  auto* const me = static_cast<job_rank*>(here->identity());
  chunk_mode mode = how.mode;
  if (mode == chunk_mode::automatic) mode = me != nullptr ? me->of->chunks : chunk_mode::guided;
  loop l{invoke, body, static_cast<std::int64_t>(count), mode == chunk_mode::single, how.stealable};
  // Counted by the owner alone; a loop inside a stolen chunk is not the owner's to count.
  job_rank* const owner = here->in_chunk() ? nullptr : me;
  // The loop may come to a wait for thieves, which names the caller.
  const bool is_traced = tracing();
  if (is_traced) [[unlikely]]
    profile::note_return_address(__builtin_return_address(0));
  here->execute(l);
  if (is_traced) [[unlikely]]
    profile::note_return_address(nullptr);
  if (owner == nullptr) return;
  owner->chunks += count;
  owner->chunks_stolen +=
      static_cast<std::uint64_t>(l.stolen_chunks.load(std::memory_order_relaxed));
}

}  // namespace weft::detail
