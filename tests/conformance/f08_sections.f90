! Fortran 2008: sections of arrays as buffers of messages, blocking and not: every shape of section, and datatypes whose size is not
! that of an element. Not with: openmpi (4.1), whose buffers must lie in a row. Not with: mpich (4.0), which takes the wrong elements
! of sections of three dimensions and fails with more bytes than elements.
include 'f08_checks.h'

module shapes
  use checks
  implicit none
  type cell
    integer :: number
    real(8) :: value
    character(len=3) :: name
  end type
contains
  ! A value for each place of an array of rank `of`.
  integer function value_at(of, i, j, k)
    integer, intent(in) :: of, i, j, k
    value_at = of*1000000 + i + 100*j + 10000*k
  end function

  subroutine fill(a, of)
    integer, intent(out) :: a(:, :, :)
    integer, intent(in) :: of
    integer :: i, j, k
    do k = 1, size(a, 3)
      do j = 1, size(a, 2)
        do i = 1, size(a, 1)
          a(i, j, k) = value_at(of, i, j, k)
        end do
      end do
    end do
  end subroutine

  ! Sends a section to the right by each mode, and takes the left one's into a section of `to` and into a whole array.
  subroutine exchange(from, to, expected, what)
    integer, intent(in) :: from(:, :, :), expected(:, :, :)
    integer, intent(inout) :: to(:, :, :)
    character(len=*), intent(in) :: what
    type(MPI_Status) :: status
    type(MPI_Request) :: requests(4)
    integer :: n, whole(size(from, 1), size(from, 2), size(from, 3)), other(size(from, 1), size(from, 2), size(from, 3)), got
    n = size(from)
    whole = -1
    other = -1
    to = -1
    call MPI_Irecv(to, n, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(whole, n, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Isend(from, n, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(3))
    call MPI_Issend(from, n, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(4))
    call MPI_Wait(requests(1), status)
    call MPI_Get_count(status, MPI_INTEGER, got)
    call expect(got == n .and. status%MPI_SOURCE == left .and. status%MPI_TAG == 1, what // ': status of a section')
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    call expect(all(requests == MPI_REQUEST_NULL), what // ': requests')
    call expect(all(to == expected), what // ': into a section')
    call expect(all(whole == expected), what // ': into a whole array')
    to = -1
    call MPI_Sendrecv(from, n, MPI_INTEGER, right, 3, to, n, MPI_INTEGER, left, 3, MPI_COMM_WORLD, status)
    call expect(all(to == expected), what // ': MPI_Sendrecv')
    call MPI_Isend(whole, n, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(1))
    to = -1
    call MPI_Recv(to, n, MPI_INTEGER, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call MPI_Sendrecv(whole, n, MPI_INTEGER, left, 5, other, n, MPI_INTEGER, right, 5, MPI_COMM_WORLD, status)
    call expect(all(other == from), what // ': back')
    call MPI_Sendrecv_replace(to, n, MPI_INTEGER, left, 6, right, 6, MPI_COMM_WORLD, status)
    call MPI_Sendrecv_replace(to, n, MPI_INTEGER, left, 6, right, 6, MPI_COMM_WORLD, status)
    call MPI_Sendrecv_replace(to, n, MPI_INTEGER, right, 6, left, 6, MPI_COMM_WORLD, status)
    call MPI_Sendrecv_replace(to, n, MPI_INTEGER, right, 6, left, 6, MPI_COMM_WORLD, status)
  end subroutine
end module

program f08_sections
  use shapes
  implicit none
  integer, target :: a(12, 10, 6), b(12, 10, 6), of_left(12, 10, 6)
  call start()
  call expect(MPI_SUBARRAYS_SUPPORTED, 'MPI_SUBARRAYS_SUPPORTED')
  call fill(a, rank)
  call fill(of_left, left)
  call exchange(a, b, of_left, 'whole')
  call exchange(a(:, :, 2:4), b(:, :, 1:3), of_left(:, :, 2:4), 'planes')
  call exchange(a(3:7, :, :), b(1:5, :, :), of_left(3:7, :, :), 'rows in part')
  call exchange(a(1:12:3, :, :), b(1:12:3, :, :), of_left(1:12:3, :, :), 'stride in the first')
  call exchange(a(:, 1:10:4, :), b(:, 2:10:4, :), of_left(:, 1:10:4, :), 'stride in the second')
  call exchange(a(:, :, 1:6:2), b(:, :, 2:6:2), of_left(:, :, 1:6:2), 'stride in the third')
  call exchange(a(2:12:2, 2:10:2, 2:6:2), b(1:12:2, 1:10:2, 1:6:2), of_left(2:12:2, 2:10:2, 2:6:2), 'stride in all')
  call exchange(a(12:1:-1, :, :), b, of_left(12:1:-1, :, :), 'backwards')
  call exchange(a(12:1:-5, 10:1:-3, 6:1:-1), b(1:3, 1:4, :), of_left(12:1:-5, 10:1:-3, 6:1:-1), 'backwards in all')
  call exchange(a(4:4, :, 2:5), b(9:9, :, 1:4), of_left(4:4, :, 2:5), 'one row')
  call exchange(a(5:4, :, :), b(5:4, :, :), of_left(5:4, :, :), 'nothing')
  call ranks_of_arrays()
  call elements()
  call derived()
  call pointers()
  call persistent()
  call probed()
  call shorter()
  call finish()
contains
  ! Sections of other ranks than the procedures above have.
  subroutine ranks_of_arrays()
    integer :: i, line(20), got(7), many(2, 3, 2, 3, 2), copy(3, 2, 2)
    real :: scalar
    type(MPI_Request) :: request
    line = [(i + 100*rank, i = 1, 20)]
    call MPI_Isend(line(2:20:3), 7, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request)
    call MPI_Recv(got, 7, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(all(got == [(i + 100*left, i = 2, 20, 3)]), 'a line with stride')
    many = reshape([(i + 100*rank, i = 1, 72)], [2, 3, 2, 3, 2])
    call MPI_Isend(many(2, :, 1:2, 2, :), 12, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request)
    call MPI_Recv(copy, 12, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    many = reshape([(i + 100*left, i = 1, 72)], [2, 3, 2, 3, 2])
    call expect(all(copy == many(2, :, 1:2, 2, :)), 'a section of an array of rank 5')
    scalar = real(rank)
    call MPI_Sendrecv_replace(scalar, 1, MPI_REAL, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(nint(scalar) == left, 'a scalar')
    call MPI_Sendrecv_replace(line(5), 2, MPI_INTEGER, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(line(4:7) == [4 + 100*rank, 5 + 100*left, 6 + 100*left, 7 + 100*rank]), 'from an element on')
    call assumed_size(line)
  end subroutine

  subroutine assumed_size(line)
    integer, intent(inout) :: line(*)
    line(1:3) = rank
    call MPI_Sendrecv_replace(line, 3, MPI_INTEGER, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(line(1:3) == left), 'an array of unknown size')
  end subroutine

  ! Elements of several basic ones, of bytes, of characters, of derived types.
  subroutine elements()
    integer :: i
    complex(8) :: z(9), w(5)
    real(8) :: parts(9)
    character(len=5) :: words(6), got(3)
    character(len=20) :: text
    type(cell) :: cells(8), few(4)
    type(MPI_Datatype) :: a_cell
    integer(kind=MPI_ADDRESS_KIND) :: at(4)
    z = [(cmplx(i, 10*i + rank, 8), i = 1, 9)]
    call MPI_Sendrecv(z(1:9:2), 10, MPI_REAL8, right, 1, w, 10, MPI_REAL8, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(w == [(cmplx(i, 10*i + left, 8), i = 1, 9, 2)]), 'complex numbers as reals')
    words = ['one  ', 'two  ', 'three', 'four ', 'five ', 'six  ']
    got = ''
    call MPI_Sendrecv(words(2:6:2), 15, MPI_CHARACTER, right, 1, got, 15, MPI_CHARACTER, left, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call expect(all(got == ['two  ', 'four ', 'six  ']), 'words')
    call MPI_Sendrecv(words(:)(2:3), 12, MPI_CHARACTER, right, 1, text, 12, MPI_CHARACTER, left, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call expect(text(1:12) == 'newohrouivix', 'parts of words: ' // text(1:12))
    call MPI_Sendrecv(z(2:8:3), 48, MPI_BYTE, right, 1, w, 48, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(w(1:3) == [(cmplx(i, 10*i + left, 8), i = 2, 8, 3)]), 'bytes')
    do i = 1, 8
      cells(i) = cell(i + 10*rank, i/2d0, 'abc')
    end do
    call MPI_Get_address(cells(1), at(1))
    call MPI_Get_address(cells(1)%number, at(2))
    call MPI_Get_address(cells(1)%value, at(3))
    call MPI_Get_address(cells(1)%name, at(4))
    call MPI_Type_create_struct(3, [1, 1, 3], at(2:4) - at(1), [MPI_INTEGER, MPI_REAL8, MPI_CHARACTER], a_cell)
    call MPI_Get_address(cells(2), at(2))
    block
      type(MPI_Datatype) :: in_array
      call MPI_Type_create_resized(a_cell, 0_MPI_ADDRESS_KIND, at(2) - at(1), in_array)
      call MPI_Type_free(a_cell)
      a_cell = in_array
    end block
    call MPI_Type_commit(a_cell)
    call MPI_Sendrecv(cells(8:1:-2), 4, a_cell, right, 1, few, 4, a_cell, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(few%number == [8, 6, 4, 2] + 10*left) .and. all(few%value == [4d0, 3d0, 2d0, 1d0]), 'cells')
    few%value = 0
    call MPI_Sendrecv(cells%value, 8, MPI_REAL8, right, 1, few(4:1:-1)%value, 4, MPI_REAL8, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call MPI_Recv(few(4:1:-1)%value, 4, MPI_REAL8, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Recv(parts(1:8), 8, MPI_REAL8, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(parts(1:8) == [(i/2d0, i = 1, 8)]), 'a component of all')
    call MPI_Type_free(a_cell)
  end subroutine

  subroutine derived()
    real(8), pointer :: p(:, :)
    real(8), target :: room(8, 8)
    real(8), allocatable :: free(:)
    integer :: i
    room = reshape([(i + 100d0*rank, i = 1, 64)], [8, 8])
    p => room(8:1:-3, 1:8:2)
    allocate(free(3:14))
    free = 0
    call MPI_Sendrecv(p, 12, MPI_REAL8, right, 1, free, 12, MPI_REAL8, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(nint(free) == 100*left + [8, 5, 2, 24, 21, 18, 40, 37, 34, 56, 53, 50]), 'a pointer to a section')
  end subroutine

  subroutine pointers()
    real(4), target :: room(0:99)
    real(4), pointer :: p(:)
    integer :: i
    room = [(real(i + 1000*rank), i = 0, 99)]
    p(-3:) => room(1:99:7)
    call MPI_Sendrecv_replace(p, size(p), MPI_REAL4, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(nint(room(1:99:7)) == [(i + 1000*left, i = 1, 99, 7)]), 'a pointer with bounds of its own')
    call expect(all(nint(room(0:99:7)) == [(i + 1000*rank, i = 0, 99, 7)]), 'what lies between')
  end subroutine

  subroutine persistent()
    type(MPI_Request) :: requests(2)
    integer :: i, from(5, 4), to(5, 4)
    to = -1
    call MPI_Send_init(from(2, :), 4, MPI_INTEGER, right, 9, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(to(5, 4:1:-1), 4, MPI_INTEGER, left, 9, MPI_COMM_WORLD, requests(2))
    do i = 1, 3
      from = i + 10*rank
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call expect(all(to(5, :) == i + 10*left), 'persistent messages of sections')
    end do
    call expect(all(to(1:4, :) == -1), 'what lies beside the section')
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine

  subroutine probed()
    type(MPI_Message) :: message
    type(MPI_Status) :: status
    type(MPI_Request) :: request
    integer :: from(10), to(10), n
    from = rank
    to = -1
    call MPI_Isend(from(1:10:2), 5, MPI_INTEGER, right, 3, MPI_COMM_WORLD, request)
    call MPI_Mprobe(left, 3, MPI_COMM_WORLD, message, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call MPI_Mrecv(to(2:10:2), n, MPI_INTEGER, message, status)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(n == 5 .and. all(to(2:10:2) == left) .and. all(to(1:10:2) == -1), 'MPI_Mrecv into a section')
    call expect(message == MPI_MESSAGE_NULL, 'message')
  end subroutine

  ! Fewer elements than the section has, and than the receiver asks for.
  subroutine shorter()
    type(MPI_Status) :: status
    integer :: i, from(6, 6), to(6, 6), n
    from = reshape([(i + 100*rank, i = 1, 36)], [6, 6])
    to = -1
    call MPI_Sendrecv(from(1:6:2, :), 7, MPI_INTEGER, right, 1, to(2:6:2, 2:), 15, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call expect(n == 7, 'the count of a short message')
    call expect(all([to(2:6:2, 2), to(2:6:2, 3), to(2, 4)] == [1, 3, 5, 7, 9, 11, 13] + 100*left), 'a part of a section')
    call expect(count(to /= -1) == 7, 'no more than a part')
  end subroutine
end program
