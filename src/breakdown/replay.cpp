#include "breakdown/replay.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "base/format.hpp"

namespace weft::breakdown {
namespace {

constexpr std::size_t at(std::int64_t i) noexcept {
  return static_cast<std::size_t>(i);
}

bool is_own_time(step_kind k) noexcept {
  return k == step_kind::compute || k == step_kind::in_call || k == step_kind::sleep;
}
bool needs_message(step_kind k) noexcept {
  return k == step_kind::receive || k == step_kind::found;
}
// Needs all who come to a collective.
bool is_meeting(step_kind k) noexcept {
  return k == step_kind::collective || k == step_kind::met;
}
bool is_wait(step_kind k) noexcept {
  return needs_message(k) || k == step_kind::caused || k == step_kind::taken || is_meeting(k);
}
bool is_computation(step_kind k) noexcept {
  return k == step_kind::compute;
}

std::vector<place_cost> sorted(const std::map<std::string, place_cost>& of) {
  std::vector<place_cost> all;
  for (const auto& [name, cost] : of) all.push_back(cost);
  std::ranges::stable_sort(all, std::greater{},
                           [](const place_cost& c) { return c.ns + c.indirect_ns; });
  return all;
}

}  // namespace

std::string place_name(const pattern& p, std::int32_t place) {
  if (place < 0) return "end";
  const log_place& at_place = p.places[at(place)];
  return at_place.where.empty() ? at_place.call
                                : formatted("{} in {}", at_place.call, at_place.where);
}

bool is_named_by(std::string_view name, std::string_view part) noexcept {
  if (part == "end") return name == part;  // It is in MPI_Send as well.
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t at = name.find(part); at != name.npos; at = name.find(part, at + 1)) {
    const std::size_t next = at + part.size();
    // "a.c:4" is not in "a.c:40".
    if (part.empty() || next == name.size() || !is_digit(part.back()) || !is_digit(name[next]))
      return true;
  }
  return false;
}

replay::replay(const pattern& p) : p_(p) {
  order();
  find_causes();
  find_residues();
}

const step& replay::of(const id& i) const noexcept {
  return p_.of_rank[at(i.rank)][at(i.number)];
}
double replay::begun_of(const id& i) const noexcept {
  return i.number == 0 ? 0 : p_.of_rank[at(i.rank)][at(i.number - 1)].end_ns;
}
const replay::node* replay::node_at(const id& i) const noexcept {
  return &nodes_[at(at_[first_[at(i.rank)] + at(i.number)])];
}

// Causes end before what they cause, so in the order of their ends each finds its causes done.
void replay::order() {
  std::size_t count = 0;
  for (const auto& steps : p_.of_rank) {
    first_.push_back(count);
    count += steps.size();
  }
  // The rows of all ranks become one. What waits comes behind what ends at the same moment.
  struct head {
    double end;
    bool waits;
    id step;
    bool operator>(const head& other) const noexcept {
      return std::tuple(end, waits, step.rank) >
             std::tuple(other.end, other.waits, other.step.rank);
    }
  };
  std::priority_queue<head, std::vector<head>, std::greater<>> heads;
  const auto push = [&](const id& i) {
    if (at(i.number) >= p_.of_rank[at(i.rank)].size()) return;
    heads.push({of(i).end_ns, is_wait(of(i).kind), i});
  };
  for (int rank = 0; rank < p_.ranks(); ++rank) push({rank, 0});
  at_.resize(count);
  nodes_.reserve(count);
  while (!heads.empty()) {
    node n;
    n.step = heads.top().step;
    heads.pop();
    at_[first_[at(n.step.rank)] + at(n.step.number)] = static_cast<std::int32_t>(nodes_.size());
    nodes_.push_back(n);
    push({n.step.rank, n.step.number + 1});
  }
}

