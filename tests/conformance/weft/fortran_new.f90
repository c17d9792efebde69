! Fortran's persistent collectives, and what libraries of MPI 3.1 have not or give up with: MPI_Neighbor_alltoallw,
! functions of MPI 4 and those that MPI 3.0 has removed.
!
! Run with: -n 1
! Run with: -n 5
! Run with: -n 3 --ranks-per-process 1
module checks
  use mpi
  implicit none
  integer, parameter :: n = 3, gap = 5
  integer :: rank, ranks, error, request, round, before, i, r, root, wrong = 0
  integer, allocatable, target :: in(:), out(:)
  integer, allocatable :: counts(:), places(:), bytes(:), types(:)
  integer, pointer :: rows(:, :)  ! What each rank's part of `out` has.
  integer :: one_place(1) = [2]
  integer, save :: handled = 0, deletions = 0
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

  subroutine handle(comm, code)
    integer :: comm, code, class, error
    call MPI_Error_class(code, class, error)
    if (class == MPI_ERR_RANK) handled = handled + 1
  end subroutine

  ! Old attributes are integers of the default kind.
  subroutine copy_next(comm, key, state, in, out, flag, error)
    integer :: comm, key, state, in, out, error
    logical :: flag
    out = in + state
    flag = .true.
    error = MPI_SUCCESS
  end subroutine

  subroutine deleted(comm, key, value, state, error)
    integer :: comm, key, value, state, error
    deletions = deletions + 1
    error = MPI_SUCCESS
  end subroutine

  subroutine finish()
    integer :: all_wrong
    call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0 .and. all_wrong == 0) print '(a)', 'right'
    call MPI_Finalize(error)
    if (all_wrong /= 0) stop 1
  end subroutine
end module

program fortran_new
  use checks
  implicit none
  call MPI_Init(error)
  call prepare()
  call in_one_group()
  call between_neighbours()
  call removed()
  call old_attributes()
  call of_mpi_4()
  call exchanges()
  call buffers()
  call later()
  call finish()
