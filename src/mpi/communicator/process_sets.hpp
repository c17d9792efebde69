// The sets of processes that have names.
#pragma once
#include <optional>
#include <string_view>

namespace weft::mpi {

struct state;

enum class process_set { world, self, node, process };

// Small and large letters are the same. Nothing for a name of no set.
[[nodiscard]] std::optional<process_set> find_process_set(std::string_view name);
// Ranks in one such set have the same number here, those in two of one kind another.
[[nodiscard]] int number_of_set(const state& me, process_set set);

}  // namespace weft::mpi
