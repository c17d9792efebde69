#include "weft/tasks/latch.hpp"

#include <new>

#include "base/format.hpp"
#include "sync/published.hpp"

namespace weft {
namespace {

[[nodiscard]] join_count<>& count_in(std::byte* room) noexcept {
  return *std::launder(reinterpret_cast<join_count<>*>(room));
}

}  // namespace

latch::latch(std::ptrdiff_t expected, const std::source_location& at)
    : state_(detail::make_pooled<detail::future_state<void>>(1u, at)) {
  static_assert(sizeof(join_count<>) == sizeof left_);
  if (expected < 0) throw error(formatted("a latch of {}: the count is 0 or more", expected));
  state_->set_giver("the count_down of the latch");
  (::new (left_) join_count<>)->expect(static_cast<std::uint64_t>(expected));
  if (expected == 0) state_->set();
}

latch::~latch() = default;

void latch::count_down(std::ptrdiff_t update) {
  // The latch may be gone as soon as the state is set: who waits may end it. The state stays.
  detail::future_state<void>* const state = state_.get();
  for (std::ptrdiff_t i = 0; i < update; ++i) {
    if (state->is_ready())
      throw error(formatted("latch::count_down({}) of a count of {}: it goes to 0 and no further",
                            update, i));
    state->add_reference();
    if (count_in(left_).arrive() == 0) state->set();
    state->drop_reference();
  }
}

}  // namespace weft
