// What a program's environment says to OpenSHMEM: SHMEM_SYMMETRIC_SIZE, SHMEM_INFO, SHMEM_VERSION, SHMEM_DEBUG, each
// also by its old name with SMA_.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace weft::shmem {

struct settings {
  std::optional<std::size_t> symmetric_bytes;  // Nothing: the heap grows.
  std::size_t am_queue_bytes;                  // Unread active messages of one PE.
  std::size_t am_payload_bytes;
  bool info = false;
  bool version = false;
  bool debug = false;
};
// Throws weft::error, naming the variable, its value and what it may be.
[[nodiscard]] settings read_settings();
// What SHMEM_INFO prints, and oshmem_info.
[[nodiscard]] std::string settings_text();
// "512M", "1.5g", "4096".
[[nodiscard]] std::optional<std::size_t> parse_bytes(const std::string& text);

}  // namespace weft::shmem
