#include "profile/call_paths.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <span>

#include "base/limits.hpp"
#include "base/stack_trace.hpp"
#include "profile/live_account.hpp"
#include "trace/call_tree.hpp"

namespace weft::profile::call_paths {
namespace {

// Relaxed: changes while no worker runs.
std::atomic<bool> on{false};

// What a thread found last: most paths come again and again.
constexpr std::size_t known_max = 16;
constinit thread_local std::array<std::uint32_t, known_max> known_here{};

using frames = std::span<const std::uintptr_t>;

bool has(std::uint32_t path, frames calls) noexcept {
  for (const std::uintptr_t address : calls) {
    if (path == 0) return false;
    const call_tree::call one = call_tree::at(path);
    if (one.address != address) return false;
    path = one.caller;
  }
  return path == 0;
}

std::uint32_t number_of(frames calls) {
  std::uint64_t hash = calls.size();
  for (const std::uintptr_t address : calls)
    hash = (hash ^ address) * 0x9e37'79b9'7f4a'7c15 ^ hash >> 29;
  std::uint32_t& last = known_here[(hash ^ hash >> 32) % known_max];
  if (last != 0 && has(last, calls)) return last;
  std::uint32_t path = 0;
  for (auto at = calls.rbegin(); at != calls.rend(); ++at) {
    path = call_tree::add({*at, path});
    if (path == 0) return 0;
  }
  return last = path;
}

}  // namespace

void start(bool is_on) {
  on.store(is_on, std::memory_order_relaxed);
}
bool are_on() noexcept {
  return on.load(std::memory_order_relaxed);
}

program_call here(std::uintptr_t address) noexcept {
  // Calls of weft stand before those of the program.
  constexpr std::size_t of_weft = 24;
  std::array<std::uintptr_t, of_weft + call_path_calls_max> stack;
  const std::size_t count = capture_calls(stack);
  const auto end = stack.begin() + static_cast<std::ptrdiff_t>(count);
  auto first = std::find(stack.begin(), end, address);
  if (profile::is_in_weft(address) || first == end)
    first = std::find_if(stack.begin(), end,
                         [](std::uintptr_t at) { return !profile::is_in_weft(at); });
  if (first == end) return {address, 0};
  const auto last = std::find_if(first, end, profile::is_in_weft);
  return {*first,
          number_of({first, first + std::min<std::ptrdiff_t>(last - first, call_path_calls_max)})};
}

}  // namespace weft::profile::call_paths