void replay::find_causes() {
  std::map<std::tuple<int, int, std::uint32_t>, id> sends, posts;
  for (const node& n : nodes_) {
    const step& s = of(n.step);
    if (s.kind == step_kind::send) sends[{n.step.rank, s.peer, s.number}] = n.step;
    if (s.kind == step_kind::post) posts[{s.peer, n.step.rank, s.number}] = n.step;
  }
  // The steps that ran before on the same worker.
  std::map<int, std::vector<id>> of_worker;
  std::map<int, int> ranks_of_worker;
  for (const std::int32_t worker : p_.worker_of_rank) ++ranks_of_worker[worker];
  meetings_.resize(p_.meetings.size());
  for (node& n : nodes_) {
    const step& s = of(n.step);
    n.duration = is_own_time(s.kind) && !s.is_stolen ? s.ns : 0;
    n.first_cause = static_cast<std::int32_t>(causes_.size());
    // Where one wait was for several, the first step waits for all, and the others only for it.
    const auto& steps = p_.of_rank[at(n.step.rank)];
    const auto is_of_wait = [&](const step& one) {
      return (needs_message(one.kind) || one.kind == step_kind::taken) && one.end_ns == s.end_ns;
    };
    const bool is_first = n.step.number == 0 || !is_of_wait(steps[at(n.step.number - 1)]);
    for (std::size_t i = at(n.step.number); is_first && i < steps.size() && is_of_wait(steps[i]);
         ++i) {
      const bool receives = needs_message(steps[i].kind);
      const auto& from = receives ? sends : posts;
      const auto found = receives ? from.find({steps[i].peer, n.step.rank, steps[i].number})
                                  : from.find({n.step.rank, steps[i].peer, steps[i].number});
      // Nothing waits for what comes later.
      if (found != from.end() && of(found->second).end_ns <= s.end_ns)
        causes_.push_back(found->second);
    }
    if (s.kind == step_kind::caused && s.peer >= 0 && s.peer != n.step.rank) {
      // What it was at then, which ended with its call; else the last before.
      const auto& theirs = p_.of_rank[at(s.peer)];
      auto cause = std::ranges::lower_bound(theirs, s.end_ns - s.ns, {}, &step::end_ns);
      if (cause == theirs.end() || cause->end_ns > s.end_ns)
        cause = cause == theirs.begin() ? theirs.end() : cause - 1;
      if (cause != theirs.end())
        causes_.push_back({s.peer, static_cast<std::int32_t>(cause - theirs.begin())});
    }
    n.last_message = static_cast<std::int32_t>(causes_.size());
    // When a collective's last rank came.
    if (const id came = came_by(n.step); came.rank >= 0) {
      arrival& m = meetings_[at(s.peer)];
      if (of(came).end_ns >= m.last) m = {of(came).end_ns, came};
    }
    const int worker = p_.worker_of_rank[at(n.step.rank)];
    if (ranks_of_worker[worker] > 1) {
      auto& ran = of_worker[worker];
      const double begun = begun_of(n.step);
      for (auto other = ran.rbegin(); other != ran.rend() && of(*other).end_ns > begun; ++other)
        // The step did not wait for what ended in the middle of its own time.
        if (other->rank != n.step.rank && is_own_time(of(*other).kind) &&
            of(*other).end_ns <= s.end_ns - n.duration) {
          causes_.push_back(*other);
          break;
        }
      ran.push_back(n.step);
    }
    n.last_cause = static_cast<std::int32_t>(causes_.size());
  }
}

// The step with whose end a rank comes to the collective of step `i`, if it does and others need it.
replay::id replay::came_by(const id& i) const noexcept {
  const step& s = of(i);
  const bool is_before = s.kind == step_kind::collective;
  if ((!is_before && s.kind != step_kind::come) || (is_before && i.number == 0)) return {};
  const meeting_of_pattern& kind = p_.meetings[at(s.peer)];
  if (kind.how == collective_relation::from_root && kind.root != i.rank) return {};
  return {i.rank, is_before ? i.number - 1 : i.number};
}

bool replay::needs_meeting(const step& s, std::int32_t rank) const noexcept {
  const meeting_of_pattern& kind = p_.meetings[at(s.peer)];
  if (meetings_[at(s.peer)].last > s.end_ns) return false;
  switch (kind.how) {
    case collective_relation::all:
      return true;
    case collective_relation::from_root:
      return kind.root != rank;
    case collective_relation::to_root:
      return true;  // The others of weft mostly wait for all as well; one that did not, left before.
  }
  return false;
}

int replay::rounds_of(const step& s) const noexcept {
  const std::size_t ranks = p_.communicators[at(p_.meetings[at(s.peer)].communicator)].ranks.size();
  return ranks < 2 ? 0 : static_cast<int>(std::bit_width(ranks - 1));
}

void replay::find_residues() {
  for (node& n : nodes_) {
    const step& s = of(n.step);
    const double begun = begun_of(n.step);
    double ready = begun, latest = -1;
    for (std::int32_t i = n.first_cause; i < n.last_cause; ++i) {
      const id& cause = causes_[at(i)];
      if (i < n.last_message && of(cause).end_ns > latest) {
        latest = of(cause).end_ns;
        n.cause = cause;
      }
      ready = std::max(ready, of(cause).end_ns);
    }
    if (is_meeting(s.kind) && needs_meeting(s, n.step.rank))
      ready = std::max(ready, meetings_[at(s.peer)].last);
    // A rank of its worker may have run in the middle of it.
    ready = std::min(ready, std::max(begun, s.end_ns - n.duration));
    n.residue = std::max(s.end_ns - n.duration - ready, 0.0);
  }
}

