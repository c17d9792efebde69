! The program's own MPI_Send stands in for that of MPI; all functions have a second name, which this program
! calls them by.
subroutine MPI_Send(buffer, count, datatype, to, tag, comm, error)
  implicit none
  integer :: buffer(*), count, datatype, to, tag, comm, error, sends
  common /calls/ sends
  sends = sends + 1
  call PMPI_Send(buffer, count, datatype, to, tag, comm, error)
end subroutine

program profiling
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, error, request, got(1), given(1), total(1), wrong(1), sends
  integer :: status(MPI_STATUS_SIZE)
  common /calls/ sends
  call PMPI_Init(error)
  call PMPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call PMPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  sends = 0
  given = rank
  got = -1
  call PMPI_Irecv(got, 1, MPI_INTEGER, modulo(rank - 1, ranks), 5, MPI_COMM_WORLD, request, error)
  call MPI_Send(given, 1, MPI_INTEGER, modulo(rank + 1, ranks), 5, MPI_COMM_WORLD, error)
  call PMPI_Wait(request, status, error)
  wrong = 0
  if (got(1) /= modulo(rank - 1, ranks)) wrong = wrong + 1
  if (status(MPI_TAG) /= 5) wrong = wrong + 1
  if (sends /= 1) wrong = wrong + 1
  call PMPI_Bcast(got, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
  if (got(1) /= ranks - 1) wrong = wrong + 1
  call PMPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call PMPI_Barrier(MPI_COMM_WORLD, error)
  if (rank == 0 .and. total(1) == 0) print '(a)', 'right'
  if (rank == 0 .and. total(1) /= 0) print '(a, i0)', 'wrong: ', total(1)
  call PMPI_Finalize(error)
end program
