// Call sites, from which the program called: each is found once for its return address.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/own_executable.hpp"
#include "base/stack_trace.hpp"
#include "profile/experiment.hpp"
#include "profile/live_account.hpp"
#include "trace/call_tree.hpp"

namespace weft::profile {
namespace {

// The program is in other files than weft. Relaxed: each thread finds it out.
std::atomic<bool> program_is_apart{false};

// The file of weft's own code is loaded there.
const void* own_file() noexcept {
  static const void* const found = [] {
    Dl_info own{};
    if (dladdr(reinterpret_cast<const void*>(&own_file), &own) == 0) own = {};
    if (own.dli_fname != nullptr && std::strstr(own.dli_fname, "libweft.so") != nullptr)
      program_is_apart.store(true, std::memory_order_relaxed);
    return own.dli_fbase;
  }();
  return found;
}
bool is_apart() noexcept {
  (void)own_file();  // Which may have found it out.
  return program_is_apart.load(std::memory_order_relaxed);
}

int object_of(account& a, const Dl_info& found) {
  std::error_code failed;
  std::string path = found.dli_fname == nullptr ? "" : found.dli_fname;
  // The program that was started goes by whatever name it was called; copies of files of ranks do not.
  if (path.empty() || (path == program_invocation_name && found.dli_fbase == own_file()))
    path = own_executable();
  else
    path = std::filesystem::absolute(path, failed).string();
  for (int i = 0; i < objects_max; ++i) {
    if (a.objects[i][0] == '\0') copy_text(a.objects[i], path);
    if (a.objects[i] == path.substr(0, sizeof a.objects[i] - 1)) return i;
  }
  return -1;
}

// Or in no file at all. dladdr() would search the table of symbols: 10 us an address.
bool is_own(std::uintptr_t address) noexcept {
  dl_find_object found{};
  return _dl_find_object(reinterpret_cast<void*>(address), &found) != 0 ||
         found.dlfo_map_start == own_file();
}

// The time in calls, without waits.
std::uint64_t in_calls_of(const account& a) noexcept {
  return a.times[static_cast<std::size_t>(share::in_calls)] +
         a.times[static_cast<std::size_t>(share::copying)];
}

constexpr int site_by_walk = -2;  // A return address in weft itself says nothing.

struct place_in_object {
  std::int32_t object = -1;
  std::uint64_t offset = 0;
};
place_in_object place_of(account& a, std::uintptr_t address) {
  Dl_info found{};
  if (address == 0 || dladdr(reinterpret_cast<const void*>(address), &found) == 0) return {};
  return {object_of(a, found), address - reinterpret_cast<std::uintptr_t>(found.dli_fbase)};
}

// The rank's own row of the first call of that path, behind those of the others; -1: there is none, or no room.
std::int32_t row_of(live& p, std::uint32_t path) {
  std::array<std::uintptr_t, call_path_calls_max> calls{};
  std::size_t count = 0;
  for (; path != 0 && count < calls.size(); path = call_tree::at(path).caller)
    calls[count++] = call_tree::at(path).address;
  std::int32_t outer = -1;
  while (count > 0) {
    const auto [object, offset] = place_of(*p.a, calls[--count]);
    const auto is_this = [&](const caller& at) {
      return at.object == object && at.offset == offset && at.caller == outer;
    };
    // Rows are taken from the front.
    auto row = std::ranges::find_if(p.callers, [&](const caller& at) {
      return is_this(at) || (at.object < 0 && at.offset == 0);
    });
    if (row == p.callers.end() || object < 0) {
      p.a->beyond += row == p.callers.end();
      return -1;
    }
    if (!is_this(*row)) *row = {object, outer, offset, {}};
    outer = static_cast<std::int32_t>(row - p.callers.begin());
  }
  return outer;
}

int new_site(live& p, std::uintptr_t address, const char* call) {
  account& a = *p.a;
  const auto [object, offset] = place_of(a, address);
  const std::int32_t path = p.callers.empty() ? -1 : row_of(p, p.site_path);
  for (int i = 0; i < sites_max; ++i) {
    site& at = a.sites[static_cast<std::size_t>(i)];
    const bool is_free = at.call[0] == '\0';
    if (is_free && i + 1 < sites_max) {
      at.object = object;
      at.path = path;
      at.offset = offset;
      copy_text(at.call, call);
      p.is_in_experiment[static_cast<std::size_t>(i)] =
          has_experiment() && is_in_experiment(offset, call);
    } else if (i + 1 < sites_max &&
               (at.object != object || at.offset != offset || at.path != path ||
                (object < 0 && std::strcmp(at.call, call) != 0))) {
      continue;
    }
    if (i + 1 == sites_max) {
      copy_text(at.call, "others");
      ++a.beyond;
    }
    return i;
  }
  return 0;
}

}  // namespace

bool is_in_weft(std::uintptr_t address) noexcept {
  return is_apart() && is_own(address);
}

call_paths::program_call place_of_call(std::uintptr_t address) noexcept {
  if (address == 0) return {};
  if (call_paths::are_on()) return call_paths::here(address);
  if (!is_own(address)) return {address};
  const std::uintptr_t walked = walked_to_program();
  return {walked != 0 ? walked : address};
}

std::uintptr_t walked_to_program() noexcept {
  if (!is_apart()) return 0;
  std::array<std::uintptr_t, 24> calls;
  const std::size_t count = capture_calls(calls);
  for (std::size_t i = 0; i < count; ++i)
    if (!is_own(calls[i])) return calls[i];
  return 0;
}

namespace {

// The name of the call stands for an address that is not known. No address has the bits of a path's number.
std::uintptr_t key_of_site(const live& p, std::uintptr_t address, const char* call) noexcept {
  constexpr int address_bits = 48;
  static_assert(call_path_nodes_max <= 1 << (63 - address_bits));
  return (address != 0 ? address : reinterpret_cast<std::uintptr_t>(call)) ^
         std::uintptr_t{p.site_path} << address_bits;
}
std::size_t first_place(std::uintptr_t key) noexcept {
  return (key ^ key >> 9) * 0x9e37'79b9 >> 3;
}

[[gnu::noinline]] int search_site(live& p, std::uintptr_t address, const char* call) {
  const std::uintptr_t key = key_of_site(p, address, call);
  const std::size_t first = first_place(key);
  for (std::size_t probe = 0; probe < 8; ++probe) {
    live::known& at = p.sites[(first + probe) % p.sites.size()];
    if (at.address == 0) {
      at.address = key;
      const bool in_weft = address != 0 && is_own(address);
      // Then whatever lies in weft's own file is weft's.
      if (address != 0 && !in_weft) program_is_apart.store(true, std::memory_order_relaxed);
      at.site = in_weft && is_apart() ? site_by_walk : new_site(p, address, call);
    }
    if (at.address != key) continue;
    if (at.site != site_by_walk) return at.site;
    const std::uintptr_t walked = walked_to_program();
    return walked == 0 || walked == address ? site_of(p, 0, call) : site_of(p, walked, call);
  }
  return new_site(p, address, call);
}

}  // namespace

int site_of(live& p, std::uintptr_t address, const char* call) {
  p.site_path = 0;
  if (address != 0 && call_paths::are_on()) [[unlikely]] {
    const call_paths::program_call at = call_paths::here(address);
    address = at.address;
    p.site_path = at.path;
  }
  p.site_address = address;
  const std::uintptr_t key = key_of_site(p, address, call);
  const live::known& at = p.sites[first_place(key) % p.sites.size()];
  if (at.address == key && at.site >= 0) [[likely]]
    return at.site;
  return search_site(p, address, call);
}

namespace {

// "int {anonymous}::f(int) [clone .constprop.0]" is known as f.
std::string_view short_name(std::string_view function) {
  function = function.substr(0, function.find('('));
  constexpr std::string_view unnamed = "{anonymous}::";
  if (const std::size_t at = function.rfind(unnamed); at != function.npos)
    return function.substr(at + unnamed.size());
  if (const std::size_t space = function.rfind(' '); space != function.npos)
    function.remove_prefix(space + 1);
  return function;
}

}  // namespace

int site_of_source(live& p, const char* what, const char* file, std::uint32_t line,
                   const char* function) {
  const std::uintptr_t key = (reinterpret_cast<std::uintptr_t>(file != nullptr ? file : function) ^
                              std::uintptr_t{line} << 40) |
                             std::uintptr_t{1} << 63;
  const std::size_t first = (key ^ key >> 9) * 0x9e37'79b9 >> 3;
  live::known* free = nullptr;
  for (std::size_t probe = 0; probe < 8 && free == nullptr; ++probe) {
    live::known& at = p.sites[(first + probe) % p.sites.size()];
    if (at.address == key) return at.site;
    if (at.address == 0) free = &at;
  }
  std::string place = function;
  if (file != nullptr) {
    std::string_view short_file = file;
    short_file = short_file.substr(short_file.rfind('/') + 1);
    place = formatted("{} at {}:{}", short_name(function), short_file, line);
  }
  account& a = *p.a;
  int number = sites_max - 1;
  for (int i = 0; i + 1 < sites_max; ++i) {
    site& at = a.sites[static_cast<std::size_t>(i)];
    if (at.call[0] == '\0') {
      copy_text(at.call, what);
      copy_text(at.place, place);
    } else if (at.object >= 0 || place.compare(0, sizeof at.place - 1, at.place) != 0) {
      continue;
    }
    number = i;
    break;
  }
  if (free != nullptr) *free = {key, number};
  return number;
}

// The program called weft.
void open_call(live& p, int call_site, std::uint64_t now) {
  p.call_site = call_site;
  site& at = p.a->sites[static_cast<std::size_t>(p.call_site)];
  ++at.calls;
  const std::uint64_t computed = std::exchange(p.computed, 0);
  at.computing += computed;
  if (has_experiment()) [[unlikely]] {
    if (p.is_in_experiment[static_cast<std::size_t>(p.call_site)] &&
        here.header->experiment.of == causal_experiment::part::computation)
      contribute(computed);
    settle(p, ticks());
    pay(p);
    p.in_calls_before = in_calls_of(*p.a);
    now = ticks();
  }
  p.call_begun = now;
  p.a->current_site = p.call_site;
}
void close_call(live& p, std::uint64_t now) noexcept {
  if (p.call_site < 0) return;
  const auto number = static_cast<std::size_t>(p.call_site);
  p.a->sites[number].in_calls.add(now - p.call_begun);
  if (has_experiment() && p.is_in_experiment[number] &&
      here.header->experiment.of == causal_experiment::part::calls) [[unlikely]]
    contribute(in_calls_of(*p.a) - std::min(p.in_calls_before, in_calls_of(*p.a)));
  p.a->current_site = p.call_site = -1;
}

}  // namespace weft::profile
