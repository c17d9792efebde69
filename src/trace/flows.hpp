// Which receive of a timeline belongs to which send: both sides count the messages of each name, and make
// the same number of name and count. Called by the home worker of the rank concerned, while tracing().
#pragma once
#include <cstdint>

#include "trace/accounts.hpp"

namespace weft {

// Whether a timeline is recorded, not only accounts.
[[nodiscard]] bool is_timeline_on() noexcept;

// The argument of a send's or receive's event: its partner, and the flow. Without a flow when no timeline is
// recorded, and when a thread has seen too many names.
[[nodiscard]] std::int64_t trace_message(int partner, const accounts::message_name& name,
                                         bool is_send) noexcept;

}  // namespace weft
