// Senders: work that is described first and started later. The names and the meaning are those of std::execution
// (C++26), so that a program can change to it by changing the namespace; only what is listed here is there.
//
//   using namespace weft::execution;
//   auto work = schedule(get_scheduler()) | then([] { return 6; }) | then([](int x) { return 7 * x; });
//   auto [answer] = sync_wait(std::move(work)).value();
#pragma once
#include <atomic>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/tasks/future.hpp"

namespace weft::execution {

// A receiver has set_value(values...), set_error(std::exception_ptr) and set_stopped(), all noexcept, of which one is
// called once; and get_stop_token(). A sender has `value_types`, a tuple, and connect(receiver), whose result, an
// operation state, stays where it is from start() until then.
template <class S>
concept sender = requires {
  typename std::remove_cvref_t<S>::value_types;
};

template <class R>
concept receiver = requires(R& r, std::exception_ptr e) {
  { r.set_error(e) }
  noexcept;
  { r.set_stopped() }
  noexcept;
  { r.get_stop_token() } -> std::convertible_to<std::stop_token>;
};

template <class S>
using values_of = typename std::remove_cvref_t<S>::value_types;

template <class S, class R>
auto connect(S&& from, R&& to) {
  return std::forward<S>(from).connect(std::forward<R>(to));
}
template <class O>
void start(O& operation) noexcept {
  operation.start();
}
template <class S, class R>
using operation_of = decltype(connect(std::declval<S>(), std::declval<R>()));

namespace detail {

template <class F, class Tuple>
struct result_of_apply;
template <class F, class... V>
struct result_of_apply<F, std::tuple<V...>> {
  using type = std::invoke_result_t<F&, V...>;
};
template <class R>
using values_of_result = std::conditional_t<std::is_void_v<R>, std::tuple<>, std::tuple<R>>;

// `s | then(f)`.
template <class Make>
struct closure {
  Make make;
  template <sender S>
  friend auto operator|(S&& from, closure&& self) {
    return std::move(self.make)(std::forward<S>(from));
  }
};
template <class Make>
closure(Make) -> closure<Make>;

template <class R>
struct scheduled_operation : weft::detail::task {
  R to;
  weft::priority urgency;
  explicit scheduled_operation(R&& receiver, weft::priority how)
      : to(std::move(receiver)), urgency(how) {
    act = [](task& self, bool may_run) noexcept {
      auto& mine = static_cast<scheduled_operation&>(self);
      if (!may_run || mine.to.get_stop_token().stop_requested())
        mine.to.set_stopped();
      else
        mine.to.set_value();
    };
  }
  scheduled_operation(const scheduled_operation&) = delete;
  scheduled_operation& operator=(const scheduled_operation&) = delete;
  void start() noexcept {
    try {
      weft::detail::submit(*this, urgency);
    } catch (const error&) {
      to.set_error(std::current_exception());
    }
  }
};

struct schedule_sender {
  using value_types = std::tuple<>;
  weft::priority urgency;
  template <class R>
  auto connect(R&& to) const {
    return scheduled_operation<std::remove_cvref_t<R>>(std::forward<R>(to), urgency);
  }
};

template <class R, class... V>
struct just_operation {
  R to;
  std::tuple<V...> values;
  void start() noexcept {
    std::apply([&](auto&&... value) { to.set_value(std::move(value)...); }, std::move(values));
  }
};
template <class... V>
struct just_sender {
  using value_types = std::tuple<V...>;
  std::tuple<V...> values;
  template <class R>
  auto connect(R&& to) && {
    return just_operation<std::remove_cvref_t<R>, V...>{std::forward<R>(to), std::move(values)};
  }
  template <class R>
  auto connect(R&& to) const& {
    return just_operation<std::remove_cvref_t<R>, V...>{std::forward<R>(to), values};
  }
};

// Hands on what it does not change.
template <class R>
struct receiver_before {
  R to;
  void set_error(std::exception_ptr why) noexcept { to.set_error(std::move(why)); }
  void set_stopped() noexcept { to.set_stopped(); }
  [[nodiscard]] std::stop_token get_stop_token() const noexcept { return to.get_stop_token(); }
};

template <class R, class F>
struct then_receiver : receiver_before<R> {
  F f;
  then_receiver(R&& next, F&& body) : receiver_before<R>{std::move(next)}, f(std::move(body)) {}
  template <class... V>
  void set_value(V&&... values) noexcept {
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<F&, V...>>) {
        std::invoke(f, std::forward<V>(values)...);
        this->to.set_value();
      } else {
        this->to.set_value(std::invoke(f, std::forward<V>(values)...));
      }
    } catch (...) {
      this->to.set_error(std::current_exception());
    }
  }
};
template <class S, class F>
struct then_sender {
  using value_types = values_of_result<typename result_of_apply<F, values_of<S>>::type>;
  S from;
  F f;
  template <class R>
  auto connect(R&& to) && {
    return execution::connect(std::move(from),
                              then_receiver<std::remove_cvref_t<R>, F>(
                                  std::remove_cvref_t<R>(std::forward<R>(to)), std::move(f)));
  }
};

