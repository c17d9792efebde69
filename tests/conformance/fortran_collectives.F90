! Fortran's blocking and non-blocking collectives, in one group and between neighbours; with BY_MPIF_H by the
! older of the two interfaces.
module checks
#ifdef BY_MPIF_H
  implicit none
  include 'mpif.h'
#else
  use mpi
  implicit none
#endif
  integer, parameter :: n = 3, gap = 5
  integer :: rank, ranks, error, request, round, before, i, r, root, wrong = 0
  integer, allocatable, target :: in(:), out(:)
  integer, allocatable :: counts(:), places(:), bytes(:), types(:)
  integer, pointer :: rows(:, :)  ! What each rank's part of `out` has.
  integer :: one_place(1) = [2]
  integer(kind=MPI_ADDRESS_KIND) :: one_bytes(1) = [8]
contains
  subroutine expect(is_so, what)
    logical, intent(in) :: is_so
    character(len=*), intent(in) :: what
    if (is_so) return
    wrong = wrong + 1
    print '(a, i0, a, i0, 2a)', 'rank ', rank, ' of ', ranks, ': wrong: ', what
  end subroutine

  subroutine prepare()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    root = ranks - 1
    before = modulo(rank - 1, ranks)
    round = 1
    allocate(in(gap*ranks), out(gap*ranks), counts(ranks), places(ranks), bytes(ranks), types(ranks))
    counts = n
    places = [(gap*r, r = 0, ranks - 1)]
    bytes = 4*places
    types = MPI_INTEGER
    rows(1:gap, 1:ranks) => out
  end subroutine

  ! What rank r gives at place i.
  pure integer function value(r, i)
    integer, intent(in) :: r, i
    value = 10000*r + 10*i + round
  end function

  ! The sum of what `count` ranks give there.
  pure integer function total(i, count)
    integer, intent(in) :: i, count
    total = 10000*(count*(count - 1)/2) + count*(10*i + round)
  end function

  subroutine fill()
    in = [(value(rank, i), i = 1, size(in))]
    out = -1
  end subroutine

  subroutine finish()
    integer :: all_wrong
    call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0 .and. all_wrong == 0) print '(a)', 'right'
    call MPI_Finalize(error)
    if (all_wrong /= 0) stop 1
  end subroutine
end module

program fortran_collectives
  use checks
  implicit none
  call MPI_Init(error)
  call prepare()
  call in_one_group()
  call between_neighbours()
  call finish()
