// The communicators of a job, by their contexts.
#include <algorithm>
#include <mutex>
#include <string>

#include "rank/communicator_state.hpp"
#include "rank/remote.hpp"
#include "weft/error.hpp"

namespace weft::detail {

std::uint32_t messaging::take_contexts(std::uint32_t count) {
  // Relaxed: only the number matters; ranks meet before they use the context.
  const std::uint32_t taken = contexts_taken.fetch_add(count, std::memory_order_relaxed);
  const std::uint64_t last = std::uint64_t{taken} + count;
  if (last * context_step() + 1 >= joined_context)
    throw error("too many communicators were made: a job of " + std::to_string(context_step()) +
                " processes can make " + std::to_string(joined_context / context_step()) +
                " in each of them");
  return 1 + static_cast<std::uint32_t>(in_job.process) + taken * context_step();
}

int world_number(const rank_state& member, std::uint32_t context, int rank) {
  const auto c = find_communicator(member, context);
  return c != nullptr && rank >= 0 && rank < c->size() ? c->to(rank).number : -1;
}

bool is_of_broken(rank_state& to, const envelope& from) {
  communicator_list& listed = *to.shared->communicators;
  if (!listed.any_broken.load(std::memory_order_relaxed)) [[likely]]
    return false;
  const std::lock_guard hold(listed.lock);
  return listed.broken.contains({from.context & ~hidden_context, to.number});
}

bool is_of_revoked(const rank_state& member, std::uint32_t context) {
  // Relaxed: the mail that ends operations on a revoked communicator comes after it is set.
  if (!member.shared->communicators->any_revoked.load(std::memory_order_relaxed)) [[likely]]
    return false;
  const auto c = find_communicator(member, base_context(context));
  return c != nullptr && c->revoked.load(std::memory_order_relaxed);
}

shared_handle<communicator_state> owned_too(communicator_state& listed) noexcept {
  return listed.owners.expect_another_if_any() ? shared_handle(&listed) : nullptr;
}

shared_handle<communicator_state> find_listed(const rank_state& member, std::uint32_t context) {
  const auto [first, last] = member.shared->communicators->by_context.equal_range(context);
  for (auto at = first; at != last; ++at) {
    const auto& members = at->second->members;
    if (std::any_of(members.begin(), members.end(),
                    [&](const auto& m) { return m.rank == &member; }))
      return owned_too(*at->second);
  }
  return nullptr;
}

shared_handle<communicator_state> find_communicator(const rank_state& member,
                                                    std::uint32_t context) {
  const std::lock_guard hold(member.shared->communicators->lock);
  return find_listed(member, context);
}

}  // namespace weft::detail
