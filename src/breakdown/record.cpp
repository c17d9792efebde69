#include "breakdown/record.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <utility>

#include "base/checksum.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/stack_trace.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

using namespace profile;

template <std::size_t Size>
void end_text(char (&text)[Size]) noexcept {
  text[Size - 1] = '\0';
  for (char& at : text)
    if (at != '\0' && static_cast<unsigned char>(at) < ' ') at = '?';
}

template <std::size_t Size>
void set_text(char (&to)[Size], std::string_view from) noexcept {
  const std::size_t length = std::min(from.size(), Size - 1);
  std::memcpy(to, from.data(), length);
  std::memset(to + length, 0, Size - length);
}

class checker {
 public:
  checker(std::string_view file, int ranks) : file_(file), ranks_(ranks) {}

  void check(account& a, std::span<caller> callers, int rank) const {
    if (a.state == life::none) {
      // Others may name it as their cause: nothing of it counts.
      std::construct_at(&a);
      return;
    }
    const std::string who = formatted("rank {}", rank);
    within(who, "state", static_cast<std::int64_t>(a.state), 0, 2);
    within(who, "rank", a.rank, rank, rank);
    within(who, "share", static_cast<std::int64_t>(a.current), 0, share_count - 1);
    within(who, "current site", a.current_site, -1, sites_max - 1);
    for (std::size_t i = 0; i < callers.size(); ++i) {
      const std::string which = formatted("{}, caller {}", who, i);
      within(which, "object", callers[i].object, -1, objects_max - 1);
      within(which, "caller", callers[i].caller, -1, static_cast<std::int64_t>(i) - 1);
      end_text(callers[i].place);
    }
    within(who, "threads", a.threads, 0, workers_max);
    for (char(&object)[256] : a.objects) end_text(object);
    for (std::size_t i = 0; i < a.sites.size(); ++i) {
      site& s = a.sites[i];
      within(formatted("{}, site {}", who, i), "object", s.object, -1, objects_max - 1);
      within(formatted("{}, site {}", who, i), "path", s.path, -1, std::ssize(callers) - 1);
      end_text(s.call);
      end_text(s.place);
    }
    for (std::size_t i = 0; i < a.waits.size(); ++i) {
      wait_row& w = a.waits[i];
      const std::string row = formatted("{}, wait {}", who, i);
      std::uint8_t used = 0;  // A bool has no other values.
      std::memcpy(&used, &w.used, 1);
      within(row, "use", used, 0, 1);
      within(row, "state", static_cast<std::int64_t>(w.state), 0, wait_state_count - 1);
      within(row, "site", w.at, 0, sites_max - 1);
      within(row, "cause", w.cause, -1, ranks_ - 1);
      within(row, "site of the cause", w.cause_site, -1, sites_max - 1);
    }
    for (region_row& row : a.regions) end_text(row.name);
    for (std::size_t i = 0; i < a.iterations.size(); ++i)
      within(formatted("{}, iteration {}", who, i), "region", a.iterations[i].region, -1,
             regions_max - 1);
    for (std::size_t i = 0; i < a.partners.size(); ++i)
      within(formatted("{}, partner {}", who, i), "rank", a.partners[i].rank, -1, ranks_ - 1);
  }

  void within(const std::string& where, const char* field, std::int64_t value, std::int64_t least,
              std::int64_t most) const {
    if (value >= least && value <= most) return;
    throw error(formatted("{}: {}: {} is {}; allowed are {} to {}", file_, where, field, value,
                          least, most));
  }

 private:
  std::string_view file_;
  int ranks_;
};

}  // namespace

std::string with_short_path(const std::string& place) {
  const std::size_t at = place.rfind(" at /");
  if (at == place.npos) return place;
  const std::size_t file = place.rfind('/');
  const std::size_t directory = place.rfind('/', file - 1);
  if (file <= at + 4 || directory == place.npos || directory < at + 4) return place;
  return place.substr(0, at + 4) + place.substr(directory + 1);
}

std::string as_path(std::string first, std::string_view callers) {
  const std::size_t at = first.rfind(called_by);
  const std::string_view last = at == first.npos
                                    ? std::string_view(first)
                                    : std::string_view(first).substr(at + called_by.size());
  const bool is_main = last == "main" || last.starts_with("main at ") || last.starts_with("main+");
  if (first.empty() || callers.empty() || is_main)
    return first.empty() ? std::string(callers) : first;
  return std::move(first) + std::string(called_by) + std::string(callers);
}
std::string as_path(std::span<const std::string> calls) {
  std::string path;
  for (const std::string& call : calls) path = as_path(std::move(path), with_short_path(call));
  return path;
}

