// Another process of the node: whether it lives, and copies to and from its memory.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace weft {

class node_process {
 public:
  // One object per process, shared by all endpoints here. Null when it has ended (process_has_ended()).
  [[nodiscard]] static std::shared_ptr<node_process> find(pid_t pid, std::uint64_t started);

  node_process(pid_t pid, std::uint64_t started, int descriptor) noexcept
      : pid_(pid), started_(started), descriptor_(descriptor) {}
  node_process(const node_process&) = delete;
  node_process& operator=(const node_process&) = delete;
  ~node_process();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  // False: it has certainly ended. A system call, and some more for one that has. Once false it stays false, even when the
  // kernel uses the number again.
  [[nodiscard]] bool is_alive() const noexcept;

  // Copy all bytes; false when an address is not mapped, the process is dead or the kernel forbids it.
  [[nodiscard]] bool read(std::span<std::byte> to, std::uint64_t from) const noexcept;
  [[nodiscard]] bool write(std::span<const std::byte> from, std::uint64_t to) const noexcept;

 private:
  const pid_t pid_;
  const std::uint64_t started_;  // start_of_process().
  const int descriptor_;         // A pidfd, or -1 where the kernel gives none.
};

}  // namespace weft
