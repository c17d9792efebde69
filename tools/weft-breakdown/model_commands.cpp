#include <algorithm>
#include <cstdio>

#include "base/format.hpp"
#include "breakdown/files.hpp"
#include "breakdown/measured.hpp"
#include "breakdown/model.hpp"
#include "weft-breakdown/commands.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

using namespace breakdown;

components components_of(const breakdown_request& request) {
  if (request.file.empty()) return published_components();
  return read_components(text_of_file(request.file), request.file);
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
}

// `is_published`: with what the paper observed.
std::string figures_as_csv(const components& c, bool is_published) {
  std::string text = "figure,bar,part,ns,percent\n";
  if (is_published)
    for (const observation& one : published_observations())
      text += formatted("{},\"observed {}\",observed,{:.2f},{:.2f}\n", one.figure, one.name, one.ns,
                        100 * one.ns / (predict(c).*one.modelled));
  for (const bar& one : figures_of(c))
    for (const part& p : one.parts)
      text += formatted("{},\"{}\",{},{:.2f},{:.2f}\n", one.figure, one.name, p.name, p.ns,
                        one.total() > 0 ? 100 * p.ns / one.total() : 0.0);
  return text;
}

std::string figures_as_csv(const measured& m) {
  std::string text = "figure,bar,part,ns,percent\n";
  const auto bar = [&](const char* name, const measured_sum& sum) {
    for (const measured_part& p : sum.parts)
      text += formatted("measured,{},{},{:.2f},{:.2f}\n", name, p.name, std::max(p.ns.mean, 0.0),
                        100 * std::max(p.ns.mean, 0.0) / std::max(sum.modelled(), 1e-9));
  };
  bar("injection overhead", m.injection);
  bar("latency", m.latency);
  return text;
}

std::string sums(const components& c) {
  const prediction p = predict(c);
  std::string text = "Sums, ns\n";
  const auto row = [&](const char* name, double value, const std::string& how) {
    text += formatted("  {:<34} {:>9.2f}  {}\n", name, value, how);
  };
  row("low-level post", p.low_post, "set-up + barriers + PIO copy + misc");
  row("injection overhead, low level", p.low_injection,
      formatted("post {:.2f} + progress {:.2f} + misc {:.2f}", p.low_post, c.progress, p.low_misc));
  row("latency, low level", p.low_latency,
      formatted("post + 2 x PCIe {:.2f} + network {:.2f} + memory {:.2f} + progress", c.pcie,
                p.network, c.memory_write));
  row("injection overhead", p.injection,
      formatted("post {:.2f} + progress {:.2f} + misc {:.2f}", p.post, c.send_progress,
                c.busy_post_per_send));
  row("latency", p.latency,
      formatted("post {:.2f} + low level below it + receive progress {:.2f}", p.post,
                p.high_receive_progress));
  row("completion of a message", p.generate_completion, "2 x (PCIe + network) + write of it");
  if (p.low_post > 0)
    row("posts between polls, at least", p.posts_min, "completion / low-level post, whole");
  text += "Cost of a message in windows that are posted and then completed, ns\n ";
  for (const int window : {1, 2, 4, 8, 16, 32, 64})
    text += formatted("  {}: {:.1f}", window, injection_in_windows(c, window));
  return text + "\n";
}

std::string observed(const components& c) {
  std::string text = formatted("What the paper observed, ns\n  {:<34} {:>9} {:>9} {:>8}\n", "",
                               "modelled", "observed", "error");
  for (const observation& one : published_observations()) {
    const double modelled = predict(c).*one.modelled;
    text += formatted("  {:<34} {:>9.2f} {:>9.2f} {:>+6.1f} %  {}\n", one.name, modelled, one.ns,
                      error_percent(modelled, one.ns), one.how);
  }
  return text;
}

}  // namespace

std::string text_of_file(const std::string& path) {
  return content_of(path);
}

