// Chunks 0..count-1 of one loop after another. The owner claims from the front, any number of thieves from the back: so
// each side walks through memory in a row, and a loop that runs again over the same data finds most of them in the same
// cache. The slot belongs to the worker and outlives every loop, so a thief that comes late touches the slot, never a
// loop that has ended. docs/protocols/stealing.md has the proof.
//
//   R1 open:   store remaining_       -- A1 claim:    fetch_sub remaining_  a claimer sees the loop
//   R2 finish: fetch_sub unfinished_  -- A2 finished: load unfinished_      the owner sees its results
//
// A successful claim (the counter was positive) holds the loop open: the owner cannot pass
// finished() before the claimer called finish(). A failed claim reads nothing but the counter; if
// the owner opened the next loop in between, the claim is a valid one of that next loop.
#pragma once
#include <algorithm>
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

struct chunk_claim {
  std::int64_t first = 0;
  std::int64_t last = 0;  // One past; equal to first when nothing was left.
  [[nodiscard]] explicit operator bool() const noexcept { return first != last; }
};

template <class Atomics = std_atomics>
class claim_slot {
 public:
  // Called by the owner only, when finished(). The owner has written before what claimers read of the loop.
  void open(std::int64_t count) noexcept {
    front_ = 0;
    // Relaxed: published by the store below.
    back_.store(count, std::memory_order_relaxed);
    unfinished_.store(count, std::memory_order_relaxed);
    remaining_.store(count, Atomics::release("R1"));
  }

  // Called by anyone. Looks without writing, so that failing thieves leave the line shared.
  // Relaxed: only a hint; the claim decides.
  [[nodiscard]] std::int64_t remaining() const noexcept {
    return remaining_.load(std::memory_order_relaxed);
  }

  // Called by the owner only: the first up to `want` chunks that nobody has.
  [[nodiscard]] chunk_claim claim_front(std::int64_t want) noexcept {
    const std::int64_t got = take(want);
    front_ += got;
    return {front_ - got, front_};
  }

  // Called by anyone: the last up to `want` chunks that nobody has.
  [[nodiscard]] chunk_claim claim_back(std::int64_t want) noexcept {
    const std::int64_t got = take(want);
    if (got == 0) return {};
    // Relaxed: what was taken holds the loop open, and with it what open() stored here.
    const std::int64_t behind = back_.fetch_sub(got, std::memory_order_relaxed);
    return {behind - got, behind};
  }

  // Called once for each claim, after its chunks were done; touch nothing of the loop afterwards.
  // True for the claimer that ended the loop. It need not see the others' results (the owner
  // does), hence no acquire.
  bool finish(std::int64_t chunks) noexcept {
    return unfinished_.fetch_sub(chunks, Atomics::release("R2")) == chunks;
  }

  // Called by the owner.
  [[nodiscard]] bool finished() const noexcept {
    return unfinished_.load(Atomics::acquire("A2")) == 0;
  }

  // Called by the owner: how many chunks were its own.
  [[nodiscard]] std::int64_t owned() const noexcept { return front_; }

 private:
  // Takes the right to `want` chunks, at either end. The ends cannot meet: no more rights are given than there are
  // chunks.
  [[nodiscard]] std::int64_t take(std::int64_t want) noexcept {
    const std::int64_t left = remaining_.fetch_sub(want, Atomics::acquire("A1"));
    return std::clamp<std::int64_t>(left, 0, want);
  }

  typename Atomics::template atomic<std::int64_t> remaining_{0};
  typename Atomics::template atomic<std::int64_t> back_{0};  // One past the last that no thief has.
  std::int64_t front_ = 0;                                   // The owner's note.
  // On a line of its own: claimers write the others, finishers this one.
  alignas(cache_line) typename Atomics::template atomic<std::int64_t> unfinished_{0};
};

}  // namespace weft
