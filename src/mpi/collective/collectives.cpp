// Collectives without a root: the barrier, and those that move data from everybody to everybody.
#include <algorithm>

#include "mpi/collective/exchange_call.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

auto prepare_barrier(state& me, const char* name, MPI_Comm comm) {
  const communicator_object& c = checked_communicator(me, comm);
  return [shared = c.shared, own = c.own, name] { meet(*shared, own, name); };
}

template <class Count>
bool are_all_zero(const Count* counts, int n) {
  return std::all_of(counts, counts + n, [](Count count) { return count == 0; });
}
// check_not_aliased() for two buffers with lists of counts; it allows one buffer for both when a list has zeros alone.
template <class Count>
void check_lists_not_aliased(const communicator_object& c, const void* sent,
                             const Count* sendcounts, const void* received,
                             const Count* recvcounts) {
  if (sent != received || c.is_inter()) [[likely]]
    return;
  const bool nothing =
      are_all_zero(sendcounts, c.peers_count) || are_all_zero(recvcounts, c.peers_count);
  check_not_aliased(sent, received, nothing ? 0 : 1);
}

exchange_call prepare_allgather(state& me, const char* name, const void* sendbuf,
                                MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  check_count(recvcount);
  const datatype_object& type = committed_datatype(recvtype);
  exchange_call x = make_exchange(c, name);
  x.take = part_list::blocks(recvbuf, recvcount, type, c.peers_first, c.peers_count);
  x.plan.leaves_own = is_in_place(c, sendbuf);
  if (x.plan.leaves_own) {
    x.give = part_list::alike(recvbuf, recvcount, type, c.peers_first, c.peers_count,
                              c.own * recvcount * type.extent);
  } else {
    check_count(sendcount);
    check_block_not_aliased(c, recvbuf, recvcount, type, sendbuf);
    x.give = part_list::alike(sendbuf, sendcount, committed_datatype(sendtype), c.peers_first,
                              c.peers_count);
  }
  set_equal(x, c, bytes_of(recvcount, type), no_root);
  x.plan.per_reader = c.is_inter();
  note_exchange(me, c, x);
  return x;
}

template <class Count, class Displacement>
exchange_call prepare_allgatherv(state& me, const char* name, const void* sendbuf, Count sendcount,
                                 MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                                 const Displacement* displs, MPI_Datatype recvtype, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  const datatype_object& type = committed_datatype(recvtype);
  exchange_call x = make_exchange(c, name);
  x.take = part_list::listed(recvbuf, recvcounts, displs, type, c.peers_first, c.peers_count);
  x.plan.leaves_own = is_in_place(c, sendbuf);
  if (x.plan.leaves_own) {
    x.give = part_list::alike(recvbuf, recvcounts[c.own], type, c.peers_first, c.peers_count,
                              displs[c.own] * type.extent);
  } else {
    check_count(sendcount);
    check_own_not_aliased(c, recvbuf, recvcounts, displs, type, sendbuf, sendcount);
    x.give = part_list::alike(sendbuf, sendcount, committed_datatype(sendtype), c.peers_first,
                              c.peers_count);
  }
  x.plan.per_reader = c.is_inter();
  note_exchange(me, c, x);
  return x;
}

exchange_call prepare_alltoall(state& me, const char* name, const void* sendbuf,
                               MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                               MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  check_count(recvcount);
  const datatype_object& type = committed_datatype(recvtype);
  exchange_call x = make_exchange(c, name);
  x.take = part_list::blocks(recvbuf, recvcount, type, c.peers_first, c.peers_count);
  x.replaces = is_in_place(c, sendbuf);
  if (!x.replaces) {
    check_count(sendcount);
    check_not_aliased(sendbuf, recvbuf, bytes_of(recvcount, type));
    x.give = part_list::blocks(sendbuf, sendcount, committed_datatype(sendtype), c.peers_first,
                               c.peers_count);
  }
  set_equal(x, c, bytes_of(recvcount, type), no_root);
  note_exchange(me, c, x);
  return x;
}

