// What an MPI_Info stands for.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "mpi/handles.hpp"

namespace weft::mpi {

struct state;

struct info_object : object {
  using handle = MPI_Info;
  static constexpr object_kind own_kind = object_kind::info;

  std::vector<std::pair<std::string, std::string>> entries;  // In the order in which they were set.

  [[nodiscard]] const std::string* find(const std::string& key) const noexcept {
    for (const auto& [k, value] : entries)
      if (k == key) return &value;
    return nullptr;
  }
};

[[nodiscard]] info_object& checked_info(state& me, MPI_Info info);
// Of calls that take hints: MPI_INFO_NULL or one that lives. No hint means anything here.
void check_hints(state& me, MPI_Info info);

}  // namespace weft::mpi
