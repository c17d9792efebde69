// The collectives without types, as the faces call them. `name` is what errors and reports call
// them. Each is called by every rank of the communicator, on its home worker.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "collective/exchange.hpp"
#include "rank/communicator_state.hpp"
#include "weft/communicator.hpp"
#include "weft/reduction.hpp"

namespace weft::detail {

// Returns when all have called.
void meet(communicator_state& c, int rank, const char* name);

void broadcast(communicator_state& c, int rank, std::span<std::byte> data, int root,
               const char* name);
void broadcast(communicator_state& c, int rank, const segments& data, int root, const char* name);

// To all when `root` is no_root. `in` may be `out`.
void reduce(communicator_state& c, int rank, const void* in, void* out, const reduction& how,
            int root, const char* name);
// Exclusive: rank 0 keeps what `out` holds.
void scan(communicator_state& c, int rank, const void* in, void* out, const reduction& how,
          bool inclusive, const char* name);
// Rank r gets elements [starts[r], starts[r + 1]) of the result, which are how.count; without
// `starts` as many as all others.
void reduce_scatter(communicator_state& c, int rank, const void* in, void* out,
                    const reduction& how, std::span<const std::size_t> starts, const char* name);

// `body` on a fiber of its own. The communicator is for reports.
[[nodiscard]] request start_activity(const std::shared_ptr<communicator_state>& state,
                                     std::function<void()> body);
// `body` on a fiber of its own, when the collectives that this rank has called before have ended.
// It calls exactly one collective of the communicator.
[[nodiscard]] request start_collective(const std::shared_ptr<communicator_state>& state, int rank,
                                       std::function<void()> body);

}  // namespace weft::detail
