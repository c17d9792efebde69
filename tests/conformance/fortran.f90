! MPI in Fortran by `use mpi`: messages, statuses, MPI_IN_PLACE, MPI_BOTTOM, strings, logicals, functions of
! the program, attributes, indices from 1 on.
module checks
  use mpi
  implicit none
  integer :: rank, ranks, error, wrong = 0
  integer, save :: copies = 0, deletions = 0, handled = 0
contains
  subroutine expect(is_so, what)
    logical, intent(in) :: is_so
    character(len=*), intent(in) :: what
    if (is_so) return
    wrong = wrong + 1
    print '(a, i0, a, i0, 2a)', 'rank ', rank, ' of ', ranks, ': wrong: ', what
  end subroutine

  ! Keeps the left operand's sign: does not commute.
  subroutine first_sign(in, inout, count, type)
    integer :: count, type, i
    integer :: in(count), inout(count)
    if (type /= MPI_INTEGER) wrong = wrong + 1
    do i = 1, count
      inout(i) = sign(abs(in(i)) + abs(inout(i)), in(i))
    end do
  end subroutine

  subroutine copy_next(comm, key, state, in, out, flag, error)
    integer :: comm, key, error
    integer(kind=MPI_ADDRESS_KIND) :: state, in, out
    logical :: flag
    copies = copies + 1
    if (state /= 42) wrong = wrong + 1
    out = in + 1
    flag = .true.
    error = MPI_SUCCESS
  end subroutine

  subroutine deleted(comm, key, value, state, error)
    integer :: comm, key, error
    integer(kind=MPI_ADDRESS_KIND) :: value, state
    deletions = deletions + 1
    error = MPI_SUCCESS
  end subroutine

  subroutine handle(comm, code)
    integer :: comm, code, class, error
    call MPI_Error_class(code, class, error)
    if (class == MPI_ERR_RANK) handled = handled + 1
  end subroutine
end module

program fortran
  use checks
  implicit none
  integer :: all_wrong

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call messages()
  call lists_of_requests()
  call collectives()
  call datatypes()
  call communicators()
  call attributes_and_handlers()
  call parametrized()
  call strings()
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0) then
    if (all_wrong == 0) print '(a)', 'right'
    if (all_wrong /= 0) print '(a, i0)', 'wrong: ', all_wrong
  end if
  call MPI_Finalize(error)
  if (all_wrong /= 0) stop 1

