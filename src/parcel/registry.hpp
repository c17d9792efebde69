// The actions of this program.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/parcels/action.hpp"

namespace weft::detail {

// As a person knows it.
[[nodiscard]] std::string name_of(const action_entry& one);

// What is known of actions at one time; it never changes.
struct action_table {
  std::vector<const action_entry*> by_number;
  // By address: where it may be, each place has the next one for those that collide. A power of two.
  std::vector<const action_entry*> by_function;
  const action_entry* newest = nullptr;
};

// Of all that have been registered until now, numbered by their names. Later ones, of libraries opened since, stand behind.
// Where ranks have copies of their program, the entries are those of the lowest rank. Throws weft::error where two actions
// have one name. Called by any thread.
[[nodiscard]] const action_table& known_actions();
// Its number; throws what known_actions() does.
[[nodiscard]] std::uint32_t number_of(const action_entry& one);
// Of their names.
[[nodiscard]] std::uint64_t digest_of_actions(const std::vector<const action_entry*>& all) noexcept;
// One after the other, each with its end.
[[nodiscard]] std::string names_of_actions(const std::vector<const action_entry*>& all);
// What is different, for people; `other` is what names_of_actions() of process 0 gave.
[[nodiscard]] std::string difference_of_actions(const std::vector<const action_entry*>& mine,
                                                std::string_view other, int process);

}  // namespace weft::detail
