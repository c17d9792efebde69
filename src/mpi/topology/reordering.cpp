// Places are divided among nodes, those of a node among its processes, those of a process among its workers. Of three divisions
// each time the one that cuts the least is taken: as ranks are numbered, in blocks of the grid, and in parts of the graph that
// grow from a place and then exchange places.
#include "mpi/topology/reordering.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>
#include <span>

#include "base/settings.hpp"
#include "mpi/object/communicator.hpp"
#include "mpi/object/group.hpp"
#include "mpi/object/state.hpp"
#include "rank/remote.hpp"

namespace weft::mpi {
namespace {

// Grown parts exchange places in so many passes at most, and only where so many pairs of places at most are looked at in each,
// which takes about a tenth of a second.
constexpr int exchange_passes_max = 4;
constexpr std::size_t exchange_pairs_max = 4'000'000;
// More places than this are not divided in grown parts, which takes their square in steps at worst.
constexpr std::size_t grown_places_max = 20'000;

// The edges of each place in both directions.
struct adjacency {
  struct half_edge {
    int to;
    long weight;
  };
  std::vector<std::size_t> first;  // Of a place's edges; and the end of all.
  std::vector<half_edge> edges;

  [[nodiscard]] std::span<const half_edge> of(int place) const {
    const auto p = static_cast<std::size_t>(place);
    return {edges.data() + first[p], first[p + 1] - first[p]};
  }
};

std::vector<int> coordinates(const std::vector<int>& dims, int place) {
  std::vector<int> at(dims.size());
  for (std::size_t d = dims.size(); d-- > 0;) {
    at[d] = place % dims[d];
    place /= dims[d];
  }
  return at;
}

std::vector<wanted_neighbors::edge> edges_of_grid(const wanted_neighbors& grid, int places) {
  std::vector<wanted_neighbors::edge> edges;
  for (int p = 0; p < places; ++p) {
    const std::vector<int> at = coordinates(grid.dims, p);
    int step = 1;  // To the next place in the dimension.
    for (std::size_t d = grid.dims.size(); d-- > 0;) {
      if (at[d] + 1 < grid.dims[d])
        edges.push_back({p, p + step, 1});
      else if (grid.periods[d] != 0 && grid.dims[d] > 1)
        edges.push_back({p, p - at[d] * step, 1});
      step *= grid.dims[d];
    }
  }
  return edges;
}

adjacency both_directions(const std::vector<wanted_neighbors::edge>& edges, std::size_t places) {
  adjacency a;
  a.first.assign(places + 1, 0);
  for (const auto& e : edges) {
    ++a.first[static_cast<std::size_t>(e.from) + 1];
    ++a.first[static_cast<std::size_t>(e.to) + 1];
  }
  std::partial_sum(a.first.begin(), a.first.end(), a.first.begin());
  a.edges.resize(a.first.back());
  std::vector<std::size_t> next(a.first.begin(), a.first.end() - 1);
  for (const auto& e : edges) {
    a.edges[next[static_cast<std::size_t>(e.from)]++] = {e.to, e.weight};
    a.edges[next[static_cast<std::size_t>(e.to)]++] = {e.from, e.weight};
  }
  return a;
}

constexpr int nowhere = -1;

// Divides some places into parts of given sizes. `part` says of each place of the topology in which it is, or `nowhere`.
class division {
 public:
  division(const adjacency& graph, const std::vector<int>& dims, std::vector<int> places,
           std::vector<std::size_t> sizes)
      : graph_(graph), dims_(dims), places_(std::move(places)), sizes_(std::move(sizes)) {}

  // The parts of places_, one by one. `in_order`: as ranks are numbered.
  [[nodiscard]] std::vector<int> best(std::vector<int> in_order) const {
    std::vector<int> least = std::move(in_order);
    long least_cut = cut(least);
    const auto consider = [&](std::vector<int> other) {
      const long other_cut = cut(other);
      if (other_cut >= least_cut) return;
      least = std::move(other);
      least_cut = other_cut;
    };
    if (least_cut == 0) return least;
    const bool has_blocks = each_block_shape(
        [&](const std::vector<int>& low, const std::vector<int>& room,
            const std::vector<int>& block) { consider(in_blocks(low, room, block)); });
    if (!has_blocks && places_.size() <= grown_places_max) consider(grown());
    return least;
  }

 private:
  using list = std::vector<int>;

  // By place of the topology.
  [[nodiscard]] std::vector<int> spread(const std::vector<int>& parts) const {
    std::vector<int> part(graph_.first.size() - 1, nowhere);
    for (std::size_t i = 0; i < places_.size(); ++i) part[index(places_[i])] = parts[i];
    return part;
  }
  [[nodiscard]] std::vector<int> gathered(const std::vector<int>& part) const {
    std::vector<int> parts;
    parts.reserve(places_.size());
    for (const int p : places_) parts.push_back(part[index(p)]);
    return parts;
  }
  static std::size_t index(int place) { return static_cast<std::size_t>(place); }

