#include "breakdown/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "base/format.hpp"
#include "breakdown/page.hpp"

namespace weft::breakdown {

using namespace profile;

namespace {

constexpr std::size_t waits_in_text = 8;
constexpr std::size_t ranks_in_text = 16;
constexpr std::size_t calls_in_text = 8;
constexpr std::size_t exchanges_in_page = 20'000;
constexpr std::size_t rows_in_page = 200;

std::string time_text(double seconds) {
  if (seconds >= 1) return formatted("{:.3f} s", seconds);
  if (seconds >= 1e-3) return formatted("{:.3f} ms", seconds * 1e3);
  return formatted("{:.3f} us", seconds * 1e6);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return unit == 0 ? formatted("{} bytes", bytes) : formatted("{:.1f} {}", value, units[unit]);
}

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

std::string share_columns(const std::array<double, share_count>& seconds, double whole) {
  std::string line;
  for (const double one : seconds) line += formatted("{:>9.1f}%", percent(one, whole));
  return line;
}

double mean_of(const spread& s) {
  return s.count == 0 ? 0 : static_cast<double>(s.sum) / static_cast<double>(s.count);
}

// What each call took and took along, as mpiP has them of call sites.
std::string calls_text(const summary& s) {
  std::vector<const place_summary*> all;
  for (const place_summary& one : s.places)
    if (one.times.count != 0) all.push_back(&one);
  if (all.empty()) return {};
  std::ranges::stable_sort(all, std::greater{}, [](const place_summary* p) { return p->in_calls; });
  std::string text = formatted("  {:>9} {:>12} {:>12} {:>12} {:>9} {:>11} {:>11} {:>11}\n", "calls",
                               "least", "mean", "most", "messages", "least", "mean bytes", "most");
  for (std::size_t i = 0; i < std::min(all.size(), calls_in_text); ++i) {
    const place_summary& p = *all[i];
    text += formatted("  {:>9} {:>12} {:>12} {:>12} ", p.times.count, time_text(p.least),
                      time_text(p.mean()), time_text(p.most));
    text += p.sent.count == 0 ? formatted("{:>45}", "")
                              : formatted("{:>9} {:>11} {:>11.1f} {:>11}", p.sent.count,
                                          p.sent.least, mean_of(p.sent), p.sent.most);
    text += formatted("  {}\n", p.at);
  }
  if (all.size() > calls_in_text)
    text += formatted("    and {} other places, in the data\n", all.size() - calls_in_text);
  return text;
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min<std::size_t>(ranks.size(), 4); ++i)
    text += formatted("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > 4) text += formatted(" and {} others", ranks.size() - 4);
  return text;
}

}  // namespace

std::string text_of(const summary& s) {
  std::string text = formatted("breakdown of {}: {} rank{} in {} process{}, {}\n", s.program,
                               s.ranks, s.ranks == 1 ? "" : "s", s.processes,
                               s.processes == 1 ? "" : "es", time_text(s.seconds));
  if (s.seen < s.ranks)
    text += formatted("  {} of {} ranks are seen: the others run on other hosts, or never began\n",
                      s.seen, s.ranks);
  if (s.ended < s.seen)
    text += formatted("  {} of them did not come to their end; what they did last counts on\n",
                      s.seen - s.ended);
  text += "              ";
  for (int i = 0; i < share_count; ++i) text += formatted("{:>10}", name_of(static_cast<share>(i)));
  text += formatted("\n  all ranks   {}\n", share_columns(s.share_seconds, s.rank_seconds));
  if (s.by_rank.size() <= ranks_in_text) {
    for (const rank_summary& r : s.by_rank)
      if (r.has_run)
        text += formatted("  rank {:<7}{}\n", r.rank, share_columns(r.share_seconds, r.seconds));
  }
  for (const rank_summary& r : s.by_rank)
    if (r.has_run && !r.has_ended && s.by_rank.size() <= ranks_in_text)
      text += formatted("  rank {} was last in {}\n", r.rank,
                        r.last_call.empty() ? "its own code" : r.last_call);
  const efficiencies& e = s.efficiency;
  const auto hundred = [](double value) { return 100 * value; };
  text += formatted(
      "  efficiency {:.1f}% = load balance {:.1f}% x communication {:.1f}% (serialisation {:.1f}% x "
      "transfer {:.1f}%)\n",
      hundred(e.parallel), hundred(e.load_balance), hundred(e.communication),
      hundred(e.serialisation), hundred(e.transfer));
  text += formatted("             = own work {:.1f}% + stolen work {:.1f}%\n", hundred(e.own),
                    hundred(e.stolen));
  if (!s.regions.empty())
    text +=
        "  regions               seconds   times  efficiency  load balance  serialisation  transfer  waiting\n";
  for (const region_summary& one : s.regions)
    text += formatted(
        "    {:<18} {:>8.3f} {:>7} {:>10.1f}% {:>12.1f}% {:>13.1f}% {:>8.1f}% {:>7.1f}%\n",
        one.name, one.seconds, one.entries, hundred(one.parallel), hundred(one.load_balance),
        hundred(one.serialisation), hundred(one.transfer), hundred(one.waiting));
  if (!s.waits.empty()) text += "  waits, of all ranks' time:\n";
  for (std::size_t i = 0; i < std::min(s.waits.size(), waits_in_text); ++i) {
    const wait_group& w = s.waits[i];
    if (percent(w.seconds, s.rank_seconds) < 0.1) break;
    text += formatted("    {:>5.1f}%  {:<17} {} in {}", percent(w.seconds, s.rank_seconds),
                      name_of(w.state), rank_list(w.waiters), w.at);
    if (w.cause >= 0)
      text += formatted(", for rank {}{}{}", w.cause, w.cause_at.empty() ? "" : " at ", w.cause_at);
    text += '\n';
  }
  const message_summary& m = s.messages;
  text += formatted(
      "  messages: {}, {} in all; {} came before their receive, {} by rendezvous; {} calls of "
      "collectives\n",
      m.sent, bytes_text(m.bytes), m.unexpected, m.rendezvous, m.collectives);
  text += calls_text(s);
  if (const double part = percent(s.could_run_elsewhere_seconds, s.rank_seconds); part >= 0.1)
    text += formatted("  could run although a core was free: {:.1f}%\n", part);
  if (s.causes_lost != 0) text += formatted("  causes not known: {}\n", s.causes_lost);
  if (s.run) text += text_of(*s.run);
  for (const std::string& line : s.advice) text += formatted("  * {}\n", line);
  return text;
}

std::string escaped(std::string_view text) {
  std::string to;
  for (const char at : text) {
    const auto code = static_cast<unsigned char>(at);
    // No text can end the script that a page has it in.
    if (at == '"' || at == '\\')
      to += std::string("\\") + at;
    else if (code < ' ' || at == '<' || at == '>' || at == '&')
      to += formatted("\\u{:04x}", static_cast<unsigned>(code));
    else
      to += at;
  }
  return to;
}

namespace {

std::string quoted(std::string_view text) {
  return formatted("\"{}\"", escaped(text));
}

template <class Items, class Write>
std::string listed(const Items& items, std::size_t most, const Write& write) {
  std::string text = "[";
  std::size_t count = 0;
  for (const auto& item : items) {
    if (count == most) break;
    if (count++ != 0) text += ",\n";
    text += write(item);
  }
  return text + "]";
}

std::string numbers(const auto& values) {
  return listed(values, values.size(), [](double value) { return formatted("{:.9g}", value); });
}

}  // namespace

std::string json_of(const summary& s) {
  std::string text = "{\n";
  const auto add = [&](const char* name, const std::string& value, bool last = false) {
    text += formatted("\"{}\": {}{}\n", name, value, last ? "" : ",");
  };
  add("program", quoted(s.program));
  add("host", quoted(s.host));
  add("processor", quoted(s.processor));
  add("settings", quoted(s.settings));
  add("ranks", formatted("{}", s.ranks));
  add("ranks_seen", formatted("{}", s.seen));
  add("ranks_ended", formatted("{}", s.ended));
  add("processes", formatted("{}", s.processes));
  add("workers", formatted("{}", s.workers));
  add("cores", formatted("{}", s.cores));
  add("exit_status", formatted("{}", s.exit_status));
  add("seconds", formatted("{:.9g}", s.seconds));
  add("rank_seconds", formatted("{:.9g}", s.rank_seconds));
  std::vector<std::string> names;
  for (int i = 0; i < share_count; ++i) names.emplace_back(name_of(static_cast<share>(i)));
  add("shares", listed(names, names.size(), [](const auto& n) { return quoted(n); }));
  add("wait_states", listed(wait_states, wait_states.size(),
                            [](const wait_state_row& one) { return quoted(one.name.value); }));
  add("wait_state_descriptions",
      listed(wait_states, wait_states.size(), [](const wait_state_row& one) {
        return quoted(formatted("{}, until {}", one.waits.value, one.until.value));
      }));
  add("share_seconds", numbers(s.share_seconds));
  add("wait_state_seconds", numbers(s.state_seconds));
  const efficiencies& e = s.efficiency;
  add("efficiency",
      formatted("{{\"parallel\": {:.6f}, \"load_balance\": {:.6f}, \"communication\": {:.6f}, "
                "\"serialisation\": {:.6f}, \"transfer\": {:.6f}, \"own\": {:.6f}, \"stolen\": "
                "{:.6f}, \"ideal_seconds\": {:.9g}}}",
                e.parallel, e.load_balance, e.communication, e.serialisation, e.transfer, e.own,
                e.stolen, e.ideal_seconds));
  const auto region = [](const region_summary& one) {
    return formatted(
        "{{\"name\": {}, \"iteration\": {}, \"entries\": {}, \"ranks\": {}, \"seconds\": {:.9g}, "
        "\"parallel\": {:.6f}, \"load_balance\": {:.6f}, \"communication\": {:.6f}, \"serialisation\": {:.6f}, "
        "\"transfer\": {:.6f}, \"stolen\": {:.6f}, \"waiting\": {:.6f}}}",
        quoted(one.name), one.iteration, one.entries, one.ranks, one.seconds, one.parallel,
        one.load_balance, one.communication, one.serialisation, one.transfer, one.stolen,
        one.waiting);
  };
  add("regions", listed(s.regions, s.regions.size(), region));
  add("iterations", listed(s.iterations, s.iterations.size(), region));
  add("by_rank", listed(s.by_rank, s.by_rank.size(), [](const rank_summary& r) {
        return formatted(
            "{{\"rank\": {}, \"process\": {}, \"worker\": {}, \"ran\": {}, \"ended\": "
            "{}, \"seconds\": {:.9g}, \"shares\": {}, \"last_call\": {}}}",
            r.rank, r.process, r.worker, r.has_run, r.has_ended, r.seconds,
            numbers(r.share_seconds), quoted(r.last_call));
      }));
  add("waits", listed(s.waits, rows_in_page, [](const wait_group& w) {
        return formatted(
            "{{\"state\": {}, \"at\": {}, \"cause\": {}, \"cause_at\": {}, "
            "\"seconds\": {:.9g}, \"count\": {}, \"longest\": {:.9g}, \"waiters\": {}}}",
            quoted(name_of(w.state)), quoted(w.at), w.cause, quoted(w.cause_at), w.seconds, w.count,
            w.longest,
            listed(w.waiters, w.waiters.size(), [](int rank) { return formatted("{}", rank); }));
      }));
  add("places", listed(s.places, rows_in_page, [](const place_summary& p) {
        return formatted(
            "{{\"at\": {}, \"calls\": {}, \"computing\": {:.9g}, \"in_calls\": {:.9g}, "
            "\"least\": {:.9g}, \"mean\": {:.9g}, \"most\": {:.9g}, \"messages\": {}, \"bytes\": {}, "
            "\"least_bytes\": {}, \"mean_bytes\": {:.9g}, \"most_bytes\": {}, \"ranks\": {}, \"slowest\": {}, "
            "\"slowest_seconds\": {:.9g}}}",
            quoted(p.at), p.calls, p.computing, p.in_calls, p.least, p.mean(), p.most, p.sent.count,
            p.sent.sum, p.sent.least, mean_of(p.sent), p.sent.most, p.ranks, p.slowest,
            p.slowest_seconds);
      }));
  add("exchanges", listed(s.exchanges, exchanges_in_page, [](const exchange& x) {
        return formatted("[{}, {}, {}, {}, {:.9g}]", x.from, x.to, x.messages, x.bytes, x.waiting);
      }));
  const message_summary& m = s.messages;
  add("messages", formatted("{{\"sent\": {}, \"bytes\": {}, \"received\": {}, \"unexpected\": {}, "
                            "\"rendezvous\": {}, \"collectives\": {}, \"sizes\": {}}}",
                            m.sent, m.bytes, m.received, m.unexpected, m.rendezvous, m.collectives,
                            listed(m.sizes, m.sizes.size(), [](const size_class& c) {
                              return formatted("[{}, {}]", c.messages, c.bytes);
                            })));
  if (s.run) add("run", json_of(*s.run));
  add("could_run_elsewhere", formatted("{:.9g}", s.could_run_elsewhere_seconds));
  add("causes_lost", formatted("{}", s.causes_lost));
  add("advice", listed(s.advice, s.advice.size(), [](const auto& a) { return quoted(a); }), true);
  return text + "}\n";
}

std::string csv_of(const summary& s) {
  std::string text = "rank,process,worker,ended,seconds";
  for (int i = 0; i < share_count; ++i) {
    std::string name = name_of(static_cast<share>(i));
    std::ranges::replace(name, ' ', '_');
    text += "," + name;
  }
  text += '\n';
  for (const rank_summary& r : s.by_rank) {
    text += formatted("{},{},{},{},{:.9f}", r.rank, r.process, r.worker, r.has_ended ? 1 : 0,
                      r.seconds);
    for (const double one : r.share_seconds) text += formatted(",{:.9f}", one);
    text += '\n';
  }
  return text;
}

std::string calls_csv_of(const record& r, const summary& s) {
  std::string text =
      "rank,computing,calls,in_calls,least,mean,most,messages,bytes,least_bytes,mean_bytes,most_bytes,place\n";
  const auto row = [&](const std::string& rank, double computing, const spread& times,
                       const spread& sent, std::string at) {
    // Names of C++ have commas in them, and may have quotes.
    for (std::size_t i = 0; (i = at.find('"', i)) != at.npos; i += 2) at.insert(i, 1, '"');
    const auto seconds = [&](std::uint64_t ticks) { return r.seconds(ticks); };
    text += formatted("{},{:.9f},{},{:.9f},{:.9f},{:.9f},{:.9f},{},{},{},{:.3f},{},\"{}\"\n", rank,
                      computing, times.count, seconds(times.sum), seconds(times.least),
                      mean_of(times) * seconds(1), seconds(times.most), sent.count, sent.sum,
                      sent.least, mean_of(sent), sent.most, at);
  };
  for (const rank_calls& one : calls_by_rank(r))
    row(formatted("{}", one.rank), one.computing, one.times, one.sent, one.at);
  for (const place_summary& one : s.places) row("*", one.computing, one.times, one.sent, one.at);
  return text;
}

std::string page_of(std::string_view data, std::string_view library, std::string_view message) {
  std::string page(page_begin);
  page += "<script type=\"application/json\" id=\"data\">\n";
  page += data;
  page += "</script>\n";
  if (!message.empty())
    page +=
        formatted("<script type=\"application/json\" id=\"message-data\">\n{}</script>\n", message);
  page += "<script>\n";
  // Data of the page cannot end its scripts; d3 is read from the machine and must not either.
  if (library.find("</script") == library.npos) page += library;
  page += "\n</script>\n<script>\n";
  page += page_script;
  page += "\n</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace weft::breakdown
