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

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/stack_trace.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

using namespace accounts;

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

  void check(account& a, int rank) const {
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
    for (char(&object)[256] : a.objects) end_text(object);
    for (std::size_t i = 0; i < a.sites.size(); ++i) {
      site& s = a.sites[i];
      within(formatted("{}, site {}", who, i), "object", s.object, -1, objects_max - 1);
      end_text(s.call);
      end_text(s.place);
    }
    for (std::size_t i = 0; i < a.waits.size(); ++i) {
      wait_row& w = a.waits[i];
      const std::string row = formatted("{}, wait {}", who, i);
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

record::record(std::vector<std::byte> content, std::string_view file)
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
  const std::size_t whole = bytes_of_accounts(static_cast<std::size_t>(h.ranks));
  if (content_.size() < whole)
    throw error(formatted("{}: {} bytes of {}: the record of {} ranks is cut off", file,
                          content_.size(), whole, h.ranks));
  content_.resize(whole);
  end_text(h.host);
  end_text(h.processor);
  end_text(h.program);
  end_text(h.settings);
  for (int rank = 0; rank < h.ranks; ++rank) check.check(of(rank), rank);
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
double record::seconds(std::uint64_t ticks) const noexcept {
  return static_cast<double>(ticks) * header().ns_per_tick * 1e-9;
}
std::span<const std::byte> record::bytes() const noexcept {
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
  return record(std::move(content), path);
}

}  // namespace weft::breakdown
