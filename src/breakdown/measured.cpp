#include "breakdown/measured.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/format.hpp"
#include "breakdown/json.hpp"
#include "breakdown/report.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

constexpr double ns_max = 1e12;
constexpr std::size_t parts_max = 64;

const measured_part* find_part(const measured_sum& sum, std::string_view name) {
  const auto at = std::ranges::find(sum.parts, name, &measured_part::name);
  return at == sum.parts.end() ? nullptr : &*at;
}

std::string json_of(const distribution& d) {
  std::string text = formatted(
      "\"ns\": {:.4f}, \"deviation\": {:.4f}, \"samples\": {}, \"left_out\": {}, \"quantiles\": [",
      d.mean, d.deviation, d.samples, d.left_out);
  for (std::size_t i = 0; i < d.quantiles.size(); ++i)
    text += formatted("{}{:.2f}", i == 0 ? "" : ", ", d.quantiles[i]);
  return text + "]";
}

std::string json_of(const measured_sum& sum) {
  std::string text = formatted(
      "{{\"stages\": {:.4f}, \"stages_error_percent\": {:.3f}, \"modelled\": {:.4f}, \"error_percent\": {:.3f},\n"
      "  \"observed\": {{{}}},\n  \"parts\": [",
      sum.of_stages(), sum.error_percent_of_stages(), sum.modelled(), sum.error_percent(),
      json_of(sum.observed));
  for (std::size_t i = 0; i < sum.parts.size(); ++i) {
    const measured_part& p = sum.parts[i];
    text += formatted("{}\n    {{\"name\": \"{}\", \"level\": \"{}\", \"meaning\": \"{}\", {}}}",
                      i == 0 ? "" : ",", escaped(p.name), escaped(p.level), escaped(p.meaning),
                      json_of(p.ns));
  }
  return text + "]}";
}

// Means may be below zero: of a stage that is shorter than the error of its stamps, and of what is a whole less its parts.
distribution read_distribution(const json& from) {
  distribution d;
  d.mean = from.at("ns").number(-ns_max, ns_max);
  d.deviation = from.at("deviation").number(0, ns_max);
  d.samples = static_cast<std::uint64_t>(from.at("samples").number(1, 1e15));
  d.left_out = static_cast<std::uint64_t>(from.at("left_out").number(0, 1e15));
  const json::list& all = from.at("quantiles").items(d.quantiles.size());
  for (std::size_t i = 0; i < all.size(); ++i) d.quantiles[i] = all[i].number(-ns_max, ns_max);
  return d;
}

measured_sum read_sum(const json& from) {
  measured_sum sum;
  sum.observed = read_distribution(from.at("observed"));
  const json::list& parts = from.at("parts").items();
  for (const json& one : parts) {
    if (sum.parts.size() == parts_max) break;
    measured_part p{one.at("name").text(), one.at("level").text(), one.at("meaning").text(),
                    read_distribution(one)};
    sum.parts.push_back(std::move(p));
  }
  return sum;
}

std::string table_of(const char* title, const measured_sum& sum) {
  std::string text = formatted("{}, ns\n  {:<10} {:<8} {:>9} {:>10} {:>9} {:>9} {:>9}\n", title,
                               "part", "level", "mean", "deviation", "median", "90 %", "most");
  const auto row = [&](const std::string& name, const std::string& level, const distribution& d,
                       const std::string& meaning) {
    text +=
        formatted("  {:<10} {:<8} {:>9.2f} {:>10.2f} {:>9.1f} {:>9.1f} {:>9.0f}  {}\n", name, level,
                  d.mean, d.deviation, d.quantiles[10], d.quantiles[18], d.quantiles[20], meaning);
  };
  for (const measured_part& p : sum.parts) row(p.name, p.level, p.ns, p.meaning);
  text += formatted("  {:<10} {:<8} {:>9.2f}  the sum of the parts{}, {:+.1f} % off\n", "stages",
                    "", sum.of_stages(), sum.has_misc() ? " without misc" : "",
                    sum.error_percent_of_stages());
  if (sum.has_misc())
    text += formatted("  {:<10} {:<8} {:>9.2f}  with misc, as they take together, {:+.1f} % off\n",
                      "whole", "", sum.modelled(), sum.error_percent());
  row("observed", "", sum.observed, "without probes");
  return text;
}

}  // namespace

double longest_kept(double median) noexcept {
  return std::max(3 * median, 500.0);
}

