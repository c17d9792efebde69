// Something that happens once, and those who want to be told: each leaves a node, and whoever makes it happen gets
// them all. Both sides are one exchange.
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

  // Called by any thread. False when it has happened: the node is the caller's, whom nobody will tell.
  [[nodiscard]] bool try_add(Node* node) noexcept {
    std::uintptr_t newest = word_.load(Atomics::acquire("A1"));
    do {
      if (newest == happened) return false;
      node->next.set(reinterpret_cast<Node*>(newest));
    } while (!word_.compare_exchange_weak(newest, reinterpret_cast<std::uintptr_t>(node),
                                          Atomics::release("R2"), Atomics::acquire("A1")));
    return true;
  }

  // Called once. Those who are to be told, the last that came first, linked by `next`; null when there are none.
  // Who reads it by `next` does so before it tells the node's owner.
  [[nodiscard]] Node* happen() noexcept {
    return reinterpret_cast<Node*>(word_.exchange(happened, Atomics::acq_rel("A2", "R1")));
  }

  // Called while no other thread looks: as if nothing had happened.
  void reset() noexcept { word_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::uintptr_t happened = 1;  // No node's address.

  typename Atomics::template atomic<std::uintptr_t> word_{0};
};

}  // namespace weft
