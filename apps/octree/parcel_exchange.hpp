// Localities as processes that call each other: each node is a coroutine, which waits for the futures of what arrives;
// each message is a parcel that sets one.
#pragma once
#include <memory>
#include <weft/weft.hpp>

#include "octree/exchange.hpp"

namespace octree {

// Collective over the first ranks of all processes; one at a time in each. It ends when all have ended with it.
[[nodiscard]] std::unique_ptr<exchange> make_parcel_exchange(const weft::communicator& processes);

}  // namespace octree
