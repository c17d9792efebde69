// Stores, loads and updates of a word in another rank's memory: their memory orders, in one place for all ways to a
// word. `Word` refers to it: std::atomic_ref<T>, or an atomic of the model checker.
//
//   R1 store, every update -- A1 load, every update   who reads the word sees what its writer wrote before
#pragma once
#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
struct memory_word {
  template <class Word, class T>
  [[gnu::always_inline]] static void store(Word& word, T value) noexcept {
    word.store(value, Atomics::release("R1"));
  }
  template <class Word>
  [[nodiscard, gnu::always_inline]] static auto load(const Word& word) noexcept {
    return word.load(Atomics::acquire("A1"));
  }
  // The updates return the old value.
  template <class Word, class T>
  [[gnu::always_inline]] static T swap(Word& word, T value) noexcept {
    return word.exchange(value, Atomics::acq_rel("A1", "R1"));
  }
  template <class Word, class T>
  [[gnu::always_inline]] static T compare_swap(Word& word, T expected, T value) noexcept {
    word.compare_exchange_strong(expected, value, Atomics::acq_rel("A1", "R1"),
                                 Atomics::acquire("A1"));
    return expected;
  }
  template <class Word, class T>
  [[gnu::always_inline]] static T add(Word& word, T value) noexcept {
    return word.fetch_add(value, Atomics::acq_rel("A1", "R1"));
  }
  template <class Word, class T>
  [[gnu::always_inline]] static T bit_and(Word& word, T value) noexcept {
    return word.fetch_and(value, Atomics::acq_rel("A1", "R1"));
  }
  template <class Word, class T>
  [[gnu::always_inline]] static T bit_or(Word& word, T value) noexcept {
    return word.fetch_or(value, Atomics::acq_rel("A1", "R1"));
  }
  template <class Word, class T>
  [[gnu::always_inline]] static T bit_xor(Word& word, T value) noexcept {
    return word.fetch_xor(value, Atomics::acq_rel("A1", "R1"));
  }
};

}  // namespace weft
