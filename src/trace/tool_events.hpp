// What a tool hears of waits and messages while the program runs, beside the trace. While nobody listens a trace point costs what
// it does without: all of it stands behind tracing().
#pragma once
#include <cstdint>

#include "trace/trace.hpp"

namespace weft {

enum class told_kind : std::uint8_t { message_unexpected, wait_begun, wait_ended };
struct told_event {
  told_kind what;
  int rank;                    // Its number in the job.
  trace_kind wait{};           // Of a wait.
  int peer = -1;               // The other rank; of a message its sender, in its communicator.
  int tag = -1;                // Of a message.
  const char* call = nullptr;  // Of a wait that begins.
};
using tool_listener = void(const told_event&) noexcept;

// Sets who hears; null: nobody. Called by any thread, also while workers run.
void listen_as_tool(tool_listener* to_tell) noexcept;
// Called behind tracing(), by the worker's thread. A wait is told by the fiber that waits.
void tell_tool(const told_event& what) noexcept;

}  // namespace weft
