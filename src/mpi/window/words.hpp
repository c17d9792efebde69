// The words by which the ranks of a window synchronise: a small region of the window's own, of which each rank has a part.
// They are changed by rma's updates of words, so it does not matter where a rank lives.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/limits.hpp"
#include "mpi/object/window.hpp"
#include "mpi/window/gate.hpp"
#include "rma/initiator.hpp"

namespace weft::mpi {

// Where things lie in a rank's part.
struct window_words {
  // The two words of a gate: of the lock of this rank's memory; and, at the first rank, of MPI_Win_lock_all.
  static constexpr std::uint64_t own_gate = 0;
  static constexpr std::uint64_t common_gate = cache_line;
  static constexpr std::uint64_t links = 2 * cache_line;

  // The rank's link in the list of those that wait for the lock of `target`; of `size`: for the common gate.
  [[nodiscard]] static constexpr std::uint64_t link(int target) noexcept {
    return links + static_cast<std::uint64_t>(target) * sizeof(std::uint64_t);
  }
  // What other ranks tell this one: how often `target` has posted, and `origin` has completed. They count on for ever; this rank
  // remembers how many of them it has taken note of (window_object).
  [[nodiscard]] static constexpr std::uint64_t posts(int target, int size) noexcept {
    return link(size + 1) + static_cast<std::uint64_t>(target) * sizeof(std::uint32_t);
  }
  [[nodiscard]] static constexpr std::uint64_t completions(int origin, int size) noexcept {
    return posts(size, size) + static_cast<std::uint64_t>(origin) * sizeof(std::uint32_t);
  }
  [[nodiscard]] static constexpr std::size_t bytes(int size) noexcept {
    return completions(size, size);
  }
};

[[nodiscard]] inline rma::location word_at(const window_object& w, int rank,
                                           std::uint64_t offset) noexcept {
  return {w.words, rank, offset};
}
template <class T>
[[nodiscard]] T* own_word(const window_object& w, std::uint64_t offset) noexcept {
  return reinterpret_cast<T*>(w.words->own().data() + offset);
}

// The words of a gate at rank `home`.
class words_of_gate {
 public:
  // `wait(w, call, link)` returns when the word at `link` is 0.
  words_of_gate(window_object& w, int home, std::uint64_t at, std::uint64_t link,
                const char* call) noexcept
      : w_(&w), call_(call), at_(at), link_(link), home_(home) {}

  [[nodiscard]] int rank() const { return w_->own(); }
  std::uint64_t add(std::uint64_t value) {
    return w_->memory->fetch<rma::update::add>(w_->operations, state(), value);
  }
  std::uint64_t change(std::uint64_t from, std::uint64_t to) {
    return w_->memory->fetch<rma::update::compare_swap>(w_->operations, state(), to, from);
  }
  std::uint64_t waiters() { return w_->memory->get<std::uint64_t>(w_->operations, list()); }
  std::uint64_t change_waiters(std::uint64_t from, std::uint64_t to) {
    return w_->memory->fetch<rma::update::compare_swap>(w_->operations, list(), to, from);
  }
  std::uint64_t take_waiters() {
    return w_->memory->fetch<rma::update::swap>(w_->operations, list(), std::uint64_t{0});
  }
  std::uint64_t link_of(int rank) {
    return w_->memory->get<std::uint64_t>(w_->operations, word_at(*w_, rank, link_));
  }
  void set_link(std::uint64_t value) {
    rma::initiator::put_at(own_word<std::uint64_t>(*w_, link_), value);
  }
  void wake(int rank);
  void wait();

  // For reports: what the state is, as far as loads reach it.
  [[nodiscard]] bool look(std::uint64_t& state) const noexcept;
  [[nodiscard]] const window_object& window() const noexcept { return *w_; }
  [[nodiscard]] int home() const noexcept { return home_; }
  [[nodiscard]] bool is_common() const noexcept { return at_ == window_words::common_gate; }

 private:
  [[nodiscard]] rma::location state() const noexcept { return word_at(*w_, home_, at_); }
  [[nodiscard]] rma::location list() const noexcept {
    return word_at(*w_, home_, at_ + sizeof(std::uint64_t));
  }

  window_object* w_;
  const char* call_;
  std::uint64_t at_, link_;
  int home_;
};
static_assert(gate_words<words_of_gate>);

// The lock of the memory of `target`, and the common one, which MPI_Win_lock_all shares and exclusive locks are against.
[[nodiscard]] inline gate<words_of_gate> gate_of(window_object& w, int target, const char* call) {
  return gate(words_of_gate(w, target, window_words::own_gate, window_words::link(target), call));
}
[[nodiscard]] inline gate<words_of_gate> common_gate(window_object& w, const char* call) {
  return gate(words_of_gate(w, 0, window_words::common_gate, window_words::link(w.size), call));
}

}  // namespace weft::mpi
