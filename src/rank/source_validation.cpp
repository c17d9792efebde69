#include "rank/source_validation.hpp"

#include "rank/communicator_state.hpp"
#include "runtime/network.hpp"

namespace weft::detail {

void known_sources::know(const communicator_state& c) noexcept {
  entries_[place_of(c.context)] = {c.context, static_cast<std::uint32_t>(c.size()), c.processes};
}

void refuse(worker& here, const comm::address& sender, const char* why) noexcept {
  comm::event happened;
  happened.process = sender.process;
  happened.device = static_cast<std::uint16_t>(sender.device);
  network::of(here).device().refuse(happened, why);
}

}  // namespace weft::detail
