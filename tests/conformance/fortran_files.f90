! Files in Fortran: each function once, every way to read and to write. Not with: openmpi (4.1), which crashes with 16 ranks.
module checks
  use mpi
  implicit none
  integer :: rank, ranks, error, wrong = 0
  integer, save :: handled = 0, conversions = 0
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: library
  logical :: is_weft
contains
  subroutine expect(is_so, what)
    logical, intent(in) :: is_so
    character(len=*), intent(in) :: what
    if (is_so) return
    wrong = wrong + 1
    print '(a, i0, a, i0, 2a)', 'rank ', rank, ' of ', ranks, ': wrong: ', what
  end subroutine

  subroutine handle(file, code)
    integer :: file, code
    handled = handled + 1
  end subroutine

  subroutine same_extent(type, extent, state, error)
    integer :: type, error
    integer(kind=MPI_ADDRESS_KIND) :: extent, state
    extent = 4
    error = MPI_SUCCESS
  end subroutine

  ! All bits of an integer are turned over.
  subroutine turn_in(user, type, count, file, position, state, error)
    integer :: user(*), type, count, file(*), error
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: state
    user(position + 1:position + count) = not(file(1:count))
    conversions = conversions + 1
    error = MPI_SUCCESS
  end subroutine
  subroutine turn_out(user, type, count, file, position, state, error)
    integer :: user(*), type, count, file(*), error
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: state
    file(1:count) = not(user(position + 1:position + count))
    conversions = conversions + 1
    error = MPI_SUCCESS
  end subroutine
end module

program fortran_files
  use checks
  implicit none
  character(len=200) :: path
  integer :: all_wrong, file, status(MPI_STATUS_SIZE)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  library = ' '
  call MPI_Get_library_version(library, all_wrong, error)
  is_weft = index(library, 'weft') /= 0
  call choose_path()
  call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  call expect(error == MPI_SUCCESS, 'open')
  call whole()
  call at_offsets()
  call by_pointers()
  call by_shared_pointer()
  call handlers()
  call MPI_File_close(file, error)
  call expect(error == MPI_SUCCESS .and. file == MPI_FILE_NULL, 'close')
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (rank == 0) call MPI_File_delete(path, MPI_INFO_NULL, error)
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0 .and. all_wrong == 0) print '(a)', 'right'
  call MPI_Finalize(error)
  if (all_wrong /= 0) stop 1
