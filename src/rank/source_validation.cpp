#include "rank/source_validation.hpp"

#include "rank/communicator_state.hpp"

namespace weft::detail {

void known_sources::know(const communicator_state& c) noexcept {
  entries_[place_of(c.context)] = {c.context, static_cast<std::uint32_t>(c.size()), c.processes};
}

}  // namespace weft::detail
