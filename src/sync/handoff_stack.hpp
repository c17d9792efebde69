// Intrusive stack that any thread pushes to and that one thread empties at once. Since nobody takes
// a single node, a node that was taken and pushed again (ABA) confuses no one.
//
//   R1 push: exchange newest_  -- A1 take_all: exchange newest_   the taker sees the nodes
//
// A push reads the newest node's address only, and its exchange carries on the release sequence of
// the pushes before it: the taker sees the nodes of all of them.
//
// A node has a member `next` of type Atomics::plain<Node*>, the stack's while the node is inside.
#pragma once

#include "sync/atomics.hpp"

namespace weft {

template <class Node, class Atomics = std_atomics>
class handoff_stack {
 public:
  // Called by anyone. True when the stack was empty: the taker may have to be woken.
  bool push(Node* node) noexcept {
    Node* newest = newest_.load(std::memory_order_relaxed);  // Relaxed: not looked into.
    do {
      node->next.set(newest);
    } while (!newest_.compare_exchange_weak(newest, node, Atomics::release("R1"),
                                            std::memory_order_relaxed));
    return newest == nullptr;
  }

  // Called by anyone. A hint, without writing.
  [[nodiscard]] bool empty() const noexcept {
    return newest_.load(std::memory_order_relaxed) == nullptr;
  }

  // Called by one thread at a time: all nodes, the newest first, linked by `next`.
  [[nodiscard]] Node* take_all() noexcept {
    if (empty()) return nullptr;  // The usual case writes nothing.
    return newest_.exchange(nullptr, Atomics::acquire("A1"));
  }

 private:
  typename Atomics::template atomic<Node*> newest_{nullptr};
};

}  // namespace weft