template <class Count, class Displacement>
exchange_call prepare_alltoallv(state& me, const char* name, const void* sendbuf,
                                const Count* sendcounts, const Displacement* sdispls,
                                MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                                const Displacement* rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  exchange_call x = make_exchange(c, name);
  x.take = part_list::listed(recvbuf, recvcounts, rdispls, committed_datatype(recvtype),
                             c.peers_first, c.peers_count);
  x.replaces = is_in_place(c, sendbuf);
  if (!x.replaces) {
    x.give = part_list::listed(sendbuf, sendcounts, sdispls, committed_datatype(sendtype),
                               c.peers_first, c.peers_count);
    check_lists_not_aliased(c, sendbuf, sendcounts, recvbuf, recvcounts);
  }
  note_exchange(me, c, x);
  return x;
}

template <class Count, class Displacement>
exchange_call prepare_alltoallw(state& me, const char* name, const void* sendbuf,
                                const Count* sendcounts, const Displacement* sdispls,
                                const MPI_Datatype* sendtypes, void* recvbuf,
                                const Count* recvcounts, const Displacement* rdispls,
                                const MPI_Datatype* recvtypes, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  exchange_call x = make_exchange(c, name);
  x.take =
      part_list::of_types(recvbuf, recvcounts, rdispls, recvtypes, c.peers_first, c.peers_count);
  x.replaces = is_in_place(c, sendbuf);
  if (!x.replaces) {
    x.give =
        part_list::of_types(sendbuf, sendcounts, sdispls, sendtypes, c.peers_first, c.peers_count);
    check_lists_not_aliased(c, sendbuf, sendcounts, recvbuf, recvcounts);
  }
  note_exchange(me, c, x);
  return x;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

// MPI_Barrier has no counts, and so no second form.
WEFT_MPI_COLLECTIVE_SIZED(Barrier, Ibarrier, , never_directly, prepare_barrier, (MPI_Comm comm),
                          (MPI_Comm comm, MPI_Request* request),
                          (MPI_Comm comm, MPI_Info info, MPI_Request* request), comm)

#define ALLGATHER(Count, Displacement)                                                         \
  const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount, \
      MPI_Datatype recvtype, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Allgather, Iallgather, prepare_allgather, ALLGATHER, sendbuf, sendcount,
                    sendtype, recvbuf, recvcount, recvtype, comm)
WEFT_MPI_COLLECTIVE(Alltoall, Ialltoall, prepare_alltoall, ALLGATHER, sendbuf, sendcount, sendtype,
                    recvbuf, recvcount, recvtype, comm)

#define ALLGATHERV(Count, Displacement)                                       \
  const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, \
      const Count recvcounts[], const Displacement displs[], MPI_Datatype recvtype, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Allgatherv, Iallgatherv, prepare_allgatherv, ALLGATHERV, sendbuf, sendcount,
                    sendtype, recvbuf, recvcounts, displs, recvtype, comm)

#define ALLTOALLV(Count, Displacement)                                         \
  const void *sendbuf, const Count sendcounts[], const Displacement sdispls[], \
      MPI_Datatype sendtype, void *recvbuf, const Count recvcounts[],          \
      const Displacement rdispls[], MPI_Datatype recvtype, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Alltoallv, Ialltoallv, prepare_alltoallv, ALLTOALLV, sendbuf, sendcounts,
                    sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)

#define ALLTOALLW(Count, Displacement)                                         \
  const void *sendbuf, const Count sendcounts[], const Displacement sdispls[], \
      const MPI_Datatype sendtypes[], void *recvbuf, const Count recvcounts[], \
      const Displacement rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm
WEFT_MPI_COLLECTIVE(Alltoallw, Ialltoallw, prepare_alltoallw, ALLTOALLW, sendbuf, sendcounts,
                    sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)
