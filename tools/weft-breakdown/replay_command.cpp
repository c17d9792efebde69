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
#include "weft-breakdown/commands.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

using namespace breakdown;

constexpr std::size_t rows_of_a_table = 10;
constexpr std::string_view before = "computation before ";

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
    if (place_name(p, i).find(name) != std::string::npos) return {name, 1 - percent / 100};
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
  if (!request.faster.empty() || request.transfers_percent != 0) {
    const double changed = again.run(change);
    print.row("run", "replayed with the change; per cent are the gain", changed, gain(changed));
  }
  print.title("Critical path: what the end of the run hangs on");
  const std::vector<place_cost> path = again.critical_path();
  print.costs("critical path", path);
  const std::vector<place_cost> delays = again.delays();
  if (!delays.empty()) {
    print.title(
        "Delays: what others waited for, in the sum of all ranks; directly, and by way of others");
    for (std::size_t i = 0; i < std::min(delays.size(), rows_of_a_table); ++i) {
      print.row("delay", delays[i].place, delays[i].ns, print.share(delays[i].ns));
      if (delays[i].indirect_ns > 0)
        print.row("indirect delay", formatted("{}, by way of others", delays[i].place),
                  delays[i].indirect_ns, print.share(delays[i].indirect_ns));
    }
  }
  print.title("What if computation took 50 % less; per cent are the gain of the run");
  std::size_t shown = 0;
  for (const place_cost& one : path) {
    if (!one.place.starts_with(before) || shown++ == rows_of_a_table / 2) continue;
    replay_change half;
    half.computation.push_back({one.place.substr(before.size()), 0.5});
    const double ns = again.run(half);
    if (gain(ns) < 0.05) continue;
    print.row("what if", one.place, ns, gain(ns));
  }
  replay_change half;
  half.transfers = 0.5;
  print.row("what if", "transfers, 50 % less", again.run(half), gain(again.run(half)));
  print.title("How much more each message may take until the run takes so many per cent longer");
  for (const double loss : {0.01, 0.02, 0.05}) {
    const double ns = again.tolerance_ns(loss);
    if (request.csv)
      std::printf("tolerance,\"%.0f %%\",%.9g,%.4f\n", 100 * loss, ns * 1e-9, 100 * loss);
    else if (std::isinf(ns))
      std::printf("  %4.0f %%: any time\n", 100 * loss);
    else
      std::printf("  %4.0f %%: %.2f us\n", 100 * loss, ns * 1e-3);
  }
}

}  // namespace weft
