! What the programs in Fortran 2008 share: included before each.
module checks
  use mpi_f08
  implicit none
  integer :: rank = -1, ranks = 0, right, left, wrong = 0
contains
  subroutine expect(is_so, what)
    logical, intent(in) :: is_so
    character(len=*), intent(in) :: what
    if (is_so) return
    wrong = wrong + 1
    print '(a, i0, a, i0, 2a)', 'rank ', rank, ' of ', ranks, ': wrong: ', what
  end subroutine

  subroutine start()
    integer :: ierror
    logical :: flag
    call MPI_Initialized(flag)
    if (flag) error stop 'MPI is initialized before MPI_Init'
    call MPI_Init(ierror)
    if (ierror /= MPI_SUCCESS) error stop 'MPI_Init'
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    right = modulo(rank + 1, ranks)
    left = modulo(rank - 1, ranks)
  end subroutine

  ! Rank 0 prints the verdict of all ranks.
  subroutine finish()
    integer :: all_wrong
    logical :: flag
    call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Finalize()
    call MPI_Finalized(flag)
    if (.not. flag) error stop 'MPI is not finalized after MPI_Finalize'
    if (all_wrong /= 0) error stop 1
    if (rank == 0) print '(a)', 'right'
  end subroutine
end module
