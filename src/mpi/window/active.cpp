// Active targets: fences, and epochs between groups: post, start, complete, wait.
#include <algorithm>
#include <numeric>

#include "collective/collectives.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/window/race_notes.hpp"
#include "mpi/window/waits.hpp"
#include "mpi/window/window.hpp"
#include "mpi/window/words.hpp"

namespace weft::mpi {
namespace {

using counts = window_object::epoch_counts;

counts& counts_with(window_object& w, int rank) {
  if (w.epochs.empty()) w.epochs.resize(static_cast<std::size_t>(w.size));
  return w.epochs[static_cast<std::size_t>(rank)];
}

// What one rank tells another one: where the other one's count of it lies, and what both remember of it.
struct told_thing {
  std::uint64_t (*word_of)(int rank, int size);
  std::uint32_t counts::*told;
  std::uint32_t counts::*taken;
  const char* what;  // ", until rank 3 of window halo ..."
};
constexpr told_thing a_post{&window_words::posts, &counts::posts_told, &counts::posts_taken,
                            "posts"};
constexpr told_thing a_completion{&window_words::completions, &counts::completions_told,
                                  &counts::completions_taken, "completes"};

// Whether that rank has told it more often than this one has taken note of.
bool has_told(const window_object& w, const told_thing& it, int rank) noexcept {
  const std::uint32_t told =
      rma::initiator::look(own_word<std::uint32_t>(w, it.word_of(rank, w.size)));
  return told != (w.epochs.empty() ? 0 : w.epochs[static_cast<std::size_t>(rank)].*it.taken);
}
// The count is a store: whoever completes one epoch and posts the next writes both into one line while it has it.
void tell(window_object& w, const told_thing& it, int rank) {
  const std::uint64_t word = it.word_of(w.own(), w.size);
  note_cause(w, rank, word);
  const std::uint32_t count = ++(counts_with(w, rank).*it.told);
  w.memory->put(w.operations, word_at(w, rank, word), count);
}

// What reports say of a wait for other ranks to have come so far in their epochs.
struct awaited_ranks final : detail::wait_words {
  const window_object& w;
  const told_thing& it;
  const std::vector<int>& ranks;

  awaited_ranks(const window_object& of, const told_thing& awaited, const std::vector<int>& all)
      : w(of), it(awaited), ranks(all) {}

