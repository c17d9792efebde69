#include "collective/calls.hpp"
#include "collective/broken_communicator.hpp"

#include <array>
#include <cstring>
#include <optional>

#include "collective/peer_failure.hpp"
#include "rank/messages.hpp"
#include "rank/names.hpp"

namespace weft::detail {

namespace {

// "sum of int32", "an operation of its own".
std::string described(const combination& c) {
  static constexpr std::array operations{"",
                                         "an operation of its own",
                                         "an operation of its own in rank order",
                                         "sum",
                                         "product",
                                         "min",
                                         "max",
                                         "bit_and",
                                         "bit_or",
                                         "bit_xor",
                                         "logical_and",
                                         "logical_or",
                                         "logical_xor",
                                         "min and its place",
                                         "max and its place"};
  static constexpr std::array kinds{"", " of bool", " of int", " of uint", " of float"};
  // Another process may have said it.
  const auto operation = static_cast<std::size_t>(c.operation());
  const auto kind = static_cast<std::size_t>(c.kind());
  if (operation >= operations.size() || kind >= kinds.size()) return "an unknown operation";
  std::string text = std::string(operations[operation]) + kinds[kind];
  if (c.kind() > number_kind::boolean) text += std::to_string(c.element_bits());
  return text;
}

}  // namespace

std::string described(const collective_call& call) {
  std::string text = call.name;
  if (call.bytes != 0) text += " of " + std::to_string(call.bytes) + " bytes";
  if (call.root >= 0) text += " with root " + std::to_string(call.root);
  return text;
}

bool is_same(const collective_call& one, const collective_call& two) noexcept {
  return (one.name == two.name || std::strcmp(one.name, two.name) == 0) && one.root == two.root &&
         (one.bytes == two.bytes || !one.same_size) && one.combines == two.combines;
}

namespace {

// Undoes the last multiplication of history_with(): returns the history before, to which root and size are added.
std::uint64_t without_factor(std::uint64_t history) {
  // The inverse of an odd number modulo 2^64: each step doubles the number of its right bits.
  std::uint64_t inverse = history_factor;
  for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - history_factor * inverse;
  return history * inverse - 1;
}

// The broadcast that made `after` of the history `before`; nothing when it was more than one.
std::optional<collective_call> broadcast_between(const communicator_state& c, std::uint64_t before,
                                                 std::uint64_t after, const char* name) {
  const std::uint64_t said = before ^ without_factor(after);
  const auto root = said >> 32;
  const auto bytes = said & 0xffffffffu;
  if (root >= static_cast<std::uint64_t>(c.size()) || bytes > small_bytes_max) return {};
  return collective_call{name, static_cast<std::int32_t>(root), true, bytes};
}

// Histories are numbers, which tell how they differ when the last broadcast does: that of a rank here
// stands in its slot.
std::string difference_of_broadcasts(const communicator_state& c, int a,
                                     const collective_call& of_a, int b,
                                     const collective_call& of_b) {
  const std::string unknown = " (root, size or number)";
  const auto missing = [](int rank, const collective_call& last) {
    return ", of which rank " + std::to_string(rank) + " has not called the last, " +
           described(last);
  };
  if (const auto more = broadcast_between(c, of_a.history, of_b.history, "a broadcast"); more)
    return missing(a, *more);
  if (const auto more = broadcast_between(c, of_b.history, of_a.history, "a broadcast"); more)
    return missing(b, *more);
  const bool is_b_here = c.members[static_cast<std::size_t>(b)].rank != nullptr;
  const int here = is_b_here ? b : a;
  const member& mine = c.members[static_cast<std::size_t>(here)];
  if (mine.rank == nullptr || !c.broadcasts->sent.holds(mine.broadcasts)) return unknown;
  const std::uint64_t own = is_b_here ? of_b.history : of_a.history;
  const std::uint64_t others = is_b_here ? of_a.history : of_b.history;
  const collective_call last = c.broadcasts->sent.content(mine.broadcasts).call;
  const std::uint64_t before =
      without_factor(own) ^ (static_cast<std::uint64_t>(last.root) << 32 ^ last.bytes);
  const auto theirs = broadcast_between(c, before, others, last.name);
  if (!theirs) return unknown;
  return ": rank " + std::to_string(here) + " " + described(last) + ", rank " +
         std::to_string(is_b_here ? a : b) + " " + described(*theirs);
}

}  // namespace

[[gnu::cold]] std::string mismatch(const communicator_state& c, int a, const collective_call& calls,
                                   int b, const collective_call& but) {
  std::string text = "collective mismatch on " + name_of(c) + ": ";
  const bool reduces_otherwise =
      std::strcmp(calls.name, but.name) == 0 && calls.combines != but.combines;
  if (is_same(calls, but))
    text += "before they called " + described(calls) + ", ranks " + std::to_string(a) + " and " +
            std::to_string(b) + " called different broadcasts" +
            difference_of_broadcasts(c, a, calls, b, but) + ": all ranks must call the same";
  else
    text += "rank " + std::to_string(a) + " calls " + described(calls) +
            (reduces_otherwise ? ", " + described(calls.combines) : "") + ", but rank " +
            std::to_string(b) + " calls " + described(but) +
            (reduces_otherwise ? ", " + described(but.combines) : "") +
            ": all ranks must call the same collectives in the same order, with the same sizes" +
            (reduces_otherwise ? ", operations and types" : "");
  return text;
}

std::string unequal_calls(const communicator_state& c) {
  // Relaxed: whoever called last is ordered before the end.
  if (c.failed.load(std::memory_order_relaxed) || c.broken.load(std::memory_order_relaxed))
    return {};
  const auto said = [&](const member& m) {
    std::string text =
        "rank " + std::to_string(c.rank_of(m)) + " has called " + std::to_string(m.called());
    if (m.called() != 0) text += ", the last a " + described(m.call);
    return text;
  };
  const member* first = nullptr;
  for (const member& m : c.members) {
    if (m.rank == nullptr) continue;  // Of another process.
    if (first == nullptr) first = &m;
    if (m.called() == first->called() && m.call.history == first->call.history) continue;
    // The communicator is named by its context id: the faces, which know its name, may be gone.
    return "collective mismatch on " + communicator_name(nullptr, c.context) +
           ", of all its collectives: " + said(*first) + ", but " + said(m) +
           ": all ranks must call the same collectives in the same order, with the same sizes";
  }
  return {};
}

namespace {

[[noreturn, gnu::cold]] void throw_mismatch(communicator_state& c, int a,
                                            const collective_call& calls, int b,
                                            const collective_call& but) {
  const std::string text = mismatch(c, a, calls, b, but);
  break_communicator(*worker::current(), c, encoded_mismatch(text));
  throw coded_error(text, calls_differ);
}

}  // namespace

void check_same_slowly(communicator_state& c, int a, const collective_call& one, int b,
                       const collective_call& two) {
  if (!is_same(one, two) || one.history != two.history) [[unlikely]]
    throw_mismatch(c, a, one, b, two);
}

}  // namespace weft::detail
