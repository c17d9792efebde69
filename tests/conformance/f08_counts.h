! The checks of f08_counts_int.f90 and f08_counts_large.f90: every function that has counts, called with integers of kind `c` as counts
! and of kind `p` as displacements. Included behind their declaration.
program f08_counts
  use kinds
  use checks
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  integer(kind=c), parameter :: n = 3, gap = 5, one = 1, none = 0
  integer :: root, i, r, round
  integer, allocatable, asynchronous, target :: in(:), out(:)
  integer, pointer :: rows(:, :)
  integer(kind=c), allocatable, asynchronous :: counts(:)
  integer(kind=p), allocatable, asynchronous :: places(:), bytes(:)
  integer(kind=p) :: one_place(1) = [2]
  integer(kind=MPI_ADDRESS_KIND) :: one_bytes(1) = [8]
  type(MPI_Datatype), allocatable, asynchronous :: types(:)
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  call start()
  round = 0
  root = ranks - 1
  allocate(in(gap*ranks), out(gap*ranks), counts(ranks), places(ranks), bytes(ranks), types(ranks))
  counts = n
  places = [(int(gap*r, p), r = 0, ranks - 1)]
  bytes = 4*places
  types = MPI_INTEGER
  rows(1:gap, 1:ranks) => out
  call messages()
  call blocking()
  call started()
  call kept()
  call near()
  call windows()
  call files()
  call datatypes()
  call packed()
  call statuses()
  call finish()