contains
  subroutine choose_path()
    integer :: moment
    call system_clock(moment)
    write (path, '(a, i0, a, i0)') '/tmp/conform-fortran-', getpid(), '-', moment
    call MPI_Bcast(path, len(path), MPI_CHARACTER, 0, MPI_COMM_WORLD, error)
  end subroutine

  subroutine settle()
    call MPI_File_sync(file, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_File_sync(file, error)
  end subroutine

  subroutine expect_count(n, what)
    integer :: n, found
    character(len=*) :: what
    call MPI_Get_count(status, MPI_INTEGER, found, error)
    call expect(found == n, what)
  end subroutine

  subroutine whole()
    integer :: mode, group, members, info, etype, filetype
    integer(kind=MPI_OFFSET_KIND) :: bytes, place
    integer(kind=MPI_ADDRESS_KIND) :: extent
    logical :: flag
    character(len=MPI_MAX_DATAREP_STRING) :: name
    call MPI_File_get_amode(file, mode, error)
    call expect(mode == MPI_MODE_CREATE + MPI_MODE_RDWR, 'mode')
    call MPI_File_get_group(file, group, error)
    call MPI_Group_size(group, members, error)
    call expect(members == ranks, 'group')
    call MPI_Group_free(group, error)
    call MPI_File_set_size(file, 100_MPI_OFFSET_KIND, error)
    call MPI_File_preallocate(file, 120_MPI_OFFSET_KIND, error)
    call MPI_File_get_size(file, bytes, error)
    call expect(bytes == 120 .or. .not. is_weft, 'size')
    call MPI_File_get_info(file, info, error)
    call MPI_File_set_info(file, info, error)
    call MPI_Info_free(info, error)
    call MPI_File_set_atomicity(file, .true., error)
    call MPI_File_get_atomicity(file, flag, error)
    call expect(flag .or. .not. is_weft, 'atomicity')
    call MPI_File_set_atomicity(file, .false., error)
    call MPI_File_set_view(file, 8_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, error)
    call MPI_File_get_view(file, place, etype, filetype, name, error)
    call expect(place == 8 .and. etype == MPI_INTEGER .and. filetype == MPI_INTEGER .and. name == 'native', 'view')
    call MPI_File_get_type_extent(file, MPI_INTEGER, extent, error)
    call expect(extent == 4, 'extent')
    call MPI_File_get_byte_offset(file, 5_MPI_OFFSET_KIND, place, error)
    call expect(place == 28, 'byte offset')
    call MPI_File_seek(file, 3_MPI_OFFSET_KIND, MPI_SEEK_SET, error)
    call MPI_File_get_position(file, place, error)
    call expect(place == 3, 'position')
    call MPI_File_seek_shared(file, 4_MPI_OFFSET_KIND, MPI_SEEK_SET, error)
    call MPI_File_get_position_shared(file, place, error)
    call expect(place == 4, 'shared position')
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end subroutine

  ! Six ints for each rank: each function writes one.
  subroutine at_offsets()
    integer(kind=MPI_OFFSET_KIND) :: at
    integer :: mine(5), found(5), requests(2)
    integer :: i
    at = 5*rank
    mine = [(100*rank + i, i=1, 5)]
    found = -1
    call MPI_File_write_at(file, at, mine(1:1), 1, MPI_INTEGER, status, error)
    call expect_count(1, 'write_at')
    call MPI_File_write_at_all(file, at + 1, mine(2:2), 1, MPI_INTEGER, status, error)
    call MPI_File_iwrite_at(file, at + 2, mine(3:3), 1, MPI_INTEGER, requests(1), error)
    call MPI_File_iwrite_at_all(file, at + 3, mine(4:4), 1, MPI_INTEGER, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call MPI_File_write_at_all_begin(file, at + 4, mine(5:5), 1, MPI_INTEGER, error)
    call MPI_File_write_at_all_end(file, mine(5:5), status, error)
    call expect_count(1, 'write_at_all_end')
    call settle()
    call MPI_File_read_at(file, at, found(1:1), 1, MPI_INTEGER, status, error)
    call MPI_File_read_at_all(file, at + 1, found(2:2), 1, MPI_INTEGER, status, error)
    call MPI_File_iread_at(file, at + 2, found(3:3), 1, MPI_INTEGER, requests(1), error)
    call MPI_File_iread_at_all(file, at + 3, found(4:4), 1, MPI_INTEGER, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call MPI_File_read_at_all_begin(file, at + 4, found(5:5), 1, MPI_INTEGER, error)
    call MPI_File_read_at_all_end(file, found(5:5), status, error)
    call expect_count(1, 'read_at_all_end')
    call expect(all(found == mine), 'at offsets')
    call settle()
  end subroutine

  subroutine by_pointers()
    integer(kind=MPI_OFFSET_KIND) :: at
    integer :: mine(5), found(5), request
    integer :: i
    at = 5*rank
    mine = [(1000*rank + i, i=1, 5)]
    found = -1
    call MPI_File_seek(file, at, MPI_SEEK_SET, error)
    call MPI_File_write(file, mine(1:1), 1, MPI_INTEGER, status, error)
    call MPI_File_write_all(file, mine(2:2), 1, MPI_INTEGER, status, error)
    call MPI_File_iwrite(file, mine(3:3), 1, MPI_INTEGER, request, error)
    call MPI_Wait(request, status, error)
    call MPI_File_iwrite_all(file, mine(4:4), 1, MPI_INTEGER, request, error)
    call MPI_Wait(request, status, error)
    call MPI_File_write_all_begin(file, mine(5:5), 1, MPI_INTEGER, error)
    call MPI_File_write_all_end(file, mine(5:5), status, error)
    call settle()
    call MPI_File_seek(file, at, MPI_SEEK_SET, error)
    call MPI_File_read(file, found(1:1), 1, MPI_INTEGER, status, error)
    call MPI_File_read_all(file, found(2:2), 1, MPI_INTEGER, status, error)
    call MPI_File_iread(file, found(3:3), 1, MPI_INTEGER, request, error)
    call MPI_Wait(request, status, error)
    call MPI_File_iread_all(file, found(4:4), 1, MPI_INTEGER, request, error)
    call MPI_Wait(request, status, error)
    call MPI_File_read_all_begin(file, found(5:5), 1, MPI_INTEGER, error)
    call MPI_File_read_all_end(file, found(5:5), status, error)
    call expect_count(1, 'read_all_end')
    call expect(all(found == mine), 'by pointers')
    call settle()
  end subroutine

  subroutine by_shared_pointer()
    integer(kind=MPI_OFFSET_KIND) :: place
    integer :: mine(4), found(4), request, total, all_total
    integer :: i
    mine = [(10*rank + i, i=1, 4)]
    found = 0
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET, error)
    call MPI_File_write_shared(file, mine(1:1), 1, MPI_INTEGER, status, error)
    call MPI_File_iwrite_shared(file, mine(2:2), 1, MPI_INTEGER, request, error)
    call MPI_Wait(request, status, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_File_write_ordered(file, mine(3:3), 1, MPI_INTEGER, status, error)
    call MPI_File_write_ordered_begin(file, mine(4:4), 1, MPI_INTEGER, error)
    call MPI_File_write_ordered_end(file, mine(4:4), status, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_File_get_position_shared(file, place, error)
    call expect(place == 4*ranks, 'shared position at the end')
    call settle()
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET, error)
    call MPI_File_read_shared(file, found(1:1), 1, MPI_INTEGER, status, error)
    call MPI_File_iread_shared(file, found(2:2), 1, MPI_INTEGER, request, error)
    call MPI_Wait(request, status, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_File_read_ordered(file, found(3:3), 1, MPI_INTEGER, status, error)
    call MPI_File_read_ordered_begin(file, found(4:4), 1, MPI_INTEGER, error)
    call MPI_File_read_ordered_end(file, found(4:4), status, error)
    call expect(found(3) == mine(3) .and. found(4) == mine(4), 'ordered')
    call MPI_Allreduce(found(1) + found(2), total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Allreduce(mine(1) + mine(2), all_total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(total == all_total, 'shared')
    call settle()
  end subroutine

  subroutine handlers()
    integer :: handler, found, value(1)
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer(kind=MPI_OFFSET_KIND) :: before
    call MPI_File_create_errhandler(handle, handler, error)
    call MPI_File_set_errhandler(file, handler, error)
    call MPI_File_get_errhandler(file, found, error)
    call expect(found == handler, 'handler')
    call MPI_File_call_errhandler(file, MPI_ERR_IO, error)
    call expect(handled == 1, 'handled')
    before = -1
    call MPI_File_read_at(file, before, value, 1, MPI_INTEGER, status, error)
    call expect(handled == 2 .or. .not. is_weft, 'handled an error')
    call MPI_File_set_errhandler(file, MPI_ERRORS_RETURN, error)
    call MPI_Errhandler_free(found, error)
    call MPI_Errhandler_free(handler, error)
    state = 3
    call MPI_Register_datarep('turned', turn_in, turn_out, same_extent, state, error)
    call expect(error == MPI_SUCCESS .or. .not. is_weft, 'register')
    if (is_weft) then ! MPICH 4.0 and Open MPI 4.1 know no representation but native.
      call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'turned', MPI_INFO_NULL, error)
      call expect(error == MPI_SUCCESS, 'view of a representation')
      value = 77 + rank
      call MPI_File_write_at_all(file, int(rank, MPI_OFFSET_KIND), value, 1, MPI_INTEGER, status, error)
      call settle()
      value = 0
      call MPI_File_read_at_all(file, int(rank, MPI_OFFSET_KIND), value, 1, MPI_INTEGER, status, error)
      call expect(value(1) == 77 + rank .and. conversions > 0, 'turned')
      call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, error)
      call settle()
      call MPI_File_read_at_all(file, int(rank, MPI_OFFSET_KIND), value, 1, MPI_INTEGER, status, error)
      call expect(value(1) == not(77 + rank), 'turned in the file')
    end if
  end subroutine
end program
