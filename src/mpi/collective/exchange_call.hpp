// A collective that moves data, as an exchange of parts, in one group or between two. In one group all
// ranks are peers; between two they are the ranks of the other group.
#pragma once
#include <optional>

#include "mpi/collective/collective.hpp"

namespace weft::mpi {

struct exchange_call {
  detail::communicator_state* c;
  int rank;
  detail::exchange_plan plan;
  part_list give;
  part_list take;
  bool replaces = false;                 // What is taken comes where what is given was.
  std::optional<claim_of_root> claim{};  // Between two groups, with a root.

  void operator()() const {
    if (replaces)
      exchange_copies();
    else if (claim) [[unlikely]]
      exchange_with_root();
    else
      detail::exchange(*c, rank, plan, give.view(), take.view());
  }

 private:
  void exchange_copies() const;
  void exchange_with_root() const;
};

// Whose parts may differ in length.
[[nodiscard]] exchange_call make_exchange(communicator_object& c, const char* name);
// Between two groups, with a root that gives to all or takes of all.
void set_claim(exchange_call& x, const communicator_object& c, const part_of_root& mine,
               bool root_gives);
// In one group parts that all are equal need no words about their lengths.
void set_equal(exchange_call& x, const communicator_object& c, std::size_t part_bytes, int root);
// In a checked job: as what this rank gives to others and takes of them. In place it gives as it takes;
// its own part is nobody else's.
void note_exchange(state& me, const communicator_object& c, const exchange_call& x);

// As check_not_aliased(), of blocks of `count` elements: of their begin, and of a rank's own, which it gives or takes as `other`.
void check_block_not_aliased(const communicator_object& c, const void* blocks, MPI_Count count,
                             const datatype_object& type, const void* other);
// The same of its own part of `listed`.
template <class Count, class Displacement>
void check_own_not_aliased(const communicator_object& c, const void* listed, const Count* counts,
                           const Displacement* displs, const datatype_object& type,
                           const void* other, MPI_Count other_count) {
  if (c.is_inter() || counts[c.own] == 0 || other_count == 0) return;
  check_not_aliased(static_cast<const std::byte*>(listed) + displs[c.own] * type.extent, other,
                    type.size);
}

}  // namespace weft::mpi
