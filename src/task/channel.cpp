#include "weft/tasks/channel.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "task/task_source.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

// Of those that wait for room or for a value, the oldest first: each for a future of its own, which whoever serves it
// sets. It is theirs to count.
struct waiting_list {
  struct entry {
    entry* next = nullptr;
    future_state<void>* told = nullptr;
  };
  entry* first = nullptr;
  entry** end = &first;

  void add(entry& one) noexcept {
    one.next = nullptr;
    *end = &one;
    end = &one.next;
  }
  [[nodiscard]] entry* take() noexcept {
    entry* const oldest = first;
    if (oldest == nullptr) return nullptr;
    first = oldest->next;
    if (first == nullptr) end = &first;
    return oldest;
  }
  // False: it has been taken.
  [[nodiscard]] bool remove(const entry& one) noexcept {
    entry** at = &first;
    while (*at != nullptr && *at != &one) at = &(*at)->next;
    if (*at == nullptr) return false;
    *at = one.next;
    if (*at == nullptr) end = at;
    return true;
  }
};

}  // namespace

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

  // With the lock, which it gives up while it waits. A call that is told looks again: another may have been faster.
  void wait(std::unique_lock<std::mutex>& hold, waiting_list& among, const char* call,
            const char* giver) {
    held<future_state<void>> told(make_pooled<future_state<void>>(1u, made_at));
    told->set_giver(giver);
    waiting_list::entry mine;
    mine.told = told.get();
    among.add(mine);
    hold.unlock();
    try {
      told->wait(call);
    } catch (...) {
      hold.lock();
      const bool nobody_tells = among.remove(mine);
      hold.unlock();
      if (nobody_tells) told->cancel();  // What the wait has left behind goes with that.
      throw;
    }
    hold.lock();
  }
  // With the lock. Who is told counts its state itself, so the reference is taken here.
  [[nodiscard]] static future_state<void>* next_of(waiting_list& among) noexcept {
    waiting_list::entry* const one = among.take();
    if (one == nullptr) return nullptr;
    one->told->add_reference();
    return one->told;
  }
  // With the lock, which it gives up: the oldest, null when there is none.
  [[nodiscard]] channel_item* take(std::unique_lock<std::mutex>& hold) {
    channel_item* const taken = first;
    if (taken == nullptr) return nullptr;
    first = taken->next;
    if (first == nullptr) end = &first;
    --count;
    future_state<void>* const told = next_of(senders);
    hold.unlock();
    tell(told);
    return taken;
  }
  static void tell(future_state<void>* one) {
    if (one == nullptr) return;
    one->set();
    one->drop_reference();
  }
};

channel_core::channel_core(std::size_t capacity, const std::source_location& at)
    : self_(new body(capacity, at)) {}

channel_core::~channel_core() {
  delete self_;
}

bool channel_core::send(channel_item& item) {
  std::unique_lock hold(self_->lock);
  while (self_->count == self_->capacity && !self_->is_closed)
    self_->wait(hold, self_->senders, "channel::send", "a receiver of the channel");
  if (self_->is_closed) return false;
  item.next = nullptr;
  *self_->end = &item;
  self_->end = &item.next;
  ++self_->count;
  future_state<void>* const told = body::next_of(self_->receivers);
  hold.unlock();
  body::tell(told);
  return true;
}

channel_item* channel_core::receive() {
  std::unique_lock hold(self_->lock);
  while (self_->count == 0 && !self_->is_closed)
    self_->wait(hold, self_->receivers, "channel::receive", "a sender of the channel");
  return self_->take(hold);
}

channel_item* channel_core::try_receive() {
  {
    std::unique_lock hold(self_->lock);
    if (self_->count != 0 || self_->is_closed) return self_->take(hold);
  }
  if (worker* const here = worker::current(); here != nullptr && !worker::in_chunk()) {
    const shared_section inside(*here);
    here->yield();
  }
  std::unique_lock hold(self_->lock);
  return self_->take(hold);
}

void channel_core::close() {
  std::unique_lock hold(self_->lock);
  self_->is_closed = true;
  for (;;) {
    future_state<void>* told = body::next_of(self_->receivers);
    if (told == nullptr) told = body::next_of(self_->senders);
    if (told == nullptr) return;
    hold.unlock();
    body::tell(told);
    hold.lock();
  }
}

}  // namespace weft::detail
