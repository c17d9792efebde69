! Failure mitigation in Fortran 2008: the last rank dies with its process; the others acknowledge that, agree, revoke, shrink and go on.
!
! Run with: --on-failure error -n 4 --ranks-per-process 1 --timeout 60
include '../f08_checks.h'

module this_process
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function getpid() bind(C, name='getpid')
      import
      integer(c_int) :: getpid
    end function
    function kill(process, signal) bind(C, name='kill')
      import
      integer(c_int), value :: process, signal
      integer(c_int) :: kill
    end function
  end interface
end module

program f08_failures
  use checks
  use this_process
  implicit none
  type(MPI_Comm) :: comm, next
  type(MPI_Group) :: failed
  type(MPI_Request) :: request
  integer :: ierror, flag, count, acked, class, all_wrong
  integer(kind=MPI_ADDRESS_KIND) :: value
  integer, asynchronous :: later
  type(MPI_Comm), asynchronous :: again
  logical :: is_set, is_revoked

  call start()
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, value, is_set)
  call expect(is_set .and. value == 1, 'MPIX_FT')
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  flag = ior(6, merge(1, 0, rank == 0))
  call MPIX_Comm_agree(comm, flag)
  call expect(flag == 6, 'the flag of all')
  later = ieor(flag, 2)
  call MPIX_Comm_iagree(comm, later, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call expect(later == 4, 'the flag of all, later')
  call MPIX_Comm_ishrink(comm, again, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Comm_size(again, count)
  call expect(count == ranks, 'nobody is dead')
  call MPI_Comm_free(again)

  ! It dies when all others have come so far.
  if (rank == ranks - 1) then
    do acked = 0, ranks - 2
      call MPI_Recv(count, 1, MPI_INTEGER, acked, 2, comm, MPI_STATUS_IGNORE)
    end do
    ierror = kill(getpid(), 9_c_int)
  end if
  call MPI_Send(count, 1, MPI_INTEGER, ranks - 1, 2, comm)
  call MPI_Recv(count, 1, MPI_INTEGER, ranks - 1, 1, comm, MPI_STATUS_IGNORE, ierror)
  call MPI_Error_class(ierror, class)
  call expect(class == MPIX_ERR_PROC_FAILED, 'a receive from the dead')
  call MPIX_Comm_get_failed(comm, failed)
  call MPI_Group_size(failed, count)
  call expect(count == 1, 'one is dead')
  call MPI_Group_free(failed)
  call MPIX_Comm_ack_failed(comm, 5, acked)
  call expect(acked == 1, 'one is acknowledged')
  call MPIX_Comm_failure_ack(comm)
  call MPIX_Comm_failure_get_acked(comm, failed)
  call MPI_Group_size(failed, count)
  call expect(count == 1, 'it is in the group')
  call MPI_Group_free(failed)
  call MPIX_Comm_is_revoked(comm, is_revoked)
  call expect(.not. is_revoked, 'nobody has revoked')
  flag = 3
  call MPIX_Comm_agree(comm, flag, ierror)
  call expect(ierror == MPI_SUCCESS .and. flag == 3, 'the living agree')
  call MPIX_Comm_revoke(comm)
  call MPIX_Comm_is_revoked(comm, is_revoked)
  call expect(is_revoked, 'it is revoked')
  call MPI_Send(count, 1, MPI_INTEGER, 0, 1, comm, ierror)
  call MPI_Error_class(ierror, class)
  call expect(class == MPIX_ERR_REVOKED, 'a message on what is revoked')
  call expect(MPIX_ERR_PROC_FAILED_PENDING /= MPIX_ERR_REVOKED, 'classes')
  call PMPIX_Comm_shrink(comm, next)
  call MPI_Comm_size(next, count)
  call expect(count == ranks - 1, 'the living')
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, next)
  if (rank == 0 .and. all_wrong == 0) print '(a)', 'right'
  call MPI_Comm_free(next)
  call MPI_Comm_free(comm)
  call MPI_Finalize()
end program
