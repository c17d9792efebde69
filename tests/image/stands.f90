! As stands.c.
program stands
  use mpi
  implicit none
  integer :: rank, ranks, ierror
  call mpi_init(ierror)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierror)
  call mpi_comm_size(MPI_COMM_WORLD, ranks, ierror)
  call ring(rank, ranks)
  call mpi_finalize(ierror)
end program

subroutine ring(rank, ranks)
  use mpi
  implicit none
  integer, intent(in) :: rank, ranks
  integer :: left, word, ierror
  left = mod(rank + ranks - 1, ranks)
  call mpi_recv(word, 1, MPI_INTEGER, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
end subroutine