distribution distribution_of(std::vector<double> ns) {
  distribution d;
  d.samples = ns.size();
  if (ns.empty()) return d;
  std::ranges::sort(ns);
  for (int i = 0; i <= distribution::steps; ++i)
    d.quantiles[static_cast<std::size_t>(i)] =
        ns[(ns.size() - 1) * static_cast<std::size_t>(i) / distribution::steps];
  const auto end = std::ranges::upper_bound(ns, longest_kept(d.quantiles[10]));
  const auto count = static_cast<double>(end - ns.begin());
  d.left_out = static_cast<std::uint64_t>(ns.end() - end);
  d.mean = std::accumulate(ns.begin(), end, 0.0) / count;
  double squares = 0;
  std::for_each(ns.begin(), end, [&](double one) { squares += (one - d.mean) * (one - d.mean); });
  d.deviation = std::sqrt(squares / count);
  return d;
}

double measured_sum::modelled() const noexcept {
  double sum = 0;
  for (const measured_part& p : parts) sum += p.ns.mean;
  return sum;
}

double measured_sum::of_stages() const noexcept {
  double sum = 0;
  for (const measured_part& p : parts)
    if (p.level != "misc") sum += p.ns.mean;
  return sum;
}

bool measured_sum::has_misc() const noexcept {
  return std::ranges::find(parts, "misc", &measured_part::level) != parts.end();
}

double measured_sum::error_percent() const noexcept {
  return breakdown::error_percent(modelled(), observed.mean);
}

double measured_sum::error_percent_of_stages() const noexcept {
  return breakdown::error_percent(of_stages(), observed.mean);
}

double measured::post() const noexcept {
  double sum = 0;
  for (const measured_part& p : injection.parts)
    if (p.name != "progress") sum += p.ns.mean;
  return sum;
}
double measured::completion() const noexcept {
  return std::max(2 * latency.modelled() - post(), 0.0);
}
double measured::posts_min() const noexcept {
  return post() > 0 ? std::ceil(completion() / post()) : std::numeric_limits<double>::infinity();
}
double measured::gap() const noexcept {
  return is_on_one_core ? interval.mean + post() : std::max(interval.mean, post());
}
double measured::in_window(int messages) const noexcept {
  return (2 * latency.modelled() + (messages - 1) * gap()) / messages;
}

std::string text_of(const measured& m) {
  std::uint64_t samples = 0, left_out = 0;
  for (const measured_sum* sum : {&m.injection, &m.latency})
    for (const measured_part& p : sum->parts) {
      samples += p.ns.samples;
      left_out += p.ns.left_out;
    }
  std::string text = formatted(
      "{}{}{}, {} bytes; {}; {} runs, of whose means the middle one is shown\n"
      "A pair of time stamps takes {:.2f} ns (deviation {:.2f}, {:.1f} to {:.1f}), which is subtracted. Means "
      "leave out what took more\nthan 500 ns and 3 times the median, as something else had the core: {} of "
      "{} samples.\n",
      m.face, m.transport.empty() ? "" : " over ", m.transport, m.bytes, m.processor, m.rounds,
      m.overhead.mean, m.overhead.deviation, m.overhead.quantiles.front(),
      m.overhead.quantiles.back(), left_out, samples);
  text += table_of("Injection overhead", m.injection);
  text += table_of("Latency", m.latency);
  text += formatted(
      "Posts between two waits for an answer that hide it, at least: {:.0f} (an answer takes {:.1f} ns, "
      "a post {:.1f} ns)\n",
      m.posts_min(), m.completion(), m.post());
  text += "Windows that are answered as a whole, ns for each message";
  if (m.interval.samples != 0)
    text += formatted(
        ": there and back, and {:.1f} ns to each next message (where they are taken one comes every {:.1f} ns)",
        m.gap(), m.interval.mean);
  text += '\n';
  for (const measured_window& w : m.windows)
    text += formatted("  {:>3} messages: model {:>9.1f}, observed {:>9.1f}, {:+.1f} % off\n",
                      w.messages, w.modelled, w.observed,
                      w.observed > 0 ? 100 * (w.modelled - w.observed) / w.observed : 0.0);
  return text;
}

