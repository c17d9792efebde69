#include "diagnosis/waits.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "diagnosis/names.hpp"
#include "diagnosis/stacks.hpp"

namespace weft::diagnosis {
namespace {

std::string counted(std::span<const int> numbers) {
  std::string text = formatted(" {}", numbers.size());
  for (const int n : numbers) text += formatted(" {}", n);
  return text;
}

}  // namespace

// One line per rank that waits or has ended, "W number ended either-or context first n awaited... text", and one per
// group that some wait for, "C context first n members... k arrived..."; `first`, a group's first member, tells it from
// others of the same context. "T text" for a task that waits. "B text" when this process knows why.

std::string written_wait(int rank, bool has_ended, const wait_record* waits) {
  const wait_record none;
  const wait_record& of = waits != nullptr ? *waits : none;
  return formatted(
      "W {} {:d} {:d} {} {}{} {}{}{}\n", rank, has_ended, of.either_or, of.group.context,
      of.group.first, counted(of.awaited), has_ended ? "has ended" : "",
      has_ended && waits != nullptr ? " without waiting for what it began, " : "", of.text);
}

std::string written_group(const group_name& which, const group_record& who) {
  return formatted("C {} {}{}{}\n", which.context, which.first, counted(who.members),
                   counted(who.arrived));
}

std::string written_task(const std::string& text) {
  return "T " + text + '\n';
}

std::string written_reason(const std::string& why) {
  return "B " + why + '\n';
}

namespace {

struct rank_wait {
  bool ended = false;
  bool either_or = false;                      // What it waits for is one of several that would do.
  std::pair<std::uint32_t, int> group{0, -1};  // Context and first member.
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

waits read_waits(std::span<const std::string> of_processes) {
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
        from >> number >> w.ended >> w.either_or >> w.group.first >> w.group.second;
        w.awaited = read_numbers(from);
        if (!from) continue;
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
        std::vector<int> members = read_numbers(from);
        const std::vector<int> here = read_numbers(from);
        if (!from) continue;
        all.missing[which] = std::move(members);
        arrived[which].insert(here.begin(), here.end());
      }
    }
  }
  for (auto& [which, members] : all.missing) {
    std::erase_if(members, [&](int rank) { return arrived[which].contains(rank); });
    std::ranges::sort(members);
  }
  for (auto& [number, w] : all.of_rank)
    if (w.group.second >= 0)
      for (const int rank : all.missing[w.group])
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
    if (w.group.second < 0 || w.awaited.empty()) continue;
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

std::string deadlock_report(std::span<const std::string> of_processes) {
  waits all = read_waits(of_processes);
  std::erase_if(all.places, [](const standing_ranks& at) { return at.ranks.empty(); });
  std::string text = why(all) + '\n' + text_of(std::move(all.places));
  text.pop_back();
  return text;
}

}  // namespace weft::diagnosis
