// Stage points: the borders that a message crosses on its way through the layers, for
// `weft-breakdown measure`. pass() is nothing in the library. The few sources of the message path are
// compiled a second time, with WEFT_STAGES, for a program of their own (tools/weft-breakdown/pair.hpp):
// there (armed_stages.hpp) a thread that has armed two points gets the time between them, and looks at no other. So the
// usual path has no branch for them, and one stage is measured without the probes of the others.
//
// The thread that carries the message calls it; a probe belongs to its thread.
#pragma once
#include <cstdint>

namespace weft::stages {

enum class point : std::uint8_t {
  none,
  entry,      // The program calls.
  reserved,   // The protocol is chosen, and there is a place for the message.
  packed,     // Header and data are in it, or are handed to the transport.
  published,  // The receiver may see it.
  left,       // The call returns.
  seen,       // The receiver has found something.
  matched,    // It belongs to this receive, or to this handler.
  copied,     // The data are where they are wanted.
  told,       // The one that waits has been told.
  taken,      // The program has it.
};

}  // namespace weft::stages

#ifdef WEFT_STAGES
#include "profile/armed_stages.hpp"
#else
namespace weft::stages {
[[gnu::always_inline]] inline void pass(point) noexcept {}
}  // namespace weft::stages
#endif
