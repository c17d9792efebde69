// weft-breakdown compare: several runs side by side, each against the first.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "breakdown/analysis.hpp"
#include "breakdown/record.hpp"
#include "breakdown/report.hpp"
#include "weft-breakdown/commands.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

using namespace breakdown;

constexpr std::size_t rows_of_a_kind = 12;  // Of calls and of waits, in text.

struct row {
  std::string kind;  // run, efficiency, share, computing or waiting.
  std::string name;
  std::string unit;  // s, %, or nothing.
  std::vector<double> values;
};

double useful_seconds(const summary& s) {
  return s.efficiency.parallel * s.seconds * s.workers;
}

std::vector<row> rows_of(const std::vector<summary>& runs) {
  std::vector<row> rows;
  const auto add = [&](const char* kind, const std::string& name, const char* unit,
                       const std::function<double(const summary&)>& value) {
    row made{kind, name, unit, {}};
    for (const summary& s : runs) made.values.push_back(value(s));
    rows.push_back(std::move(made));
  };
  add("run", "ranks", "", [](const summary& s) { return s.ranks; });
  add("run", "workers", "", [](const summary& s) { return s.workers; });
  add("run", "time", "s", [](const summary& s) { return s.seconds; });
  add("run", "speed-up", "",
      [&](const summary& s) { return s.seconds > 0 ? runs.front().seconds / s.seconds : 0; });
  add("efficiency", "parallel", "%", [](const summary& s) { return 100 * s.efficiency.parallel; });
  add("efficiency", "load balance", "%",
      [](const summary& s) { return 100 * s.efficiency.load_balance; });
  add("efficiency", "communication", "%",
      [](const summary& s) { return 100 * s.efficiency.communication; });
  add("efficiency", "serialisation", "%",
      [](const summary& s) { return 100 * s.efficiency.serialisation; });
  add("efficiency", "transfer", "%", [](const summary& s) { return 100 * s.efficiency.transfer; });
  // Of POP, strong scaling: how much the same work grew.
  add("efficiency", "computation", "%", [&](const summary& s) {
    const double now = useful_seconds(s);
    return now > 0 ? 100 * useful_seconds(runs.front()) / now : 0;
  });
  add("efficiency", "global", "%", [&](const summary& s) {
    const double now = useful_seconds(s);
    return now > 0 ? 100 * s.efficiency.parallel * useful_seconds(runs.front()) / now : 0;
  });
  for (std::size_t i = 0; i < profile::share_count; ++i)
    add("share", name_of(static_cast<profile::share>(i)), "%", [i](const summary& s) {
      return s.rank_seconds > 0 ? 100 * s.share_seconds[i] / s.rank_seconds : 0;
    });
  // What is in any of them, in the order of its longest time.
  std::vector<std::string> places, waits;
  const auto note = [](std::vector<std::string>& all, const std::string& name) {
    if (std::ranges::find(all, name) == all.end()) all.push_back(name);
  };
  const auto name_of_wait = [](const wait_group& w) {
    return formatted("{} in {}{}{}", name_of(w.state), w.at, w.cause_at.empty() ? "" : " for ",
                     w.cause_at);
  };
  for (const summary& s : runs) {
    for (const place_summary& p : s.places) note(places, p.at);
    for (const wait_group& w : s.waits) note(waits, name_of_wait(w));
  }
  const auto add_sorted = [&](const char* kind, const std::vector<std::string>& names,
                              const auto& value) {
    const std::size_t first = rows.size();
    for (const std::string& name : names)
      add(kind, name, "s", [&](const summary& s) { return value(s, name); });
    std::stable_sort(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                     [](const row& a, const row& b) {
                       return *std::ranges::max_element(a.values) >
                              *std::ranges::max_element(b.values);
                     });
  };
  add_sorted("computing", places, [](const summary& s, const std::string& name) {
    double sum = 0;
    for (const place_summary& p : s.places)
      if (p.at == name) sum += p.computing;
    return sum;
  });
  add_sorted("waiting", waits, [&](const summary& s, const std::string& name) {
    double sum = 0;
    for (const wait_group& w : s.waits)
      if (name_of_wait(w) == name) sum += w.seconds;
    return sum;
  });
  return rows;
}

std::string as_csv(const std::vector<row>& rows, const std::vector<std::string>& files) {
  const auto quoted = [](std::string_view text) {
    std::string doubled;
    for (const char one : text) {
      doubled += one;
      if (one == '"') doubled += one;
    }
    return formatted("\"{}\"", doubled);
  };
  std::string text = "kind,name,unit";
  for (const std::string& file : files) text += formatted(",{}", quoted(file));
  text += '\n';
  for (const row& r : rows) {
    text += formatted("{},{},{}", r.kind, quoted(r.name), r.unit);
    for (const double value : r.values) text += formatted(",{:.9g}", value);
    text += '\n';
  }
  return text;
}

std::string as_text(const std::vector<row>& rows, const std::vector<std::string>& files) {
  std::string text =
      "Each run beside the first; seconds of calls and waits are those of all ranks\n";
  for (std::size_t i = 0; i < files.size(); ++i)
    text += formatted("  {}: {}\n", static_cast<char>('A' + static_cast<char>(i)), files[i]);
  std::string kind;
  std::size_t shown = 0;
  for (const row& r : rows) {
    if (r.kind != kind) {
      kind = r.kind;
      shown = 0;
      text += formatted("{:<16}", kind);
      for (std::size_t i = 0; i < files.size(); ++i)
        text += formatted("{:>12}", static_cast<char>('A' + static_cast<char>(i)));
      text += files.size() == 2 ? "    B to A\n" : "\n";
    }
    const bool is_listed = r.kind == "computing" || r.kind == "waiting";
    if (is_listed && (++shown > rows_of_a_kind || *std::ranges::max_element(r.values) < 1e-6))
      continue;
    text += formatted("  {:<14}", is_listed ? "" : r.name);
    for (const double value : r.values)
      text += r.unit == "s"   ? formatted("{:>12.4f}", value)
              : r.unit == "%" ? formatted("{:>11.1f}%", value)
                              : formatted("{:>12.2f}", value);
    if (files.size() == 2)
      text += r.values[0] > 0 ? formatted("{:>10.2f}", r.values[1] / r.values[0]) : "          ";
    if (is_listed) text += formatted("  {}", r.name);
    text += '\n';
  }
  return text;
}

}  // namespace

void compare_runs(const std::vector<std::string>& files, bool csv) {
  constexpr std::size_t runs_max = 26;
  if (files.size() < 2 || files.size() > runs_max)
    throw error(formatted("compare has {} records: 2 to {} are compared", files.size(), runs_max));
  std::vector<summary> runs;
  for (const std::string& file : files) {
    record one = read_record(file);
    one.find_places();
    runs.push_back(summarise(one));
  }
  const std::vector<row> rows = rows_of(runs);
  const std::string text = csv ? as_csv(rows, files) : as_text(rows, files);
  std::fputs(text.c_str(), stdout);
}

}  // namespace weft
