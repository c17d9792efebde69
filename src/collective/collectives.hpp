// The collectives without types, as the faces call them. Every rank of the communicator calls each, on its home worker.
// `name` is the call's name in errors and reports.
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

// Returns when all ranks have called it.
void meet(communicator_state& c, int rank, const char* name);

void broadcast(communicator_state& c, int rank, std::span<std::byte> data, int root,
               const char* name);
void broadcast(communicator_state& c, int rank, const segments& data, int root, const char* name);

// The result goes to `root`, or to all when that is no_root. `in` may be `out`.
void reduce(communicator_state& c, int rank, const void* in, void* out, const reduction& how,
            int root, const char* name);
// Not inclusive: `out` of rank 0 is left as it is.
void scan(communicator_state& c, int rank, const void* in, void* out, const reduction& how,
          bool inclusive, const char* name);
// Rank r gets elements [starts[r], starts[r + 1]) of the result, how.count of them. Without `starts` all ranks get
// how.count.
void reduce_scatter(communicator_state& c, int rank, const void* in, void* out,
                    const reduction& how, std::span<const std::size_t> starts, const char* name);

// Runs `body` on a fiber of its own. The communicator is for reports.
[[nodiscard]] request start_activity(const shared_handle<communicator_state>& state,
                                     std::function<void()> body);
// Runs `body` on a fiber of its own when the collectives that this rank has called before have ended. `body` calls
// exactly one collective of the communicator.
[[nodiscard]] request start_collective(const shared_handle<communicator_state>& state, int rank,
                                       std::function<void()> body);

}  // namespace weft::detail