contains
  ! What rank r gives at place i.
  pure integer function value(r, i)
    integer, intent(in) :: r, i
    value = 10000*r + 10*i + round
  end function
  pure integer function total(i, of)
    integer, intent(in) :: i, of
    total = 10000*(of*(of - 1)/2) + of*(10*i + round)
  end function

  subroutine fill()
    round = round + 1
    in = [(value(rank, i), i = 1, size(in))]
    out = -1
  end subroutine

  subroutine complete()
    call MPI_Wait(request, status)
  end subroutine

  subroutine check(what, which)
    character(len=*), intent(in) :: what
    character, intent(in) :: which
    logical :: is_so
    select case (which)
    case ('r')  ! The root's part.
      is_so = all(out(1:n) == [(value(root, i), i = 1, int(n))])
    case ('a')  ! All parts in a row.
      is_so = all(out(1:n*ranks) == [((value(r, i), i = 1, int(n)), r = 0, ranks - 1)])
    case ('g')  ! All parts with gaps.
      is_so = all(rows(1:n, :) == reshape([((value(r, i), i = 1, int(n)), r = 0, ranks - 1)], [int(n), ranks]))
    case ('p')  ! The own part of the root's.
      is_so = all(out(1:n) == [(value(root, int(n)*rank + i), i = 1, int(n))])
    case ('P')
      is_so = all(out(1:n) == [(value(root, int(gap)*rank + i), i = 1, int(n))])
    case ('x')  ! The own part of each.
      is_so = all(out(1:n*ranks) == [((value(r, int(n)*rank + i), i = 1, int(n)), r = 0, ranks - 1)])
    case ('X')
      is_so = all(rows(1:n, :) == reshape([((value(r, int(gap)*rank + i), i = 1, int(n)), r = 0, ranks - 1)], [int(n), ranks]))
    case ('s')  ! Sums.
      is_so = all(out(1:n) == [(total(i, ranks), i = 1, int(n))])
    case ('S')
      is_so = all(out(1:n) == [(total(int(n)*rank + i, ranks), i = 1, int(n))])
    case ('i')
      is_so = all(out(1:n) == [(total(i, rank + 1), i = 1, int(n))])
    case ('e')
      is_so = rank == 0 .or. all(out(1:n) == [(total(i, rank), i = 1, int(n))])
    case ('l')  ! The left neighbour's part.
      is_so = all(out(1:n) == [(value(left, i), i = 1, int(n))])
    case ('L')
      is_so = all(out(3:2+n) == [(value(left, i), i = 1, int(n))]) .and. out(2) == -1
    case ('M')
      is_so = all(out(3:2+n) == [(value(left, i + 2), i = 1, int(n))]) .and. out(2) == -1
    case default
      error stop 'check'
    end select
    call expect(is_so, what)
  end subroutine

  subroutine messages()
    type(MPI_Message) :: message
    type(MPI_Request) :: requests(8)
    type(c_ptr) :: detached
    integer(8), asynchronous :: room(1000)
    integer :: m
    integer(kind=c) :: got
    call MPI_Buffer_attach(room, 8000_c)
    do m = 1, 8
      call fill()
      call MPI_Irecv(out, n, MPI_INTEGER, left, m, MPI_COMM_WORLD, request)
      call MPI_Barrier(MPI_COMM_WORLD)
      requests(1) = MPI_REQUEST_NULL
      if (m == 1) call MPI_Send(in, n, MPI_INTEGER, right, m, MPI_COMM_WORLD)
      if (m == 2) call MPI_Bsend(in, n, MPI_INTEGER, right, m, MPI_COMM_WORLD)
      if (m == 3) call MPI_Ssend(in, n, MPI_INTEGER, right, m, MPI_COMM_WORLD)
      if (m == 4) call MPI_Rsend(in, n, MPI_INTEGER, right, m, MPI_COMM_WORLD)
      if (m == 5) call MPI_Isend(in, n, MPI_INTEGER, right, m, MPI_COMM_WORLD, requests(1))
      if (m == 6) call MPI_Ibsend(in, n, MPI_INTEGER, right, m, MPI_COMM_WORLD, requests(1))
      if (m == 7) call MPI_Issend(in, n, MPI_INTEGER, right, m, MPI_COMM_WORLD, requests(1))
      if (m == 8) call MPI_Irsend(in, n, MPI_INTEGER, right, m, MPI_COMM_WORLD, requests(1))
      call complete()
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
      call MPI_Get_count(status, MPI_INTEGER, got)
      call expect(got == n, 'MPI_Get_count')
      call MPI_Get_elements(status, MPI_INTEGER, got)
      call expect(got == n, 'MPI_Get_elements')
      call check('a message', 'l')
    end do
    call MPI_Send_init(in, n, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Bsend_init(in, n, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Ssend_init(in, n, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(3))
    call MPI_Rsend_init(in, n, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(4))
    do m = 1, 4
      call MPI_Recv_init(out(m), one, MPI_INTEGER, left, m, MPI_COMM_WORLD, requests(4 + m))
    end do
    do m = 5, 8
      call MPI_Request_free(requests(m))
    end do
    do m = 1, 4
      call fill()
      call MPI_Recv_init(out, n, MPI_INTEGER, left, m, MPI_COMM_WORLD, requests(5))
      call MPI_Start(requests(5))
      call MPI_Barrier(MPI_COMM_WORLD)
      call MPI_Start(requests(m))
      call MPI_Wait(requests(5), MPI_STATUS_IGNORE)
      call MPI_Wait(requests(m), MPI_STATUS_IGNORE)
      call MPI_Request_free(requests(5))
      call check('a persistent message', 'l')
    end do
    do m = 1, 4
      call MPI_Request_free(requests(m))
    end do
    call MPI_Buffer_detach(detached, got)
    call expect(got == 8000, 'MPI_Buffer_detach')
    call fill()
    call MPI_Sendrecv(in, n, MPI_INTEGER, right, 1, out, n, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call check('MPI_Sendrecv', 'l')
    call fill()
    out(1:n) = in(1:n)
    call MPI_Sendrecv_replace(out, n, MPI_INTEGER, right, 1, left, 1, MPI_COMM_WORLD, status)
    call check('MPI_Sendrecv_replace', 'l')
    call fill()
    call MPI_Isendrecv(in, n, MPI_INTEGER, right, 1, out, n, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Isendrecv', 'l')
    call fill()
    out(1:n) = in(1:n)
    call MPI_Isendrecv_replace(out, n, MPI_INTEGER, right, 1, left, 1, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Isendrecv_replace', 'l')
    do m = 1, 2
      call fill()
      call MPI_Isend(in, n, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(1))
      call MPI_Mprobe(left, 1, MPI_COMM_WORLD, message, status)
      if (m == 1) call MPI_Mrecv(out, n, MPI_INTEGER, message, status)
      if (m == 2) call MPI_Imrecv(out, n, MPI_INTEGER, message, request)
      if (m == 2) call complete()
      call MPI_Wait(requests(1), status)
      call check('MPI_Mrecv, MPI_Imrecv', 'l')
    end do
    call fill()
    call MPI_Isend(in, n, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Recv(out, n, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call MPI_Wait(requests(1), status)
    call check('MPI_Recv', 'l')
  end subroutine

  subroutine blocking()
    call fill()
    if (rank == root) out(1:n) = in(1:n)
    call MPI_Bcast(out, n, MPI_INTEGER, root, MPI_COMM_WORLD)
    call check('MPI_Bcast', 'r')
    call fill()
    call MPI_Gather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD)
    if (rank == root) call check('MPI_Gather', 'a')
    call fill()
    call MPI_Gatherv(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD)
    if (rank == root) call check('MPI_Gatherv', 'g')
    call fill()
    call MPI_Scatter(in, n, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD)
    call check('MPI_Scatter', 'p')
    call fill()
    call MPI_Scatterv(in, counts, places, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD)
    call check('MPI_Scatterv', 'P')
    call fill()
    call MPI_Allgather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD)
    call check('MPI_Allgather', 'a')
    call fill()
    call MPI_Allgatherv(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call check('MPI_Allgatherv', 'g')
    call fill()
    call MPI_Alltoall(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD)
    call check('MPI_Alltoall', 'x')
    call fill()
    call MPI_Alltoallv(in, counts, places, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call check('MPI_Alltoallv', 'X')
    call fill()
    call MPI_Alltoallw(in, counts, bytes, types, out, counts, bytes, types, MPI_COMM_WORLD)
    call check('MPI_Alltoallw', 'X')
    call fill()
    call MPI_Reduce(in, out, n, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD)
    if (rank == root) call check('MPI_Reduce', 's')
    call fill()
    call MPI_Allreduce(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('MPI_Allreduce', 's')
    call fill()
    call MPI_Reduce_scatter(in, out, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('MPI_Reduce_scatter', 'S')
    call fill()
    call MPI_Reduce_scatter_block(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('MPI_Reduce_scatter_block', 'S')
    call fill()
    call MPI_Scan(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('MPI_Scan', 'i')
    call fill()
    call MPI_Exscan(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('MPI_Exscan', 'e')
    call fill()
    out = in
    call MPI_Reduce_local(in, out, n, MPI_INTEGER, MPI_SUM)
    call expect(all(out(1:n) == 2*in(1:n)), 'MPI_Reduce_local')
  end subroutine

  subroutine started()
    call fill()
    if (rank == root) out(1:n) = in(1:n)
    call MPI_Ibcast(out, n, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Ibcast', 'r')
    call fill()
    call MPI_Igather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    call complete()
    if (rank == root) call check('MPI_Igather', 'a')
    call fill()
    call MPI_Igatherv(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    call complete()
    if (rank == root) call check('MPI_Igatherv', 'g')
    call fill()
    call MPI_Iscatter(in, n, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Iscatter', 'p')
    call fill()
    call MPI_Iscatterv(in, counts, places, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Iscatterv', 'P')
    call fill()
    call MPI_Iallgather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Iallgather', 'a')
    call fill()
    call MPI_Iallgatherv(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Iallgatherv', 'g')
    call fill()
    call MPI_Ialltoall(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Ialltoall', 'x')
    call fill()
    call MPI_Ialltoallv(in, counts, places, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Ialltoallv', 'X')
    call fill()
    call MPI_Ialltoallw(in, counts, bytes, types, out, counts, bytes, types, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Ialltoallw', 'X')
    call fill()
    call MPI_Ireduce(in, out, n, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, request)
    call complete()
    if (rank == root) call check('MPI_Ireduce', 's')
    call fill()
    call MPI_Iallreduce(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Iallreduce', 's')
    call fill()
    call MPI_Ireduce_scatter(in, out, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Ireduce_scatter', 'S')
    call fill()
    call MPI_Ireduce_scatter_block(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Ireduce_scatter_block', 'S')
    call fill()
    call MPI_Iscan(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Iscan', 'i')
    call fill()
    call MPI_Iexscan(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call complete()
    call check('MPI_Iexscan', 'e')
  end subroutine

  ! Runs the persistent operation twice and checks it.
  subroutine repeat(what, which, on_all)
    character(len=*), intent(in) :: what
    character, intent(in) :: which
    logical, intent(in) :: on_all
    integer :: turn
    do turn = 1, 2
      call fill()
      if (which == 'r' .and. rank == root) out(1:n) = in(1:n)
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      if (on_all .or. rank == root) call check(what, which)
    end do
    call MPI_Request_free(request)
  end subroutine

  subroutine kept()
    call MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call MPI_Start(request)
    call complete()
    call MPI_Request_free(request)
    call MPI_Bcast_init(out, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Bcast_init', 'r', .true.)
    call MPI_Gather_init(in, n, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Gather_init', 'a', .false.)
    call MPI_Gatherv_init(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Gatherv_init', 'g', .false.)
    call MPI_Scatter_init(in, n, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Scatter_init', 'p', .true.)
    call MPI_Scatterv_init(in, counts, places, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Scatterv_init', 'P', .true.)
    call MPI_Allgather_init(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Allgather_init', 'a', .true.)
    call MPI_Allgatherv_init(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Allgatherv_init', 'g', .true.)
    call MPI_Alltoall_init(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Alltoall_init', 'x', .true.)
    call MPI_Alltoallv_init(in, counts, places, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
                            request)
    call repeat('MPI_Alltoallv_init', 'X', .true.)
    call MPI_Alltoallw_init(in, counts, bytes, types, out, counts, bytes, types, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Alltoallw_init', 'X', .true.)
    call MPI_Reduce_init(in, out, n, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Reduce_init', 's', .false.)
    call MPI_Allreduce_init(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Allreduce_init', 's', .true.)
    call MPI_Reduce_scatter_init(in, out, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Reduce_scatter_init', 'S', .true.)
    call MPI_Reduce_scatter_block_init(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Reduce_scatter_block_init', 'S', .true.)
    call MPI_Scan_init(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Scan_init', 'i', .true.)
    call MPI_Exscan_init(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call repeat('MPI_Exscan_init', 'e', .true.)
  end subroutine

  subroutine near()
    type(MPI_Comm) :: ring
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                        .false., ring)
    call fill()
    call MPI_Neighbor_allgather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring)
    call check('MPI_Neighbor_allgather', 'l')
    call fill()
    call MPI_Neighbor_allgatherv(in, n, MPI_INTEGER, out, counts, one_place, MPI_INTEGER, ring)
    call check('MPI_Neighbor_allgatherv', 'L')
    call fill()
    call MPI_Neighbor_alltoall(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring)
    call check('MPI_Neighbor_alltoall', 'l')
    call fill()
    call MPI_Neighbor_alltoallv(in, counts, one_place, MPI_INTEGER, out, counts, one_place, MPI_INTEGER, ring)
    call check('MPI_Neighbor_alltoallv', 'M')
    call fill()
    call MPI_Neighbor_alltoallw(in, counts, one_bytes, types, out, counts, one_bytes, types, ring)
    call check('MPI_Neighbor_alltoallw', 'M')
    call fill()
    call MPI_Ineighbor_allgather(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring, request)
    call complete()
    call check('MPI_Ineighbor_allgather', 'l')
    call fill()
    call MPI_Ineighbor_allgatherv(in, n, MPI_INTEGER, out, counts, one_place, MPI_INTEGER, ring, request)
    call complete()
    call check('MPI_Ineighbor_allgatherv', 'L')
    call fill()
    call MPI_Ineighbor_alltoall(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring, request)
    call complete()
    call check('MPI_Ineighbor_alltoall', 'l')
    call fill()
    call MPI_Ineighbor_alltoallv(in, counts, one_place, MPI_INTEGER, out, counts, one_place, MPI_INTEGER, ring, request)
    call complete()
    call check('MPI_Ineighbor_alltoallv', 'M')
    call fill()
    call MPI_Ineighbor_alltoallw(in, counts, one_bytes, types, out, counts, one_bytes, types, ring, request)
    call complete()
    call check('MPI_Ineighbor_alltoallw', 'M')
    call MPI_Neighbor_allgather_init(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring, MPI_INFO_NULL, request)
    call repeat('MPI_Neighbor_allgather_init', 'l', .true.)
    call MPI_Neighbor_allgatherv_init(in, n, MPI_INTEGER, out, counts, one_place, MPI_INTEGER, ring, MPI_INFO_NULL, request)
    call repeat('MPI_Neighbor_allgatherv_init', 'L', .true.)
    call MPI_Neighbor_alltoall_init(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring, MPI_INFO_NULL, request)
    call repeat('MPI_Neighbor_alltoall_init', 'l', .true.)
    call MPI_Neighbor_alltoallv_init(in, counts, one_place, MPI_INTEGER, out, counts, one_place, MPI_INTEGER, ring, &
                                     MPI_INFO_NULL, request)
    call repeat('MPI_Neighbor_alltoallv_init', 'M', .true.)
    call MPI_Neighbor_alltoallw_init(in, counts, one_bytes, types, out, counts, one_bytes, types, ring, MPI_INFO_NULL, request)
    call repeat('MPI_Neighbor_alltoallw_init', 'M', .true.)
    call MPI_Comm_free(ring)
  end subroutine

  subroutine windows()
    type(MPI_Win) :: win
    type(c_ptr) :: base
    integer, pointer :: memory(:)
    integer(kind=MPI_ADDRESS_KIND), parameter :: begin = 0
    integer(kind=MPI_ADDRESS_KIND) :: length
    integer(kind=p) :: unit
    type(MPI_Comm) :: node
    type(MPI_Request) :: requests(2)
    call MPI_Win_allocate(4*gap*1_MPI_ADDRESS_KIND, 4_p, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, memory, [int(gap)])
    call MPI_Win_fence(0, win)
    memory = 0
    call fill()
    call MPI_Win_fence(0, win)
    call MPI_Put(in, n, MPI_INTEGER, right, begin, n, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(in, n, MPI_INTEGER, right, begin, n, MPI_INTEGER, MPI_REPLACE, win)
    call MPI_Win_fence(0, win)
    call MPI_Get(out, n, MPI_INTEGER, rank, begin, n, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check('MPI_Put, MPI_Get', 'l')
    call fill()
    call MPI_Get_accumulate(in, n, MPI_INTEGER, out, n, MPI_INTEGER, right, begin, n, MPI_INTEGER, MPI_REPLACE, win)
    call MPI_Win_fence(0, win)
    call expect(all(memory(1:n) == [(value(left, i), i = 1, int(n))]), 'MPI_Get_accumulate')
    call MPI_Win_fence(0, win)
    call MPI_Win_lock_all(0, win)
    call MPI_Rget(out, n, MPI_INTEGER, rank, begin, n, MPI_INTEGER, win, request)
    call complete()
    call check('MPI_Rget', 'l')
    call MPI_Barrier(MPI_COMM_WORLD)
    call fill()
    call MPI_Rput(in, n, MPI_INTEGER, right, begin, n, MPI_INTEGER, win, request)
    call complete()
    call MPI_Win_flush(right, win)
    call MPI_Raccumulate(in, n, MPI_INTEGER, right, begin, n, MPI_INTEGER, MPI_REPLACE, win, requests(1))
    call MPI_Rget_accumulate(in, none, MPI_INTEGER, out, none, MPI_INTEGER, right, begin, none, MPI_INTEGER, MPI_NO_OP, win, &
                             requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_Win_unlock_all(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win)
    call expect(all(memory(1:n) == [(value(left, i), i = 1, int(n))]), 'MPI_Rput')
    call MPI_Win_unlock(rank, win)
    call MPI_Win_free(win)
    call MPI_Win_create(out, 4*n*1_MPI_ADDRESS_KIND, 4_p, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_free(win)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node)
    call MPI_Win_allocate_shared(4*n*1_MPI_ADDRESS_KIND, 4_p, MPI_INFO_NULL, node, base, win)
    call MPI_Win_shared_query(win, 0, length, unit, base)
    call expect(length == 4*n .and. unit == 4, 'MPI_Win_shared_query')
    call MPI_Win_free(win)
    call MPI_Comm_free(node)
  end subroutine

  ! The left neighbour's part, as it is read.
  subroutine read_back(what)
    character(len=*), intent(in) :: what
    integer(kind=c) :: got
    call MPI_Get_count(status, MPI_INTEGER, got)
    call expect(got == n .and. all(out(1:n) == in(1:n)), what)
    call MPI_Barrier(MPI_COMM_WORLD)
    call fill()
  end subroutine

  subroutine files()
    character(len=200) :: path
    integer :: length
    type(MPI_File) :: file
    integer(kind=MPI_OFFSET_KIND) :: own
    integer(kind=MPI_ADDRESS_KIND) :: extent
    integer(kind=MPI_OFFSET_KIND), parameter :: first = 0
    call get_environment_variable('TMPDIR', path, length)
    if (length == 0) path = '/tmp'
    i = 0
    if (rank == 0) call system_clock(i)
    call MPI_Bcast(i, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    write (path(len_trim(path) + 1:), '(a, i0, a)') '/f08_counts.', i, '.data'
    call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    own = 4*n*rank
    call MPI_File_get_type_extent(file, MPI_INTEGER, extent)
    call expect(extent == 4, 'MPI_File_get_type_extent')
    call fill()
    call MPI_File_write_at(file, own, in, n, MPI_INTEGER, status)
    call MPI_File_read_at(file, own, out, n, MPI_INTEGER, status)
    call read_back('MPI_File_read_at')
    call MPI_File_write_at_all(file, own, in, n, MPI_INTEGER, status)
    call MPI_File_read_at_all(file, own, out, n, MPI_INTEGER, status)
    call read_back('MPI_File_read_at_all')
    call MPI_File_iwrite_at(file, own, in, n, MPI_INTEGER, request)
    call complete()
    call MPI_File_iread_at(file, own, out, n, MPI_INTEGER, request)
    call complete()
    call read_back('MPI_File_iread_at')
    call MPI_File_iwrite_at_all(file, own, in, n, MPI_INTEGER, request)
    call complete()
    call MPI_File_iread_at_all(file, own, out, n, MPI_INTEGER, request)
    call complete()
    call read_back('MPI_File_iread_at_all')
    call MPI_File_write_at_all_begin(file, own, in, n, MPI_INTEGER)
    call MPI_File_write_at_all_end(file, in, status)
    call MPI_File_read_at_all_begin(file, own, out, n, MPI_INTEGER)
    call MPI_File_read_at_all_end(file, out, status)
    call read_back('MPI_File_read_at_all_begin')
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_write(file, in, n, MPI_INTEGER, status)
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_read(file, out, n, MPI_INTEGER, status)
    call read_back('MPI_File_read')
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_write_all(file, in, n, MPI_INTEGER, status)
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_read_all(file, out, n, MPI_INTEGER, status)
    call read_back('MPI_File_read_all')
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_iwrite(file, in, n, MPI_INTEGER, request)
    call complete()
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_iread(file, out, n, MPI_INTEGER, request)
    call complete()
    call read_back('MPI_File_iread')
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_iwrite_all(file, in, n, MPI_INTEGER, request)
    call complete()
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_iread_all(file, out, n, MPI_INTEGER, request)
    call complete()
    call read_back('MPI_File_iread_all')
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_write_all_begin(file, in, n, MPI_INTEGER)
    call MPI_File_write_all_end(file, in, status)
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_read_all_begin(file, out, n, MPI_INTEGER)
    call MPI_File_read_all_end(file, out, status)
    call read_back('MPI_File_read_all_begin')
    call MPI_File_seek_shared(file, first, MPI_SEEK_SET)
    call MPI_File_write_ordered(file, in, n, MPI_INTEGER, status)
    call MPI_File_seek_shared(file, first, MPI_SEEK_SET)
    call MPI_File_read_ordered(file, out, n, MPI_INTEGER, status)
    call read_back('MPI_File_read_ordered')
    call MPI_File_seek_shared(file, first, MPI_SEEK_SET)
    call MPI_File_write_ordered_begin(file, in, n, MPI_INTEGER)
    call MPI_File_write_ordered_end(file, in, status)
    call MPI_File_seek_shared(file, first, MPI_SEEK_SET)
    call MPI_File_read_ordered_begin(file, out, n, MPI_INTEGER)
    call MPI_File_read_ordered_end(file, out, status)
    call read_back('MPI_File_read_ordered_begin')
    in = 5
    call MPI_File_seek_shared(file, first, MPI_SEEK_SET)
    call MPI_File_write_shared(file, in, n, MPI_INTEGER, status)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_seek_shared(file, first, MPI_SEEK_SET)
    call MPI_File_read_shared(file, out, n, MPI_INTEGER, status)
    call read_back('MPI_File_read_shared')
    in = 6
    call MPI_File_seek_shared(file, first, MPI_SEEK_SET)
    call MPI_File_iwrite_shared(file, in, n, MPI_INTEGER, request)
    call complete()
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_seek_shared(file, first, MPI_SEEK_SET)
    call MPI_File_iread_shared(file, out, n, MPI_INTEGER, request)
    call complete()
    call read_back('MPI_File_iread_shared')
    call MPI_File_close(file)
  end subroutine

  ! A datatype that takes these elements of 1, 2, ..., 20.
  subroutine takes(type, elements, what)
    type(MPI_Datatype), intent(inout) :: type
    integer, intent(in) :: elements(:)
    character(len=*), intent(in) :: what
    integer :: from(20), to(20)
    integer(kind=c) :: bytes_of
    from = [(i, i = 1, 20)]
    to = 0
    call MPI_Type_size(type, bytes_of)
    call expect(bytes_of == 4*size(elements), what // ': size')
    call MPI_Type_commit(type)
    call MPI_Sendrecv(from, one, type, rank, 1, to, 20_c, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(to(1:size(elements)) == elements) .and. all(to(size(elements) + 1:) == 0), what)
    call MPI_Type_free(type)
  end subroutine

  subroutine datatypes()
    type(MPI_Datatype) :: type
    integer(kind=MPI_ADDRESS_KIND) :: lower, extent
    call MPI_Type_contiguous(3_c, MPI_INTEGER, type)
    call takes(type, [1, 2, 3], 'MPI_Type_contiguous')
    call MPI_Type_vector(2_c, 2_c, 4_c, MPI_INTEGER, type)
    call MPI_Type_get_extent(type, lower, extent)
    call expect(lower == 0 .and. extent == 24, 'MPI_Type_get_extent')
    call MPI_Type_get_true_extent(type, lower, extent)
    call expect(lower == 0 .and. extent == 24, 'MPI_Type_get_true_extent')
    call takes(type, [1, 2, 5, 6], 'MPI_Type_vector')
    call MPI_Type_indexed(2_c, [1_c, 2_c], [3_c, 7_c], MPI_INTEGER, type)
    call takes(type, [4, 8, 9], 'MPI_Type_indexed')
    call MPI_Type_create_indexed_block(2_c, 2_c, [3_c, 7_c], MPI_INTEGER, type)
    call takes(type, [4, 5, 8, 9], 'MPI_Type_create_indexed_block')
    call MPI_Type_create_hvector(2_c, 1_c, 8_MPI_ADDRESS_KIND, MPI_INTEGER, type)
    call takes(type, [1, 3], 'MPI_Type_create_hvector')
    call MPI_Type_create_hindexed(2_c, [1_c, 2_c], [4_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND], MPI_INTEGER, type)
    call takes(type, [2, 5, 6], 'MPI_Type_create_hindexed')
    call MPI_Type_create_hindexed_block(2_c, 2_c, [4_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND], MPI_INTEGER, type)
    call takes(type, [2, 3, 5, 6], 'MPI_Type_create_hindexed_block')
    call MPI_Type_create_struct(2_c, [1_c, 2_c], [8_MPI_ADDRESS_KIND, 0_MPI_ADDRESS_KIND], [MPI_INTEGER, MPI_INTEGER], type)
    call takes(type, [3, 1, 2], 'MPI_Type_create_struct')
    call MPI_Type_create_subarray(2, [4_c, 5_c], [2_c, 2_c], [1_c, 2_c], MPI_ORDER_FORTRAN, MPI_INTEGER, type)
    call takes(type, [10, 11, 14, 15], 'MPI_Type_create_subarray')
    call MPI_Type_create_darray(2, 1, 1, [8_c], [MPI_DISTRIBUTE_CYCLIC], [MPI_DISTRIBUTE_DFLT_DARG], [2], MPI_ORDER_FORTRAN, &
                                MPI_INTEGER, type)
    call takes(type, [2, 4, 6, 8], 'MPI_Type_create_darray')
    call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, type)
    call MPI_Type_get_extent(type, lower, extent)
    call expect(extent == 16, 'MPI_Type_create_resized')
    call takes(type, [1], 'a datatype with an extent')
    call contents()
  end subroutine

  subroutine packed()
    character :: room(100)
    integer :: numbers(3)
    integer(kind=c) :: position, length
    integer(kind=MPI_ADDRESS_KIND) :: at, needed
    call MPI_Pack_size(n, MPI_INTEGER, MPI_COMM_WORLD, length)
    call expect(length >= 12, 'MPI_Pack_size')
    position = 0
    call MPI_Pack([1, 2, 3], n, MPI_INTEGER, room, 100_c, position, MPI_COMM_WORLD)
    length = position
    position = 0
    call MPI_Unpack(room, length, position, numbers, n, MPI_INTEGER, MPI_COMM_WORLD)
    call expect(all(numbers == [1, 2, 3]) .and. position == length, 'MPI_Unpack')
    call MPI_Pack_external_size('external32', n, MPI_INTEGER, needed)
    at = 0
    call MPI_Pack_external('external32', [4, 5, 6], n, MPI_INTEGER, room, needed, at)
    at = 0
    call MPI_Unpack_external('external32', room, needed, at, numbers, n, MPI_INTEGER)
    call expect(all(numbers == [4, 5, 6]) .and. at == 12, 'MPI_Unpack_external')
  end subroutine

  subroutine statuses()
    integer(kind=c) :: got
    call MPI_Status_set_elements(status, MPI_INTEGER, 7_c)
    call MPI_Get_elements(status, MPI_INTEGER, got)
    call expect(got == 7, 'MPI_Status_set_elements')
  end subroutine
