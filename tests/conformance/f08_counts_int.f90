! Fortran 2008: every function that has counts, with integers of the default kind. Not with: openmpi (4.1), which has no collectives
! of MPI 4. Not with: mpich (4.0), whose persistent neighbourhood collectives fail.
include 'f08_checks.h'

module kinds
  implicit none
  integer, parameter :: c = kind(0), p = kind(0)
end module

include 'f08_counts.h'

  subroutine contents()
    type(MPI_Datatype) :: made, types_of(1)
    integer :: numbers(3), integers, addresses, datatypes_of, combiner
    integer(kind=MPI_ADDRESS_KIND) :: at(1)
    call MPI_Type_vector(2, 3, 4, MPI_INTEGER, made)
    call MPI_Type_get_envelope(made, integers, addresses, datatypes_of, combiner)
    call expect(integers == 3 .and. addresses == 0 .and. datatypes_of == 1, 'MPI_Type_get_envelope')
    call MPI_Type_get_contents(made, 3, 0, 1, numbers, at, types_of)
    call expect(all(numbers == [2, 3, 4]) .and. types_of(1) == MPI_INTEGER, 'MPI_Type_get_contents')
    call MPI_Type_free(made)
  end subroutine
end program
