// Who may come in, alone or with others, by words that ranks change from afar, and a list of those that wait. A rank that waits
// sleeps until a word of its own memory changes, which whoever makes room for it writes.
//
//   state    the lower half: how many have it shared, or will as soon as nobody has it alone
//            the upper half: who has it alone, or how many claims there are that exclude those who share
//   waiters  the rank that has come to the list last, counted from 1; 0: nobody waits
//   link     each rank's own word: 0: it is not in the list; `listed`, and who came before it
//
// Nobody is forgotten: a rank is in the list before it looks at the state once more, by an update. If that update comes before
// the one by which another one leaves, that one finds it in the list; if it comes later, it finds that there is room. All are
// updates that acquire and release (sync/memory_word.hpp). Who leaves takes the whole list and wakes everybody in it: they look
// again.
//
// A claim to share is counted at once, so one update is all it takes; whoever wants to be alone comes in only where nobody is
// counted. `Words` says where the words are (words.hpp; in the model test, memory of the checker).
#pragma once
#include <concepts>
#include <cstdint>

namespace weft::mpi {

template <class T>
concept gate_words = requires(T w, std::uint64_t value, int rank) {
  { w.rank() } -> std::same_as<int>;
  // Updates of `state` and of `waiters`. Each returns the old value.
  { w.add(value) } -> std::same_as<std::uint64_t>;
  { w.change(value, value) } -> std::same_as<std::uint64_t>;  // From, to.
  { w.waiters() } -> std::same_as<std::uint64_t>;
  { w.change_waiters(value, value) } -> std::same_as<std::uint64_t>;
  { w.take_waiters() } -> std::same_as<std::uint64_t>;  // Leaves 0.
  { w.link_of(rank) } -> std::same_as<std::uint64_t>;
  w.set_link(value);  // The own one.
  w.wake(rank);       // Sets that rank's link to 0.
  w.wait();           // Returns when the own link is 0.
};

template <gate_words Words>
class gate {
 public:
  explicit gate(Words words) noexcept : words_(words) {}

  void enter_shared() {
    const auto is_mine = [this] { return upper(words_.add(0)) == 0; };
    if (upper(words_.add(1)) != 0) wait_until(is_mine);
  }
  void leave_shared() {
    if (words_.add(minus(1)) == 1) wake_all();
  }

  void enter_alone() {
    const std::uint64_t alone = one_above * own();
    const auto take = [&] { return words_.change(0, alone) == 0; };
    if (!take()) wait_until([&] { return words_.add(0) == 0 && take(); });
  }
  void leave_alone() {
    words_.add(minus(one_above * own()));
    wake_all();
  }

  // Claims that exclude those who share, but not each other.
  void enter_against_shared() {
    if (!claim(0)) wait_until([this] { return claim(words_.add(0)); });
  }
  void leave_against_shared() {
    if (upper(words_.add(minus(one_above))) == 1) wake_all();
  }

  // What a state means.
  [[nodiscard]] static std::uint64_t upper(std::uint64_t state) noexcept { return state >> 32; }
  [[nodiscard]] static std::uint64_t lower(std::uint64_t state) noexcept {
    return state & (one_above - 1);
  }

 private:
  static constexpr std::uint64_t one_above = std::uint64_t{1} << 32;
  static constexpr std::uint64_t listed = std::uint64_t{1} << 63;

  [[nodiscard]] static constexpr std::uint64_t minus(std::uint64_t value) noexcept {
    return std::uint64_t{0} - value;
  }
  [[nodiscard]] std::uint64_t own() const { return static_cast<std::uint64_t>(words_.rank()) + 1; }
  // `state`: what it may be now.
  [[nodiscard]] bool claim(std::uint64_t state) {
    while (lower(state) == 0) {
      const std::uint64_t found = words_.change(state, state + one_above);
      if (found == state) return true;
      state = found;
    }
    return false;
  }

  template <class Holds>
  [[gnu::noinline]] void wait_until(const Holds& holds) {
    for (;;) {
      join();
      if (holds()) return withdraw();
      words_.wait();
      if (holds()) return;
    }
  }
  void join() {
    std::uint64_t before = words_.waiters();
    for (;;) {
      words_.set_link(listed | before);
      const std::uint64_t found = words_.change_waiters(before, own());
      if (found == before) return;
      before = found;
    }
  }
  // It is in the list, or somebody has taken the list and will write its link: then it waits for that.
  void withdraw() {
    if (wake_all())
      words_.set_link(0);
    else
      words_.wait();
  }
  // Takes the list and wakes the others. Returns whether this rank was in it.
  bool wake_all() {
    if (words_.waiters() == 0) return false;
    bool was_in_it = false;
    for (std::uint64_t next = words_.take_waiters(); next != 0;) {
      const int rank = static_cast<int>(next - 1);
      next = words_.link_of(rank) & ~listed;  // Once it is woken it may be in another list.
      if (rank == words_.rank())
        was_in_it = true;
      else
        words_.wake(rank);
    }
    return was_in_it;
  }

  Words words_;
};

}  // namespace weft::mpi
