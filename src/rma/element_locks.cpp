#include "rma/element_locks.hpp"

#include <chrono>

#include "base/kernel.hpp"
#include "base/pause.hpp"

namespace weft::rma {

bool element_locks::rest(unsigned round) noexcept {
  constexpr unsigned pausing_rounds = 8, yielding_rounds = 32;
  if (round < pausing_rounds) {
    for (unsigned i = 0; i < 1u << round; ++i) pause_processor();
    return false;
  }
  if (round < yielding_rounds) {
    give_core_up();
    return false;
  }
  sleep_in_kernel(std::chrono::microseconds(50));
  return true;
}

}  // namespace weft::rma
