// Which of the messages that come to a device may be handled at once, and which wait for its owner. The owner handles all, in
// the order in which they have come. The thread that pumps a shared device handles those that need no owner: those for
// handlers that are called by it, too, which may go past others but not past one of their own, and reads of memory that
// no handler hears of. Of the messages that wait only their numbers are known here.
//
// Everything is called with the device's lock held: what one of the two threads has handled is seen by whoever hears of
// it from the other one (R1 and A1 of comm/spin_lock.hpp).
#pragma once
#include <cstddef>

#include "sync/atomics.hpp"

namespace weft::comm {

enum class needed_thread { owner, any, any_while_none_waits };

template <class Atomics = std_atomics>
class basic_handling_order {
 public:
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.get(); }
  [[nodiscard]] bool may_be_handled(bool by_owner, needed_thread by) const noexcept {
    if (by_owner || by == needed_thread::any_while_none_waits) return waiting_.get() == 0;
    return by == needed_thread::any && waiting_for_any_.get() == 0;
  }
  void note_waiting(needed_thread by) noexcept {
    waiting_.set(waiting_.get() + 1);
    if (by == needed_thread::any) waiting_for_any_.set(waiting_for_any_.get() + 1);
  }
  // The oldest has been handled, by the owner.
  void note_handled(needed_thread by) noexcept {
    waiting_.set(waiting_.get() - 1);
    if (by == needed_thread::any) waiting_for_any_.set(waiting_for_any_.get() - 1);
  }

 private:
  typename Atomics::template plain<std::size_t> waiting_{0};
  typename Atomics::template plain<std::size_t> waiting_for_any_{0};
};
using handling_order = basic_handling_order<>;

}  // namespace weft::comm
