#include "parcel/registry.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "base/format.hpp"
#include "base/stack_trace.hpp"
#include "job/caller.hpp"
#include "sync/published.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

// Constant-initialised: actions register from other files' static objects, of several ranks at once where these have copies
// of their program.
constinit std::mutex lock;
constinit action_entry* newest = nullptr;
constinit published<const action_table*> newest_table;
// Those that others may still look at, too.
std::vector<std::unique_ptr<action_table>>& all_tables() {
  static std::vector<std::unique_ptr<action_table>> made;
  return made;
}

std::size_t place_of(const void* function, std::size_t places) noexcept {
  // The upper bits of a product: addresses of functions differ in the middle.
  const auto product = reinterpret_cast<std::uintptr_t>(function) * 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>(product >> 32) & (places - 1);
}

void fill_in(std::vector<const action_entry*>& places, const action_entry& one) {
  std::size_t at = place_of(one.key, places.size());
  while (places[at] != nullptr) at = (at + 1) & (places.size() - 1);
  places[at] = &one;
}

const action_entry* find(const action_table& in, const void* function) noexcept {
  const std::vector<const action_entry*>& places = in.by_function;
  for (std::size_t at = place_of(function, places.size()); places[at] != nullptr;
       at = (at + 1) & (places.size() - 1))
    if (places[at]->key == function) return places[at];
  return nullptr;
}

// Of two ranks, which have a copy of the program each.
bool are_copies(const action_entry& a, const action_entry& b) noexcept {
  return a.rank >= 0 && b.rank >= 0 && a.rank != b.rank;
}

std::unique_ptr<action_table> made_table() {
  auto table = std::make_unique<action_table>();
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  const action_entry* seen = nullptr;
  if (const action_table* const before = newest_table.value(); before != nullptr) {
    table->by_number = before->by_number;
    seen = before->newest;
    for (std::size_t i = 0; i < table->by_number.size(); ++i)
      numbers[table->by_number[i]->name] = static_cast<std::uint32_t>(i);
  }
  std::vector<const action_entry*> found;
  for (const action_entry* one = newest; one != seen; one = one->next) found.push_back(one);
  std::ranges::sort(found, [](const action_entry* a, const action_entry* b) {
    const int order = std::strcmp(a->name, b->name);
    return order != 0 ? order < 0 : a->rank < b->rank;
  });
  for (const action_entry* one : found) {
    const auto [place, is_new] =
        numbers.emplace(one->name, static_cast<std::uint32_t>(table->by_number.size()));
    if (is_new) table->by_number.push_back(one);
    const action_entry*& first = table->by_number[place->second];
    if (first->key != one->key && !are_copies(*first, *one))
      throw error(formatted(
          "two actions are named \"{}\": give one of them a name of its own, as a function with WEFT_ACTION",
          name_of(*one)));
    if (one->rank < first->rank) first = one;
    one->index.store(place->second, std::memory_order_relaxed);
  }
  std::size_t functions = 0;
  for (const action_entry* one = newest; one != nullptr; one = one->next) ++functions;
  table->by_function.resize(std::bit_ceil(4 * functions + 1));
  for (const action_entry* one = newest; one != nullptr; one = one->next)
    if (!one->is_type && find(*table, one->key) == nullptr) fill_in(table->by_function, *one);
  table->newest = newest;
  return table;
}

// The first argument of a template whose name ends at `begin`.
std::string_view first_argument(std::string_view text, std::size_t begin) noexcept {
  std::size_t end = begin;
  for (int depth = 0; end < text.size(); ++end) {
    const char c = text[end];
    if (depth == 0 && (c == ',' || c == '>')) break;
    if (c == '<' || c == '(') ++depth;
    if (c == '>' || c == ')') --depth;
  }
  std::string_view found = text.substr(begin, end - begin);
  if (found.starts_with('&')) found.remove_prefix(1);
  if (found.starts_with('(') && found.ends_with(')')) found = found.substr(1, found.size() - 2);
  return found;
}

