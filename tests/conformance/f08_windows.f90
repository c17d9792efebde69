! Fortran 2008: windows of each kind, one-sided operations, epochs, attributes and error handlers of windows.
! Not with: openmpi (4.1), which gives functions of attributes other values, and no name for a window.
include 'f08_checks.h'

module callbacks
  use checks
  implicit none
  integer, save :: copies = 0, deletions = 0, handled = 0
contains
  subroutine copy_win(oldwin, win_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Win) :: oldwin
    integer :: win_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    if (oldwin == MPI_WIN_NULL .or. win_keyval == MPI_KEYVAL_INVALID .or. extra_state == 0) error stop 'copy_win'
    attribute_val_out = attribute_val_in
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_win(win, win_keyval, attribute_val, extra_state, ierror)
    type(MPI_Win) :: win
    integer :: win_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletions = deletions + 1
    if (win == MPI_WIN_NULL .or. win_keyval == MPI_KEYVAL_INVALID .or. attribute_val /= 6 .or. extra_state == 0) then
      error stop 'delete_win'
    end if
    ierror = MPI_SUCCESS
  end subroutine
  subroutine on_error(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    handled = handled + 1
    if (win == MPI_WIN_NULL .or. error_code == MPI_SUCCESS) error stop 'on_error'
  end subroutine
end module

program f08_windows
  use callbacks
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: i
  integer, parameter :: n = 16
  type(MPI_Win) :: win
  call start()
  call made()
  call allocated()
  call shared()
  call dynamic()
  call groups()
  call objects()
  call finish()
contains
  subroutine made()
    integer, asynchronous :: memory(n), result(n), line(n)
    integer(kind=MPI_ADDRESS_KIND) :: at
    memory = 0
    line = [(i + 100*rank, i = 1, n)]
    call MPI_Win_create(memory, 4_MPI_ADDRESS_KIND*n, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Put(line, n, MPI_INTEGER, right, 0_MPI_ADDRESS_KIND, n, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call expect(all(memory == [(i + 100*left, i = 1, n)]), 'MPI_Put')
    result = -1
    at = 2
    call MPI_Get(result, 3, MPI_INTEGER, right, at, 3, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call expect(all(result(1:3) == [3, 4, 5] + 100*rank), 'MPI_Get')
    memory = 0
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(line, 2, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 2, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    if (rank == 0) call expect(all(memory(1:2) == ranks*[1, 2] + 50*ranks*(ranks - 1)), 'MPI_Accumulate')
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
    call expect(win == MPI_WIN_NULL, 'a freed window')
  end subroutine

  subroutine allocated()
    type(c_ptr) :: base
    integer, pointer, asynchronous :: memory(:)
    integer, asynchronous :: old, one(3), results(3)
    type(MPI_Request) :: requests(4)
    integer :: compare
    call MPI_Win_allocate(4_MPI_ADDRESS_KIND*n, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, memory, [n])
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win)
    memory = 0
    memory(2) = 5
    call MPI_Win_unlock(rank, win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock_all(0, win)
    one = 1
    call MPI_Fetch_and_op(one(1), old, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, MPI_SUM, win)
    call MPI_Win_flush(0, win)
    call expect(old >= 0 .and. old < ranks, 'MPI_Fetch_and_op')
    compare = 5
    call MPI_Compare_and_swap(rank, compare, old, MPI_INTEGER, right, 1_MPI_ADDRESS_KIND, win)
    call MPI_Win_flush(right, win)
    call expect(old == 5, 'MPI_Compare_and_swap')
    call MPI_Get_accumulate(one, 3, MPI_INTEGER, results, 3, MPI_INTEGER, right, 3_MPI_ADDRESS_KIND, 3, MPI_INTEGER, MPI_REPLACE, &
                            win)
    call MPI_Win_flush_local(right, win)
    call MPI_Win_flush_all(win)
    call expect(all(results == 0), 'MPI_Get_accumulate')
    one = rank
    call MPI_Rput(one, 3, MPI_INTEGER, right, 7_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win, requests(1))
    call MPI_Raccumulate(one, 1, MPI_INTEGER, right, 10_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, win, requests(2))
    call MPI_Rget(results, 1, MPI_INTEGER, right, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, requests(3))
    call MPI_Rget_accumulate(one, 1, MPI_INTEGER, results(2), 1, MPI_INTEGER, right, 11_MPI_ADDRESS_KIND, 1, MPI_INTEGER, &
                             MPI_NO_OP, win, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    call MPI_Win_flush_local_all(win)
    call MPI_Win_sync(win)
    call MPI_Win_unlock_all(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call expect(results(1) == rank, 'MPI_Rget')
    call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win)
    call expect(memory(2) == left .and. all(memory(4:6) == 1) .and. all(memory(8:11) == left), 'what has come')
    if (rank == 0) call expect(memory(1) == ranks, 'a sum of ones')
    call MPI_Win_unlock(rank, win)
    call MPI_Win_free(win)
  end subroutine

  subroutine shared()
    type(MPI_Comm) :: node
    type(c_ptr) :: base, theirs
    integer, pointer :: memory(:), other(:)
    integer :: own, size, unit
    integer(kind=MPI_ADDRESS_KIND) :: length
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, node)
    call MPI_Comm_rank(node, own)
    call MPI_Comm_size(node, size)
    call MPI_Win_allocate_shared(4_MPI_ADDRESS_KIND*n, 4, MPI_INFO_NULL, node, base, win)
    call c_f_pointer(base, memory, [n])
    call MPI_Win_fence(0, win)
    memory = own
    call MPI_Win_fence(0, win)
    call MPI_Win_shared_query(win, modulo(own + 1, size), length, unit, theirs)
    call c_f_pointer(theirs, other, [n])
    call expect(length == 4*n .and. unit == 4 .and. all(other == modulo(own + 1, size)), 'MPI_Win_shared_query')
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
    call MPI_Comm_free(node)
  end subroutine

  subroutine dynamic()
    integer, target, asynchronous :: memory(n)
    integer(kind=MPI_ADDRESS_KIND) :: own, theirs
    memory = -1
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_attach(win, memory, 4_MPI_ADDRESS_KIND*n)
    call MPI_Get_address(memory, own)
    call MPI_Sendrecv(own, 1, MPI_AINT, left, 1, theirs, 1, MPI_AINT, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Win_fence(0, win)
    call MPI_Put(rank, 1, MPI_INTEGER, right, MPI_Aint_add(theirs, 8_MPI_ADDRESS_KIND), 1, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call expect(memory(3) == left .and. memory(2) == -1, 'a dynamic window')
    call MPI_Win_detach(win, memory)
    call MPI_Win_free(win)
  end subroutine

  subroutine groups()
    type(MPI_Group) :: world, to, from
    integer, asynchronous :: memory(n)
    logical :: flag
    memory = -1
    call MPI_Win_create(memory, 4_MPI_ADDRESS_KIND*n, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_get_group(win, world)
    call MPI_Group_incl(world, 1, [right], to)
    call MPI_Group_incl(world, 1, [left], from)
    call MPI_Win_post(from, 0, win)
    call MPI_Win_start(to, 0, win)
    call MPI_Put(rank, 1, MPI_INTEGER, right, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Win_complete(win)
    flag = .false.
    do while (.not. flag)
      call MPI_Win_test(win, flag)
    end do
    call expect(memory(2) == left, 'MPI_Win_post, MPI_Win_start')
    call MPI_Win_post(from, 0, win)
    call MPI_Win_start(to, 0, win)
    call MPI_Win_complete(win)
    call MPI_Win_wait(win)
    call MPI_Group_free(world)
    call MPI_Group_free(to)
    call MPI_Group_free(from)
    call MPI_Win_free(win)
  end subroutine

  subroutine objects()
    type(MPI_Info) :: hints
    type(MPI_Errhandler) :: handler
    integer, asynchronous :: memory(n)
    integer :: key, length, code
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Win_create(memory, 4_MPI_ADDRESS_KIND*n, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_set_name(win, 'a window')
    call MPI_Win_get_name(win, name, length)
    call expect(name == 'a window' .and. length == 8, 'MPI_Win_get_name')
    call MPI_Win_get_info(win, hints)
    call MPI_Win_set_info(win, hints)
    call MPI_Info_free(hints)
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
    call expect(flag .and. value == 4*n, 'MPI_WIN_SIZE')
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag)
    call expect(flag .and. value == 4, 'MPI_WIN_DISP_UNIT')
    call MPI_Win_create_keyval(copy_win, delete_win, key, 4_MPI_ADDRESS_KIND)
    call MPI_Win_set_attr(win, key, 6_MPI_ADDRESS_KIND)
    call MPI_Win_get_attr(win, key, value, flag)
    call expect(flag .and. value == 6, 'an attribute of a window')
    call MPI_Win_delete_attr(win, key)
    call expect(deletions == 1, 'MPI_Win_delete_attr')
    call MPI_Win_set_attr(win, key, 6_MPI_ADDRESS_KIND)
    call MPI_Win_create_errhandler(on_error, handler)
    call MPI_Win_set_errhandler(win, handler)
    call MPI_Errhandler_free(handler)
    call MPI_Win_get_errhandler(win, handler)
    call MPI_Errhandler_free(handler)
    call MPI_Win_call_errhandler(win, MPI_ERR_OTHER)
    call expect(handled == 1, 'MPI_Win_call_errhandler')
    call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
    call MPI_Win_lock(17, 0, 0, win, code)
    call expect(code /= MPI_SUCCESS, 'MPI_ERRORS_RETURN of a window')
    call MPI_Win_free(win)
    call expect(deletions == 2, 'attributes of a freed window')
    call MPI_Win_free_keyval(key)
  end subroutine
end program
