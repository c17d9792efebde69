// Loops whose chunks others steal. docs/protocols/stealing.md.
#include <algorithm>
#include <bit>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"
#include "trace/trace.hpp"

namespace weft {

void loop::run(std::int64_t first, std::int64_t last) noexcept {
  // Relaxed: an early end is only a courtesy; `failure` is read after the loop has ended.
  if (failed.load(std::memory_order_relaxed)) return;
  try {
    invoke(body, first, last);
  } catch (...) {
    if (!failed.exchange(true, std::memory_order_relaxed)) failure = std::current_exception();
  }
}

void worker::run_chunks(loop& l, chunk_claim claim) noexcept {
  void* const caller = std::exchange(caller_, nullptr);
  const loop* const outer = std::exchange(chunk_of_, &l);
  l.run(claim.first, claim.last);
  chunk_of_ = outer;
  caller_ = caller;
}

std::int64_t worker::claim_size(const loop_slot& slot, bool single) const noexcept {
  if (single) return 1;
  // Guided self-scheduling: a share of what is left, so that late claims are small.
  return std::max<std::int64_t>(1, slot.claims.remaining() / (2 * owner_.worker_count()));
}

loop_slot* worker::open_slot(loop& l) {
  for (std::size_t i = 0; i < open_loops_max; ++i) {
    loop_slot& slot = slots_[i];
    if (slot.in_use) continue;
    slot.in_use = true;
    slot.current = &l;
    slot.single.store(l.single, std::memory_order_relaxed);  // Relaxed: only a hint to thieves.
    slot.claims.open(l.chunk_count);
    // Relaxed: a hint to thieves; the claim itself orders what they read.
    open_slots_.store(open_slots_.load(std::memory_order_relaxed) | 1u << i,
                      std::memory_order_relaxed);
    return &slot;
  }
  return nullptr;
}

worker::body_time& worker::note_for(const loop& l) noexcept {
  static_assert(std::has_single_bit(timed_bodies_max));
  // The upper bits of the product depend on all bits of the address.
  constexpr std::uint64_t spread = 0x9e37'79b9'7f4a'7c15;
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(l.invoke) * spread;
  return body_times_[mixed >> (64 - std::countr_zero(timed_bodies_max))];
}

// Called before the first chunk. An empty entry says yes. Of two bodies that share an entry only the last to run is
// known; the other is not worth it.
bool worker::is_worth_waking(const loop& l) noexcept {
  const body_time& last = note_for(l);
  if (last.body != l.invoke) return last.body == nullptr;
  return last.chunk_ticks > long_loop_ticks_ / static_cast<std::uint64_t>(l.chunk_count);
}

// `time` is for the owner's own chunks. Chunks that thieves took may have been longer: then the note at most halves.
// It does fall, so that one slow run is forgotten.
void worker::note_time(const loop& l, std::int64_t chunks, std::uint64_t time) noexcept {
  if (chunks == 0) return;
  body_time& note = note_for(l);
  std::uint64_t of_one = time / static_cast<std::uint64_t>(chunks);
  if (chunks < l.chunk_count && note.body == l.invoke)
    of_one = std::max(of_one, note.chunk_ticks / 2);
  note = {l.invoke, of_one};
}

// Claims until nothing is left to claim; thieves may still be at work afterwards.
void worker::run_claims(loop& l, loop_slot& slot) {
  // A guard, since a seeded schedule may unwind from here: nobody may find the loop afterwards.
  struct hide {
    std::atomic<std::uint32_t>& open;
    std::uint32_t bit;
    ~hide() {
      // Relaxed: a hint to thieves, and only this worker writes.
      open.store(open.load(std::memory_order_relaxed) & ~bit, std::memory_order_relaxed);
    }
  } const hidden{open_slots_, 1u << (&slot - slots_.data())};
  std::uint64_t since = ticks();
  // While a worker is parked, the first claim is one chunk: its time says whether the loop is long enough to wake it.
  bool one = owner_.any_parked();
  while (const chunk_claim claim =
             slot.claims.claim_front(claim_size(slot, l.single || std::exchange(one, false)))) {
    {
      const trace_span traced(trace_kind::chunk_own, l.number, claim.first);
      run_chunks(l, claim);
    }
    slot.claims.finish(claim.last - claim.first);
    if (seeded_ && !in_chunk()) [[unlikely]] {
      perturb_seeded();
    } else if (owner_.any_parked() && slot.claims.remaining() > 0 &&
               ticks() - since > long_loop_ticks_) {
      owner_.wake_thieves(index_, 1);
      since = ticks();
    }
  }
}

void worker::close_slot(loop_slot& slot) noexcept {
  slot.in_use = false;
}

void worker::execute(loop& l) {
  l.identity = identity();
  l.number = number();
  l.home = &home_of_caller();
  // Slots belong to the holder of the hand-off lock, and the program's code runs without it.
  const bool alone = (owner_.worker_count() == 1 && !seeded_) || handoff_lock_ != nullptr;
  loop_slot* slot = alone || !l.stealable || l.chunk_count < 2 ? nullptr : open_slot(l);
  if (slot == nullptr) {
    if (l.chunk_count > 0) run_chunks(l, {0, l.chunk_count});
  } else {
    // A wake-up costs a system call: before the first chunk only for a body that was long, or is not known.
    const bool some_sleep = owner_.any_parked();
    if (some_sleep && is_worth_waking(l)) owner_.wake_thieves(index_, 1);
    const std::uint64_t start = some_sleep ? ticks() : 0;
    run_claims(l, *slot);
    if (some_sleep) note_time(l, slot->claims.owned(), ticks() - start);
    if (!slot->claims.finished()) {
      static constexpr wait_description thieves{"loop (thieves at work)"};
      waiter w{[](const void* subject) noexcept {
                 return static_cast<const loop_slot*>(subject)->claims.finished();
               },
               slot, &thieves};
      // Inside a chunk nothing else may run on this stack: this wait could not return before it.
      w.may_switch = w.may_steal = !in_chunk();
      w.may_stop = w.may_act = false;
      // In a chunk of another rank's loop it is that rank's wait, and part of the theft that this worker's timeline has.
      std::optional<trace_span> traced;
      if (running_here().number == l.number) traced.emplace(trace_kind::wait_chunks, l.number);
      block(w);
    }
    close_slot(*slot);
  }
  if (l.failure != nullptr) std::rethrow_exception(std::move(l.failure));
}

bool worker::open_detached(loop& l, void (*ended)(worker&, void*), void* context) {
  l.identity = identity();
  l.number = number();
  l.home = &home_of_caller();
  loop_slot* slot = open_slot(l);
  // Many loops begin between two passes when a window of long messages arrives.
  if (slot == nullptr && end_detached()) slot = open_slot(l);
  if (slot == nullptr) return false;
  run_claims(l, *slot);
  if (slot->claims.finished()) {
    close_slot(*slot);
    ended(*this, context);
  } else {
    detached_.push_back({static_cast<std::size_t>(slot - slots_.data()), ended, context});
    add_rare_source();
  }
  return true;
}

bool worker::end_detached() {
  bool any = false;
  for (std::size_t i = 0; i < detached_.size();) {
    const detached_loop d = detached_[i];
    if (!slots_[d.slot].claims.finished()) {
      ++i;
      continue;
    }
    detached_.erase(detached_.begin() + static_cast<std::ptrdiff_t>(i));
    --rare_sources_;
    close_slot(slots_[d.slot]);
    d.ended(*this, d.context);
    any = true;
  }
  return any;
}

bool worker::steal(int first) {
  const int workers = owner_.worker_count();
  if (seeded_) return steal_from(*this);  // One worker: its waiting fibers are the thieves.
  if (workers == 1) return false;
  // Relaxed: a hint. The loop of a call that is lost is found in other ways too.
  const int caller = called_by_.load(std::memory_order_relaxed);
  if (caller >= 0) [[unlikely]] {
    called_by_.store(-1, std::memory_order_relaxed);
    follows_ = caller;
  }
  if (follows_ >= 0) [[unlikely]] {
    if (steal_from(owner_.at(follows_), caller >= 0)) return true;
    follows_ = -1;
  }
  if (first >= 0 && first != index_ && steal_from(owner_.at(first))) return true;
  switch (owner_.options().steal) {
    case steal_mode::sticky:
      if (sticky_victim_ >= 0 && steal_from(owner_.at(sticky_victim_))) return true;
      [[fallthrough]];
    case steal_mode::random: {
      auto victim = static_cast<int>(
          std::uint64_t{next_random()} * static_cast<std::uint32_t>(workers - 1) >> 32);
      if (victim >= index_) ++victim;
      if (!steal_from(owner_.at(victim))) return false;
      sticky_victim_ = victim;
      return true;
    }
    case steal_mode::near:
      // Nearest first; a start that differs by worker keeps thieves apart.
      for (const bool same_node : {true, false}) {
        for (int step = 1; step < workers; ++step) {
          const int victim = (index_ + step) % workers;
          const auto& nodes = owner_.options().nodes;
          const bool near =
              nodes[static_cast<std::size_t>(victim)] == nodes[static_cast<std::size_t>(index_)];
          if (near == same_node && steal_from(owner_.at(victim))) return true;
        }
      }
      return false;
  }
  return false;
}

loop_slot* worker::slot_with_chunks() noexcept {
  std::uint32_t open = open_slots_.load(std::memory_order_relaxed);  // A hint.
  for (; open != 0; open &= open - 1) {
    loop_slot& slot = slots_[static_cast<std::size_t>(std::countr_zero(open))];
    if (slot.claims.remaining() > 0) return &slot;
  }
  return nullptr;
}

bool worker::steal_from(worker& victim, bool was_woken) {
  loop_slot* const found = victim.slot_with_chunks();
  if (found == nullptr) return false;
  loop_slot& slot = *found;
  const std::int64_t remaining = slot.claims.remaining();
  const bool single = slot.single.load(std::memory_order_relaxed);
  const chunk_claim claim = slot.claims.claim_back(
      single ? 1 : std::max<std::int64_t>(1, remaining / (4 * owner_.worker_count())));
  if (!claim) {
    ++counts_.failed_steals;
    return false;
  }
  loop& l = *slot.current;
  // Where cores are short, more workers would take them from those at work.
  if (was_woken && !owner_.options().is_crowded)
    owner_.wake_thieves(victim.index_,
                        static_cast<int>(std::clamp<std::int64_t>(slot.claims.remaining(), 0, 2)));
  {
    if (tracing()) [[unlikely]]
      note_busy();
    const trace_span traced(trace_kind::chunk_stolen, l.number, claim.first);
    stolen_from_number_.store(l.number, std::memory_order_relaxed);  // Relaxed, twice: a hint.
    run_chunks(l, claim);
    stolen_from_number_.store(-1, std::memory_order_relaxed);
  }
  const std::int64_t taken = claim.last - claim.first;
  l.stolen_chunks.fetch_add(taken, std::memory_order_relaxed);  // Relaxed: finish() publishes it.
  counts_.steals += static_cast<std::uint64_t>(taken);
  // From here on the owner may end the loop; touch nothing of it. Only the owner worker, which
  // outlives every loop, is told.
  if (slot.claims.finish(taken)) victim.notify();
  return true;
}

}  // namespace weft