void print_model(const breakdown_request& request) {
  if (!request.file.empty()) {
    if (const std::string text = text_of_file(request.file); is_measured(text)) {
      const measured m = read_measured(text, request.file);
      print(request.csv ? csv_of(m) : text_of(m));
      if (!request.png.empty()) plot("model", figures_as_csv(m), request.png);
      return;
    }
  }
  const components c = components_of(request);
  if (request.csv) {
    print(figures_as_csv(c, request.file.empty()));
  } else {
    std::string text = "Components, ns\n";
    for (const component_row& row : component_rows())
      text += formatted("  {:<24} {:>9.2f}  {}\n", row.name, c.*(row.value), row.meaning);
    text += sums(c);
    if (request.file.empty()) text += observed(c);
    text += "Figures of the paper\n";
    for (const bar& one : figures_of(c)) {
      text += formatted("  {:<3} {:<30} {:>9.2f} ns:", one.figure, one.name, one.total());
      for (std::size_t i = 0; i < one.parts.size(); ++i)
        text += formatted("{} {} {:.1f} %", i == 0 ? "" : ",", one.parts[i].name,
                          one.total() > 0 ? 100 * one.parts[i].ns / one.total() : 0.0);
      text += '\n';
    }
    print(text);
  }
  if (!request.png.empty()) plot("model", figures_as_csv(c, request.file.empty()), request.png);
}

void print_what_if(const breakdown_request& request) {
  // Of a message that has been measured, or of components after the paper's names.
  measured message;
  std::vector<improvement> all;
  double injection_ns = 0, latency_ns = 0;
  const std::string file = request.file.empty() ? "" : text_of_file(request.file);
  if (is_measured(file)) {
    message = read_measured(file, request.file);
    all = improvements_of(message);
    injection_ns = message.injection.modelled();
    latency_ns = message.latency.modelled();
  } else {
    const components c = components_of(request);
    all = improvements_of(c);
    injection_ns = predict(c).injection;
    latency_ns = predict(c).latency;
  }
  // Any single component may be asked for as well.
  for (const std::string& name : request.components) {
    if (std::ranges::find(all, name, &improvement::name) != all.end()) continue;
    std::string allowed;
    for (const improvement& one : all)
      allowed += (allowed.empty() ? "'" : "', '") + std::string(one.name);
    throw error(formatted("--component '{}': there is no such part; there are {}'", name, allowed));
  }
  if (!request.components.empty())
    std::erase_if(all, [&](const improvement& one) {
      return std::ranges::find(request.components, one.name) == request.components.end();
    });
  std::string csv =
      "component,panel,reduction_percent,injection_gain_percent,latency_gain_percent\n";
  std::string text = formatted(
      "What the sums lose when a part does: injection overhead {:.2f} ns, latency {:.2f} ns\n"
      "  {:<22} {:<10} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
      injection_ns, latency_ns, "part", "of", "-10 %", "-30 %", "-50 %", "-70 %", "-90 %");
  for (const improvement& one : all) {
    std::string injection, latency;
    for (const int reduction : {10, 30, 50, 70, 90}) {
      const double by = reduction / 100.0;
      const double of_injection = gain_percent(one.in_injection, injection_ns, by);
      const double of_latency = gain_percent(one.in_latency, latency_ns, by);
      csv += formatted("{},\"{}\",{},{:.4f},{:.4f}\n", one.name, one.panel, reduction, of_injection,
                       of_latency);
      injection += formatted(" {:>7.2f} %", of_injection);
      latency += formatted(" {:>7.2f} %", of_latency);
    }
    if (one.in_injection > 0)
      text += formatted("  {:<22} {:<10}{}\n", one.name, "injection", injection);
    if (one.in_latency > 0) text += formatted("  {:<22} {:<10}{}\n", one.name, "latency", latency);
  }
  print(request.csv ? csv : text);
  if (!request.png.empty()) plot("what-if", csv, request.png);
}

}  // namespace weft
