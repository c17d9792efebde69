// Passive targets: locks of one rank and of all, and what completes operations while they are held.
#include <algorithm>
#include <utility>

#include "mpi/object/profiling.hpp"
#include "mpi/window/race_notes.hpp"
#include "mpi/window/waits.hpp"
#include "mpi/window/window.hpp"
#include "mpi/window/words.hpp"

namespace weft::mpi {
namespace {

// What reports say of a wait at a gate.
struct awaited_gate final : detail::wait_words {
  const words_of_gate& gate_words_;
  explicit awaited_gate(const words_of_gate& g) : gate_words_(g) {}

  [[nodiscard]] std::string text() const override {
    const window_object& w = gate_words_.window();
    std::string said = gate_words_.is_common()
                           ? formatted(" of {}", name_of_window(w))
                           : formatted(" of rank {} of {}", gate_words_.home(), name_of_window(w));
    std::uint64_t state = 0;
    if (!gate_words_.look(state)) return said;
    const std::uint64_t upper = gate<words_of_gate>::upper(state);
    const std::uint64_t lower = gate<words_of_gate>::lower(state);
    if (gate_words_.is_common()) {
      if (upper != 0)
        return said + formatted(", of which {} rank{} hold{} or want{} an exclusive lock", upper,
                                upper == 1 ? "" : "s", upper == 1 ? "s" : "",
                                upper == 1 ? "s" : "");
      return said + formatted(", which {} rank{} hold{} by MPI_Win_lock_all", lower,
                              lower == 1 ? "" : "s", lower == 1 ? "s" : "");
    }
    if (upper != 0) return said + formatted(", which rank {} holds exclusively", upper - 1);
    return said + formatted(", which {} rank{} hold{} with others", lower, lower == 1 ? "" : "s",
                            lower == 1 ? "s" : "");
  }
  bool awaited(std::vector<int>& ranks) const override {
    std::uint64_t state = 0;
    if (gate_words_.is_common() || !gate_words_.look(state)) return false;
    if (const std::uint64_t holder = gate<words_of_gate>::upper(state); holder != 0)
      ranks.push_back(in_world(gate_words_.window(), static_cast<int>(holder) - 1));
    return false;
  }
};

window_object::lock* find_lock(window_object& w, int target) noexcept {
  const auto at = std::ranges::find(w.locks, target, &window_object::lock::target);
  return at == w.locks.end() ? nullptr : &*at;
}

void check_lock_type(int type) {
  if (type != MPI_LOCK_EXCLUSIVE && type != MPI_LOCK_SHARED)
    fail(MPI_ERR_LOCKTYPE, "lock type {}: pass MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED", type);
}

[[noreturn]] void fail_not_locked(const window_object& w, int target) {
  fail(MPI_ERR_RMA_SYNC, "rank {} of {} is not locked by this rank: call MPI_Win_lock before",
       target, name_of_window(w));
}

void check_passive(const window_object& w) {
  if ((w.open & window_object::locked_all) == 0 && w.locks.empty()) [[unlikely]]
    fail(MPI_ERR_RMA_SYNC,
         "no rank of {} is locked by this rank: call MPI_Win_lock or MPI_Win_lock_all before",
         name_of_window(w));
}
void check_locked(window_object& w, int target) {
  check_rank_of_window(w, target);
  if ((w.open & window_object::locked_all) == 0 && w.locked_target != target &&
      !has_lock(w, target)) [[unlikely]]
    fail_not_locked(w, target);
}

void check_no_other_epoch(const window_object& w) {
  if ((w.open & window_object::started) != 0)
    fail(MPI_ERR_RMA_SYNC, "an epoch of MPI_Win_start is open at {}: call MPI_Win_complete before",
         name_of_window(w));
  if ((w.open & window_object::locked_all) != 0)
    fail(MPI_ERR_RMA_SYNC, "all ranks of {} are locked already: call MPI_Win_unlock_all before",
         name_of_window(w));
}

void lock_one(state& me, int type, int target, int assertion, window_object& w) {
  constexpr const char* call = "MPI_Win_lock";
  check_lock_type(type);
  check_assertion(assertion, MPI_MODE_NOCHECK);
  if (target == MPI_PROC_NULL) return;
  check_rank_of_window(w, target);
  check_no_other_epoch(w);
  if (w.locked_target == target || find_lock(w, target) != nullptr)
    fail(MPI_ERR_RMA_SYNC, "rank {} of {} is locked by this rank already", target,
         name_of_window(w));
  note_look(me, w);
  const bool is_exclusive = type == MPI_LOCK_EXCLUSIVE;
  const bool is_checked = (assertion & MPI_MODE_NOCHECK) == 0;
  if (is_checked) {
    if (is_exclusive) {
      common_gate(w, call).enter_against_shared();
      gate_of(w, target, call).enter_alone();
    } else {
      gate_of(w, target, call).enter_shared();
    }
    note_locked(me, w, target, is_exclusive);
  }
  end_fences(w);
  w.locks.push_back({target, is_exclusive, is_checked});
  w.locked_target = target;
}

// `gate_follows`: the rank leaves the target's gate next.
void complete_at(window_object& w, int target, bool gate_follows = false) {
  if (w.operations.is_quiet()) [[likely]]
    return gate_follows ? w.memory->quiet_before_update(w.operations)
                        : w.memory->quiet(w.operations);
  const int number = in_world(w, target);
  w.memory->quiet(w.operations, {&number, 1});
}

void unlock_one(const state& me, int target, window_object& w) {
  constexpr const char* call = "MPI_Win_unlock";
  if (target == MPI_PROC_NULL) return;
  check_rank_of_window(w, target);
  window_object::lock* const found = find_lock(w, target);
  if (found == nullptr) fail_not_locked(w, target);
  const window_object::lock held = *found;
  w.locks.erase(w.locks.begin() + (found - w.locks.data()));
  w.locked_target = w.locks.empty() ? -1 : w.locks.back().target;
  complete_at(w, target, held.is_checked);
  note_complete(me, w, target);
  if (!held.is_checked) return;
  note_unlocks(me, w, target, held.is_exclusive);
  if (held.is_exclusive) {
    gate_of(w, target, call).leave_alone();
    common_gate(w, call).leave_against_shared();
  } else {
    gate_of(w, target, call).leave_shared();
  }
}

void lock_all(state& me, int assertion, window_object& w) {
  check_assertion(assertion, MPI_MODE_NOCHECK);
  check_no_other_epoch(w);
  if (!w.locks.empty())
    fail(MPI_ERR_RMA_SYNC, "rank {} of {} is locked by this rank: call MPI_Win_unlock before",
         w.locks.front().target, name_of_window(w));
  note_look(me, w);
  const bool is_checked = (assertion & MPI_MODE_NOCHECK) == 0;
  if (is_checked) {
    common_gate(w, "MPI_Win_lock_all").enter_shared();
    if (races_of(me) != nullptr)
      for (int target = 0; target < w.size; ++target) note_locked(me, w, target, false);
  }
  end_fences(w);
  w.locked_all_checked = is_checked;
  w.open |= window_object::locked_all;
}

void unlock_all(const state& me, window_object& w) {
  if ((w.open & window_object::locked_all) == 0)
    fail(MPI_ERR_RMA_SYNC, "{} is not locked by MPI_Win_lock_all", name_of_window(w));
  w.open &= static_cast<std::uint8_t>(~window_object::locked_all);
  w.memory->quiet(w.operations);
  note_complete(me, w, -1);
  if (!std::exchange(w.locked_all_checked, false)) return;
  if (races_of(me) != nullptr)
    for (int target = 0; target < w.size; ++target) note_unlocks(me, w, target, false);
  common_gate(w, "MPI_Win_unlock_all").leave_shared();
}

}  // namespace

bool has_lock(window_object& w, int target) noexcept {
  if (find_lock(w, target) == nullptr) return false;
  w.locked_target = target;
  return true;
}

void words_of_gate::wake(int rank) {
  note_cause(*w_, rank, link_);
  w_->memory->put(w_->operations, word_at(*w_, rank, link_), std::uint64_t{0});
}

void words_of_gate::wait() {
  const awaited_gate said(*this);
  const auto* const own = own_word<std::uint64_t>(*w_, link_);
  wait_for_words(
      *w_, call_, profile::wait_state::lock, 1, [this](std::size_t) { return link_; }, said,
      [own] { return rma::initiator::look(own) == 0; });
}

bool words_of_gate::look(std::uint64_t& state) const noexcept {
  const std::byte* const at = w_->words->reached(this->state(), sizeof state);
  if (at == nullptr) return false;
  state = rma::initiator::look(reinterpret_cast<const std::uint64_t*>(at));
  return true;
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_lock, (int lock_type, int rank, int assert, MPI_Win win)) {
  return in_call(
      "MPI_Win_lock", win,
      [&](state& me) { lock_one(me, lock_type, rank, assert, checked_window(win)); }, lock_type,
      rank, assert, win);
}

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_unlock, (int rank, MPI_Win win)) {
  return in_call(
      "MPI_Win_unlock", win, [&](state& me) { unlock_one(me, rank, checked_window(win)); }, rank,
      win);
}

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_lock_all, (int assert, MPI_Win win)) {
  return in_call(
      "MPI_Win_lock_all", win, [&](state& me) { lock_all(me, assert, checked_window(win)); },
      assert, win);
}

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_unlock_all, (MPI_Win win)) {
  return in_call(
      "MPI_Win_unlock_all", win, [&](state& me) { unlock_all(me, checked_window(win)); }, win);
}

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_flush, (int rank, MPI_Win win)) {
  return in_call(
      "MPI_Win_flush", win,
      [&](state& me) {
        window_object& w = checked_window(win);
        if (rank == MPI_PROC_NULL) return;
        check_locked(w, rank);
        complete_at(w, rank);
        note_complete(me, w, rank);
        note_look(me, w);
      },
      rank, win);
}

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_flush_all, (MPI_Win win)) {
  return in_call(
      "MPI_Win_flush_all", win,
      [&](state& me) {
        window_object& w = checked_window(win);
        check_passive(w);
        w.memory->quiet(w.operations);
        note_complete(me, w, -1);
        note_look(me, w);
      },
      win);
}

// What an operation reads is copied when it returns; results that are under way may be anybody's.
WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_flush_local, (int rank, MPI_Win win)) {
  return in_call(
      "MPI_Win_flush_local", win,
      [&](state& me) {
        window_object& w = checked_window(win);
        if (rank == MPI_PROC_NULL) return;
        check_locked(w, rank);
        w.memory->complete(w.operations);
        note_complete(me, w, rank, true);
        note_look(me, w);
      },
      rank, win);
}

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_flush_local_all, (MPI_Win win)) {
  return in_call(
      "MPI_Win_flush_local_all", win,
      [&](state& me) {
        window_object& w = checked_window(win);
        check_passive(w);
        w.memory->complete(w.operations);
        note_complete(me, w, -1, true);
        note_look(me, w);
      },
      win);
}

WEFT_MPI_FUNCTION(int, MPI_Win_sync, (MPI_Win win)) {
  return in_call(
      "MPI_Win_sync", win,
      [&](state& me) {
        weft::asymmetric::full_fence();
        note_synchronised(me);
        note_look(me, checked_window(win));
      },
      win);
}
