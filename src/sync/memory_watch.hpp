// How a thread that writes a word of memory learns that a worker sleeps until such a word changes.
//
//   watcher: store asleep_; heavy fence; look at its words once more; sleep
//   writer:  store a word;  light fence; load asleep_; if set: take it, then wake the watcher
//
// The same handshake as in parking.hpp, with the watched words in place of work: either the writer sees the flag, or
// the watcher's last look sees the word. The flag stands in memory that both sides have, of a process or of several.
// docs/protocols/rma.md.
//
//   L1 is_asleep: word, then asleep_ -- H1 arm: asleep_, then words   no wake-up is lost
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = shared_atomics>
class memory_watch {
 public:
  // Called by the watcher, which looks at its words afterwards and then sleeps, or calls disarm().
  void arm() noexcept {
    asleep_.store(1, std::memory_order_relaxed);  // Relaxed: ordered by the fence.
    Atomics::heavy_fence("H1");
  }
  // Called by the watcher, however its sleep has ended. Relaxed: a writer that still sees the flag wakes it for
  // nothing.
  void disarm() noexcept { asleep_.store(0, std::memory_order_relaxed); }

  // Called by a writer after its store. Inline in any case: as a call it costs each put the registers around it.
  [[nodiscard, gnu::always_inline]] bool is_asleep() const noexcept {
    Atomics::light_fence("L1");
    return asleep_.load(std::memory_order_relaxed) != 0;  // Relaxed: ordered by the fence pair.
  }
  // Called by a writer that has seen is_asleep(). True for one of several writers: it must wake the watcher, in a way
  // that works also when the watcher does not sleep yet.
  [[nodiscard]] bool take() noexcept {
    return asleep_.exchange(0, std::memory_order_relaxed) != 0;  // Relaxed: the wake-up orders.
  }

 private:
  typename Atomics::template atomic<std::uint32_t> asleep_{0};
};

}  // namespace weft
