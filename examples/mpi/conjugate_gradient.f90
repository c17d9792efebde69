! Conjugate gradient on a sparse matrix that each rank generates its rows of: a five-point stencil on a
! grid, with further symmetric entries far from the diagonal. What a rank needs of the vector that
! others hold is found once (alltoall, alltoallv) and fetched in each step by point-to-point messages.
!
!   weftfc -O2 conjugate_gradient.f90 -o cg && weftrun -n 4 ./cg
!
! State lives in a module, a common block and saved variables: each rank has its own.
module matrix
  implicit none
  integer, parameter :: columns = 60, rows = 40, order = columns*rows
  integer :: first, last                          ! This rank's rows.
  integer, allocatable :: row_start(:), column(:) ! Compressed rows; columns are numbered anew below.
  double precision, allocatable :: entry(:)
  integer :: ghosts                               ! Elements of the vector that others hold.
  integer, allocatable :: wanted(:), given(:)     ! Their numbers, by owner; what others want of us.
  integer, allocatable :: wanted_count(:), given_count(:), wanted_start(:), given_start(:)
contains
  integer function border(rank, ranks)
    integer, intent(in) :: rank, ranks
    border = int(int(order, 8)*rank/ranks) + 1
  end function

  integer function owner_of(index, ranks)
    integer, intent(in) :: index, ranks
    owner_of = int(int(index - 1, 8)*ranks/order)
    do while (border(owner_of + 1, ranks) <= index)
      owner_of = owner_of + 1
    end do
    do while (border(owner_of, ranks) > index)
      owner_of = owner_of - 1
    end do
  end function

  ! The other end of the far entry of a row: its own inverse, so the matrix is symmetric.
  integer function far(index)
    integer, intent(in) :: index
    far = order + 1 - index
  end function

  subroutine add(index, value, count)
    integer, intent(in) :: index
    double precision, intent(in) :: value
    integer, intent(inout) :: count
    count = count + 1
    column(count) = index
    entry(count) = value
  end subroutine

  subroutine generate(rank, ranks)
    integer, intent(in) :: rank, ranks
    integer :: i, x, y, count
    first = border(rank, ranks)
    last = border(rank + 1, ranks) - 1
    allocate (row_start(first:last + 1), column(6*(last - first + 1)), entry(6*(last - first + 1)))
    count = 0
    do i = first, last
      row_start(i) = count + 1
      x = mod(i - 1, columns)
      y = (i - 1)/columns
      call add(i, 4.5d0, count)
      if (x > 0) call add(i - 1, -1d0, count)
      if (x < columns - 1) call add(i + 1, -1d0, count)
      if (y > 0) call add(i - columns, -1d0, count)
      if (y < rows - 1) call add(i + columns, -1d0, count)
      if (mod(min(i, far(i)), 7) == 0) call add(far(i), -0.25d0, count)
    end do
    row_start(last + 1) = count + 1
  end subroutine
end module

