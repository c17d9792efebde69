// The loop that a breakdown asks for: what the program computes before the call to which most computation leads.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/format.hpp"
#include "breakdown/json.hpp"
#include "weft-translate/program.hpp"
#include "weft/error.hpp"

namespace weft::translate {
namespace {

// "MPI_Sendrecv in main at plain.c:40 <- ..."
struct call_site {
  std::string function;
  std::string file;
  unsigned line = 0;
};

std::optional<call_site> site_of(std::string_view at) {
  at = at.substr(0, at.find(" <- "));
  const std::size_t in = at.find(" in "), place = at.rfind(" at "), colon = at.rfind(':');
  if (place == std::string_view::npos || colon == std::string_view::npos || colon < place)
    return {};
  call_site s;
  if (in != std::string_view::npos && in < place) s.function = at.substr(in + 4, place - in - 4);
  s.file = std::filesystem::path(at.substr(place + 4, colon - place - 4)).filename();
  for (const char c : at.substr(colon + 1))
    if (c >= '0' && c <= '9') s.line = s.line * 10 + static_cast<unsigned>(c - '0');
  return s;
}

bool is_file(const std::string& path, const std::string& name) {
  return std::filesystem::path(path).filename() == name;
}

// The loops in [first, last] of a function, and those of the functions that are called there.
void add_loops(const program& p, const std::string& file, const std::string& function,
               unsigned first, unsigned last, int depth, std::set<std::string>& found) {
  for (const auto& [key, l] : p.loops)
    if (is_file(l.at.file, file) && l.function == function && l.at.line >= first &&
        l.at.line <= last)
      found.insert(formatted("{}:{}", l.at.file, l.at.line));
  if (depth == 4) return;
  for (const own_call& c : p.own_calls)
    if (is_file(c.at.file, file) && c.caller == function && c.at.line >= first &&
        c.at.line <= last && c.callee != function)
      for (const auto& [key, l] : p.loops)
        if (l.function == c.callee) {
          add_loops(p, std::filesystem::path(l.at.file).filename(), c.callee, 0, ~0U, depth + 1,
                    found);
          break;
        }
}

// Between a call of weft and the one before it; in a loop of both that is the last of the round before.
std::set<std::string> loops_before(const program& p, const call_site& site) {
  unsigned before = 0, last_of_all = 0;
  for (const auto& [key, c] : p.calls)
    if (is_file(c.at.file, site.file) && c.in_function == site.function) {
      if (c.at.line < site.line) before = std::max(before, c.at.line);
      last_of_all = std::max(last_of_all, c.at.line);
    }
  std::set<std::string> found;
  add_loops(p, site.file, site.function, before, site.line, 0, found);
  if (found.empty()) add_loops(p, site.file, site.function, last_of_all, ~0U, 0, found);
  return found;
}

}  // namespace

std::set<std::string> loops_of_breakdown(const program& p, const std::string& breakdown) {
  std::ifstream file(breakdown);
  if (!file)
    throw error(breakdown +
                " cannot be read: give the breakdown.json that weftrun --breakdown has written");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto all = weft::breakdown::json::parsed(text, breakdown);
  struct place_of_run {
    double seconds;
    std::string at;
    call_site site;
  };
  std::vector<place_of_run> places;
  for (const auto& each : all.at("places").items()) {
    const auto site = site_of(each.at("at").text());
    const auto is_here = [&](const auto& named) {
      return site && is_file(named.first, site->file);
    };
    if (std::any_of(p.files.begin(), p.files.end(), is_here))
      places.push_back({each.at("computing").number(0, 1e18), each.at("at").text(), *site});
  }
  if (places.empty())
    throw error(breakdown +
                " names no place in these sources: compile the program with -g, and run it again");
  std::stable_sort(places.begin(), places.end(), [](const place_of_run& a, const place_of_run& b) {
    return a.seconds > b.seconds;
  });
  for (const place_of_run& each : places) {
    const std::set<std::string> found = loops_before(p, each.site);
    if (found.empty()) continue;
    std::fputs(
        formatted("weft-translate: {:.3f} s of computation lead to {}; the loops before it:\n",
                  each.seconds, each.at)
            .c_str(),
        stderr);
    return found;
  }
  throw error(breakdown + ": there is no loop before any of its places in these sources");
}

}  // namespace weft::translate