template <class F, class Tuple>
struct result_of_let;
template <class F, class... V>
struct result_of_let<F, std::tuple<V...>> {
  using type = std::invoke_result_t<F&, V&...>;
};

// f(values...) gives a sender, which is then started; the values live until its end.
template <class S, class F, class R>
struct let_operation {
  using values = values_of<S>;
  using second = typename result_of_let<F, values>::type;
  struct first_receiver {
    let_operation* of;
    template <class... V>
    void set_value(V&&... given) noexcept {
      of->go_on(std::forward<V>(given)...);
    }
    void set_error(std::exception_ptr why) noexcept { of->to.set_error(std::move(why)); }
    void set_stopped() noexcept { of->to.set_stopped(); }
    [[nodiscard]] std::stop_token get_stop_token() const noexcept {
      return of->to.get_stop_token();
    }
  };
  struct second_receiver {
    let_operation* of;
    template <class... V>
    void set_value(V&&... given) noexcept {
      of->to.set_value(std::forward<V>(given)...);
    }
    void set_error(std::exception_ptr why) noexcept { of->to.set_error(std::move(why)); }
    void set_stopped() noexcept { of->to.set_stopped(); }
    [[nodiscard]] std::stop_token get_stop_token() const noexcept {
      return of->to.get_stop_token();
    }
  };
  struct second_operation {
    operation_of<second, second_receiver> started;
    second_operation(second&& from, let_operation* of)
        : started(execution::connect(std::move(from), second_receiver{of})) {}
  };

  R to;
  F f;
  std::optional<values> kept;
  operation_of<S, first_receiver> first;
  std::optional<second_operation> then;

  let_operation(S&& from, F&& body, R&& receiver)
      : to(std::move(receiver)),
        f(std::move(body)),
        first(execution::connect(std::move(from), first_receiver{this})) {}
  let_operation(const let_operation&) = delete;
  let_operation& operator=(const let_operation&) = delete;
  void start() noexcept { first.start(); }
  template <class... V>
  void go_on(V&&... given) noexcept {
    try {
      kept.emplace(std::forward<V>(given)...);
      then.emplace(std::apply([&](auto&... value) { return std::invoke(f, value...); }, *kept),
                   this);
    } catch (...) {
      return to.set_error(std::current_exception());
    }
    then->started.start();
  }
};
template <class S, class F>
struct let_sender {
  using value_types = values_of<typename result_of_let<F, values_of<S>>::type>;
  S from;
  F f;
  template <class R>
  auto connect(R&& to) && {
    return let_operation<S, F, std::remove_cvref_t<R>>(std::move(from), std::move(f),
                                                       std::remove_cvref_t<R>(std::forward<R>(to)));
  }
};

// All are started; the first error, or stop, stops the others.
template <class R, class... S>
struct all_operation {
  template <std::size_t I>
  struct part_receiver {
    all_operation* of;
    template <class... V>
    void set_value(V&&... given) noexcept {
      try {
        std::get<I>(of->kept).emplace(std::forward<V>(given)...);
      } catch (...) {
        return set_error(std::current_exception());
      }
      of->arrive();
    }
    void set_error(std::exception_ptr why) noexcept {
      if (of->first_failure.arrive()) of->failure = std::move(why);
      of->stop.request_stop();
      of->arrive();
    }
    void set_stopped() noexcept {
      of->is_stopped.store(true,
                           std::memory_order_relaxed);  // Relaxed: the last to arrive sees it.
      of->stop.request_stop();
      of->arrive();
    }
    [[nodiscard]] std::stop_token get_stop_token() const noexcept { return of->stop.get_token(); }
  };
  struct forward_stop {
    std::stop_source stop;
    void operator()() const { stop.request_stop(); }
  };
  template <std::size_t... I>
  static auto types(std::index_sequence<I...>) -> std::tuple<operation_of<S, part_receiver<I>>...>;
  using parts = decltype(types(std::index_sequence_for<S...>()));
  template <class Operation>
  struct part {
    Operation started;
    template <class From, class To>
    part(From&& from, To&& to)
        : started(execution::connect(std::forward<From>(from), std::forward<To>(to))) {}
  };
  template <class>
  struct optional_parts;
  template <class... O>
  struct optional_parts<std::tuple<O...>> {
    using type = std::tuple<std::optional<part<O>>...>;
  };

  R to;
  std::tuple<std::optional<values_of<S>>...> kept;
  typename optional_parts<parts>::type operations;
  weft::detail::arrivals left{sizeof...(S)}, first_failure{1};
  std::atomic<bool> is_stopped{false};
  std::exception_ptr failure{};
  std::stop_source stop;
  std::optional<std::stop_callback<forward_stop>> from_above;

