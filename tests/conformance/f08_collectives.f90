! Fortran 2008: collectives with whole arrays, MPI_IN_PLACE, operations; blocking and not.
include 'f08_checks.h'

program f08_collectives
  use checks
  implicit none
  integer :: i, r, root
  integer, allocatable :: all(:), parts(:, :), counts(:), places(:), mine(:), bytes(:)
  type(MPI_Datatype), allocatable :: types(:)
  type(MPI_Request) :: request
  call start()
  root = ranks - 1
  allocate(all(3*ranks), parts(3, ranks), counts(ranks), places(ranks), mine(3), types(ranks), bytes(ranks))
  counts = 3
  places = [(3*r, r = 0, ranks - 1)]
  bytes = 4*places
  types = MPI_INTEGER
  call moved()
  call listed()
  call in_place()
  call reduced()
  call started()
  call finish()
contains
  integer elemental function of(r, i)
    integer, intent(in) :: r, i
    of = 100*r + i
  end function

  subroutine reset()
    mine = of(rank, [1, 2, 3])
    all = -1
    parts = -1
  end subroutine

  logical function has_all()
    has_all = .true.
    do r = 0, ranks - 1
      has_all = has_all .and. count(all(3*r + 1:3*r + 3) == of(r, [1, 2, 3])) == 3
    end do
  end function

  subroutine moved()
    integer :: value, to(3)
    value = merge(77, -1, rank == root)
    call MPI_Bcast(value, 1, MPI_INTEGER, root, MPI_COMM_WORLD)
    call expect(value == 77, 'MPI_Bcast')
    call reset()
    call MPI_Gather(mine, 3, MPI_INTEGER, all, 3, MPI_INTEGER, root, MPI_COMM_WORLD)
    call expect(rank /= root .or. has_all(), 'MPI_Gather')
    call reset()
    call MPI_Allgather(mine, 3, MPI_INTEGER, all, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call expect(has_all(), 'MPI_Allgather')
    to = -1
    call MPI_Scatter(all, 3, MPI_INTEGER, to, 3, MPI_INTEGER, root, MPI_COMM_WORLD)
    call expect(count(to == mine) == 3, 'MPI_Scatter')
    do r = 1, ranks
      parts(:, r) = of(rank, [1, 2, 3]) + 10000*(r - 1)
    end do
    call MPI_Alltoall(parts, 3, MPI_INTEGER, all, 3, MPI_INTEGER, MPI_COMM_WORLD)
    do r = 0, ranks - 1
      call expect(count(all(3*r + 1:3*r + 3) == of(r, [1, 2, 3]) + 10000*rank) == 3, 'MPI_Alltoall')
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  subroutine listed()
    integer :: to(3)
    call reset()
    call MPI_Gatherv(mine, 3, MPI_INTEGER, all, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD)
    call expect(rank /= root .or. has_all(), 'MPI_Gatherv')
    call reset()
    call MPI_Allgatherv(mine, 3, MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call expect(has_all(), 'MPI_Allgatherv')
    to = -1
    call MPI_Scatterv(all, counts, places, MPI_INTEGER, to, 3, MPI_INTEGER, root, MPI_COMM_WORLD)
    call expect(count(to == mine) == 3, 'MPI_Scatterv')
    do r = 1, ranks
      parts(:, r) = of(rank, [1, 2, 3])
    end do
    all = -1
    call MPI_Alltoallv(parts, counts, places, MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call expect(has_all(), 'MPI_Alltoallv')
    all = -1
    call MPI_Alltoallw(parts, counts, bytes, types, all, counts, bytes, types, MPI_COMM_WORLD)
    call expect(has_all(), 'MPI_Alltoallw')
  end subroutine

  subroutine in_place()
    call reset()
    all(3*rank + 1:3*rank + 3) = mine
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call expect(has_all(), 'MPI_Allgather in place')
    call reset()
    all(3*rank + 1:3*rank + 3) = mine
    if (rank == root) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 3, MPI_INTEGER, root, MPI_COMM_WORLD)
      call expect(has_all(), 'MPI_Gather in place')
      call MPI_Scatter(all, 3, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD)
    else
      call MPI_Gather(mine, 3, MPI_INTEGER, all, 3, MPI_INTEGER, root, MPI_COMM_WORLD)
      mine = -1
      call MPI_Scatter(all, 3, MPI_INTEGER, mine, 3, MPI_INTEGER, root, MPI_COMM_WORLD)
      call expect(count(mine == of(rank, [1, 2, 3])) == 3, 'MPI_Scatter of a root in place')
    end if
    do r = 0, ranks - 1
      all(3*r + 1:3*r + 3) = of(rank, [1, 2, 3])
    end do
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call expect(has_all(), 'MPI_Alltoall in place')
    mine = rank
    call MPI_Allreduce(MPI_IN_PLACE, mine, 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
    call expect(count(mine == ranks - 1) == 3, 'MPI_Allreduce in place')
    mine = rank
    if (rank == root) then
      call MPI_Reduce(MPI_IN_PLACE, mine, 3, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD)
      call expect(count(mine == ranks*(ranks - 1)/2) == 3, 'MPI_Reduce in place')
    else
      call MPI_Reduce(mine, all, 3, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD)
    end if
  end subroutine

  subroutine reduced()
    integer :: to(3), r_counts(ranks)
    real(8) :: pair(2), least(2)
    logical :: yes, together
    mine = of(rank, [1, 2, 3])
    call MPI_Reduce(mine, to, 3, MPI_INTEGER, MPI_MAX, root, MPI_COMM_WORLD)
    call expect(rank /= root .or. count(to == of(ranks - 1, [1, 2, 3])) == 3, 'MPI_Reduce')
    call MPI_Scan(rank + 1, to(1), 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call expect(to(1) == (rank + 1)*(rank + 2)/2, 'MPI_Scan')
    to = 0
    call MPI_Exscan(rank + 1, to(1), 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call expect(rank == 0 .or. to(1) == rank*(rank + 1)/2, 'MPI_Exscan')
    all = [(i, i = 1, 3*ranks)]
    call MPI_Reduce_scatter_block(all, to, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call expect(count(to == ranks*[3*rank + 1, 3*rank + 2, 3*rank + 3]) == 3, 'MPI_Reduce_scatter_block')
    r_counts = 3
    to = -1
    call MPI_Reduce_scatter(all, to, r_counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call expect(count(to == ranks*[3*rank + 1, 3*rank + 2, 3*rank + 3]) == 3, 'MPI_Reduce_scatter')
    mine = 1
    to = 2
    call MPI_Reduce_local(mine, to, 3, MPI_INTEGER, MPI_SUM)
    call expect(count(to == 3) == 3, 'MPI_Reduce_local')
    pair = [modulo(rank + 1, ranks)*1d0, rank*1d0]
    call MPI_Allreduce(pair, least, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD)
    call expect(least(1) == 0 .and. nint(least(2)) == ranks - 1, 'MPI_MINLOC')
    yes = rank /= 0
    call MPI_Allreduce(yes, together, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
    call expect(.not. together, 'MPI_LAND')
    call MPI_Allreduce(.true., together, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
    call expect(together, 'MPI_LAND of a constant')
  end subroutine

  subroutine started()
    integer :: to(3)
    call MPI_Ibarrier(MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    mine = merge(of(root, [1, 2, 3]), [0, 0, 0], rank == root)
    call MPI_Ibcast(mine, 3, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(count(mine == of(root, [1, 2, 3])) == 3, 'MPI_Ibcast')
    call reset()
    call MPI_Iallgather(mine, 3, MPI_INTEGER, all, 3, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(has_all(), 'MPI_Iallgather')
    call reset()
    call MPI_Iallgatherv(mine, 3, MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(has_all(), 'MPI_Iallgatherv')
    call MPI_Igather(mine, 3, MPI_INTEGER, parts, 3, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Igatherv(mine, 3, MPI_INTEGER, parts, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == root) all = reshape(parts, [3*ranks])
    call expect(has_all(), 'MPI_Igather, MPI_Igatherv')
    call MPI_Iscatter(all, 3, MPI_INTEGER, to, 3, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(count(to == mine) == 3, 'MPI_Iscatter')
    to = -1
    call MPI_Iscatterv(all, counts, places, MPI_INTEGER, to, 3, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(count(to == mine) == 3, 'MPI_Iscatterv')
    do r = 1, ranks
      parts(:, r) = of(rank, [1, 2, 3])
    end do
    all = -1
    call MPI_Ialltoall(parts, 3, MPI_INTEGER, all, 3, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(has_all(), 'MPI_Ialltoall')
    all = -1
    call MPI_Ialltoallv(parts, counts, places, MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(has_all(), 'MPI_Ialltoallv')
    all = -1
    call MPI_Ialltoallw(parts, counts, bytes, types, all, counts, bytes, types, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(has_all(), 'MPI_Ialltoallw')
    to = -1
    call MPI_Iallreduce(mine, to, 3, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(count(to == [1, 2, 3]) == 3, 'MPI_Iallreduce')
    to = -1
    call MPI_Ireduce(mine, to, 3, MPI_INTEGER, MPI_MIN, root, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(rank /= root .or. count(to == [1, 2, 3]) == 3, 'MPI_Ireduce')
    i = rank
    call MPI_Iscan(i, to(1), 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(to(1) == rank, 'MPI_Iscan')
    i = rank
    call MPI_Iexscan(i, to(1), 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(rank == 0 .or. to(1) == rank - 1, 'MPI_Iexscan')
    all = [(i, i = 1, 3*ranks)]
    call MPI_Ireduce_scatter_block(all, to, 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(count(to == [3*rank + 1, 3*rank + 2, 3*rank + 3]) == 3, 'MPI_Ireduce_scatter_block')
    call MPI_Ireduce_scatter(all, to, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(count(to == ranks*[3*rank + 1, 3*rank + 2, 3*rank + 3]) == 3, 'MPI_Ireduce_scatter')
  end subroutine
end program
