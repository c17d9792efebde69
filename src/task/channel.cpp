#include "weft/tasks/channel.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "task/task_source.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

// Sends that wait for room, or receives that wait for a value: the oldest is first.
struct waiting_list {
  channel_wait* first = nullptr;
  channel_wait** end = &first;

  void add(channel_wait& one) noexcept {
    one.next = nullptr;
    one.is_listed = true;
    *end = &one;
    end = &one.next;
  }
  [[nodiscard]] channel_wait* take() noexcept {
    channel_wait* const oldest = first;
    if (oldest == nullptr) return nullptr;
    first = oldest->next;
    if (first == nullptr) end = &first;
    oldest->is_listed = false;
    return oldest;
  }
  void remove(channel_wait& one) noexcept {
    channel_wait** at = &first;
    while (*at != &one) at = &(*at)->next;
    *at = one.next;
    if (*at == nullptr) end = at;
    one.is_listed = false;
  }
};

// A wait that has been served is told after the lock is given up. By then its owner may be gone, so this counts as an owner
// of its state.
class told_later {
 public:
  told_later() = default;
  explicit told_later(const channel_wait* served) noexcept {
    if (served == nullptr) return;
    served->told->add_reference();
    state_ = held(served->told.get());
  }
  void tell() {
    if (state_.get() != nullptr) state_->set();
  }

 private:
  held<future_state<void>> state_;
};

}  // namespace

// Values wait only while nobody waits for one, and senders only while it is full: whoever comes serves the oldest of
// those that wait, so nobody is told in vain or overtaken.
struct channel_core::body {
  body(std::size_t most, const std::source_location& at)
      : capacity(std::max<std::size_t>(most, 1)), made_at(at) {}

  // Held for a few instructions, never across a wait.
  std::mutex lock;
  const std::size_t capacity;
  const std::source_location made_at;
  std::size_t count = 0;
  bool is_closed = false;
  channel_item* first = nullptr;
  channel_item** end = &first;
  waiting_list receivers, senders;

  void append(channel_item& item) noexcept {
    item.next = nullptr;
    *end = &item;
    end = &item.next;
    ++count;
  }
  [[nodiscard]] channel_item* take_first() noexcept {
    channel_item* const taken = first;
    first = taken->next;
    if (first == nullptr) end = &first;
    --count;
    return taken;
  }

  // The functions from here on hold the lock. False: it is to wait. `one.item` is taken, but by a closed channel.
  [[nodiscard]] bool try_send(channel_wait& one, told_later& served) noexcept {
    if (is_closed) return true;
    if (channel_wait* const receiver = receivers.take(); receiver != nullptr) {
      receiver->item = std::exchange(one.item, nullptr);
      served = told_later(receiver);
      return true;
    }
    if (count == capacity) return false;
    append(*std::exchange(one.item, nullptr));
    return true;
  }
  // `one.item` is the oldest; null when it is closed.
  [[nodiscard]] bool try_receive(channel_wait& one, told_later& served) noexcept {
    if (count == 0) return is_closed;
    one.item = take_first();
    if (channel_wait* const sender = senders.take(); sender != nullptr) {
      append(*std::exchange(sender->item, nullptr));
      served = told_later(sender);
    }
    return true;
  }
  void enlist(channel_wait& one, waiting_list& among, const char* giver) {
    one.told = held(make_pooled<future_state<void>>(1u, made_at));
    one.told->set_giver(giver);
    among.add(one);
  }
  [[nodiscard]] bool begin_send(channel_wait& one) {
    told_later served;
    one.sends = true;
    {
      const std::lock_guard hold(lock);
      if (!try_send(one, served)) {
        enlist(one, senders, "a receiver of the channel");
        return false;
      }
    }
    served.tell();
    return true;
  }
  [[nodiscard]] bool begin_receive(channel_wait& one) {
    told_later served;
    {
      const std::lock_guard hold(lock);
      if (!try_receive(one, served)) {
        enlist(one, receivers, "a sender of the channel");
        return false;
      }
    }
    served.tell();
    return true;
  }
  // What the wait has left behind goes when it is told.
  void give_up(channel_wait& one) noexcept {
    {
      const std::lock_guard hold(lock);
      if (!one.is_listed) return;
      (one.sends ? senders : receivers).remove(one);
    }
    one.told->cancel();
  }
};

channel_core::channel_core(std::size_t capacity, const std::source_location& at)
    : self_(std::make_shared<body>(capacity, at)) {}

channel_core::~channel_core() = default;

bool channel_core::send(channel_item& item) {
  channel_wait mine;
  mine.item = &item;
  if (self_->begin_send(mine)) return mine.item == nullptr;
  try {
    refuse_to_wait_on_callers_stack("channel::send", "co_await channel.async_send(value)");
    mine.told->wait("channel::send");
  } catch (...) {
    self_->give_up(mine);
    if (mine.item == nullptr)
      return true;  // It was taken meanwhile; the caller's next wait throws again.
    throw;
  }
  return mine.item == nullptr;
}

channel_item* channel_core::receive() {
  channel_wait mine;
  if (self_->begin_receive(mine)) return mine.item;
  try {
    refuse_to_wait_on_callers_stack("channel::receive", "co_await channel.async_receive()");
    mine.told->wait("channel::receive");
  } catch (...) {
    self_->give_up(mine);
    if (mine.item != nullptr) return mine.item;
    throw;
  }
  return mine.item;
}

channel_item* channel_core::try_receive() {
  const auto take = [this] {
    channel_wait mine;
    told_later served;
    {
      const std::lock_guard hold(self_->lock);
      static_cast<void>(self_->try_receive(mine, served));
    }
    served.tell();
    return mine.item;
  };
  {
    const std::lock_guard hold(self_->lock);
    if (self_->count == 0 && self_->is_closed) return nullptr;
  }
  if (channel_item* const found = take(); found != nullptr) return found;
  if (worker* const here = worker::current(); here != nullptr && !worker::in_chunk()) {
    const shared_section inside(*here);
    here->yield();
  }
  return take();
}

void channel_core::close() {
  std::unique_lock hold(self_->lock);
  self_->is_closed = true;
  for (;;) {
    const channel_wait* one = self_->receivers.take();
    if (one == nullptr) one = self_->senders.take();
    if (one == nullptr) return;
    told_later served(one);
    hold.unlock();
    served.tell();
    hold.lock();
  }
}

bool channel_awaiter::begin_send() {
  return of_->begin_send(wait_);
}

bool channel_awaiter::begin_receive() {
  return of_->begin_receive(wait_);
}

void channel_awaiter::give_up() noexcept {
  if (wait_.told.get() != nullptr) of_->give_up(wait_);
}

}  // namespace weft::detail
