// Model checker: runs a few threads of a lock-free structure in every order, and lets every load
// read every store that the C++ memory model allows it to read.
//
//   const auto result = model::explore([] {
//     auto ring = std::make_shared<record_ring<model_atomics>>(256);
//     return model::scenario{.threads = {[=] { ... }, [=] { ... }}, .check = [=] { return ...; }};
//   }, /*preemption_bound=*/3);
//   EXPECT_FALSE(result.error) << *result.error;
//
// The function is called once per execution and must do the same each time. Threads are fibers of
// one kernel thread; each operation on a model atomic is a point where another thread may go on.
// A bound on preemptions (a switch away from a thread that could go on) keeps the number of
// executions small: nearly all bugs need two or three.
//
// Found: a check that returns false, a model::require that fails, a data race on a plain field, a
// field destroyed while another thread may use it, threads that wait for ever, an execution that
// does not end. The report lists each operation of the failing execution.
//
// The memory model is C++20's, restricted to what processors do: stores to one location, and
// seq_cst operations, are ordered as they are executed, and a load never reads a store that is
// executed later. What an ordering makes visible is kept per thread: a clock of what happened
// before, and for every location the oldest store that may still be read. Not modelled: spurious
// failures of compare_exchange_weak, and
// std::atomic_thread_fence, which weft does not use.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <climits>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::model {

inline constexpr std::size_t threads_max = 7;
inline constexpr std::size_t locations_max = 192;  // Atomics and plain fields of one execution.
inline constexpr std::size_t executions_max = 3'000'000;
inline constexpr std::size_t steps_max = 5'000;  // Operations of one execution.
inline constexpr int unbounded = INT_MAX;

struct scenario {
  std::vector<std::function<void()>> threads;
  std::function<bool()> check = [] { return true; };  // Called when all threads have ended.
};
using setup = std::function<scenario()>;

struct result {
  std::size_t executions = 0;
  std::optional<std::string> error;  // With the failing interleaving.
  std::set<std::string> places;      // Of the labelled orderings and fences that were met.
};

// Stops at the first error. The ordering that stands at the place `weakened` becomes relaxed, a
// labelled fence nothing, a labelled seq_cst acquire or release. A place is a label and where it is
// used, as in "A1 at record_ring.hpp:214": each use of a label has its own proof.
result explore(const setup& make, int preemption_bound, const std::string& weakened = {});

// The first error of each scenario that has one; empty when all hold.
std::string failures(const std::vector<setup>& scenarios, int preemption_bound);

// The places of the scenarios' orderings and fences that may be weakened without any scenario's
// failing: guesses. Every place has its proof when the list is empty and there are no failures.
// Those in the file `elsewhere` are left to that file's own scenarios. Those that are needed are printed:
// tests/tidy/proven_labels.py compares them with the sources.
std::vector<std::string> unneeded_places(const std::vector<setup>& scenarios, int preemption_bound,
                                         const std::string& elsewhere = {});

// --- called by the threads of a scenario ---

// Ends the execution as failed when `condition` is false.
void require(bool condition, const char* what);

// Waits until `condition`, which only loads, is true; reads the newest values. In place of a loop
// that polls, which would have an execution for every number of rounds.
void wait_until(const std::function<bool()>& condition);

// Called after a failed attempt that will be repeated: goes on after another thread has stored
// something, or when nobody else can go on; then loads read the newest values.
void pause();

// --- what model_atomics is made of ---

struct order {
  order(std::memory_order plain_order) : value(plain_order) {}
  order(std::memory_order labelled, const char* of_load, const char* of_store,
        const std::source_location& labelled_at)
      : value(labelled), load_label(of_load), store_label(of_store), place(labelled_at) {}

  std::memory_order value;
  const char* load_label = nullptr;
  const char* store_label = nullptr;
  std::source_location place;
};

struct knowledge;

// Where the threads' accesses to one object are kept.
class location {
 public:
  location();
  location(const location&) = delete;
  location& operator=(const location&) = delete;
  ~location();

