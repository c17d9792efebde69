// The parts of a communicator, and how communicators are made: out of others, in calls of all their ranks; and out of lists
// of ranks, in calls of those ranks alone.
#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "collective/broken_communicator.hpp"
#include "collective/buffer_exposure.hpp"
#include "collective/calls.hpp"
#include "collective/control_messages.hpp"
#include "collective/joining.hpp"
#include "collective/meetings.hpp"
#include "collective/new_communicators.hpp"
#include "collective/subgroups.hpp"
#include "rank/names.hpp"
#include "rank/remote.hpp"
#include "rank/source_validation.hpp"
#include "weft/communicator.hpp"

namespace weft {

using namespace detail;

namespace {

// Whether the ranks of each worker, of whatever process, follow one another, and no process has so
// many workers that they combine in a tree.
bool workers_in_rank_order(const messaging& of, const std::vector<int>& ranks) {
  std::map<int, int> workers_of;
  std::set<std::pair<int, int>> left;
  std::pair<int, int> last{-1, -1};
  for (const int rank : ranks) {
    const rank_place place = place_of(of, rank);
    const std::pair<int, int> home{place.process, place.worker};
    if (home == last) continue;
    if (!left.insert(home).second || ++workers_of[place.process] > static_cast<int>(tree_width))
      return false;
    last = home;
  }
  return true;
}

}  // namespace

// False when a node's subgroups do not follow each other.
bool communicator_state::group_subgroups_by_node() {
  if (reaches_other_jobs(*this)) {  // Each job numbers nodes by itself: a subgroup counts as one.
    node_of_subgroup.resize(subgroups.size());
    std::iota(node_of_subgroup.begin(), node_of_subgroup.end(), 0);
    nodes.resize(subgroups.size());
    for (std::size_t s = 0; s < subgroups.size(); ++s) nodes[s].push_back(static_cast<int>(s));
    return true;
  }
  std::map<int, int> places;  // Of nodes.
  for (const subgroup& s : subgroups) {
    const auto process = static_cast<std::size_t>(s.process);
    const int node = of.in_job.node_of_process.empty() ? 0 : of.in_job.node_of_process[process];
    node_of_subgroup.push_back(places.emplace(node, static_cast<int>(places.size())).first->second);
  }
  if (places.size() == 1) std::iota(node_of_subgroup.begin(), node_of_subgroup.end(), 0);
  nodes.resize(places.size() == 1 ? subgroups.size() : places.size());
  for (std::size_t s = 0; s < subgroups.size(); ++s)
    nodes[static_cast<std::size_t>(node_of_subgroup[s])].push_back(static_cast<int>(s));
  return std::is_sorted(node_of_subgroup.begin(), node_of_subgroup.end());
}

communicator_state::communicator_state(messaging& in, const std::vector<int>& ranks,
                                       std::uint32_t number)
    : of(in),
      listed_in(in.communicators),
      context(number),
      rank_count(static_cast<int>(ranks.size())),
      members(ranks.size()),
      broadcasts(ranks.size() > 1 ? std::make_unique<small_broadcasts>() : nullptr) {
  owners.expect(1);
  const job& j = of.in_job;
  std::vector<int> group_of(static_cast<std::size_t>(j.workers->worker_count()), -1);
  std::vector<std::vector<int>> ranks_of;
  std::map<int, std::size_t> subgroup_of;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto rank = static_cast<int>(i);
    const rank_place place = place_of(of, ranks[i]);
    if (subgroup_of.emplace(place.process, subgroups.size()).second)
      subgroups.push_back({place.process, {}});
    else if (place.process != subgroups.back().process)
      subgroups_in_rank_order = false;
    subgroups[subgroup_of[place.process]].members.push_back(rank);
    if (place.rank == nullptr) {
      peers.push_back({&of.remote, remote_worker, ranks[i]});
      continue;
    }
    here = static_cast<int>(subgroup_of[place.process]);
    member& m = members[i];
    m.rank = static_cast<rank_state*>(place.rank);
    m.waits_in = {.context = context, .subject = this};
    peers.push_back({m.rank, place.worker, ranks[i]});
    int& group = group_of[static_cast<std::size_t>(place.worker)];
    if (group < 0) {
      group = static_cast<int>(ranks_of.size());
      ranks_of.emplace_back();
      workers.push_back(place.worker);
    }
    auto& same_worker = ranks_of[static_cast<std::size_t>(group)];
    same_worker.push_back(rank);
  }
  if (spans_processes()) {
    auto places = std::make_shared<std::int32_t[]>(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i)
      places[static_cast<std::ptrdiff_t>(i)] = place_of(of, ranks[i]).process;
    processes = std::move(places);
  }
  const bool nodes_in_order = group_subgroups_by_node();
  combines_in_rank_order =
      subgroups_in_rank_order && nodes_in_order && workers_in_rank_order(of, ranks);
  groups = std::vector<worker_group>(ranks_of.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups[g].members = std::move(ranks_of[g]);
    groups[g].missing = groups[g].members.size();
    for (const int r : groups[g].members) at(r).group = &groups[g];
    const std::size_t same_worker = groups[g].members.size();
    ranks_of_group_max = std::max(ranks_of_group_max, same_worker);
    parts_of_group_max = std::max(parts_of_group_max, same_worker * (ranks.size() - same_worker));
  }
  // Nothing comes from elsewhere: each group has one, made when it is first needed, for who speaks for it.
  if (!spans_processes()) staged.buffers.resize(groups.size());
}