  // Twice the weight of the edges between parts.
  [[nodiscard]] long cut(const std::vector<int>& parts) const {
    const std::vector<int> part = spread(parts);
    long all = 0;
    for (const int p : places_)
      for (const auto& e : graph_.of(p))
        if (part[index(e.to)] != nowhere && part[index(e.to)] != part[index(p)]) all += e.weight;
    return all;
  }

  // Visits the shapes of equal blocks, one for each part, of which the places consist. False: there are none.
  template <class Visit>
  bool each_block_shape(const Visit& visit) const {
    if (dims_.empty() || std::ranges::adjacent_find(sizes_, std::not_equal_to<>{}) != sizes_.end())
      return false;
    list low = coordinates(dims_, places_.front()), high = low;
    for (const int p : places_) {
      const list at = coordinates(dims_, p);
      for (std::size_t d = 0; d < dims_.size(); ++d) {
        low[d] = std::min(low[d], at[d]);
        high[d] = std::max(high[d], at[d]);
      }
    }
    list room(dims_.size());
    std::size_t volume = 1;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      room[d] = high[d] - low[d] + 1;
      volume *= static_cast<std::size_t>(room[d]);
    }
    if (volume != places_.size()) return false;
    bool any = false;
    list block(dims_.size(), 1);
    const std::function<void(std::size_t, int)> choose = [&](std::size_t d, int left) {
      if (d == dims_.size()) {
        if (left != 1) return;
        any = true;
        visit(low, room, block);
        return;
      }
      for (int b = 1; b <= room[d] && b <= left; ++b) {
        if (room[d] % b != 0 || left % b != 0) continue;
        block[d] = b;
        choose(d + 1, left / b);
      }
    };
    choose(0, static_cast<int>(sizes_.front()));
    return any;
  }

  [[nodiscard]] std::vector<int> in_blocks(const list& low, const list& room,
                                           const list& block) const {
    std::vector<int> parts;
    parts.reserve(places_.size());
    for (const int p : places_) {
      const list at = coordinates(dims_, p);
      int number = 0;
      for (std::size_t d = 0; d < dims_.size(); ++d)
        number = number * (room[d] / block[d]) + (at[d] - low[d]) / block[d];
      parts.push_back(number);
    }
    return parts;
  }

  // Each part begins at the free place with the fewest free neighbours, and takes the neighbour that has most edges into it and,
  // of several, fewest to free places. So parts stay together and what is left does, too.
  [[nodiscard]] std::vector<int> grown() const {
    constexpr int open = -2;
    std::vector<int> part = spread(std::vector<int>(places_.size(), open));
    std::vector<long> free_weight(part.size(), 0), into(part.size(), 0);
    for (const int p : places_)
      for (const auto& e : graph_.of(p))
        if (part[index(e.to)] == open) free_weight[index(p)] += e.weight;
    for (std::size_t b = 0; b < sizes_.size(); ++b) {
      list border;
      for (std::size_t taken = 0; taken < sizes_[b]; ++taken) {
        const bool from_border = !border.empty();
        int chosen = nowhere;
        for (const int p : from_border ? border : places_) {
          if (part[index(p)] != open) continue;
          const auto better = [&](int other) {
            if (into[index(p)] != into[index(other)]) return into[index(p)] > into[index(other)];
            if (free_weight[index(p)] != free_weight[index(other)])
              return free_weight[index(p)] < free_weight[index(other)];
            return p < other;
          };
          if (chosen == nowhere || better(chosen)) chosen = p;
        }
        part[index(chosen)] = static_cast<int>(b);
        std::erase(border, chosen);
        for (const auto& e : graph_.of(chosen)) {
          if (part[index(e.to)] != open) continue;
          free_weight[index(e.to)] -= e.weight;
          if (into[index(e.to)] == 0) border.push_back(e.to);
          into[index(e.to)] += std::max(e.weight, 1L);
        }
      }
      for (const int p : border) into[index(p)] = 0;
    }
    exchange(part);
    return gathered(part);
  }

  [[nodiscard]] long weight_into(const std::vector<int>& part, int place, int wanted) const {
    long all = 0;
    for (const auto& e : graph_.of(place))
      if (part[index(e.to)] == wanted) all += e.weight;
    return all;
  }
  [[nodiscard]] long weight_between(int one, int other) const {
    long all = 0;
    for (const auto& e : graph_.of(one))
      if (e.to == other) all += e.weight;
    return all;
  }