contains
  subroutine in_one_group()
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Ibarrier(MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call fill()
    if (rank == root) out(1:n) = in(1:n)
    call MPI_Bcast(out, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call expect(all(out(1:n) == [(value(root, i), i = 1, n)]), 'Bcast')
    call fill()
    if (rank == root) out(1:n) = in(1:n)
    call MPI_Ibcast(out, n, MPI_INTEGER, root, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(1:n) == [(value(root, i), i = 1, n)]), 'Ibcast')
    call fill()
    call MPI_Gather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call expect(rank /= root .or. all(out(1:n*ranks) == [((value(r, i), i = 1, n), r = 0, ranks - 1)]), 'Gather')
    call fill()
    call MPI_Igather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(rank /= root .or. all(out(1:n*ranks) == [((value(r, i), i = 1, n), r = 0, ranks - 1)]), 'Igather')
    call fill()
    call MPI_Gatherv(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call expect(rank /= root .or. all(rows(1:n, :) == reshape([((value(r, i), i = 1, n), r = 0, ranks - 1)], [n, &
        ranks])), 'Gatherv')
    call fill()
    call MPI_Igatherv(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(rank /= root .or. all(rows(1:n, :) == reshape([((value(r, i), i = 1, n), r = 0, ranks - 1)], [n, &
        ranks])), 'Igatherv')
    call fill()
    call MPI_Scatter(in, n, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call expect(all(out(1:n) == [(value(root, n*rank + i), i = 1, n)]), 'Scatter')
    call fill()
    call MPI_Iscatter(in, n, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(1:n) == [(value(root, n*rank + i), i = 1, n)]), 'Iscatter')
    call fill()
    call MPI_Scatterv(in, counts, places, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call expect(all(out(1:n) == [(value(root, gap*rank + i), i = 1, n)]), 'Scatterv')
    call fill()
    call MPI_Iscatterv(in, counts, places, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(1:n) == [(value(root, gap*rank + i), i = 1, n)]), 'Iscatterv')
    call fill()
    call MPI_Allgather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, error)
    call expect(all(out(1:n*ranks) == [((value(r, i), i = 1, n), r = 0, ranks - 1)]), 'Allgather')
    call fill()
    call MPI_Iallgather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(1:n*ranks) == [((value(r, i), i = 1, n), r = 0, ranks - 1)]), 'Iallgather')
    call fill()
    call MPI_Allgatherv(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD, error)
    call expect(all(rows(1:n, :) == reshape([((value(r, i), i = 1, n), r = 0, ranks - 1)], [n, ranks])) .and. &
        all(rows(n+1:, :) == -1), 'Allgatherv')
    call fill()
    call MPI_Iallgatherv(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(rows(1:n, :) == reshape([((value(r, i), i = 1, n), r = 0, ranks - 1)], [n, ranks])) .and. &
        all(rows(n+1:, :) == -1), 'Iallgatherv')
    call fill()
    call MPI_Alltoall(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, error)
    call expect(all(out(1:n*ranks) == [((value(r, n*rank + i), i = 1, n), r = 0, ranks - 1)]), 'Alltoall')
    call fill()
    call MPI_Ialltoall(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(1:n*ranks) == [((value(r, n*rank + i), i = 1, n), r = 0, ranks - 1)]), 'Ialltoall')
    call fill()
    call MPI_Alltoallv(in, counts, places, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD, error)
    call expect(all(rows(1:n, :) == reshape([((value(r, gap*rank + i), i = 1, n), r = 0, ranks - 1)], [n, ranks])), &
        'Alltoallv')
    call fill()
    call MPI_Ialltoallv(in, counts, places, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request, &
        error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(rows(1:n, :) == reshape([((value(r, gap*rank + i), i = 1, n), r = 0, ranks - 1)], [n, ranks])), &
        'Ialltoallv')
    call fill()
    call MPI_Alltoallw(in, counts, bytes, types, out, counts, bytes, types, MPI_COMM_WORLD, error)
    call expect(all(rows(1:n, :) == reshape([((value(r, gap*rank + i), i = 1, n), r = 0, ranks - 1)], [n, ranks])), &
        'Alltoallw')
    call fill()
    call MPI_Ialltoallw(in, counts, bytes, types, out, counts, bytes, types, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(rows(1:n, :) == reshape([((value(r, gap*rank + i), i = 1, n), r = 0, ranks - 1)], [n, ranks])), &
        'Ialltoallw')
    call fill()
    call MPI_Reduce(in, out, n, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, error)
    call expect(rank /= root .or. all(out(1:n) == [(total(i, ranks), i = 1, n)]), 'Reduce')
    call fill()
    call MPI_Ireduce(in, out, n, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(rank /= root .or. all(out(1:n) == [(total(i, ranks), i = 1, n)]), 'Ireduce')
    call fill()
    call MPI_Allreduce(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(all(out(1:n) == [(total(i, ranks), i = 1, n)]), 'Allreduce')
    call fill()
    call MPI_Iallreduce(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(1:n) == [(total(i, ranks), i = 1, n)]), 'Iallreduce')
    call fill()
    call MPI_Reduce_scatter(in, out, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(all(out(1:n) == [(total(n*rank + i, ranks), i = 1, n)]), 'Reduce_scatter')
    call fill()
    call MPI_Ireduce_scatter(in, out, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(1:n) == [(total(n*rank + i, ranks), i = 1, n)]), 'Ireduce_scatter')
    call fill()
    call MPI_Reduce_scatter_block(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(all(out(1:n) == [(total(n*rank + i, ranks), i = 1, n)]), 'Reduce_scatter_block')
    call fill()
    call MPI_Ireduce_scatter_block(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(1:n) == [(total(n*rank + i, ranks), i = 1, n)]), 'Ireduce_scatter_block')
    call fill()
    call MPI_Scan(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(all(out(1:n) == [(total(i, rank + 1), i = 1, n)]), 'Scan')
    call fill()
    call MPI_Iscan(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(1:n) == [(total(i, rank + 1), i = 1, n)]), 'Iscan')
    call fill()
    call MPI_Exscan(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(rank == 0 .or. all(out(1:n) == [(total(i, rank), i = 1, n)]), 'Exscan')
    call fill()
    call MPI_Iexscan(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(rank == 0 .or. all(out(1:n) == [(total(i, rank), i = 1, n)]), 'Iexscan')
    out(1:2) = [10, 20]
    call MPI_Reduce_local(in, out, 2, MPI_INTEGER, MPI_SUM, error)
    call expect(out(2) == 20 + in(2), 'Reduce_local')
  end subroutine

  subroutine between_neighbours()
    integer :: ring
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [before], MPI_UNWEIGHTED, 1, [modulo(rank + 1, ranks)], &
        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring, error)
    call fill()
    call MPI_Neighbor_allgather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring, error)
    call expect(all(out(1:n) == [(value(before, i), i = 1, n)]), 'Neighbor_allgather')
    call fill()
    call MPI_Ineighbor_allgather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(1:n) == [(value(before, i), i = 1, n)]), 'Ineighbor_allgather')
    call fill()
    call MPI_Neighbor_allgatherv(in, n, MPI_INTEGER, out, counts, one_place, MPI_INTEGER, ring, error)
    call expect(all(out(3:2+n) == [(value(before, i), i = 1, n)]) .and. out(2) == -1, 'Neighbor_allgatherv')
    call fill()
    call MPI_Ineighbor_allgatherv(in, n, MPI_INTEGER, out, counts, one_place, MPI_INTEGER, ring, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(3:2+n) == [(value(before, i), i = 1, n)]) .and. out(2) == -1, 'Ineighbor_allgatherv')
    call fill()
    call MPI_Neighbor_alltoall(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring, error)
    call expect(all(out(1:n) == [(value(before, i), i = 1, n)]), 'Neighbor_alltoall')
    call fill()
    call MPI_Ineighbor_alltoall(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(1:n) == [(value(before, i), i = 1, n)]), 'Ineighbor_alltoall')
    call fill()
    call MPI_Neighbor_alltoallv(in, counts, one_place, MPI_INTEGER, out, counts, one_place, MPI_INTEGER, ring, error)
    call expect(all(out(3:2+n) == [(value(before, 2 + i), i = 1, n)]) .and. out(2) == -1, 'Neighbor_alltoallv')
    call fill()
    call MPI_Ineighbor_alltoallv(in, counts, one_place, MPI_INTEGER, out, counts, one_place, MPI_INTEGER, ring, &
        request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(3:2+n) == [(value(before, 2 + i), i = 1, n)]) .and. out(2) == -1, 'Ineighbor_alltoallv')
    call MPI_Comm_free(ring, error)
  end subroutine
end program
