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

// By number; what was registered before the first call. Later ones, of libraries opened since, stand behind. Throws
// weft::error where two actions have one name. Called before the workers of a job run.
[[nodiscard]] const std::vector<const action_entry*>& actions_by_number();
// Of their names.
[[nodiscard]] std::uint64_t digest_of_actions(const std::vector<const action_entry*>& all) noexcept;
// One after the other, each with its end.
[[nodiscard]] std::string names_of_actions(const std::vector<const action_entry*>& all);
// What is different, for people; `other` is what names_of_actions() of process 0 gave.
[[nodiscard]] std::string difference_of_actions(const std::vector<const action_entry*>& mine,
                                                std::string_view other, int process);

}  // namespace weft::detail
