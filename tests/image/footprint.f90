! As footprint.c, with Fortran's run time: each rank has its own of it.
program footprint
  use mpi
  implicit none
  integer :: rank, ranks, total, ierror, proportional, kib, own, status
  character(len=256) :: line
  call mpi_init(ierror)
  call mpi_comm_rank(mpi_comm_world, rank, ierror)
  call mpi_comm_size(mpi_comm_world, ranks, ierror)
  write (line, '(a, i6)') 'rank', rank
  call mpi_allreduce(rank, total, 1, mpi_integer, mpi_sum, mpi_comm_world, ierror)
  if (rank == 0) then
    proportional = 0
    own = 0
    open (20, file='/proc/self/smaps_rollup', action='read')
    do
      read (20, '(a)', iostat=status) line
      if (status /= 0) exit
      if (line(1:4) == 'Pss:') read (line(5:index(line, 'kB') - 1), *) proportional
      if (line(1:9) /= 'Pss_Anon:' .and. line(1:10) /= 'Pss_Shmem:') cycle
      read (line(index(line, ':') + 1:index(line, 'kB') - 1), *) kib
      own = own + kib
    end do
    close (20)
    print '(a, i0, a, i0, a, i0, a, i0)', 'ranks ', ranks, ' proportional_kib ', proportional, &
      ' sum ', total, ' own_kib ', own
  end if
  call mpi_barrier(mpi_comm_world, ierror)
  call mpi_finalize(ierror)
end program
