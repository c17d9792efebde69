// A value that a task, or whoever holds a promise, gives later.
//
//   weft::future<int> answer = weft::spawn([] { return 6 * 7; });
//   ...
//   use(answer.get());
//
// get() waits: the caller's worker goes on with tasks and ranks meanwhile. An exception takes the place of the value; one
// that nobody asks for is told by a line on stderr when the last reference to it goes.
// A future is used by one flow of control; a shared_future may be copied and used by many. A chunk of a loop may not
// wait: get() of a future that is not ready throws weft::error there.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/sleep.hpp"
#include "weft/tasks/task.hpp"

namespace weft {

class task_source;
template <class T>
class future;
template <class T>
class shared_future;

// The exception that a future has when its promise was dropped without a value.
struct broken_promise : error {
  using error::error;
};

// A get() that was given a time throws it. The future stays as it was.
struct timed_out : error {
  using error::error;
};
// What a wait for a time has found; the names are those of std::future_status.
enum class future_status : std::uint8_t { ready, timeout };

namespace detail {

// Told once, when a state is set, on the thread that sets it.
struct listener {
  struct link {
    listener* to = nullptr;
    [[nodiscard]] listener* get() const noexcept { return to; }
    void set(listener* other) noexcept { to = other; }
  } next;
  void (*told)(listener& self) noexcept = nullptr;
};

// What a future and its promise share, but for the value.
class future_core {
 public:
  // It begins with so many references. Reports name `made_at`, whose strings live as long as the program.
  explicit future_core(unsigned references, const std::source_location& made_at) noexcept;
  future_core(const future_core&) = delete;
  future_core& operator=(const future_core&) = delete;

  void add_reference() noexcept;
  void drop_reference() noexcept {
    if (is_last_reference()) destroy_(*this);
  }
  [[nodiscard]] bool is_ready() const noexcept;
  // Waits; `call` is what a report says.
  void wait(const char* call) { wait(call, true); }
  // The same for what is set when the job stops, too, and uses the caller's stack until then.
  void wait_to_the_end(const char* call) { wait(call, false); }
  // Waits for so many nanoseconds at most, and returns whether it is ready.
  [[nodiscard]] bool wait_for(const char* call, std::int64_t duration);
  // The same; throws timed_out where it is not.
  void wait_or_throw(const char* call, std::int64_t duration);
  // Returns is_ready(); when it is not, other work of this worker gets a turn.
  [[nodiscard]] bool test();
  // False: it is set already, and nobody will be told.
  [[nodiscard]] bool listen(listener& to) noexcept;
  // Once, after the value or the failure has been written.
  void happen() noexcept;
  // What stands in place of a value; nobody is told before happen().
  void note_failure(std::exception_ptr why) noexcept { failure_ = std::move(why); }
  void note_cancelled() noexcept;
  void fail(std::exception_ptr why) noexcept {
    note_failure(std::move(why));
    happen();
  }
  // The promise, dropped without a value; the task, not run because a stop was requested.
  void break_promise() noexcept;
  void cancel() noexcept;
  // Null where there is a value. Who asks knows of it.
  [[nodiscard]] const std::exception_ptr& failure() const noexcept {
    if (failure_ != nullptr) [[unlikely]]
      note_asked();
    return failure_;
  }
  void rethrow_failure() const {
    if (failure() != nullptr) std::rethrow_exception(failure_);
  }
  [[nodiscard]] const std::source_location& made_at() const noexcept { return made_at_; }
  // What gives the value, for reports: "the task", "the promise".
  void set_giver(const char* giver) noexcept { giver_ = giver; }
  [[nodiscard]] const char* giver() const noexcept { return giver_; }

 protected:
  ~future_core() {
    if (failure_ != nullptr) [[unlikely]]
      tell_if_not_asked();
  }
  void (*destroy_)(future_core&) noexcept = nullptr;

