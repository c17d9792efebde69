// The actions of this program.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/parcels/action.hpp"

namespace weft::detail {

// Returns the name as a person knows it.
[[nodiscard]] std::string name_of(const action_entry& one);

struct known_action {
  std::string
      name;  // The same in all processes: what the compiler calls it, with its file where it is local to one.
  const action_entry* entry;
};

// What is known of actions at one time; it never changes.
struct action_table {
  std::vector<known_action> by_number;
  // A hash table by address, in which the next place holds one that collides. Its size is a power of two.
  std::vector<const action_entry*> by_function;
  const action_entry* newest = nullptr;
};

// The lowest bits of the word of an action are its number; above it is the check.
inline constexpr int action_number_bits = 16;
[[nodiscard]] constexpr std::uint32_t number_in(std::uint32_t word) noexcept {
  return word & ((std::uint32_t{1} << action_number_bits) - 1);
}

// Returns all that have been registered until now, numbered by their names. Later ones, of libraries opened since, stand behind.
// Where ranks have copies of their program, the entries are those of the lowest rank. Throws weft::error where two actions
// have one name. Called by any thread.
[[nodiscard]] const action_table& known_actions();
// Its word in parcels; throws what known_actions() does.
[[nodiscard]] std::uint32_t word_of(const action_entry& one);
// Hashes their names and types.
[[nodiscard]] std::uint64_t digest_of_actions(const std::vector<known_action>& all) noexcept;
// Lists of each its name, the names of its types and what of them is in parcels, each with its end.
[[nodiscard]] std::string names_of_actions(const std::vector<known_action>& all);
// What is different, for people; empty where nothing is. Both are what names_of_actions() gave in these processes; the other
// is not believed.
[[nodiscard]] std::string difference_of_actions(std::string_view mine, int process,
                                                std::string_view other, int other_process);

}  // namespace weft::detail
