#include "rank/source_validation.hpp"

#include <utility>

#include "collective/subgroups.hpp"
#include "rank/messages.hpp"
#include "runtime/network.hpp"

namespace weft::detail {

void known_sources::know(const communicator_state& c) noexcept {
  entries_[place_of(c.context)] = {c.context, static_cast<std::uint32_t>(c.size()), c.processes};
}

void check_early_messages(rank_state& me, communicator_state& c) {
  if (!c.spans_processes()) return;
  // Relaxed: set before this rank got the communicator, or its mail comes later.
  if (c.cut_off.load(std::memory_order_relaxed)) end_control_messages(*me.home, c);
  for (unexpected_message* m = me.lists.oldest(); m != nullptr;) {
    unexpected_message* const old = std::exchange(m, match_lists::after(*m));
    if (!old->early || base_context(old->from.context) != c.context) continue;
    const early_sender sender = std::exchange(old->early, {});
    if (c.process_of(old->from.source) == sender.process) continue;
    me.lists.remove(*old);
    drop_unexpected(me, old);
    refuse(*me.home, {sender.process, sender.device}, foreign_source);
  }
  set_congestion(me);
}

void refuse(worker& here, const comm::address& sender, const char* why) noexcept {
  comm::event happened;
  happened.process = sender.process;
  happened.device = static_cast<std::uint16_t>(sender.device);
  network::of(here).device().refuse(happened, why);
}

}  // namespace weft::detail