 private:
  void wait(const char* call, bool may_stop);
  // Runs the newest task of this worker if it sets this: true when it has.
  [[nodiscard]] bool run_giver(task_source& here);
  [[nodiscard]] bool is_last_reference() noexcept;
  // Relaxed: who looks at the end has the last reference, whose count orders it.
  void note_asked() const noexcept { is_asked_.store(true, std::memory_order_relaxed); }
  void tell_if_not_asked() const noexcept;

  alignas(8) std::byte event_[8];
  alignas(8) std::byte references_[8];
  std::exception_ptr failure_;
  mutable std::atomic<bool> is_asked_{false};  // Somebody has asked for the failure.
  const char* giver_ = "the promise";
  std::source_location made_at_;
};

struct nothing {};
template <class T>
using stored = std::conditional_t<
    std::is_void_v<T>, nothing,
    std::conditional_t<std::is_reference_v<T>, std::add_pointer_t<std::remove_reference_t<T>>, T>>;

template <class T>
class future_state : public future_core {
 public:
  explicit future_state(unsigned references, const std::source_location& made_at) noexcept
      : future_core(references, made_at) {
    destroy_ = [](future_core& self) noexcept { free_pooled(static_cast<future_state*>(&self)); };
  }
  ~future_state() = default;
  template <class... Value>
  void emplace(Value&&... value) {
    if constexpr (std::is_reference_v<T>)
      value_.emplace(&value...);
    else
      value_.emplace(std::forward<Value>(value)...);
  }
  template <class... Value>
  void set(Value&&... value) {
    emplace(std::forward<Value>(value)...);
    happen();
  }
  // What f() returns or throws; nobody is told before happen().
  template <class F>
  void take_from(F&& f) noexcept {
    try {
      if constexpr (std::is_void_v<T>) {
        f();
        emplace();
      } else {
        emplace(f());
      }
    } catch (...) {
      note_failure(std::current_exception());
    }
  }
  [[nodiscard]] stored<T>& value() noexcept { return *value_; }

 private:
  std::optional<stored<T>> value_;
};

// A reference to a state.
template <class State>
class held {
 public:
  held() = default;
  explicit held(State* counted) noexcept : state_(counted) {}
  held(held&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  held& operator=(held&& other) noexcept {
    held before(std::move(other));
    std::swap(state_, before.state_);
    return *this;
  }
  ~held() {
    if (state_ != nullptr) state_->drop_reference();
  }
  [[nodiscard]] State* get() const noexcept { return state_; }
  State* operator->() const noexcept { return state_; }
  [[nodiscard]] State* release() noexcept { return std::exchange(state_, nullptr); }

 private:
  State* state_ = nullptr;
};

template <class Duration>
[[nodiscard]] future_status status_after(future_core& of, const char* call,
                                         const Duration& duration) {
  return of.wait_for(call, nanoseconds_of(duration)) ? future_status::ready
                                                     : future_status::timeout;
}
// The clock may be set meanwhile.
template <class Time>
[[nodiscard]] future_status status_at(future_core& of, const char* call, const Time& when) {
  for (;;) {
    const auto left = when - Time::clock::now();
    if (of.wait_for(call, nanoseconds_of(left))) return future_status::ready;
    if (left <= left.zero()) return future_status::timeout;
  }
}

[[noreturn, gnu::cold]] void refuse_empty_future(const char* call);
[[noreturn, gnu::cold]] void refuse_second_value(const char* call);

struct future_access {
  template <class T>
  [[nodiscard]] static future<T> adopt(future_state<T>* state) noexcept {
    return future<T>(held<future_state<T>>(state));
  }
  template <class T>
  [[nodiscard]] static future_state<T>* state(const future<T>& of) noexcept {
    return of.state_.get();
  }
  template <class T>
  [[nodiscard]] static future_state<T>* state(const shared_future<T>& of) noexcept {
    return of.state_.get();
  }
};

// Becomes a task when what it listens to is set; on a thread that is no worker's, of the worker that has made it.
struct continuation : listener, task {
  continuation() noexcept;
  void* home;
  weft::priority urgency = weft::priority::normal;
};
// Submits it at once where that is set already.
void continue_after(future_core& first, continuation& then);

// The function that gives a value. It goes before anybody is told of that: what it has captured may be what others wait
// for, such as a promise. Not where the value is a reference, which may be to something in it.
template <class R, class F>
class giving_function {
 public:
  template <class G>
  explicit giving_function(G&& from) : f_(std::in_place, std::forward<G>(from)) {}
  [[nodiscard]] F& operator*() noexcept { return *f_; }
  void end() noexcept {
    if constexpr (!std::is_reference_v<R>) f_.reset();
  }

