! Fortran's windows: each function of the chapter.
module checks
  use mpi
  implicit none
  integer :: rank, ranks, error, wrong = 0
  integer, save :: deletions = 0, errors = 0
contains
  subroutine expect(is_so, what)
    logical, intent(in) :: is_so
    character(len=*), intent(in) :: what
    if (is_so) return
    wrong = wrong + 1
    print '(a, i0, a, i0, 2a)', 'rank ', rank, ' of ', ranks, ': wrong: ', what
  end subroutine

  subroutine deleted(window, key, value, state, error)
    integer :: window, key, error
    integer(kind=MPI_ADDRESS_KIND) :: value, state
    if (value == 100 .and. state == 42) deletions = deletions + 1
    error = MPI_SUCCESS
  end subroutine

  subroutine on_error(window, code)
    integer :: window, code
    if (code /= MPI_SUCCESS .and. window /= MPI_WIN_NULL) errors = errors + 1
  end subroutine
end module

program fortran_windows
  use, intrinsic :: iso_c_binding
  use checks
  implicit none
  integer :: all, right, left
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  call active()
  call passive()
  call allocated()
  call attached()
  call objects()
  call MPI_Allreduce(wrong, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0 .and. all == 0) print '(a)', 'right'
  call MPI_Finalize(error)
