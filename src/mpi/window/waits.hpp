// Waits of a rank for words of a window's synchronisation: in the accounts, and in the report of a deadlock.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>

#include "collective/broken_communicator.hpp"
#include "job/accounted_call.hpp"
#include "job/face.hpp"
#include "mpi/window/window.hpp"
#include "mpi/window/words.hpp"
#include "profile/counted_wait.hpp"

namespace weft::mpi {

// The key under which whoever writes the word at that rank leaves a cause.
[[nodiscard]] inline std::uint64_t cause_key(const window_object& w, int rank,
                                             std::uint64_t offset) noexcept {
  return profile::key_of_word(in_world(w, rank),
                              w.words->name_of(word_at(w, rank, offset)) / sizeof(std::uint64_t));
}
// Called before the word is written.
inline void note_cause(const window_object& w, int rank, std::uint64_t offset) {
  if (tracing()) [[unlikely]]
    profile::leave_cause(in_world(w, w.own()), cause_key(w, rank, offset));
}

// Returns when `holds()` is true, a condition on `count` own words, of which offset_of(i) says where they are; of the first of them
// others may leave a cause.
// Throws when no collective works any more on the window's communicator, since a rank has died or it is revoked: nobody knows who
// will write the words.
template <class OffsetOf, class Holds>
void wait_for_words(window_object& w, const char* call, profile::wait_state state,
                    std::size_t count, const OffsetOf& offset_of, const detail::wait_words& words,
                    const Holds& holds) {
  if (holds()) return;
  wait_description said{call};
  said.context = wait_description::in_words;
  said.subject = &words;
  detail::rank_state& me = w.memory->rank();
  const auto whose = [&] {
    return detail::goes_on_beside(*me.home) ? profile::no_rank : me.number;
  };
  const profile::counted_wait counted(
      whose, call, profile::awaited_cause{trace_kind::wait_memory, state, [&] {
                                            profile::some_keys keys;
                                            keys.count = std::min(count, keys.most);
                                            for (std::size_t i = 0; i < keys.count; ++i)
                                              keys.all[i] = cause_key(w, w.own(), offset_of(i));
                                            return keys;
                                          }});
  detail::communicator_state& c = *w.ranks->shared;
  // Relaxed: throw_failed() reads the reason under a lock.
  w.memory->wait_until([&] { return holds() || c.failed.load(std::memory_order_relaxed); }, said);
  if (!holds()) detail::throw_failed(c);
}

}  // namespace weft::mpi