 private:
  std::optional<F> f_;
};

template <class R, class F>
struct spawned_task final : future_state<R>, task {
  giving_function<R, F> f;
  std::stop_token stop;
  template <class G>
  spawned_task(G&& body, const task_options& how, const std::source_location& from)
      : future_state<R>(2, from), f(std::forward<G>(body)), stop(how.stop) {
    this->set_giver("the task");
    this->destroy_ = [](future_core& self) noexcept {
      free_pooled(static_cast<spawned_task*>(&self));
    };
    joined_by = static_cast<future_core*>(this);
    act = [](task& self, bool may_run) noexcept {
      auto& mine = static_cast<spawned_task&>(self);
      if (!may_run || mine.stop.stop_requested())
        mine.note_cancelled();
      else if constexpr (std::is_invocable_v<F&, std::stop_token>)
        mine.take_from([&]() -> R { return std::invoke(*mine.f, mine.stop); });
      else
        mine.take_from(*mine.f);
      mine.f.end();
      mine.happen();
      mine.drop_reference();
    };
  }
};

// While it lives the first coroutine that begins here has a stack of its own, that of the task (coroutine.hpp).
class nobody_below {
 public:
  nobody_below() noexcept;
  ~nobody_below();
  nobody_below(const nobody_below&) = delete;
  nobody_below& operator=(const nobody_below&) = delete;

 private:
  std::uint32_t before_ = 0;
};

// f() returns a future, as a coroutine does, and the value is that future's. This is both tasks, one after the other.
template <class R, class F>
struct spawned_coroutine final : future_state<R>, continuation {
  giving_function<R, F> f;
  std::stop_token stop;
  future<R> inner;
  template <class G>
  spawned_coroutine(G&& body, const task_options& how, const std::source_location& from)
      : future_state<R>(2, from), f(std::forward<G>(body)), stop(how.stop) {
    this->set_giver("the task");
    this->destroy_ = [](future_core& self) noexcept {
      free_pooled(static_cast<spawned_coroutine*>(&self));
    };
    urgency = how.priority;
    joined_by = static_cast<future_core*>(this);
    act = [](task& self, bool may_run) noexcept {
      auto& mine = static_cast<spawned_coroutine&>(self);
      if (!may_run || mine.stop.stop_requested()) {
        mine.note_cancelled();
        return mine.end();
      }
      mine.begin();
    };
  }

