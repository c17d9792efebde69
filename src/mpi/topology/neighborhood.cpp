// Collectives with the neighbours in a topology: messages of the run time's own, in the order of a
// rank's other collectives.
#include "collective/collective_turn.hpp"
#include "collective/control_messages.hpp"
#include "mpi/collective/collective.hpp"
#include "mpi/datatype/overlap.hpp"
#include "mpi/point_to_point/type_ledger.hpp"
#include "mpi/topology/topology.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

struct neighbor_call {
  communicator_state* c;
  int rank;
  const char* name;
  std::shared_ptr<const topology> of;
  part_list give{};  // To each destination.
  part_list take{};  // Of each source.

  void operator()() const {
    collective_turn turn(*c, rank, {name, no_root, false, 0});
    const std::uint32_t context = c->context | neighbor_context;
    const wait_description what{name, context};
    std::vector<segments> layouts;  // They stay where they are until all has come.
    layouts.reserve(of->sources.size() + of->destinations.size());
    control_messages with(turn.rank(), what, lengths::equal);
    for (std::size_t i = 0; i < of->sources.size(); ++i) {
      const auto [from, tag] = of->sources[i];
      if (from == MPI_PROC_NULL) continue;
      layouts.push_back(take.at(static_cast<int>(i)));
      with.receive(turn.rank(), {context, from, tag}, layouts.back());
    }
    for (std::size_t i = 0; i < of->destinations.size(); ++i) {
      const auto [to, tag] = of->destinations[i];
      if (to == MPI_PROC_NULL) continue;
      layouts.push_back(give.at(static_cast<int>(i)));
      with.send(c->to(to), to, {context, rank, tag}, layouts.back());
    }
    with.wait();
  }
};

neighbor_call make_call(state& me, MPI_Comm comm, const char* name) {
  const communicator_object& c = checked_communicator(me, comm);
  if (c.topology == nullptr)
    fail(MPI_ERR_TOPOLOGY, "{} has no topology: make one with MPI_Cart_create or its like",
         text_of(comm));
  return {c.shared, c.own, name, c.topology};
}
int sources_of(const neighbor_call& n) {
  return static_cast<int>(n.of->sources.size());
}
int destinations_of(const neighbor_call& n) {
  return static_cast<int>(n.of->destinations.size());
}

// In a checked job: notes the datatypes of what this rank gives to its neighbours and takes of them (type_ledger.hpp).
void note(state& me, MPI_Comm comm, const neighbor_call& n) {
  if (!keeps_ledger(me)) [[likely]]
    return;
  const communicator_object& c = checked_communicator(me, comm);
  n.give.each_named([&](int i, const datatype_object& type, MPI_Count count) {
    const auto [to, tag] = n.of->destinations[static_cast<std::size_t>(i)];
    if (to == MPI_PROC_NULL) return;
    note_given(me, c, to, type, count, 1 + tag);
    note_use(me, n.name, n.give.at(i), false);
  });
  n.take.each_named([&](int i, const datatype_object& type, MPI_Count count) {
    const auto [from, tag] = n.of->sources[static_cast<std::size_t>(i)];
    if (from == MPI_PROC_NULL) return;
    note_taken(me, c, n.name, from, type, count, 1 + tag);
    note_use(me, n.name, n.take.at(i), true);
  });
}

void check_data(const void* sendbuf, MPI_Count count) {
  if (sendbuf == MPI_IN_PLACE)
    fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE, which has no meaning between neighbours");
  check_count(count);
}

neighbor_call prepare_allgather(state& me, const char* name, const void* sendbuf,
                                MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  neighbor_call n = make_call(me, comm, name);
  check_data(sendbuf, sendcount);
  check_count(recvcount);
  n.give =
      part_list::alike(sendbuf, sendcount, committed_datatype(sendtype), 0, destinations_of(n));
  n.take = part_list::blocks(recvbuf, recvcount, committed_datatype(recvtype), 0, sources_of(n));
  note(me, comm, n);
  return n;
}

