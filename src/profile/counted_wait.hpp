// A wait of a rank, in its account and in timelines, while the object lives: the one for all faces. What is waited for is a value
// whose type says how such a wait begins and ends.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "profile/accounts.hpp"

namespace weft::profile {

// In place of the rank, of a wait of a task.
inline constexpr int no_rank_but_task = -2;

template <class T>
concept awaited = requires(T what, int rank, const char* call) {
  what.begin(rank, call);
  what.end(rank);
};

// Messages that count at `counter`: those that come, and those that are taken.
struct awaited_messages {
  trace_kind kind;  // Whether they are received or sent.
  int peer;         // The other rank; -1: not known.
  const void* counter;

  void begin(int rank, const char* call) const { begin_wait(rank, kind, peer, call, counter); }
  void end(int rank) const { end_wait(rank, kind); }
};

// What tasks or promises bring about: the object of this process under which they leave a cause. A task waits for it, too.
struct awaited_object {
  const void* object;
  const void* return_address;  // The address to which the public function returns; null: not known.
  task_wait of_task{};

  void begin(int rank, const char* call) {
    if (rank == no_rank_but_task) {
      of_task = begin_task_wait(call, return_address);
    } else {
      if (return_address != nullptr) note_return_address(return_address);
      begin_caused_wait(rank, trace_kind::wait_task, call);
    }
  }
  void end(int rank) const {
    const std::uint64_t key = key_of_object(object);
    if (rank == no_rank_but_task)
      end_task_wait(of_task, key);
    else
      end_caused_wait(rank, trace_kind::wait_task, wait_state::late_task, std::span(&key, 1));
  }
};

// Something that others leave a cause for, under one of the keys that `keys()` gives when the wait ends.
template <std::invocable Keys>
struct awaited_cause {
  trace_kind kind;
  wait_state state;
  Keys keys;

  void begin(int rank, const char* call) const { begin_caused_wait(rank, kind, call); }
  void end(int rank) const {
    const auto all = keys();
    end_caused_wait(rank, kind, state, std::span<const std::uint64_t>(all));
  }
};
template <class Keys>
awaited_cause(trace_kind, wait_state, Keys) -> awaited_cause<Keys>;

// A few keys, of which the first `count` are meant.
struct some_keys {
  static constexpr std::size_t most = 64;
  std::array<std::uint64_t, most> all;
  std::size_t count = 0;

  [[nodiscard]] const std::uint64_t* begin() const noexcept { return all.data(); }
  [[nodiscard]] const std::uint64_t* end() const noexcept { return all.data() + count; }
};

// Data that move: nobody is late.
struct no_keys {
  std::array<std::uint64_t, 0> operator()() const noexcept { return {}; }
};

// What is waited for is copied in the unlikely branch alone: a wait that is not traced keeps one number.
template <awaited What>
requires std::is_trivially_destructible_v<What>
class [[nodiscard]] counted_wait {
 public:
  // `whose()`: the rank that waits, or no_rank for a wait that is in no account. While nothing is traced it is not asked.
  template <std::invocable Whose>
  [[gnu::always_inline]] counted_wait(const Whose& whose, const char* call, const What& what) {
    if (tracing()) [[unlikely]] {
      rank_ = whose();
      if (rank_ == no_rank) return;
      std::construct_at(&what_, what);
      what_.begin(rank_, call);
    }
  }
  [[gnu::always_inline]] ~counted_wait() {
    if (rank_ != no_rank) [[unlikely]]
      end_traced(what_, rank_);
  }
  counted_wait(const counted_wait&) = delete;
  counted_wait& operator=(const counted_wait&) = delete;

 private:
  // A call of its own: inlined, the compiler takes what_ for used where it has not been made.
  [[gnu::noinline, gnu::cold]] static void end_traced(What& what, int rank) { what.end(rank); }

  int rank_ = no_rank;
  union {
    What what_;  // Only while there is a rank.
  };
};

}  // namespace weft::profile
