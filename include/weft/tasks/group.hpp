// Tasks that their maker waits for together.
//
//   weft::task_group both;
//   both.spawn([&] { left = sum(first_half); });
//   right = sum(second_half);
//   both.wait();
//
// Tasks run on any worker, at the same time as others; whoever waits in weft runs them meanwhile. A task may wait:
// for tasks of its own, for a future, in a loop; its worker goes on with other work. It runs to its end on the
// worker that has begun it. It is no rank: it may not send or receive.
#pragma once
#include <type_traits>

#include "weft/tasks/task.hpp"

namespace weft {

class task_group;

namespace detail {

// Made and waited for by one flow of control; spawn() and the stop may be called by any worker.
class group_core {
 public:
  group_core();
  ~group_core();  // Waits.
  group_core(const group_core&) = delete;
  group_core& operator=(const group_core&) = delete;

  void spawn(task& work, priority urgency);
  void finish() noexcept;  // Each task that was spawned calls it at its end.
  void fail(std::exception_ptr why) noexcept;
  void wait();
  void request_stop() noexcept;
  [[nodiscard]] bool stop_requested() const noexcept;
  [[nodiscard]] std::stop_token stop_token();

 private:
  struct body;
  [[nodiscard]] body& self() noexcept { return *reinterpret_cast<body*>(storage_); }
  [[nodiscard]] const body& self() const noexcept {
    return *reinterpret_cast<const body*>(storage_);
  }
  void wait_for_all();

  alignas(16) std::byte storage_[160];
};

template <class F>
struct group_task : task {
  group_core& of;
  F f;
  template <class G>
  group_task(group_core& group, G&& body) : of(group), f(std::forward<G>(body)) {
    act = [](task& self, bool may_run) noexcept {
      auto& mine = static_cast<group_task&>(self);
      group_core& group_of_mine = mine.of;
      if (may_run && !group_of_mine.stop_requested()) {
        try {
          if constexpr (std::is_invocable_v<F&, std::stop_token>)
            mine.f(group_of_mine.stop_token());
          else
            mine.f();
        } catch (...) {
          group_of_mine.fail(std::current_exception());
        }
      }
      free_pooled(&mine);
      group_of_mine.finish();
    };
  }
};

}  // namespace detail

class task_group {
 public:
  // Made by a rank or a task, not in a chunk of a loop: throws weft::error there, and outside of both.
  task_group() = default;
  // Waits for its tasks; what they throw is lost.
  ~task_group() = default;

  // `f` is called once, f() or f(std::stop_token), unless a stop is requested before it begins. Called by the
  // maker, or by one of its tasks; a copy of `f` is kept. Takes about as long as 100 instructions.
  template <class F>
  void spawn(F&& f, priority urgency = priority::normal) {
    using body = std::decay_t<F>;
    static_assert(std::is_invocable_v<body&> || std::is_invocable_v<body&, std::stop_token>,
                  "a task is a function without arguments, or of a std::stop_token");
    core_.spawn(*detail::make_pooled<detail::group_task<body>>(core_, std::forward<F>(f)), urgency);
  }
  // Returns when all tasks spawned so far, and those that they have spawned here, have ended. Rethrows the first
  // exception of one of them, which has requested a stop of the others. Called by the maker; the group may be used
  // again, unless it was stopped.
  void wait() { core_.wait(); }

  // Tasks that have not begun will not; those that have may ask for the token.
  void request_stop() noexcept { core_.request_stop(); }
  [[nodiscard]] bool stop_requested() const noexcept { return core_.stop_requested(); }
  [[nodiscard]] std::stop_token get_stop_token() { return core_.stop_token(); }

 private:
  detail::group_core core_;
};

}  // namespace weft