shared_handle<communicator_state> communicator_state::make(messaging& of,
                                                           const std::vector<int>& ranks,
                                                           std::uint32_t number) {
  auto made = shared_handle<communicator_state>(new communicator_state(of, ranks, number));
  const std::lock_guard hold(made->listed_in->lock);
  made->listed_in->by_context.emplace(number, made.get());
  if (made->spans_processes() && made->here >= 0) take_early_news(*made);
  return made;
}

void detail::add_owner(communicator_state& of) noexcept {
  of.owners.expect_another();
}

void detail::remove_owner(communicator_state& of) noexcept {
  if (of.owners.arrive() == 0) delete &of;
}

communicator_state::~communicator_state() {
  std::string unequal = unequal_calls(*this);
  const std::lock_guard hold(listed_in->lock);
  if (listed_in->unequal.empty()) listed_in->unequal = std::move(unequal);
  const auto same = listed_in->by_context.equal_range(context);
  for (auto at = same.first; at != same.second; ++at)
    if (at->second == this) {
      listed_in->by_context.erase(at);
      break;
    }
  // Relaxed: the owners' count orders it.
  if (has_agreed.load(std::memory_order_relaxed))
    listed_in->ended_agreements.push_back(meeting_name(context, to(local()[0]).number));
  if (meetings != nullptr)
    listed_in->ended_meetings.emplace_back(workers[0],
                                           meeting_name(context, to(local()[0]).number));
}

int communicator::size() const noexcept {
  return state_->size();
}

namespace {

// What each rank tells the others in split() and create().
struct group_request {
  int color;
  int key;
  // The list of create(): its first rank (-1: no list), its length, and a digest of it.
  int first = -1;
  std::uint32_t count = 0;
  std::uint64_t list = 0;
};
struct listed_request {
  group_request in_short;
  std::span<const int> list;
};
struct place_in_group {
  shared_handle<communicator_state> state;
  int rank = -1;
};
struct made_groups {
  std::vector<place_in_group> places;
  std::string contradiction;  // Of two lists; then nothing was made.
};

std::uint64_t as_number(std::span<const int> ranks) noexcept {
  std::uint64_t number = 0;
  for (const int r : ranks)
    number = (number ^ static_cast<std::uint64_t>(r)) * 0x9e3779b97f4a7c15u + 1;
  return number;
}

// The ranks that have a colour, in the order of colour, key and rank.
std::vector<int> in_order(const std::vector<group_request>& requests) {
  std::vector<int> order;
  for (std::size_t r = 0; r < requests.size(); ++r)
    if (requests[r].color != undefined_color) order.push_back(static_cast<int>(r));
  const auto request_of = [&](int r) { return requests[static_cast<std::size_t>(r)]; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const group_request wa = request_of(a);
    const group_request wb = request_of(b);
    return wa.color != wb.color ? wa.color < wb.color : wa.key < wb.key;
  });
  return order;
}

