// A collective that only moves data, as an exchange of parts. The peers are all ranks, or the remote group of an
// inter-communicator.
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
  bool replaces = false;                 // In place: what is taken replaces what is given.
  std::optional<claim_of_root> claim{};  // For an inter-communicator, with a root.

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

// An exchange whose parts may differ in length.
[[nodiscard]] exchange_call make_exchange(communicator_object& c, const char* name);
// For an inter-communicator, with a root that gives to all or takes of all.
void set_claim(exchange_call& x, const communicator_object& c, const part_of_root& mine,
               bool root_gives);
// For parts that are all equal: within one group no lengths are exchanged then.
void set_equal(exchange_call& x, const communicator_object& c, std::size_t part_bytes, int root);
// In a checked job: notes the datatypes of what this rank gives to others and takes of them (type_ledger.hpp). In
// place it gives with the datatype that it takes with. Its own part is not noted.
void note_exchange(state& me, const communicator_object& c, const exchange_call& x);

// As check_not_aliased(), for a buffer of blocks of `count` elements: neither its begin nor the rank's own block may
// be the buffer `other`.
void check_block_not_aliased(const communicator_object& c, const void* blocks, MPI_Count count,
                             const datatype_object& type, const void* other);
// As check_not_aliased(), for the rank's own part of the buffer `listed`.
template <class Count, class Displacement>
void check_own_not_aliased(const communicator_object& c, const void* listed, const Count* counts,
                           const Displacement* displs, const datatype_object& type,
                           const void* other, MPI_Count other_count) {
  if (c.is_inter() || counts[c.own] == 0 || other_count == 0 || type.sections != nullptr) return;
  check_not_aliased(static_cast<const std::byte*>(listed) + displs[c.own] * type.extent, other,
                    type.size);
}

}  // namespace weft::mpi