  all_operation(R&& receiver, std::tuple<S...>&& from) : to(std::move(receiver)) {
    connect_all(std::move(from), std::index_sequence_for<S...>());
  }
  all_operation(const all_operation&) = delete;
  all_operation& operator=(const all_operation&) = delete;
  template <std::size_t... I>
  void connect_all(std::tuple<S...>&& from, std::index_sequence<I...>) {
    (std::get<I>(operations).emplace(std::get<I>(std::move(from)), part_receiver<I>{this}), ...);
  }
  void start() noexcept {
    from_above.emplace(to.get_stop_token(), forward_stop{stop});
    // The last that is started may end it all.
    std::apply([](auto&... one) { (one->started.start(), ...); }, operations);
  }
  void arrive() noexcept {
    if (!left.arrive()) return;
    from_above.reset();
    if (failure != nullptr) return to.set_error(std::move(failure));
    if (is_stopped.load(std::memory_order_relaxed)) return to.set_stopped();
    std::apply(
        [&](auto&... one) {
          std::apply([&](auto&&... value) { to.set_value(std::move(value)...); },
                     std::tuple_cat(std::move(*one)...));
        },
        kept);
  }
};
template <class... S>
struct all_sender {
  using value_types = decltype(std::tuple_cat(std::declval<values_of<S>>()...));
  std::tuple<S...> from;
  template <class R>
  auto connect(R&& to) && {
    return all_operation<std::remove_cvref_t<R>, S...>(std::remove_cvref_t<R>(std::forward<R>(to)),
                                                       std::move(from));
  }
};

template <class Values>
struct waited {
  weft::detail::future_state<std::optional<Values>>* state;
  std::stop_token stop;
  template <class... V>
  void set_value(V&&... values) noexcept {
    state->set(Values(std::forward<V>(values)...));
  }
  void set_error(std::exception_ptr why) noexcept { state->fail(std::move(why)); }
  void set_stopped() noexcept { state->set(std::nullopt); }
  [[nodiscard]] std::stop_token get_stop_token() const noexcept { return stop; }
};

}  // namespace detail

// The workers of the calling rank or task.
class scheduler {
 public:
  explicit scheduler(weft::priority urgency) noexcept : urgency_(urgency) {}
  [[nodiscard]] detail::schedule_sender schedule() const noexcept { return {urgency_}; }
  friend bool operator==(const scheduler&, const scheduler&) = default;

 private:
  weft::priority urgency_;
};
[[nodiscard]] inline scheduler get_scheduler(weft::priority urgency = weft::priority::normal) {
  return scheduler(urgency);
}

// Sends no values: what follows runs as a task that any worker may begin.
[[nodiscard]] inline auto schedule(const scheduler& on) noexcept {
  return on.schedule();
}
template <class... V>
[[nodiscard]] auto just(V&&... values) {
  return detail::just_sender<std::decay_t<V>...>{{std::forward<V>(values)...}};
}
template <sender S, class F>
[[nodiscard]] auto then(S&& from, F&& f) {
  return detail::then_sender<std::remove_cvref_t<S>, std::decay_t<F>>{std::forward<S>(from),
                                                                      std::forward<F>(f)};
}
template <class F>
[[nodiscard]] auto then(F&& f) {
  return detail::closure{[f = std::forward<F>(f)](auto&& from) mutable {
    return execution::then(std::forward<decltype(from)>(from), std::move(f));
  }};
}
template <sender S, class F>
[[nodiscard]] auto let_value(S&& from, F&& f) {
  return detail::let_sender<std::remove_cvref_t<S>, std::decay_t<F>>{std::forward<S>(from),
                                                                     std::forward<F>(f)};
}
template <class F>
[[nodiscard]] auto let_value(F&& f) {
  return detail::closure{[f = std::forward<F>(f)](auto&& from) mutable {
    return execution::let_value(std::forward<decltype(from)>(from), std::move(f));
  }};
}
template <sender... S>
[[nodiscard]] auto when_all(S&&... all) {
  static_assert(sizeof...(S) > 0, "when_all of no senders");
  return detail::all_sender<std::remove_cvref_t<S>...>{{std::forward<S>(all)...}};
}

// Starts it and waits, as future::get does: the values; nothing when it was stopped; or throws the error.
template <sender S>
[[nodiscard]] std::optional<values_of<S>> sync_wait(S&& from, std::stop_token stop = {}) {
  using values = values_of<S>;
  auto* const state = weft::detail::make_pooled<weft::detail::future_state<std::optional<values>>>(
      2u, std::source_location::current());
  state->set_giver("the sender");
  future<std::optional<values>> result = weft::detail::future_access::adopt(state);
  const weft::detail::held<weft::detail::future_state<std::optional<values>>> kept(state);
  // Its state lives until its end: a wait that the end of the job cuts short waits for that as well.
  auto operation =
      execution::connect(std::forward<S>(from), detail::waited<values>{state, std::move(stop)});
  operation.start();
  state->wait_to_the_end("sync_wait");
  return result.get();
}

}  // namespace weft::execution