// The groups that `requests` ask for: one communicator for all ranks of this process in each. All
// processes make them in the same order, so they agree on their contexts.
std::vector<place_in_group> make_groups(communicator_state& c,
                                        const std::vector<group_request>& requests,
                                        const std::function<std::uint32_t(std::uint32_t)>& take) {
  const std::vector<int> order = in_order(requests);
  const auto color_of = [&](std::size_t i) {
    return requests[static_cast<std::size_t>(order[i])].color;
  };
  std::uint32_t groups = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
    groups += i == 0 || color_of(i) != color_of(i - 1) ? 1 : 0;
  std::uint32_t context = take(groups);
  const std::uint32_t step = reaches_other_jobs(c) ? 1 : c.of.context_step();
  std::vector<place_in_group> places(requests.size());
  for (std::size_t begin = 0; begin < order.size(); context += step) {
    std::size_t end = begin;
    std::vector<int> ranks;
    bool any_here = false;
    while (end < order.size() && color_of(end) == color_of(begin)) {
      any_here = any_here || c.at(order[end]).rank != nullptr;
      ranks.push_back(c.to(order[end++]).number);
    }
    if (any_here) {
      const auto made = communicator_state::make(c.of, ranks, context);
      for (std::size_t i = begin; i < end; ++i)
        places[static_cast<std::size_t>(order[i])] = {made, static_cast<int>(i - begin)};
    }
    begin = end;
  }
  return places;
}

// The first of `count` contexts for communicators out of the ranks of `c`.
std::uint32_t contexts_for(const communicator_state& c, std::uint32_t count) {
  return reaches_other_jobs(c) ? draw_joined_contexts(c.of, count) : c.of.take_contexts(count);
}

// The first of `count` contexts: the leader of the first subgroup takes them and tells the others.
std::uint32_t agree_on_contexts(communicator_state& c, const collective_call& call, int rank,
                                const wait_description& what, std::uint32_t count) {
  std::uint32_t first = c.here == 0 ? contexts_for(c, count) : 0;
  const max most;
  const reduction how = make_reduction<std::uint32_t>(most, 1);
  reduce_over_subgroups(c, call, rank, what, how, reinterpret_cast<std::byte*>(&first));
  return first;
}

// Whether each rank that a list names has passed that list: so two lists are equal or have no rank in common.
bool lists_agree(const std::vector<group_request>& requests) {
  const auto size = static_cast<int>(requests.size());
  std::vector<std::uint32_t> came(requests.size());
  for (const group_request& w : requests) {
    if (w.first < 0) continue;
    if (w.first >= size) return false;  // Another process may have said it.
    const auto first = static_cast<std::size_t>(w.first);
    const group_request& other = requests[first];
    if (other.first != w.first || other.count != w.count || other.list != w.list) return false;
    if (w.color != undefined_color) ++came[first];
  }
  return std::ranges::all_of(requests, [&](const group_request& w) {
    return w.first < 0 || came[static_cast<std::size_t>(w.first)] == w.count;
  });
}

// "ranks 3, 1" in the order of the list, of many only the first.
std::string list_name(const std::vector<int>& ranks) {
  if (ranks.empty()) return "no ranks";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), ranks_listed_max); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > ranks_listed_max)
    text += " and " + std::to_string(ranks.size() - ranks_listed_max) + " more";
  return text;
}

// The text about lists of ranks in create() that contradict each other.
std::string contradiction_of(const communicator_state& c, const char* name,
                             const std::vector<std::vector<int>>& lists) {
  std::string text = std::string(name) + " on " + name_of(c) + ": ";
  for (std::size_t r = 0; r < lists.size(); ++r)
    for (const int named : lists[r]) {
      const auto other = static_cast<std::size_t>(named);
      if (other >= lists.size() || lists[other] == lists[r]) continue;
      return text + "rank " + std::to_string(r) + " lists " + list_name(lists[r]) + ", but rank " +
             std::to_string(named) + " lists " + list_name(lists[other]) +
             ": each listed rank must pass the same list, in the same order";
    }
  return text + "the lists of the ranks contradict each other";
}

// Called by the leader while the others wait: takes what each rank shows to all.
template <class Part, class Take>
void show_all(communicator_state& c, int rank, collective_turn& turn, const exposure<Part>& what,
              const Take& take) {
  buffer_exposure all(c, rank, turn, what);
  if (c.spans_processes()) all.exchange_with_subgroups();
  for (std::size_t r = 0; r < c.members.size(); ++r) take(r, all.part(static_cast<int>(r)));
}

