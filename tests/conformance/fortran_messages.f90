! Fortran's modes of sending, probes, persistent messages, requests by index and lists of them, requests of
! the program's own.
module checks
  use mpi
  implicit none
  integer :: rank, ranks, right, left, error, wrong = 0
  integer(kind=MPI_ADDRESS_KIND) :: seen_state = 0
  integer, save :: queries = 0, frees = 0, cancels = 0
contains
  subroutine expect(is_so, what)
    logical, intent(in) :: is_so
    character(len=*), intent(in) :: what
    if (is_so) return
    wrong = wrong + 1
    print '(a, i0, a, i0, 2a)', 'rank ', rank, ' of ', ranks, ': wrong: ', what
  end subroutine

  subroutine on_query(state, status, error)
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer :: status(MPI_STATUS_SIZE), error
    queries = queries + 1
    seen_state = state
    call MPI_Status_set_elements(status, MPI_INTEGER, 5, error)
    call MPI_Status_set_cancelled(status, .false., error)
    status(MPI_SOURCE) = 77
    status(MPI_TAG) = 78
    error = MPI_SUCCESS
  end subroutine

  subroutine on_free(state, error)
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer :: error
    frees = frees + 1
    state = state + 1
    error = MPI_SUCCESS
  end subroutine

  subroutine on_cancel(state, complete, error)
    integer(kind=MPI_ADDRESS_KIND) :: state
    logical :: complete
    integer :: error
    cancels = cancels + 1
    error = MPI_SUCCESS
  end subroutine
end module

program fortran_messages
  use checks
  implicit none
  integer :: all_wrong
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  right = modulo(rank + 1, ranks)
  left = modulo(rank - 1, ranks)
  call modes()
  call persistent()
  call by_index()
  call probes()
  call own_requests()
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0 .and. all_wrong == 0) print '(a)', 'right'
  call MPI_Finalize(error)
  if (all_wrong /= 0) stop 1
