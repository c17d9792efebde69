// What the functions on windows share.
#pragma once
#include <string>

#include "mpi/object/state.hpp"
#include "mpi/object/window.hpp"
#include "rma/initiator.hpp"
#include "rma/region.hpp"

namespace weft::mpi {

// For reports and errors: "window halo", or "a window without a name (context 5)".
[[nodiscard]] std::string name_of_window(const window_object& w);
// The number of a rank of the window in the world.
[[nodiscard]] inline int in_world(const window_object& w, int rank) noexcept {
  return w.ranks->shared->to(rank).number;
}

// --- Checks ----------------------------------------------------------------------------------------
[[noreturn, gnu::cold]] void fail_rank_of_window(const window_object& w, int rank);
inline void check_rank_of_window(const window_object& w, int rank) {
  if (static_cast<unsigned>(rank) >= static_cast<unsigned>(w.size)) [[unlikely]]
    fail_rank_of_window(w, rank);
}
[[noreturn, gnu::cold]] void fail_assertion(int assertion, int allowed);
// `allowed`: which of MPI_MODE_NOCHECK and its kin the call takes.
inline void check_assertion(int assertion, int allowed) {
  if ((assertion & ~allowed) != 0) [[unlikely]]
    fail_assertion(assertion, allowed);
}
// Called where an epoch of another kind begins: a fence before has opened none, or it has ended.
inline void end_fences(window_object& w) noexcept {
  w.open &= static_cast<std::uint8_t>(~window_object::fenced);
}
[[nodiscard]] bool has_lock(window_object& w, int target) noexcept;
// Throws unless an epoch in which the rank may be accessed is open.
[[gnu::noinline]] void check_access_slowly(window_object& w, int target);
// False: the target is MPI_PROC_NULL, and there is nothing to do.
[[nodiscard, gnu::always_inline]] inline bool may_access(window_object& w, int target) {
  if (static_cast<unsigned>(target) >= static_cast<unsigned>(w.size)) [[unlikely]] {
    if (target == MPI_PROC_NULL) return false;
    fail_rank_of_window(w, target);
  }
  constexpr std::uint8_t to_all = window_object::fenced | window_object::locked_all;
  if ((w.open & to_all) == 0 && w.locked_target != target) [[unlikely]]
    check_access_slowly(w, target);
  return true;
}

// Called by each call in a loop of which a program may look for what another rank does: in time the others of this worker run.
// The rank's memory is not in use.
inline void note_look(state& me, window_object& w) {
  constexpr int looks_in_a_row_max = 64;
  if (--w.looks_left > 0) [[likely]]
    return;
  w.looks_left = looks_in_a_row_max;
  me.rank.home->check_stopped();
  w.memory->poll();
}

[[noreturn, gnu::cold]] void fail_range(const window_object& w, int target, MPI_Aint displacement,
                                        std::uint64_t bytes);

}  // namespace weft::mpi
