#include "parcel/registry.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/format.hpp"
#include "base/stack_trace.hpp"
#include "job/caller.hpp"
#include "parcel/limits.hpp"
#include "sync/published.hpp"
#include "weft/error.hpp"
#include "weft/parcels/encoding.hpp"

namespace weft::detail {
namespace {

// Constant-initialised: actions register from other files' static objects, of several ranks at once where these have copies
// of their program.
constinit std::mutex lock;
constinit action_entry* newest = nullptr;
constinit published<const action_table*> newest_table;
// Tables that others may still look at are kept, too.
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
  std::size_t at = place_of(one.target.key, places.size());
  while (places[at] != nullptr) at = (at + 1) & (places.size() - 1);
  places[at] = &one;
}

const action_entry* find(const action_table& in, const void* function) noexcept {
  const std::vector<const action_entry*>& places = in.by_function;
  for (std::size_t at = place_of(function, places.size()); places[at] != nullptr;
       at = (at + 1) & (places.size() - 1))
    if (places[at]->target.key == function) return places[at];
  return nullptr;
}

// Compares entries of two ranks, which have a copy of the program each.
bool are_copies(const action_entry& a, const action_entry& b) noexcept {
  return a.rank >= 0 && b.rank >= 0 && a.rank != b.rank;
}

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

// Whether a name at `at`, behind what begins one of several parts, has a part that its file alone knows: one with an L.
bool has_local_part(std::string_view encoded, std::size_t at) noexcept {
  while (at < encoded.size() &&
         std::string_view("KVRO").find(encoded[at]) != std::string_view::npos)
    ++at;
  while (at < encoded.size() && is_digit(encoded[at])) {
    std::size_t length = 0;
    for (; at < encoded.size() && is_digit(encoded[at]) && length < encoded.size(); ++at)
      length = 10 * length + static_cast<std::size_t>(encoded[at] - '0');
    at += length;
  }
  return at + 1 < encoded.size() && encoded[at] == 'L' && is_digit(encoded[at + 1]);
}

// Whether what a compiler encodes so, by the C++ ABI of Itanium, has a part that is local to a source file: in an unnamed
// namespace, or static.
bool is_local_to_file(std::string_view encoded) noexcept {
  if (encoded.find("_GLOBAL__N_") != std::string_view::npos) return true;
  for (std::size_t at = 0; (at = encoded.find('Z', at)) != std::string_view::npos; ++at) {
    if (at != 0 && encoded[at - 1] != '_') continue;
    const std::size_t after = at + 1;
    if (has_local_part(encoded, after)) return true;
    if (after < encoded.size() && encoded[after] == 'N' && has_local_part(encoded, after + 1))
      return true;
  }
  return false;
}

std::string_view name_of_file(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);
}

// An action is known in all processes by this: what the compiler calls it, and a mark and the file where it is local.
constexpr char before_file = '\x01';
std::string full_name(const action_target& of) {
  std::string name = of.name;
  if (is_local_to_file(name)) name.append(1, before_file).append(name_of_file(of.file));
  return name;
}

std::uint64_t mixed_text(std::uint64_t digest, std::string_view text) noexcept {
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return (digest ^ 0xff) * 0x100000001b3u;  // FNV-1a, and an end that no text has.
}
constexpr std::uint64_t first_digest = 0xcbf29ce484222325u;
std::uint64_t digest_of(const known_action& one) noexcept {
  const action_types& types = one.entry->target.types;
  return mixed(mixed_text(mixed_text(first_digest, one.name), types.names), types.shape);
}

// Makes a text for people, in memory that stays. The caller has the lock.
const char* kept_readable(const action_entry& one);

