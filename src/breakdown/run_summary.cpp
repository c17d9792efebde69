#include "breakdown/run_summary.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string_view>

#include "base/format.hpp"
#include "breakdown/event_log.hpp"
#include "breakdown/report.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

constexpr std::string_view before = "computation before ";
constexpr std::size_t rows_in_text = 4, rows_in_page = 40;

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

std::string listed(const std::vector<place_cost>& costs) {
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(costs.size(), rows_in_page); ++i)
    text += formatted("{}{{\"at\": \"{}\", \"seconds\": {:.9g}, \"indirect\": {:.9g}}}",
                      i == 0 ? "" : ",\n", escaped(costs[i].place), costs[i].ns * 1e-9,
                      costs[i].indirect_ns * 1e-9);
  return text + "]";
}

}  // namespace

run_summary summarise_run(const pattern& p, const replay& again, std::uint64_t missing,
                          std::size_t parts_max) {
  run_summary s;
  s.recorded_seconds = p.recorded_ns * 1e-9;
  s.missing = missing;
  const double unchanged = again.run();
  s.replayed_seconds = unchanged * 1e-9;
  s.critical_path = again.critical_path();
  s.delays = again.delays();
  const auto add = [&](run_summary::gains of, const auto& change_by) {
    for (std::size_t i = 0; i < reductions_replayed.size(); ++i) {
      const double changed = again.run(change_by(1 - reductions_replayed[i] / 100.0));
      of.percent[i] = percent(unchanged - changed, unchanged);
    }
    s.what_if.push_back(std::move(of));
  };
  std::size_t parts = 0;
  for (const place_cost& one : s.critical_path) {
    if (!one.place.starts_with(before) || parts++ == parts_max) continue;
    add({one.place}, [&](double times) {
      replay_change change;
      change.computation.push_back({one.place.substr(before.size()), times, true});
      return change;
    });
  }
  if (p.ranks() > 1)
    add({"uneven shares of computation"}, [](double times) {
      replay_change change;
      change.evenness = 1 - times;
      return change;
    });
  add({"transfers of messages and collectives", true}, [](double times) {
    replay_change change;
    change.transfers = times;
    return change;
  });
  for (std::size_t i = 0; i < losses_borne.size(); ++i)
    s.tolerance_seconds[i] = again.tolerance_ns(losses_borne[i]) * 1e-9;
  return s;
}

run_summary read_run_summary(const std::string& events, const record& of) {
  const event_log log = read_event_log(events, true);
  const profile::file_header& told = of.header();
  // Relaxed: the job is over.
  if (log.job != told.job.load(std::memory_order_relaxed))
    throw error(formatted(
        "{}: these are events of another run, {} with {} ranks; the record is of {} with {} ranks",
        events, log.program, log.ranks(), told.program, told.ranks));
  const pattern p = pattern_of(log);
  return summarise_run(p, replay(p), log.missing);
}

std::string text_of(const run_summary& s) {
  std::string text = formatted(
      "  critical path{}:\n",
      s.missing == 0
          ? ""
          : formatted(" of the last {:.3f} s, of which all events are kept", s.recorded_seconds));
  for (std::size_t i = 0; i < std::min(s.critical_path.size(), rows_in_text); ++i) {
    const place_cost& one = s.critical_path[i];
    if (percent(one.ns * 1e-9, s.recorded_seconds) < 0.1) break;
    text += formatted("    {:>5.1f}%  {}\n", percent(one.ns * 1e-9, s.recorded_seconds), one.place);
  }
  if (!s.delays.empty()) text += "  delays, by who caused them, of the sum of all ranks' waits:\n";
  double all = 0;
  for (const place_cost& one : s.delays) all += one.ns + one.indirect_ns;
  for (std::size_t i = 0; i < std::min(s.delays.size(), rows_in_text); ++i) {
    const place_cost& one = s.delays[i];
    text += formatted("    {:>5.1f}%  {}", percent(one.ns + one.indirect_ns, all), one.place);
    if (one.indirect_ns > 0)
      text += formatted(" ({:.1f}% by way of others)", percent(one.indirect_ns, all));
    text += '\n';
  }
  const run_summary::gains* best = nullptr;
  for (const auto& one : s.what_if)
    if (best == nullptr || one.percent[2] > best->percent[2]) best = &one;
  if (best != nullptr && best->percent[2] >= 0.1)
    text += formatted("  50% less of {} would make the run {:.1f}% shorter\n", best->part,
                      best->percent[2]);
  if (std::isinf(s.tolerance_seconds[0]))
    return text + "  no message makes the run longer by taking longer\n";
  text += "  each message may take longer by";
  for (std::size_t i = 0; i < losses_borne.size(); ++i)
    if (!std::isinf(s.tolerance_seconds[i]))
      text += formatted("{} {:.2f} us for {:.0f}%", i == 0 ? "" : ",", 1e6 * s.tolerance_seconds[i],
                        100 * losses_borne[i]);
  return text + " of the run's time\n";
}

std::string json_of(const run_summary& s) {
  std::string text = formatted(
      "{{\"recorded_seconds\": {:.9g}, \"replayed_seconds\": {:.9g}, \"missing_events\": {},\n"
      "\"critical_path\": {},\n\"delays\": {},\n\"what_if\": [",
      s.recorded_seconds, s.replayed_seconds, s.missing, listed(s.critical_path), listed(s.delays));
  for (std::size_t i = 0; i < s.what_if.size(); ++i) {
    text += formatted("{}{{\"part\": \"{}\", \"gains\": [", i == 0 ? "" : ",\n",
                      escaped(s.what_if[i].part));
    for (std::size_t k = 0; k < reductions_replayed.size(); ++k)
      text += formatted("{}[{}, {:.4f}]", k == 0 ? "" : ", ", reductions_replayed[k],
                        s.what_if[i].percent[k]);
    text += "]}";
  }
  text += "],\n\"tolerance\": [";
  for (std::size_t i = 0; i < losses_borne.size(); ++i)
    text +=
        formatted("{}[{:.2f}, {}]", i == 0 ? "" : ", ", losses_borne[i],
                  std::isinf(s.tolerance_seconds[i]) ? std::string("null")
                                                     : formatted("{:.9g}", s.tolerance_seconds[i]));
  return text + "]}";
}

}  // namespace weft::breakdown