template <class Count, class Displacement>
neighbor_call prepare_allgatherv(state& me, const char* name, const void* sendbuf, Count sendcount,
                                 MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                                 const Displacement* displs, MPI_Datatype recvtype, MPI_Comm comm) {
  neighbor_call n = make_call(me, comm, name);
  check_data(sendbuf, sendcount);
  n.give =
      part_list::alike(sendbuf, sendcount, committed_datatype(sendtype), 0, destinations_of(n));
  n.take = part_list::listed(recvbuf, recvcounts, displs, committed_datatype(recvtype), 0,
                             sources_of(n));
  note(me, comm, n);
  return n;
}

neighbor_call prepare_alltoall(state& me, const char* name, const void* sendbuf,
                               MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                               MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  neighbor_call n = make_call(me, comm, name);
  check_data(sendbuf, sendcount);
  check_count(recvcount);
  n.give =
      part_list::blocks(sendbuf, sendcount, committed_datatype(sendtype), 0, destinations_of(n));
  n.take = part_list::blocks(recvbuf, recvcount, committed_datatype(recvtype), 0, sources_of(n));
  note(me, comm, n);
  return n;
}

template <class Count, class Displacement>
neighbor_call prepare_alltoallv(state& me, const char* name, const void* sendbuf,
                                const Count* sendcounts, const Displacement* sdispls,
                                MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                                const Displacement* rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
  neighbor_call n = make_call(me, comm, name);
  check_data(sendbuf, 0);
  n.give = part_list::listed(sendbuf, sendcounts, sdispls, committed_datatype(sendtype), 0,
                             destinations_of(n));
  n.take = part_list::listed(recvbuf, recvcounts, rdispls, committed_datatype(recvtype), 0,
                             sources_of(n));
  note(me, comm, n);
  return n;
}

template <class Count>
neighbor_call prepare_alltoallw(state& me, const char* name, const void* sendbuf,
                                const Count* sendcounts, const MPI_Aint* sdispls,
                                const MPI_Datatype* sendtypes, void* recvbuf,
                                const Count* recvcounts, const MPI_Aint* rdispls,
                                const MPI_Datatype* recvtypes, MPI_Comm comm) {
  neighbor_call n = make_call(me, comm, name);
  check_data(sendbuf, 0);
  n.give = part_list::of_types(sendbuf, sendcounts, sdispls, sendtypes, 0, destinations_of(n));
  n.take = part_list::of_types(recvbuf, recvcounts, rdispls, recvtypes, 0, sources_of(n));
  note(me, comm, n);
  return n;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

#define ALLGATHER(Count, Displacement)                                                         \
  const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount, \
      MPI_Datatype recvtype, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, prepare_allgather, ALLGATHER, sendbuf,
                    sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
WEFT_MPI_COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, prepare_alltoall, ALLGATHER, sendbuf,
                    sendcount, sendtype, recvbuf, recvcount, recvtype, comm)

#define ALLGATHERV(Count, Displacement)                                       \
  const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, \
      const Count recvcounts[], const Displacement displs[], MPI_Datatype recvtype, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, prepare_allgatherv, ALLGATHERV,
                    sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)

#define ALLTOALLV(Count, Displacement)                                         \
  const void *sendbuf, const Count sendcounts[], const Displacement sdispls[], \
      MPI_Datatype sendtype, void *recvbuf, const Count recvcounts[],          \
      const Displacement rdispls[], MPI_Datatype recvtype, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, prepare_alltoallv, ALLTOALLV, sendbuf,
                    sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)

#define ALLTOALLW(Count, Displacement)                                         \
  const void *sendbuf, const Count sendcounts[], const MPI_Aint sdispls[],     \
      const MPI_Datatype sendtypes[], void *recvbuf, const Count recvcounts[], \
      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm
WEFT_MPI_COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, prepare_alltoallw, ALLTOALLW, sendbuf,
                    sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)
