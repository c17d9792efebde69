#include "breakdown/analysis.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

#include "base/format.hpp"

namespace weft::breakdown {

using namespace profile;

const char* name_of(share s) noexcept {
  constexpr std::array<const char*, share_count> names{
      "computing", "in calls", "copying", "stealing", "tasks", "waiting", "queued", "asleep"};
  return names[static_cast<std::size_t>(s)];
}

const char* name_of(wait_state s) noexcept {
  return row_of(s).name.value;
}

namespace {

constexpr std::size_t index_of(share s) noexcept {
  return static_cast<std::size_t>(s);
}

// "MPI_Recv in main at a.c:12"; with its path, "MPI_Recv in f at a.c:12 <- main at a.c:20".
std::string place_of(const record& r, int rank, int number) {
  if (number < 0) return {};
  const site& s = r.of(rank).sites[static_cast<std::size_t>(number)];
  if (s.call[0] == '\0') return {};
  std::string path;
  for (std::int32_t i = s.path; i >= 0;) {
    const caller& c = r.callers(rank)[static_cast<std::size_t>(i)];
    path = as_path(std::move(path), c.place);
    i = c.caller;
  }
  if (path.empty()) path = s.place;
  return path.empty() ? std::string(s.call) : formatted("{} in {}", s.call, path);
}

// "a.c:12", or what else is known of where that is.
std::string_view line_of(std::string_view at) {
  at = at.substr(0, at.find(called_by));
  const std::size_t found = at.rfind(" at ");
  return found == at.npos ? at : at.substr(found + 4);
}

std::string ranks_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t shown = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (++shown > 5) return text + formatted(" and {} others", ranks.size() - i);
    if (i != 0) text += ", ";
    text +=
        end - i > 2 ? formatted("{} to {}", ranks[i], ranks[end - 1]) : formatted("{}", ranks[i]);
    i = end - i > 2 ? end : i + 1;
  }
  return text;
}

void add_ranks(summary& s, const record& r) {
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  for (int rank = 0; rank < r.ranks(); ++rank) {
    const account& a = r.of(rank);
    rank_summary one;
    one.rank = rank;
    one.has_run = a.state != life::none;
    if (one.has_run) {
      ++s.seen;
      one.has_ended = a.state == life::ended;
      s.ended += one.has_ended;
      one.process = a.process;
      one.worker = a.worker;
      const std::uint64_t end = std::max(a.ended, a.mark);
      one.seconds = r.seconds(end - std::min(a.begun, end));
      first = std::min(first, a.begun);
      last = std::max(last, end);
      for (std::size_t i = 0; i < share_count; ++i) {
        one.share_seconds[i] = r.seconds(a.times[i]);
        s.share_seconds[i] += one.share_seconds[i];
      }
      if (!one.has_ended) one.last_call = place_of(r, rank, a.current_site);
      s.rank_seconds += one.seconds;
      s.causes_lost += a.causes_lost;
      one.could_run_elsewhere = r.seconds(a.could_run_elsewhere);
      s.could_run_elsewhere_seconds += one.could_run_elsewhere;
      message_summary& m = s.messages;
      m.sent += a.sent;
      m.bytes += a.sent_bytes;
      m.received += a.received;
      m.unexpected += a.unexpected;
      m.rendezvous += a.rendezvous;
      m.collectives += a.collectives;
      for (std::size_t i = 0; i < a.sizes.size(); ++i) {
        m.sizes[i].messages += a.sizes[i].messages;
        m.sizes[i].bytes += a.sizes[i].bytes;
      }
      for (const partner& p : a.partners)
        if (p.rank >= 0 && (p.messages != 0 || p.waiting != 0))
          s.exchanges.push_back({rank, p.rank, p.messages, p.bytes, r.seconds(p.waiting)});
    }
    s.by_rank.push_back(std::move(one));
  }
  if (last > first) s.seconds = r.seconds(last - first);
  std::ranges::stable_sort(s.exchanges, [](const exchange& a, const exchange& b) {
    return std::pair(a.bytes, a.waiting) > std::pair(b.bytes, b.waiting);
  });
}