program conjugate_gradient
  use mpi
  use matrix
  implicit none
  integer :: rank, ranks, error, step, i
  double precision :: residual, direction_product, alpha, next_residual, start, sums(2)
  double precision, allocatable :: x(:), r(:), p(:), ap(:)
  character(len=MPI_MAX_PROCESSOR_NAME) :: host
  integer :: host_length
  logical :: is_there
  integer :: steps_taken
  common /progress/ steps_taken

  call MPI_Init(error)
  call MPI_Initialized(is_there, error)
  if (.not. is_there) stop 3
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_Get_processor_name(host, host_length, error)
  if (host_length < 1 .or. len_trim(host) /= host_length) stop 4
  call generate(rank, ranks)
  call find_ghosts()

  allocate (x(first:last), r(first:last), ap(first:last), p(last - first + 1 + ghosts))
  x = 0
  do i = first, last
    r(i) = 1 + mod(i, 5)
  end do
  p(1:last - first + 1) = r
  steps_taken = 0
  start = MPI_Wtime()
  residual = global_sum(r, r)
  if (rank == 0) print '(a, i0, a, es14.7)', 'unknowns ', order, ', residual ', sqrt(residual)
  do step = 1, 200
    call fetch_ghosts()
    call multiply()
    direction_product = global_sum(p(1:last - first + 1), ap)
    alpha = residual/direction_product
    x = x + alpha*p(1:last - first + 1)
    r = r - alpha*ap
    next_residual = global_sum(r, r)
    call count_step()
    if (mod(step, 10) == 0 .and. rank == 0) print '(a, i0, a, es11.4)', 'step ', step, ': residual ', sqrt(next_residual)
    if (sqrt(next_residual) < 1d-9) exit
    p(1:last - first + 1) = r + next_residual/residual*p(1:last - first + 1)
    residual = next_residual
  end do
  sums(1) = sum(x)
  sums(2) = maxval(abs(x))
  if (rank == 0) then
    call MPI_Reduce(MPI_IN_PLACE, sums(1), 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  else
    call MPI_Reduce(sums(1), sums(1), 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  end if
  call MPI_Allreduce(MPI_IN_PLACE, sums(2), 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
  if (rank == 0) then
    print '(a, i0, a, f0.6, a, f0.6)', 'solved in ', steps_taken, ' steps: sum ', sums(1), ', largest ', sums(2)
    if (MPI_Wtime() < start) stop 5
  end if
  call MPI_Finalize(error)

contains

  subroutine count_step()
    integer, save :: calls = 0
    calls = calls + 1
    steps_taken = calls
  end subroutine

  double precision function global_sum(a, b)
    double precision, intent(in) :: a(:), b(:)
    double precision :: mine
    mine = dot_product(a, b)
    call MPI_Allreduce(mine, global_sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end function

  ! Columns outside of this rank become the numbers after its own, in the order of their owners.
  subroutine find_ghosts()
    integer, allocatable :: number(:)
    integer :: k, owner, at
    allocate (number(order), wanted_count(0:ranks - 1), given_count(0:ranks - 1))
    allocate (wanted_start(0:ranks), given_start(0:ranks))
    number = 0
    wanted_count = 0
    do k = 1, row_start(last + 1) - 1
      if (column(k) >= first .and. column(k) <= last) cycle
      if (number(column(k)) /= 0) cycle
      number(column(k)) = -1
      owner = owner_of(column(k), ranks)
      wanted_count(owner) = wanted_count(owner) + 1
    end do
    call MPI_Alltoall(wanted_count, 1, MPI_INTEGER, given_count, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    wanted_start(0) = 0
    given_start(0) = 0
    do owner = 0, ranks - 1
      wanted_start(owner + 1) = wanted_start(owner) + wanted_count(owner)
      given_start(owner + 1) = given_start(owner) + given_count(owner)
    end do
    ghosts = wanted_start(ranks)
    allocate (wanted(max(1, ghosts)), given(max(1, given_start(ranks))))
    at = 0
    do k = 1, order
      if (number(k) /= -1) cycle
      at = at + 1
      wanted(at) = k
      number(k) = last - first + 1 + at
    end do
    do k = 1, row_start(last + 1) - 1
      if (column(k) >= first .and. column(k) <= last) then
        column(k) = column(k) - first + 1
      else
        column(k) = number(column(k))
      end if
    end do
    call MPI_Alltoallv(wanted, wanted_count, wanted_start, MPI_INTEGER, given, given_count, given_start, MPI_INTEGER, &
                       MPI_COMM_WORLD, error)
    given = given - first + 1
  end subroutine

  subroutine fetch_ghosts()
    double precision, allocatable :: out(:)
    integer, allocatable :: requests(:), statuses(:, :)
    integer :: owner, count, own, received
    allocate (out(max(1, given_start(ranks))), requests(2*ranks), statuses(MPI_STATUS_SIZE, 2*ranks))
    own = last - first + 1
    count = 0
    do owner = 0, ranks - 1
      if (wanted_count(owner) == 0) cycle
      count = count + 1
      call MPI_Irecv(p(own + wanted_start(owner) + 1), wanted_count(owner), MPI_DOUBLE_PRECISION, owner, 5, &
                     MPI_COMM_WORLD, requests(count), error)
    end do
    received = count
    do owner = 0, ranks - 1
      if (given_count(owner) == 0) cycle
      count = count + 1
      out(given_start(owner) + 1:given_start(owner + 1)) = p(given(given_start(owner) + 1:given_start(owner + 1)))
      call MPI_Isend(out(given_start(owner) + 1), given_count(owner), MPI_DOUBLE_PRECISION, owner, 5, &
                     MPI_COMM_WORLD, requests(count), error)
    end do
    call MPI_Waitall(count, requests, statuses, error)
    do owner = 1, received
      if (statuses(MPI_TAG, owner) /= 5) stop 6
    end do
  end subroutine

  subroutine multiply()
    integer :: row, k
    do row = first, last
      ap(row) = 0
      do k = row_start(row), row_start(row + 1) - 1
        ap(row) = ap(row) + entry(k)*p(column(k))
      end do
    end do
  end subroutine
end program
