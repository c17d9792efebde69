// Calling actions of other localities:
//
//   weft::future<double> f = weft::async(there, norm, values);   // Its result, or its exception, comes.
//   double x = co_await weft::async(there, norm, values);
//   double y = weft::sync(there, norm, values);                  // Waits.
//   weft::post(there, tick, 3);                                  // Nobody waits; its exception fails the job.
//
// Arguments are copied, or moved out of temporaries; what may be one says encoding.hpp. A call of one's own locality is
// a task (tasks.hpp) and nothing is encoded. Elsewhere the action runs as a task, which may wait and call further; parcels
// overtake each other. An exception comes with the text that it had there, as remote_error and as the type of the standard
// that it was. When the locality dies the future gets weft::error. Called by ranks and tasks, not in chunks of loops: throws weft::error there.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "weft/parcels/action.hpp"
#include "weft/parcels/encoding.hpp"
#include "weft/parcels/locality.hpp"
#include "weft/tasks/future.hpp"

namespace weft {

// An action of another locality ended with an exception. What is thrown here is a remote_error, and also of that type of
// the standard that the exception there was or was derived from, std::out_of_range for example; where it was none,
// weft::error. So one handler serves local and remote calls.
class remote_error : public explained_exception {
 public:
  // That of the exception there, as it was.
  [[nodiscard]] virtual const char* what() const noexcept = 0;
  [[nodiscard]] locality from() const noexcept { return from_; }
  // Of the exception there, as its compiler names it: "std::out_of_range"; empty where that is not known.
  [[nodiscard]] const std::string& type() const noexcept { return type_; }
  [[nodiscard]] const std::string& action() const noexcept { return action_; }
  // For reports: what(), in one line, with the action and the locality.
  [[nodiscard]] std::string explanation() const final;

 protected:
  remote_error(locality from, std::string type, std::string action)
      : from_(from), type_(std::move(type)), action_(std::move(action)) {}
  ~remote_error() = default;

 private:
  locality from_;
  std::string type_;
  std::string action_;
};

namespace detail {

class parcel_layer;

template <class F, class Arguments>
struct action_signature;
template <class F, class... P>
struct action_signature<F, std::tuple<P...>> {
  using type = result_of_action<F>(P...);
  static constexpr std::uint64_t shape = shape_of_all<result_of_action<F>, P...>();
};
template <class F>
action_types types_of_action() noexcept {
  using signature = action_signature<F, typename signature_of<F>::arguments>;
  return {typeid(typename signature::type).name(), signature::shape};
}

// What lives until the chunks that refer to it have been sent; in the pool.
struct kept_values {
  void (*free)(kept_values& self) noexcept;
};
template <class Tuple>
struct kept_tuple final : kept_values {
  Tuple values;
  template <class... A>
  explicit kept_tuple(std::in_place_t, A&&... from) : values(std::forward<A>(from)...) {
    free = [](kept_values& self) noexcept { free_pooled(static_cast<kept_tuple*>(&self)); };
  }
};

// A call whose result is awaited; in the pool, part of the state of its future.
struct awaited_call {
  alignas(8) std::byte room[64];  // The layer's.
  bool is_plain = false;          // take() runs no code of the program.
  void (*take)(awaited_call& self, parcel_reader& from) = nullptr;  // May throw.
  // After take(), when all chunks have come; or without it. The object may be gone then.
  void (*set)(awaited_call& self) noexcept = nullptr;
  void (*fail)(awaited_call& self, std::exception_ptr why) noexcept = nullptr;
  future_core* core = nullptr;
};

template <class R>
struct call_state final : future_state<R>, awaited_call {
  explicit call_state(const std::source_location& at) : future_state<R>(2, at) {
    this->set_giver("the remote action");
    this->destroy_ = [](future_core& self) noexcept {
      free_pooled(static_cast<call_state*>(&self));
    };
    core = this;
    is_plain = std::is_void_v<R> || element<R>;
    take = [](awaited_call& self, parcel_reader& from) {
      auto& mine = static_cast<call_state&>(self);
      if constexpr (std::is_void_v<R>) {
        from.finish();
        mine.emplace();
      } else {
        mine.emplace();  // Where it stays: chunks come into it.
        decode(from, mine.value());
        from.finish();
      }
    };
    set = [](awaited_call& self) noexcept {
      auto& mine = static_cast<call_state&>(self);
      mine.happen();
      mine.drop_reference();
    };
    awaited_call::fail = [](awaited_call& self, std::exception_ptr why) noexcept {
      auto& mine = static_cast<call_state&>(self);
      mine.future_core::fail(std::move(why));
      mine.drop_reference();
    };
  }
};

// Who called, and how the result finds back.
struct call_origin {
  int process = 0;
  std::uint16_t port = 0;  // As the parcelport knows the caller's side.
  bool wants_result = false;
  std::uint32_t action = 0;
  std::uint64_t call = 0;
  std::uint64_t owed = 0;  // Bytes of it that the caller may send again once it has begun.
};

// A task that runs when the chunks of its parcel have come; in the pool.
struct chunked_task : task {
  void (*abandon)(chunked_task& self) noexcept = nullptr;  // They will not.
};

// While it lives a fault of this flow of control is one of the action.
class running_action {
 public:
  explicit running_action(const action_entry& which) noexcept;
  running_action(parcel_layer& layer, const call_origin& from) noexcept;
  ~running_action();
  running_action(const running_action&) = delete;
  running_action& operator=(const running_action&) = delete;

