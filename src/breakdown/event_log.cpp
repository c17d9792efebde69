#include "breakdown/event_log.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/checksum.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/stack_trace.hpp"
#include "breakdown/files.hpp"
#include "breakdown/record.hpp"
#include "trace/flows.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

using namespace event_file;

constexpr std::uint64_t places_max = 1U << 20;
constexpr int workers_max = 1 << 20;  // The sum over all processes.
// Some 30 years: in ns both a double and the time stamps of archives bear it.
constexpr double longest_ns = 1e18;

template <std::size_t Size>
[[nodiscard]] std::string text_of(const char (&text)[Size]) {
  std::string made(text, strnlen(text, Size));
  for (char& at : made)
    if (static_cast<unsigned char>(at) < ' ') at = '?';
  return made;
}

// One file of parts, read from the front.
class parts_reader {
 public:
  parts_reader(std::string_view content, std::string_view file) : rest_(content), file_(file) {}

  event_log read(bool with_places) {
    if (rest_.empty()) throw error(formatted("{}: the file is empty: no job has ended", file_));
    while (!rest_.empty()) read_part();
    if (seen_ != log_.processes)
      throw error(formatted(
          "{}: {} of {} processes are in it: the job has not ended, or ran on other hosts", file_,
          seen_, log_.processes));
    if (!has_events_) throw error(formatted("{}: no rank has an event in it", file_));
    for (auto& events : log_.of_rank) std::ranges::stable_sort(events, {}, &log_event::ns);
    if (with_places) find_places();
    return std::move(log_);
  }

 private:
  template <class Row>
  [[nodiscard]] Row take(const char* what) {
    if (rest_.size() < sizeof(Row))
      throw error(
          formatted("{}: {} bytes are left where {} of {} bytes begins: the file is cut off", file_,
                    rest_.size(), what, sizeof(Row)));
    Row row;
    std::memcpy(static_cast<void*>(&row), rest_.data(), sizeof row);
    rest_.remove_prefix(sizeof row);
    return row;
  }
  void within(const char* field, double value, double least, double most) const {
    if (value >= least && value <= most) return;
    throw error(formatted("{}: part {}: {} is {}; allowed are {} to {}", file_, seen_, field, value,
                          least, most));
  }

  void read_part() {
    if (rest_.size() < sizeof(part_header))
      throw error(formatted("{}: {} bytes are no part of an event file, which begins with {}",
                            file_, rest_.size(), sizeof(part_header)));
    const auto header = take<part_header>("a part");
    if (header.magic != magic)
      throw error(
          formatted("{}: a part begins with {:#x}; those of event files (weftrun --trace "
                    "FILE.events) begin with {:#x}",
                    file_, header.magic, magic));
    within("header size", header.header_bytes, sizeof header, sizeof header);
    within("event size", header.event_bytes, sizeof(event_row), sizeof(event_row));
    within("processes", header.processes, 1, ranks_max);
    within("process", header.process, 0, header.processes - 1);
    within("workers", header.workers, 1, workers_max - log_.workers);
    within("ranks", header.ranks, 1, ranks_max);
    within("begin", header.begun_ns, 0, longest_ns);
    within("end", header.ended_ns, header.begun_ns, longest_ns);
    if (header.places > places_max || header.places * sizeof(place_row) > rest_.size() ||
        header.events > (rest_.size() - header.places * sizeof(place_row)) / sizeof(event_row))
      throw error(formatted(
          "{}: part {} says that it has {} places and {} events, more than the {} bytes that follow: "
          "the file is cut off",
          file_, seen_, header.places, header.events, rest_.size()));
    check_sum(header);
    if (!processes_.insert(header.process).second)
      throw error(formatted("{}: process {} has two parts in it: two runs have written there",
                            file_, header.process));
    if (seen_ == 0) {
      log_.job = header.job;
      log_.of_rank.resize(static_cast<std::size_t>(header.ranks));
      log_.process_of_rank.resize(log_.of_rank.size(), 0);
      log_.worker_of_rank.resize(log_.of_rank.size(), -1);
      log_.program = text_of(header.program);
      log_.processes = header.processes;
      log_.workers = 0;
      log_.begun_ns = header.begun_ns;
      log_.ended_ns = header.ended_ns;
    }
    if (header.job != log_.job)
      throw error(formatted("{}: part {} is of another run than those before it", file_, seen_));
    within("processes", header.processes, log_.processes, log_.processes);
    within("ranks", header.ranks, log_.ranks(), log_.ranks());
    log_.begun_ns = std::min(log_.begun_ns, header.begun_ns);
    log_.ended_ns = std::max(log_.ended_ns, header.ended_ns);
    log_.missing += header.missing;
    const std::size_t first_place = log_.places.size();
    for (std::uint64_t i = 0; i < header.places; ++i) {
      const auto row = take<place_row>("a place");
      if (row.path != no_place) within("path of a place", row.path, 0, static_cast<double>(i) - 1);
      log_.places.push_back({text_of(row.name), {}});
      files_.push_back(
          {text_of(row.object), row.offset,
           row.path == no_place ? -1 : static_cast<std::ptrdiff_t>(first_place + row.path)});
    }
    for (std::uint64_t i = 0; i < header.events; ++i)
      add(take<event_row>("an event"), header, first_place);
    log_.workers += header.workers;
    ++seen_;
  }

