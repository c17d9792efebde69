// New communicators as the faces make them; `name` is what errors and reports call the call.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collective/named_messages.hpp"
#include "rank/communicator_state.hpp"
#include "weft/communicator.hpp"

namespace weft::detail {

// Collective over `c`.
[[nodiscard]] std::optional<communicator> split(communicator_state& c, int rank, int color, int key,
                                                const char* name);

// Collective over `c`, too. Equal lists, each without repeats, make one communicator; lists that contradict each
// other make an error on all ranks.
[[nodiscard]] std::optional<communicator> create(communicator_state& c, int rank,
                                                 std::span<const int> ranks, const char* name);

// Called only by the ranks of `c` that are listed, with equal lists and tags; they may call at any
// time, and several such calls may be under way. The new ranks are the places in the list.
[[nodiscard]] communicator create_group(communicator_state& c, int rank, std::span<const int> ranks,
                                        int tag, const char* name);

// The same out of nothing: called only by the ranks whose numbers in the world `numbers` lists, with equal lists and names.
// Calls with different names may be under way at once.
[[nodiscard]] communicator create_named(rank_state& me, named_inbox& inbox,
                                        const std::vector<int>& numbers, std::string_view name,
                                        const char* call);

// Called by all that `ranks`, numbers in the world, names, once each, with a context that one of them
// took from the job and told the others. `key` tells calls of two communicators apart that have one context.
[[nodiscard]] communicator join(messaging& of, rank_state& me, const std::vector<int>& ranks,
                                std::uint32_t context, std::uint32_t key);
[[nodiscard]] inline communicator join(messaging& of, rank_state& me, const std::vector<int>& ranks,
                                       std::uint32_t context) {
  return join(of, me, ranks, context, context);
}

// What came for the communicator before this process had made it, and so was kept as it was. Called by a
// rank that gets the communicator, before it uses it.
void check_early_messages(rank_state& me, communicator_state& c);

}  // namespace weft::detail