 private:
  void begin() noexcept {
    try {
      const nobody_below alone;
      if constexpr (std::is_invocable_v<F&, std::stop_token>)
        inner = std::invoke(*f, stop);
      else
        inner = std::invoke(*f);
      if (!inner.valid())
        refuse_empty_future("spawn of a function that returns a future: its get()");
    } catch (...) {
      this->note_failure(std::current_exception());
      return end();
    }
    if (future_access::state(inner)->is_ready()) return pass_on();
    // What f has captured stays: the coroutine may be a lambda, whose captures lie there.
    joined_by = nullptr;
    act = [](task& self, bool may_run) noexcept {
      auto& mine = static_cast<spawned_coroutine&>(self);
      if (may_run) return mine.pass_on();
      mine.note_cancelled();
      mine.end();
    };
    continue_after(*future_access::state(inner), *this);
  }
  void pass_on() noexcept {
    const future_core& given = *future_access::state(inner);
    if (given.failure() != nullptr)
      this->note_failure(given.failure());
    else
      this->take_from([this]() -> R { return inner.get(); });
    end();
  }
  void end() noexcept {
    f.end();
    if constexpr (!std::is_reference_v<R>) inner = {};
    this->happen();
    this->drop_reference();
  }
};

// What the future of spawn(f) is of: what f() returns, or what the future is of that it returns.
template <class R>
struct spawned_result {
  using type = R;
  template <class F>
  using task = spawned_task<R, F>;
};
template <class R>
struct spawned_result<future<R>> {
  using type = R;
  template <class F>
  using task = spawned_coroutine<R, F>;
};

// What f makes of the input: f(value), f() of a future of nothing, or f(future).
template <class F, class T>
struct result_of_then {
  static constexpr bool takes_value = std::is_invocable_v<F&, T>;
  using type = std::invoke_result_t<F&, std::conditional_t<takes_value, T, future<T>>>;
};
template <class F>
struct result_of_then<F, void> {
  static constexpr bool takes_value = std::is_invocable_v<F&>;
  template <bool Takes, class G>
  struct result {
    using type = std::invoke_result_t<G&>;
  };
  template <class G>
  struct result<false, G> {
    using type = std::invoke_result_t<G&, future<void>>;
  };
  using type = typename result<takes_value, F>::type;
};

template <class R, class F, class T>
struct then_task final : future_state<R>, continuation {
  giving_function<R, F> f;
  future<T> input;
  template <class G>
  then_task(G&& body, future<T>&& from, const std::source_location& at)
      : future_state<R>(2, at), f(std::forward<G>(body)), input(std::move(from)) {
    this->set_giver("the continuation");
    this->destroy_ = [](future_core& self) noexcept {
      free_pooled(static_cast<then_task*>(&self));
    };
    act = [](task& self, bool may_run) noexcept {
      auto& mine = static_cast<then_task&>(self);
      const future_core& from_input = *future_access::state(mine.input);
      if (!may_run) {
        mine.note_cancelled();
      } else if constexpr (result_of_then<F, T>::takes_value) {
        if (from_input.failure() != nullptr)
          mine.note_failure(from_input.failure());
        else if constexpr (std::is_void_v<T>)
          mine.take_from(*mine.f);
        else
          mine.take_from([&]() -> R { return std::invoke(*mine.f, mine.input.get()); });
      } else {
        mine.take_from([&]() -> R { return std::invoke(*mine.f, std::move(mine.input)); });
      }
      mine.f.end();
      // A long chain of them goes one by one, not each with the next on the stack.
      if constexpr (!std::is_reference_v<R>) mine.input = {};
      mine.happen();
      mine.drop_reference();
    };
  }
};

}  // namespace detail

template <class T>
class [[nodiscard]] future {
 public:
  using value_type = T;

  future() = default;

