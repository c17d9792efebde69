// What parcels may take of a process, so that none floods another.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::detail {

// How many bytes of its calls and posts a locality may have got from another and not begun. Beyond, the senders wait.
inline constexpr std::uint64_t parcel_bytes_under_way_max = std::uint64_t{8} << 20;
// What a parcel counts beside its bytes: about what the task takes that it becomes.
inline constexpr std::uint64_t parcel_overhead_bytes = 128;
// When so many bytes may be sent again, this is told at once; fewer are told with the next parcel that goes there.
inline constexpr std::uint64_t parcel_credit_told_bytes = parcel_bytes_under_way_max / 4;
// Messages of parcels that are being put together or sent, of ports that do not send at once. As HPX has it.
inline constexpr std::size_t parcel_connections_max = 8192;
// Actions of a program: their number is half of the word that a parcel has for one.
inline constexpr std::size_t parcel_actions_max = std::size_t{1} << 16;
// What of an exception's text, and of the name of its type, travels.
inline constexpr std::size_t parcel_failure_text_max = std::size_t{64} << 20;
// Queues of one destination, where there are so many workers.
inline constexpr int parcel_queue_sides_max = 16;

}  // namespace weft::detail