contains
  subroutine in_one_group()
    call MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
    call MPI_Start(request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call MPI_Request_free(request, error)
    call MPI_Bcast_init(out, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      if (rank == root) out(1:n) = in(1:n)
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(1:n) == [(value(root, i), i = 1, n)]), 'Bcast_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Gather_init(in, n, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(rank /= root .or. all(out(1:n*ranks) == [((value(r, i), i = 1, n), r = 0, ranks - 1)]), 'Gather_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Gatherv_init(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD, &
        MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(rank /= root .or. all(rows(1:n, :) == reshape([((value(r, i), i = 1, n), r = 0, ranks - 1)], [n, &
          ranks])), 'Gatherv_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Scatter_init(in, n, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(1:n) == [(value(root, n*rank + i), i = 1, n)]), 'Scatter_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Scatterv_init(in, counts, places, MPI_INTEGER, out, n, MPI_INTEGER, root, MPI_COMM_WORLD, &
        MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(1:n) == [(value(root, gap*rank + i), i = 1, n)]), 'Scatterv_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Allgather_init(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(1:n*ranks) == [((value(r, i), i = 1, n), r = 0, ranks - 1)]), 'Allgather_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Allgatherv_init(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
        request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(rows(1:n, :) == reshape([((value(r, i), i = 1, n), r = 0, ranks - 1)], [n, ranks])) .and. &
          all(rows(n+1:, :) == -1), 'Allgatherv_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Alltoall_init(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(1:n*ranks) == [((value(r, n*rank + i), i = 1, n), r = 0, ranks - 1)]), 'Alltoall_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Alltoallv_init(in, counts, places, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD, &
        MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(rows(1:n, :) == reshape([((value(r, gap*rank + i), i = 1, n), r = 0, ranks - 1)], [n, &
          ranks])), 'Alltoallv_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Alltoallw_init(in, counts, bytes, types, out, counts, bytes, types, MPI_COMM_WORLD, MPI_INFO_NULL, &
        request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(rows(1:n, :) == reshape([((value(r, gap*rank + i), i = 1, n), r = 0, ranks - 1)], [n, &
          ranks])), 'Alltoallw_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Reduce_init(in, out, n, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(rank /= root .or. all(out(1:n) == [(total(i, ranks), i = 1, n)]), 'Reduce_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Allreduce_init(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(1:n) == [(total(i, ranks), i = 1, n)]), 'Allreduce_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Reduce_scatter_init(in, out, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(1:n) == [(total(n*rank + i, ranks), i = 1, n)]), 'Reduce_scatter_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Reduce_scatter_block_init(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(1:n) == [(total(n*rank + i, ranks), i = 1, n)]), 'Reduce_scatter_block_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Scan_init(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(1:n) == [(total(i, rank + 1), i = 1, n)]), 'Scan_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Exscan_init(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(rank == 0 .or. all(out(1:n) == [(total(i, rank), i = 1, n)]), 'Exscan_init')
    end do
    call MPI_Request_free(request, error)
  end subroutine

  subroutine between_neighbours()
    integer :: ring
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [before], MPI_UNWEIGHTED, 1, [modulo(rank + 1, ranks)], &
        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring, error)
    call MPI_Neighbor_allgather_init(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(1:n) == [(value(before, i), i = 1, n)]), 'Neighbor_allgather_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Neighbor_allgatherv_init(in, n, MPI_INTEGER, out, counts, one_place, MPI_INTEGER, ring, MPI_INFO_NULL, &
        request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(3:2+n) == [(value(before, i), i = 1, n)]) .and. out(2) == -1, 'Neighbor_allgatherv_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Neighbor_alltoall_init(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring, MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(1:n) == [(value(before, i), i = 1, n)]), 'Neighbor_alltoall_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Neighbor_alltoallv_init(in, counts, one_place, MPI_INTEGER, out, counts, one_place, MPI_INTEGER, ring, &
        MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(3:2+n) == [(value(before, 2 + i), i = 1, n)]) .and. out(2) == -1, 'Neighbor_alltoallv_init')
    end do
    call MPI_Request_free(request, error)
    call MPI_Neighbor_alltoallw_init(in, counts, one_bytes, types, out, counts, one_bytes, types, ring, &
        MPI_INFO_NULL, request, error)
    do round = 1, 3
      call fill()
      call MPI_Start(request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call expect(all(out(3:2+n) == [(value(before, 2 + i), i = 1, n)]) .and. out(2) == -1, 'Neighbor_alltoallw_init')
    end do
    call MPI_Request_free(request, error)
    round = 1
    call fill()
    call MPI_Neighbor_alltoallw(in, counts, one_bytes, types, out, counts, one_bytes, types, ring, error)
    call expect(all(out(3:2+n) == [(value(before, 2 + i), i = 1, n)]) .and. out(2) == -1, 'Neighbor_alltoallw')
    call fill()
    call MPI_Ineighbor_alltoallw(in, counts, one_bytes, types, out, counts, one_bytes, types, ring, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(all(out(3:2+n) == [(value(before, 2 + i), i = 1, n)]) .and. out(2) == -1, 'Ineighbor_alltoallw')
    call MPI_Comm_free(ring, error)
  end subroutine

  ! Addresses are integers of the default kind: cut off, and their differences right all the same.
  subroutine removed()
    integer :: numbers(12), got(3), type, other, one, two, extent, lower, upper, handler, same
    numbers = [(i, i = 0, 11)]
    call MPI_Address(numbers(1), one, error)
    call MPI_Address(numbers(4), two, error)
    call expect(two - one == 12, 'difference of addresses')
    call MPI_Type_struct(2, [1, 2], [two - one, 0], [MPI_INTEGER, MPI_INTEGER], type, error)
    call MPI_Type_commit(type, error)
    call MPI_Sendrecv(numbers, 1, type, rank, 0, got, 3, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call expect(all(got == [3, 0, 1]), 'struct')
    call MPI_Type_extent(type, extent, error)
    call expect(extent == 16, 'extent')
    call MPI_Type_struct(3, [1, 1, 1], [-8, 0, 20], [MPI_LB, type, MPI_UB], other, error)
    call MPI_Type_lb(other, lower, error)
    call MPI_Type_ub(other, upper, error)
    call expect(lower == -8 .and. upper == 20, 'bounds')
    call MPI_Type_free(other, error)
    call MPI_Type_free(type, error)
    call MPI_Type_hvector(3, 1, 16, MPI_INTEGER, type, error)
    call MPI_Type_commit(type, error)
    call MPI_Sendrecv(numbers, 1, type, rank, 0, got, 3, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call expect(all(got == [0, 4, 8]), 'hvector')
    call MPI_Type_free(type, error)
    call MPI_Type_hindexed(2, [1, 2], [40, 4], MPI_INTEGER, type, error)
    call MPI_Type_commit(type, error)
    call MPI_Sendrecv(numbers, 1, type, rank, 0, got, 3, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call expect(all(got == [10, 1, 2]), 'hindexed')
    call MPI_Type_free(type, error)
    call MPI_Errhandler_create(handle, handler, error)
    call MPI_Errhandler_set(MPI_COMM_WORLD, handler, error)
    call MPI_Errhandler_get(MPI_COMM_WORLD, same, error)
    call expect(same == handler, 'the same handler')
    call MPI_Send(one, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD, error)
    call expect(handled == 1, 'handled')
    call MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
    call MPI_Errhandler_free(same, error)
    call MPI_Errhandler_free(handler, error)
  end subroutine

  subroutine old_attributes()
    integer :: key, copy, value
    logical :: flag
    call MPI_Keyval_create(copy_next, deleted, key, 5, error)
    call MPI_Attr_put(MPI_COMM_WORLD, key, 37, error)
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, error)
    call MPI_Attr_get(copy, key, value, flag, error)
    call expect(flag .and. value == 42, 'old attribute')
    call MPI_Attr_delete(MPI_COMM_WORLD, key, error)
    call MPI_Comm_free(copy, error)
    call expect(deletions == 2, 'old attributes deleted')
    call MPI_Keyval_free(key, error)
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, error)
    call expect(flag .and. value >= 32767, 'MPI_TAG_UB')
  end subroutine

  subroutine of_mpi_4()
    integer :: major, minor, info, length, copy, requests(2), got(2), index, indices(2), count, class, code
    integer :: statuses(MPI_STATUS_SIZE, 2)
    character(len=16) :: value
    logical :: flag
    call MPI_Abi_get_version(major, minor, error)
    call expect(major == 1 .and. minor == 0, 'ABI')
    call MPI_Abi_get_info(info, error)
    length = 16
    call MPI_Info_get_string(info, 'mpi_count_size', length, value, flag, error)
    call expect(flag .and. value == '8' .and. length == 1, 'size of counts')
    call MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, copy, requests(1), error)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
    call MPI_Comm_free(copy, error)
    call MPI_Info_free(info, error)
    call MPI_Info_create_env(info, error)
    call MPI_Info_get(info, 'maxprocs', 16, value, flag, error)
    read (value, *) count
    call expect(flag .and. count == ranks, 'environment')
    call MPI_Info_free(info, error)
    call MPI_Get_hw_resource_info(info, error)
    call MPI_Info_free(info, error)
    call MPI_Type_get_value_index(MPI_INTEGER, MPI_INTEGER, copy, error)
    call expect(copy == MPI_2INTEGER .or. copy == MPI_2INT, 'pair')
    call MPI_Buffer_flush(error)

    got = -1
    call MPI_Irecv(got(1), 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, requests(1), error)
    call MPI_Irecv(got(2), 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, requests(2), error)
    call MPI_Request_get_status_any(2, requests, index, flag, statuses(:, 1), error)
    call expect(.not. flag, 'none yet')
    call MPI_Send(5, 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, error)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status_any(2, requests, index, flag, statuses(:, 1), error)
    end do
    call expect(index == 2, 'index from 1 on')
    call MPI_Request_get_status_some(2, requests, count, indices, statuses, error)
    call expect(count == 1 .and. indices(1) == 2, 'indices from 1 on')
    call MPI_Request_get_status_all(2, requests, flag, statuses, error)
    call expect(.not. flag, 'not all')
    call MPI_Send(6, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call expect(all(got == [6, 5]), 'both')
    call MPI_Recv(got, 0, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, statuses(:, 1), error)
    call MPI_Status_set_source(statuses(:, 1), 4, error)
    call MPI_Status_set_tag(statuses(:, 1), 5, error)
    call MPI_Status_set_error(statuses(:, 1), MPI_ERR_OTHER, error)
    call MPI_Status_get_source(statuses(:, 1), got(1), error)
    call MPI_Status_get_tag(statuses(:, 1), got(2), error)
    call MPI_Status_get_error(statuses(:, 1), index, error)
    call expect(all(got == [4, 5]) .and. index == MPI_ERR_OTHER .and. statuses(MPI_SOURCE, 1) == 4, 'fields of a status')

    call MPI_Add_error_class(class, error)
    call MPI_Add_error_code(class, code, error)
    call MPI_Add_error_string(code, 'text', error)
    call MPI_Remove_error_string(code, error)
    call MPI_Remove_error_code(code, error)
    call MPI_Remove_error_class(class, error)
    call expect(error == MPI_SUCCESS, 'error class removed')
  end subroutine

  subroutine exchanges()
    integer :: right, given, got, status(MPI_STATUS_SIZE)
    right = modulo(rank + 1, ranks)
    given = 100 + rank
    call MPI_Isendrecv(given, 1, MPI_INTEGER, right, 4, got, 1, MPI_INTEGER, before, 4, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, status, error)
    call expect(got == 100 + before .and. status(MPI_SOURCE) == before, 'exchange')
    call MPI_Isendrecv_replace(given, 1, MPI_INTEGER, right, 5, before, 5, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(given == 100 + before, 'exchange in place')
  end subroutine

  subroutine buffers()
    character, save :: memory(1000)
    integer :: comm, bytes_attached, got
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    call MPI_Comm_attach_buffer(comm, memory, 1000, error)
    call MPI_Bsend(rank, 1, MPI_INTEGER, rank, 1, comm, error)
    call MPI_Recv(got, 1, MPI_INTEGER, rank, 1, comm, MPI_STATUS_IGNORE, error)
    call expect(got == rank, 'buffered')
    call MPI_Comm_flush_buffer(comm, error)
    call MPI_Comm_iflush_buffer(comm, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call MPI_Buffer_iflush(request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call MPI_Comm_detach_buffer(comm, memory, bytes_attached, error)
    call expect(bytes_attached == 1000, 'detached')
    call MPI_Comm_free(comm, error)
  end subroutine

  ! Processes that start later: errors, ports and names. Programs in C start and meet real ones.
  subroutine later()
    integer :: class, other
    character(MPI_MAX_PORT_NAME) :: port, found
    character(20) :: name
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, error)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
    call MPI_Comm_spawn('/no/such/program', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, other, MPI_ERRCODES_IGNORE, error)
    call MPI_Error_class(error, class, i)
    call expect(class == MPI_ERR_SPAWN, 'new processes')
    call MPI_Comm_spawn_multiple(2, ['/no/one', '/no/two'], MPI_ARGVS_NULL, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, &
        MPI_COMM_WORLD, other, MPI_ERRCODES_IGNORE, error)
    call MPI_Error_class(error, class, i)
    call expect(class == MPI_ERR_SPAWN, 'new processes of two programs')
    call MPI_Open_port(MPI_INFO_NULL, port, error)
    write (name, '(a, i0, a, i0)') 'fortran ', rank, ' ', getpid()
    call MPI_Publish_name(name, MPI_INFO_NULL, port, error)
    call expect(error == MPI_SUCCESS, 'MPI_Publish_name')
    call MPI_Lookup_name(name, MPI_INFO_NULL, found, error)
    call expect(error == MPI_SUCCESS .and. found == port, 'MPI_Lookup_name')
    call MPI_Unpublish_name(name, MPI_INFO_NULL, port, error)
    call expect(error == MPI_SUCCESS, 'MPI_Unpublish_name')
    call MPI_Lookup_name(name, MPI_INFO_NULL, found, error)
    call MPI_Error_class(error, class, i)
    call expect(class == MPI_ERR_NAME, 'a name that was unpublished')
    call MPI_Comm_accept('no port', MPI_INFO_NULL, 0, MPI_COMM_SELF, other, error)
    call MPI_Error_class(error, class, i)
    call expect(class == MPI_ERR_PORT, 'MPI_Comm_accept')
    call MPI_Close_port(port, error)
    call expect(error == MPI_SUCCESS, 'MPI_Close_port')
    call MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, other, error)
    call MPI_Error_class(error, class, i)
    call expect(class == MPI_ERR_PORT, 'MPI_Comm_connect')
    call MPI_Comm_join(-1, other, error)
    call MPI_Error_class(error, class, i)
    call expect(class == MPI_ERR_ARG, 'MPI_Comm_join')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, error)
  end subroutine
end program
