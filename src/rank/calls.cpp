#include "rank/calls.hpp"

#include <array>
#include <cstring>

#include "rank/messages.hpp"

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
  if (call.bytes != 0) text += " of " + std::to_string(call.bytes) + " octets";
  if (call.root >= 0) text += " with root " + std::to_string(call.root);
  return text;
}

bool is_same(const collective_call& one, const collective_call& two) noexcept {
  return (one.name == two.name || std::strcmp(one.name, two.name) == 0) && one.root == two.root &&
         (one.bytes == two.bytes || !one.same_size) && one.combines == two.combines;
}

[[gnu::cold]] std::string mismatch(const communicator_state& c, int a, const collective_call& calls,
                                   int b, const collective_call& but) {
  std::string text = "collective mismatch on communicator " + std::to_string(c.context) + ": ";
  const bool reduces_otherwise =
      std::strcmp(calls.name, but.name) == 0 && calls.combines != but.combines;
  if (is_same(calls, but))
    text += "before they called " + described(calls) + ", ranks " + std::to_string(a) + " and " +
            std::to_string(b) +
            " called different broadcasts (root, size or number): all ranks must call the same";
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
    return "collective mismatch on communicator " + std::to_string(c.context) +
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
  break_communicator(*worker::current(), c, text);
  throw error(text);
}

}  // namespace

void check_same_slowly(communicator_state& c, int a, const collective_call& one, int b,
                       const collective_call& two) {
  if (!is_same(one, two) || one.history != two.history) [[unlikely]]
    throw_mismatch(c, a, one, b, two);
}

}  // namespace weft::detail