  void check_sum(part_header header) const {
    const std::uint32_t told = std::exchange(header.checksum, 0);
    const std::size_t bytes = header.places * sizeof(place_row) + header.events * sizeof(event_row);
    const std::uint32_t found = checksum_of(
        {std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(rest_.substr(0, bytes)))});
    if (found != told)
      throw error(formatted(
          "{}: part {} has the checksum {:08x} and says {:08x}: bytes of it are not those that were "
          "written; record again",
          file_, seen_, found, told));
  }

  void add(const event_row& row, const part_header& header, std::size_t first_place) {
    within("kind of an event", static_cast<double>(row.kind), 0, trace_kind_count - 1);
    within("phase of an event", static_cast<double>(row.phase), 0, 2);
    within("time of an event", row.ns, header.begun_ns - 1e6, header.ended_ns + 1e6);
    within("bytes of an event", static_cast<double>(row.bytes), 0, 1e18);
    if (row.place != no_place)
      within("place of an event", row.place, 0, static_cast<double>(header.places) - 1);
    const bool has_rank =
        row.rank >= 0 || (row.kind != trace_kind::task && row.kind != trace_kind::beside);
    const bool is_of_worker = row.kind == trace_kind::park || row.kind == trace_kind::move ||
                              row.kind == trace_kind::no_thread;
    if (is_of_worker || !has_rank) return;
    within("rank of an event", row.rank, 0, header.ranks - 1);
    const auto rank = static_cast<std::size_t>(row.rank);
    has_events_ = true;
    const int worker = log_.workers + row.worker;
    // A thief's worker is not the rank's own, nor is another thread of the process.
    if (row.kind != trace_kind::chunk_stolen && row.worker < header.workers &&
        log_.worker_of_rank[rank] < 0) {
      log_.process_of_rank[rank] = header.process;
      log_.worker_of_rank[rank] = worker;
    }
    log_.of_rank[rank].push_back(
        {row.ns, row.argument, static_cast<std::uint64_t>(row.bytes),
         row.place == no_place ? -1 : static_cast<std::int32_t>(first_place + row.place), worker,
         row.kind, row.phase});
  }

  void find_places() {
    std::vector<std::string> names;
    std::map<std::string, std::size_t> numbers;
    for (const auto& [file, offset, path] : files_)
      if (!file.empty() && numbers.try_emplace(file, names.size()).second) names.push_back(file);
    symbol_table symbols{names};
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const auto& [file, offset, path] = files_[i];
      if (file.empty()) continue;
      // Calls of a path come before their callers.
      const bool is_of_path = log_.places[i].call.empty();
      const std::string callers =
          path < 0 ? std::string() : log_.places[static_cast<std::size_t>(path)].where;
      if (!is_of_path && !callers.empty()) {
        log_.places[i].where = callers;
        continue;
      }
      const auto& calls = symbols.calls_at(symbol_table::place_in(numbers[file], offset));
      log_.places[i].where =
          is_of_path ? as_path(as_path(calls), callers)
          : !calls.empty()
              ? with_short_path(calls.front())
              : formatted("{}+{:#x}", std::filesystem::path(file).filename().string(), offset);
    }
  }

  std::string_view rest_, file_;
  int seen_ = 0;
  bool has_events_ = false;
  std::set<std::int32_t> processes_;
  event_log log_;
  struct place_in_file {
    std::string file;
    std::uint64_t offset;
    std::ptrdiff_t path;  // The number of a place; -1: none.
  };
  std::vector<place_in_file> files_;  // One for each place.
};

}  // namespace

event_log parse_event_log(std::string_view content, std::string_view file, bool with_places) {
  return parts_reader(content, file).read(with_places);
}

event_log read_event_log(const std::string& path, bool with_places) {
  return parse_event_log(content_of(path), path, with_places);
}

}  // namespace weft::breakdown
