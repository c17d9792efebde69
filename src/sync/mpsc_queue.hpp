// Intrusive queue of many producers and one consumer, unbounded, without allocation: the inbox for threads that have no
// ring of their own. Its orderings are handoff_stack's. The consumer takes all nodes at once and reverses them, so they
// come out in the order in which they went in.
#pragma once

#include <utility>

#include "base/limits.hpp"
#include "sync/handoff_stack.hpp"

namespace weft {

template <class Node, class Atomics = std_atomics>
class mpsc_queue {
 public:
  // Called by anyone. True when the consumer had taken all that was pushed before: it may have to be woken.
  bool push(Node* node) noexcept { return inbox_.push(node); }

  // Called by the consumer only. A hint, without writing.
  [[nodiscard]] bool has_any() const noexcept { return oldest_ != nullptr || !inbox_.empty(); }

  // Called by the consumer only. The oldest node, or null; the node is the caller's again.
  [[nodiscard]] Node* try_pop() noexcept {
    if (oldest_ == nullptr)
      for (Node* newest = inbox_.take_all(); newest != nullptr;) {
        Node* older = newest->next.get();
        newest->next.set(std::exchange(oldest_, newest));
        newest = older;
      }
    if (oldest_ == nullptr) return nullptr;
    Node* node = oldest_;
    oldest_ = node->next.get();
    return node;
  }

 private:
  alignas(padding_bytes) handoff_stack<Node, Atomics> inbox_;
  alignas(padding_bytes) Node* oldest_ = nullptr;  // The consumer's, linked oldest to newest.
};

}  // namespace weft
