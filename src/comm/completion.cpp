#include "weft/comm/completion.hpp"

#include <bit>

#include "base/format.hpp"
#include "comm/event_slots.hpp"
#include "weft/error.hpp"

namespace weft::comm {

struct synchronizer::state : event_group<event> {
  using event_group::event_group;
};
synchronizer::synchronizer(std::uint32_t threshold) : state_(std::make_unique<state>(threshold)) {}
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
  if (capacity > std::size_t{1} << 32)
    throw error(formatted("a completion queue for {} events; 2^32 are the most", capacity));
  return std::bit_ceil(capacity < 2 ? 2 : capacity);
}
completion_queue::completion_queue(std::size_t capacity)
    : state_(std::make_unique<state>(places_for(capacity))) {}
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
