#include "transport/shm/process.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "base/kept_errno.hpp"
#include "base/process_life.hpp"

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

std::shared_ptr<node_process> node_process::find(pid_t pid, std::uint64_t started) {
  static std::mutex lock;
  static std::map<std::pair<pid_t, std::uint64_t>, std::weak_ptr<node_process>> known;
  const std::lock_guard guard(lock);
  auto& place = known[{pid, started}];
  if (auto process = place.lock()) return process;
  // The descriptor first: if the process that it names is the right one then, it stays so.
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  auto process = std::make_shared<node_process>(pid, started, descriptor);
  if (process_has_ended(pid, started)) return nullptr;
  place = process;
  return process;
}

node_process::~node_process() {
  if (descriptor_ >= 0) close(descriptor_);
}

// The program may have closed the descriptor, and its number may be another file's: what it says of a death has to be
// confirmed.
bool node_process::is_alive() const noexcept {
  const kept_errno kept;
  pollfd look{descriptor_, POLLIN, 0};
  if (descriptor_ >= 0 && ::poll(&look, 1, 0) == 0) return true;
  return !process_has_ended(pid_, started_);
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
