! Failure mitigation by module mpi: agreements, communicators that are revoked, and the living. Nobody dies.
!
! Run with: -n 4
! Run with: -n 4 --processes 2 --on-failure error
program fortran_failures
  use mpi
  implicit none
  integer :: comm, next, failed, request, rank, ranks, ierror, flag, count, class, wrong = 0
  integer, asynchronous :: again
  logical :: is_revoked

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierror)
  flag = ior(6, merge(1, 0, rank == 0))
  call MPIX_Comm_agree(comm, flag, ierror)
  if (ierror /= MPI_SUCCESS .or. flag /= 6) wrong = wrong + 1
  call MPIX_Comm_iagree(comm, flag, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  if (flag /= 6) wrong = wrong + 1
  call MPIX_Comm_ishrink(comm, again, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_Comm_size(again, count, ierror)
  if (count /= ranks) wrong = wrong + 1
  call MPI_Comm_free(again, ierror)
  call MPIX_Comm_failure_ack(comm, ierror)
  call MPIX_Comm_failure_get_acked(comm, failed, ierror)
  call MPI_Group_size(failed, count, ierror)
  if (count /= 0) wrong = wrong + 1
  call MPIX_Comm_get_failed(comm, failed, ierror)
  call MPIX_Comm_ack_failed(comm, 1, count, ierror)
  if (ierror /= MPI_SUCCESS .or. count /= 0) wrong = wrong + 1
  call MPIX_Comm_revoke(comm, ierror)
  call MPIX_Comm_is_revoked(comm, is_revoked, ierror)
  if (.not. is_revoked) wrong = wrong + 1
  call MPI_Barrier(comm, ierror)
  call MPI_Error_class(ierror, class, ierror)
  if (class /= MPIX_ERR_REVOKED .or. class == MPIX_ERR_PROC_FAILED) wrong = wrong + 1
  call MPIX_Comm_shrink(comm, next, ierror)
  call MPI_Allreduce(wrong, count, 1, MPI_INTEGER, MPI_SUM, next, ierror)
  if (rank == 0 .and. count == 0) print '(a)', 'right'
  call MPI_Comm_free(next, ierror)
  call MPI_Comm_free(comm, ierror)
  call MPI_Finalize(ierror)
end program