// What the cores of a job do: each worker has one, or those of a process share so many.
class core_sums {
 public:
  void add(const account& a, double useful) {
    of_process& p = processes_[a.process];
    ++p.workers;
    p.threads = a.threads;
    p.useful += useful;
  }
  [[nodiscard]] int cores() const {
    int count = 0;
    for (const auto& [process, p] : processes_) count += p.cores();
    return count;
  }
  // The core of most use has so much at least.
  [[nodiscard]] double most_at_least() const {
    double most = 0;
    for (const auto& [process, p] : processes_) most = std::max(most, p.useful / p.cores());
    return most;
  }

 private:
  struct of_process {
    int workers = 0, threads = 0;
    double useful = 0;
    [[nodiscard]] int cores() const { return threads == 0 ? workers : std::min(workers, threads); }
  };
  std::map<int, of_process> processes_;
};

void add_efficiencies(summary& s, const record& r) {
  std::map<std::pair<int, int>, std::pair<double, double>> of_worker;  // Own and stolen.
  std::map<std::pair<int, int>, double> asleep_of_worker;
  std::map<std::pair<int, int>, const account*> account_of_worker;
  std::uint64_t chain = 0;
  for (const rank_summary& one : s.by_rank) {
    if (!one.has_run) continue;
    auto& [own, stolen] = of_worker[{one.process, one.worker}];
    own +=
        one.share_seconds[index_of(share::computing)] + one.share_seconds[index_of(share::tasks)];
    double& asleep = asleep_of_worker[{one.process, one.worker}];
    asleep = std::max(asleep, one.share_seconds[index_of(share::asleep)]);
    stolen += one.share_seconds[index_of(share::stealing)];
    account_of_worker[{one.process, one.worker}] = &r.of(one.rank);
    chain = std::max(chain, r.of(one.rank).critical);
  }
  s.workers = static_cast<int>(of_worker.size());
  if (of_worker.empty() || s.seconds <= 0) return;
  core_sums cores;
  double own = 0, stolen = 0, most = 0;
  for (auto& [where, useful] : of_worker) {
    // Ranks of one worker sleep at the same time, and while others of it compute.
    useful.first = std::min(useful.first + asleep_of_worker[where],
                            std::max(useful.first, s.seconds - useful.second));
    own += useful.first;
    stolen += useful.second;
    most = std::max(most, useful.first + useful.second);
    cores.add(*account_of_worker[where], useful.first + useful.second);
  }
  s.cores = cores.cores();
  most = std::max(most, cores.most_at_least());
  const auto count = static_cast<double>(s.cores);
  // Ranks that compute on spare threads share cores with others, and each of them counts all of the time.
  if (const double all = s.seconds * count; own + stolen > all) {
    stolen *= all / (own + stolen);
    own = all - stolen;
  }
  most = std::min(most, s.seconds);
  efficiencies& e = s.efficiency;
  e.own = own / (s.seconds * count);
  e.stolen = stolen / (s.seconds * count);
  e.parallel = e.own + e.stolen;
  e.load_balance = most > 0 ? (own + stolen) / count / most : 1;
  e.communication = most / s.seconds;
  e.ideal_seconds = std::clamp(r.seconds(chain), most, std::max(most, s.seconds));
  e.serialisation = e.ideal_seconds > 0 ? most / e.ideal_seconds : 1;
  e.transfer = e.ideal_seconds / s.seconds;
}

// One region, or one time of it, rank by rank.
struct region_sums {
  std::uint64_t entries = 0, critical_most = 0;
  double elapsed = 0, stealing = 0, waiting = 0;
  int ranks = 0;
  // Ranks of one worker may be in it one after the other: it lasts at least as long as what they compute.
  struct of_worker {
    double useful = 0;
    std::uint64_t elapsed_most = 0, asleep_most = 0;  // They sleep at the same time.
    const account* one = nullptr;
  };
  std::map<std::pair<int, int>, of_worker> workers;

