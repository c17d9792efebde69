// Collectives with a root that move data: from it to all, or from all to it.
#include <memory>
#include <span>

#include "mpi/collective/exchange_call.hpp"
#include "mpi/datatype/overlap.hpp"
#include "mpi/point_to_point/type_ledger.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

// --- Broadcast -----------------------------------------------------------------------------------

struct broadcast_call {
  communicator_state* c;
  int rank;
  int root;
  const char* name;
  std::span<std::byte> row;
  std::shared_ptr<const segments> layout;  // When the data do not lie in a row.
  std::shared_ptr<const exchange_call> between_groups;

  void operator()() const {
    if (between_groups != nullptr)
      (*between_groups)();
    else if (layout != nullptr)
      broadcast(*c, rank, *layout, root, name);
    else
      broadcast(*c, rank, row, root, name);
  }
};

void note_broadcast(state& me, const communicator_object& c, const char* name, int root,
                    const datatype_object& type, MPI_Count count) {
  if (c.own != root) return note_taken(me, c, name, root, type, count);
  for (int r = 0; r < c.peers_count; ++r)
    if (r != root) note_given(me, c, r, type, count);
}

broadcast_call prepare_bcast(state& me, const char* name, void* buffer, MPI_Count count,
                             MPI_Datatype datatype, int root, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  check_count(count);
  const datatype_object& type = committed_datatype(datatype);
  const part_of_root mine = part_in(c, root);
  broadcast_call b{c.shared, c.own, root, name, {}, {}, {}};
  if (c.is_inter()) {
    exchange_call x = make_exchange(c, name);
    set_claim(x, c, mine, true);
    if (mine.is_root)
      x.give = part_list::alike(buffer, count, type, c.peers_first, c.peers_count);
    else if (!mine.is_idle)
      x.take = part_list::alike(buffer, count, type, mine.root, 1);
    note_exchange(me, c, x);
    b.between_groups = std::make_shared<const exchange_call>(std::move(x));
    return b;
  }
  if (keeps_ledger(me)) [[unlikely]] {
    note_broadcast(me, c, name, root, type, count);
    note_use(me, name, layout_of(buffer, count, type), root != c.own);
  }
  const std::size_t bytes = bytes_of(count, type);
  if (type.contiguous) {
    b.row = {row_of(buffer, bytes, type), bytes};
    return b;
  }
  b.layout = std::make_shared<const segments>(layout_of(buffer, count, type));
  return b;
}

// --- Gather and scatter ------------------------------------------------------------------------------

exchange_call prepare_gather(state& me, const char* name, const void* sendbuf, MPI_Count sendcount,
                             MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                             MPI_Datatype recvtype, int root, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  const part_of_root mine = part_in(c, root);
  exchange_call x = make_exchange(c, name);
  set_claim(x, c, mine, false);
  std::size_t bytes = 0;
  if (mine.is_root) {
    check_count(recvcount);
    const datatype_object& type = committed_datatype(recvtype);
    bytes = bytes_of(recvcount, type);
    x.take = part_list::blocks(recvbuf, recvcount, type, c.peers_first, c.peers_count);
    x.plan.leaves_own = is_in_place(c, sendbuf);
  }
  const bool gives = c.is_inter() ? !mine.is_root && !mine.is_idle : !x.plan.leaves_own;
  if (gives) {
    check_count(sendcount);
    const datatype_object& type = committed_datatype(sendtype);
    if (mine.is_root)
      check_block_not_aliased(c, recvbuf, recvcount, checked_datatype(recvtype), sendbuf);
    else
      bytes = bytes_of(sendcount, type);
    // Within one group the same part is shown to all ranks; only the root takes it.
    x.give = part_list::alike(sendbuf, sendcount, type, c.is_inter() ? mine.root : 0,
                              c.is_inter() ? 1 : c.peers_count);
  }
  set_equal(x, c, bytes, root);
  if (!c.is_inter()) {
    x.plan.per_reader = false;
    x.plan.only_reader = root;
  }
  note_exchange(me, c, x);
  return x;
}

template <class Count, class Displacement>
exchange_call prepare_gatherv(state& me, const char* name, const void* sendbuf, Count sendcount,
                              MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                              const Displacement* displs, MPI_Datatype recvtype, int root,
                              MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  const part_of_root mine = part_in(c, root);
  exchange_call x = make_exchange(c, name);
  set_claim(x, c, mine, false);
  if (mine.is_root) {
    x.take = part_list::listed(recvbuf, recvcounts, displs, committed_datatype(recvtype),
                               c.peers_first, c.peers_count);
    x.plan.leaves_own = is_in_place(c, sendbuf);
  }
  if (c.is_inter() ? !mine.is_root && !mine.is_idle : !x.plan.leaves_own) {
    check_count(sendcount);
    if (mine.is_root)
      check_own_not_aliased(c, recvbuf, recvcounts, displs, checked_datatype(recvtype), sendbuf,
                            sendcount);
    x.give = part_list::alike(sendbuf, sendcount, committed_datatype(sendtype), mine.root, 1);
  }
  if (!c.is_inter()) {
    x.plan.call.root = root;
    x.plan.only_reader = root;
  }
  note_exchange(me, c, x);
  return x;
}

