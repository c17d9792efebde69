#include "weft/comm/completion.hpp"

#include <bit>
#include <new>
#include <string_view>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "comm/event_slots.hpp"
#include "weft/error.hpp"

namespace weft::comm {

// Room for so many events; `wanted` is what the program has asked for.
template <class State>
static std::unique_ptr<State> make_room(auto places, std::size_t wanted, std::string_view whose) {
  try {
    return std::make_unique<State>(places);
  } catch (const std::bad_alloc&) {
    throw error(formatted("no memory for a {} for {} events of {} bytes; make one for fewer", whose,
                          wanted, sizeof(event)));
  }
}

struct synchronizer::state : event_group<event> {
  using event_group::event_group;
};
synchronizer::synchronizer(std::uint32_t threshold)
    : state_(make_room<state>(threshold, threshold, "synchronizer")) {}
synchronizer::~synchronizer() = default;
bool synchronizer::test() const noexcept {
  return state_->is_complete();
}
std::span<const event> synchronizer::events() const noexcept {
  return state_->values();
}
void synchronizer::reset() noexcept {
  state_->reset();
}
bool synchronizer::reserve() noexcept {
  return state_->reserve();
}
void synchronizer::cancel() noexcept {
  state_->cancel();
}
void synchronizer::signal(const event& happened) noexcept {
  state_->put(happened);
}

struct completion_queue::state : event_ring<event> {
  using event_ring::event_ring;
};
static std::size_t places_for(std::size_t capacity) {
  if (capacity > queue_events_max)
    throw error(
        formatted("a completion queue for {} events; {} are the most", capacity, queue_events_max));
  return std::bit_ceil(capacity < 2 ? 2 : capacity);
}
completion_queue::completion_queue(std::size_t capacity)
    : state_(make_room<state>(places_for(capacity), capacity, "completion queue")) {}
completion_queue::~completion_queue() = default;
bool completion_queue::try_pop(event& to) noexcept {
  return state_->try_pop(to);
}
std::size_t completion_queue::capacity() const noexcept {
  return state_->capacity();
}
bool completion_queue::reserve() noexcept {
  return state_->reserve();
}
void completion_queue::cancel() noexcept {
  state_->cancel();
}
void completion_queue::signal(const event& happened) noexcept {
  state_->push(happened);
}

}  // namespace weft::comm
