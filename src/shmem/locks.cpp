// Locks: fair, and who waits looks at memory of its own alone (the queue of Mellor-Crummey and Scott).
//
// A lock is a symmetric long. Of its copy on the home PE the lower half is the queue's end; on every PE the upper
// half is that PE's place in the queue: who comes after it, and whether it waits. PEs are counted from 1, 0 is
// nobody. A home copy holds both, which are words of their own.
#include <cstring>

#include "shmem/core.hpp"
#include "shmem/race_notes.hpp"

namespace weft::shmem {
namespace {

using rma::update;

constexpr std::uint32_t waits = std::uint32_t{1} << 31;

struct parts_of_lock {
  std::uint32_t* end;    // The queue's end, on the home PE.
  std::uint32_t* place;  // Each PE's place in the queue.
  int home;
};

parts_of_lock checked_lock(pe_state& me, long* lock) {
  begin_meeting(me);
  check_symmetric(me, "lock", lock, sizeof *lock);
  if (reinterpret_cast<std::uintptr_t>(lock) % sizeof *lock != 0)
    fail("lock {} is not aligned as a long", static_cast<void*>(lock));
  auto* const halves = reinterpret_cast<std::uint32_t*>(lock);
  // All PEs choose the same home: they see the lock at the same place of the heap. A global's place differs by PE.
  const auto heap = me.symmetric.heap();
  const auto at = reinterpret_cast<std::byte*>(lock);
  const bool in_heap = at >= heap.data() && at < heap.data() + heap.size();
  const int home = in_heap ? static_cast<int>(static_cast<std::size_t>(at - heap.data()) / 64 %
                                              static_cast<std::size_t>(me.size))
                           : 0;
  return {halves, halves + 1, home};
}

// Returns who has the lock: that PE has another behind it and does not wait. -1: loads from here reach none.
int holder_of(const pe_state& me, const std::uint32_t* place) noexcept {
  for (int pe = 0; pe < me.size; ++pe)
    if (const auto* const there = reinterpret_cast<const std::uint32_t*>(
            me.symmetric.reached(place, 1, sizeof *place, pe));
        there != nullptr && look_at(there) != 0 && (look_at(there) & waits) == 0)
      return pe;
  return -1;
}

// What reports say of a wait for a lock.
struct waited_lock final : detail::wait_words {
  const pe_state& me;
  const std::uint32_t* place;
  const int before;  // The PE in front in the queue; -1: this PE gives the lock back.
  waited_lock(const pe_state& p, const std::uint32_t* at, int who)
      : me(p), place(at), before(who) {}
  [[nodiscard]] std::string text() const override {
    const std::string lock = formatted(" of {}", name_of_word(me, place - 1));
    if (before < 0) return lock + ", until the PE behind it in the queue has come";
    const int holder = holder_of(me, place);
    if (holder < 0) return formatted("{}, behind PE {} in its queue", lock, before);
    return holder == before ? formatted("{}, which PE {} holds", lock, holder)
                            : formatted("{}, which PE {} holds, behind PE {} in its queue", lock,
                                        holder, before);
  }
  bool awaited(std::vector<int>& ranks) const override {
    if (before >= 0) {
      const int holder = holder_of(me, place);
      ranks.push_back(holder < 0 ? before : holder);
    }
    return false;
  }
};

void wait_for_place(pe_state& me, const char* call, const std::uint32_t* place, int before,
                    bool (*over)(const void*) noexcept) {
  const waited_lock words(me, place, before);
  waited_word what{place, 1, SHMEM_CMP_NE, 0, &value_of_word<std::uint32_t>, sizeof(std::uint32_t),
                   true};
  what.said = &words;
  wait_for_memory(me, call, what, over, place);
}

}  // namespace

void set_lock(const char* call, long* lock) {
  in_call(call, [&](pe_state& me) {
    const parts_of_lock l = checked_lock(me, lock);
    rma::initiator& memory = *me.memory;
    rma::context& c = me.operations;
    const rma::location own = me.symmetric.at(l.place, me.number);
    memory.put(c, own, waits);
    const std::uint32_t before = memory.fetch<update::swap>(
        c, me.symmetric.at(l.end, l.home), static_cast<std::uint32_t>(me.number + 1));
    if (before == 0) {
      (void)memory.fetch<update::bit_and>(c, own, ~waits);
      note_locked(me, lock);
      return;
    }
    note_write(me, static_cast<int>(before - 1), l.place, sizeof *l.place);
    (void)memory.fetch<update::bit_or>(c, me.symmetric.at(l.place, static_cast<int>(before - 1)),
                                       static_cast<std::uint32_t>(me.number + 1));
    const int in_front = static_cast<int>(before - 1);
    wait_for_place(me, call, l.place, in_front, [](const void* place) noexcept {
      return (look_at(static_cast<const std::uint32_t*>(place)) & waits) == 0;
    });
    note_locked(me, lock);
  });
}

void clear_lock(const char* call, long* lock) {
  in_call(call, [&](pe_state& me) {
    const parts_of_lock l = checked_lock(me, lock);
    rma::initiator& memory = *me.memory;
    rma::context& c = me.operations;
    memory.quiet(c);  // The next holder sees what was done under the lock.
    note_quiet(me, c);
    note_unlocks(me, lock);
    if (look_at(l.place) == 0) {
      const auto own = static_cast<std::uint32_t>(me.number + 1);
      const std::uint32_t end =
          memory.fetch<update::compare_swap>(c, me.symmetric.at(l.end, l.home), 0u, own);
      if (end == own) return;
      if (end == 0) fail("lock {} is not set: set it first", static_cast<void*>(lock));
    }
    wait_for_place(me, call, l.place, -1, [](const void* place) noexcept {
      return look_at(static_cast<const std::uint32_t*>(place)) != 0;
    });
    const std::uint32_t next = look_at(l.place);
    memory.put(c, me.symmetric.at(l.place, me.number), 0u);
    note_write(me, static_cast<int>(next - 1), l.place, sizeof *l.place);
    (void)memory.fetch<update::bit_and>(c, me.symmetric.at(l.place, static_cast<int>(next - 1)),
                                        ~waits);
  });
}

int test_lock(const char* call, long* lock) {
  return in_call(call, [&](pe_state& me) {
    const parts_of_lock l = checked_lock(me, lock);
    const auto own = static_cast<std::uint32_t>(me.number + 1);
    if (me.memory->fetch<update::compare_swap>(me.operations, me.symmetric.at(l.end, l.home), own,
                                               0u) == 0) {
      note_locked(me, lock);
      return 0;
    }
    me.looks_left = 0;
    note_look(me);
    return 1;
  });
}

}  // namespace weft::shmem