  [[nodiscard]] bool has_come(int rank) const noexcept { return has_told(w, it, rank); }
  [[nodiscard]] std::string text() const override {
    const auto missing = [&](int rank) { return !has_come(rank); };
    const auto first = std::ranges::find_if(ranks, missing);
    if (first == ranks.end()) return formatted(" of {}", name_of_window(w));
    const auto count = std::ranges::count_if(ranks, missing);
    return formatted(", until rank {} of {} {}{}", *first, name_of_window(w), it.what,
                     count == 1 ? "" : formatted(", and {} more", count - 1));
  }
  bool awaited(std::vector<int>& into) const override {
    for (const int rank : ranks)
      if (!has_come(rank)) into.push_back(in_world(w, rank));
    return false;
  }
};

[[gnu::noinline]] void look_up_group(const window_object& w, const std::vector<int>& numbers,
                                     window_object::epoch_group& found) {
  std::vector<int> ranks = places_in(local_ranks(*w.ranks), numbers);
  const auto other = std::ranges::find(ranks, static_cast<int>(MPI_UNDEFINED));
  if (other != ranks.end())
    fail(MPI_ERR_GROUP, "rank {} of the group is not among the ranks of {}", other - ranks.begin(),
         name_of_window(w));
  std::ranges::sort(ranks);
  found.numbers = numbers;
  found.ranks = std::move(ranks);
}
// The ranks of a group, as ranks of the window, are those of `last` then. The numbers are compared, since a handle may be used
// again for another group.
void take_group(state& me, const window_object& w, MPI_Group group,
                window_object::epoch_group& last) {
  const std::vector<int>& numbers = checked_group(me, group).ranks;
  if (numbers != last.numbers) [[unlikely]]
    look_up_group(w, numbers, last);
}

// Returns when all of `ranks` have told it.
template <class Holds>
void wait_for_ranks(window_object& w, const char* call, const told_thing& it,
                    const std::vector<int>& ranks, const Holds& holds) {
  const awaited_ranks said(w, it, ranks);
  wait_for_words(
      w, call, profile::wait_state::late_signal, ranks.size(),
      [&](std::size_t i) { return it.word_of(ranks[i], w.size); }, said, holds);
}

void check_no_epoch(const window_object& w, std::uint8_t which, const char* remedy) {
  if ((w.open & which) != 0)
    fail(MPI_ERR_RMA_SYNC, "an epoch is open at {}: call {} before", name_of_window(w), remedy);
}
void check_no_lock(const window_object& w) {
  check_no_epoch(w, window_object::locked_all, "MPI_Win_unlock_all");
  if (!w.locks.empty())
    fail(MPI_ERR_RMA_SYNC, "rank {} of {} is locked by this rank: call MPI_Win_unlock before",
         w.locks.front().target, name_of_window(w));
}

[[gnu::cold]] void check_no_other_epoch(const window_object& w) {
  check_no_epoch(w, window_object::started, "MPI_Win_complete");
  check_no_epoch(w, window_object::posted, "MPI_Win_wait");
  check_no_lock(w);
}

void fence(const state& me, int assertion, window_object& w) {
  check_assertion(assertion, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE |
                                 MPI_MODE_NOSUCCEED | MPI_MODE_NOCHECK);
  constexpr std::uint8_t other_epochs =
      window_object::started | window_object::posted | window_object::locked_all;
  if ((w.open & other_epochs) != 0 || !w.locks.empty()) [[unlikely]]
    check_no_other_epoch(w);
  w.memory->complete(w.operations);
  note_complete(me, w, -1);
  weft::detail::meet(*w.ranks->shared, w.own(), "MPI_Win_fence");
  if ((assertion & MPI_MODE_NOSUCCEED) != 0)
    w.open &= static_cast<std::uint8_t>(~window_object::fenced);
  else
    w.open |= window_object::fenced;
}

// Tells the origins that this rank has posted.
void post(state& me, MPI_Group group, int assertion, window_object& w) {
  check_assertion(assertion, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT);
  check_no_epoch(w, window_object::posted, "MPI_Win_wait");
  take_group(me, w, group, w.origins);
  w.completed = 0;
  w.open |= window_object::posted;
  for (const int origin : w.origins.ranks) {
    note_posts(me, w, origin);
    tell(w, a_post, origin);
  }
}

void start(state& me, MPI_Group group, int assertion, window_object& w) {
  check_assertion(assertion, MPI_MODE_NOCHECK);
  check_no_epoch(w, window_object::started, "MPI_Win_complete");
  check_no_lock(w);
  take_group(me, w, group, w.targets);
  const std::vector<int>& targets = w.targets.ranks;
  std::size_t come = 0;
  const auto have_posted = [&] {
    while (come < targets.size() && has_told(w, a_post, targets[come])) ++come;
    return come == targets.size();
  };
  if (!have_posted()) wait_for_ranks(w, "MPI_Win_start", a_post, targets, have_posted);
  for (const int target : targets) {
    note_started(me, w, target);
    ++counts_with(w, target).posts_taken;
  }
  end_fences(w);
  w.open |= window_object::started;
}

// Tells the targets that this rank has completed.
void complete(const state& me, window_object& w) {
  if ((w.open & window_object::started) == 0)
    fail(MPI_ERR_RMA_SYNC, "no epoch of MPI_Win_start is open at {}", name_of_window(w));
  w.memory->complete(w.operations);  // What tells a target hands over the stores before it.
  note_complete(me, w, -1);
  for (const int target : w.targets.ranks) {
    note_completes(me, w, target);
    tell(w, a_completion, target);
  }
  w.open &= static_cast<std::uint8_t>(~window_object::started);
}

void check_posted(const window_object& w) {
  if ((w.open & window_object::posted) == 0)
    fail(MPI_ERR_RMA_SYNC, "no epoch of MPI_Win_post is open at {}", name_of_window(w));
}

bool have_completed(window_object& w) noexcept {
  const std::vector<int>& origins = w.origins.ranks;
  while (w.completed < origins.size() && has_told(w, a_completion, origins[w.completed]))
    ++w.completed;
  return w.completed == origins.size();
}

void forget_exposure(window_object& w) {
  w.open &= static_cast<std::uint8_t>(~window_object::posted);
}
void end_exposure(const state& me, window_object& w) {
  for (const int origin : w.origins.ranks) {
    note_waited(me, w, origin);
    ++counts_with(w, origin).completions_taken;
  }
  forget_exposure(w);
}

void wait_for_origins(const state& me, window_object& w) {
  check_posted(w);
  if (!have_completed(w)) {
    try {
      wait_for_ranks(w, "MPI_Win_wait", a_completion, w.origins.ranks,
                     [&] { return have_completed(w); });
    } catch (const error&) {
      forget_exposure(w);
      throw;
    }
  }
  end_exposure(me, w);
}

void test_for_origins(state& me, int* flag, window_object& w) {
  check_not_null(flag, "flag");
  check_posted(w);
  *flag = 0;
  if (!have_completed(w)) {
    me.rank.home->yield();
    if (!have_completed(w)) return;
  }
  *flag = 1;
  end_exposure(me, w);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_fence, (int assert, MPI_Win win)) {
  return in_call(
      "MPI_Win_fence", win, [&](state& me) { fence(me, assert, checked_window(win)); }, assert,
      win);
}

WEFT_MPI_FUNCTION(int, MPI_Win_post, (MPI_Group group, int assert, MPI_Win win)) {
  return in_call(
      "MPI_Win_post", win, [&](state& me) { post(me, group, assert, checked_window(win)); }, group,
      assert, win);
}

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_start, (MPI_Group group, int assert, MPI_Win win)) {
  return in_call(
      "MPI_Win_start", win, [&](state& me) { start(me, group, assert, checked_window(win)); },
      group, assert, win);
}

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_complete, (MPI_Win win)) {
  return in_call(
      "MPI_Win_complete", win, [&](state& me) { complete(me, checked_window(win)); }, win);
}

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_wait, (MPI_Win win)) {
  return in_call(
      "MPI_Win_wait", win, [&](state& me) { wait_for_origins(me, checked_window(win)); }, win);
}

WEFT_MPI_FUNCTION(int, MPI_Win_test, (MPI_Win win, int* flag)) {
  return in_call(
      "MPI_Win_test", win, [&](state& me) { test_for_origins(me, flag, checked_window(win)); },
      win);
}