contains
  integer(kind=MPI_ADDRESS_KIND) function at(place)
    integer, intent(in) :: place
    at = place
  end function

  subroutine active()
    integer, volatile :: memory(4), value
    integer :: window, group, world
    logical :: flag
    memory = -1
    call MPI_Win_create(memory, int(16, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
    call MPI_Win_fence(MPI_MODE_NOPRECEDE, window, error)
    value = rank
    call MPI_Put(value, 1, MPI_INTEGER, right, at(1), 1, MPI_INTEGER, window, error)
    call MPI_Accumulate(value, 1, MPI_INTEGER, right, at(2), 1, MPI_INTEGER, MPI_REPLACE, window, error)
    call MPI_Win_fence(0, window, error)
    call expect(memory(2) == left .and. memory(3) == left .and. memory(1) == -1, 'put by fences')
    value = -5
    call MPI_Get(value, 1, MPI_INTEGER, right, at(1), 1, MPI_INTEGER, window, error)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, window, error)
    call expect(value == rank, 'got by fences')
    call MPI_Comm_group(MPI_COMM_WORLD, world, error)
    call MPI_Win_get_group(window, group, error)
    call MPI_Win_post(group, 0, window, error)
    call MPI_Win_start(world, 0, window, error)
    value = 100 + rank
    call MPI_Put(value, 1, MPI_INTEGER, right, at(3), 1, MPI_INTEGER, window, error)
    call MPI_Win_complete(window, error)
    if (mod(rank, 2) == 0) then
      call MPI_Win_wait(window, error)
    else
      flag = .false.
      do while (.not. flag)
        call MPI_Win_test(window, flag, error)
      end do
    end if
    call expect(memory(4) == 100 + left, 'put between post and wait')
    call MPI_Group_free(group, error)
    call MPI_Group_free(world, error)
    call MPI_Win_free(window, error)
    call expect(window == MPI_WIN_NULL, 'freed')
  end subroutine

  subroutine passive()
    integer, volatile :: memory(4), value, old, none
    integer :: window, requests(4), i
    memory = 0
    call MPI_Win_create(memory, int(16, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    do i = 1, 5
      call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window, error)
      call MPI_Get(value, 1, MPI_INTEGER, 0, at(0), 1, MPI_INTEGER, window, error)
      call MPI_Win_flush(0, window, error)
      value = value + 1
      call MPI_Put(value, 1, MPI_INTEGER, 0, at(0), 1, MPI_INTEGER, window, error)
      call MPI_Win_unlock(0, window, error)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Win_lock_all(0, window, error)
    none = 0
    call MPI_Fetch_and_op(none, old, MPI_INTEGER, 0, at(0), MPI_NO_OP, window, error)
    call MPI_Win_flush_local(0, window, error)
    call expect(old == 5*ranks, 'counted under locks')
    value = 7
    call MPI_Compare_and_swap(value, none, old, MPI_INTEGER, right, at(1), window, error)
    call MPI_Win_flush_local_all(window, error)
    call expect(old == 0, 'compared')
    call MPI_Get_accumulate(value, 1, MPI_INTEGER, old, 1, MPI_INTEGER, right, at(1), 1, MPI_INTEGER, MPI_SUM, window, error)
    call MPI_Win_flush_all(window, error)
    call expect(old == 7, 'was there')
    call MPI_Rput(value, 1, MPI_INTEGER, right, at(2), 1, MPI_INTEGER, window, requests(1), error)
    call MPI_Raccumulate(value, 1, MPI_INTEGER, right, at(3), 1, MPI_INTEGER, MPI_SUM, window, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call MPI_Win_flush(right, window, error)
    call MPI_Rget(none, 1, MPI_INTEGER, right, at(2), 1, MPI_INTEGER, window, requests(3), error)
    call MPI_Rget_accumulate(value, 1, MPI_INTEGER, old, 1, MPI_INTEGER, right, at(3), 1, MPI_INTEGER, MPI_SUM, window, &
        requests(4), error)
    call MPI_Waitall(2, requests(3:), MPI_STATUSES_IGNORE, error)
    call expect(none == 7 .and. old == 7, 'by requests')
    call MPI_Win_sync(window, error)
    call MPI_Win_unlock_all(window, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call expect(all_are(memory(2:), [14, 7, 14]), 'what is left')
    call MPI_Win_free(window, error)
  end subroutine

  logical function all_are(found, wanted)
    integer :: found(:), wanted(:)
    all_are = all_of(found == wanted)
  end function
  logical function all_of(are)
    logical :: are(:)
    all_of = count(are) == size(are)
  end function

  subroutine allocated()
    integer :: window, unit, node, place, members
    integer(kind=MPI_ADDRESS_KIND) :: bytes, base
    type(c_ptr) :: address
    integer, pointer :: memory(:)
    integer, volatile :: value
    call MPI_Win_allocate(int(16, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, window, error)
    call c_f_pointer(address, memory, [2])
    memory = -1
    call MPI_Win_fence(0, window, error)
    value = rank
    call MPI_Put(value, 1, MPI_INTEGER, right, at(1), 1, MPI_INTEGER, window, error)
    call MPI_Win_fence(0, window, error)
    call expect(memory(2) == left .and. memory(1) == -1, 'allocated')
    call MPI_Win_free(window, error)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node, error)
    call MPI_Comm_rank(node, place, error)
    call MPI_Comm_size(node, members, error)
    call MPI_Win_allocate_shared(int(8, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, node, address, window, error)
    call c_f_pointer(address, memory, [2])
    memory = place
    call MPI_Win_fence(0, window, error)
    call MPI_Win_shared_query(window, mod(place + 1, members), bytes, unit, address, error)
    call c_f_pointer(address, memory, [2])
    call expect(bytes == 8 .and. unit == 4 .and. memory(2) == mod(place + 1, members), 'shared')
    call MPI_Win_shared_query(window, place, bytes, unit, base, error)
    call expect(base /= 0, 'address')
    call MPI_Win_fence(0, window, error)
    call MPI_Win_free(window, error)
    call MPI_Comm_free(node, error)
  end subroutine

  subroutine attached()
    integer, volatile :: memory(2), value
    integer(kind=MPI_ADDRESS_KIND) :: own, there
    integer :: window
    memory = -1
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
    call MPI_Win_attach(window, memory, int(8, MPI_ADDRESS_KIND), error)
    call MPI_Get_address(memory, own, error)
    call MPI_Sendrecv(own, 1, MPI_AINT, left, 0, there, 1, MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Win_fence(0, window, error)
    value = rank
    call MPI_Put(value, 1, MPI_INTEGER, right, there + 4, 1, MPI_INTEGER, window, error)
    call MPI_Win_fence(0, window, error)
    call expect(memory(1) == -1 .and. memory(2) == left, 'attached')
    call MPI_Win_detach(window, memory, error)
    call MPI_Win_free(window, error)
  end subroutine

  subroutine objects()
    integer, volatile :: memory(2)
    integer :: window, key, handler, found, class, info, length, code
    integer(kind=MPI_ADDRESS_KIND) :: value, own
    logical :: flag
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Win_create(memory, int(8, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
    call MPI_Win_get_attr(window, MPI_WIN_SIZE, value, flag, error)
    call expect(flag .and. value == 8, 'size')
    call MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, value, flag, error)
    call expect(flag .and. value == 4, 'unit')
    call MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, value, flag, error)
    call expect(flag .and. value == MPI_WIN_FLAVOR_CREATE, 'flavor')
    call MPI_Win_get_attr(window, MPI_WIN_BASE, value, flag, error)
    call MPI_Get_address(memory, own, error)
    call expect(flag .and. value == own, 'base')
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, deleted, key, int(42, MPI_ADDRESS_KIND), error)
    call MPI_Win_set_attr(window, key, int(100, MPI_ADDRESS_KIND), error)
    call MPI_Win_get_attr(window, key, value, flag, error)
    call expect(flag .and. value == 100, 'attribute')
    call MPI_Win_delete_attr(window, key, error)
    call expect(deletions == 1, 'deleted')
    call MPI_Win_set_attr(window, key, int(100, MPI_ADDRESS_KIND), error)
    call MPI_Win_free_keyval(key, error)
    call MPI_Win_set_name(window, 'halo', error)
    call MPI_Win_get_name(window, name, length, error)
    call expect(name == 'halo' .and. length == 4, 'name')
    call MPI_Info_create(info, error)
    call MPI_Info_set(info, 'same_size', 'true', error)
    call MPI_Win_set_info(window, info, error)
    call MPI_Info_free(info, error)
    call MPI_Win_get_info(window, info, error)
    call expect(error == MPI_SUCCESS .and. info /= MPI_INFO_NULL, 'hints')
    call MPI_Info_free(info, error)
    call MPI_Win_create_errhandler(on_error, handler, error)
    call MPI_Win_set_errhandler(window, handler, error)
    call MPI_Win_get_errhandler(window, found, error)
    call expect(found == handler, 'handler')
    call MPI_Errhandler_free(found, error)
    call MPI_Errhandler_free(handler, error)
    call MPI_Win_unlock(0, window, code)
    call MPI_Error_class(code, class, error)
    call expect(class == MPI_ERR_RMA_SYNC .and. errors == 1, 'error')
    call MPI_Win_call_errhandler(window, MPI_ERR_OTHER, error)
    call expect(errors == 2, 'called')
    call MPI_Win_free(window, error)
    call expect(deletions == 2, 'deleted with the window')
  end subroutine
end program