  void add(const account& a, const region_times& t, std::uint64_t times_entered) {
    ++ranks;
    entries = std::max(entries, times_entered);
    critical_most = std::max(critical_most, t.critical);
    elapsed += static_cast<double>(t.elapsed);
    stealing += static_cast<double>(t.stealing);
    waiting += static_cast<double>(t.waiting);
    of_worker& w = workers[{a.process, a.worker}];
    w.one = &a;
    w.useful += static_cast<double>(t.computing - std::min(t.asleep, t.computing) + t.stealing);
    w.elapsed_most = std::max(w.elapsed_most, t.elapsed);
    w.asleep_most = std::max(w.asleep_most, t.asleep);
  }
  [[nodiscard]] region_summary told(const record& r, const std::string& name, int iteration) const {
    region_summary s;
    s.name = name;
    s.iteration = iteration;
    s.entries = entries;
    s.ranks = ranks;
    double most = 0, time = 0, useful = 0;
    core_sums cores;
    for (const auto& [worker, w] : workers)
      time = std::max({time, w.useful, static_cast<double>(w.elapsed_most)});
    for (const auto& [worker, w] : workers) {
      const double with_sleep = std::min(w.useful + static_cast<double>(w.asleep_most), time);
      useful += with_sleep;
      most = std::max(most, with_sleep);
      cores.add(*w.one, with_sleep);
    }
    // Workers that share cores are in it one after the other, too.
    most = std::max(most, cores.most_at_least());
    time = std::max(time, most);
    s.seconds = r.seconds(static_cast<std::uint64_t>(time));
    if (time <= 0) return s;
    const auto count = static_cast<double>(cores.cores());
    const double ideal = std::clamp(static_cast<double>(critical_most), std::min(most, time), time);
    s.parallel = useful / (time * count);
    s.stolen = stealing / (time * count);
    s.load_balance = most > 0 ? useful / count / most : 1;
    s.communication = most / time;
    s.serialisation = ideal > 0 ? most / ideal : 1;
    s.transfer = ideal / time;
    s.waiting = elapsed > 0 ? waiting / elapsed : 0;
    return s;
  }
};

void add_regions(summary& s, const record& r) {
  std::map<std::string, region_sums> regions;
  std::map<std::pair<std::string, int>, region_sums> iterations;
  for (int rank = 0; rank < r.ranks(); ++rank) {
    const account& a = r.of(rank);
    if (a.state == life::none) continue;
    for (const region_row& row : a.regions)
      if (row.entries != 0) regions[row.name].add(a, row.times, row.entries);
    for (const iteration_row& one : a.iterations)
      if (one.region >= 0)
        iterations[{a.regions[static_cast<std::size_t>(one.region)].name,
                    static_cast<int>(one.number)}]
            .add(a, one.times, 1);
  }
  for (const auto& [name, sums] : regions) s.regions.push_back(sums.told(r, name, -1));
  std::ranges::stable_sort(s.regions, std::greater{}, &region_summary::seconds);
  for (const auto& [key, sums] : iterations)
    s.iterations.push_back(sums.told(r, key.first, key.second));
}

void add_waits(summary& s, const record& r) {
  std::map<std::tuple<wait_state, std::string, int, std::string>, wait_group> groups;
  for (int rank = 0; rank < r.ranks(); ++rank) {
    const account& a = r.of(rank);
    if (a.state == life::none) continue;
    for (const wait_row& w : a.waits) {
      if (!w.used || w.ticks == 0) continue;
      const double seconds = r.seconds(w.ticks);
      s.state_seconds[static_cast<std::size_t>(w.state)] += seconds;
      const std::string at = place_of(r, rank, w.at);
      const std::string from = w.cause >= 0 ? place_of(r, w.cause, w.cause_site) : "";
      const int cause = row_of(w.state).blames.value ? w.cause : -1;
      wait_group& g = groups[{w.state, at, cause, cause < 0 ? "" : from}];
      g.state = w.state;
      g.at = at;
      g.cause = cause;
      if (cause >= 0) g.cause_at = from;
      if (g.waiters.empty() || g.waiters.back() != rank) g.waiters.push_back(rank);
      g.seconds += seconds;
      g.count += w.count;
      g.longest = std::max(g.longest, r.seconds(w.longest));
    }
  }
  for (auto& [key, group] : groups) s.waits.push_back(std::move(group));
  std::ranges::stable_sort(s.waits, std::greater{}, &wait_group::seconds);
}

