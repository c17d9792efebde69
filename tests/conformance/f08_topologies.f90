! Fortran 2008: Cartesian topologies, graphs, and collectives between neighbours.
include 'f08_checks.h'

program f08_topologies
  use checks
  implicit none
  integer :: i
  call start()
  call grid()
  call graph()
  call distributed()
  call finish()
contains
  subroutine grid()
    type(MPI_Comm) :: ring, line
    type(MPI_Request) :: request
    integer :: dims(1), coords(1), source, to, n, got(2), status, own, counts(2), places(2)
    logical :: periods(1)
    dims = 0
    call MPI_Dims_create(ranks, 1, dims)
    call expect(dims(1) == ranks, 'MPI_Dims_create')
    call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, [.true.], .false., ring)
    call MPI_Topo_test(ring, status)
    call MPI_Cartdim_get(ring, n)
    call expect(status == MPI_CART .and. n == 1, 'MPI_Topo_test')
    call MPI_Cart_get(ring, 1, dims, periods, coords)
    call expect(dims(1) == ranks .and. periods(1), 'MPI_Cart_get')
    call MPI_Comm_rank(ring, own)
    call MPI_Cart_coords(ring, own, 1, coords)
    call MPI_Cart_rank(ring, coords, n)
    call expect(n == own, 'MPI_Cart_rank')
    call MPI_Cart_shift(ring, 0, 1, source, to)
    call expect(source == modulo(own - 1, ranks) .and. to == modulo(own + 1, ranks), 'MPI_Cart_shift')
    call MPI_Cart_map(MPI_COMM_WORLD, 1, dims, [.true.], n)
    call expect(n >= 0 .and. n < ranks, 'MPI_Cart_map')
    got = -1
    call MPI_Neighbor_allgather(own, 1, MPI_INTEGER, got, 1, MPI_INTEGER, ring)
    call expect(all(got == [source, to]), 'MPI_Neighbor_allgather')
    counts = 1
    places = [1, 0]
    call MPI_Neighbor_allgatherv(own, 1, MPI_INTEGER, got, counts, places, MPI_INTEGER, ring)
    call expect(all(got == [to, source]), 'MPI_Neighbor_allgatherv')
    call MPI_Neighbor_alltoall([own, own + 100], 1, MPI_INTEGER, got, 1, MPI_INTEGER, ring)
    if (ranks > 2) call expect(all(got == [source + 100, to]), 'MPI_Neighbor_alltoall')
    call MPI_Neighbor_alltoallv([own, own + 100], counts, places, MPI_INTEGER, got, counts, places, MPI_INTEGER, ring)
    if (ranks > 2) call expect(all(got == [to + 100, source]), 'MPI_Neighbor_alltoallv')
    got = -1
    call MPI_Ineighbor_allgather(own, 1, MPI_INTEGER, got, 1, MPI_INTEGER, ring, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(all(got == [source, to]), 'MPI_Ineighbor_allgather')
    call MPI_Cart_sub(ring, [.true.], line)
    call MPI_Comm_size(line, n)
    call expect(n == ranks, 'MPI_Cart_sub')
    call MPI_Comm_free(line)
    call MPI_Comm_free(ring)
  end subroutine

  subroutine graph()
    type(MPI_Comm) :: made
    integer :: ends(ranks), edges(ranks), n, m, near(1), status, mapped
    ends = [(i, i = 1, ranks)]
    edges = [(modulo(i, ranks), i = 1, ranks)]
    call MPI_Graph_create(MPI_COMM_WORLD, ranks, ends, edges, .false., made)
    call MPI_Topo_test(made, status)
    call MPI_Graphdims_get(made, n, m)
    call expect(status == MPI_GRAPH .and. n == ranks .and. m == ranks, 'MPI_Graphdims_get')
    ends = 0
    edges = -1
    call MPI_Graph_get(made, ranks, ranks, ends, edges)
    call expect(all(ends == [(i, i = 1, ranks)]) .and. all(edges == [(modulo(i, ranks), i = 1, ranks)]), 'MPI_Graph_get')
    call MPI_Graph_neighbors_count(made, rank, n)
    call MPI_Graph_neighbors(made, rank, 1, near)
    call expect(n == 1 .and. near(1) == right, 'MPI_Graph_neighbors')
    call MPI_Graph_map(MPI_COMM_WORLD, ranks, ends, edges, mapped)
    call expect(mapped >= 0, 'MPI_Graph_map')
    call MPI_Comm_free(made)
  end subroutine

  subroutine distributed()
    type(MPI_Comm) :: made
    integer :: in_count, out_count, sources(1), targets(1), in_weights(1), out_weights(1), got(1)
    logical :: weighted
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                        .false., made)
    call MPI_Dist_graph_neighbors_count(made, in_count, out_count, weighted)
    call expect(in_count == 1 .and. out_count == 1 .and. .not. weighted, 'MPI_UNWEIGHTED')
    call MPI_Dist_graph_neighbors(made, 1, sources, MPI_UNWEIGHTED, 1, targets, MPI_UNWEIGHTED)
    call expect(sources(1) == left .and. targets(1) == right, 'MPI_Dist_graph_neighbors')
    call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, got, 1, MPI_INTEGER, made)
    call expect(got(1) == left, 'MPI_Neighbor_allgather of a graph')
    call MPI_Comm_free(made)
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [right], [rank + 5], MPI_INFO_NULL, .false., made)
    call MPI_Dist_graph_neighbors_count(made, in_count, out_count, weighted)
    call MPI_Dist_graph_neighbors(made, 1, sources, in_weights, 1, targets, out_weights)
    call expect(weighted .and. in_weights(1) == left + 5 .and. out_weights(1) == rank + 5, 'weights')
    call MPI_Comm_free(made)
  end subroutine
end program
