// An event that happens once, and a list of waiters. Each waiter adds a node; the thread that makes the event happen
// gets all nodes, and wakes their owners. Both sides are one exchange.
//
//   R1 happen:  exchange word_ -- A1 try_add, has_happened: load word_   who finds that it has happened sees what
//                                                                       was written before
//   R2 try_add: exchange word_ -- A2 happen: exchange word_              who makes it happen sees the nodes
//
// A node has a member `next` of type Atomics::plain<Node*>, the event's until happen() has handed it out.
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Node, class Atomics = std_atomics>
class once_event {
 public:
  // Called by any thread.
  [[nodiscard]] bool has_happened() const noexcept {
    return word_.load(Atomics::acquire("A1")) == happened;
  }

  // Called by any thread. False when the event has happened: the node stays the caller's, and nobody will wake it.
  [[nodiscard]] bool try_add(Node* node) noexcept {
    std::uintptr_t newest = word_.load(Atomics::acquire("A1"));
    do {
      if (newest == happened) return false;
      node->next.set(reinterpret_cast<Node*>(newest));
    } while (!word_.compare_exchange_weak(newest, reinterpret_cast<std::uintptr_t>(node),
                                          Atomics::release("R2"), Atomics::acquire("A1")));
    return true;
  }

  // Called once. Returns the nodes of the waiters, the newest first, linked by `next`; null when there are none. The
  // caller reads `next` before it wakes the node's owner.
  [[nodiscard]] Node* happen() noexcept {
    return reinterpret_cast<Node*>(word_.exchange(happened, Atomics::acq_rel("A2", "R1")));
  }

  // Called while no other thread uses it: sets it back to the start.
  void reset() noexcept { word_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::uintptr_t happened = 1;  // No node's address.

  typename Atomics::template atomic<std::uintptr_t> word_{0};
};

}  // namespace weft
