#include "transport/shm/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace weft {
namespace {

using system_copy = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                                unsigned long);

bool copy_all(system_copy copy, pid_t pid, std::byte* local, std::uint64_t remote,
              std::size_t size) noexcept {
  while (size != 0) {
    const iovec here{local, size};
    const iovec there{reinterpret_cast<void*>(remote), size};
    const ssize_t copied = copy(pid, &here, 1, &there, 1, 0);
    if (copied <= 0) return false;
    local += copied;
    remote += static_cast<std::uint64_t>(copied);
    size -= static_cast<std::size_t>(copied);
  }
  return true;
}

}  // namespace

std::uint64_t process_start(pid_t pid) noexcept {
  std::array<char, 64> path;
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", static_cast<int>(pid));
  const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 1024> text;
  const ssize_t size = ::read(file, text.data(), text.size() - 1);
  close(file);
  if (size <= 0) return 0;
  text[static_cast<std::size_t>(size)] = '\0';
  // Behind the name, which may hold blanks and parentheses: the state is field 3, the start 22.
  const char* at = std::strrchr(text.data(), ')');
  if (at == nullptr || at[1] == '\0' || std::strchr("ZX", at[2]) != nullptr) return 0;
  for (int field = 2; field < 22; ++field)
    if ((at = std::strchr(at + 1, ' ')) == nullptr) return 0;
  return std::strtoull(at, nullptr, 10);
}

std::shared_ptr<node_process> node_process::find(pid_t pid, std::uint64_t started) {
  static std::mutex lock;
  static std::map<std::pair<pid_t, std::uint64_t>, std::weak_ptr<node_process>> known;
  const std::lock_guard guard(lock);
  auto& place = known[{pid, started}];
  if (auto process = place.lock()) return process;
  // The descriptor first: if the process that it names began when it should, it is the right one.
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  auto process = std::make_shared<node_process>(pid, started, descriptor);
  if (process_start(pid) != started) return nullptr;
  place = process;
  return process;
}

node_process::~node_process() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool node_process::is_alive() const noexcept {
  if (descriptor_ < 0) return process_start(pid_) == started_;
  pollfd look{descriptor_, POLLIN, 0};
  return ::poll(&look, 1, 0) == 0;
}

// Its number may belong to somebody else by now. A process that lives after the read lived during
// it; of a write, which must not hit a stranger, all that can be done is to look right before.
bool node_process::read(std::span<std::byte> to, std::uint64_t from) const noexcept {
  return copy_all(process_vm_readv, pid_, to.data(), from, to.size()) && is_alive();
}
bool node_process::write(std::span<const std::byte> from, std::uint64_t to) const noexcept {
  // The kernel only reads what it writes elsewhere.
  return is_alive() &&
         copy_all(process_vm_writev, pid_, const_cast<std::byte*>(from.data()), to, from.size());
}

}  // namespace weft
