// Objects in other localities: made there, called there, and gone when nobody refers to them any more.
//
//   weft::object<account> there = weft::create<account>(weft::locality(1), 100).get();
//   int left = weft::sync(there, weft::method<&account::withdraw>, 30);
//   weft::future<int> f = weft::async(there, weft::method<&account::balance>);
//
// An object<T> is a counted reference: its copies in a process count as one. What is sent to another process is its id(),
// a plain value, with which resolve() there gets a reference of its own while the object lives. An object may have a name.
//
// Methods run as tasks, any number at a time: the object looks after itself. It lives until all that was called by an
// object<T> has run, also when that is gone before. Called by ranks and tasks; an object<T> may also go in a chunk of a
// loop. What refers to nothing any more gets weft::error, or remote_error where it is elsewhere.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "weft/parcels/call.hpp"
#include "weft/tasks/coroutine.hpp"

namespace weft {

// Which object; plain, may be sent, and does not keep it alive.
template <class T>
struct object_id {
  int process = 0;
  std::uint64_t number = 0;  // In that process; 0: none.
  friend bool operator==(const object_id&, const object_id&) = default;
};

template <class T>
class object;

namespace detail {

// --- Of the calling locality -----------------------------------------------------------------------

// Referred to once. `type` names it for reports, and is compared.
[[nodiscard]] std::uint64_t add_object(std::shared_ptr<void> made, const char* type);
// Throw weft::error where it has gone or is of another type. The first is said by a call, once.
[[nodiscard]] std::shared_ptr<void> find_object(std::uint64_t number, const char* type);
void hold_object(std::uint64_t number, const char* type);
// A reference goes by which so many calls were sent: those that have not come yet find the object.
void release_object(std::uint64_t number, std::uint64_t calls);
// Of locality 0. Throw weft::error where another has the name, or none.
void name_object(const std::string& name, int process, std::uint64_t number,
                 const std::string& type);
[[nodiscard]] object_id<void> find_name(const std::string& name, const std::string& type);

// --- What is called there ---------------------------------------------------------------------------

template <class T, class... P>
struct object_maker {
  std::uint64_t operator()(P... arguments) const {
    return add_object(std::make_shared<T>(std::move(arguments)...), typeid(T).name());
  }
};
template <class T>
struct object_holder {
  void operator()(std::uint64_t number) const { hold_object(number, typeid(T).name()); }
};
struct object_releaser {
  void operator()(std::uint64_t number, std::uint64_t calls) const {
    release_object(number, calls);
  }
};
// Templates, so that programs without objects have no such actions.
template <class T>
struct object_namer {
  void operator()(const std::string& name, int process, std::uint64_t number) const {
    name_object(name, process, number, typeid(T).name());
  }
};
template <class T>
struct object_finder {
  object_id<void> operator()(const std::string& name) const {
    return find_name(name, typeid(T).name());
  }
};

template <auto M, class T, class R, class... P>
struct method_caller {
  typename unwrapped<R>::type operator()(std::uint64_t number, P... arguments) const {
    const std::shared_ptr<void> held = find_object(number, typeid(T).name());
    T& of = *static_cast<T*>(held.get());
    if constexpr (unwrapped<R>::is_future)
      return (of.*M)(std::move(arguments)...).get();
    else
      return (of.*M)(std::move(arguments)...);
  }
};

template <auto M, class Signature = decltype(M)>
struct method_as_type;
#define WEFT_DETAIL_METHOD(qualifiers)                                                   \
  template <auto M, class T, class R, class... P>                                        \
  struct method_as_type<M, R (T::*)(P...) qualifiers> {                                  \
    using type = T;                                                                      \
    using caller = method_caller<M, T, std::decay_t<R>, std::decay_t<P>...>;             \
    static_assert(((!std::is_lvalue_reference_v<P> ||                                    \
                    std::is_const_v<std::remove_reference_t<P>>)&&...),                  \
                  "weft: a method of an object in another locality cannot write to its " \
                  "caller's variables: take the argument by value or const reference");  \
  };
WEFT_DETAIL_METHOD()
WEFT_DETAIL_METHOD(const)
WEFT_DETAIL_METHOD(noexcept)
WEFT_DETAIL_METHOD(const noexcept)
#undef WEFT_DETAIL_METHOD

// Gives a reference back, by a task: the last copy may go where nobody may wait.
// A template for the reason above.
template <class T>
struct object_release final : task {
  int process;
  std::uint64_t number, calls;
  object_release(int in, std::uint64_t of, std::uint64_t called) noexcept
      : process(in), number(of), calls(called) {
    act = [](task& self, bool may_run) noexcept {
      auto& mine = static_cast<object_release&>(self);
      try {
        if (may_run) weft::post(locality(mine.process), object_releaser{}, mine.number, mine.calls);
      } catch (...) {  // The job ends, and its objects with it.
      }
      free_pooled(&mine);
    };
  }
};
// Where no tasks run it is dropped.
void submit_release(task& what) noexcept;

template <class T>
struct object_reference {
  object_id<T> id;
  // Sent by this reference. Relaxed: the end of its last copy sees them all.
  mutable std::atomic<std::uint64_t> calls{0};
  explicit object_reference(const object_id<T>& of) noexcept : id(of) {}
  object_reference(const object_reference&) = delete;
  object_reference& operator=(const object_reference&) = delete;
  ~object_reference() {
    try {
      submit_release(*make_pooled<object_release<T>>(id.process, id.number,
                                                     calls.load(std::memory_order_relaxed)));
    } catch (const std::bad_alloc&) {  // It stays until the job ends.
    }
  }
};

// Counts a call of a method before it is sent.
class object_call {
 public:
  template <class T>
  explicit object_call(const object<T>& of) noexcept : calls_(of.reference_->calls) {
    calls_.fetch_add(1, std::memory_order_relaxed);
  }
  object_call(const object_call&) = delete;
  object_call& operator=(const object_call&) = delete;
  ~object_call() {
    if (!is_sent_) calls_.fetch_sub(1, std::memory_order_relaxed);
  }
  void note_sent() noexcept { is_sent_ = true; }