// The communicator that this rank gets.
std::optional<communicator> make_together(communicator_state& c, int rank,
                                          const listed_request& mine, const char* name) {
  made_groups made;
  const int first = c.local()[0];
  collective_turn turn(c, rank, {name, no_root, true, 0});
  member& m = turn.self();
  m.in = &mine;
  m.more = &made;
  turn.meet_to_move();
  if (rank == first) {
    // All processes see the same, and so decide the same.
    turn.lead([&] {
      const auto wished_by = [](const member& of) {
        return static_cast<const listed_request*>(of.in);
      };
      const exposure in_short{
          .part = [&](const member& of,
                      int) { return std::as_bytes(std::span(&wished_by(of)->in_short, 1)); },
          .part_bytes = sizeof(group_request)};
      std::vector<group_request> requests(c.members.size());
      show_all(c, rank, turn, in_short, [&](std::size_t r, std::span<const std::byte> shown) {
        std::memcpy(&requests[r], shown.data(), sizeof(group_request));
      });
      if (lists_agree(requests)) {
        made.places = make_groups(c, requests, [&](std::uint32_t count) {
          return c.spans_processes() ? agree_on_contexts(c, m.call, rank, turn.description(), count)
                                     : c.of.take_contexts(count);
        });
        return;
      }
      const exposure in_full{
          .part = [&](const member& of, int) { return std::as_bytes(wished_by(of)->list); },
          .known = sizes::of_each};
      std::vector<std::vector<int>> lists(c.members.size());
      show_all(c, rank, turn, in_full, [&](std::size_t r, std::span<const std::byte> shown) {
        lists[r].resize(shown.size() / sizeof(int));
        copy_bytes(lists[r].data(), shown.data(), lists[r].size() * sizeof(int));
      });
      made.contradiction = contradiction_of(c, name, lists);
    });
  }
  turn.meet_here();
  const auto& all = *static_cast<const made_groups*>(c.at(first).more);
  const std::string contradiction = all.contradiction;
  place_in_group result;
  if (contradiction.empty()) result = all.places[static_cast<std::size_t>(rank)];
  turn.meet_here();
  if (!contradiction.empty()) throw coded_error(contradiction, calls_differ);
  if (result.state == nullptr) return std::nullopt;
  check_early_messages(turn.rank(), *result.state);
  return communicator(std::move(result.state), result.rank);
}

}  // namespace

