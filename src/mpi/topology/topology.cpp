// What all virtual topologies have in common.
#include "mpi/topology/topology.hpp"

#include "collective/new_communicators.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {

using namespace detail;

const topology& checked_topology(state& me, MPI_Comm comm, int kind) {
  const communicator_object& c = checked_communicator(me, comm);
  if (c.topology == nullptr || c.topology->kind != kind)
    fail(MPI_ERR_TOPOLOGY, "{} has no {}", text_of(comm),
         kind == MPI_CART    ? "Cartesian topology: make one with MPI_Cart_create"
         : kind == MPI_GRAPH ? "graph: make one with MPI_Graph_create"
                             : "distributed graph: make one with MPI_Dist_graph_create");
  return *c.topology;
}

MPI_Comm add_with_topology(state& me, communicator_object& parent, int place, const char* call,
                           const std::shared_ptr<topology>& made) {
  const int color = place == MPI_UNDEFINED ? undefined_color : 0;
  const MPI_Comm comm =
      add_communicator(me, split(*parent.shared, parent.own, color, place, call), parent);
  if (comm != MPI_COMM_NULL) find_object<communicator_object>(comm)->topology = made;
  return comm;
}

void check_member(const communicator_object& c, int rank) {
  if (rank < 0 || rank >= c.peers_count) fail(MPI_ERR_RANK, "rank {}: {}", rank, ranks_of(c));
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Topo_test, (MPI_Comm comm, int* status)) {
  return in_call(
      "MPI_Topo_test", comm,
      [&](state& me) {
        check_not_null(status, "status");
        const communicator_object& c = checked_communicator(me, comm);
        *status = c.topology == nullptr ? static_cast<int>(MPI_UNDEFINED) : c.topology->kind;
      },
      comm);
}