record::record(std::vector<std::byte> content, std::string_view file, from where)
    : content_(std::move(content)) {
  if (content_.size() < header_bytes)
    throw error(formatted("{}: {} bytes are no record of a breakdown, which begins with {}", file,
                          content_.size(), header_bytes));
  file_header& h = header();
  if (h.magic == 0 && h.ranks == 0)
    throw error(formatted("{}: no job of weft has run: nothing is recorded", file));
  if (h.magic != file_magic)
    throw error(formatted("{}: the first word is {:#x}; a record of a breakdown begins with {:#x}",
                          file, h.magic, file_magic));
  const checker check(file, h.ranks);
  check.within("header", "account size", h.account_bytes, sizeof(account), sizeof(account));
  check.within("header", "ranks", h.ranks, 1, ranks_max);
  check.within("header", "processes", h.processes, 1, h.ranks);
  if (!(h.ns_per_tick > 1e-4 && h.ns_per_tick < 1e6))
    throw error(formatted("{}: header: ns per tick is {}; allowed are 0.0001 to 1000000", file,
                          h.ns_per_tick));
  check.within("header", "has callers", h.has_callers, 0, 1);
  const std::size_t whole =
      bytes_of_accounts(static_cast<std::size_t>(h.ranks), h.has_callers != 0);
  if (content_.size() < whole)
    throw error(formatted("{}: {} bytes of {}: the record of {} ranks is cut off", file,
                          content_.size(), whole, h.ranks));
  if (where == from::file) {
    if (content_.size() != whole)
      throw error(formatted("{}: {} bytes follow the record of {} ranks: it is another file", file,
                            content_.size() - whole, h.ranks));
    const std::uint32_t told = h.checksum, found = checksum();
    if (found != told)
      throw error(formatted(
          "{}: the checksum is {:08x} and the header says {:08x}: bytes are not those that were "
          "written; record again",
          file, found, told));
  }
  content_.resize(whole);
  end_text(h.host);
  end_text(h.processor);
  end_text(h.program);
  end_text(h.settings);
  for (int rank = 0; rank < h.ranks; ++rank) check.check(of(rank), callers(rank), rank);
}

const file_header& record::header() const noexcept {
  return *reinterpret_cast<const file_header*>(content_.data());
}
file_header& record::header() noexcept {
  return *reinterpret_cast<file_header*>(content_.data());
}
const account& record::of(int rank) const noexcept {
  return reinterpret_cast<const account*>(content_.data() + header_bytes)[rank];
}
account& record::of(int rank) noexcept {
  return reinterpret_cast<account*>(content_.data() + header_bytes)[rank];
}
std::span<profile::caller> record::callers(int rank) noexcept {
  if (header().has_callers == 0) return {};
  auto* const first = reinterpret_cast<caller*>(
      content_.data() + header_bytes + static_cast<std::size_t>(ranks()) * sizeof(account));
  return {first + std::size_t{callers_max} * static_cast<std::size_t>(rank), callers_max};
}
std::span<const profile::caller> record::callers(int rank) const noexcept {
  if (header().has_callers == 0) return {};
  const auto* const first = reinterpret_cast<const caller*>(
      content_.data() + header_bytes + static_cast<std::size_t>(ranks()) * sizeof(account));
  return {first + std::size_t{callers_max} * static_cast<std::size_t>(rank), callers_max};
}
double record::seconds(std::uint64_t ticks) const noexcept {
  return static_cast<double>(ticks) * header().ns_per_tick * 1e-9;
}
std::uint32_t record::checksum() {
  header().checksum = 0;
  return checksum_of({content_});
}
std::span<const std::byte> record::bytes() {
  header().checksum = checksum();
  return content_;
}

void record::close(std::uint64_t end_ticks) noexcept {
  header().end_ticks = end_ticks;
  for (int rank = 0; rank < ranks(); ++rank) {
    account& a = of(rank);
    if (a.state != life::running) continue;
    a.ended = std::max(end_ticks, a.mark);
    const std::uint64_t rest = a.ended - a.mark;
    a.times[static_cast<std::size_t>(a.current)] += rest;
    if (a.current == share::computing || a.current == share::asleep || a.current == share::tasks)
      a.critical += rest;
    a.mark = a.ended;
  }
}

void record::find_places() {
  std::vector<std::string> files;
  std::map<std::string, std::size_t> numbers;
  const auto number_of = [&](const char* file) {
    const auto [at, is_new] = numbers.try_emplace(file, files.size());
    if (is_new) files.push_back(at->first);
    return at->second;
  };
  for (int rank = 0; rank < ranks(); ++rank)
    for (const auto& object : of(rank).objects)
      if (object[0] != '\0') number_of(object);
  symbol_table symbols{files};
  for (int rank = 0; rank < ranks(); ++rank) {
    account& a = of(rank);
    for (caller& c : callers(rank))
      // Calls in weft and in the language's own library have no name.
      if (c.object >= 0 && c.place[0] == '\0')
        set_text(c.place, as_path(symbols.calls_at(
                              symbol_table::place_in(number_of(a.objects[c.object]), c.offset))));
    for (site& s : a.sites) {
      if (s.object < 0 || s.place[0] != '\0') continue;
      const char* const file = a.objects[s.object];
      const auto& calls = symbols.calls_at(symbol_table::place_in(number_of(file), s.offset));
      // The innermost call that is the program's own.
      set_text(s.place, !calls.empty()
                            ? with_short_path(calls.front())
                            : formatted("{}+{:#x}", std::filesystem::path(file).filename().string(),
                                        s.offset));
    }
  }
}

record read_record(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed))
    throw error(formatted("{}: a directory is no record of a breakdown", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw error(formatted("cannot read {}: {}", path, std::strerror(errno)));
  std::vector<std::byte> content;
  char part[65536];
  while (file.read(part, sizeof part), file.gcount() > 0) {
    const auto* const from = reinterpret_cast<const std::byte*>(part);
    content.insert(content.end(), from, from + file.gcount());
  }
  return record(std::move(content), path, record::from::file);
}

}  // namespace weft::breakdown