void add_places(summary& s, const record& r) {
  std::map<std::string, place_summary> places;
  for (int rank = 0; rank < r.ranks(); ++rank) {
    const account& a = r.of(rank);
    if (a.state == life::none) continue;
    // Several addresses of one rank may be one line.
    std::map<std::string, double> of_rank;
    for (int i = 0; i < sites_max; ++i) {
      const site& at = a.sites[static_cast<std::size_t>(i)];
      if (at.call[0] == '\0') continue;
      const std::string name = place_of(r, rank, i);
      place_summary& p = places[name];
      p.at = name;
      p.calls += at.calls;
      p.computing += r.seconds(at.computing);
      p.times.add(at.in_calls);
      p.sent.add(at.sent);
      of_rank[name] += r.seconds(at.computing);
    }
    for (const auto& [name, seconds] : of_rank) {
      place_summary& p = places[name];
      ++p.ranks;
      if (seconds > p.slowest_seconds) {
        p.slowest_seconds = seconds;
        p.slowest = rank;
      }
    }
  }
  for (auto& [name, place] : places) {
    place.in_calls = r.seconds(place.times.sum);
    place.least = r.seconds(place.times.least);
    place.most = r.seconds(place.times.most);
    s.places.push_back(std::move(place));
  }
  std::ranges::stable_sort(s.places, std::greater{},
                           [](const place_summary& p) { return p.computing + p.in_calls; });
}

}  // namespace

std::vector<rank_calls> calls_by_rank(const record& r) {
  std::vector<rank_calls> all;
  for (int rank = 0; rank < r.ranks(); ++rank) {
    const account& a = r.of(rank);
    // Several addresses of one rank may be one line.
    std::map<std::string, std::size_t> rows;
    for (int i = 0; a.state != life::none && i < sites_max; ++i) {
      const site& s = a.sites[static_cast<std::size_t>(i)];
      if (s.call[0] == '\0') continue;
      std::string at = place_of(r, rank, i);
      const auto [row, is_new] = rows.try_emplace(at, all.size());
      if (is_new) {
        all.emplace_back().rank = rank;
        all.back().at = std::move(at);
      }
      rank_calls& here = all[row->second];
      here.computing += r.seconds(s.computing);
      here.times.add(s.in_calls);
      here.sent.add(s.sent);
    }
  }
  return all;
}

