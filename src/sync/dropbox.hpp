// Sequenced dropbox: one writer puts values that every one of a fixed number of readers takes, in
// order. A value lies in one of `Slots` slots, so the writer may be that many values ahead of the
// slowest reader.
//
//   R1 put:  store sequence      -- A1 peek: load sequence   a reader sees the value
//   R2 done: fetch_add consumed  -- A2 put:  load consumed   the writer may reuse the slot
//
// A slot's sequence number tells which value it holds; each reader counts for itself which one it
// wants, hence nothing is ever reset. consumed counts the readings of a slot since the start.
#pragma once

#include <array>
#include <cstdint>

#include "base/limits.hpp"
#include "sync/atomics.hpp"

namespace weft {

template <class T, std::size_t Slots, class Atomics = std_atomics>
class dropbox {
 public:
  explicit dropbox(std::uint32_t readers) noexcept : readers_(readers) {}

  // Called by the writer only. Returns false while a reader has yet to take the value that lies in
  // the slot.
  [[nodiscard]] bool try_put(const T& value) noexcept {
    slot& to = slots_[written_ % Slots];
    if (to.consumed.load(Atomics::acquire("A2")) != written_ / Slots * readers_) return false;
    to.value.set(value);
    to.sequence.store(++written_, Atomics::release("R1"));
    return true;
  }

  // One per reader.
  class reader {
   public:
    explicit reader(dropbox& from) noexcept : dropbox_(from) {}
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;

    // The next value, or null when it has not been put yet. Valid until done().
    [[nodiscard]] const T* peek() noexcept {
      slot& from = dropbox_.slots_[taken_ % Slots];
      if (from.sequence.load(Atomics::acquire("A1")) != taken_ + 1) return nullptr;
      return &from.value.get();
    }
    // Called after peek() returned a value that is no longer needed.
    void done() noexcept {
      dropbox_.slots_[taken_++ % Slots].consumed.fetch_add(1, Atomics::release("R2"));
    }

   private:
    dropbox& dropbox_;
    std::uint64_t taken_ = 0;
  };

 private:
  struct slot {
    alignas(padding_bytes) typename Atomics::template atomic<std::uint64_t> sequence{0};
    typename Atomics::template plain<T> value;
    // On a line of its own: the readers write it while others still read the value.
    alignas(padding_bytes) typename Atomics::template atomic<std::uint64_t> consumed{0};
  };

  std::array<slot, Slots> slots_{};
  const std::uint32_t readers_;
  std::uint64_t written_ = 0;  // The writer's.
};

}  // namespace weft