exchange_call prepare_scatter(state& me, const char* name, const void* sendbuf, MPI_Count sendcount,
                              MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                              MPI_Datatype recvtype, int root, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  const part_of_root mine = part_in(c, root);
  exchange_call x = make_exchange(c, name);
  set_claim(x, c, mine, true);
  std::size_t bytes = 0;
  bool takes = c.is_inter() ? !mine.is_root && !mine.is_idle : true;
  if (mine.is_root) {
    check_count(sendcount);
    const datatype_object& type = committed_datatype(sendtype);
    bytes = bytes_of(sendcount, type);
    x.give = part_list::blocks(sendbuf, sendcount, type, c.peers_first, c.peers_count);
    if (is_in_place(c, recvbuf)) takes = false;
  }
  if (takes) {
    check_count(recvcount);
    const datatype_object& type = committed_datatype(recvtype);
    if (mine.is_root)
      check_block_not_aliased(c, sendbuf, sendcount, checked_datatype(sendtype), recvbuf);
    else
      bytes = bytes_of(recvcount, type);
    x.take = part_list::alike(recvbuf, recvcount, type, mine.root, 1);
  }
  set_equal(x, c, bytes, root);
  if (!c.is_inter()) x.plan.only_owner = root;
  note_exchange(me, c, x);
  return x;
}

template <class Count, class Displacement>
exchange_call prepare_scatterv(state& me, const char* name, const void* sendbuf,
                               const Count* sendcounts, const Displacement* displs,
                               MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                               MPI_Datatype recvtype, int root, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  const part_of_root mine = part_in(c, root);
  exchange_call x = make_exchange(c, name);
  set_claim(x, c, mine, true);
  bool takes = c.is_inter() ? !mine.is_root && !mine.is_idle : true;
  if (mine.is_root) {
    x.give = part_list::listed(sendbuf, sendcounts, displs, committed_datatype(sendtype),
                               c.peers_first, c.peers_count);
    if (is_in_place(c, recvbuf)) takes = false;
  }
  if (takes) {
    check_count(recvcount);
    if (mine.is_root)
      check_own_not_aliased(c, sendbuf, sendcounts, displs, checked_datatype(sendtype), recvbuf,
                            recvcount);
    x.take = part_list::alike(recvbuf, recvcount, committed_datatype(recvtype), mine.root, 1);
  }
  if (!c.is_inter()) {
    x.plan.call.root = root;
    x.plan.only_owner = root;
  }
  note_exchange(me, c, x);
  return x;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

#define BCAST(Count, Displacement) \
  void *buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Bcast, Ibcast, prepare_bcast, BCAST, buffer, count, datatype, root, comm)

#define GATHER(Count, Displacement)                                                            \
  const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount, \
      MPI_Datatype recvtype, int root, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Gather, Igather, prepare_gather, GATHER, sendbuf, sendcount, sendtype, recvbuf,
                    recvcount, recvtype, root, comm)
WEFT_MPI_COLLECTIVE(Scatter, Iscatter, prepare_scatter, GATHER, sendbuf, sendcount, sendtype,
                    recvbuf, recvcount, recvtype, root, comm)

#define GATHERV(Count, Displacement)                                                          \
  const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf,                 \
      const Count recvcounts[], const Displacement displs[], MPI_Datatype recvtype, int root, \
      MPI_Comm comm
WEFT_MPI_COLLECTIVE(Gatherv, Igatherv, prepare_gatherv, GATHERV, sendbuf, sendcount, sendtype,
                    recvbuf, recvcounts, displs, recvtype, root, comm)

#define SCATTERV(Count, Displacement)                                                         \
  const void *sendbuf, const Count sendcounts[], const Displacement displs[],                 \
      MPI_Datatype sendtype, void *recvbuf, Count recvcount, MPI_Datatype recvtype, int root, \
      MPI_Comm comm
WEFT_MPI_COLLECTIVE(Scatterv, Iscatterv, prepare_scatterv, SCATTERV, sendbuf, sendcounts, displs,
                    sendtype, recvbuf, recvcount, recvtype, root, comm)
