// What parcels may take of a process, so that none floods another.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::detail {

// Of the calls and posts of one locality, bytes that another has got and not begun to act upon: beyond, its senders wait.
inline constexpr std::uint64_t parcel_bytes_under_way_max = std::uint64_t{8} << 20;
// What a parcel counts beside its bytes: about what the task takes that it becomes.
inline constexpr std::uint64_t parcel_overhead_bytes = 128;
// So many bytes that may be sent again are told at once; fewer, with the next parcel that goes there.
inline constexpr std::uint64_t parcel_credit_told_bytes = parcel_bytes_under_way_max / 4;
// Messages of parcels that are being put together or sent, of ports that do not send at once. As HPX has it.
inline constexpr std::size_t parcel_connections_max = 8192;
// Queues of one destination, where there are so many workers.
inline constexpr int parcel_queue_sides_max = 16;

}  // namespace weft::detail
