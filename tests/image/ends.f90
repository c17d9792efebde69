! One rank ends in the way that the first word says; the others wait for a message that nobody sends.
program ends
  use mpi
  implicit none
  character(len=16) :: way
  integer :: rank, ierror, value
  call get_command_argument(1, way)
  call mpi_init(ierror)
  call mpi_comm_rank(mpi_comm_world, rank, ierror)
  if (rank == 1) then
    if (way == 'stop') stop 7
    if (way == 'error-stop') error stop 7
    if (way == 'stop-text') error stop 'the reason'
    if (way == 'exit') call exit(7)
    if (way == 'abort') call abort()
    if (way == 'fault') call fault()
    if (way == 'failure') open (20, file='/nowhere/at/all', status='old')
  end if
  if (rank /= 1) call mpi_recv(value, 1, mpi_integer, 1, 0, mpi_comm_world, mpi_status_ignore, ierror)
  call mpi_finalize(ierror)

contains

  subroutine fault()
    use, intrinsic :: iso_c_binding
    integer, pointer, volatile :: nowhere
    call c_f_pointer(transfer(1_c_intptr_t, c_null_ptr), nowhere)
    nowhere = 1
  end subroutine
end program
