// Coroutines over futures: a function that returns weft::future<T> and says co_await.
//
//   weft::future<int> sum(weft::future<int> a, weft::future<int> b) { co_return co_await a + co_await b; }
//
// It begins at once, on the caller's stack, and the caller goes on when it first says co_await of something that is not
// ready, or ends. Where it waits so it leaves the stack, and goes on as a task on the worker where it waited, on a stack of
// that task: what it holds of that thread stays right. Begun by spawn() it has a stack of its own from the start. An exception of what it waits for is thrown there. The future it
// waits for stays its own; each is waited for once. Its own future is ready when its variables and parameters have been
// destroyed. When the job stops they are destroyed where it waits.
#pragma once
#include <coroutine>
#include <source_location>
#include <utility>

#include "weft/tasks/future.hpp"

namespace weft {
namespace detail {

// One wait of a coroutine.
class coroutine_wait {
 public:
  explicit coroutine_wait(future_core& awaited) noexcept : awaited_(awaited) {}
  coroutine_wait(const coroutine_wait&) = delete;
  coroutine_wait& operator=(const coroutine_wait&) = delete;

  // False: it is ready, the coroutine goes on.
  template <class Promise>
  bool suspend(std::coroutine_handle<Promise> waiting) {
    if (!suspend_at(waiting)) return false;
    if constexpr (requires { waiting.promise().leave_caller(); }) waiting.promise().leave_caller();
    return true;
  }

 private:
  bool suspend_at(std::coroutine_handle<> waiting);

  future_core& awaited_;
};

// A coroutine begins on the stack of its caller, who waits below it, and leaves that stack. False: on none of weft's.
[[nodiscard]] bool begin_on_callers_stack() noexcept;
void leave_callers_stack() noexcept;
// Throws weft::error, naming `call` and what to say instead, where the calling code would wait on such a stack.
void refuse_to_wait_on_callers_stack(const char* call, const char* instead);

template <class Future>
struct future_awaiter : coroutine_wait {
  Future& of;
  future_awaiter(Future& future, future_core& core) noexcept : coroutine_wait(core), of(future) {}
  [[nodiscard]] bool await_ready() const noexcept { return future_access::state(of)->is_ready(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiting) {
    return suspend(waiting);
  }
  decltype(auto) await_resume() { return of.get(); }
};

template <class T>
struct promise_base {
  future_state<T>* state;
  bool is_on_callers_stack = false;
  explicit promise_base(const std::source_location& at)
      : state(make_pooled<future_state<T>>(2u, at)) {
    state->set_giver("the coroutine");
  }
  promise_base(const promise_base&) = delete;
  promise_base& operator=(const promise_base&) = delete;
  // A frame that is destroyed before its end cancels what it would have set.
  ~promise_base() {
    if (state == nullptr) return;
    state->cancel();
    state->drop_reference();
  }
  // First goes the frame, in which this lies, too.
  struct frame_end {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      ended.promise().leave_caller();
      future_state<T>* const set = std::exchange(ended.promise().state, nullptr);
      ended.destroy();
      set->happen();
      set->drop_reference();
    }
    void await_resume() const noexcept {}
  };
  static void* operator new(std::size_t bytes) { return take_memory(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept {
    give_memory(memory, bytes);
  }
  [[nodiscard]] future<T> get_return_object() noexcept { return future_access::adopt(state); }
  [[nodiscard]] std::suspend_never initial_suspend() noexcept {
    is_on_callers_stack = begin_on_callers_stack();
    return {};
  }
  void leave_caller() noexcept {
    if (std::exchange(is_on_callers_stack, false)) leave_callers_stack();
  }
  [[nodiscard]] frame_end final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { state->note_failure(std::current_exception()); }
};

template <class T>
struct coroutine_promise : promise_base<T> {
  // The default is the coroutine's own place.
  explicit coroutine_promise(const std::source_location& at = std::source_location::current())
      : promise_base<T>(at) {}
  template <class Value = T>
  void return_value(Value&& value) {
    this->state->emplace(std::forward<Value>(value));
  }
};
template <>
struct coroutine_promise<void> : promise_base<void> {
  explicit coroutine_promise(const std::source_location& at = std::source_location::current())
      : promise_base<void>(at) {}
  void return_void() { state->emplace(); }
};

}  // namespace detail

template <class T>
[[nodiscard]] auto operator co_await(future<T>& of) {
  detail::future_core* const core = detail::future_access::state(of);
  if (core == nullptr) detail::refuse_empty_future("co_await");
  return detail::future_awaiter<future<T>>(of, *core);
}
template <class T>
[[nodiscard]] auto operator co_await(future<T>&& of) {
  return operator co_await(of);  // A temporary lives until the whole expression has ended.
}
template <class T>
[[nodiscard]] auto operator co_await(const shared_future<T>& of) {
  detail::future_core* const core = detail::future_access::state(of);
  if (core == nullptr) detail::refuse_empty_future("co_await");
  return detail::future_awaiter<const shared_future<T>>(of, *core);
}

}  // namespace weft

template <class T, class... Arguments>
struct std::coroutine_traits<weft::future<T>, Arguments...> {
  using promise_type = weft::detail::coroutine_promise<T>;
};
