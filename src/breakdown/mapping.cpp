#include "breakdown/mapping.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/format.hpp"
#include "base/rank_map.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

constexpr int passes_max = 20;

// What two ranks send to each other.
struct tie {
  std::size_t to;
  double messages, bytes, seconds;
};

class search {
 public:
  search(const summary& s, int workers, const mapping_costs& costs)
      : ties_(static_cast<std::size_t>(s.ranks)), load_(static_cast<std::size_t>(workers)) {
    for (const rank_summary& one : s.by_rank)
      work_.push_back(one.share_seconds[static_cast<std::size_t>(profile::share::computing)] +
                      one.share_seconds[static_cast<std::size_t>(profile::share::tasks)]);
    for (const exchange& x : s.exchanges) {
      if (x.from == x.to || x.to >= s.ranks || x.messages == 0) continue;
      const auto messages = static_cast<double>(x.messages), bytes = static_cast<double>(x.bytes);
      const double seconds = messages * costs.seconds_of_message + bytes * costs.seconds_of_byte;
      const auto from = static_cast<std::size_t>(x.from), to = static_cast<std::size_t>(x.to);
      ties_[from].push_back({to, messages, bytes, seconds});
      ties_[to].push_back({from, messages, bytes, seconds});
    }
    for (auto& ties : ties_) merge(ties);
  }

  // Improves `home`, the worker of each rank; returns what it costs then.
  double improve(std::vector<int>& home) {
    std::ranges::fill(load_, 0.0);
    for (std::size_t rank = 0; rank < home.size(); ++rank) load_[at(home[rank])] += work_[rank];
    near_.assign(home.size(), {});
    for (std::size_t rank = 0; rank < home.size(); ++rank)
      for (const tie& t : ties_[rank]) note_near(rank, home[t.to], t.seconds);
    for (int pass = 0; pass < passes_max && improve_once(home); ++pass) {
    }
    double cut = 0;
    for (std::size_t rank = 0; rank < home.size(); ++rank) cut += outside(home, rank, home[rank]);
    return *std::ranges::max_element(load_) + cut / 2;
  }

  [[nodiscard]] mapping_quality quality_of(const std::vector<int>& home) const {
    mapping_quality q;
    std::vector<double> load(load_.size());
    for (std::size_t rank = 0; rank < home.size(); ++rank) {
      load[at(home[rank])] += work_[rank];
      for (const tie& t : ties_[rank])
        if (home[t.to] != home[rank]) {
          q.messages += t.messages / 2;
          q.bytes += t.bytes / 2;
        }
    }
    q.most_seconds = *std::ranges::max_element(load);
    return q;
  }

  [[nodiscard]] double work(int rank) const { return work_[at(rank)]; }
  [[nodiscard]] std::size_t pairs_tried() const noexcept { return pairs_tried_; }

 private:
  [[nodiscard]] static std::size_t at(int index) noexcept {
    return static_cast<std::size_t>(index);
  }
  // One for each other rank, in their order.
  static void merge(std::vector<tie>& ties) {
    std::ranges::sort(ties, {}, &tie::to);
    std::size_t kept = 0;
    for (const tie& t : ties) {
      if (kept != 0 && ties[kept - 1].to == t.to) {
        tie& same = ties[kept - 1];
        same.messages += t.messages;
        same.bytes += t.bytes;
        same.seconds += t.seconds;
      } else {
        ties[kept++] = t;
      }
    }
    ties.resize(kept);
  }

  // `rank` sends to, and receives from, ranks of `worker` so much more.
  void note_near(std::size_t rank, int worker, double seconds) {
    auto& all = near_[rank];
    const auto found = std::ranges::lower_bound(all, worker, {}, &std::pair<int, double>::first);
    if (found != all.end() && found->first == worker)
      found->second += seconds;
    else
      all.insert(found, {worker, seconds});
  }
  [[nodiscard]] double near(std::size_t rank, int worker) const {
    const auto& all = near_[rank];
    const auto found = std::ranges::lower_bound(all, worker, {}, &std::pair<int, double>::first);
    return found != all.end() && found->first == worker ? found->second : 0;
  }
  // What `rank`, on `worker`, sends and receives beyond it.
  [[nodiscard]] double outside(const std::vector<int>& home, std::size_t rank, int worker) const {
    double seconds = 0;
    for (const tie& t : ties_[rank])
      if (home[t.to] != worker) seconds += t.seconds;
    return seconds;
  }
  [[nodiscard]] double between(std::size_t one, std::size_t other) const {
    const auto found = std::ranges::lower_bound(ties_[one], other, {}, &tie::to);
    return found != ties_[one].end() && found->to == other ? found->seconds : 0;
  }

