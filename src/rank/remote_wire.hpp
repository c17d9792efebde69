// What the files of remote_messaging share: how an envelope travels, and which messages are refused.
#pragma once
#include <cstddef>
#include <cstdint>

#include "rank/remote.hpp"

namespace weft::detail {

// Pack and unpack the words of an active message that carry an envelope.
[[nodiscard]] inline std::uint64_t two(std::uint32_t high, std::uint32_t low) noexcept {
  return std::uint64_t{high} << 32 | low;
}
[[nodiscard]] inline std::uint32_t high_of(std::uint64_t both) noexcept {
  return static_cast<std::uint32_t>(both >> 32);
}
[[nodiscard]] inline std::uint32_t low_of(std::uint64_t both) noexcept {
  return static_cast<std::uint32_t>(both);
}
[[nodiscard]] inline envelope envelope_of(const comm::event& e) noexcept {
  return {high_of(e.tag), static_cast<std::int32_t>(high_of(e.head[0])),
          static_cast<std::int32_t>(low_of(e.tag))};
}
[[nodiscard]] inline early_sender early_sender_of(const comm::event& e) noexcept {
  return {e.device, static_cast<std::uint16_t>(e.process)};
}

// Refuses a message that no sound peer sends.
[[gnu::cold]] inline void refuse(worker& here, const comm::event& happened,
                                 const char* why) noexcept {
  network::of(here).device().refuse(happened, why);
}

// Called by the core on the thread of the worker whose device the message came to; `self` handles it.
template <class Self, void (Self::*Handle)(worker&, const comm::event&)>
void call_handler(void* self, const comm::event& happened) noexcept {
  // Null after the workers have ended.
  worker* const current = worker::current();
  if (current == nullptr) return;
  worker& here = *current;
  network::of(here).count_received(happened.process);
  if (here.owner().stopping()) [[unlikely]]
    return;
  (static_cast<Self*>(self)->*Handle)(here, happened);
}

// Whether the envelope's source is a rank of the process that sent the message. A forged message has been refused.
inline origin remote_messaging::origin_of(worker& here, const rank_state& to, const envelope& from,
                                          const comm::event& happened) {
  known_sources& known = known_sources_[static_cast<std::size_t>(here.index())];
  if (known.are_right(from, happened.process)) [[likely]]
    return origin::right;
  return find_origin(known, here, to, from, happened);
}

// Null when the message is for nobody here, and has been refused.
inline rank_state* remote_messaging::addressee(worker& here, const comm::event& happened) noexcept {
  const std::uint32_t number = low_of(happened.head[0]);
  auto* const to =
      number < job_.places.size() ? static_cast<rank_state*>(job_.places[number].rank) : nullptr;
  if (to != nullptr && to->home == &here) [[likely]]
    return to;
  refuse(here, happened, "it is for no rank of this worker");
  return nullptr;
}

// For a message that must have `bytes` bytes.
inline rank_state* remote_messaging::addressee(worker& here, const comm::event& happened,
                                               std::size_t bytes) noexcept {
  rank_state* const to = addressee(here, happened);
  if (to == nullptr || happened.size == bytes) [[likely]]
    return to;
  refuse(here, happened, "a message of ranks of the wrong length");
  return nullptr;
}

// Whether rank number `rank` is in the process that sent the message.
inline bool remote_messaging::is_of(std::uint64_t rank,
                                    const comm::event& happened) const noexcept {
  return rank < job_.places.size() && job_.places[rank].process == happened.process;
}

}  // namespace weft::detail