std::string csv_of(const measured& m) {
  std::string text = "sum,part,level,ns,deviation,least,median,p90,most,samples\n";
  const auto rows = [&](const char* name, const measured_sum& sum) {
    const auto row = [&](const std::string& part, const std::string& level, const distribution& d) {
      text += formatted("{},{},{},{:.3f},{:.3f},{:.2f},{:.2f},{:.2f},{:.2f},{}\n", name, part,
                        level, d.mean, d.deviation, d.quantiles[0], d.quantiles[10],
                        d.quantiles[18], d.quantiles[20], d.samples);
    };
    for (const measured_part& p : sum.parts) row(p.name, p.level, p.ns);
    row("observed", "", sum.observed);
  };
  rows("injection", m.injection);
  rows("latency", m.latency);
  return text;
}

std::string json_of(const measured& m) {
  std::string text = formatted(
      "{{\"kind\": \"weft components\", \"version\": 1,\n\"face\": \"{}\", \"transport\": \"{}\", "
      "\"host\": \"{}\", \"processor\": \"{}\", \"bytes\": {}, \"rounds\": {},\n\"overhead\": {{{}}},\n",
      escaped(m.face), escaped(m.transport), escaped(m.host), escaped(m.processor), m.bytes,
      m.rounds, json_of(m.overhead));
  text += formatted(
      "\"injection\": {},\n\"latency\": {},\n\"interval\": {{{}}}, \"on_one_core\": {},\n\"windows\": [",
      json_of(m.injection), json_of(m.latency), json_of(m.interval), m.is_on_one_core ? 1 : 0);
  for (std::size_t i = 0; i < m.windows.size(); ++i)
    text += formatted("{}[{}, {:.3f}, {:.3f}]", i == 0 ? "" : ", ", m.windows[i].messages,
                      m.windows[i].modelled, m.windows[i].observed);
  return text + "]}\n";
}

bool is_measured(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

measured read_measured(std::string_view text, std::string_view file) {
  const json all = json::parsed(text, file);
  if (!all.has("kind") || all.at("kind").text() != "weft components")
    throw error(formatted(
        "{}: \"kind\" is not \"weft components\": it is no file of weft-breakdown measure",
        printable(file)));
  (void)all.at("version").number(1, 1);
  measured m;
  m.face = all.at("face").text();
  m.transport = all.at("transport").text();
  m.host = all.at("host").text();
  m.processor = all.at("processor").text();
  m.bytes = static_cast<std::uint64_t>(all.at("bytes").number(0, 1e12));
  m.rounds = static_cast<int>(all.at("rounds").number(1, 1e6));
  m.overhead = read_distribution(all.at("overhead"));
  m.injection = read_sum(all.at("injection"));
  m.latency = read_sum(all.at("latency"));
  // Files of earlier versions have neither.
  if (all.has("interval")) m.interval = read_distribution(all.at("interval"));
  m.is_on_one_core = all.has("on_one_core") && all.at("on_one_core").number(0, 1) != 0;
  for (const json& one : all.at("windows").items()) {
    const json::list& w = one.items(3);
    m.windows.push_back(
        {static_cast<int>(w[0].number(1, 1e6)), w[1].number(0, ns_max), w[2].number(0, ns_max)});
  }
  return m;
}

std::vector<improvement> improvements_of(const measured& m) {
  std::vector<improvement> all;
  const auto add = [&](std::string_view name, std::string_view panel, double injection,
                       double latency) {
    if (injection > 0 || latency > 0)
      all.push_back({name, panel, std::max(injection, 0.0), std::max(latency, 0.0)});
  };
  const auto level = [&](const measured_sum& sum, std::string_view name) {
    double of = 0;
    for (const measured_part& p : sum.parts)
      if (p.level == name) of += p.ns.mean;
    return of;
  };
  add("high level", "levels", level(m.injection, "high"), level(m.latency, "high"));
  add("low level", "levels", level(m.injection, "low"), level(m.latency, "low"));
  add("network", "levels", level(m.injection, "network"), level(m.latency, "network"));
  const auto of = [](const measured_sum& sum, std::string_view name) {
    const measured_part* const p = find_part(sum, name);
    return p == nullptr ? 0.0 : p->ns.mean;
  };
  for (const measured_part& p : m.injection.parts)
    add(p.name, "parts", p.ns.mean, of(m.latency, p.name));
  for (const measured_part& p : m.latency.parts)
    if (find_part(m.injection, p.name) == nullptr) add(p.name, "parts", 0, p.ns.mean);
  return all;
}

}  // namespace weft::breakdown
