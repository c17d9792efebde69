! Fortran 2008: modes of sending, persistent messages, requests by index and lists of them, probes, requests of the program's own.
! Not with: mpich (4.0), whose MPI_Waitany and MPI_Testany count from 0.
include 'f08_checks.h'

module own
  use checks
  implicit none
  integer, save :: queries = 0, frees = 0, cancels = 0
contains
  subroutine on_query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    queries = queries + 1
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 77
    status%MPI_TAG = 78
    ierror = MPI_SUCCESS
  end subroutine
  subroutine on_free(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    frees = frees + 1
    if (extra_state == 0) error stop 'on_free'
    ierror = MPI_SUCCESS
  end subroutine
  subroutine on_cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    cancels = cancels + 1
    if (complete .or. extra_state == 0) error stop 'on_cancel'
    ierror = MPI_SUCCESS
  end subroutine
end module

program f08_requests
  use own
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: n = 6
  integer :: i
  integer, asynchronous :: from(n), to(n)
  type(MPI_Request) :: requests(2*n), request
  type(MPI_Status) :: status, statuses(2*n)
  logical :: flag
  call start()
  call modes()
  call by_index()
  call persistent()
  call probes()
  call own_requests()
  call at_rest()
  call local_buffer()
  call finish()
contains
  subroutine modes()
    integer :: value
    integer(8), target :: room(1000)
    type(c_ptr) :: detached
    integer :: length
    do i = 1, 8
      value = -1
      call MPI_Irecv(value, 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, request)
      call MPI_Barrier(MPI_COMM_WORLD)
      select case (i)
      case (1)
        call MPI_Send(rank, 1, MPI_INTEGER, right, i, MPI_COMM_WORLD)
      case (2)
        call MPI_Ssend(rank, 1, MPI_INTEGER, right, i, MPI_COMM_WORLD)
      case (3)
        call MPI_Rsend(rank, 1, MPI_INTEGER, right, i, MPI_COMM_WORLD)
      case (4)
        call MPI_Buffer_attach(room, 8000)
        call MPI_Bsend(rank, 1, MPI_INTEGER, right, i, MPI_COMM_WORLD)
        call MPI_Buffer_detach(detached, length)
        call expect(length == 8000, 'MPI_Buffer_detach')
        call expect(transfer(detached, 0_c_intptr_t) == transfer(c_loc(room), 0_c_intptr_t), 'the detached buffer')
      case default
        from(1) = rank
        if (i == 8) call MPI_Buffer_attach(room, 8000)
        if (i == 5) call MPI_Isend(from, 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(1))
        if (i == 6) call MPI_Issend(from, 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(1))
        if (i == 7) call MPI_Irsend(from, 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(1))
        if (i == 8) call MPI_Ibsend(from, 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(1))
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
        if (i == 8) call MPI_Buffer_detach(detached, length)
      end select
      call MPI_Wait(request, status)
      call expect(value == left .and. status%MPI_TAG == i, 'a mode of sending')
    end do
  end subroutine

  subroutine post()
    to = -1
    from = [(i + 100*rank, i = 1, n)]
    do i = 1, n
      call MPI_Irecv(to(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i))
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
    do i = n, 1, -1
      call MPI_Isend(from(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(n + i))
    end do
  end subroutine

  subroutine by_index()
    integer :: k, done, indices(2*n)
    logical :: seen(2*n)
    do k = 1, 4
      call post()
      seen = .false.
      do while (.not. all(seen))
        select case (k)
        case (1)
          call MPI_Waitany(2*n, requests, i, status)
          done = 1
          indices(1) = i
        case (2)
          call MPI_Testany(2*n, requests, i, flag, status)
          done = merge(1, 0, flag)
          indices(1) = i
        case (3)
          call MPI_Waitsome(2*n, requests, done, indices, statuses)
        case (4)
          call MPI_Testsome(2*n, requests, done, indices, MPI_STATUSES_IGNORE)
        end select
        do i = 1, done
          call expect(.not. seen(indices(i)) .and. requests(indices(i)) == MPI_REQUEST_NULL, 'an index')
          if (k <= 2 .and. indices(i) <= n) call expect(status%MPI_TAG == indices(i), 'the status of an index')
          if (k == 3 .and. indices(i) <= n) call expect(statuses(i)%MPI_TAG == indices(i), 'a status of some')
          seen(indices(i)) = .true.
        end do
      end do
      call expect(all(to == [(i + 100*left, i = 1, n)]), 'messages by index')
    end do
    call MPI_Waitany(2*n, requests, i, status)
    call expect(i == MPI_UNDEFINED, 'an index of none')
    call post()
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(2*n, requests, flag, statuses)
    end do
    call expect(all(statuses(1:n)%MPI_TAG == [(i, i = 1, n)]) .and. all(to == [(i + 100*left, i = 1, n)]), 'MPI_Testall')
    call post()
    flag = .false.
    do while (.not. flag)
      call MPI_Test(requests(1), flag, status)
    end do
    do
      call MPI_Request_get_status(requests(2), flag, status)
      if (flag) exit
    end do
    call expect(requests(2) /= MPI_REQUEST_NULL .and. status%MPI_TAG == 2, 'MPI_Request_get_status')
    call MPI_Waitall(2*n, requests, statuses)
    call expect(all(statuses(2:n)%MPI_SOURCE == left), 'MPI_Waitall')
  end subroutine

  subroutine persistent()
    integer :: kind
    integer(8) :: room(1000)
    type(c_ptr) :: detached
    call MPI_Buffer_attach(room, 8000)
    call MPI_Send_init(from(1), 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Ssend_init(from(2), 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Bsend_init(from(3), 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(3))
    call MPI_Rsend_init(from(4), 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(4))
    do kind = 1, 4
      call MPI_Recv_init(to(kind), 1, MPI_INTEGER, left, kind, MPI_COMM_WORLD, requests(4 + kind))
    end do
    do i = 1, 3
      from = rank + 100*i
      to = -1
      call MPI_Startall(4, requests(5:8))
      call MPI_Barrier(MPI_COMM_WORLD)
      do kind = 1, 4
        call MPI_Start(requests(kind))
      end do
      call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
      call expect(all(to(1:4) == left + 100*i), 'persistent messages')
      call MPI_Barrier(MPI_COMM_WORLD)
    end do
    do i = 1, 8
      call MPI_Request_free(requests(i))
    end do
    call expect(requests(8) == MPI_REQUEST_NULL, 'a freed request')
    call MPI_Buffer_detach(detached, kind)
  end subroutine

  subroutine probes()
    type(MPI_Message) :: message
    integer :: got
    from = rank
    call MPI_Isend(from, 3, MPI_INTEGER, right, 5, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(from, 2, MPI_INTEGER, right, 6, MPI_COMM_WORLD, requests(2))
    call MPI_Isend(from, 1, MPI_INTEGER, right, 7, MPI_COMM_WORLD, requests(3))
    call MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, got)
    call expect(got == 3 .and. status%MPI_SOURCE == left, 'MPI_Probe')
    flag = .false.
    do while (.not. flag)
      call MPI_Improbe(left, 6, MPI_COMM_WORLD, flag, message, status)
    end do
    call MPI_Imrecv(to, 2, MPI_INTEGER, message, request)
    call MPI_Wait(request, status)
    call expect(message == MPI_MESSAGE_NULL .and. all(to(1:2) == left), 'MPI_Improbe, MPI_Imrecv')
    flag = .false.
    do while (.not. flag)
      call MPI_Iprobe(left, 7, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE)
    end do
    call MPI_Mprobe(left, 5, MPI_COMM_WORLD, message, status)
    call MPI_Mrecv(to, 3, MPI_INTEGER, message, status)
    call MPI_Recv(to, 1, MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD, status)
    call expect(status%MPI_TAG == 7, 'the last message')
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
    call MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, message, status)
    call expect(message == MPI_MESSAGE_NO_PROC .and. status%MPI_SOURCE == MPI_PROC_NULL, 'MPI_MESSAGE_NO_PROC')
    call MPI_Mrecv(to, 1, MPI_INTEGER, message, status)
    call MPI_Irecv(to, 1, MPI_INTEGER, left, 99, MPI_COMM_WORLD, request)
    call MPI_Cancel(request)
    call MPI_Wait(request, status)
    call MPI_Test_cancelled(status, flag)
    call expect(flag, 'MPI_Cancel')
  end subroutine

  subroutine own_requests()
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer :: got
    state = 9
    call MPI_Grequest_start(on_query, on_free, on_cancel, state, request)
    call MPI_Test(request, flag, status)
    call expect(.not. flag, 'a request of the program')
    call MPI_Cancel(request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_count(status, MPI_INTEGER, got)
    call expect(got == 9 .and. status%MPI_SOURCE == 77 .and. status%MPI_TAG == 78, 'its status')
    call expect(queries == 1 .and. frees == 1 .and. cancels == 1, 'its functions')
  end subroutine

  subroutine at_rest()
    integer :: value
    value = 3
    call MPI_Recv(value, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status)
    call expect(status%MPI_SOURCE == MPI_PROC_NULL .and. status%MPI_TAG == MPI_ANY_TAG .and. value == 3, 'MPI_PROC_NULL')
    request = MPI_REQUEST_NULL
    call MPI_Wait(request, status)
    call expect(status%MPI_SOURCE == MPI_ANY_SOURCE, 'the empty status')
  end subroutine

  ! The compiler keeps nothing of a buffer in registers while a receive is under way.
  subroutine local_buffer()
    integer, asynchronous :: buffer(4)
    integer :: before
    buffer = 5
    before = sum(buffer)
    call MPI_Irecv(buffer, 4, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request)
    call MPI_Send([rank, rank, rank, rank], 4, MPI_INTEGER, right, 1, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_F_sync_reg(buffer)
    call expect(before == 20 .and. sum(buffer) == 4*left, 'a buffer of the procedure')
  end subroutine
end program
