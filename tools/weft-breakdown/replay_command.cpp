// weft-breakdown replay: a recorded run again, with parts of it made faster.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "breakdown/event_log.hpp"
#include "breakdown/pattern.hpp"
#include "breakdown/replay.hpp"
#include "breakdown/run_summary.hpp"
#include "weft-breakdown/commands.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

using namespace breakdown;

constexpr std::size_t rows_of_a_table = 10;

replay_change::scaled scaled_of(const std::string& text, const pattern& p) {
  const std::size_t equals = text.rfind('=');
  double percent = 0;
  char rest = 0;
  if (equals == text.npos || equals == 0 ||
      std::sscanf(text.c_str() + equals + 1, "%lf%c", &percent, &rest) != 1 || !(percent <= 100) ||
      !(percent >= -10'000))
    throw error(formatted("--faster '{}': say PLACE=PER CENT, with -10000 to 100 per cent", text));
  const std::string name = text.substr(0, equals);
  for (std::int32_t i = -1; i < static_cast<std::int32_t>(p.places.size()); ++i)
    if (is_named_by(place_name(p, i), name)) return {name, 1 - percent / 100};
  std::string some;
  for (std::size_t i = 0; i < std::min<std::size_t>(p.places.size(), 5); ++i)
    some += formatted("{}{}", i == 0 ? "" : ", ", place_name(p, static_cast<std::int32_t>(i)));
  throw error(formatted("--faster '{}': no call of {} is at such a place; there are {}", text,
                        p.program, some.empty() ? "none" : some));
}

class printer {
 public:
  printer(bool csv, double recorded_ns) : csv_(csv), recorded_(recorded_ns) {}

  // One number of the run.
  void row(const char* kind, const std::string& name, double ns, double percent) const {
    if (csv_)
      std::printf("%s,\"%s\",%.9g,%.4f\n", kind, name.c_str(), ns * 1e-9, percent);
    else
      std::printf("  %12.6f s %8.2f %%  %s\n", ns * 1e-9, percent, name.c_str());
  }
  void title(const char* text) const {
    if (!csv_) std::printf("%s\n", text);
  }
  void costs(const char* kind, const std::vector<place_cost>& all) const {
    for (std::size_t i = 0; i < std::min(all.size(), rows_of_a_table); ++i)
      row(kind, all[i].place, all[i].ns, share(all[i].ns));
  }
  [[nodiscard]] double share(double ns) const { return recorded_ > 0 ? 100 * ns / recorded_ : 0; }

 private:
  bool csv_;
  double recorded_;
};

}  // namespace

void replay_run(const replay_request& request) {
  const event_log log = read_event_log(request.events, true);
  const pattern p = pattern_of(log);
  const replay again(p);
  replay_change change;
  for (const std::string& text : request.faster) change.computation.push_back(scaled_of(text, p));
  change.transfers = 1 - request.transfers_percent / 100;
  change.evenness = request.even_percent / 100;
  change.more_ns = request.later_us * 1e3;

  const double recorded = p.recorded_ns, unchanged = again.run();
  const printer print(request.csv, recorded);
  const auto gain = [&](double ns) {
    return unchanged > 0 ? 100 * (unchanged - ns) / unchanged : 0;
  };
  if (request.csv)
    std::printf("kind,name,seconds,percent\n");
  else
    std::printf(
        "%s: %d ranks on %d workers%s\n", p.program.c_str(), p.ranks(), p.workers,
        log.missing != 0 ? formatted("; {} events before are missing", log.missing).c_str() : "");
  print.row("run", "recorded", recorded, 100);
  print.row("run", "replayed as it was", unchanged, print.share(unchanged));
  if (!request.faster.empty() || request.transfers_percent != 0 || request.even_percent != 0 ||
      request.later_us != 0) {
    const double changed = again.run(change);
    print.row("run", "replayed with the change; per cent are the gain", changed, gain(changed));
  }
  const run_summary run = summarise_run(p, again, log.missing, rows_of_a_table / 2);
  print.title("Critical path: what the end of the run hangs on");
  print.costs("critical path", run.critical_path);
  if (!run.delays.empty()) {
    print.title(
        "Delays: what others waited for, in the sum of all ranks; directly, and by way of others");
    for (std::size_t i = 0; i < std::min(run.delays.size(), rows_of_a_table); ++i) {
      const place_cost& one = run.delays[i];
      print.row("delay", one.place, one.ns, print.share(one.ns));
      if (one.indirect_ns > 0)
        print.row("indirect delay", formatted("{}, by way of others", one.place), one.indirect_ns,
                  print.share(one.indirect_ns));
    }
  }
  print.title("What if computation took 50 % less; per cent are the gain of the run");
  constexpr std::size_t half = 2;
  static_assert(reductions_replayed[half] == 50);
  for (const run_summary::gains& one : run.what_if) {
    const double percent = one.percent[half];
    if (percent < 0.05 && !one.is_transfer) continue;
    print.row("what if", one.is_transfer ? "transfers, 50 % less" : one.part,
              unchanged * (1 - percent / 100), percent);
  }
  print.title("How much more each message may take until the run takes so many per cent longer");
  for (std::size_t i = 0; i < losses_borne.size(); ++i) {
    const double loss = losses_borne[i], seconds = run.tolerance_seconds[i];
    if (request.csv)
      std::printf("tolerance,\"%.0f %%\",%.9g,%.4f\n", 100 * loss, seconds, 100 * loss);
    else if (std::isinf(seconds))
      std::printf("  %4.0f %%: any time\n", 100 * loss);
    else
      std::printf("  %4.0f %%: %.2f us\n", 100 * loss, seconds * 1e6);
  }
}

}  // namespace weft
