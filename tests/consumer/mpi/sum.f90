program main
  use mpi
  implicit none
  integer :: rank, ranks, total, error
  integer, save :: kept = 0
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  kept = kept + rank
  call MPI_Allreduce(kept, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a, i0, a, i0)', 'Fortran: ', ranks, ' ranks, sum ', total
  call MPI_Finalize(error)
end program