  [[nodiscard]] bool valid() const noexcept { return state_.get() != nullptr; }
  // Whether get() would return at once. A wait of length zero: where it would not, other work of this worker gets a
  // turn, so that a loop around it does not starve what it waits for.
  [[nodiscard]] bool is_ready() const { return checked("is_ready")->test(); }
  // Called by ranks and tasks.
  void wait() const { checked("wait")->wait("future::wait"); }
  // It also returns when the time is over.
  template <detail::duration_like Duration>
  [[nodiscard]] future_status wait_for(const Duration& duration) const {
    return detail::status_after(*checked("wait_for"), "future::wait_for", duration);
  }
  template <detail::time_point_like Time>
  [[nodiscard]] future_status wait_until(const Time& when) const {
    return detail::status_at(*checked("wait_until"), "future::wait_until", when);
  }
  // get() that throws timed_out when the time is over; the future is then as it was.
  template <detail::duration_like Duration>
  T get(const Duration& duration) {
    checked("get")->wait_or_throw("future::get", detail::nanoseconds_of(duration));
    return get();
  }
  // The value, once, or the exception; the future is empty afterwards.
  T get() {
    checked("get")->wait("future::get");
    const detail::held<state> taken = std::move(state_);
    taken->rethrow_failure();
    if constexpr (std::is_reference_v<T>)
      return *taken->value();
    else if constexpr (!std::is_void_v<T>)
      return std::move(taken->value());
  }
  // A task runs f(value) (or f(), or f(future)) when this is ready; the future of what it returns. Where f takes
  // the value, an exception goes past it. This one is empty afterwards.
  template <class F>
  auto then(F&& f, const std::source_location& at = std::source_location::current()) {
    using body = std::decay_t<F>;
    using result = typename detail::result_of_then<body, T>::type;
    detail::future_core& first = *checked("then");
    detail::check_may_spawn("future::then");
    auto* made = detail::make_pooled<detail::then_task<result, body, T>>(std::forward<F>(f),
                                                                         std::move(*this), at);
    future<result> of_made =
        detail::future_access::adopt(static_cast<detail::future_state<result>*>(made));
    detail::continue_after(first, *made);
    return of_made;
  }
  [[nodiscard]] shared_future<T> share() { return shared_future<T>(std::move(*this)); }

 private:
  friend detail::future_access;
  friend class shared_future<T>;
  using state = detail::future_state<T>;
  explicit future(detail::held<state> of) noexcept : state_(std::move(of)) {}
  [[nodiscard]] state* checked(const char* call) const {
    if (state_.get() == nullptr) [[unlikely]]
      detail::refuse_empty_future(call);
    return state_.get();
  }

  detail::held<state> state_;
};

// May be copied; each copy is used by one flow of control, and all see the same value.
template <class T>
class [[nodiscard]] shared_future {
 public:
  using value_type = T;

  shared_future() = default;
  shared_future(future<T>&& of) noexcept : state_(std::move(of.state_)) {}
  shared_future(const shared_future& other) noexcept : state_(other.state_.get()) {
    if (state_.get() != nullptr) state_->add_reference();
  }
  shared_future(shared_future&&) = default;
  shared_future& operator=(shared_future other) noexcept {
    state_ = std::move(other.state_);
    return *this;
  }

  [[nodiscard]] bool valid() const noexcept { return state_.get() != nullptr; }
  [[nodiscard]] bool is_ready() const { return checked("is_ready")->test(); }
  void wait() const { checked("wait")->wait("shared_future::wait"); }
  template <detail::duration_like Duration>
  [[nodiscard]] future_status wait_for(const Duration& duration) const {
    return detail::status_after(*checked("wait_for"), "shared_future::wait_for", duration);
  }
  template <detail::time_point_like Time>
  [[nodiscard]] future_status wait_until(const Time& when) const {
    return detail::status_at(*checked("wait_until"), "shared_future::wait_until", when);
  }
  template <detail::duration_like Duration>
  decltype(auto) get(const Duration& duration) const {
    checked("get")->wait_or_throw("shared_future::get", detail::nanoseconds_of(duration));
    return get();
  }
  // The value stays in place, for as long as a copy of this future lives.
  decltype(auto) get() const {
    checked("get")->wait("shared_future::get");
    state_->rethrow_failure();
    if constexpr (std::is_reference_v<T>)
      return static_cast<T>(*state_->value());
    else if constexpr (!std::is_void_v<T>)
      return static_cast<const T&>(state_->value());
  }

