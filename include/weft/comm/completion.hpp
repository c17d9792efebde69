// How an operation says that it is complete, at the side that posted it or at the other one: by an
// event, given to an object of the user's choice. Objects here: counter, synchronizer,
// completion_queue; a function with a context; and any type with a member
//
//   void signal(const event&) noexcept;
//
// which is called by whichever thread makes progress on the device. An object must outlive the
// operations that signal it.
#pragma once
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft::comm {

enum class outcome : std::uint8_t {
  complete,
  truncated,  // A message longer than its receive: `size` is the message's, nothing was
              // overwritten.
  failed,     // The peer died, or refused; nothing is known about the data.
  canceled,   // The device was destroyed, or the receive was canceled.
};

enum class operation_kind : std::uint8_t { send, recv, am, put, get, atomic, group };

// One completion, held and passed on by value.
struct event {
  outcome result = outcome::complete;
  operation_kind kind = operation_kind::am;
  std::uint16_t device = 0;   // The peer's.
  std::int32_t process = -1;  // The peer.
  std::uint32_t user = 0;     // As the sender gave it.
  // What comes from a message's header is not in the header's order: taken over from there in pairs,
  // these would be read before the stores of the halves have ended.
  std::array<std::uint64_t, 2> head{};  // Of an am: as the sender gave it.
  std::uint64_t tag = 0;                // As the sender gave it; of an atomic: the old value.
  // The data of a message that brought its own place (an am, a receive without a buffer, a remote
  // notification: the memory written or read). In a function and a user's type valid during the
  // call only; out of an object that keeps events, until release().
  std::byte* data = nullptr;
  std::uint64_t size = 0;   // Bytes moved, all parts.
  void* context = nullptr;  // As given with the operation that this side posted.
  void* packet = nullptr;   // What release() gives back; null: nothing to release.

  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return data == nullptr ? std::span<std::byte>() : std::span(data, size);
  }
};

// Gives the place of the event's data back. Called once, by any thread, before the runtime ends.
void release(const event& happened) noexcept;

template <class T>
concept completion_object = requires(T& object, const event& happened) {
  { object.signal(happened) }
  noexcept;
};

// An object that may be full. reserve() is asked before an operation is posted, and refuses it
// (retry) by returning false; cancel() gives the place back when nothing was posted after all.
template <class T>
concept bounded_completion_object = completion_object<T> && requires(T& object) {
  { object.reserve() }
  noexcept->std::same_as<bool>;
  { object.cancel() }
  noexcept;
};

// A reference to a completion object of whatever type, two words and a table.
class completion {
 public:
  struct actions {
    void (*signal)(void* object, const event& happened) noexcept;
    bool (*reserve)(void* object) noexcept;  // Null: never full.
    void (*cancel)(void* object) noexcept;
    bool keeps_data;  // The event outlives the call: its data are given a packet of their own.
  };

  completion() = default;
  template <completion_object T>
  requires(!std::same_as<T, completion>) completion(T& object)
  noexcept : actions_(&actions_of<T>), object_(&object) {}
  // A function of the form void(void* context, const event&) noexcept.
  using function = void (*)(void* context, const event& happened) noexcept;
  explicit completion(function called, void* context) noexcept
      : function_(called), object_(context) {}

  [[nodiscard]] explicit operator bool() const noexcept {
    return actions_ != nullptr || function_ != nullptr;
  }
  [[nodiscard]] bool keeps_data() const noexcept {
    return actions_ != nullptr && actions_->keeps_data;
  }
  [[nodiscard]] bool reserve() const noexcept {
    return actions_ == nullptr || actions_->reserve == nullptr || actions_->reserve(object_);
  }
  void cancel() const noexcept {
    if (actions_ != nullptr && actions_->cancel != nullptr) actions_->cancel(object_);
  }
  // After reserve() was true.
  void signal(const event& happened) const noexcept {
    if (function_ != nullptr)
      function_(object_, happened);
    else if (actions_ != nullptr)
      actions_->signal(object_, happened);
  }

 private:
  template <class T>
  static consteval actions make_actions() {
    actions made{[](void* object, const event& happened) noexcept {
                   static_cast<T*>(object)->signal(happened);
                 },
                 nullptr, nullptr, false};
    if constexpr (bounded_completion_object<T>) {
      made.reserve = [](void* object) noexcept { return static_cast<T*>(object)->reserve(); };
      made.cancel = [](void* object) noexcept { static_cast<T*>(object)->cancel(); };
    }
    if constexpr (requires { T::keeps_data; }) made.keeps_data = T::keeps_data;
    return made;
  }
  template <class T>
  static constexpr actions actions_of = make_actions<T>();

  const actions* actions_ = nullptr;
  function function_ = nullptr;
  void* object_ = nullptr;
};

// Counts completions: `counter`, the rest is for weft's model checker.
//
//   R1 signal: add to count     -- A1 value: load count        what the counted operations brought
//   R2 signal: add to failures  -- A2 failures: load failures  is visible to the caller
template <class Atomics>
class basic_counter {
 public:
  [[nodiscard]] std::uint64_t value() const noexcept { return count_.load(Atomics::acquire("A1")); }
  // Of them, those that did not complete.
  [[nodiscard]] std::uint64_t failures() const noexcept {
    return failures_.load(Atomics::acquire("A2"));
  }
  void signal(const event& happened) noexcept {
    if (happened.result != outcome::complete) failures_.fetch_add(1, Atomics::release("R2"));
    count_.fetch_add(1, Atomics::release("R1"));
  }

 private:
  typename Atomics::template atomic<std::uint64_t> count_{0};
  typename Atomics::template atomic<std::uint64_t> failures_{0};
};
struct counter_atomics {
  template <class T>
  using atomic = std::atomic<T>;
  static consteval std::memory_order acquire(const char*) { return std::memory_order_acquire; }
  static consteval std::memory_order release(const char*) { return std::memory_order_release; }
};
class counter : public basic_counter<counter_atomics> {};

// Waits for n completions and keeps their events.
class synchronizer {
 public:
  static constexpr bool keeps_data = true;
  explicit synchronizer(std::uint32_t threshold = 1);  // Throws weft::error without memory.
  synchronizer(const synchronizer&) = delete;
  synchronizer& operator=(const synchronizer&) = delete;
  ~synchronizer();

  // Whether all n have happened. Called by any thread.
  [[nodiscard]] bool test() const noexcept;
  // The n events, in the order in which they happened; after test() was true.
  [[nodiscard]] std::span<const event> events() const noexcept;
  // Back to none. Called by one thread, after test() was true.
  void reset() noexcept;

  // False when n operations are already under way.
  [[nodiscard]] bool reserve() noexcept;
  void cancel() noexcept;
  void signal(const event& happened) noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// A bounded queue of events by value; any threads push and pop. When it is full, operations that
// would signal it are refused with retry, and the device does not deliver further messages from
// peers until there is room.
class completion_queue {
 public:
  static constexpr bool keeps_data = true;
  // Rounded up to a power of two. Throws weft::error beyond 2^32, and when there is no memory.
  explicit completion_queue(std::size_t capacity = 1024);
  completion_queue(const completion_queue&) = delete;
  completion_queue& operator=(const completion_queue&) = delete;
  ~completion_queue();

  // False when there is none. Release the event when its data are not needed any more.
  [[nodiscard]] bool try_pop(event& to) noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept;

  [[nodiscard]] bool reserve() noexcept;
  void cancel() noexcept;
  void signal(const event& happened) noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace weft::comm
