// What the files of remote_messaging share: how an envelope travels, and whose source is believed.
#pragma once
#include <cstddef>
#include <cstdint>

#include "rank/remote.hpp"
#include "remote/words.hpp"

namespace weft::detail {

using remote::high_of;
using remote::low_of;
using remote::two;

// From the words of an active message that carry it.
[[nodiscard]] inline envelope envelope_of(const comm::event& e) noexcept {
  return {high_of(e.tag), static_cast<std::int32_t>(high_of(e.head[0])),
          static_cast<std::int32_t>(low_of(e.tag))};
}
[[nodiscard]] inline early_sender early_sender_of(const comm::event& e) noexcept {
  return {e.device, static_cast<std::uint16_t>(e.process)};
}

// Whether the envelope's source is a rank of the process that sent the message. A forged message has been refused.
inline origin remote_messaging::origin_of(worker& here, const rank_state& to, const envelope& from,
                                          const comm::event& happened) {
  known_sources& known = known_sources_[static_cast<std::size_t>(here.index())];
  if (known.are_right(from, happened.process)) [[likely]]
    return origin::right;
  return find_origin(known, here, to, from, happened);
}

}  // namespace weft::detail
