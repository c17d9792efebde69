#include "base/kernel.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <ctime>

namespace weft {

void give_core_up() noexcept {
  ::syscall(SYS_sched_yield);
}

std::uint64_t forced_switches_of_this_thread() noexcept {
  rusage used{};
  ::getrusage(RUSAGE_THREAD, &used);
  return static_cast<std::uint64_t>(used.ru_nivcsw);
}

void sleep_in_kernel(std::chrono::nanoseconds duration) noexcept {
  const auto whole = std::chrono::floor<std::chrono::seconds>(duration);
  const timespec moment{static_cast<time_t>(whole.count()),
                        static_cast<long>((duration - whole).count())};
  ::syscall(SYS_nanosleep, &moment, nullptr);
}

}  // namespace weft
