// Who waits for whom: the text of the deadlock report and of the report signal.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "collective/calls.hpp"
#include "diagnosis/names.hpp"
#include "diagnosis/stacks.hpp"
#include "rank/state.hpp"
#include "sched/attached_thread.hpp"

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

bool is_either_or(const wait_description& what) {
  return what.needs_one && what.requests > 1;
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
enum class likeness { of_that_rank, there, of_that_rank_elsewhere, none };

likeness likeness_of(const rank_state& r, const wait_description& wanted, const envelope& from) {
  const bool any = wanted.peer == any_source;
  if (from.context == wanted.context)
    return any || from.source == wanted.peer ? likeness::of_that_rank : likeness::there;
  if (from.context != base_context(from.context)) return likeness::none;  // Weft's own.
  return any || world_number(r, from.context, from.source) ==
                     world_number(r, wanted.context, wanted.peer)
             ? likeness::of_that_rank_elsewhere
             : likeness::none;
}

// Of a rank that waits to receive or to probe: what has come instead, by a mistake in the tag, the rank or the
// communicator.
std::string unreceived(const rank_state& r, const wait_description& wanted) {
  const unexpected_message* best = nullptr;
  likeness best_is = likeness::none;
  std::size_t looked_at = 0, others = 0;
  const unexpected_message* m = r.lists.oldest();
  for (; m != nullptr && looked_at++ < unreceived_compared_max; m = match_lists::after(*m)) {
    const likeness like = likeness_of(r, wanted, m->from);
    if (like == likeness::none) continue;
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

// Of a rank that has ended: a non-blocking call that it did not wait for, the one that is in a collective
// before those that wait for their turn.
const fiber* left_activity(const rank_state& r) {
  const fiber* found = nullptr;
  r.home->each_fiber([&](const fiber& f) {
    if (f.identity == &r && f.is_urgent && f.waiting_in != nullptr &&
        (found == nullptr || found->waiting_in->subject == nullptr))
      found = &f;
  });
  return found;
}

const fiber* waiting_fiber(const rank_state& r) {
  if (r.ended) return left_activity(r);
  return r.main.waiting_in != nullptr ? &r.main : nullptr;
}

}  // namespace

int world_number(const rank_state& member, std::uint32_t context, int rank) {
  const auto c = find_communicator(member, context);
  return c != nullptr && rank >= 0 && rank < c->size() ? c->to(rank).number : -1;
}

std::string describe_wait(const rank_state& r, const wait_description& what) {
  std::string text = formatted("in {}", what.call);
  if (what.context == wait_description::in_words)
    return text + static_cast<const wait_words*>(what.subject)->text();
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

void append_worker_report(job& j, worker& only, std::map<int, std::string>& lines) {
  for (const auto& r : j.ranks) {
    if (r->home != &only || (r->ended && j.workers->stopping())) continue;
    const wait_description* const what = r->main.waiting_in;
    lines[r->number] = formatted("  rank {} (worker {}): {}\n", r->number, only.index(),
                                 r->ended          ? "ended"
                                 : what == nullptr ? "running or ready"
                                                   : describe_wait(*r, *what));
  }
  for (const attached_thread* thread : only.waiting_attached()) {
    const auto& r = *static_cast<const rank_state*>(thread->from().identity);
    lines[r.number] += formatted("    a thread of rank {}: {}\n", r.number,
                                 describe_wait(r, *thread->waiting_in()));
  }
}

namespace {

// Ranks meet in every collective but a small broadcast, which its root leaves alone, and what only neighbours
// say to each other. So a member that has ended and is past the collective in which another one waits has
// called something else instead.
std::string left_behind(const rank_state& r, const communicator_state& c) {
  // Relaxed, here and in the other: all workers are parked.
  if (c.failed.load(std::memory_order_relaxed)) return {};
  const auto own = std::ranges::find_if(c.members, [&](const member& m) { return m.rank == &r; });
  if (own == c.members.end() || own->acting != own->turn) return {};
  const auto index = [&](const member& m) { return static_cast<int>(&m - c.members.data()); };
  for (const member& other : c.members) {
    if (other.rank == nullptr || !other.rank->ended || other.turn <= own->turn) continue;
    if (other.acting + 1 != other.turn)
      continue;  // Its last was refused: `call` is of another one.
    if (other.turn == own->turn + 1) {
      if (!is_same(own->call, other.call))
        return mismatch(c, index(*own), own->call, index(other), other.call);
    } else if (own->call.root == no_root && own->call.same_size) {  // Not of neighbours.
      return formatted(
          "collective mismatch on {}: rank {} calls {} as number {}, but rank {} has "
          "ended after {} collectives, the last a {}: all ranks must call the same collectives in "
          "the same order, with the same sizes",
          name_of(c), index(*own), described(own->call), own->turn + 1, index(other), other.turn,
          described(other.call));
    }
  }
  return {};
}

}  // namespace

// What tasks of this worker wait in, those with fibers and those without.
std::vector<std::string> waits_of_tasks(worker& w) {
  std::vector<std::string> lines;
  w.each_fiber([&](const fiber& f) {
    if (f.number >= 0 || f.identity != nullptr || f.waiting_in == nullptr) return;
    std::string text = formatted("a task (worker {}): in {}", w.index(), f.waiting_in->call);
    if (f.waiting_in->has_more) {
      const auto& more = static_cast<const explained_wait&>(*f.waiting_in);
      more.explain(more, text);
    }
    lines.push_back(std::move(text));
  });
  if (const work_source* const source = w.source(); source != nullptr)
    source->describe([&](const std::string& text) {
      lines.push_back(formatted("a task (worker {}): {}", w.index(), text));
    });
  return lines;
}

// "T text" for a task that waits. One line per rank that waits or has ended, "W number ended either-or context first n awaited... text", and
// one per communicator that some wait in a collective of, "C context first n members... k arrived".
// `first`, a communicator's first member, tells it from others of the same context. Numbers are
// those of the world. "B text" when this process knows why.
std::string describe_waits(job& j) {
  std::string text;
  std::string reason = unmet_broadcast(j);
  std::set<const communicator_state*> communicators;
  const auto append = [&](const std::vector<int>& numbers) {
    text += formatted(" {}", numbers.size());
    for (const int n : numbers) text += formatted(" {}", n);
  };
  for (const auto& r : j.ranks) {
    const fiber* f = waiting_fiber(*r);
    if (f == nullptr && !r->ended) continue;
    const bool waits = f != nullptr;
    const auto* c = waits && f->waiting_in->context != wait_description::in_words
                        ? static_cast<const communicator_state*>(f->waiting_in->subject)
                        : nullptr;
    text += formatted("W {} {:d} {:d} {} {}", r->number, r->ended,
                      waits && is_either_or(*f->waiting_in), c != nullptr ? c->context : 0,
                      c != nullptr ? c->peers[0].number : -1);
    append(!waits || c != nullptr ? std::vector<int>{} : awaited(*r, *f->waiting_in));
    text += formatted(" {}{}{}\n", r->ended ? "has ended" : "",
                      r->ended && waits ? " without waiting for what it began, " : "",
                      waits ? describe_wait(*r, *f->waiting_in) : "");
    if (c == nullptr) continue;
    communicators.insert(c);
    if (reason.empty()) reason = left_behind(*r, *c);
  }
  for (int i = 0; i < j.workers->worker_count(); ++i)
    for (const std::string& line : waits_of_tasks(j.workers->at(i))) text += "T " + line + '\n';
  for (const communicator_state* c : communicators) {
    text += formatted("C {} {}", c->context, c->peers[0].number);
    std::vector<int> all, arrived;
    for (std::size_t i = 0; i < c->peers.size(); ++i) {
      all.push_back(c->peers[i].number);
      if (c->has_arrived(c->members[i])) arrived.push_back(c->peers[i].number);
    }
    append(all);
    append(arrived);
    text += '\n';
  }
  if (!reason.empty()) text += "B " + reason + '\n';
  return text;
}

namespace {

struct rank_wait {
  bool ended = false;
  bool either_or = false;  // What it waits for is one of several that would do.
  std::pair<std::uint32_t, int> communicator{0, -1};  // Of a collective: context and first member.
  std::vector<int> awaited;
  std::string text;
};
struct waits {
  std::map<int, rank_wait> of_rank;
  std::map<std::pair<std::uint32_t, int>, std::vector<int>> missing;
  std::string reason;
  std::vector<std::string> of_tasks;
  std::vector<standing_ranks> places;
};

std::vector<int> read_numbers(std::istream& from) {
  std::size_t count = 0;
  from >> count;
  std::vector<int> numbers(std::min<std::size_t>(count, ranks_max));
  for (int& n : numbers) from >> n;
  return numbers;
}

waits read_waits(const std::vector<std::string>& of_processes) {
  waits all;
  std::map<std::pair<std::uint32_t, int>, std::set<int>> arrived;
  for (const std::string& part : of_processes) {
    std::istringstream lines(part);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream from(line);
      if (read_line(all.places, line)) continue;
      char kind = 0;
      from >> kind;
      if (kind == 'W') {
        int number = 0;
        rank_wait w;
        from >> number >> w.ended >> w.either_or >> w.communicator.first >> w.communicator.second;
        w.awaited = read_numbers(from);
        std::getline(from >> std::ws, w.text);
        all.of_rank[number] = std::move(w);
      } else if (kind == 'T') {
        std::string& of_task = all.of_tasks.emplace_back();
        std::getline(from >> std::ws, of_task);
      } else if (kind == 'B') {
        if (all.reason.empty()) std::getline(from >> std::ws, all.reason);
      } else {
        std::pair<std::uint32_t, int> which;
        from >> which.first >> which.second;
        all.missing[which] = read_numbers(from);
        for (const int rank : read_numbers(from)) arrived[which].insert(rank);
      }
    }
  }
  for (auto& [which, members] : all.missing) {
    std::erase_if(members, [&](int rank) { return arrived[which].contains(rank); });
    std::ranges::sort(members);
  }
  for (auto& [number, w] : all.of_rank)
    if (w.communicator.second >= 0)
      for (const int rank : all.missing[w.communicator])
        if (rank != number) w.awaited.push_back(rank);
  return all;
}

// Follows the first rank that each waits for until one comes again; empty when none does.
std::vector<int> cycle_in(const waits& all, bool through_either_or) {
  for (const auto& start : all.of_rank) {
    std::vector<int> path;
    for (int at = start.first;;) {
      if (const auto seen = std::ranges::find(path, at); seen != path.end())
        return {seen, path.end()};
      path.push_back(at);
      const auto w = all.of_rank.find(at);
      if (w == all.of_rank.end() || w->second.awaited.empty()) break;
      if (w->second.either_or && !through_either_or) break;
      at = w->second.awaited.front();
    }
  }
  return {};
}

std::string why(const waits& all) {
  std::string text = "deadlock: every rank waits and no message is under way";
  std::size_t listed = 0;
  for (const auto& [number, w] : all.of_rank) {
    if (listed++ >= ranks_listed_max) continue;
    text += formatted("\n  rank {}: {}", number, w.text);
    if (w.communicator.second < 0 || w.awaited.empty()) continue;
    text += "; not there yet: " + ranges_of(w.awaited);
  }
  if (listed > ranks_listed_max)
    text += formatted("\n  and {} ranks more", listed - ranks_listed_max);
  for (std::size_t i = 0; i < all.of_tasks.size() && i < ranks_listed_max; ++i)
    text += "\n  " + all.of_tasks[i];
  if (all.of_tasks.size() > ranks_listed_max)
    text += formatted("\n  and {} tasks more", all.of_tasks.size() - ranks_listed_max);
  if (!all.reason.empty()) return text + "\n  " + all.reason;

  // Another request may help a rank out of a cycle that it is in by one of several.
  std::vector<int> cycle = cycle_in(all, false);
  if (cycle.empty()) cycle = cycle_in(all, true);
  if (!cycle.empty()) {
    text += "\n  cycle: ";
    for (const int rank : cycle) text += formatted("rank {} waits for ", rank);
    return text + formatted("rank {}", cycle.front());
  }
  for (const auto& [number, w] : all.of_rank)
    for (const int peer : w.awaited)
      if (const auto other = all.of_rank.find(peer);
          other != all.of_rank.end() && other->second.ended)
        return text + formatted("\n  rank {} waits for rank {}, which has ended", number, peer);
  return text;
}

}  // namespace

std::string deadlock_report(const std::vector<std::string>& of_processes) {
  waits all = read_waits(of_processes);
  std::erase_if(all.places, [](const standing_ranks& at) { return at.ranks.empty(); });
  std::string text = why(all) + '\n' + text_of(std::move(all.places));
  text.pop_back();
  return text;
}

}  // namespace weft::detail
