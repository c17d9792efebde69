! Fortran 2008: sections of arrays in collectives, blocking, started and persistent, also where the parts of ranks do not begin with a
! row of the section; and in the partitions of a message. What lies between a section's elements must stay.
!
! Run with: -n 1
! Run with: -n 4
! Run with: -n 5 --processes 2 --check
! Run with: -n 3 --ranks-per-process 1
include '../f08_checks.h'

module sections
  use checks
  implicit none
  integer, parameter :: untouched = -7
  ! Two arrays, of which the calls use (1:11:2, :, 2:6:2): rows of 6, planes of 6 x 5, 90 elements.
  integer, target :: from(12, 5, 6), to(12, 5, 6)
  integer, allocatable :: sent(:), got(:), counts(:), places(:), bytes(:)
  type(MPI_Datatype), allocatable :: types(:)
contains
  ! The section's elements in their order.
  function row(a)
    integer, intent(in) :: a(12, 5, 6)
    integer :: row(90)
    row = reshape(a(1:11:2, :, 2:6:2), [90])
  end function

  subroutine reset(seed)
    integer, intent(in) :: seed
    integer :: i
    from = reshape([(i + 1000*seed, i = 1, 360)], [12, 5, 6])
    to = untouched
  end subroutine

  ! What rank `of` has sent.
  function row_of(of)
    integer, intent(in) :: of
    integer :: row_of(90), i
    integer :: a(12, 5, 6)
    a = reshape([(i + 1000*of, i = 1, 360)], [12, 5, 6])
    row_of = row(a)
  end function

  ! Whether `to` has these elements first in its section and nothing else has changed.
  subroutine check(first, n, what)
    integer, intent(in) :: first(:), n
    character(len=*), intent(in) :: what
    integer :: has(90)
    has = row(to)
    call expect(all(has(1:n) == first(1:n)), what)
    call expect(all(has(n + 1:) == untouched), what // ': beyond the part')
    call expect(count(to /= untouched) == count(first(1:n) /= untouched), what // ': between the elements')
  end subroutine
end module

program f08_collective_sections
  use sections
  implicit none
  integer :: root, n, i, r, way
  type(MPI_Request) :: request
  type(MPI_Op) :: own
  call start()
  root = ranks - 1
  allocate(sent(90), got(90*ranks), counts(ranks), places(ranks), bytes(ranks), types(ranks))
  types = MPI_INTEGER
  call MPI_Op_create(subtract_reversed, .true., own)
  do way = 1, 2
    do n = 1, 90/ranks, max(1, 14/ranks)
      call moved()
      call listed()
    end do
    call reduced()
  end do
  call kept()
  call partitions()
  call refused()
  call MPI_Op_free(own)
  call finish()
contains
  subroutine subtract_reversed(invec, inoutvec, len, datatype)
    use, intrinsic :: iso_c_binding
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call expect(datatype == MPI_INTEGER, 'the datatype of an operation')
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = in + inout
  end subroutine

  subroutine complete()
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine

  subroutine moved()
    integer :: expected(90)
    logical :: blocking
    blocking = way == 1
    associate (s => from(1:11:2, :, 2:6:2), t => to(1:11:2, :, 2:6:2))
      call reset(rank)
      if (rank == root) to = from
      if (blocking) then
        call MPI_Bcast(t, n, MPI_INTEGER, root, MPI_COMM_WORLD)
      else
        call MPI_Ibcast(t, n, MPI_INTEGER, root, MPI_COMM_WORLD, request)
        call complete()
      end if
      expected = row_of(root)
      if (rank /= root) call check(expected, n, 'broadcast')

      call reset(rank)
      if (blocking) then
        call MPI_Allgather(s, n, MPI_INTEGER, t, n, MPI_INTEGER, MPI_COMM_WORLD)
      else
        call MPI_Iallgather(s, n, MPI_INTEGER, t, n, MPI_INTEGER, MPI_COMM_WORLD, request)
        call complete()
      end if
      do r = 0, ranks - 1
        sent = row_of(r)
        expected(n*r + 1:n*r + n) = sent(1:n)
      end do
      call check(expected, n*ranks, 'allgather')

      call reset(rank)
      if (blocking) then
        call MPI_Gather(s, n, MPI_INTEGER, t, n, MPI_INTEGER, root, MPI_COMM_WORLD)
      else
        call MPI_Igather(s, n, MPI_INTEGER, t, n, MPI_INTEGER, root, MPI_COMM_WORLD, request)
        call complete()
      end if
      call check(expected, merge(n*ranks, 0, rank == root), 'gather')

      call reset(root)
      if (blocking) then
        call MPI_Scatter(s, n, MPI_INTEGER, t, n, MPI_INTEGER, root, MPI_COMM_WORLD)
      else
        call MPI_Iscatter(s, n, MPI_INTEGER, t, n, MPI_INTEGER, root, MPI_COMM_WORLD, request)
        call complete()
      end if
      sent = row(from)
      call check(sent(n*rank + 1:), n, 'scatter')

      call reset(rank)
      if (blocking) then
        call MPI_Alltoall(s, n, MPI_INTEGER, t, n, MPI_INTEGER, MPI_COMM_WORLD)
      else
        call MPI_Ialltoall(s, n, MPI_INTEGER, t, n, MPI_INTEGER, MPI_COMM_WORLD, request)
        call complete()
      end if
      do r = 0, ranks - 1
        sent = row_of(r)
        expected(n*r + 1:n*r + n) = sent(n*rank + 1:n*rank + n)
      end do
      call check(expected, n*ranks, 'alltoall')

      call reset(rank)
      to = from
      if (blocking) then
        call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, t, n, MPI_INTEGER, MPI_COMM_WORLD)
      else
        call MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, t, n, MPI_INTEGER, MPI_COMM_WORLD, request)
        call complete()
      end if
      sent = row(to)
      call expect(all(sent(1:n*ranks) == expected(1:n*ranks)), 'alltoall in place')

      call reset(rank)
      sent = row_of(rank)
      got = untouched
      got(n*rank + 1:n*rank + n) = sent(1:n)
      t = reshape(got(1:90), [6, 5, 3])
      if (blocking) then
        call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, t, n, MPI_INTEGER, MPI_COMM_WORLD)
      else
        call MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, t, n, MPI_INTEGER, MPI_COMM_WORLD, request)
        call complete()
      end if
      do r = 0, ranks - 1
        sent = row_of(r)
        expected(n*r + 1:n*r + n) = sent(1:n)
      end do
      call check(expected, n*ranks, 'allgather in place')
    end associate
  end subroutine

  ! Parts of different lengths, in the reverse order of ranks, with gaps where there is room.
  subroutine listed()
    integer :: expected(90), gap
    gap = 90/ranks
    counts = [(max(n - r, 0), r = 0, ranks - 1)]
    places = [(gap*(ranks - 1 - r), r = 0, ranks - 1)]
    bytes = 4*places
    associate (s => from(1:11:2, :, 2:6:2), t => to(1:11:2, :, 2:6:2))
      call reset(rank)
      if (way == 1) then
        call MPI_Allgatherv(s, counts(rank + 1), MPI_INTEGER, t, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
      else
        call MPI_Iallgatherv(s, counts(rank + 1), MPI_INTEGER, t, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request)
        call complete()
      end if
      expected = untouched
      do r = 0, ranks - 1
        sent = row_of(r)
        expected(places(r + 1) + 1:places(r + 1) + counts(r + 1)) = sent(1:counts(r + 1))
      end do
      call check(expected, 90, 'allgatherv')

      call reset(rank)
      if (way == 1) then
        call MPI_Gatherv(s, counts(rank + 1), MPI_INTEGER, t, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD)
      else
        call MPI_Igatherv(s, counts(rank + 1), MPI_INTEGER, t, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD, request)
        call complete()
      end if
      if (rank == root) call check(expected, 90, 'gatherv')

      call reset(root)
      if (way == 1) then
        call MPI_Scatterv(s, counts, places, MPI_INTEGER, t, counts(rank + 1), MPI_INTEGER, root, MPI_COMM_WORLD)
      else
        call MPI_Iscatterv(s, counts, places, MPI_INTEGER, t, counts(rank + 1), MPI_INTEGER, root, MPI_COMM_WORLD, request)
        call complete()
      end if
      sent = row(from)
      call check(sent(places(rank + 1) + 1:), counts(rank + 1), 'scatterv')

      do i = 1, 2
        call reset(rank)
        counts = n
        if (i == 1 .and. way == 1) then
          call MPI_Alltoallv(s, counts, places, MPI_INTEGER, t, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
        else if (i == 1) then
          call MPI_Ialltoallv(s, counts, places, MPI_INTEGER, t, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request)
          call complete()
        else if (way == 1) then
          call MPI_Alltoallw(s, counts, bytes, types, t, counts, bytes, types, MPI_COMM_WORLD)
        else
          call MPI_Ialltoallw(s, counts, bytes, types, t, counts, bytes, types, MPI_COMM_WORLD, request)
          call complete()
        end if
        expected = untouched
        do r = 0, ranks - 1
          sent = row_of(r)
          expected(places(r + 1) + 1:places(r + 1) + n) = sent(places(rank + 1) + 1:places(rank + 1) + n)
        end do
        call check(expected, 90, 'alltoallv, alltoallw')
      end do
    end associate
  end subroutine

  subroutine reduced()
    integer :: whole(90), some(4), m
    type(MPI_Op) :: op
    associate (s => from(1:11:2, :, 2:6:2), t => to(1:11:2, :, 2:6:2))
      do i = 1, 2
        op = MPI_SUM
        if (i == 2) op = own
        m = 23
        whole = 0
        do r = 0, ranks - 1
          whole = whole + row_of(r)
        end do
        call reset(rank)
        if (way == 1) then
          call MPI_Allreduce(s, t, m, MPI_INTEGER, op, MPI_COMM_WORLD)
        else
          call MPI_Iallreduce(s, t, m, MPI_INTEGER, op, MPI_COMM_WORLD, request)
          call complete()
        end if
        call check(whole, m, 'allreduce')
        call reset(rank)
        to = from
        if (way == 1) then
          call MPI_Allreduce(MPI_IN_PLACE, t, 90, MPI_INTEGER, op, MPI_COMM_WORLD)
        else
          call MPI_Iallreduce(MPI_IN_PLACE, t, 90, MPI_INTEGER, op, MPI_COMM_WORLD, request)
          call complete()
        end if
        call expect(all(row(to) == whole), 'allreduce in place')
        ! A section on one side only.
        call reset(rank)
        sent = row(from)
        call MPI_Allreduce(sent, t, m, MPI_INTEGER, op, MPI_COMM_WORLD)
        call check(whole, m, 'allreduce into a section')
        sent = untouched
        call MPI_Allreduce(s, sent, m, MPI_INTEGER, op, MPI_COMM_WORLD)
        call expect(all(sent(1:m) == whole(1:m)) .and. all(sent(m + 1:) == untouched), 'allreduce of a section')
        call reset(rank)
        if (way == 1) then
          call MPI_Reduce(s, t, m, MPI_INTEGER, op, root, MPI_COMM_WORLD)
        else
          call MPI_Ireduce(s, t, m, MPI_INTEGER, op, root, MPI_COMM_WORLD, request)
          call complete()
        end if
        call check(whole, merge(m, 0, rank == root), 'reduce')
        call reset(rank)
        call MPI_Scan(s, t, m, MPI_INTEGER, op, MPI_COMM_WORLD)
        sent = 0
        do r = 0, rank
          sent = sent + row_of(r)
        end do
        call check(sent, m, 'scan')
        call reset(rank)
        call MPI_Exscan(s, t, m, MPI_INTEGER, op, MPI_COMM_WORLD)
        sent = sent - row_of(rank)
        if (rank > 0) call check(sent, m, 'exscan')
        n = 90/ranks
        call reset(rank)
        if (way == 1) then
          call MPI_Reduce_scatter_block(s, t, n, MPI_INTEGER, op, MPI_COMM_WORLD)
        else
          call MPI_Ireduce_scatter_block(s, t, n, MPI_INTEGER, op, MPI_COMM_WORLD, request)
          call complete()
        end if
        call check(whole(n*rank + 1:), n, 'reduce_scatter_block')
        counts = [(r + 1, r = 0, ranks - 1)]
        call reset(rank)
        call MPI_Reduce_scatter(s, t, counts, MPI_INTEGER, op, MPI_COMM_WORLD)
        call check(whole(rank*(rank + 1)/2 + 1:), rank + 1, 'reduce_scatter')
        call reset(rank)
        to = from
        call MPI_Reduce_local(s, t, 5, MPI_INTEGER, op)
        sent = row(to)
        call expect(all(sent(1:5) == 2*[1, 3, 5, 7, 9] + 120 + 2000*rank), 'reduce_local')
      end do
      some = [1, 2, 3, 4]
    end associate
  end subroutine

  ! Persistent collectives keep the section.
  subroutine kept()
    type(MPI_Request) :: requests(2)
    integer :: expected(90)
    n = 90/ranks
    call reset(rank)
    call MPI_Allgather_init(from(1:11:2, :, 2:6:2), n, MPI_INTEGER, to(1:11:2, :, 2:6:2), n, MPI_INTEGER, MPI_COMM_WORLD, &
                            MPI_INFO_NULL, requests(1))
    call MPI_Allreduce_init(MPI_IN_PLACE, from(2, 3, ::2), 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
    do way = 1, 3
      call reset(rank)
      from = from + way
      call MPI_Start(requests(1))
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
      do r = 0, ranks - 1
        sent = row_of(r) + way
        expected(n*r + 1:n*r + n) = sent(1:n)
      end do
      call check(expected, n*ranks, 'a persistent allgather')
      call MPI_Start(requests(2))
      call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
      call expect(all(from(2, 3, ::2) == [26, 146, 266] + 1000*(ranks - 1) + way), 'a persistent allreduce')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine

  ! Partitions begin anywhere in a section, others at both sides.
  subroutine partitions()
    type(MPI_Request) :: requests(2)
    integer :: p, expected(90), code, class
    call MPI_Psend_init(from(1:11:2, :, 2:6:2), 9, 10_MPI_COUNT_KIND, MPI_INTEGER, mod(rank + 1, ranks), 3, MPI_COMM_WORLD, &
                        MPI_INFO_NULL, requests(1))
    call MPI_Precv_init(to(1:11:2, :, 2:6:2), 2, 45_MPI_COUNT_KIND, MPI_INTEGER, mod(rank + ranks - 1, ranks), 3, &
                        MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
    do way = 1, 3
      call reset(rank)
      from = from + way
      call MPI_Startall(2, requests)
      do p = 0, 8
        call MPI_Pready(mod(4*p, 9), requests(1))
      end do
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      expected = row_of(mod(rank + ranks - 1, ranks)) + way
      call check(expected, 90, 'partitions')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Psend_init(from(1:11:2, 1, 1), 7, 1_MPI_COUNT_KIND, MPI_INTEGER, 0, 3, MPI_COMM_SELF, MPI_INFO_NULL, requests(1), &
                        code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_BUFFER, 'partitions beyond the section')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
  end subroutine

  ! What does not fit into a section is refused, and the buffer stays.
  subroutine refused()
    integer :: code, class
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: length
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call reset(rank)
    call MPI_Bcast(to(1:11:2, :, 2:6:2), 91, MPI_INTEGER, root, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, class)
    call MPI_Error_string(code, text, length)
    call expect(class == MPI_ERR_BUFFER, 'a count beyond the section: ' // text(1:length))
    call MPI_Send(from(::2, 1, 1), 7, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_BUFFER, 'a message beyond the section')
    call MPI_Allgather(from(::2, 1, 1), 1, MPI_INTEGER, to(::2, 1, 1), 7, MPI_INTEGER, MPI_COMM_SELF, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_BUFFER, 'parts beyond the section')
    call MPI_Allreduce(from(::2, 1, 1), to(::2, 1, 1), 7, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_BUFFER, 'a reduction beyond the section')
    call expect(all(to == untouched), 'what a refused call leaves')
    call MPI_Buffer_attach(from(::2, 1, 1), 100, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_BUFFER, 'a buffer with gaps')
    call MPI_Send(from(::2, 1, 1), 2, MPI_DATATYPE_NULL, rank, 1, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_TYPE, 'a section without a datatype')
    call MPI_Send(from(::2, 1, 1), -2, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_COUNT, 'a section with a negative count')
  end subroutine
end program
