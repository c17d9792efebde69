// Locks: fair, and who waits looks at memory of its own alone (the queue of Mellor-Crummey and Scott).
//
// A lock is a symmetric long. Of its copy on the home PE the lower half is the queue's end; on every PE the upper
// half is that PE's place in the queue: who comes after it, and whether it waits. PEs are counted from 1, 0 is
// nobody. A home copy holds both, which are words of their own.
#include <cstring>

#include "shmem/core.hpp"

namespace weft::shmem {
namespace {

using rma::update;

constexpr std::uint32_t waits = std::uint32_t{1} << 31;

struct parts_of_lock {
  std::uint32_t* end;    // Of the queue, on the home PE.
  std::uint32_t* place;  // In the queue, on each.
  int home;
};

parts_of_lock checked_lock(pe_state& me, long* lock) {
  begin_meeting(me);
  check_symmetric(me, "lock", lock, sizeof *lock);
  if (reinterpret_cast<std::uintptr_t>(lock) % sizeof *lock != 0)
    fail("lock {} is not aligned as a long", static_cast<void*>(lock));
  auto* const halves = reinterpret_cast<std::uint32_t*>(lock);
  // One home for all: every PE sees the lock at the same place of the heap; that of a global differs by PE.
  const auto heap = me.memory->heap();
  const auto at = reinterpret_cast<std::byte*>(lock);
  const bool in_heap = at >= heap.data() && at < heap.data() + heap.size();
  const int home = in_heap ? static_cast<int>(static_cast<std::size_t>(at - heap.data()) / 64 %
                                              static_cast<std::size_t>(me.size))
                           : 0;
  return {halves, halves + 1, home};
}

void wait_for_place(pe_state& me, const char* call, const std::uint32_t* place,
                    bool (*over)(const void*) noexcept) {
  wait_for_memory(
      me, call,
      {place, 1, SHMEM_CMP_NE, 0, &value_of_word<std::uint32_t>, sizeof(std::uint32_t), true}, over,
      place);
}

}  // namespace

void set_lock(const char* call, long* lock) {
  in_call(call, [&](pe_state& me) {
    const parts_of_lock l = checked_lock(me, lock);
    rma::initiator& memory = *me.memory;
    rma::context& c = me.operations;
    memory.put(c, l.place, waits, me.number);
    const std::uint32_t before =
        memory.fetch<update::swap>(c, l.end, static_cast<std::uint32_t>(me.number + 1), l.home);
    if (before == 0) {
      (void)memory.fetch<update::bit_and>(c, l.place, ~waits, me.number);
      return;
    }
    note_write(me, static_cast<int>(before - 1), l.place, sizeof *l.place);
    (void)memory.fetch<update::bit_or>(c, l.place, static_cast<std::uint32_t>(me.number + 1),
                                       static_cast<int>(before - 1));
    wait_for_place(me, call, l.place, [](const void* place) noexcept {
      return (look_at(static_cast<const std::uint32_t*>(place)) & waits) == 0;
    });
  });
}

void clear_lock(const char* call, long* lock) {
  in_call(call, [&](pe_state& me) {
    const parts_of_lock l = checked_lock(me, lock);
    rma::initiator& memory = *me.memory;
    rma::context& c = me.operations;
    memory.quiet(c);  // Who gets the lock sees what was done under it.
    if (look_at(l.place) == 0) {
      const auto own = static_cast<std::uint32_t>(me.number + 1);
      const std::uint32_t end = memory.fetch<update::compare_swap>(c, l.end, 0u, l.home, own);
      if (end == own) return;
      if (end == 0) fail("lock {} is not set: set it first", static_cast<void*>(lock));
    }
    wait_for_place(me, call, l.place, [](const void* place) noexcept {
      return look_at(static_cast<const std::uint32_t*>(place)) != 0;
    });
    const std::uint32_t next = look_at(l.place);
    memory.put(c, l.place, 0u, me.number);
    note_write(me, static_cast<int>(next - 1), l.place, sizeof *l.place);
    (void)memory.fetch<update::bit_and>(c, l.place, ~waits, static_cast<int>(next - 1));
  });
}

int test_lock(const char* call, long* lock) {
  return in_call(call, [&](pe_state& me) {
    const parts_of_lock l = checked_lock(me, lock);
    const auto own = static_cast<std::uint32_t>(me.number + 1);
    if (me.memory->fetch<update::compare_swap>(me.operations, l.end, own, l.home, 0u) == 0)
      return 0;
    me.looks = looks_in_a_row_max;
    note_look(me);
    return 1;
  });
}

}  // namespace weft::shmem
