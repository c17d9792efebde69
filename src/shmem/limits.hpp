// What OpenSHMEM bounds. As in base/limits.hpp: each limit has a name.
#pragma once
#include <cstddef>

namespace weft {

// OpenSHMEM: bytes of unread active messages of one PE, at which senders wait, unless a setting says otherwise;
// what one message may hold at most, whatever the setting; and in what pieces the queue grows.
inline constexpr std::size_t am_queue_bytes_default = std::size_t{256} << 20;
inline constexpr std::size_t am_payload_bytes_max = std::size_t{16} << 20;
inline constexpr std::size_t am_chunk_bytes = 64 * 1024;
// What a session gathers for one PE before it goes, and the longest message that is gathered.
inline constexpr std::size_t am_bundle_bytes = 8192;
inline constexpr std::size_t am_gathered_bytes_max = 1024;
// Handlers of active messages that a PE may have set, and contexts and teams that it may have.
inline constexpr std::size_t am_handlers_max = std::size_t{1} << 16;
inline constexpr std::size_t shmem_handles_max = std::size_t{1} << 16;
// All symmetric heaps of a process have so much address space when SHMEM_SYMMETRIC_SIZE is unset.
inline constexpr std::size_t symmetric_reserve_bytes_max = std::size_t{1} << 45;
// Each of them has so much where the system has no room for that.
inline constexpr std::size_t symmetric_bytes_least = std::size_t{16} << 20;
// Looks of a PE at its memory in a row, before others of its worker run.
inline constexpr int looks_in_a_row_max = 64;

}  // namespace weft
