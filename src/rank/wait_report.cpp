// What the waits of ranks mean, for reports: whom a rank waits for, and what has come instead.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "rank/communicator_state.hpp"
#include "rank/messages.hpp"
#include "rank/names.hpp"
#include "rank/state.hpp"

namespace weft::detail {
namespace {

// The rank whose message or receive a rank waits for; none when any of several could help.
std::vector<int> awaited(const rank_state& r, const wait_description& what) {
  std::vector<int> ranks;
  if (what.subject == nullptr && what.peer >= 0)
    if (const int number = world_number(r, what.context, what.peer); number >= 0)
      ranks.push_back(number);
  return ranks;
}

// Calls are named as their face names them: "recv", "MPI_Recv", "MPI_Wait (MPI_Irecv)".
std::size_t last_of(std::string_view call, std::string_view word) {
  const auto same = [](char in_call, char in_word) { return (in_call | 0x20) == in_word; };
  const auto found = std::ranges::find_end(call, word, same);
  return found.empty() ? 0 : static_cast<std::size_t>(found.begin() - call.begin()) + 1;
}
bool receives(std::string_view call) {
  return std::max(last_of(call, "recv"), last_of(call, "probe")) > last_of(call, "send");
}
bool probes(std::string_view call) {
  return last_of(call, "probe") > last_of(call, "recv");
}
bool sends(std::string_view call) {
  return last_of(call, "send") > last_of(call, "recv");
}

// Of one rank, so many are looked at.
constexpr std::size_t unreceived_compared_max = 1000;

// What makes a message worth telling to a rank that waits for another one: the smaller, the more.
enum class closeness { of_that_rank, there, of_that_rank_elsewhere, none };

closeness closeness_of(const rank_state& r, const wait_description& wanted, const envelope& from) {
  const bool any = wanted.peer == any_source;
  if (from.context == wanted.context)
    return any || from.source == wanted.peer ? closeness::of_that_rank : closeness::there;
  if (from.context != base_context(from.context)) return closeness::none;  // Weft's own.
  return any || world_number(r, from.context, from.source) ==
                     world_number(r, wanted.context, wanted.peer)
             ? closeness::of_that_rank_elsewhere
             : closeness::none;
}

// Of a rank that waits to receive or to probe: what has come instead, by a mistake in the tag, the rank or the
// communicator.
std::string unreceived(const rank_state& r, const wait_description& wanted) {
  const unexpected_message* best = nullptr;
  closeness best_is = closeness::none;
  std::size_t looked_at = 0, others = 0;
  const unexpected_message* m = r.lists.oldest();
  for (; m != nullptr && looked_at++ < unreceived_compared_max; m = match_lists::after(*m)) {
    const closeness like = closeness_of(r, wanted, m->from);
    if (like == closeness::none) continue;
    ++others;
    if (like >= best_is) continue;
    best = m;
    best_is = like;
  }
  if (best == nullptr) return {};
  std::string text = formatted("; a message of rank {} with tag {}, {} bytes,",
                               name_of_peer(&r, best->from.context, best->from.source),
                               best->from.tag, best->rts ? best->rts.bytes : best->bytes);
  if (best->from.context != wanted.context)
    text += formatted(" {},", communicator_name(&r, best->from.context));
  text += " waits unreceived";
  if (others < 2) return text;
  return text + formatted(", and {}{} more", m != nullptr ? "at least " : "", others - 1);
}

}  // namespace

std::string text_of_wait(const rank_state& r, const wait_description& what) {
  std::string text = formatted("in {}", what.call);
  if (what.requests > 1) text += formatted(", one of {} requests", what.requests);
  const bool message = what.subject == nullptr &&
                       (what.peer >= any_source && what.tag >= any_tag) &&
                       (what.bytes != 0 || what.tag >= 0 || what.peer >= 0 || receives(what.call));
  if (message) {
    text += formatted(", {} {}, tag {}", sends(what.call) ? "to rank" : "source",
                      name_of_peer(&r, what.context, what.peer), tag_name(what.tag));
    if (!probes(what.call)) text += formatted(", {} bytes", what.bytes);
  }
  if (what.subject != nullptr && what.bytes != 0) text += formatted(", {} bytes", what.bytes);
  const bool has_root = what.subject != nullptr && what.peer >= 0;
  if (has_root) text += formatted(", root {}", what.peer);
  if (what.has_more) {
    const auto& more = static_cast<const explained_wait&>(what);
    more.explain(more, text);
  }
  if (what.context == wait_description::no_context) return text;
  text += ", " + communicator_name(&r, what.context);
  return message && receives(what.call) ? text + unreceived(r, what) : text;
}

bool messaging::describe(const job_rank& of, const wait_description& what,
                         diagnosis::wait_record& into) {
  const auto& r = static_cast<const rank_state&>(of);
  into.text = text_of_wait(r, what);
  into.either_or = what.needs_one && what.requests > 1;
  into.awaited = awaited(r, what);
  if (what.subject == nullptr) return true;
  // Of a collective.
  const auto& c = *static_cast<const communicator_state*>(what.subject);
  into.group = {c.context, c.peers[0].number};
  into.of_group = &c;
  return true;
}

diagnosis::group_record messaging::describe_group(const void* group) {
  const auto& c = *static_cast<const communicator_state*>(group);
  diagnosis::group_record who;
  for (std::size_t i = 0; i < c.peers.size(); ++i) {
    who.members.push_back(c.peers[i].number);
    if (c.has_arrived(c.members[i])) who.arrived.push_back(c.peers[i].number);
  }
  return who;
}

}  // namespace weft::detail
