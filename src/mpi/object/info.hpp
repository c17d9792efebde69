// What an MPI_Info stands for.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "mpi/object/handles.hpp"

namespace weft::mpi {

struct state;

// Keys and values in the order in which they were set.
using info_entries = std::vector<std::pair<std::string, std::string>>;

struct info_object : object {
  using handle = MPI_Info;
  static constexpr object_kind own_kind = object_kind::info;

  info_entries entries;

  void set(const std::string& key, const std::string& value) {
    for (auto& [k, v] : entries)
      if (k == key) {
        v = value;
        return;
      }
    entries.emplace_back(key, value);
  }
  [[nodiscard]] const std::string* find(const std::string& key) const noexcept {
    for (const auto& [k, value] : entries)
      if (k == key) return &value;
    return nullptr;
  }
};

[[nodiscard]] info_object& checked_info(state& me, MPI_Info info);
// Of calls that take hints: MPI_INFO_NULL or one that lives. No hint means anything here.
void check_hints(state& me, MPI_Info info);
// The same, and what it holds.
[[nodiscard]] info_entries checked_hints(state& me, MPI_Info info);

}  // namespace weft::mpi