std::unique_ptr<action_table> made_table() {
  auto table = std::make_unique<action_table>();
  std::unordered_map<std::string, std::uint32_t> numbers;
  const action_entry* seen = nullptr;
  if (const action_table* const before = newest_table.value(); before != nullptr) {
    table->by_number = before->by_number;
    seen = before->newest;
    for (std::size_t i = 0; i < table->by_number.size(); ++i)
      numbers[table->by_number[i].name] = static_cast<std::uint32_t>(i);
  }
  std::vector<known_action> found;
  for (const action_entry* one = newest; one != seen; one = one->next)
    found.push_back({full_name(one->target), one});
  // Files of one name have different paths, in an order that all copies of the program have.
  std::ranges::sort(found, [](const known_action& a, const known_action& b) {
    if (const int order = a.name.compare(b.name); order != 0) return order < 0;
    const int order = std::strcmp(a.entry->target.file, b.entry->target.file);
    return order != 0 && is_local_to_file(a.name) ? order < 0 : a.entry->rank < b.entry->rank;
  });
  for (known_action& one : found) {
    const auto is_same = [&](const known_action& other) {
      return other.entry->target.key == one.entry->target.key ||
             (are_copies(*other.entry, *one.entry) &&
              (!is_local_to_file(one.name) ||
               std::strcmp(other.entry->target.file, one.entry->target.file) == 0));
    };
    const std::string name = one.name;
    for (int same_names = 2;; ++same_names) {
      const auto [place, is_new] =
          numbers.emplace(one.name, static_cast<std::uint32_t>(table->by_number.size()));
      if (is_new) {
        if (table->by_number.size() == parcel_actions_max)
          throw error(formatted("a program of more than {} actions", parcel_actions_max));
        table->by_number.push_back(one);
      }
      known_action& first = table->by_number[place->second];
      if (!is_same(first)) {
        if (!is_local_to_file(name) ||
            std::strcmp(first.entry->target.file, one.entry->target.file) == 0)
          throw error(formatted(
              "two actions are named \"{}\": give one of them a name of its own, as a function with WEFT_ACTION",
              name_of(*one.entry)));
        one.name = formatted("{} {}", name, same_names);
        continue;
      }
      if (one.entry->rank < first.entry->rank) first.entry = one.entry;
      const auto check = static_cast<std::uint32_t>(digest_of(one) >> 48);
      one.entry->readable.store(kept_readable(*one.entry), std::memory_order_relaxed);
      one.entry->index.store(check << action_number_bits | place->second,
                             std::memory_order_relaxed);
      break;
    }
  }
  std::size_t functions = 0;
  for (const action_entry* one = newest; one != nullptr; one = one->next) ++functions;
  table->by_function.resize(std::bit_ceil(4 * functions + 1));
  for (const action_entry* one = newest; one != nullptr; one = one->next)
    if (one->target.is_function && find(*table, one->target.key) == nullptr)
      fill_in(table->by_function, *one);
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

// "weft::f" of "weft::f(int)", of "weft::f(int) const", and of "int weft::f<int>(int)".
std::string without_parameters(std::string_view text) {
  int depth = 0;
  std::size_t begin = 0, end = text.size();
  const std::size_t last = text.rfind(')');
  const bool has_some =
      last != std::string_view::npos && (last + 1 == text.size() || text[last + 1] == ' ');
  for (std::size_t at = last + 1; has_some && at > 0; --at) {
    depth += text[at - 1] == ')' ? 1 : text[at - 1] == '(' ? -1 : 0;
    if (depth != 0) continue;
    end = at - 1;
    break;
  }
  depth = 0;
  for (std::size_t at = 0; at < end; ++at) {
    const char c = text[at];
    depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
    if (c == ' ' && depth == 0) begin = at + 1;
  }
  return std::string(text.substr(begin, end - begin));
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
    return call.empty() ? without_parameters(what) : formatted("{}<{}>", call, what);
  }
  return text;
}

const char* kept_readable(const action_entry& one) {
  static std::deque<std::string> made;
  if (const char* const before = one.readable.load(std::memory_order_relaxed); before != nullptr)
    return before;
  return made.emplace_back(name_of(one)).c_str();
}

}  // namespace

action_entry::action_entry(const action_target& of, void (*runs)(received_call&)) noexcept
    : target(of), run(runs), rank(state_of_caller() != nullptr ? state_of_caller()->number : -1) {
  const std::lock_guard hold(lock);
  next = newest;
  newest = this;
}

