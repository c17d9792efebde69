// Who waits for whom: the text of the deadlock report and of the report signal.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "rank/state.hpp"

namespace weft::detail {
namespace {

std::string rank_name(int rank) { return rank == any_source ? "any" : std::to_string(rank); }

// The ranks that a rank waits for; empty when any of several could help, or none.
std::vector<int> awaited(job& j, const rank_state& r, const wait_description& what) {
  std::vector<int> ranks;
  if (what.subject != nullptr) {
    // A collective: those of the communicator that have not arrived.
    const auto& c = *static_cast<const communicator_state*>(what.subject);
    for (const member& m : c.members)
      if (m.rank != nullptr && !m.arrived && m.rank != &r) ranks.push_back(m.rank->number);
  } else if (what.peer >= 0) {
    const std::lock_guard hold(j.communicators->lock);
    const auto same = j.communicators->by_context.equal_range(what.context);
    for (auto at = same.first; at != same.second; ++at) {
      const communicator_state& c = *at->second;
      const bool holds_it = std::any_of(c.members.begin(), c.members.end(),
                                        [&](const member& m) { return m.rank == &r; });
      if (holds_it && what.peer < c.size()) ranks.push_back(c.to(what.peer).number);
    }
  }
  return ranks;
}

const fiber* waiting_fiber(const rank_state& r) noexcept {
  return r.main.waiting_in != nullptr ? &r.main : nullptr;
}

}  // namespace

std::string describe_wait(const fiber& f) {
  if (f.waiting_in == nullptr) return "running or ready";
  const wait_description& what = *f.waiting_in;
  std::string text = formatted("in {}", what.call);
  const bool message = what.subject == nullptr && (what.peer >= any_source && what.tag >= any_tag) &&
                       (what.bytes != 0 || what.tag >= 0 || what.peer >= 0 ||
                        std::string_view(what.call).find("recv") != std::string_view::npos ||
                        std::string_view(what.call).find("probe") != std::string_view::npos);
  if (message) {
    const bool sends = std::string_view(what.call).find("send") != std::string_view::npos;
    text += formatted(", {} {}, tag {}, {} octets", sends ? "to rank" : "source",
                      rank_name(what.peer), what.tag == any_tag ? "any" : std::to_string(what.tag),
                      what.bytes);
  }
  const bool has_root = what.subject != nullptr && what.peer >= 0;
  if (has_root) text += formatted(", root {}", what.peer);
  return text + formatted(", communicator {}", what.context);
}

void append_worker_report(job& j, worker& only, std::map<int, std::string>& lines) {
  for (const auto& r : j.ranks) {
    if (r->home != &only) continue;
    lines[r->number] = formatted("  rank {} (worker {}): {}\n", r->number, only.index(),
                                 r->ended ? "ended" : describe_wait(r->main));
  }
}

std::string deadlock_report(job& j) {
  std::string text = "deadlock: every rank waits and no message is under way";
  std::size_t listed = 0;
  std::size_t waiting = 0;
  for (const auto& r : j.ranks) {
    const fiber* f = waiting_fiber(*r);
    if (f == nullptr && !r->ended) continue;
    ++waiting;
    if (listed++ >= ranks_listed_max) continue;
    text += formatted("\n  rank {}: ", r->number);
    if (r->ended) {
      text += "has ended";
      continue;
    }
    text += describe_wait(*f);
    const std::vector<int> missing = awaited(j, *r, *f->waiting_in);
    if (f->waiting_in->subject == nullptr || missing.empty()) continue;
    text += "; not there yet:";
    for (std::size_t i = 0; i < std::min<std::size_t>(missing.size(), 8); ++i)
      text += formatted(" {}", missing[i]);
    if (missing.size() > 8) text += formatted(" and {} more", missing.size() - 8);
  }
  if (waiting > ranks_listed_max)
    text += formatted("\n  and {} ranks more", waiting - ranks_listed_max);

  // Follow the first rank that each waits for until one comes again.
  for (const auto& start : j.ranks) {
    std::vector<int> path;
    for (int at = start->number;;) {
      const auto seen = std::find(path.begin(), path.end(), at);
      if (seen != path.end()) {
        text += "\n  cycle: ";
        for (auto rank = seen; rank != path.end(); ++rank)
          text += formatted("rank {} waits for ", *rank);
        return text + formatted("rank {}", at);
      }
      path.push_back(at);
      const rank_state& r = *j.ranks[static_cast<std::size_t>(at)];
      if (r.ended || waiting_fiber(r) == nullptr) break;
      const std::vector<int> next = awaited(j, r, *r.main.waiting_in);
      if (next.empty()) break;
      at = next.front();
    }
  }
  for (const auto& r : j.ranks) {
    if (r->ended || waiting_fiber(*r) == nullptr) continue;
    for (const int peer : awaited(j, *r, *r->main.waiting_in))
      if (j.ranks[static_cast<std::size_t>(peer)]->ended)
        return text + formatted("\n  rank {} waits for rank {}, which has ended", r->number, peer);
  }
  return text;
}

}  // namespace weft::detail
