! Fortran 2008: TYPE(MPI_Status) and the array of integers. Not with: openmpi (4.1), which has no MPI_Status_f2f08 for Fortran.
include 'f08_checks.h'

program f08_status
  use checks
  implicit none
  call start()
  call statuses()
  call finish()
contains
  subroutine statuses()
    type(MPI_Status) :: status, copy
    integer :: old(MPI_STATUS_SIZE), n
    integer(kind=MPI_COUNT_KIND) :: many
    logical :: flag
    status%MPI_SOURCE = 5
    status%MPI_TAG = 6
    status%MPI_ERROR = 7
    call MPI_Status_set_elements(status, MPI_INTEGER, 12)
    call MPI_Status_set_cancelled(status, .true.)
    call MPI_Status_f082f(status, old)
    call expect(old(MPI_SOURCE) == 5 .and. old(MPI_TAG) == 6 .and. old(MPI_ERROR) == 7, 'MPI_Status_f082f')
    call MPI_Status_f2f08(old, copy)
    call expect(copy%MPI_SOURCE == 5 .and. copy%MPI_TAG == 6 .and. copy%MPI_ERROR == 7, 'MPI_Status_f2f08')
    call MPI_Get_elements(copy, MPI_INTEGER, n)
    call MPI_Test_cancelled(copy, flag)
    call expect(n == 12 .and. flag, 'what a converted status knows')
    call MPI_Status_set_elements_x(status, MPI_INTEGER, 13_MPI_COUNT_KIND)
    call MPI_Get_elements_x(status, MPI_INTEGER, many)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call expect(many == 13 .and. n == 13, 'MPI_Status_set_elements_x')
  end subroutine
end program
