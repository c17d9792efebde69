C     MPI in Fortran of fixed form, by mpif.h: arguments of one procedure
C     differ in type, state lies in a common block, a constant has an X
C     in front.
      program main
      implicit none
      include 'mpif.h'
      integer rank, ranks, ierr, status(MPI_STATUS_SIZE), n, all
      integer inum, onum, kept
      double precision x, y
      real small(3)
      logical flag
      common /shared/ kept
      external wrong
      integer wrong
      integer bits
      data bits/X'00003FFF'/
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      kept = 0
      kept = kept + wrong(bits .eq. 16383)
      onum = rank
      x = rank + 0.5d0
      call MPI_SENDRECV(onum, 1, MPI_INTEGER, mod(rank + 1, ranks), 1,
     +  inum, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 1,
     +  MPI_COMM_WORLD, status, ierr)
      kept = kept + wrong(inum .eq. mod(rank + ranks - 1, ranks))
      kept = kept + wrong(status(MPI_TAG) .eq. 1)
      call MPI_SENDRECV(x, 1, MPI_DOUBLE_PRECISION, mod(rank + 1,
     +  ranks), 2, y, 1, MPI_DOUBLE_PRECISION, mod(rank + ranks - 1,
     +  ranks), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      kept = kept + wrong(y .eq. mod(rank + ranks - 1, ranks) + 0.5d0)
      small(1) = 1.0
      small(2) = rank
      small(3) = 0.0
      call MPI_ALLREDUCE(MPI_IN_PLACE, small, 3, MPI_REAL, MPI_SUM,
     +  MPI_COMM_WORLD, ierr)
      kept = kept + wrong(nint(small(1)) .eq. ranks)
      call MPI_INITIALIZED(flag, ierr)
      kept = kept + wrong(flag)
      call MPI_ALLREDUCE(kept, all, 1, MPI_INTEGER, MPI_SUM,
     +  MPI_COMM_WORLD, ierr)
      kept = kept + wrong(MPI_WTIME() .gt. 0.0d0)
      if (rank .eq. 0 .and. all .eq. 0) print '(a)', 'right'
      if (rank .eq. 0 .and. all .ne. 0) print *, 'wrong:', all
      call MPI_FINALIZE(ierr)
      if (all .ne. 0) stop 1
      end

      integer function wrong(isso)
      logical isso
      wrong = 1
      if (isso) wrong = 0
      end
