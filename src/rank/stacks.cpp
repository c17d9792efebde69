#include "rank/stacks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/stack_trace.hpp"

namespace weft::detail {

void waiting_stacks::add(job& j, worker& here) {
  std::array<std::uintptr_t, calls_captured_max> calls;
  for (const auto& r : j.ranks) {
    if (r->home != &here || r->ended || r->main.waiting_in == nullptr) continue;
    const std::size_t count = here.calls_of(r->main, calls);
    const std::lock_guard hold(lock_);
    stacks_.push_back({r->number, r->main.waiting_in->call,
                       {calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(count)}});
  }
}

void waiting_stacks::add_computing(const worker& other) {
  const int rank = other.running_number();
  if (rank < 0) return;
  std::array<std::uintptr_t, calls_captured_max> calls;
  const std::size_t count = capture_calls_of(other.thread(), calls);
  if (count == 0 || other.running_number() != rank) return;
  const std::lock_guard hold(lock_);
  stacks_.push_back({rank, "", {calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(count)}});
}

std::string ranges_of(std::span<const int> ranks) {
  std::string text;
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    if (pieces++ == rank_ranges_shown_max)
      return text + formatted(" and {} more", ranks.size() - i);
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (i != 0) text += ',';
    text += end - i == 1 ? formatted("{}", ranks[i]) : formatted("{}-{}", ranks[i], ranks[end - 1]);
    i = end;
  }
  return text;
}

std::string waiting_stacks::text() const {
  symbol_table symbols;
  using place = std::pair<std::string_view, std::vector<std::uintptr_t>>;  // Wait, calls with names.
  std::map<place, std::vector<int>> ranks_at;
  for (const stack& s : stacks_) {
    place at{s.call, {}};
    for (const std::uintptr_t call : s.calls)
      if (!symbols.calls_at(call).empty()) at.second.push_back(call);
    ranks_at[at].push_back(s.rank);
  }
  // The stacks of most ranks first.
  std::vector<std::pair<const place*, std::vector<int>*>> order;
  for (auto& [at, ranks] : ranks_at) {
    std::ranges::sort(ranks);
    order.emplace_back(&at, &ranks);
  }
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return std::pair(b.second->size(), a.second->front()) <
           std::pair(a.second->size(), b.second->front());
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(order.size(), stacks_shown_max); ++i) {
    const auto& [at, ranks] = order[i];
    const bool one = ranks->size() == 1;
    if (at->first.empty())
      text += formatted("  rank {} computes in\n", ranges_of(*ranks));
    else
      text += formatted("  {} {} called {} from\n", one ? "rank" : "ranks", ranges_of(*ranks),
                        at->first);
    text += call_lines(symbols, at->second, "    ");
  }
  if (order.size() > stacks_shown_max)
    text += formatted("  and {} other places\n", order.size() - stacks_shown_max);
  return text;
}

}  // namespace weft::detail
