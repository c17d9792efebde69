! Rank 0 works, then sends, and rank 1 waits for it: directly, by a wrapper in a module, and in a barrier for which the program has a wrapper
! of its own. A line that weftrun --breakdown is to name ends in "place NAME".
module wrappers
  use mpi
  implicit none
  interface recv_any
    module procedure recv_one
  end interface
contains
  subroutine recv_one(x, source, comm)
    integer, intent(out) :: x
    integer, intent(in) :: source, comm
    integer :: ierr
    call MPI_Recv(x, 1, MPI_INTEGER, source, 8, comm, MPI_STATUS_IGNORE, ierr) ! place module
  end subroutine
end module

subroutine mpi_barrier(comm, ierr)
  implicit none
  integer :: comm, ierr
  call pmpi_barrier(comm, ierr) ! place wrapper
end subroutine

program places
  use wrappers
  implicit none
  integer :: me, ierr, i, x, request
  x = 1
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  do i = 1, 5
    if (me == 0) then
      call work()
      call MPI_Send(x, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, ierr) ! place send
      call work()
      call MPI_Send(x, 1, MPI_INTEGER, 1, 8, MPI_COMM_WORLD, ierr) ! place second send
      call work()
      call MPI_Ssend(x, 1, MPI_INTEGER, 1, 9, MPI_COMM_WORLD, ierr) ! place third send
      call work()
    else
      call MPI_Recv(x, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr) ! place recv
      call recv_any(x, 0, MPI_COMM_WORLD)
      call MPI_Irecv(x, 1, MPI_INTEGER, 0, 9, MPI_COMM_WORLD, request, ierr)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr) ! place wait
    end if
    call mpi_barrier(MPI_COMM_WORLD, ierr)
  end do
  call MPI_Finalize(ierr)
contains
  subroutine work()
    real(8) :: begun
    begun = MPI_Wtime()
    do while (MPI_Wtime() - begun < 0.01d0)
    end do
  end subroutine
end program
