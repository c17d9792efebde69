// In a checked job of one process: which memory operations use, and what orders it (diagnosis/races.hpp). A context's operations
// are complete when it is quiet. Who learns that memory has changed may have learnt anything.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "rank/request_watch.hpp"
#include "shmem/state.hpp"

namespace weft::shmem {

using diagnosis::memory_range;
using diagnosis::race_watch;
using diagnosis::use_kind;

// Null unless the job is checked and has one process.
[[nodiscard]] inline race_watch* races_of(const pe_state& me) noexcept {
  return me.rank.watch == nullptr ? nullptr : me.rank.watch->races();
}

// Whether the call ends later, as its name says.
[[nodiscard]] inline bool is_deferred(const char* call) noexcept {
  return std::string_view(call).find("_nbi") != std::string_view::npos;
}

struct transfer {
  const char* call;
  const rma::context& operations;
  use_kind kind;
  int pe;
};
// `there` is symmetric, `here` is this PE's.
inline void note_transfer(const pe_state& me, const transfer& t, const void* there,
                          const void* here, std::size_t bytes) {
  race_watch* const races = races_of(me);
  if (races == nullptr || bytes == 0) return;
  const std::byte* const at = me.reached(there, 1, bytes, t.pe);
  if (at == nullptr) return;
  const bool reads = t.kind == use_kind::get;
  const diagnosis::call_list place = diagnosis::calls_here();
  const memory_range own = memory_range::of(here, bytes);
  const diagnosis::use_owner owner{&t.operations, t.pe};
  if (is_deferred(t.call))
    races->begin({me.number, own, reads, owner, t.call, place}, false);
  else
    races->touch(me.number, own, reads, t.call, place);
  race_watch::use there_used{me.number, t.kind, memory_range::of(at, bytes), 0, 1, owner,
                             t.call,    place};
  if (reads && !is_deferred(t.call))
    races->record_at_once(std::move(there_used));
  else
    races->start(std::move(there_used));
}
// What updates of the same type tell each other; those of another type are not atomic to these, and tell them nothing.
[[nodiscard]] inline std::uint32_t element_of_update(std::size_t bytes, bool is_floating) noexcept {
  return static_cast<std::uint32_t>(bytes) << 1 | (is_floating ? 1u : 0u);
}
[[nodiscard]] inline race_watch::name name_of_updates(const pe_state& me, const void* word,
                                                      std::uint32_t element, int pe) {
  return {std::uint64_t{1} << 62 | std::uint64_t{element} << 32 | static_cast<std::uint32_t>(pe),
          me.symmetric.name_of(word)};
}
// A word that an operation changes or fetches at once. Called before it.
inline void note_word(const pe_state& me, const void* word, std::size_t bytes, bool writes, int pe,
                      bool is_floating = false) {
  race_watch* const races = races_of(me);
  if (races == nullptr) return;
  const std::byte* const at = me.reached(word, 1, bytes, pe);
  if (at == nullptr) return;
  const std::uint32_t element = element_of_update(bytes, is_floating);
  const race_watch::name where = name_of_updates(me, word, element, pe);
  races->take(me.number, where);
  races->record_at_once({me.number,
                         writes ? use_kind::update : use_kind::fetch,
                         memory_range::of(at, bytes),
                         element,
                         static_cast<std::uint32_t>(bytes),
                         {},
                         "an atomic operation",
                         diagnosis::calls_here()});
  races->publish(me.number, where);
}
inline void note_quiet(const pe_state& me, const rma::context& operations, int pe = -1) {
  race_watch* const races = races_of(me);
  if (races == nullptr) return;
  races->end(me.number, {&operations, pe});
  races->over(me.number, {&operations, pe}, race_watch::which::all);
}
// Puts before come before puts behind; gets are not ordered.
inline void note_fence(const pe_state& me, const rma::context& operations) {
  if (race_watch* const races = races_of(me); races != nullptr)
    races->over(me.number, {&operations, -1}, race_watch::which::writes);
}
// The PE has learnt something, by words that it has seen or by a message. What comes may be an answer to what it has put.
inline void note_learnt(const pe_state& me, const memory_range& words = {}) {
  race_watch* const races = races_of(me);
  if (races == nullptr) return;
  races->seen(me.number, words);
  races->end_of_answered(me.number);
}
// A collective has written there.
inline void note_written(const pe_state& me, const char* call, const void* at, std::size_t bytes) {
  if (race_watch* const races = races_of(me); races != nullptr)
    races->touch(me.number, memory_range::of(at, bytes), true, call, diagnosis::calls_here());
}
inline race_watch::name name_of_lock(const pe_state& me, const void* lock) {
  return {std::uint64_t{1} << 63, me.symmetric.name_of(lock)};
}
inline void note_locked(const pe_state& me, const void* lock) {
  if (race_watch* const races = races_of(me); races != nullptr)
    races->take(me.number, name_of_lock(me, lock));
}
inline void note_unlocks(const pe_state& me, const void* lock) {
  if (race_watch* const races = races_of(me); races != nullptr)
    races->publish(me.number, name_of_lock(me, lock));
}
inline void note_symmetric(const pe_state& me, bool is_open) {
  race_watch* const races = races_of(me);
  if (races == nullptr) return;
  const auto note = [&](std::span<std::byte> memory) {
    if (is_open)
      races->expose(me.number, memory_range::of(memory.data(), memory.size()));
    else
      races->hide(me.number, memory.data());
  };
  note(me.symmetric.heap());
  for (const std::span<std::byte> statics : me.rank.statics) note(statics);
}

}  // namespace weft::shmem