 private:
  friend detail::future_access;
  using state = detail::future_state<T>;
  [[nodiscard]] state* checked(const char* call) const {
    if (state_.get() == nullptr) [[unlikely]]
      detail::refuse_empty_future(call);
    return state_.get();
  }
  detail::held<state> state_;
};

// The other end of a future. Moved, not copied; a promise that is dropped without a value gives its future a
// broken_promise. The value is set once, by a rank, a task, or a thread of the program's own.
template <class T>
class promise {
 public:
  explicit promise(const std::source_location& at = std::source_location::current())
      : state_(detail::make_pooled<state>(1u, at)) {}
  promise(promise&&) = default;
  promise& operator=(promise&& other) noexcept {
    promise gone(std::move(*this));
    state_ = std::move(other.state_);
    is_given_ = other.is_given_;
    return *this;
  }
  ~promise() {
    if (state_.get() != nullptr && is_given_) state_->break_promise();
  }

  // Once.
  [[nodiscard]] future<T> get_future() {
    if (std::exchange(is_given_, true) || state_.get() == nullptr)
      detail::refuse_second_value("get_future");
    state_->add_reference();
    return detail::future_access::adopt(state_.get());
  }
  template <class... Value>
  void set_value(Value&&... value) {
    if (state_.get() == nullptr) [[unlikely]]
      detail::refuse_second_value("set_value");
    state_->emplace(std::forward<Value>(value)...);  // May throw, and then nothing has happened.
    taken("set_value")->happen();
  }
  void set_exception(std::exception_ptr why) { taken("set_exception")->fail(std::move(why)); }

 private:
  using state = detail::future_state<T>;
  // Set once: the promise then has no more part in it.
  [[nodiscard]] detail::held<state> taken(const char* call) {
    if (state_.get() == nullptr) [[unlikely]]
      detail::refuse_second_value(call);
    return std::move(state_);
  }

  detail::held<state> state_;
  bool is_given_ = false;
};

// A task that runs f(), or f(std::stop_token); the future of what it returns, and where that is a future, of its value: f
// may be a coroutine, which then begins on a stack of its own. Called by ranks and tasks, also in chunks of loops. A future
// that is dropped does not wait; the job does.
template <class F>
auto spawn(F&& f, const task_options& how = {},
           const std::source_location& at = std::source_location::current()) {
  using body = std::decay_t<F>;
  constexpr bool takes_token = std::is_invocable_v<body&, std::stop_token>;
  static_assert(takes_token || std::is_invocable_v<body&>,
                "a task is a function without arguments, or of a std::stop_token");
  using given = detail::spawned_result<typename std::conditional_t<
      takes_token, std::invoke_result<body&, std::stop_token>, std::invoke_result<body&>>::type>;
  using result = typename given::type;
  detail::check_may_spawn("spawn");
  auto* made =
      detail::make_pooled<typename given::template task<body>>(std::forward<F>(f), how, at);
  future<result> of_made =
      detail::future_access::adopt(static_cast<detail::future_state<result>*>(made));
  detail::submit(*made, how.priority);
  return of_made;
}

template <class T>
[[nodiscard]] future<std::decay_t<T>> make_ready_future(
    T&& value, const std::source_location& at = std::source_location::current()) {
  auto* made = detail::make_pooled<detail::future_state<std::decay_t<T>>>(1u, at);
  made->set(std::forward<T>(value));
  return detail::future_access::adopt(made);
}
[[nodiscard]] inline future<void> make_ready_future(
    const std::source_location& at = std::source_location::current()) {
  auto* made = detail::make_pooled<detail::future_state<void>>(1u, at);
  made->set();
  return detail::future_access::adopt(made);
}

// --- Of several futures ----------------------------------------------------------------------------

namespace detail {
template <class T>
using value_in_tuple = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
}

template <class T>
struct when_any_result {
  std::size_t index;  // One that is ready.
  std::vector<future<T>> futures;
};

namespace detail {

// Counts those that are set; any thread.
class arrivals {
 public:
  explicit arrivals(std::size_t expected) noexcept;
  arrivals(const arrivals&) = delete;
  arrivals& operator=(const arrivals&) = delete;
  [[nodiscard]] bool arrive() noexcept;  // True for the last.
 private:
  alignas(8) std::byte left_[8];
};

}  // namespace detail

// Ready when all are, whether with values or exceptions, which stay in the futures that it gives back.
template <class T>
[[nodiscard]] future<std::vector<future<T>>> when_all(
    std::vector<future<T>> all, const std::source_location& at = std::source_location::current());
// The same of shared futures: what several wait for.
template <class T>
[[nodiscard]] future<std::vector<shared_future<T>>> when_all(
    std::vector<shared_future<T>> all,
    const std::source_location& at = std::source_location::current());
template <class... T>
[[nodiscard]] future<std::tuple<future<T>...>> when_all(future<T>... all);
// The values of all, or the exception of the first in their order that has one; ready when all are. Futures of nothing
// give nothing: future<void>; within a tuple, std::monostate.
template <class T>
[[nodiscard]] auto collect(std::vector<future<T>> all,
                           const std::source_location& at = std::source_location::current());
template <class... T>
[[nodiscard]] future<std::tuple<detail::value_in_tuple<T>...>> collect(future<T>... all);
// Ready when one is. Of none, never: throws weft::error.
template <class T>
[[nodiscard]] future<when_any_result<T>> when_any(
    std::vector<future<T>> all, const std::source_location& at = std::source_location::current());

namespace detail {

template <class Inputs>
struct all_gathering {
  struct input : listener {
    all_gathering* of = nullptr;
  };
  Inputs inputs;
  std::vector<input> listeners;
  arrivals left;
  future_state<Inputs>* result;

