! Fortran's globals and its run time belong to one rank: common blocks, saved variables, modules,
! and the units, of which each rank opens number 20 with a file of its own.
module state
  implicit none
  integer :: of_module = 0
contains
  integer function next()
    integer, save :: calls = 0
    calls = calls + 1
    next = calls
  end function
end module

integer function printed_within()
  ! Called by a print statement that holds its unit.
  implicit none
  character(len=16) :: text
  write (text, '(i4)') 42
  call usleep_a_little()
  read (text, *) printed_within
end function

subroutine usleep_a_little()
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function usleep(microseconds) bind(c)
      import c_int
      integer(c_int), value :: microseconds
    end function
  end interface
  integer :: ignored
  ignored = usleep(500)
end subroutine

program main
  use state
  implicit none
  integer :: shared_value, i, j, got, unit_line
  common /block/ shared_value
  integer, external :: printed_within
  character(len=256) :: directory, file
  character(len=16) :: number
  logical :: right
  interface
    integer(4) function weft_rank() bind(c, name='_ZN4weft9this_rankEv')
    end function
  end interface

  call get_command_argument(1, directory)
  write (number, '(i0)') weft_rank()
  file = trim(directory)//'/unit'//trim(number)
  shared_value = 0
  open (unit=20, file=file, status='replace', action='readwrite')
  do i = 1, 5
    of_module = of_module + 1
    shared_value = shared_value + 1
    write (20, *) weft_rank()
    j = next()
    call usleep_a_little()
  end do
  right = of_module == 5 .and. shared_value == 5 .and. j == 5
  rewind (20)
  do i = 1, 5
    read (20, *) got
    right = right .and. got == weft_rank()
  end do
  close (20)
  write (*, '(a,i0,a)', advance='no') 'rank ', weft_rank(), ' begins'
  call usleep_a_little()
  write (*, '(a,i0)') ' and ends ', weft_rank()
  print *, 'inside', printed_within(), 'of', weft_rank()
  if (.not. right) error stop 3
  print *, 'right'
end program