  // What two workers with these loads add to the cost. The squares tell apart what the greatest does not.
  [[nodiscard]] double cost_of(double one, double other) const {
    const double most = std::max(one, other);
    return most + 1e-3 * (one * one + other * other) / std::max(most, 1e-12);
  }

  // What it would bring that two ranks change places.
  [[nodiscard]] double gain_of(const std::vector<int>& home, std::size_t one,
                               std::size_t other) const {
    const int a = home[one], b = home[other];
    const double moved = work_[other] - work_[one];
    const double gain_of_cut =
        near(one, b) - near(one, a) + near(other, a) - near(other, b) - 2 * between(one, other);
    return gain_of_cut + cost_of(load_[at(a)], load_[at(b)]) -
           cost_of(load_[at(a)] + moved, load_[at(b)] - moved);
  }

  // Each rank tries to change places with some ranks of some other workers: of those to which its messages go, of that which
  // computes least and of that which computes most.
  bool improve_once(std::vector<int>& home) {
    sort_members(home);
    bool any = false;
    std::vector<std::size_t> with;
    std::vector<std::pair<double, int>> pulls;
    for (std::size_t one = 0; one < home.size(); ++one) {
      pulls.clear();
      for (const auto& [worker, seconds] : near_[one])
        if (worker != home[one]) pulls.emplace_back(-seconds, worker);
      std::ranges::sort(pulls);
      with.clear();
      const auto consider = [&](int worker) {
        const std::size_t w = at(worker);
        if (worker != home[one] && with.size() < workers_tried_max &&
            std::ranges::find(with, w) == with.end())
          with.push_back(w);
      };
      consider(static_cast<int>(std::ranges::min_element(load_) - load_.begin()));
      consider(static_cast<int>(std::ranges::max_element(load_) - load_.begin()));
      for (const auto& [pull, worker] : pulls) consider(worker);
      for (const std::size_t worker : with) any |= change_places(home, one, worker);
    }
    return any;
  }

  // Those that are bound least to their worker first; and by work.
  void sort_members(const std::vector<int>& home) {
    loose_.assign(load_.size(), {});
    std::vector<double> bound(home.size());
    for (std::size_t rank = 0; rank < home.size(); ++rank) {
      for (const auto& [worker, seconds] : near_[rank])
        bound[rank] += worker == home[rank] ? seconds : -seconds;
      loose_[at(home[rank])].push_back(rank);
    }
    by_work_ = loose_;
    for (auto& members : loose_)
      std::ranges::stable_sort(members, {}, [&](std::size_t rank) { return bound[rank]; });
    for (auto& members : by_work_)
      std::ranges::stable_sort(members, {}, [&](std::size_t rank) { return work_[rank]; });
  }

  // With the best of some of that worker's ranks. False: none is better than to stay.
  bool change_places(std::vector<int>& home, std::size_t one, std::size_t worker) {
    const int a = home[one], b = static_cast<int>(worker);
    if (a == b) return false;
    double most = 1e-12;
    std::size_t best = one;
    const auto look_at = [&](std::size_t other) {
      if (home[other] != b) return;  // It has left since.
      ++pairs_tried_;
      const double gain = gain_of(home, one, other);
      if (gain <= most) return;
      most = gain;
      best = other;
    };
    const std::vector<std::size_t>&loose = loose_[worker], &by_work = by_work_[worker];
    const std::size_t count = loose.size();
    for (std::size_t i = 0; i < std::min(count, loose_tried_max); ++i) look_at(loose[i]);
    if (count > loose_tried_max) {
      // Others in turn, and those whose work would make both workers' equal.
      for (std::size_t i = 0; i < others_tried_max; ++i)
        look_at(loose[(one * others_tried_max + i) % count]);
      const double wanted = work_[one] + (load_[worker] - load_[at(a)]) / 2;
      const auto near = std::ranges::lower_bound(by_work, wanted, {},
                                                 [&](std::size_t rank) { return work_[rank]; });
      const auto place = static_cast<std::size_t>(near - by_work.begin());
      for (std::size_t i = place - std::min(place, others_tried_max / 2);
           i < std::min(count, place + others_tried_max / 2); ++i)
        look_at(by_work[i]);
    }
    if (best == one) return false;
    const double moved = work_[best] - work_[one];
    load_[at(a)] += moved;
    load_[worker] -= moved;
    std::swap(home[one], home[best]);
    const auto goes = [&](std::size_t rank, int from, int to) {
      for (const tie& t : ties_[rank]) {
        note_near(t.to, from, -t.seconds);
        note_near(t.to, to, t.seconds);
      }
    };
    goes(one, a, b);
    goes(best, b, a);
    return true;
  }