  all_gathering(Inputs&& from, std::size_t count, future_state<Inputs>* to)
      : inputs(std::move(from)), listeners(count), left(count + 1), result(to) {}
  void arrive() noexcept {
    if (!left.arrive()) return;
    future_state<Inputs>* const to = result;
    to->emplace(std::move(inputs));
    delete this;
    to->happen();
    to->drop_reference();
  }
  void listen_to(std::size_t index, future_core* one) {
    if (one == nullptr) refuse_empty_future("when_all");
    input& mine = listeners[index];
    mine.of = this;
    mine.told = [](listener& self) noexcept { static_cast<input&>(self).of->arrive(); };
    if (!one->listen(mine)) arrive();
  }
};

template <class T>
struct any_gathering {
  struct input : listener {
    any_gathering* of = nullptr;
    std::size_t index = 0;
  };
  std::vector<future_core*>
      states;  // Each counted: those that come later tell their listeners, too.
  std::vector<input> listeners;
  arrivals first{1}, left;
  std::vector<future<T>> inputs;
  future_state<when_any_result<T>>* result;

  any_gathering(std::vector<future<T>>&& from, future_state<when_any_result<T>>* to)
      : listeners(from.size()), left(from.size() + 1), inputs(std::move(from)), result(to) {}
  void come(std::size_t index) noexcept {
    if (first.arrive()) {
      result->emplace(when_any_result<T>{index, std::move(inputs)});
      result->happen();
      result->drop_reference();
    }
    leave();
  }
  void leave() noexcept {
    if (!left.arrive()) return;
    for (future_core* one : states) one->drop_reference();
    delete this;
  }
};

}  // namespace detail

namespace detail {

template <class Future>
future<std::vector<Future>> gather_all(std::vector<Future>&& all, const std::source_location& at) {
  using inputs = std::vector<Future>;
  for (const Future& one : all)
    if (!one.valid()) refuse_empty_future("when_all");
  auto* state = make_pooled<future_state<inputs>>(2u, at);
  future<inputs> of_all = future_access::adopt(state);
  const std::size_t count = all.size();
  auto* gathered = new all_gathering<inputs>(std::move(all), count, state);
  for (std::size_t i = 0; i < count; ++i)
    gathered->listen_to(i, future_access::state(gathered->inputs[i]));
  gathered->arrive();
  return of_all;
}

}  // namespace detail

namespace detail {

// One exception stands for those of all.
template <class T>
void ask(const future<T>& one) noexcept {
  static_cast<void>(future_access::state(one)->failure());
}
template <class T>
void ask_all(const std::vector<future<T>>& all) noexcept {
  for (const future<T>& one : all) ask(one);
}
template <class T>
[[nodiscard]] value_in_tuple<T> taken_for_tuple(future<T>& one) {
  if constexpr (std::is_void_v<T>) {
    one.get();
    return {};
  } else {
    return one.get();
  }
}

}  // namespace detail

template <class T>
future<std::vector<future<T>>> when_all(std::vector<future<T>> all,
                                        const std::source_location& at) {
  return detail::gather_all(std::move(all), at);
}

template <class T>
future<std::vector<shared_future<T>>> when_all(std::vector<shared_future<T>> all,
                                               const std::source_location& at) {
  return detail::gather_all(std::move(all), at);
}

template <class... T>
future<std::tuple<future<T>...>> when_all(future<T>... all) {
  using inputs = std::tuple<future<T>...>;
  if (!(all.valid() && ...)) detail::refuse_empty_future("when_all");
  auto* state =
      detail::make_pooled<detail::future_state<inputs>>(2u, std::source_location::current());
  future<inputs> of_all = detail::future_access::adopt(state);
  auto* gathered =
      new detail::all_gathering<inputs>(inputs(std::move(all)...), sizeof...(T), state);
  std::apply(
      [&](auto&... one) {
        std::size_t i = 0;
        (gathered->listen_to(i++, detail::future_access::state(one)), ...);
      },
      gathered->inputs);
  gathered->arrive();
  return of_all;
}

template <class T>
auto collect(std::vector<future<T>> all, const std::source_location& at) {
  static_assert(!std::is_reference_v<T>,
                "weft: collect gives values: of references use when_all()");
  if constexpr (!std::is_reference_v<T>)
    return when_all(std::move(all), at)
        .then(
            [](std::vector<future<T>> ready) {
              detail::ask_all(ready);
              if constexpr (std::is_void_v<T>) {
                for (future<T>& one : ready) one.get();
              } else {
                std::vector<T> values;
                values.reserve(ready.size());
                for (future<T>& one : ready) values.push_back(one.get());
                return values;
              }
            },
            at);
}

template <class... T>
future<std::tuple<detail::value_in_tuple<T>...>> collect(future<T>... all) {
  static_assert(!(std::is_reference_v<T> || ...),
                "weft: collect gives values: of references use when_all()");
  return when_all(std::move(all)...).then([](std::tuple<future<T>...> ready) {
    return std::apply(
        [](future<T>&... one) {
          (detail::ask(one), ...);
          // Braces evaluate from the left.
          return std::tuple<detail::value_in_tuple<T>...>{detail::taken_for_tuple(one)...};
        },
        ready);
  });
}

template <class T>
future<when_any_result<T>> when_any(std::vector<future<T>> all, const std::source_location& at) {
  using result = when_any_result<T>;
  if (all.empty())
    throw error("when_any of no futures, which is never ready: give it at least one");
  for (const future<T>& one : all)
    if (!one.valid()) detail::refuse_empty_future("when_any");
  auto* state = detail::make_pooled<detail::future_state<result>>(2u, at);
  future<result> of_any = detail::future_access::adopt(state);
  auto* gathered = new detail::any_gathering<T>(std::move(all), state);
  for (const future<T>& one : gathered->inputs) {
    gathered->states.push_back(detail::future_access::state(one));
    gathered->states.back()->add_reference();
  }
  for (std::size_t i = 0; i < gathered->states.size(); ++i) {
    auto& mine = gathered->listeners[i];
    mine.of = gathered;
    mine.index = i;
    mine.told = [](detail::listener& self) noexcept {
      auto& one = static_cast<typename detail::any_gathering<T>::input&>(self);
      one.of->come(one.index);
    };
    if (!gathered->states[i]->listen(mine)) gathered->come(i);
  }
  gathered->leave();
  return of_any;
}

}  // namespace weft