 private:
  std::atomic<std::uint64_t>& calls_;
  bool is_sent_ = false;
};

}  // namespace detail

template <auto M>
inline constexpr detail::method_as_type<M> method{};

template <class T>
class object {
 public:
  object() = default;  // Of none.
  [[nodiscard]] explicit operator bool() const noexcept { return reference_ != nullptr; }
  [[nodiscard]] object_id<T> id() const noexcept {
    return reference_ != nullptr ? reference_->id : object_id<T>{};
  }
  [[nodiscard]] locality where() const noexcept { return locality(id().process); }

  // Of one that has been counted: see create() and resolve().
  explicit object(const object_id<T>& counted)
      : reference_(std::make_shared<const detail::object_reference<T>>(counted)) {}

 private:
  friend detail::object_call;
  std::shared_ptr<const detail::object_reference<T>> reference_;
};

namespace detail {
// Text travels as a string.
template <class A>
using constructor_argument =
    std::conditional_t<std::is_pointer_v<A> && std::is_convertible_v<A, std::string>, std::string,
                       A>;
}  // namespace detail

// T(arguments...) at `there`.
template <class T, class... A>
future<object<T>> create(locality there, A... arguments) {
  static_assert(std::is_constructible_v<T, detail::constructor_argument<A>...>,
                "weft: create: there is no such constructor");
  const std::uint64_t number =
      co_await async(there, detail::object_maker<T, detail::constructor_argument<A>...>{},
                     std::move(arguments)...);
  co_return object<T>(object_id<T>{there.number(), number});
}

// A reference of this process.
template <class T>
future<object<T>> resolve(object_id<T> id) {
  co_await async(locality(id.process), detail::object_holder<T>{}, id.number);
  co_return object<T>(id);
}

// From now on, until the job ends, the object has a name in the whole job, and lives.
template <class T>
future<void> give_name(object<T> to, std::string name) {
  const object_id<T> id = to.id();
  co_await async(locality(id.process), detail::object_holder<T>{}, id.number);
  try {
    co_await async(locality(0), detail::object_namer<T>{}, std::move(name), id.process, id.number);
  } catch (...) {
    post(locality(id.process), detail::object_releaser{}, id.number, std::uint64_t{0});
    throw;
  }
}

template <class T>
future<object<T>> resolve(std::string name) {
  const object_id<void> found =
      co_await async(locality(0), detail::object_finder<T>{}, std::move(name));
  co_return co_await resolve(object_id<T>{found.process, found.number});
}

// The future of what the method returns. The object lives until it has.
template <class T, auto M, class... A>
auto async(const object<T>& of, detail::method_as_type<M>, A&&... arguments) {
  using how = detail::method_as_type<M>;
  static_assert(std::is_same_v<typename how::type, T>, "weft: this is no method of that object");
  if (!of) throw error("async of a method: the object refers to none");
  detail::object_call counted(of);
  auto result =
      async(of.where(), typename how::caller{}, of.id().number, std::forward<A>(arguments)...);
  counted.note_sent();
  return result;
}
template <class T, auto M, class... A>
void post(const object<T>& of, detail::method_as_type<M>, A&&... arguments) {
  using how = detail::method_as_type<M>;
  static_assert(std::is_same_v<typename how::type, T>, "weft: this is no method of that object");
  if (!of) throw error("post of a method: the object refers to none");
  detail::object_call counted(of);
  post(of.where(), typename how::caller{}, of.id().number, std::forward<A>(arguments)...);
  counted.note_sent();
}
template <class T, auto M, class... A>
auto sync(const object<T>& of, detail::method_as_type<M> what, A&&... arguments) {
  return async(of, what, std::forward<A>(arguments)...).get();
}

}  // namespace weft
