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

#include "base/own_executable.hpp"
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

std::uint32_t part_writer::place_of(const timeline::event& e) {
  const std::int64_t address = e.kind == trace_kind::call ? e.argument : 0;
  if (address == 0 && e.text == nullptr) return no_place;
  const auto [at, is_new] =
      numbers_.try_emplace({address, e.text}, static_cast<std::uint32_t>(places_.size()));
  if (!is_new) return at->second;
  place_row row;
  if (e.text != nullptr) set_text(row.name, e.text);
  Dl_info found{};
  // A return address may be the first of the next function; the call lies before it.
  if (address != 0 &&
      dladdr(reinterpret_cast<const void*>(static_cast<std::intptr_t>(address) - 1), &found) != 0) {
    const std::string path = found.dli_fname == nullptr ? "" : found.dli_fname;
    std::error_code failed;
    Dl_info own{};
    // The program that was started goes by whatever name it was called; copies of files of ranks do not.
    const bool is_own = dladdr(reinterpret_cast<const void*>(&kept_name), &own) != 0 &&
                        own.dli_fbase == found.dli_fbase;
    set_text(row.object, path.empty() || (is_own && path == program_invocation_name)
                             ? own_executable()
                             : std::filesystem::absolute(path, failed).string());
    row.offset = static_cast<std::uint64_t>(address - 1) -
                 static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(found.dli_fbase));
  }
  places_.push_back(row);
  return at->second;
}

void part_writer::add(const timeline::event& e, int worker) {
  events_.push_back({clock_.ns(e.time_ticks), e.argument, e.more, e.rank, place_of(e),
                     static_cast<std::uint16_t>(worker), e.kind, e.phase, 0});
}

void part_writer::write(std::FILE* file, const bounds& of) const {
  flock(fileno(file), LOCK_EX);
  std::fseek(file, 0, SEEK_END);
  part_header header;
  header.event_bytes = sizeof(event_row);
  header.process = of.process;
  header.processes = of.processes;
  header.workers = of.workers;
  header.begun_ns = clock_.ns(of.begun_ticks);
  header.ended_ns = clock_.ns(of.ended_ticks);
  header.missing = of.missing;
  header.places = places_.size();
  header.events = events_.size();
  set_text(header.program, program_invocation_short_name);
  std::fwrite(&header, sizeof header, 1, file);
  std::fwrite(places_.data(), sizeof(place_row), places_.size(), file);
  std::fwrite(events_.data(), sizeof(event_row), events_.size(), file);
}

}  // namespace weft::event_file
