! Sessions and partitioned messages in Fortran: each function once. Not with: openmpi (4.1), which has neither.
! Not with: mpich (4.0), whose sessions have no buffers and no handlers.
module handlers_of_sessions
  implicit none
  integer :: handled = 0
contains
  subroutine count_error(session, code)
    integer :: session, code
    if (session == 0 .and. code == 0) handled = handled - 1
    handled = handled + 1
  end subroutine
end module

program fortran_sessions
  use mpi
  use handlers_of_sessions
  implicit none
  integer :: session, other, group, half, theirs, comm, inter, info, handler, ierr, rank, ranks, length, count, wrong, i
  integer :: requests(2), statuses(MPI_STATUS_SIZE, 2), buffer(1000), least, sent(8), got(8), list(2), bytes, range(3, 1), low
  integer :: found, request, sum
  character(len=MPI_MAX_PSET_NAME_LEN) :: name
  character(len=40) :: value
  character(len=5) :: little
  logical :: flag
  wrong = 0
  call MPI_Session_create_errhandler(count_error, handler, ierr)
  call expect(ierr == MPI_SUCCESS .and. handler /= MPI_ERRHANDLER_NULL, 'a handler')
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, ierr)
  call expect(ierr == MPI_SUCCESS .and. session /= MPI_SESSION_NULL, 'a session')
  call MPI_Session_get_num_psets(session, MPI_INFO_NULL, count, ierr)
  call expect(count >= 2, 'sets')
  length = 0
  call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name, ierr)
  call expect(length == len('mpi://WORLD'), 'the length of a name')
  length = len(name)
  call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name, ierr)
  call expect(name == 'mpi://WORLD' .and. length == 11, 'a name')
  length = len(little)
  call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, little, ierr)
  call expect(little == 'mpi:/' .and. length == 11, 'the begin of a name')
  call MPI_Session_get_pset_info(session, 'mpi://SELF', info, ierr)
  call MPI_Info_get(info, 'mpi_size', len(value), value, flag, ierr)
  call expect(flag .and. value == '1', 'the size of a set')
  call MPI_Info_free(info, ierr)
  call MPI_Session_get_info(session, info, ierr)
  call MPI_Info_get(info, 'thread_level', len(value), value, flag, ierr)
  call expect(flag .and. value == 'MPI_THREAD_SINGLE', 'the level')
  call MPI_Info_free(info, ierr)

  call MPI_Session_set_errhandler(session, handler, ierr)
  call MPI_Session_get_errhandler(session, found, ierr)
  call expect(found == handler, 'the handler of the session')
  call MPI_Errhandler_free(found, ierr)
  call MPI_Errhandler_free(handler, ierr)
  call MPI_Group_from_session_pset(session, 'mpi://nobody', group, ierr)
  call expect(ierr /= MPI_SUCCESS .and. group == MPI_GROUP_NULL .and. handled == 1, 'a set of nobody')
  call MPI_Session_call_errhandler(session, MPI_ERR_OTHER, ierr)
  call expect(handled == 2, 'the handler is called')

  call MPI_Group_from_session_pset(session, 'mpi://WORLD', group, ierr)
  call MPI_Comm_create_from_group(group, 'fortran', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm, ierr)
  call expect(ierr == MPI_SUCCESS, 'a communicator')
  call MPI_Comm_rank(comm, rank, ierr)
  call MPI_Comm_size(comm, ranks, ierr)

  ! Two groups.
  low = mod(rank, 2)
  range = reshape([low, ranks - 1, 2], [3, 1])
  call MPI_Group_range_incl(group, 1, range, half, ierr)
  if (ranks > 1) then
    range = reshape([1 - low, ranks - 1, 2], [3, 1])
    call MPI_Group_range_incl(group, 1, range, theirs, ierr)
  else
    theirs = group
  end if
  if (ranks > 1) then
    call MPI_Intercomm_create_from_groups(half, 0, theirs, 0, 'halves', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, inter, ierr)
    call MPI_Comm_remote_size(inter, count, ierr)
    call expect(count == (ranks + low) / 2, 'the other group')
    call MPI_Comm_free(inter, ierr)
    call MPI_Group_free(theirs, ierr)
  end if
  call MPI_Group_free(half, ierr)
  call MPI_Group_free(group, ierr)

  ! Buffers.
  bytes = 4 * size(buffer)
  call MPI_Session_attach_buffer(session, buffer, bytes, ierr)
  call MPI_Bsend(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 1, comm, ierr)
  call MPI_Recv(found, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 1, comm, MPI_STATUS_IGNORE, ierr)
  call expect(found == mod(rank + ranks - 1, ranks), 'a buffered send')
  call MPI_Session_flush_buffer(session, ierr)
  call MPI_Session_iflush_buffer(session, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call MPI_Session_detach_buffer(session, buffer, least, ierr)
  call expect(least == bytes, 'the size of the buffer')

  ! Partitions.
  call MPI_Psend_init(sent, 4, 2_MPI_COUNT_KIND, MPI_INTEGER, mod(rank + 1, ranks), 2, comm, MPI_INFO_NULL, requests(1), ierr)
  call MPI_Precv_init(got, 2, 4_MPI_COUNT_KIND, MPI_INTEGER, mod(rank + ranks - 1, ranks), 2, comm, &
                      MPI_INFO_NULL, requests(2), ierr)
  do i = 1, 3
    sent = 100 * rank + i
    call MPI_Startall(2, requests, ierr)
    call MPI_Pready(3, requests(1), ierr)
    list = [0, 1]
    call MPI_Pready_list(2, list, requests(1), ierr)
    call MPI_Pready_range(2, 2, requests(1), ierr)
    flag = .false.
    do while (.not. flag)
      call MPI_Parrived(requests(2), 1, flag, ierr)
    end do
    call MPI_Waitall(2, requests, statuses, ierr)
    call expect(all(got == 100 * mod(rank + ranks - 1, ranks) + i), 'partitions')
  end do
  call MPI_Request_free(requests(1), ierr)
  call MPI_Request_free(requests(2), ierr)

  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, other, ierr)
  call expect(other /= session, 'two sessions')
  call MPI_Session_finalize(other, ierr)
  call expect(ierr == MPI_SUCCESS .and. other == MPI_SESSION_NULL, 'the end of a session')
  call MPI_Allreduce(wrong, sum, 1, MPI_INTEGER, MPI_SUM, comm, ierr)
  if (rank == 0 .and. sum == 0) print '(a)', 'right'
  call MPI_Comm_free(comm, ierr)
  call MPI_Session_finalize(session, ierr)
contains
  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    wrong = wrong + 1
    print '(a, a)', 'not right: ', what
  end subroutine
end program
