// Values from tasks and ranks to others, in order.
#pragma once
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <utility>

#include "weft/tasks/coroutine.hpp"
#include "weft/tasks/future.hpp"

namespace weft {
namespace detail {

// A value under way, in the pool.
struct channel_item {
  channel_item* next = nullptr;
};

// A send or receive that waits, in the list of its channel. Whoever serves it takes it out, takes or gives the item, and
// sets `told`.
struct channel_wait {
  channel_wait* next = nullptr;
  // A send: the item that is not taken yet, or at the end because the channel is closed. A receive: what it got; null when
  // the channel is closed.
  channel_item* item = nullptr;
  bool is_listed = false;
  bool sends = false;
  held<future_state<void>> told;  // None where it does not wait.
};

// The queue of a channel, whose values it does not know.
class channel_core {
 public:
  channel_core(std::size_t capacity, const std::source_location& at);
  channel_core(const channel_core&) = delete;
  channel_core& operator=(const channel_core&) = delete;
  ~channel_core();

  // Waits while the channel is full. False: it is closed, the item stays the caller's.
  [[nodiscard]] bool send(channel_item& item);
  // The oldest; waits while there is none. Null: closed and empty.
  [[nodiscard]] channel_item* receive();
  // Null also where receive() would wait.
  [[nodiscard]] channel_item* try_receive();
  void close();

 private:
  friend class channel_awaiter;
  struct body;
  std::shared_ptr<body> self_;
};

// Part of a coroutine that sends or receives. It outlives the channel where that closes and goes meanwhile.
class channel_awaiter {
 public:
  channel_awaiter(const channel_awaiter&) = delete;
  channel_awaiter& operator=(const channel_awaiter&) = delete;
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiting) {
    return coroutine_wait(*wait_.told.get()).suspend(waiting);
  }

 protected:
  explicit channel_awaiter(const channel_core& of) noexcept : of_(of.self_) {}
  ~channel_awaiter() = default;
  // True where it is served at once.
  [[nodiscard]] bool begin_send();
  [[nodiscard]] bool begin_receive();
  // Nobody serves it from then on; comes first in destructors.
  void give_up() noexcept;

  channel_wait wait_;

 private:
  std::shared_ptr<channel_core::body> of_;
};

}  // namespace detail

// Any number of senders and receivers, on any workers. Each value is received once; those of one sender come in the
// order in which it sent them. Whoever waits lets its worker go on; a channel that nobody serves is named by the report
// of a deadlock. Coroutines say co_await c.async_send(value) and co_await c.async_receive(): the others would wait on the
// stack of a coroutine's caller, and throw weft::error there.
template <class T>
class channel {
  struct item : detail::channel_item {
    T value;
    template <class Value>
    explicit item(Value&& v) : value(std::forward<Value>(v)) {}
  };

 public:
  class [[nodiscard]] sending;
  class [[nodiscard]] receiving;

  // Holds so many values before send() waits; at least one.
  explicit channel(std::size_t capacity = 1024,
                   const std::source_location& at = std::source_location::current())
      : core_(capacity, at) {}
  // Called when nobody uses it; what was not received is lost.
  ~channel() {
    core_.close();
    while (detail::channel_item* const left = core_.try_receive())
      detail::free_pooled(static_cast<item*>(left));
  }

  // Throws weft::error when the channel is closed.
  template <class Value>
  void send(Value&& value) {
    item* const made = detail::make_pooled<item>(std::forward<Value>(value));
    bool is_sent = false;
    try {
      is_sent = core_.send(*made);
    } catch (...) {
      detail::free_pooled(made);
      throw;
    }
    if (is_sent) return;
    detail::free_pooled(made);
    throw error("channel::send to a channel that is closed");
  }
  // Nothing when the channel is closed and all was received.
  [[nodiscard]] std::optional<T> receive() { return taken(core_.receive()); }
  // Nothing also when nothing is there now; then other work of this worker gets a turn.
  [[nodiscard]] std::optional<T> try_receive() { return taken(core_.try_receive()); }
  // Returns what a coroutine awaits; from then on it is the same as send() and receive().
  template <class Value>
  sending async_send(Value&& value) {
    return sending(core_, *detail::make_pooled<item>(std::forward<Value>(value)));
  }
  receiving async_receive() { return receiving(core_); }
  // No further values: receivers get what is left, then nothing.
  void close() { core_.close(); }

  class [[nodiscard]] sending : public detail::channel_awaiter {
   public:
    ~sending() {
      give_up();
      if (wait_.item != nullptr) detail::free_pooled(static_cast<item*>(wait_.item));
    }
    [[nodiscard]] bool await_ready() { return begin_send(); }
    void await_resume() {
      if (wait_.item != nullptr) throw error("channel::async_send to a channel that is closed");
    }

   private:
    friend channel;
    sending(const detail::channel_core& of, item& what) noexcept : channel_awaiter(of) {
      wait_.item = &what;
    }
  };
  class [[nodiscard]] receiving : public detail::channel_awaiter {
   public:
    ~receiving() {
      give_up();
      static_cast<void>(await_resume());
    }
    [[nodiscard]] bool await_ready() { return begin_receive(); }
    [[nodiscard]] std::optional<T> await_resume() {
      return taken(std::exchange(wait_.item, nullptr));
    }

   private:
    friend channel;
    explicit receiving(const detail::channel_core& of) noexcept : channel_awaiter(of) {}
  };

 private:
  [[nodiscard]] static std::optional<T> taken(detail::channel_item* from) {
    if (from == nullptr) return std::nullopt;
    auto* const mine = static_cast<item*>(from);
    std::optional<T> value(std::move(mine->value));
    detail::free_pooled(mine);
    return value;
  }

  detail::channel_core core_;
};

}  // namespace weft
