// Collectives that fail, and questions about broadcasts whose root is elsewhere.
#pragma once
#include <cstddef>
#include <string>

#include "rank/communicator_state.hpp"
#include "rank/state.hpp"

namespace weft::detail {

// --- Collectives that fail (broken_communicator.cpp) ---------------------------------------------
// From now on every collective of `c` throws `why`, once those under way have ended.
void note_failure(communicator_state& c, const std::string& why);
// The same, and those under way end at once: their other ranks need not come.
void break_communicator(worker& here, communicator_state& c, const std::string& why);
// Another subgroup says so; called where the leader is at home.
void on_subgroups_broken(worker& here, rank_state& to, std::uint32_t context,
                         const comm::address& sender, const std::string& why);
// Breaks the communicators with ranks in dead processes whose leader here is at home on this worker. Called in each of its
// passes after a death; returns whether there were any. Every process does so by itself: a subgroup that has found the dead
// before a call says nothing to those that are in it.
bool break_communicators_with_dead(worker& here, messaging& of);
// Ends what the ranks of `c`, in all processes, do on it, and all that they begin from now on fails, but agreements. Called
// by any rank of it. Each process that hears of it tells all others, so that all hear of it though who began dies.
void revoke(worker& here, communicator_state& c);
// What other subgroups have said of a communicator before it was made here; with the lock of its list.
void take_early_news(communicator_state& c);
// `call` is null for a rank that was in a collective when it failed.
[[noreturn, gnu::cold]] void throw_failed(communicator_state& c, const char* call = nullptr);
void on_broken(worker& here, record_header header, const std::byte* payload);

// --- Questions about broadcasts (collectives.cpp) ------------------------------------------------
// Called where `rank`, which is asked, is at home.
void answer(worker& here, communicator_state& c, int rank, const broadcast_question& asked);
[[nodiscard]] collective_call call_of(const broadcast_question& asked) noexcept;
void on_question(worker& here, record_header header, const std::byte* payload);
// Broadcasts of other subgroups that no rank here has taken part in: empty when there are none, else what
// to say. Called while nothing runs.
[[nodiscard]] std::string unmet_broadcast(const job& j);

}  // namespace weft::detail
