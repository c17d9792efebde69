// What the kernel knows of a peer that is silent.
#pragma once
#include <cstddef>
#include <span>

namespace weft {

// Whether a connection of this process to the host of `address`, a socket address, has sent the same
// again and again without any answer of that host's kernel: it cannot be reached. A process that
// computes and reads nothing is answered for by its kernel.
[[nodiscard]] bool is_unanswered(std::span<const std::byte> address) noexcept;

}  // namespace weft
