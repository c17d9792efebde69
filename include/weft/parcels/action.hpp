// What a locality can be asked to do: functions of the program, known by their names in all processes.
//
//   double norm(const std::vector<double>& of);
//   WEFT_ACTION(norm);                              // At namespace scope, in one source file or several.
//
//   weft::async(there, norm, values);               // A function that is registered,
//   weft::async(there, weft::action<&norm>, v);     // registers itself by being used here,
//   weft::async(there, [](int x) { return x; }, 1); // and so does a function object without state.
//
// An action is known by its full name, with its namespace, and where it is local to a source file with the name of that
// file. Processes of a job run programs with the same actions, or none: where they differ, in the types of arguments and
// results, too, the job ends at its start, naming the first action that is not the same.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "weft/tasks/future.hpp"

namespace weft {
namespace detail {

class received_call;

// What an action takes and returns, by value: the types' names as the compiler encodes them, and what of them is in parcels.
struct action_types {
  const char* names;
  std::uint64_t shape;
};
// What is called.
struct action_target {
  const char* name;  // A type's that stands for it, as the compiler encodes it.
  const char* file;  // Of the source that is compiled; of some file that has it, where several do.
  const void* key;   // The same in every entry of one action of this copy.
  bool is_function;  // The key is its address.
  action_types types;
};

// One for each action, made while static objects are; stays. Where ranks have copies of their program, each copy has one.
struct action_entry {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  const action_target target;
  void (*run)(received_call& from);
  action_entry* next = nullptr;
  int rank;  // Whose constructors made it; -1: those of the process.
  // Its word in parcels: a number by name, the same in all processes, and a check of name and types. As people know it, in
  // memory that stays. Both are set when a table of actions is made. Relaxed: known_actions() orders them.
  mutable std::atomic<std::uint32_t> index{none};
  mutable std::atomic<const char*> readable{nullptr};
  action_entry(const action_target& of, void (*runs)(received_call&)) noexcept;
  action_entry(const action_entry&) = delete;
  action_entry& operator=(const action_entry&) = delete;
};

// That of a function; throws weft::error where it is not registered.
[[nodiscard]] const action_entry& action_of_function(const void* function);

// What a call says that it is: its parameters by value, and what it returns.
template <class Signature>
struct signature_of;
template <class R, class... P>
struct signature_of<R(P...)> {
  using arguments = std::tuple<std::decay_t<P>...>;
  using returned = R;
  static constexpr std::size_t count = sizeof...(P);
  static constexpr bool takes_by_value_or_const =
      ((!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>)&&...);
};
template <class R, class... P>
struct signature_of<R(P...) noexcept> : signature_of<R(P...)> {};
template <class R, class... P>
struct signature_of<R (*)(P...)> : signature_of<R(P...)> {};
template <class R, class... P>
struct signature_of<R (*)(P...) noexcept> : signature_of<R(P...)> {};
template <class C, class R, class... P>
struct signature_of<R (C::*)(P...)> : signature_of<R(P...)> {};
template <class C, class R, class... P>
struct signature_of<R (C::*)(P...) const> : signature_of<R(P...)> {};
template <class C, class R, class... P>
struct signature_of<R (C::*)(P...) noexcept> : signature_of<R(P...)> {};
template <class C, class R, class... P>
struct signature_of<R (C::*)(P...) const noexcept> : signature_of<R(P...)> {};

template <class T>
struct unwrapped {
  using type = std::decay_t<T>;
  static constexpr bool is_future = false;
};
template <class T>
struct unwrapped<future<T>> {
  using type = T;
  static constexpr bool is_future = true;
};
// What the caller's future is of; a function may itself return a future, or be a coroutine.
template <class Signature>
using result_of_action = typename unwrapped<typename signature_of<Signature>::returned>::type;

// A function object without state: its type says all.
template <class F>
concept stateless_callable =
    std::is_class_v<F> && std::is_empty_v<F> && std::is_default_constructible_v<F> && requires {
  &F::operator();
};

template <class F>
void run_received(received_call& from);  // call.hpp

template <auto F>
requires std::is_pointer_v<decltype(F)>
struct function_as_type {
  template <class... A>
  decltype(auto) operator()(A&&... arguments) const {
    return F(std::forward<A>(arguments)...);
  }
};

template <class F>
[[nodiscard]] action_types types_of_action() noexcept;  // call.hpp

// A function, however it is named, is one action.
template <class F>
struct action_key {
  static constexpr bool is_function = false;
  static inline const char byte = 0;
  [[nodiscard]] static const void* value() noexcept { return &byte; }
};
template <auto F>
struct action_key<function_as_type<F>> {
  static constexpr bool is_function = true;
  [[nodiscard]] static const void* value() noexcept { return reinterpret_cast<const void*>(F); }
};
template <class F>
[[nodiscard]] action_target target_of_action(const char* file) noexcept {
  return {typeid(F).name(), file, action_key<F>::value(), action_key<F>::is_function,
          types_of_action<F>()};
}

template <class F>
struct action_of_type {
  [[gnu::used]] static inline action_entry entry{target_of_action<F>(__BASE_FILE__),
                                                 &run_received<F>};
};
template <auto F>
struct signature_of<function_as_type<F>> : signature_of<decltype(F)> {};

template <stateless_callable F>
struct signature_of<F> : signature_of<decltype(&F::operator())> {};

template <class F>
inline constexpr bool is_function_as_type = false;
template <auto F>
inline constexpr bool is_function_as_type<function_as_type<F>> = true;

template <class F>
concept callable_by_name = stateless_callable<F> || is_function_as_type<F>;

// Of WEFT_ACTION.
template <auto F>
struct registered_action {
  action_entry entry;
  explicit registered_action(const char* file) noexcept
      : entry(target_of_action<function_as_type<F>>(file), &run_received<function_as_type<F>>) {}
};

}  // namespace detail

template <auto F>
inline constexpr detail::function_as_type<F> action{};

}  // namespace weft

#define WEFT_DETAIL_JOINED(a, b) a##b
#define WEFT_DETAIL_ACTION_NAME(line) WEFT_DETAIL_JOINED(weft_registered_action_, line)
// Registers a function. Of overloaded functions, one by a pointer of a name of its own.
#define WEFT_ACTION(function)                                                             \
  [[maybe_unused]] static const ::weft::detail::registered_action<&function> /* NOLINT */ \
  WEFT_DETAIL_ACTION_NAME(__COUNTER__)(__BASE_FILE__)