namespace {

// --- Advice --------------------------------------------------------------------------------------

std::string cause_named(const wait_group& w) {
  return w.cause_at.empty() ? formatted("rank {}", w.cause)
                            : formatted("rank {} at {}", w.cause, line_of(w.cause_at));
}

std::string with(std::string text, std::string_view what, std::string_view said) {
  if (const std::size_t at = text.find(what); at != text.npos) text.replace(at, what.size(), said);
  return text;
}

// Empty where nothing can be advised.
std::string advice_on(const wait_group& w, double percent) {
  const std::string waits =
      formatted("{} {} {:.1f} % of all ranks' time in {}", ranks_of(w.waiters),
                w.waiters.size() == 1 ? "waits" : "wait", percent, w.at);
  return with(with(row_of(w.state).advice.value, "{cause}", cause_named(w)), "{waits}", waits);
}

// Most of a shorter run is its start and its end, of which a program can change nothing.
constexpr double advised_seconds_min = 0.01;

void advise(summary& s) {
  if (s.seconds < advised_seconds_min)
    return s.advice.push_back(formatted(
        "the run took {:.1f} ms, most of it for its start and end: too short to advise on",
        1e3 * s.seconds));
  const auto percent_of_ranks = [&](double seconds) {
    return s.rank_seconds > 0 ? 100 * seconds / s.rank_seconds : 0;
  };
  const auto useful_of = [](const rank_summary& one) {
    return one.share_seconds[index_of(share::computing)] +
           one.share_seconds[index_of(share::stealing)] +
           one.share_seconds[index_of(share::asleep)];
  };
  double useful = 0;
  for (const rank_summary& one : s.by_rank) useful += useful_of(one);
  // Computation that some ranks have more of. Who has less elsewhere is not behind for that.
  std::size_t told = 0;
  for (const place_summary& p : s.places) {
    if (s.ranks < 2 || percent_of_ranks(p.computing) < 2 || told == 3) continue;
    const double mean = p.computing / s.ranks;
    const double ratio = p.slowest_seconds / mean;
    const double more =
        std::min(p.slowest_seconds - mean,
                 useful_of(s.by_rank[static_cast<std::size_t>(p.slowest)]) - useful / s.ranks);
    const double saved = s.seconds > 0 ? 100 * more / s.seconds : 0;
    if (ratio < 1.15 || saved < 2) continue;
    ++told;
    if (p.slowest_seconds > 0.9 * p.computing)
      s.advice.push_back(formatted(
          "only rank {} computes before {}: this serial section takes {:.1f} % of the time, and loop "
          "tasks or a share for each rank would save up to {:.1f} %",
          p.slowest, line_of(p.at), 100 * p.slowest_seconds / s.seconds, saved));
    else
      s.advice.push_back(
          formatted("rank {} computes {:.2f} x the mean before {}: an even share, or loop tasks, "
                    "would save up to {:.1f} %",
                    p.slowest, ratio, line_of(p.at), saved));
  }
  told = 0;
  for (const wait_group& w : s.waits) {
    const double percent = percent_of_ranks(w.seconds);
    if (percent < 2 || told == 4) break;
    const std::string text = advice_on(w, percent);
    if (text.empty()) continue;
    ++told;
    s.advice.push_back(text);
  }
  const efficiencies& e = s.efficiency;
  if (s.ranks > 1 && e.serialisation < 0.8 && e.load_balance > 0.8)
    s.advice.push_back(formatted(
        "ranks take turns: their work is even on the whole, and yet they wait for each other, "
        "step by step (serialisation {:.0f} %); loop tasks would let those that wait help, "
        "and would save up to {:.0f} % of the time",
        100 * e.serialisation, 100 * (e.transfer - e.communication)));
  const message_summary& m = s.messages;
  if (m.received > 1000 && m.unexpected * 2 > m.received)
    s.advice.push_back(
        formatted("{:.0f} % of the messages came before their receive and were copied twice: post "
                  "receives earlier",
                  100.0 * static_cast<double>(m.unexpected) / static_cast<double>(m.received)));
  if (percent_of_ranks(s.share_seconds[index_of(share::queued)]) > 10)
    s.advice.push_back(formatted(
        "ranks could run {:.0f} % of their time while another rank of their worker did: more "
        "workers, or fewer ranks, would end sooner where cores are free",
        percent_of_ranks(s.share_seconds[index_of(share::queued)])));
  if (percent_of_ranks(s.could_run_elsewhere_seconds) > 2)
    s.advice.push_back(formatted(
        "ranks could run {:.0f} % of their time although a core was free{}",
        percent_of_ranks(s.could_run_elsewhere_seconds),
        s.cores < s.workers ? ": workers change threads often, or other programs had the core"
                            : ": weftrun --moving lets an idle core take them"));
  if (s.advice.empty())
    s.advice.push_back("nothing stands out: no wait, and no uneven share, has 2 % of the time");
}

}  // namespace

summary summarise(const record& r) {
  summary s;
  const file_header& h = r.header();
  s.program = h.program;
  s.host = h.host;
  s.processor = h.processor;
  s.settings = h.settings;
  s.ranks = h.ranks;
  s.processes = h.processes;
  s.exit_status = h.exit_status;
  add_ranks(s, r);
  add_efficiencies(s, r);
  add_regions(s, r);
  add_waits(s, r);
  add_places(s, r);
  advise(s);
  return s;
}

}  // namespace weft::breakdown
