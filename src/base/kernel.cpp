#include "base/kernel.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace weft {

void give_core_up() noexcept {
  ::syscall(SYS_sched_yield);
}

void sleep_in_kernel(std::chrono::nanoseconds duration) noexcept {
  const auto whole = std::chrono::floor<std::chrono::seconds>(duration);
  const timespec moment{static_cast<time_t>(whole.count()),
                        static_cast<long>((duration - whole).count())};
  ::syscall(SYS_nanosleep, &moment, nullptr);
}

}  // namespace weft