std::string name_of(const action_entry& one) {
  return as_written(demangled(one.target.name));
}

const action_table& known_actions() {
  const std::lock_guard hold(lock);
  const action_table* const before = newest_table.value();
  if (before != nullptr && before->newest == newest) return *before;
  const action_table& now = *all_tables().emplace_back(made_table());
  newest_table.publish(&now);
  return now;
}

std::uint32_t word_of(const action_entry& one) {
  const std::uint32_t word = one.index.load(std::memory_order_relaxed);
  if (word != action_entry::none) [[likely]]
    return word;
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

std::uint64_t digest_of_actions(const std::vector<known_action>& all) noexcept {
  std::uint64_t digest = first_digest;
  for (const known_action& one : all) digest = mixed(digest, digest_of(one));
  return digest;
}

std::string names_of_actions(const std::vector<known_action>& all) {
  std::string text;
  for (const known_action& one : all) {
    const action_types& types = one.entry->target.types;
    for (const std::string_view part : {std::string_view(one.name), std::string_view(types.names)})
      text.append(part).push_back('\0');
    text.append(formatted("{:x}", types.shape)).push_back('\0');
  }
  return text;
}

namespace {

struct described_action {
  std::string name, types, shape;
  [[nodiscard]] bool is_same(const described_action& other) const noexcept {
    return types == other.types && shape == other.shape;
  }
  // The file is left out.
  [[nodiscard]] std::string bare() const {
    return as_written(demangled(name.substr(0, name.find(before_file)).c_str()));
  }
  [[nodiscard]] std::string readable() const {
    const std::size_t mark = name.find(before_file);
    if (mark == std::string::npos) return printable(bare());
    return printable(formatted("{} of {}", bare(), name.substr(mark + 1)));
  }
};

std::map<std::string, described_action> described(std::string_view text) {
  std::map<std::string, described_action> all;
  const auto take = [&text] {
    std::string part(text.substr(0, text.find('\0')));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return part;
  };
  while (!text.empty()) {
    described_action one;
    one.name = take();
    one.types = take();
    one.shape = take();
    all.emplace(one.name, one);
  }
  return all;
}

}  // namespace

std::string difference_of_actions(std::string_view mine, int process, std::string_view other,
                                  int other_process) {
  const auto here = described(mine), there = described(other);
  const auto say_types = [&](const described_action& a, const described_action& b) {
    const std::string same =
        a.types != b.types ? "" : " (the names are the same, what they stand for is not)";
    return formatted(
        "the action {} is of type \"{}\" in process {} and \"{}\" in process {}{}: build the programs of all processes "
        "from one declaration of it",
        a.readable(), printable(demangled(a.types.c_str())), process,
        printable(demangled(b.types.c_str())), other_process, same);
  };
  const described_action* missing_there = nullptr;
  const described_action* missing_here = nullptr;
  for (const auto& [name, one] : here) {
    const auto found = there.find(name);
    if (found == there.end()) {
      if (missing_there == nullptr) missing_there = &one;
    } else if (!one.is_same(found->second)) {
      return say_types(one, found->second);
    }
  }
  for (const auto& [name, one] : there)
    if (missing_here == nullptr && !here.contains(name)) missing_here = &one;
  if (missing_there == nullptr && missing_here == nullptr) return {};
  // A function of other parameters has another name, too.
  for (const auto& [name, one] : here) {
    if (there.contains(name)) continue;
    const std::string bare = one.bare();
    for (const auto& [other_name, another] : there)
      if (!here.contains(other_name) && another.bare() == bare) return say_types(one, another);
  }
  const auto only = [](const described_action* one, int in) {
    return one == nullptr ? formatted("process {} has none that the other has not", in)
                          : formatted("\"{}\" is in process {} alone", one->readable(), in);
  };
  return formatted(
      "the actions of process {} are not those of process {}: {}, {}; start programs with the same actions in all processes",
      process, other_process, only(missing_there, process), only(missing_here, other_process));
}

}  // namespace weft::detail
