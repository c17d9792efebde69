// What an MPI_Group stands for.
#pragma once
#include <cstdint>
#include <vector>

#include "mpi/object/handles.hpp"

namespace weft::mpi {

struct state;
struct communicator_object;

struct group_object : object {
  using handle = MPI_Group;
  static constexpr object_kind own_kind = object_kind::group;

  explicit group_object(std::vector<int> numbers, std::uint32_t of = 0)
      : ranks(std::move(numbers)), session(of) {}
  std::vector<int> ranks;  // Numbers in the world, each once.
  std::uint32_t session;   // As that of a communicator.
};

[[nodiscard]] group_object& checked_group(state& me, MPI_Group group);
// MPI_GROUP_EMPTY when `ranks` is empty.
[[nodiscard]] MPI_Group make_group(state& me, std::vector<int> ranks, std::uint32_t session);
[[nodiscard]] std::vector<int> local_ranks(const communicator_object& c);
[[nodiscard]] std::vector<int> remote_ranks(const communicator_object& c);
// The place of each of `ranks` in the list, or MPI_UNDEFINED.
[[nodiscard]] std::vector<int> places_in(const std::vector<int>& list,
                                         const std::vector<int>& ranks);

}  // namespace weft::mpi
