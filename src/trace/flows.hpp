// Which receive of a timeline belongs to which send: both sides count the messages of each name, and make
// the same number of name and count. Called by whoever runs code of the rank's home worker, while tracing().
#pragma once
#include <cstdint>

#include "trace/names.hpp"

namespace weft {

// The argument of a message's event has the partner, and above it the flow.
inline constexpr int flow_partner_bits = 21;
[[nodiscard]] constexpr std::uint64_t flow_in(std::int64_t argument) noexcept {
  return static_cast<std::uint64_t>(argument) >> flow_partner_bits;
}
[[nodiscard]] constexpr std::int64_t partner_in(std::int64_t argument) noexcept {
  constexpr int above = 64 - flow_partner_bits;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(argument) << above) >> above;
}

// Whether a timeline is recorded, not only accounts.
[[nodiscard]] bool is_timeline_on() noexcept;

// The argument of a message's event: its partner, and what tells the message from others; 0: not known.
[[nodiscard]] constexpr std::int64_t message_argument(int partner, std::uint64_t key) noexcept {
  return static_cast<std::int64_t>(key >> flow_partner_bits << flow_partner_bits |
                                   std::uint64_t{static_cast<std::uint32_t>(partner)} %
                                       (1U << flow_partner_bits));
}
// The same of a message of `rank` that is in no account, where its number is known. Without a flow when no timeline is
// recorded, and when the rank has seen too many names. `receive` tells a receive from others that are under way.
[[nodiscard]] std::int64_t trace_sent(int rank, int partner, const message_name& name);
[[nodiscard]] std::int64_t trace_received(int rank, int partner, const message_name& name,
                                          const void* receive = nullptr);
// A receive has matched a message that may end behind later ones: it has its number from now on.
void trace_matched(int rank, const message_name& name, const void* receive);

// The number that the next message of this name has for its receiver `rank`, which is in no account; 0: not known.
[[nodiscard]] std::uint64_t next_received_by(int rank, std::uint64_t name);

// All count from 1 again. Called while no worker runs.
void forget_flows() noexcept;

}  // namespace weft
