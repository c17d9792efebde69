// What the kernel knows of the connections that libfabric has made. They are its own, so that they are
// found among all descriptors of the process.
#pragma once
#include <cstddef>
#include <span>

namespace weft {

// Whether a connection of this process to the host of `address`, a socket address, has sent the same
// again and again without any answer of that host's kernel: it cannot be reached. A process that
// computes and reads nothing is answered for by its kernel. Not of connections that are still being made:
// these have no peer yet that could be asked for.
[[nodiscard]] bool is_unanswered(std::span<const std::byte> address) noexcept;

// The same of one connection, also while it is made.
[[nodiscard]] bool is_unanswered(int socket) noexcept;

// Connections that were made to `own`, the socket address at which this endpoint listens, by whomever, and
// those that were made to one of `peers`.
struct connection_count {
  std::size_t incoming = 0;
  std::size_t outgoing = 0;
};
[[nodiscard]] connection_count count_connections(
    std::span<const std::byte> own, std::span<const std::span<const std::byte>> peers) noexcept;

}  // namespace weft
