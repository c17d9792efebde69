#include "profile/free_cores.hpp"

#include "base/clock.hpp"
#include "sync/switch_history.hpp"

namespace weft::profile {
namespace {

constinit switch_history<> free_here;

}  // namespace

void begin_free_core() noexcept {
  free_here.switch_on(ticks());
}

void end_free_core() noexcept {
  free_here.switch_off(ticks());
}

std::uint64_t free_between(std::uint64_t from, std::uint64_t until) noexcept {
  return free_here.on_between(from, until);
}

void forget_free_cores() noexcept {
  free_here.forget();
}

}  // namespace weft::profile