  // So a pass takes n log n.
  static constexpr std::size_t workers_tried_max = 8, loose_tried_max = 24, others_tried_max = 8;

  std::vector<std::vector<std::size_t>> loose_, by_work_;  // Ranks, by worker; some may have left.
  std::size_t pairs_tried_ = 0;
  std::vector<double> work_;            // Seconds, by rank.
  std::vector<std::vector<tie>> ties_;  // Likewise.
  std::vector<double> load_;            // Seconds, by worker.
  // By rank: seconds of what it sends to ranks of a worker and receives from them, in the order of workers.
  std::vector<std::vector<std::pair<int, double>>> near_;
};

// The ranks of most work first, each to the worker of least work that has room.
std::vector<int> spread(const search& by, const std::vector<int>& blocks, int workers) {
  std::vector<int> room(static_cast<std::size_t>(workers), 0);
  for (const int worker : blocks) ++room[static_cast<std::size_t>(worker)];
  std::vector<int> ranks(blocks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::ranges::stable_sort(ranks, [&](int a, int b) { return by.work(a) > by.work(b); });
  std::vector<double> load(static_cast<std::size_t>(workers), 0.0);
  std::vector<int> home(blocks.size());
  for (const int rank : ranks) {
    std::size_t least = 0;
    while (room[least] == 0) ++least;
    for (std::size_t w = least + 1; w < load.size(); ++w)
      if (room[w] != 0 && load[w] < load[least]) least = w;
    --room[least];
    load[least] += by.work(rank);
    home[static_cast<std::size_t>(rank)] = static_cast<int>(least);
  }
  return home;
}

}  // namespace

mapping map_by_communication(const summary& s, int workers, const mapping_costs& costs) {
  if (workers < 1 || workers > s.ranks)
    throw error(formatted(
        "{} workers for {} ranks: each is to have one rank at least; give --workers 1 to {}",
        workers, s.ranks, s.ranks));
  if (s.seen < s.ranks)
    throw error(formatted("the breakdown has seen {} of {} ranks: record a run on one host", s.seen,
                          s.ranks));
  search by(s, workers, costs);
  const std::vector<int> blocks = map_ranks("block", s.ranks, workers);
  mapping best;
  best.workers = workers;
  best.of_blocks = by.quality_of(blocks);
  double least = -1;
  for (std::vector<int> home : {blocks, spread(by, blocks, workers)}) {
    const double cost = by.improve(home);
    if (least >= 0 && cost >= least) continue;
    least = cost;
    best.worker_of = std::move(home);
  }
  best.quality = by.quality_of(best.worker_of);
  best.pairs_tried = by.pairs_tried();
  best.order.resize(best.worker_of.size());
  std::iota(best.order.begin(), best.order.end(), 0);
  std::ranges::stable_sort(
      best.order, {}, [&](int rank) { return best.worker_of[static_cast<std::size_t>(rank)]; });
  return best;
}

std::string text_of(const mapping& m, const summary& s) {
  const auto line = [](const char* which, const mapping_quality& q) {
    return formatted(
        "# {}: {:.6f} s of computation on the busiest worker; {:.0f} messages of {:.0f} bytes between workers\n",
        which, q.most_seconds, q.messages, q.bytes);
  };
  std::string text =
      formatted("# weftrun --map: {} ranks of {} on {} workers\n", s.ranks, s.program, m.workers);
  text += line("this map", m.quality) + line("block", m.of_blocks);
  std::size_t i = 0;
  for (int worker = 0; worker < m.workers; ++worker) {
    bool is_first = true;
    while (i < m.order.size() && m.worker_of[static_cast<std::size_t>(m.order[i])] == worker) {
      const std::size_t begin = i;
      while (i + 1 < m.order.size() && m.order[i + 1] == m.order[i] + 1 &&
             m.worker_of[static_cast<std::size_t>(m.order[i + 1])] == worker)
        ++i;
      text += is_first ? "" : ",";
      text += begin == i ? formatted("{}", m.order[begin])
                         : formatted("{}-{}", m.order[begin], m.order[i]);
      is_first = false;
      ++i;
    }
    text += formatted("  # worker {}\n", worker);
  }
  return text;
}

}  // namespace weft::breakdown
