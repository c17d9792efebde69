#include "base/process_life.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "base/kept_errno.hpp"

namespace weft {
namespace {

// What /proc/PID/stat says.
struct process_record {
  bool is_known = false;
  char state = 0;
  std::uint64_t threads = 0;
  std::uint64_t start = 0;
};

// The fields of a record by their numbers in proc(5).
constexpr int state_field = 3, threads_field = 20, start_field = 22;

process_record record_of(pid_t process) noexcept {
  process_record found;
  std::array<char, 32> path;
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", static_cast<int>(process));
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return found;
  std::array<char, 1024> text;
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  if (size <= 0) return found;
  // Blanks separate the fields. The second one, a name in parentheses, may contain any.
  const std::string_view line(text.data(), static_cast<std::size_t>(size));
  std::size_t at = line.rfind(')');
  if (at == std::string_view::npos || at + 2 >= line.size()) return found;
  at += 2;
  const auto number_at = [&](std::size_t from, std::uint64_t& number) {
    return std::from_chars(line.data() + from, line.data() + line.size(), number).ec == std::errc();
  };
  found.state = line[at];
  bool are_numbers = true;
  for (int field = state_field; field < start_field;) {
    at = line.find(' ', at);
    if (at == std::string_view::npos) return found;
    ++at;
    if (++field == threads_field) are_numbers &= number_at(at, found.threads);
  }
  found.is_known = number_at(at, found.start) && are_numbers;
  return found;
}

}  // namespace

std::uint64_t start_of_process(pid_t process) noexcept {
  const kept_errno kept;
  const process_record found = record_of(process);
  return found.is_known ? found.start : 0;
}

bool process_has_ended(pid_t process, std::uint64_t start) noexcept {
  const kept_errno kept;
  const process_record found = record_of(process);
  // Without the record, nobody having this number is evidence, and takes no descriptor.
  if (!found.is_known) return ::kill(process, 0) != 0 && errno == ESRCH;
  if (start != 0 && found.start != start) return true;
  // The first thread may have ended before the others.
  return (found.state == 'Z' || found.state == 'X') && found.threads <= 1;
}

}  // namespace weft
