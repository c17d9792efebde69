#include "base/sleeping_threads.hpp"

#include <sys/syscall.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace weft {
namespace {

#ifdef SYS_futex_waitv
constexpr std::array futex_calls{SYS_futex, SYS_futex_waitv};
#else
constexpr std::array futex_calls{SYS_futex};
#endif

// The number of the call and its arguments; "running" of a thread that is in none.
bool awaits_memory(const std::filesystem::path& thread) {
  std::ifstream from(thread / "syscall");
  long call = -1;
  std::array<std::string, 4> arguments;
  if (!(from >> call)) return false;
  for (std::string& argument : arguments) from >> argument;
  const std::string& limit_of_time = arguments[3];  // In both calls.
  for (const long futex : futex_calls)
    if (call == futex) return limit_of_time == "0x0";
  return false;
}

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

}  // namespace

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
    const std::uint64_t switches =
        switches_of(thread);  // Of a thread that has begun there is one at least.
    all[number] = {switches, switches != 0 && awaits_memory(thread)};
  }
  return failed ? std::map<int, thread_standing>{} : all;
}

}  // namespace weft
