#include "parcel/registry.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "base/format.hpp"
#include "base/stack_trace.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

// Constant-initialised: actions register from other files' static objects.
constinit action_entry* newest = nullptr;

// All that is known of actions, made when first asked for. The functions never change once they are in it.
struct all_actions {
  std::mutex lock;
  const action_entry* seen = nullptr;  // The newest that is in it.
  std::vector<const action_entry*> by_number;
  // By address: where it may be, each place has the next one for those that collide. A power of two.
  std::vector<const action_entry*> by_function;
};
all_actions& all() {
  static all_actions made;
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

}  // namespace

action_entry::action_entry(const char* called, bool is_name_of_type, const void* of,
                           void (*runs)(received_call&)) noexcept
    : name(called), is_type(is_name_of_type), key(of), run(runs), next(newest) {
  newest = this;
}

std::string name_of(const action_entry& one) {
  return one.is_type ? demangled(one.name) : std::string(one.name);
}

const std::vector<const action_entry*>& actions_by_number() {
  all_actions& known = all();
  const std::lock_guard hold(known.lock);
  if (known.seen == newest) return known.by_number;
  std::vector<action_entry*> found;
  for (action_entry* one = newest; one != known.seen; one = one->next) found.push_back(one);
  std::ranges::sort(found, [](const action_entry* a, const action_entry* b) {
    return std::strcmp(a->name, b->name) < 0;
  });
  for (action_entry* one : found) {
    const auto before = std::ranges::find_if(known.by_number, [&](const action_entry* other) {
      return std::strcmp(other->name, one->name) == 0;
    });
    if (before == known.by_number.end()) {
      one->index = static_cast<std::uint32_t>(known.by_number.size());
      known.by_number.push_back(one);
    } else if ((*before)->key == one->key) {
      one->index = (*before)->index;  // Registered by several source files.
    } else {
      throw error(formatted(
          "two actions are named \"{}\": give one of them a name of its own, as a function with WEFT_ACTION",
          name_of(*one)));
    }
  }
  std::vector<const action_entry*> places(std::bit_ceil(4 * known.by_number.size() + 1));
  for (const action_entry* one : known.by_number)
    if (!one->is_type) fill_in(places, *one);
  known.by_function = std::move(places);
  known.seen = newest;
  return known.by_number;
}

// Jobs have begun, and nobody changes the table while their workers run.
const action_entry& action_of_function(const void* function) {
  const std::vector<const action_entry*>& places = all().by_function;
  for (std::size_t at = place_of(function, places.size()); places[at] != nullptr;
       at = (at + 1) & (places.size() - 1))
    if (places[at]->key == function) return *places[at];
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
