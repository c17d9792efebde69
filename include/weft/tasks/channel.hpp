// Values from tasks and ranks to others, in order.
#pragma once
#include <cstddef>
#include <optional>
#include <source_location>
#include <utility>

#include "weft/tasks/future.hpp"

namespace weft {
namespace detail {

// A value under way, in the pool.
struct channel_item {
  channel_item* next = nullptr;
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
  struct body;
  body* const self_;
};

}  // namespace detail

// Any number of senders and receivers, on any workers. Each value is received once; those of one sender come in the
// order in which it sent them. Whoever waits lets its worker go on; a channel that nobody serves is named by the report
// of a deadlock.
template <class T>
class channel {
 public:
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
  // No further values: receivers get what is left, then nothing.
  void close() { core_.close(); }

 private:
  struct item : detail::channel_item {
    T value;
    template <class Value>
    explicit item(Value&& v) : value(std::forward<Value>(v)) {}
  };
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