 protected:
  friend class machine;
  using place = const std::source_location&;

  // Points of the exploration; the template below adds the values.
  void begin(const char* operation, order how, place where) const;
  [[nodiscard]] std::size_t oldest_readable(order how) const;
  [[nodiscard]] std::size_t newest() const { return released_.size() - 1; }
  [[nodiscard]] static std::size_t choose(std::size_t count);
  void loaded(std::size_t index, order how, std::uint64_t value) const;
  void stored(order how, bool is_exchange, std::uint64_t value);
  void access_plain(bool write, place where) const;
  void stored_plain(place where);
  void sleep(bool timed, const location* beside = nullptr) const;
  void loaded_by_kernel() const;
  void wake_one(place where) const;

 private:
  std::size_t id_;
  // By thread: time of the last access, of the last atomic store, of the last plain access.
  mutable std::array<std::uint32_t, threads_max + 1> accessed_{};
  mutable std::array<std::uint32_t, threads_max + 1> atomic_stored_{};
  mutable std::array<std::uint32_t, threads_max + 1> plain_accessed_{};
  // Atomics: for each store, what an acquire of it makes visible (null: nothing).
  std::vector<const knowledge*> released_;
  // Who constructed it or wrote it last by a plain access, and when.
  mutable std::size_t writer_ = 0;
  mutable std::uint32_t written_ = 0;
};

template <class T>
class atomic : location {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

 public:
  explicit(false) atomic(T value = T{}) { values_.push_back({value}); }

  T load(order how, place where = std::source_location::current()) const {
    begin("load", how, where);
    const std::size_t readable = newest() + 1 - oldest_readable(how);
    const std::size_t index = newest() - choose(readable);
    loaded(index, how, word(values_[index].value));
    return values_[index].value;
  }

  void store(T value, order how, place where = std::source_location::current()) {
    begin("store", how, where);
    put(value, how, false);
  }

  T exchange(T value, order how, place where = std::source_location::current()) {
    return modify("exchange", how, where, [&](T) { return value; });
  }
  T fetch_add(T value, order how, place where = std::source_location::current()) {
    return modify("fetch_add", how, where, [&](T old) { return static_cast<T>(old + value); });
  }
  T fetch_sub(T value, order how, place where = std::source_location::current()) {
    return modify("fetch_sub", how, where, [&](T old) { return static_cast<T>(old - value); });
  }
  T fetch_or(T value, order how, place where = std::source_location::current()) {
    return modify("fetch_or", how, where, [&](T old) { return static_cast<T>(old | value); });
  }
  T fetch_xor(T value, order how, place where = std::source_location::current()) {
    return modify("fetch_xor", how, where, [&](T old) { return static_cast<T>(old ^ value); });
  }
  T fetch_and(T value, order how, place where = std::source_location::current()) {
    return modify("fetch_and", how, where, [&](T old) { return static_cast<T>(old & value); });
  }

  bool compare_exchange_strong(T& expected, T desired, order success, order failure,
                               place where = std::source_location::current()) {
    begin("compare_exchange", success, where);
    // It succeeds on the newest store only; it may fail on any readable one that differs.
    std::vector<std::size_t> outcomes;
    const bool can_succeed = word(values_.back().value) == word(expected);
    if (can_succeed) outcomes.push_back(newest());
    for (std::size_t index = newest() + 1; index-- > oldest_readable(failure);)
      if (word(values_[index].value) != word(expected)) outcomes.push_back(index);
    const std::size_t outcome = choose(outcomes.size());
    if (can_succeed && outcome == 0) {
      loaded(newest(), success, word(expected));
      put(desired, success, true);
      return true;
    }
    expected = values_[outcomes[outcome]].value;
    loaded(outcomes[outcome], failure, word(expected));
    return false;
  }
  bool compare_exchange_weak(T& expected, T desired, order success, order failure,
                             place where = std::source_location::current()) {
    return compare_exchange_strong(expected, desired, success, failure, where);
  }
  bool compare_exchange_weak(T& expected, T desired, order both,
                             place where = std::source_location::current()) {
    return compare_exchange_strong(expected, desired, both, both, where);
  }