// What is called by a type of weft's own is named by what the program called.
std::string as_written(std::string text) {
  static constexpr struct {
    std::string_view type, call;
  } known[] = {
      {"weft::detail::function_as_type<", ""},     {"weft::detail::method_caller<", ""},
      {"weft::detail::object_maker<", "create"},   {"weft::detail::object_holder<", "resolve"},
      {"weft::detail::object_finder<", "resolve"}, {"weft::detail::object_namer<", "give_name"},
  };
  for (const auto& [type, call] : known) {
    if (!text.starts_with(type)) continue;
    const std::string_view what = first_argument(text, type.size());
    return call.empty() ? std::string(what) : formatted("{}<{}>", call, what);
  }
  return text;
}

}  // namespace

action_entry::action_entry(const char* called, bool is_name_of_type, const void* of,
                           void (*runs)(received_call&)) noexcept
    : name(called),
      is_type(is_name_of_type),
      key(of),
      run(runs),
      rank(state_of_caller() != nullptr ? state_of_caller()->number : -1) {
  const std::lock_guard hold(lock);
  next = newest;
  newest = this;
}

std::string name_of(const action_entry& one) {
  return one.is_type ? as_written(demangled(one.name)) : std::string(one.name);
}

const action_table& known_actions() {
  const std::lock_guard hold(lock);
  const action_table* const before = newest_table.value();
  if (before != nullptr && before->newest == newest) return *before;
  const action_table& now = *all_tables().emplace_back(made_table());
  newest_table.publish(&now);
  return now;
}

std::uint32_t number_of(const action_entry& one) {
  const std::uint32_t number = one.index.load(std::memory_order_relaxed);
  if (number != action_entry::none) [[likely]]
    return number;
  static_cast<void>(known_actions());
  return one.index.load(std::memory_order_relaxed);
}

const action_entry& action_of_function(const void* function) {
  const action_table* const known = newest_table.value();
  const action_entry* found = known != nullptr ? find(*known, function) : nullptr;
  if (found != nullptr) [[likely]]
    return *found;
  // Constructors of the calling rank's own copy may have registered it since.
  found = find(known_actions(), function);
  if (found != nullptr) return *found;
  throw error(
      "a function was called in another locality that is no action: write WEFT_ACTION(function) at namespace scope, or "
      "call weft::action<&function>");
}

std::uint64_t digest_of_actions(const std::vector<const action_entry*>& all) noexcept {
  std::uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a.
  for (const action_entry* one : all)
    for (const char* at = one->name;; ++at) {
      digest = (digest ^ static_cast<unsigned char>(*at)) * 0x100000001b3u;
      if (*at == '\0') break;
    }
  return digest;
}

std::string names_of_actions(const std::vector<const action_entry*>& all) {
  std::string text;
  for (const action_entry* one : all) text.append(one->name, std::strlen(one->name) + 1);
  return text;
}

std::string difference_of_actions(const std::vector<const action_entry*>& mine,
                                  std::string_view other, int process) {
  std::size_t number = 0;
  const auto say = [&](const std::string& here, const std::string& there) {
    return formatted(
        "the actions of process {} are not those of process 0: number {} is {} here and {} there; start programs with "
        "the same actions in all processes",
        process, number, here, there);
  };
  const auto named = [](const action_entry& one) { return formatted("\"{}\"", name_of(one)); };
  const auto quoted = [](std::string_view name) {
    const std::string text(name);
    const bool is_encoded = text.starts_with("N4weft") || text.starts_with("Z");
    return formatted("\"{}\"", printable(is_encoded ? demangled(text.c_str()) : text));
  };
  for (; !other.empty(); ++number) {
    const std::string_view there = other.substr(0, other.find('\0'));
    other.remove_prefix(std::min(there.size() + 1, other.size()));
    if (number == mine.size()) return say("missing", quoted(there));
    if (there != mine[number]->name) return say(named(*mine[number]), quoted(there));
  }
  return say(number < mine.size() ? named(*mine[number]) : "missing", "missing");
}

}  // namespace weft::detail