  // Two places change their parts where that cuts less.
  void exchange(std::vector<int>& part) const {
    const std::size_t largest = *std::ranges::max_element(sizes_);
    if (graph_.edges.size() * largest > exchange_pairs_max) return;
    std::vector<list> members(sizes_.size());
    for (const int p : places_) members[index(part[index(p)])].push_back(p);
    bool changed = true;
    for (int pass = 0; changed && pass < exchange_passes_max; ++pass) {
      changed = false;
      for (const int p : places_) changed = exchange_best(part, members, p) || changed;
    }
  }
  bool exchange_best(std::vector<int>& part, std::vector<list>& members, int p) const {
    const int own = part[index(p)];
    const long stays = weight_into(part, p, own);
    long most = 0;
    int with = nowhere;
    for (const auto& e : graph_.of(p)) {
      const int there = part[index(e.to)];
      if (there == nowhere || there == own) continue;
      const long gained = weight_into(part, p, there) - stays;
      if (gained <= 0) continue;
      for (const int other : members[index(there)]) {
        const long both = gained + weight_into(part, other, own) - weight_into(part, other, there) -
                          2 * weight_between(p, other);
        if (both > most) most = both, with = other;
      }
    }
    if (with == nowhere) return false;
    const int there = part[index(with)];
    *std::ranges::find(members[index(own)], p) = with;
    *std::ranges::find(members[index(there)], with) = p;
    std::swap(part[index(p)], part[index(with)]);
    return true;
  }

  const adjacency& graph_;
  const std::vector<int>& dims_;
  const list places_;
  const std::vector<std::size_t> sizes_;
};

// Gives `places` to `ranks`, as many, both in ascending order, by where these are at home from `level` on.
class arrangement {
 public:
  arrangement(const wanted_neighbors& wanted, const std::vector<rank_home>& homes)
      : dims_(wanted.dims),
        homes_(homes),
        graph_(both_directions(wanted.dims.empty()
                                   ? wanted.edges
                                   : edges_of_grid(wanted, static_cast<int>(homes.size())),
                               homes.size())),
        place_of_(homes.size()) {
    std::vector<int> all(homes.size());
    std::iota(all.begin(), all.end(), 0);
    divide(all, all, 0);
  }
  [[nodiscard]] std::vector<int> take() { return std::move(place_of_); }

 private:
  void divide(const std::vector<int>& places, const std::vector<int>& ranks, std::size_t level) {
    if (level == std::tuple_size_v<rank_home> || ranks.size() <= 1) {
      for (std::size_t i = 0; i < ranks.size(); ++i)
        place_of_[static_cast<std::size_t>(ranks[i])] = places[i];
      return;
    }
    std::vector<int> seen;  // Homes, by the first rank there.
    std::vector<std::vector<int>> ranks_of;
    std::vector<int> in_order;
    for (const int r : ranks) {
      const int home = homes_[static_cast<std::size_t>(r)][level];
      const auto at = std::ranges::find(seen, home);
      const auto b = static_cast<std::size_t>(at - seen.begin());
      if (at == seen.end()) {
        seen.push_back(home);
        ranks_of.emplace_back();
      }
      ranks_of[b].push_back(r);
      in_order.push_back(static_cast<int>(b));
    }
    if (seen.size() == 1) return divide(places, ranks, level + 1);
    std::vector<std::size_t> sizes;
    for (const auto& of_home : ranks_of) sizes.push_back(of_home.size());
    const std::vector<int> part =
        division(graph_, dims_, places, std::move(sizes)).best(std::move(in_order));
    for (std::size_t b = 0; b < ranks_of.size(); ++b) {
      std::vector<int> own;
      for (std::size_t i = 0; i < places.size(); ++i)
        if (part[i] == static_cast<int>(b)) own.push_back(places[i]);
      divide(own, ranks_of[b], level + 1);
    }
  }

  const std::vector<int>& dims_;
  const std::vector<rank_home>& homes_;
  const adjacency graph_;
  std::vector<int> place_of_;
};

rank_home home_of(const detail::job& j, int number) {
  const detail::rank_place& p = j.places[static_cast<std::size_t>(number)];
  const int node =
      j.node_of_process.empty() ? 0 : j.node_of_process[static_cast<std::size_t>(p.process)];
  return {node, p.process, p.worker};
}

// The last arrangement of the process: its ranks ask for the same one after another.
struct last_arrangement {
  std::mutex lock;
  wanted_neighbors wanted;
  std::vector<rank_home> homes;
  std::vector<int> places;
};

}  // namespace

std::vector<int> places_of_ranks(const wanted_neighbors& wanted,
                                 const std::vector<rank_home>& homes) {
  return arrangement(wanted, homes).take();
}

bool may_reorder(const communicator_object& c) {
  return reorder_setting() && !detail::reaches_other_jobs(*c.shared);
}

int new_place(const state& me, const communicator_object& c, int size,
              const wanted_neighbors& wanted) {
  if (!may_reorder(c)) return c.own;
  const std::vector<int> numbers = local_ranks(c);
  std::vector<rank_home> homes;
  homes.reserve(static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r)
    homes.push_back(home_of(*me.rank.of, numbers[static_cast<std::size_t>(r)]));
  static last_arrangement last;
  const std::lock_guard hold(last.lock);
  if (last.wanted != wanted || last.homes != homes) {
    last.places = places_of_ranks(wanted, homes);
    last.wanted = wanted;
    last.homes = std::move(homes);
  }
  return last.places[static_cast<std::size_t>(c.own)];
}

}  // namespace weft::mpi
