// Localities as ranks: each node's messages are sends and receives of its rank, its stages chunks of loops, which ranks
// that wait take from those that have more to do.
#pragma once
#include <memory>
#include <weft/weft.hpp>

#include "octree/exchange.hpp"

namespace octree {

// Called by every rank; for use by this rank.
[[nodiscard]] std::unique_ptr<exchange> make_rank_exchange(const weft::communicator& ranks);

}  // namespace octree
