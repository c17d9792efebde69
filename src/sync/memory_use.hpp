// Parties that use each other's memory, and one who may leave with his before all have ended. Each party has a mark, which says
// that it uses memory of others, and all have one word in common, which closes the memory. Who leaves closes it, or knows that
// it is closed, and waits until no mark is set.
//
//   U1 try_begin: store mark, U2 try_begin: load closed -- C1 close: exchange closed, C2 is_in_use: load mark
//      who begins sees that it is closed, or who leaves sees the mark
//   U3 end: store mark, U4 end: load closed -- C1, C2
//      who ends sees that somebody may wait for it, or who leaves sees that it has ended, and what it has done (C2)
//
// Marks and words are atomics, or std::atomic_ref to what they lie in.
#pragma once
#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
struct basic_memory_use {
  // False: it is closed. The caller uses nothing, and calls end() all the same.
  template <class Mark, class Closed>
  [[nodiscard]] static bool try_begin(Mark&& mark, const Closed& closed) noexcept {
    mark.store(true, Atomics::seq_cst("U1"));
    return !closed.load(Atomics::seq_cst("U2"));
  }
  // True: it is closed, and somebody may wait for this end.
  template <class Mark, class Closed>
  [[nodiscard]] static bool end(Mark&& mark, const Closed& closed) noexcept {
    mark.store(false, Atomics::seq_cst("U3"));
    return closed.load(Atomics::seq_cst("U4"));
  }
  // False: it was closed before.
  template <class Closed>
  [[nodiscard]] static bool close(Closed& closed) noexcept {
    return !closed.exchange(true, Atomics::seq_cst("C1"));
  }
  // Called by who knows that it is closed.
  template <class Mark>
  [[nodiscard]] static bool is_in_use(const Mark& mark) noexcept {
    return mark.load(Atomics::seq_cst("C2"));
  }
};
using memory_use = basic_memory_use<>;

}  // namespace weft