  // Plain accesses to the same memory, as a memcpy would make them.
  T get(place where = std::source_location::current()) const {
    access_plain(false, where);
    return values_.back().value;
  }
  void set(T value, place where = std::source_location::current()) {
    stored_plain(where);
    values_.push_back({value});
  }

  // The kernel's futex: compares with the newest value, and returns with that value seen.
  void futex_wait(T expected, bool timed, place where) const {
    begin("futex_wait", std::memory_order_relaxed, where);
    if (word(values_.back().value) == word(expected)) sleep(timed);
    loaded_by_kernel();
  }
  // The same on two words: sleeps while neither has changed.
  void futex_wait_beside(T expected, const atomic& other, T value, bool timed, place where) const {
    begin("futex_waitv", std::memory_order_relaxed, where);
    if (word(values_.back().value) == word(expected) &&
        word(other.values_.back().value) == word(value))
      sleep(timed, &other);
    loaded_by_kernel();
    other.loaded_by_kernel();
  }
  void futex_wake(place where) const { wake_one(where); }

 private:
  struct slot {  // std::vector<bool> holds no bools.
    T value;
  };

  static std::uint64_t word(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  void put(T value, order how, bool is_exchange) {
    stored(how, is_exchange, word(value));
    values_.push_back({value});
  }
  template <class Change>
  T modify(const char* operation, order how, place where, Change change) {
    begin(operation, how, where);
    const T old = values_.back().value;
    loaded(newest(), how, word(old));
    put(change(old), how, true);
    return old;
  }

  std::vector<slot> values_;
};

template <class T>
class plain : location {
 public:
  plain() = default;
  explicit plain(T value) : value_(std::move(value)) {}
  const T& get(place where = std::source_location::current()) const {
    access_plain(false, where);
    return value_;
  }
  void set(T value, place where = std::source_location::current()) {
    access_plain(true, where);
    value_ = std::move(value);
  }

 private:
  T value_{};
};

void light_fence(const char* label, const std::source_location& where);
void heavy_fence(const char* label, const std::source_location& where);

}  // namespace weft::model

namespace weft {

struct model_atomics {
  template <class T>
  using atomic = model::atomic<T>;
  template <class T>
  using plain = model::plain<T>;

  using place = std::source_location;

  static model::order acquire(const char* label, const place& where = place::current()) {
    return {std::memory_order_acquire, label, nullptr, where};
  }
  static model::order release(const char* label, const place& where = place::current()) {
    return {std::memory_order_release, nullptr, label, where};
  }
  static model::order acq_rel(const char* load_label, const char* store_label,
                              const place& where = place::current()) {
    return {std::memory_order_acq_rel, load_label, store_label, where};
  }
  static model::order seq_cst(const char* label, const place& where = place::current()) {
    return {std::memory_order_seq_cst, label, label, where};
  }

  static void light_fence(const char* label, const place& where = place::current()) {
    model::light_fence(label, where);
  }
  static void heavy_fence(const char* label, const place& where = place::current()) {
    model::heavy_fence(label, where);
  }

  static void wait(const model::atomic<std::uint32_t>& word, std::uint32_t expected,
                   std::int64_t timeout_ns, const place& where = place::current()) {
    word.futex_wait(expected, timeout_ns >= 0, where);
  }
  static void wait_for_either(const model::atomic<std::uint32_t>& word, std::uint32_t expected,
                              const model::atomic<std::uint32_t>& bell, std::uint32_t value,
                              bool /*shared*/, std::int64_t timeout_ns,
                              const place& where = place::current()) {
    word.futex_wait_beside(expected, bell, value, timeout_ns >= 0, where);
  }
  static void pause() { model::pause(); }
  static void wake(const model::atomic<std::uint32_t>& word,
                   const place& where = place::current()) {
    word.futex_wake(where);
  }
};

}  // namespace weft