namespace detail {

std::optional<communicator> split(communicator_state& c, int rank, int color, int key,
                                  const char* name) {
  if (color < 0 && color != undefined_color)
    throw error(std::string(name) + " with color " + std::to_string(color) +
                ": colors are 0 or more, or undefined_color");
  return make_together(c, rank, {{color, key}, {}}, name);
}

std::optional<communicator> create(communicator_state& c, int rank, std::span<const int> ranks,
                                   const char* name) {
  const auto place = std::find(ranks.begin(), ranks.end(), rank);
  const int first = ranks.empty() ? -1 : ranks.front();
  const group_request mine{place == ranks.end() ? undefined_color : first,
                           static_cast<int>(place - ranks.begin()), first,
                           static_cast<std::uint32_t>(ranks.size()), as_number(ranks)};
  return make_together(c, rank, {mine, ranks}, name);
}

void check_early_messages(rank_state& me, communicator_state& c) {
  if (!c.spans_processes()) return;
  // Relaxed: set before this rank got the communicator, or its mail comes later.
  if (c.cut_off.load(std::memory_order_relaxed)) end_control_messages(*me.home, c);
  for (unexpected_message* m = me.lists.oldest(); m != nullptr;) {
    unexpected_message* const old = std::exchange(m, match_lists::after(*m));
    if (!old->early || base_context(old->from.context) != c.context) continue;
    const early_sender sender = std::exchange(old->early, {});
    if (c.process_of(old->from.source) == sender.process) continue;
    me.lists.remove(*old);
    drop_unexpected(me, old);
    remote::refuse(*me.home, comm::address{sender.process, sender.device}, foreign_source);
  }
  set_congestion(me);
}

communicator join(messaging& of, rank_state& me, const std::vector<int>& ranks,
                  std::uint32_t context, std::uint32_t key) {
  const auto rank =
      static_cast<int>(std::find(ranks.begin(), ranks.end(), me.number) - ranks.begin());
  const auto here = std::count_if(ranks.begin(), ranks.end(),
                                  [&](int r) { return place_of(of, r).rank != nullptr; });
  const auto take = [&] {
    if (here == 1) return communicator_state::make(of, ranks, context);
    const std::lock_guard hold(of.coming.lock);
    auto [at, first] = of.coming.by_context.try_emplace(key);
    if (first) at->second = {communicator_state::make(of, ranks, context), static_cast<int>(here)};
    const auto made = at->second.state;
    if (--at->second.left == 0) of.coming.by_context.erase(at);
    return made;
  };
  shared_handle<communicator_state> mine = take();
  check_early_messages(me, *mine);
  return communicator(std::move(mine), rank);
}

namespace {

// What the first rank of a new group tells the other members.
struct group_call {
  std::uint32_t context = 0;
  std::int32_t size = 0;
  std::uint64_t members = 0;  // The list as one number.
};

}  // namespace

communicator create_group(communicator_state& c, int rank, std::span<const int> ranks, int tag,
                          const char* name) {
  rank_state& me = calling_rank(name);
  me.home->check_stopped();
  std::vector<int> numbers;
  for (const int r : ranks) numbers.push_back(c.to(r).number);
  group_call mine{0, static_cast<std::int32_t>(ranks.size()), as_number(ranks)};
  const int first = ranks.front();
  const wait_description what{name, c.context, first, tag, 0};
  group_call of_first;
  control_messages with(me, what, lengths::any);
  if (rank == first) {
    mine.context = contexts_for(c, 1);
    for (const int r : ranks)
      if (r != rank)
        with.send(c.to(r), r, {c.context | group_context, rank, tag},
                  std::as_bytes(std::span(&mine, 1)));
    with.wait();
  } else {
    with.receive(me, {c.context | group_context, first, tag},
                 std::as_writable_bytes(std::span(&of_first, 1)));
    with.wait();
    if (of_first.size != mine.size || of_first.members != mine.members)
      throw error(std::string(name) + " on " + name_of(c) + ": rank " + std::to_string(first) +
                  " calls with another group than rank " + std::to_string(rank) +
                  ": all members must name the same ranks in the same order");
    mine.context = of_first.context;
  }
  return join(c.of, me, numbers, mine.context);
}

communicator create_named(rank_state& me, named_inbox& inbox, const std::vector<int>& numbers,
                          std::string_view name, const char* call) {
  me.home->check_stopped();
  if (const auto far = std::ranges::find_if(
          numbers, [&](int number) { return is_of_other_job(*me.shared, number); });
      far != numbers.end())
    throw error(
        std::string(call) +
        ": the group has ranks of another job: make the communicator out of one that has them all");
  group_call mine{0, static_cast<std::int32_t>(numbers.size()), as_number(numbers)};
  const int first = numbers.front();
  if (me.number == first) {
    mine.context = me.shared->take_contexts(1);
    for (const int number : numbers)
      if (number != first) send_named(me, number, name, std::as_bytes(std::span(&mine, 1)), call);
    return join(*me.shared, me, numbers, mine.context);
  }
  group_call of_first;
  const std::vector<std::byte> came = inbox.receive(me, first, name, sizeof of_first, call);
  if (came.size() == sizeof of_first) std::memcpy(&of_first, came.data(), sizeof of_first);
  if (of_first.size != mine.size || of_first.members != mine.members)
    throw error(std::string(call) + ": rank " + std::to_string(first) +
                " calls with another group than rank " + std::to_string(me.number) +
                ": all members must name the same ranks in the same order");
  return join(*me.shared, me, numbers, of_first.context);
}

}  // namespace detail

std::optional<communicator> communicator::split(int color, int key) const {
  return detail::split(*state_, rank_, color, key, "split");
}

communicator communicator::dup() const {
  return *detail::split(*state_, rank_, 0, 0, "dup");
}

communicator communicator::split_node() const {
  const job& j = state_->of.in_job;
  const int process = j.process;
  const int node =
      j.node_of_process.empty() ? 0 : j.node_of_process[static_cast<std::size_t>(process)];
  return *detail::split(*state_, rank_, node, 0, "split_node");
}

std::optional<communicator> communicator::create(std::span<const int> ranks) const {
  for (const int r : ranks)
    if (r < 0 || r >= size())
      throw error("create with rank " + std::to_string(r) + ": the communicator has ranks 0 to " +
                  std::to_string(size() - 1));
  std::vector<int> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    throw error("create names rank " + std::to_string(*twice) + " twice; name each rank once");
  return detail::create(*state_, rank_, ranks, "create");
}

communicator communicator::self() const {
  rank_state& me = *state_->at(rank_).rank;
  // No chunk has one.
  if (const auto* const caller = static_cast<rank_state*>(worker::caller()); caller != nullptr)
    check_is_own(*state_, rank_, *caller, "self");
  if (me.self == nullptr)
    me.self =
        communicator_state::make(state_->of, std::vector{me.number}, state_->of.take_contexts(1));
  return communicator(me.self, 0);
}

}  // namespace weft
