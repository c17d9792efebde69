#include "trace/event_file.hpp"

#include <dlfcn.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <span>

#include "base/checksum.hpp"
#include "base/own_executable.hpp"
#include "trace/call_tree.hpp"
#include "trace/timeline.hpp"

namespace weft::event_file {
namespace {

template <std::size_t Size>
void set_text(char (&to)[Size], std::string_view from) noexcept {
  std::memcpy(to, from.data(), std::min(from.size(), Size - 1));
}

}  // namespace

const char* kept_name(const char* name) {
  static std::mutex mutex;
  static std::set<std::string> names;
  const std::lock_guard lock(mutex);
  return names.emplace(name).first->c_str();
}

std::uint32_t part_writer::place_of(std::int64_t address, const char* text, std::uint32_t path) {
  if (address == 0 && text == nullptr) return no_place;
  if (const auto known = numbers_.find({address, text, path}); known != numbers_.end())
    return known->second;
  place_row row;
  if (text != nullptr) {
    set_text(row.name, text);
    if (path != 0) row.path = place_of(address, nullptr, path);
  } else if (const std::uint32_t caller = call_tree::at(path).caller; caller != 0) {
    row.path =
        place_of(static_cast<std::int64_t>(call_tree::at(caller).address) + 1, nullptr, caller);
  }
  Dl_info found{};
  // A return address may be the first of the next function; the call lies before it.
  if (address != 0 &&
      dladdr(reinterpret_cast<const void*>(static_cast<std::intptr_t>(address) - 1), &found) != 0) {
    const std::string file = found.dli_fname == nullptr ? "" : found.dli_fname;
    std::error_code failed;
    Dl_info own{};
    // The program that was started goes by whatever name it was called; copies of files of ranks do not.
    const bool is_own = dladdr(reinterpret_cast<const void*>(&kept_name), &own) != 0 &&
                        own.dli_fbase == found.dli_fbase;
    set_text(row.object, file.empty() || (is_own && file == program_invocation_name)
                             ? own_executable()
                             : std::filesystem::absolute(file, failed).string());
    row.offset = static_cast<std::uint64_t>(address - 1) -
                 static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(found.dli_fbase));
  }
  const auto number = static_cast<std::uint32_t>(places_.size());
  places_.push_back(row);
  return numbers_[{address, text, path}] = number;
}

void part_writer::add(const timeline::event& e, int worker) {
  // More of a call is its path.
  const bool is_call = e.kind == trace_kind::call;
  const std::int64_t address = is_call || e.kind == trace_kind::sleep ? e.argument : 0;
  events_.push_back({clock_.ns(e.time_ticks), e.argument, is_call ? 0 : e.more, e.rank,
                     place_of(address, e.text, is_call ? static_cast<std::uint32_t>(e.more) : 0),
                     static_cast<std::uint16_t>(worker), e.kind, e.phase, 0});
}

void part_writer::write(std::FILE* file, const bounds& of) const {
  flock(fileno(file), LOCK_EX);
  std::fseek(file, 0, SEEK_END);
  part_header header;
  header.event_bytes = sizeof(event_row);
  header.ranks = of.part.ranks;
  header.job = of.part.job;
  header.process = of.part.process;
  header.processes = of.part.process_count;
  header.workers = of.workers;
  header.begun_ns = clock_.ns(of.begun_ticks);
  header.ended_ns = clock_.ns(of.ended_ticks);
  header.missing = of.missing;
  header.places = places_.size();
  header.events = events_.size();
  set_text(header.program, program_invocation_short_name);
  header.checksum =
      checksum_of({std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(places_)),
                   std::as_bytes(std::span(events_))});
  std::fwrite(&header, sizeof header, 1, file);
  std::fwrite(places_.data(), sizeof(place_row), places_.size(), file);
  std::fwrite(events_.data(), sizeof(event_row), events_.size(), file);
}

}  // namespace weft::event_file
