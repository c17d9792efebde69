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

constexpr int passes_max = 50;

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
  }

  // Improves `home`, the worker of each rank; returns what it costs then.
  double improve(std::vector<int>& home) {
    std::ranges::fill(load_, 0.0);
    for (std::size_t rank = 0; rank < home.size(); ++rank) load_[at(home[rank])] += work_[rank];
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

 private:
  [[nodiscard]] static std::size_t at(int index) noexcept {
    return static_cast<std::size_t>(index);
  }
  // What `rank`, on `worker`, sends and receives beyond it.
  [[nodiscard]] double outside(const std::vector<int>& home, std::size_t rank, int worker) const {
    double seconds = 0;
    for (const tie& t : ties_[rank])
      if (home[t.to] != worker) seconds += t.seconds;
    return seconds;
  }
  [[nodiscard]] double between(std::size_t one, std::size_t other) const {
    double seconds = 0;
    for (const tie& t : ties_[one])
      if (t.to == other) seconds += t.seconds;
    return seconds;
  }

  // What two workers with these loads add to the cost. The squares tell apart what the greatest does not.
  [[nodiscard]] double cost_of(double one, double other) const {
    const double most = std::max(one, other);
    return most + 1e-3 * (one * one + other * other) / std::max(most, 1e-12);
  }

  bool improve_once(std::vector<int>& home) {
    bool any = false;
    for (std::size_t one = 0; one < home.size(); ++one)
      for (std::size_t other = one + 1; other < home.size(); ++other) {
        const int a = home[one], b = home[other];
        if (a == b) continue;
        const double moved = work_[other] - work_[one];
        const double load_a = load_[at(a)] + moved, load_b = load_[at(b)] - moved;
        const double gain_of_cut = outside(home, one, a) - outside(home, one, b) +
                                   outside(home, other, b) - outside(home, other, a) -
                                   2 * between(one, other);
        const double gain =
            gain_of_cut + cost_of(load_[at(a)], load_[at(b)]) - cost_of(load_a, load_b);
        if (gain <= 1e-12) continue;
        std::swap(home[one], home[other]);
        load_[at(a)] = load_a;
        load_[at(b)] = load_b;
        any = true;
      }
    return any;
  }

  std::vector<double> work_;            // Seconds, by rank.
  std::vector<std::vector<tie>> ties_;  // Likewise.
  std::vector<double> load_;            // Seconds, by worker.
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