 private:
  const char* before_;
};

// An action that was called from elsewhere, as its code reads it. Exists while it runs.
class received_call {
 public:
  received_call(parcel_layer& layer, const call_origin& from, parcel_reader& reader,
                void* parcel) noexcept
      : layer_(layer), from_(from), reader_(reader), parcel_(parcel) {}

  [[nodiscard]] parcel_reader& reader() noexcept { return reader_; }
  [[nodiscard]] const call_origin& from() const noexcept { return from_; }
  [[nodiscard]] parcel_layer& layer() noexcept { return layer_; }
  // `what` runs when the chunks are at their places.
  void run_when_complete(chunked_task& what);

 private:
  parcel_layer& layer_;
  const call_origin from_;
  parcel_reader& reader_;
  void* parcel_;
};

[[nodiscard]] std::size_t chunk_bytes_min(const parcel_layer& layer) noexcept;
// Null where that is the calling process. Throws weft::error, naming `call`, where there is no such locality, and outside
// of ranks and tasks.
[[nodiscard]] parcel_layer* layer_towards(locality there, const char* call);
// Encoded, the chunks in `kept`, if any. `awaited` null: nobody waits. Waits for room.
void send_call(parcel_layer& layer, int process, const action_entry& which, parcel_writer& encoded,
               kept_values* kept, awaited_call* awaited);
void send_result(parcel_layer& layer, const call_origin& to, parcel_writer& encoded,
                 kept_values* kept);
// The call has begun: its caller may send more.
void give_credit(parcel_layer& layer, const call_origin& to) noexcept;
// Of the exception that is being handled.
void send_failure(parcel_layer& layer, const call_origin& to) noexcept;
// Of an action that was posted to its own locality.
void fail_posted(const action_entry& which) noexcept;

// Encodes; what becomes a chunk is moved or copied into what is kept.
template <class Tuple, class... A>
[[nodiscard]] kept_values* encode_values(parcel_writer& to, A&&... values) {
  const auto encode_each = [&to](const auto& tuple) {
    std::apply([&to](const auto&... each) { (encode(to, each), ...); }, tuple);
    to.finish();
  };
  encode_each(std::tuple<const std::remove_reference_t<A>&...>(values...));
  if (to.chunks().empty()) [[likely]]
    return nullptr;
  auto* const kept = make_pooled<kept_tuple<Tuple>>(std::in_place, std::forward<A>(values)...);
  to.restart();
  encode_each(kept->values);
  return kept;
}

// Calls it, and waits for the future that it may return.
template <class F, class Tuple>
auto call_action(const F& f, Tuple&& arguments) -> result_of_action<F> {
  using returned = typename signature_of<F>::returned;
  if constexpr (unwrapped<returned>::is_future)
    return std::apply(f, std::forward<Tuple>(arguments)).get();
  else
    return std::apply(f, std::forward<Tuple>(arguments));
}

template <class F, class Tuple>
void perform(parcel_layer& layer, const call_origin& from, Tuple& arguments) noexcept {
  using result = result_of_action<F>;
  try {
    if constexpr (std::is_void_v<result>) {
      call_action(F{}, std::move(arguments));
      if (!from.wants_result) return;
      parcel_writer encoded(chunk_bytes_min(layer));
      send_result(layer, from, encoded, nullptr);
    } else {
      result value = call_action(F{}, std::move(arguments));
      if (!from.wants_result) return;
      parcel_writer encoded(chunk_bytes_min(layer));
      kept_values* const kept = encode_values<std::tuple<result>>(encoded, std::move(value));
      send_result(layer, from, encoded, kept);
    }
  } catch (...) {
    send_failure(layer, from);
  }
}

template <class F>
struct chunked_call final : chunked_task {
  parcel_layer& layer;
  call_origin from;
  typename signature_of<F>::arguments arguments;
  chunked_call(parcel_layer& of, const call_origin& caller) : layer(of), from(caller) {
    act = [](task& self, bool may_run) noexcept {
      auto& mine = static_cast<chunked_call&>(self);
      if (may_run) {
        give_credit(mine.layer, mine.from);
        const running_action named(mine.layer, mine.from);
        perform<F>(mine.layer, mine.from, mine.arguments);
      }
      free_pooled(&mine);
    };
    abandon = [](chunked_task& self) noexcept { free_pooled(static_cast<chunked_call*>(&self)); };
  }
};

template <class F>
void run_received(received_call& call) {
  using arguments = typename signature_of<F>::arguments;
  parcel_reader& reader = call.reader();
  const auto read = [&reader](auto& tuple) {
    std::apply([&reader](auto&... each) { (decode(reader, each), ...); }, tuple);
    reader.finish();
  };
  if (!reader.has_chunks()) [[likely]] {
    arguments values;
    read(values);
    return perform<F>(call.layer(), call.from(), values);
  }
  auto* const made = make_pooled<chunked_call<F>>(call.layer(), call.from());
  try {
    read(made->arguments);
  } catch (...) {
    free_pooled(made);
    throw;
  }
  call.run_when_complete(*made);
}

template <class F>
[[nodiscard]] const action_entry& entry_of(const F& f) {
  if constexpr (callable_by_name<F>) {
    return action_of_type<F>::entry;
  } else {
    return action_of_function(reinterpret_cast<const void*>(f));
  }
}

template <class F>
concept action_like = callable_by_name<F> ||
    (std::is_pointer_v<F>&& std::is_function_v<std::remove_pointer_t<F>>);

// Each argument as its parameter: referred to where it is one, else converted.
template <class P, class A>
[[nodiscard]] decltype(auto) as_parameter(A&& argument) {
  if constexpr (std::is_same_v<P, std::remove_cvref_t<A>>)
    return std::forward<A>(argument);
  else
    return static_cast<P>(std::forward<A>(argument));
}

template <class Arguments, class... A>
struct can_be_arguments : std::false_type {};
template <class... P, class... A>
requires(sizeof...(P) == sizeof...(A)) struct can_be_arguments<std::tuple<P...>, A...>
    : std::bool_constant<(std::is_constructible_v<P, A> && ...)> {
};

// Made empty first, and then filled with what has come.
template <class T>
inline constexpr bool can_arrive = std::is_void_v<T> || std::is_default_constructible_v<T>;
template <class Arguments>
inline constexpr bool has_addresses = false;
template <class... P>
inline constexpr bool has_addresses<std::tuple<P...>> = (address_like<P> || ...);
template <class Arguments>
inline constexpr bool can_all_arrive = false;
template <class... P>
inline constexpr bool can_all_arrive<std::tuple<P...>> = (can_arrive<P> && ...);

template <class F, class... A>
consteval bool check_call() {
  constexpr bool is_action = action_like<F>;
  static_assert(is_action,
                "weft: an action is a function, weft::action<&f>, or a function object without "
                "state and with one operator(): pass what it needs as arguments");
  if constexpr (is_action) {
    constexpr bool no_references = signature_of<F>::takes_by_value_or_const;
    static_assert(no_references,
                  "weft: an action cannot write to its caller's variables: take the argument by "
                  "value or const reference, and return what changes");
    using arguments = typename signature_of<F>::arguments;
    constexpr bool fit = can_be_arguments<arguments, A...>::value;
    static_assert(fit, "weft: these arguments are not those of the action");
    constexpr bool no_addresses =
        !has_addresses<std::tuple<result_of_action<F>>> && !has_addresses<arguments>;
    static_assert(no_addresses,
                  "weft: an address means nothing in another process: let the action take and "
                  "return what it points to, text as std::string");
    constexpr bool arrive = can_arrive<result_of_action<F>> && can_all_arrive<arguments>;
    static_assert(arrive,
                  "weft: what an action takes and returns is made empty in the other process and "
                  "then filled: give its type a default constructor");
    return no_references && fit && no_addresses && arrive;
  } else {
    return false;
  }
}

template <class... P, class... A>
kept_values* encode_arguments(std::type_identity<std::tuple<P...>>, parcel_writer& to,
                              A&&... arguments) {
  return encode_values<std::tuple<P...>>(to, as_parameter<P>(std::forward<A>(arguments))...);
}

// A call that goes elsewhere.
template <class F, class... A>
void send_arguments(parcel_layer& layer, int process, const F& f, awaited_call* awaited,
                    A&&... arguments) {
  parcel_writer encoded(chunk_bytes_min(layer));
  kept_values* const kept =
      encode_arguments(std::type_identity<typename signature_of<F>::arguments>{}, encoded,
                       std::forward<A>(arguments)...);
  send_call(layer, process, entry_of(f), encoded, kept, awaited);
}

}  // namespace detail

// The future of what f(arguments...) returns at `there`.
template <class Function, class... A>
auto async(detail::destination there, Function&& f, A&&... arguments) {
  using F = std::decay_t<Function>;
  if constexpr (detail::check_call<F, A...>()) {
    using result = detail::result_of_action<F>;
    using values = typename detail::signature_of<F>::arguments;
    detail::parcel_layer* const layer = detail::layer_towards(there.where, "async");
    if (layer == nullptr) {
      const detail::action_entry& which = detail::entry_of<F>(f);
      return spawn(
          [f = F(f), kept = values(std::forward<A>(arguments)...), &which]() mutable -> result {
            const detail::running_action named(which);
            return detail::call_action<F>(f, std::move(kept));
          },
          {}, there.at);
    }
    auto* const made = detail::make_pooled<detail::call_state<result>>(there.at);
    future<result> of_made =
        detail::future_access::adopt(static_cast<detail::future_state<result>*>(made));
    try {
      detail::send_arguments(*layer, there.where.number(), F(f), made,
                             std::forward<A>(arguments)...);
    } catch (...) {
      made->drop_reference();
      throw;
    }
    return of_made;
  }
}

// f(arguments...) at `there`; nobody waits for it but the job's end. What it throws fails the job.
template <class Function, class... A>
void post(detail::destination there, Function&& f, A&&... arguments) {
  using F = std::decay_t<Function>;
  if constexpr (detail::check_call<F, A...>()) {
    using values = typename detail::signature_of<F>::arguments;
    detail::parcel_layer* const layer = detail::layer_towards(there.where, "post");
    if (layer == nullptr) {
      const detail::action_entry& which = detail::entry_of<F>(f);
      static_cast<void>(
          spawn([f = F(f), kept = values(std::forward<A>(arguments)...), &which]() mutable {
            try {
              const detail::running_action named(which);
              static_cast<void>(detail::call_action<F>(f, std::move(kept)));
            } catch (...) {
              detail::fail_posted(which);
            }
          }));
      return;
    }
    detail::send_arguments(*layer, there.where.number(), F(f), nullptr,
                           std::forward<A>(arguments)...);
  }
}

// What f(arguments...) returns at `there`; waits for it.
template <class Function, class... A>
auto sync(detail::destination there, Function&& f, A&&... arguments) {
  return async(there, std::forward<Function>(f), std::forward<A>(arguments)...).get();
}

}  // namespace weft