contains

  subroutine messages()
    integer :: status(MPI_STATUS_SIZE), right, left, count, i
    double precision :: out(100), in(100)
    logical :: flag
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)
    out = [(1000*rank + i, i=1, 100)]
    call MPI_Sendrecv(out, 90, MPI_DOUBLE_PRECISION, right, 3, in, 100, MPI_DOUBLE_PRECISION, left, MPI_ANY_TAG, &
                      MPI_COMM_WORLD, status, error)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, error)
    call expect(count == 90 .and. status(MPI_SOURCE) == left .and. status(MPI_TAG) == 3, 'status')
    call expect(nint(in(90)) == 1000*left + 90, 'data')
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 4, i, 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call expect(i == left, 'a scalar')
    call MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, error)
    call expect(.not. flag, 'a probe of nothing')
    call MPI_Iprobe(MPI_PROC_NULL, 99, MPI_COMM_WORLD, flag, status, error)
    call expect(flag .and. status(MPI_SOURCE) == MPI_PROC_NULL, 'a probe of nobody')
  end subroutine

  subroutine lists_of_requests()
    integer :: requests(4), statuses(MPI_STATUS_SIZE, 4), in(4), out(4), index, i, indices(4), count, ended
    logical :: flag, seen(4)
    do i = 1, 4
      call MPI_Irecv(in(i), 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), i, MPI_COMM_WORLD, requests(i), error)
    end do
    do i = 4, 1, -1
      out(i) = 10*i + rank
      call MPI_Send(out(i), 1, MPI_INTEGER, mod(rank + 1, ranks), i, MPI_COMM_WORLD, error)
    end do
    seen = .false.
    call MPI_Waitany(4, requests, index, statuses(:, 1), error)
    call expect(index >= 1 .and. index <= 4, 'index from 1 on')
    seen(index) = .true.
    call expect(requests(index) == MPI_REQUEST_NULL .and. statuses(MPI_TAG, 1) == index, 'the one that ended')
    ended = 1
    do while (ended < 4)
      call MPI_Waitsome(4, requests, count, indices, statuses, error)
      do i = 1, count
        call expect(.not. seen(indices(i)) .and. statuses(MPI_TAG, i) == indices(i), 'some')
        seen(indices(i)) = .true.
      end do
      ended = ended + count
    end do
    call expect(all(seen), 'all ended')
    call MPI_Waitany(4, requests, index, MPI_STATUS_IGNORE, error)
    call expect(index == MPI_UNDEFINED .or. index == MPI_UNDEFINED + 1, 'none left') ! The latter: MPICH 4.0.2.
    call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE, error)
    call expect(flag, 'nothing to test')
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, error)
    do i = 1, 4
      call expect(in(i) == 10*i + mod(rank + ranks - 1, ranks), 'what came')
    end do
  end subroutine

  subroutine collectives()
    integer :: value(3), total(3), op, i, request
    logical :: yes, both
    value = [rank, 2*rank, 1]
    call MPI_Allreduce(MPI_IN_PLACE, value, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(value(1) == ranks*(ranks - 1)/2 .and. value(3) == ranks, 'in place')
    yes = rank == 0
    call MPI_Allreduce(yes, both, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
    call expect(both .eqv. (ranks == 1), 'logical and')
    call MPI_Allreduce(yes, both, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, error)
    call expect(both, 'logical or')
    value = [merge(-1, 1, rank == 0), rank + 1, -(rank + 1)]
    call MPI_Op_create(first_sign, .false., op, error)
    call MPI_Allreduce(value, total, 3, MPI_INTEGER, op, MPI_COMM_WORLD, error)
    call expect(total(1) == -ranks .and. total(2) == ranks*(ranks + 1)/2 .and. total(3) == -total(2), 'own operation')
    call MPI_Op_free(op, error)
    call expect(op == MPI_OP_NULL, 'freed operation')
    total = 0
    call MPI_Op_create(first_sign, .false., op, error)
    call MPI_Iallreduce(value, total, 3, MPI_INTEGER, op, MPI_COMM_WORLD, request, error)
    call MPI_Op_free(op, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(total(1) == -ranks .and. total(2) == ranks*(ranks + 1)/2, 'operation freed before its collective ends')
    do i = 1, 200
      call MPI_Op_create(first_sign, .true., op, error)
      call expect(error == MPI_SUCCESS, 'many operations')
      call MPI_Op_free(op, error)
    end do
    i = merge(5, 0, rank == 0)
    call MPI_Ibcast(i, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(i == 5, 'broadcast')
  end subroutine

  subroutine datatypes()
    integer :: pair, absolute, lengths(2), types(2), position, size, matrix(3, 4), column(4), row, i, j
    integer(kind=MPI_ADDRESS_KIND) :: places(2), lower, extent
    ! A compiler cannot see that MPI_Bcast writes them by their addresses.
    integer, volatile :: a
    double precision, volatile :: b
    character :: room(64)
    a = rank + 1
    b = 0.5d0
    call MPI_Get_address(a, places(1), error)
    call MPI_Get_address(b, places(2), error)
    lengths = 1
    types = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
    call MPI_Type_create_struct(2, lengths, places, types, absolute, error)
    call MPI_Type_commit(absolute, error)
    call MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD, error)
    call expect(a == 1 .and. b == 0.5d0, 'absolute addresses')
    call MPI_Type_free(absolute, error)
    call expect(absolute == MPI_DATATYPE_NULL, 'freed type')
    matrix = reshape([(i, i=1, 12)], [3, 4])
    call MPI_Type_vector(4, 1, 3, MPI_INTEGER, row, error)
    call MPI_Type_commit(row, error)
    call MPI_Sendrecv(matrix(2, 1), 1, row, rank, 0, column, 4, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call expect(all(column == [2, 5, 8, 11]), 'a row')
    call MPI_Type_get_extent(row, lower, extent, error)
    call MPI_Type_size(row, size, error)
    call expect(lower == 0 .and. extent == 40 .and. size == 16, 'extent')
    call MPI_Type_free(row, error)
    position = 0
    call MPI_Pack(a, 1, MPI_INTEGER, room, 64, position, MPI_COMM_WORLD, error)
    call MPI_Pack(b, 1, MPI_DOUBLE_PRECISION, room, 64, position, MPI_COMM_WORLD, error)
    position = 0
    j = 0
    call MPI_Unpack(room, 64, position, j, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call expect(j == a, 'unpacked')
    call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
    call MPI_Type_free(pair, error)
  end subroutine

  subroutine communicators()
    integer :: part, grid, dims(2), coords(2), group, world_group, members, order(1), from, to, result
    logical :: periods(2), got_periods(2)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, part, error)
    call MPI_Comm_size(part, members, error)
    call expect(members == (ranks + 1 - mod(rank, 2))/2, 'split')
    call MPI_Comm_free(part, error)
    call expect(part == MPI_COMM_NULL, 'freed communicator')
    dims = 0
    periods = [.true., .false.]
    call MPI_Dims_create(ranks, 2, dims, error)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., grid, error)
    got_periods = .false.
    call MPI_Cart_get(grid, 2, dims, got_periods, coords, error)
    call expect(got_periods(1) .and. .not. got_periods(2), 'periods')
    call MPI_Cart_shift(grid, 1, 1, from, to, error)
    call expect((to == MPI_PROC_NULL) .eqv. (coords(2) == dims(2) - 1), 'the edge')
    call MPI_Comm_free(grid, error)
    call MPI_Comm_group(MPI_COMM_WORLD, world_group, error)
    order(1) = ranks - 1
    call MPI_Group_incl(world_group, 1, order, group, error)
    call MPI_Group_compare(group, world_group, result, error)
    call expect((result == MPI_UNEQUAL) .eqv. (ranks > 1), 'groups')
    call MPI_Group_free(group, error)
    call MPI_Group_free(world_group, error)
  end subroutine

  subroutine attributes_and_handlers()
    integer :: key, comm, copy, handler
    integer(kind=MPI_ADDRESS_KIND) :: state, value
    logical :: flag
    state = 42
    call MPI_Comm_create_keyval(copy_next, deleted, key, state, error)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    call MPI_Comm_set_attr(comm, key, int(100, MPI_ADDRESS_KIND), error)
    call MPI_Comm_dup(comm, copy, error)
    call MPI_Comm_get_attr(copy, key, value, flag, error)
    call expect(flag .and. value == 101 .and. copies == 1, 'copied attribute')
    call MPI_Comm_free(copy, error)
    call MPI_Comm_delete_attr(comm, key, error)
    call expect(deletions == 2, 'deleted attributes')
    call MPI_Comm_free_keyval(key, error)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, error)
    call expect(flag .and. value >= 32767, 'MPI_TAG_UB')
    call MPI_Comm_create_errhandler(handle, handler, error)
    call MPI_Comm_set_errhandler(comm, handler, error)
    call MPI_Errhandler_free(handler, error)
    call MPI_Send(rank, 1, MPI_INTEGER, ranks + 5, 0, comm, error)
    call expect(handled == 1 .and. error /= MPI_SUCCESS, 'own error handler')
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, error)
    call MPI_Send(rank, 1, MPI_INTEGER, 0, -7, comm, error)
    call expect(error /= MPI_SUCCESS, 'error returned')
    call MPI_Comm_free(comm, error)
  end subroutine

  subroutine parametrized()
    integer, parameter :: long = selected_int_kind(18), wide = selected_real_kind(15, 307)
    integer :: type, bytes, integers, addresses, types, combiner
    integer(kind=long) :: one, all
    real(kind=wide) :: part, total
    call MPI_Type_create_f90_integer(18, type, error)
    one = 2_long**40
    call MPI_Allreduce(one, all, 1, type, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(all == ranks * one, 'parametrized integer')
    call MPI_Type_create_f90_real(15, 307, type, error)
    part = 0.5_wide
    call MPI_Allreduce(part, total, 1, type, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(total == 0.5_wide * ranks, 'parametrized real')
    call MPI_Type_get_envelope(type, integers, addresses, types, combiner, error)
    call expect(integers == 2 .and. combiner == MPI_COMBINER_F90_REAL, 'envelope of a parametrized datatype')
    call MPI_Type_create_f90_complex(15, MPI_UNDEFINED, type, error)
    call MPI_Type_size(type, bytes, error)
    call expect(bytes == 16, 'parametrized complex')
  end subroutine

  subroutine strings()
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=MPI_MAX_ERROR_STRING) :: text
    character(len=10) :: value
    integer :: length, info, keys, comm
    logical :: flag
    double precision :: before
    before = MPI_Wtime()
    call MPI_Comm_dup(MPI_COMM_SELF, comm, error)
    call MPI_Comm_set_name(comm, 'of Fortran   ', error)
    call MPI_Comm_get_name(comm, name, length, error)
    call expect(name == 'of Fortran' .and. length == 10, 'name')
    call MPI_Comm_free(comm, error)
    call MPI_Error_string(MPI_ERR_RANK, text, length, error)
    call expect(length > 0 .and. len_trim(text) == length, 'error string')
    call MPI_Info_create(info, error)
    call MPI_Info_set(info, 'colour', 'green', error)
    call MPI_Info_get(info, 'colour ', 10, value, flag, error)
    call expect(flag .and. value == 'green', 'info')
    call MPI_Info_get_nkeys(info, keys, error)
    call expect(keys == 1, 'keys')
    call MPI_Info_free(info, error)
    call expect(MPI_Wtime() >= before, 'clock')
  end subroutine
end program