contains
  ! To oneself and from the left, each received before it is given.
  subroutine modes()
    integer, parameter :: many = 8
    integer :: requests(many), values(3), got(3, many), status(MPI_STATUS_SIZE), send, i, detached, count
    integer, save :: memory(20000)
    call MPI_Buffer_attach(memory, 80000, error)
    values = [rank, 2*rank, 3*rank]
    got = -1
    do i = 1, many
      call MPI_Irecv(got(1, i), 3, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i), error)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Send(values, 3, MPI_INTEGER, right, 1, MPI_COMM_WORLD, error)
    call MPI_Bsend(values, 3, MPI_INTEGER, right, 2, MPI_COMM_WORLD, error)
    call MPI_Ssend(values, 3, MPI_INTEGER, right, 3, MPI_COMM_WORLD, error)
    call MPI_Rsend(values, 3, MPI_INTEGER, right, 4, MPI_COMM_WORLD, error)
    call MPI_Isend(values, 3, MPI_INTEGER, right, 5, MPI_COMM_WORLD, send, error)
    call MPI_Wait(send, status, error)
    call MPI_Ibsend(values, 3, MPI_INTEGER, right, 6, MPI_COMM_WORLD, send, error)
    call MPI_Wait(send, status, error)
    call MPI_Issend(values, 3, MPI_INTEGER, right, 7, MPI_COMM_WORLD, send, error)
    call MPI_Wait(send, status, error)
    call MPI_Irsend(values, 3, MPI_INTEGER, right, 8, MPI_COMM_WORLD, send, error)
    call MPI_Wait(send, status, error)
    call MPI_Waitall(many, requests, MPI_STATUSES_IGNORE, error)
    do i = 1, many
      call expect(all(got(:, i) == [left, 2*left, 3*left]), 'a mode of sending')
    end do
    call MPI_Buffer_detach(memory, detached, error)
    call expect(detached == 80000, 'bytes of the buffer')
    call MPI_Isend(values, 3, MPI_INTEGER, right, 9, MPI_COMM_WORLD, send, error)
    call MPI_Recv(got, 9, MPI_INTEGER, left, 9, MPI_COMM_WORLD, status, error)
    call MPI_Get_elements(status, MPI_INTEGER, count, error)
    call expect(count == 3 .and. status(MPI_SOURCE) == left .and. status(MPI_TAG) == 9, 'status')
    call MPI_Wait(send, MPI_STATUS_IGNORE, error)
    call MPI_Sendrecv_replace(values, 3, MPI_INTEGER, right, 10, left, 10, MPI_COMM_WORLD, status, error)
    call expect(all(values == [left, 2*left, 3*left]), 'replaced')
  end subroutine

  subroutine persistent()
    integer :: requests(8), one(4), got(4), round, status(MPI_STATUS_SIZE)
    integer, save :: memory(20000)
    logical :: flag
    call MPI_Buffer_attach(memory, 80000, error)
    call MPI_Recv_init(got(1), 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1), error)
    call MPI_Recv_init(got(2), 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(2), error)
    call MPI_Recv_init(got(3), 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, requests(3), error)
    call MPI_Recv_init(got(4), 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD, requests(4), error)
    call MPI_Send_init(one(1), 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(5), error)
    call MPI_Bsend_init(one(2), 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(6), error)
    call MPI_Ssend_init(one(3), 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(7), error)
    call MPI_Rsend_init(one(4), 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(8), error)
    do round = 1, 3
      one = [10*rank + round, 20*rank + round, 30*rank + round, 40*rank + round]
      got = -1
      call MPI_Startall(4, requests, error)
      call MPI_Barrier(MPI_COMM_WORLD, error)
      call MPI_Startall(3, requests(5:7), error)
      call MPI_Start(requests(8), error)
      flag = .false.
      do while (.not. flag)
        call MPI_Testall(8, requests, flag, MPI_STATUSES_IGNORE, error)
      end do
      call expect(all(got == [10*left + round, 20*left + round, 30*left + round, 40*left + round]), 'persistent messages')
    end do
    do round = 1, 8
      call MPI_Request_free(requests(round), error)
    end do
    call expect(requests(1) == MPI_REQUEST_NULL, 'freed request')
    call MPI_Buffer_detach(memory, round, error)
    call MPI_Irecv(got, 1, MPI_INTEGER, rank, 99, MPI_COMM_WORLD, requests(1), error)
    call MPI_Cancel(requests(1), error)
    call MPI_Wait(requests(1), status, error)
    call MPI_Test_cancelled(status, flag, error)
    call expect(flag, 'cancelled')
  end subroutine

  ! Indices count from 1.
  subroutine by_index()
    integer :: requests(3), got(3), index, indices(3), count, statuses(MPI_STATUS_SIZE, 3), i, done
    logical :: flag, seen(3)
    got = -1
    do i = 1, 3
      call MPI_Irecv(got(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, requests(i), error)
    end do
    call MPI_Testany(3, requests, index, flag, statuses(:, 1), error)
    call expect(.not. flag, 'nothing yet')
    call MPI_Testsome(3, requests, count, indices, statuses, error)
    call expect(count == 0, 'none yet')
    call MPI_Send(7, 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, error)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status(requests(2), flag, statuses(:, 1), error)
    end do
    call expect(statuses(MPI_TAG, 1) == 2 .and. requests(2) /= MPI_REQUEST_NULL, 'status without end')
    flag = .false.
    do while (.not. flag)
      call MPI_Testany(3, requests, index, flag, statuses(:, 1), error)
    end do
    call expect(index == 2 .and. got(2) == 7 .and. requests(2) == MPI_REQUEST_NULL, 'the second')
    call MPI_Send(8, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, error)
    call MPI_Send(9, 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, error)
    seen = .false.
    done = 0
    do while (done < 2)
      call MPI_Testsome(3, requests, count, indices, statuses, error)
      do i = 1, count
        seen(indices(i)) = .true.
        call expect(statuses(MPI_TAG, i) == indices(i), 'status of an index')
      end do
      done = done + count
    end do
    call expect(all(seen .eqv. [.true., .false., .true.]) .and. got(1) == 8 .and. got(3) == 9, 'some')
    call MPI_Irecv(got, 1, MPI_INTEGER, rank, 4, MPI_COMM_WORLD, requests(3), error)
    call MPI_Send(5, 1, MPI_INTEGER, rank, 4, MPI_COMM_WORLD, error)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(requests(3), flag, statuses(:, 1), error)
    end do
    call expect(got(1) == 5, 'tested')
  end subroutine

  subroutine probes()
    integer :: message, status(MPI_STATUS_SIZE), got, request
    logical :: flag
    call MPI_Isend(rank, 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request, error)
    call MPI_Probe(left, 1, MPI_COMM_WORLD, status, error)
    call MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, message, status, error)
    call expect(status(MPI_SOURCE) == left .and. message /= MPI_MESSAGE_NULL, 'probed')
    call MPI_Mrecv(got, 1, MPI_INTEGER, message, status, error)
    call expect(got == left .and. message == MPI_MESSAGE_NULL, 'message')
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call MPI_Isend(rank, 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, request, error)
    flag = .false.
    do while (.not. flag)
      call MPI_Improbe(left, 2, MPI_COMM_WORLD, flag, message, status, error)
    end do
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call MPI_Imrecv(got, 1, MPI_INTEGER, message, request, error)
    call MPI_Wait(request, status, error)
    call expect(got == left .and. status(MPI_TAG) == 2, 'message taken later')
  end subroutine

  subroutine own_requests()
    integer :: request, status(MPI_STATUS_SIZE), count
    integer(kind=MPI_ADDRESS_KIND), volatile :: state
    state = 1234
    call MPI_Grequest_start(on_query, on_free, on_cancel, state, request, error)
    call MPI_Cancel(request, error)
    call MPI_Grequest_complete(request, error)
    call MPI_Wait(request, status, error)
    call MPI_Get_count(status, MPI_INTEGER, count, error)
    call expect(count == 5 .and. status(MPI_SOURCE) == 77 .and. status(MPI_TAG) == 78, 'status of an own request')
    call expect(queries == 1 .and. frees == 1 .and. cancels == 1 .and. seen_state == 1234, 'calls for an own request')
    call expect(state == 1235, 'the state is the variable of the program')
  end subroutine
end program