std::vector<double> replay::shares_of_mean(double evenness) const {
  std::vector<double> shares;
  if (evenness == 0) return shares;
  const std::size_t places = p_.places.size() + 1;
  shares.resize(at(p_.ranks()) * places);
  for (const node& n : nodes_)
    if (const step& s = of(n.step); is_computation(s.kind))
      shares[at(n.step.rank) * places + at(s.place + 1)] += n.duration;
  for (std::size_t place = 0; place < places; ++place) {
    double sum = 0;
    for (std::size_t i = place; i < shares.size(); i += places) sum += shares[i];
    const double mean = sum / p_.ranks();
    for (std::size_t i = place; i < shares.size(); i += places)
      shares[i] = shares[i] > 0 ? 1 + evenness * (mean / shares[i] - 1) : 1;
  }
  return shares;
}

double replay::evaluate(const replay_change& change, std::vector<id>* latest) const {
  std::vector<double> ends(at_.size(), 0);
  std::vector<arrival> met(meetings_.size());
  if (latest != nullptr) latest->assign(at_.size(), id{});
  std::vector<double> times(p_.places.size() + 1, 1);
  for (const replay_change::scaled& one : change.computation)
    for (std::size_t i = 0; i < times.size(); ++i) {
      const std::string name = place_name(p_, static_cast<std::int32_t>(i) - 1);
      if (one.is_whole ? name == one.place : is_named_by(name, one.place)) times[i] = one.times;
    }
  const std::vector<double> shares = shares_of_mean(change.evenness);
  const auto times_of = [&](const id& i, const step& s) {
    if (!is_computation(s.kind)) return 1.0;
    const auto place = at(s.place + 1);
    return times[place] * (shares.empty() ? 1 : shares[at(i.rank) * times.size() + place]);
  };
  const auto end_of = [&](const id& i) { return ends[first_[at(i.rank)] + at(i.number)]; };
  // Arrivals at collectives are known before their ends are, as in the record: with the step before, or the one that comes.
  const auto arrive = [&](const id& now) {
    const auto& steps = p_.of_rank[at(now.rank)];
    for (std::int32_t number = now.number; number <= now.number + 1 && at(number) < steps.size();
         ++number) {
      const id came = came_by({now.rank, number});
      if (came.rank < 0 || came.number != now.number) continue;
      arrival& m = met[at(steps[at(number)].peer)];
      if (end_of(now) >= m.last) m = {end_of(now), now};
    }
  };
  double last = 0;
  for (const node& n : nodes_) {
    const step& s = of(n.step);
    double ready = n.step.number == 0 ? 0 : end_of({n.step.rank, n.step.number - 1});
    id by = n.step.number == 0 ? id{} : id{n.step.rank, n.step.number - 1};
    bool is_transfer = false;
    for (std::int32_t i = n.first_cause; i < n.last_cause; ++i) {
      const id& cause = causes_[at(i)];
      const bool is_message = i < n.last_message;
      const double then =
          end_of(cause) + (is_message && needs_message(s.kind) ? change.more_ns : 0);
      is_transfer |= is_message;
      if (then > ready) {
        ready = then;
        by = cause;
      }
    }
    if (is_meeting(s.kind)) {
      is_transfer = true;
      const arrival& m = met[at(s.peer)];
      if (needs_meeting(s, n.step.rank)) {
        const double then = m.last + rounds_of(s) * change.more_ns;
        if (then > ready) {
          ready = then;
          by = m.who;
        }
      }
    }
    const double residue = n.residue * (is_transfer ? change.transfers : 1);
    const double took = n.duration * times_of(n.step, s);
    const double end = ready + residue + took;
    const std::size_t own = first_[at(n.step.rank)] + at(n.step.number);
    ends[own] = end;
    if (latest != nullptr) (*latest)[own] = by;
    last = std::max(last, end);
    arrive(n.step);
  }
  return last;
}

double replay::run(const replay_change& change) const {
  return evaluate(change, nullptr);
}

