! Fortran 2008: every function that has counts, with integers of kind MPI_COUNT_KIND. Not with: openmpi (4.1), which has none of them.
! Not with: mpich (4.0), which has none for files.
include 'f08_checks.h'

module kinds
  use mpi_f08, only: MPI_COUNT_KIND, MPI_ADDRESS_KIND
  implicit none
  integer, parameter :: c = MPI_COUNT_KIND, p = MPI_ADDRESS_KIND
end module

include 'f08_counts.h'

  subroutine contents()
    type(MPI_Datatype) :: made, types_of(1)
    integer :: numbers(1), combiner
    integer(kind=c) :: integers, addresses, large, datatypes_of, large_numbers(3)
    integer(kind=MPI_ADDRESS_KIND) :: at(1)
    call MPI_Type_vector(2_c, 3_c, 4_c, MPI_INTEGER, made)
    call MPI_Type_get_envelope(made, integers, addresses, large, datatypes_of, combiner)
    call expect(integers == 0 .and. addresses == 0 .and. large == 3 .and. datatypes_of == 1, 'MPI_Type_get_envelope')
    call MPI_Type_get_contents(made, 0_c, 0_c, 3_c, 1_c, numbers, at, large_numbers, types_of)
    call expect(all(large_numbers == [2, 3, 4]) .and. types_of(1) == MPI_INTEGER, 'MPI_Type_get_contents')
    call MPI_Type_free(made)
    ! Generic functions cannot tell these apart by their kinds.
    call MPI_Get_elements(status, MPI_INTEGER, integers)
  end subroutine
end program
