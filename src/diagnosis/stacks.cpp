#include "diagnosis/stacks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/stack_trace.hpp"
#include "diagnosis/names.hpp"
#include "runtime/thread_calls.hpp"

namespace weft::diagnosis {

void waiting_stacks::add(worker& here, int rank, fiber& flow) {
  if (flow.waiting_in == nullptr) return;
  std::array<std::uintptr_t, calls_captured_max> calls;
  const std::size_t count = here.calls_of(flow, calls);
  const std::lock_guard hold(lock_);
  stacks_.push_back({rank,
                     flow.waiting_in->call,
                     {calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(count)}});
}

void waiting_stacks::add_computing(const worker& other) {
  const int rank = other.running_number();
  const int chunk_of = other.stolen_from_number();
  if (rank < 0) return;
  std::array<std::uintptr_t, calls_captured_max> calls;
  const std::size_t count = capture_calls_of(other.thread(), calls);
  if (count == 0 || other.running_number() != rank || other.stolen_from_number() != chunk_of)
    return;
  const std::lock_guard hold(lock_);
  stacks_.push_back(
      {rank, "", {calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(count)}, chunk_of});
}

std::vector<standing_ranks> waiting_stacks::places() const {
  symbol_table symbols;
  // Wait, calls with names, whose chunk.
  using place = std::tuple<std::string_view, std::vector<std::uintptr_t>, int>;
  std::map<place, std::vector<int>> ranks_at;
  for (const stack& s : stacks_) {
    place at{s.call, {}, s.chunk_of};
    for (const std::uintptr_t call : s.calls)
      if (!symbols.calls_at(call).empty()) std::get<1>(at).push_back(symbols.place_of(call));
    ranks_at[at].push_back(s.rank);
  }
  std::vector<standing_ranks> all;
  for (auto& [at, ranks] : ranks_at) {
    std::ranges::sort(ranks);
    const auto& [call, calls, chunk_of] = at;
    all.push_back({std::string(call), call_lines(symbols, calls, "    "), ranks, chunk_of});
  }
  return all;
}

std::string text_of(std::vector<standing_ranks> places) {
  std::map<std::tuple<std::string, std::string, int>, std::vector<int>> merged;
  for (const standing_ranks& one : places) {
    std::vector<int>& ranks = merged[{one.call, one.calls, one.chunk_of}];
    ranks.insert(ranks.end(), one.ranks.begin(), one.ranks.end());
  }
  places.clear();
  for (auto& [at, ranks] : merged) {
    std::ranges::sort(ranks);
    const auto& [call, calls, chunk_of] = at;
    places.push_back({call, calls, std::move(ranks), chunk_of});
  }
  // The places of most ranks first.
  std::ranges::sort(places, [](const auto& a, const auto& b) {
    return std::pair(b.ranks.size(), a.ranks.front()) < std::pair(a.ranks.size(), b.ranks.front());
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(places.size(), stacks_shown_max); ++i) {
    const standing_ranks& at = places[i];
    const char* const computes = at.ranks.size() == 1 ? "computes" : "compute";
    text += "  " + ranks_name(at.ranks);
    if (!at.call.empty())
      text += formatted(" called {} from\n", at.call);
    else if (at.chunk_of >= 0)
      text += formatted(", while waiting, {} a chunk of rank {} in\n", computes, at.chunk_of);
    else
      text += formatted(" {} in\n", computes);
    text += at.calls;
  }
  if (places.size() > stacks_shown_max)
    text += formatted("  and {} other places\n", places.size() - stacks_shown_max);
  return text;
}

std::string written(const std::vector<standing_ranks>& places) {
  std::string text;
  for (const standing_ranks& at : places) {
    text += formatted("S {}\nR", at.call);
    for (std::size_t i = 0; i < at.ranks.size();) {
      std::size_t end = i + 1;
      while (end < at.ranks.size() && at.ranks[end] == at.ranks[end - 1] + 1) ++end;
      text += formatted(" {} {}", at.ranks[i], at.ranks[end - 1]);
      i = end;
    }
    text += '\n';
    std::istringstream lines(at.calls);
    for (std::string line; std::getline(lines, line);) text += formatted("L {}\n", line);
  }
  return text;
}

bool read_line(std::vector<standing_ranks>& places, std::string_view line) {
  if (line.size() < 2 || line[1] != ' ') return false;
  const std::string rest(line.substr(2));
  if (line[0] == 'S') {
    places.push_back({rest, {}, {}, -1});
    return true;
  }
  if (places.empty() || (line[0] != 'R' && line[0] != 'L')) return false;
  if (line[0] == 'L') {
    places.back().calls += rest + '\n';
    return true;
  }
  std::istringstream from(rest);
  for (int first = 0, last = 0; from >> first >> last && last - first < ranks_max;)
    for (int rank = first; rank <= last; ++rank) places.back().ranks.push_back(rank);
  return true;
}

}  // namespace weft::diagnosis