std::vector<place_cost> replay::critical_path() const {
  std::vector<id> latest;
  evaluate({}, &latest);
  id now;
  double end = -1;
  for (int rank = 0; rank < p_.ranks(); ++rank)
    if (!p_.of_rank[at(rank)].empty() && p_.of_rank[at(rank)].back().end_ns > end) {
      end = p_.of_rank[at(rank)].back().end_ns;
      now = {rank, static_cast<std::int32_t>(p_.of_rank[at(rank)].size()) - 1};
    }
  std::map<std::string, place_cost> costs;
  const auto add = [&](const std::string& name, double ns) {
    if (ns <= 0) return;
    place_cost& c = costs[name];
    c.place = name;
    c.ns += ns;
  };
  while (now.rank >= 0) {
    const node& n = *node_at(now);
    const step& s = of(now);
    const std::string place = place_name(p_, s.place);
    if (is_computation(s.kind))
      add(formatted("computation before {}", place), n.duration);
    else
      add(place, n.duration);
    add(is_computation(s.kind) ? "other ranks of the worker" : formatted("transfer in {}", place),
        n.residue);
    now = latest[first_[at(now.rank)] + at(now.number)];
  }
  return sorted(costs);
}

// What `rank` did between two moments, for which others waited.
void replay::charge(int rank, double from, double until, int depth,
                    std::vector<place_cost>& to) const {
  constexpr int depth_max = 16;
  const auto& steps = p_.of_rank[at(rank)];
  auto i = std::ranges::upper_bound(steps, from, {}, &step::end_ns) - steps.begin();
  for (; i < std::ssize(steps); ++i) {
    const id now{rank, static_cast<std::int32_t>(i)};
    const step& s = of(now);
    const double begin = std::max(begun_of(now), from), end = std::min(s.end_ns, until);
    if (begin >= until) return;
    if (end <= begin) continue;
    if (is_own_time(s.kind) && !s.is_stolen) {
      place_cost& c = to[at(s.place + 1)];
      (depth == 0 ? c.ns : c.indirect_ns) += end - begin;
      continue;
    }
    // It waited itself: for whom?
    const node& n = *node_at(now);
    id cause = n.cause;
    if (is_meeting(s.kind) && needs_meeting(s, rank)) cause = meetings_[at(s.peer)].who;
    if (cause.rank < 0 || cause.rank == rank || depth == depth_max) continue;
    const double came = std::min(of(cause).end_ns, end);
    if (came > begin) charge(cause.rank, begin, came, depth + 1, to);
  }
}

std::vector<place_cost> replay::delays() const {
  std::vector<place_cost> by_place(p_.places.size() + 1);
  for (const node& n : nodes_) {
    const step& s = of(n.step);
    id cause = n.cause;
    if (is_meeting(s.kind) && needs_meeting(s, n.step.rank)) cause = meetings_[at(s.peer)].who;
    if (cause.rank < 0 || cause.rank == n.step.rank) continue;
    const double begun = begun_of(n.step), came = std::min(of(cause).end_ns, s.end_ns);
    if (came > begun) charge(cause.rank, begun, came, 0, by_place);
  }
  std::map<std::string, place_cost> costs;
  for (std::size_t i = 0; i < by_place.size(); ++i) {
    if (by_place[i].ns + by_place[i].indirect_ns <= 0) continue;
    const std::string name =
        formatted("computation before {}", place_name(p_, static_cast<std::int32_t>(i) - 1));
    place_cost& c = costs[name];
    c.place = name;
    c.ns += by_place[i].ns;
    c.indirect_ns += by_place[i].indirect_ns;
  }
  return sorted(costs);
}

double replay::tolerance_ns(double loss) const {
  // The time of the run is convex in what each message takes more: a line through two points of it lies above it between
  // them, and below it beyond.
  const double unchanged = run(), most = unchanged * (1 + loss);
  const auto time_with = [&](double more) {
    replay_change change;
    change.more_ns = more;
    return run(change);
  };
  constexpr double longest = 1e12;
  double low = 0, low_time = unchanged, lower = 0, lower_time = unchanged,
         high = std::max(1.0, loss * unchanged / 1'000);
  double high_time = time_with(high);
  while (high_time <= most) {
    lower = std::exchange(low, high);
    lower_time = std::exchange(low_time, high_time);
    high *= 16;
    if (high > longest) return std::numeric_limits<double>::infinity();
    high_time = time_with(high);
  }
  for (int i = 0; i < 40 && high - low > 0.001 * high; ++i) {
    const double on_line = low + (high - low) * (most - low_time) / (high_time - low_time);
    const double beyond = low_time > lower_time
                              ? low + (low - lower) * (most - low_time) / (low_time - lower_time)
                              : high;
    double next = i % 2 == 0 ? on_line : beyond;
    if (!(next > low && next < high)) next = (low + high) / 2;
    const double time = time_with(next);
    if (time <= most) {
      lower = std::exchange(low, next);
      lower_time = std::exchange(low_time, time);
    } else {
      high = next;
      high_time = time;
    }
  }
  return low;
}

}  // namespace weft::breakdown
