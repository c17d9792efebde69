#include "base/sleeping_threads.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <ranges>
#include <span>
#include <string>
#include <system_error>

namespace weft {
namespace {

enum class limit_of_time { pointer, number };  // None is a null pointer, or a negative int.
// System calls in which a thread sleeps until something happens, and which of their arguments limits for how long.
struct sleeping_call {
  long number;
  std::size_t limit_at;
  limit_of_time limit = limit_of_time::pointer;
};
constexpr sleeping_call futex_calls[] = {
    {SYS_futex, 3},
#ifdef SYS_futex_waitv
    {SYS_futex_waitv, 3},
#endif
};
constexpr sleeping_call polling_calls[] = {
#ifdef SYS_poll
    {SYS_poll, 2, limit_of_time::number},
#endif
#ifdef SYS_select
    {SYS_select, 4},
#endif
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, 3, limit_of_time::number},
#endif
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, 3},
#endif
    {SYS_ppoll, 2},
    {SYS_pselect6, 4},
    {SYS_epoll_pwait, 3, limit_of_time::number},
};

// The number of the call and its arguments; "running" of a thread that is in none.
struct system_call {
  long number = -1;
  std::array<std::uint64_t, 6> arguments{};

  explicit system_call(const std::filesystem::path& thread) {
    std::ifstream from(thread / "syscall");
    if (!(from >> number)) number = -1;
    from >> std::hex;
    for (std::uint64_t& argument : arguments) from >> argument;
  }
  [[nodiscard]] bool is_endless(std::span<const sleeping_call> calls) const noexcept {
    return std::ranges::any_of(calls, [&](const sleeping_call& call) {
      if (call.number != number) return false;
      const std::uint64_t limit = arguments[call.limit_at];
      return call.limit == limit_of_time::pointer ? limit == 0 : static_cast<int>(limit) < 0;
    });
  }
};

std::uint64_t switches_of(const std::filesystem::path& thread) {
  std::ifstream from(thread / "status");
  std::uint64_t sum = 0, count = 0;
  for (std::string line; std::getline(from, line);) {
    const std::size_t colon = line.find("ctxt_switches:");
    if (colon == std::string::npos) continue;
    const std::size_t digits = line.find_first_of("0123456789", colon);
    if (digits == std::string::npos) continue;
    std::from_chars(line.data() + digits, line.data() + line.size(), count);
    sum += count;
  }
  return sum;
}

thread_standing standing_in(const std::filesystem::path& thread) {
  const std::uint64_t switches = switches_of(thread);
  if (switches == 0) return {};  // Of a thread that has begun there is one at least.
  const system_call call(thread);
  return {switches, call.is_endless(futex_calls), call.is_endless(polling_calls), call.number >= 0};
}

}  // namespace

thread_standing standing_thread(int number) {
  return standing_in("/proc/self/task/" + std::to_string(number));
}

std::map<int, thread_standing> standing_threads() {
  std::map<int, thread_standing> all;
  std::error_code failed;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator at("/proc/self/task", failed); at != end;
       at.increment(failed)) {
    const std::filesystem::path& thread = at->path();
    const std::string name = thread.filename();
    int number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    all[number] = standing_in(thread);
  }
  return failed ? std::map<int, thread_standing>{} : all;
}

}  // namespace weft
