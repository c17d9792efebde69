#include "rank/calls.hpp"

#include <cstring>

#include "rank/messages.hpp"

namespace weft::detail {

std::string described(const collective_call& call) {
  std::string text = call.name;
  if (call.bytes != 0) text += " of " + std::to_string(call.bytes) + " octets";
  if (call.root >= 0) text += " with root " + std::to_string(call.root);
  return text;
}

bool is_same(const collective_call& one, const collective_call& two) noexcept {
  return (one.name == two.name || std::strcmp(one.name, two.name) == 0) && one.root == two.root &&
         (one.bytes == two.bytes || !one.same_size);
}

[[gnu::cold]] std::string mismatch(const communicator_state& c, int a, const collective_call& calls,
                                   int b, const collective_call& but) {
  std::string text = "collective mismatch on communicator " + std::to_string(c.context) + ": ";
  if (is_same(calls, but))
    text += "before they called " + described(calls) + ", ranks " + std::to_string(a) + " and " +
            std::to_string(b) +
            " called different broadcasts (root, size or number): all ranks must call the same";
  else
    text += "rank " + std::to_string(a) + " calls " + described(calls) + ", but rank " +
            std::to_string(b) + " calls " + described(but) +
            ": all ranks must call the same collectives in the same order, with the same sizes";
  return text;
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
