// Counts the readers of something that may be removed. A remover waits until no reader is left that may have seen it.
// Readers never wait, not even in a signal handler.
//
//   R1 leave: lower count_ -- A2 none: read-modify-write   what readers did is over
//   R2 none:  the same     -- A1 enter: raise count_       a later reader sees that it is gone
//
// Both sides change one word: either none() comes later and counts the reader, or the reader comes later and sees
// what was done before none().
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class reader_count {
 public:
  // Called by a reader, before it looks.
  void enter() noexcept { count_.fetch_add(1, Atomics::acquire("A1")); }
  // Called after enter(), when it touches nothing of what it saw any more.
  void leave() noexcept { count_.fetch_sub(1, Atomics::release("R1")); }
  // Called by the remover again and again until it returns true: no reader is left that may have seen what it removed.
  [[nodiscard]] bool none() noexcept {
    return count_.fetch_add(0, Atomics::acq_rel("A2", "R2")) == 0;
  }

 private:
  typename Atomics::template atomic<std::uint32_t> count_{0};
};

}  // namespace weft
