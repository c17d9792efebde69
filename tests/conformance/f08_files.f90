! Fortran 2008: files, each function once; sections of arrays are read and written in place.
! Not with: openmpi (4.1), which crashes with 16 ranks and has no sections.
include 'f08_checks.h'

module handlers
  use checks
  implicit none
  integer, save :: handled = 0
contains
  subroutine on_error(file, error_code)
    type(MPI_File) :: file
    integer :: error_code
    handled = handled + 1
    if (file == MPI_FILE_NULL .or. error_code == MPI_SUCCESS) error stop 'on_error'
  end subroutine
end module

program f08_files
  use handlers
  implicit none
  integer, parameter :: n = 5
  character(len=200) :: path
  type(MPI_File) :: file
  type(MPI_Status) :: status
  type(MPI_Request) :: request
  integer :: i, length
  integer(kind=MPI_OFFSET_KIND) :: own, at
  integer, asynchronous :: out(n), in(n), wide_out(3, n), wide_in(3, n)
  call start()
  call get_environment_variable('TMPDIR', path, length)
  if (length == 0) path = '/tmp'
  i = 0
  if (rank == 0) call system_clock(i)
  call MPI_Bcast(i, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
  write (path(len_trim(path) + 1:), '(a, i0, a)') '/f08_files.', i, '.data'
  own = 4*n*rank
  out = [(i + 100*rank, i = 1, n)]
  call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file)
  call expect(file /= MPI_FILE_NULL, 'MPI_File_open')
  call positions()
  call pointers()
  call sharing()
  call split()
  call sections()
  call queries()
  call views()
  call errors()
  call MPI_File_close(file)
  call expect(file == MPI_FILE_NULL, 'MPI_File_close')
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) call MPI_File_delete(path, MPI_INFO_NULL)
  call finish()
contains
  subroutine check(what)
    character(len=*), intent(in) :: what
    integer :: got
    call MPI_Get_count(status, MPI_INTEGER, got)
    call expect(got == n, what // ': count')
    call expect(all(in == out), what)
    in = -1
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  subroutine positions()
    in = -1
    call MPI_File_write_at(file, own, out, n, MPI_INTEGER, status)
    call MPI_File_read_at(file, own, in, n, MPI_INTEGER, status)
    call check('MPI_File_read_at')
    call MPI_File_write_at_all(file, own, out, n, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_read_at_all(file, own, in, n, MPI_INTEGER, status)
    call check('MPI_File_read_at_all')
    call MPI_File_iwrite_at(file, own, out, n, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_iread_at(file, own, in, n, MPI_INTEGER, request)
    call MPI_Wait(request, status)
    call check('MPI_File_iread_at')
    call MPI_File_iwrite_at_all(file, own, out, n, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_iread_at_all(file, own, in, n, MPI_INTEGER, request)
    call MPI_Wait(request, status)
    call check('MPI_File_iread_at_all')
  end subroutine

  subroutine pointers()
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_write(file, out, n, MPI_INTEGER, status)
    call MPI_File_get_position(file, at)
    call expect(at == own + 4*n, 'MPI_File_get_position')
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_read(file, in, n, MPI_INTEGER, status)
    call check('MPI_File_read')
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_write_all(file, out, n, MPI_INTEGER, status)
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_read_all(file, in, n, MPI_INTEGER, status)
    call check('MPI_File_read_all')
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_iwrite(file, out, n, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_iread(file, in, n, MPI_INTEGER, request)
    call MPI_Wait(request, status)
    call check('MPI_File_iread')
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_iwrite_all(file, out, n, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_iread_all(file, in, n, MPI_INTEGER, request)
    call MPI_Wait(request, status)
    call check('MPI_File_iread_all')
  end subroutine

  subroutine sharing()
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
    call MPI_File_write_ordered(file, out, n, MPI_INTEGER, status)
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
    call MPI_File_read_ordered(file, in, n, MPI_INTEGER, status)
    call check('MPI_File_read_ordered')
    call MPI_File_get_position_shared(file, at)
    call expect(at == 4*n*ranks, 'MPI_File_get_position_shared')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
    call MPI_File_write_ordered_begin(file, out, n, MPI_INTEGER)
    call MPI_File_write_ordered_end(file, out, status)
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
    call MPI_File_read_ordered_begin(file, in, n, MPI_INTEGER)
    call MPI_File_read_ordered_end(file, in, status)
    call check('MPI_File_read_ordered_end')
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
    call MPI_File_write_shared(file, out, n, MPI_INTEGER, status)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
    call MPI_File_read_shared(file, in, n, MPI_INTEGER, status)
    call expect(modulo(in(1), 100) == 1 .and. in(n) == in(1) + n - 1, 'MPI_File_read_shared')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
    call MPI_File_iwrite_shared(file, out, n, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
    call MPI_File_iread_shared(file, in, n, MPI_INTEGER, request)
    call MPI_Wait(request, status)
    call expect(modulo(in(1), 100) == 1 .and. in(n) == in(1) + n - 1, 'MPI_File_iread_shared')
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  subroutine split()
    call MPI_File_write_at_all_begin(file, own, out, n, MPI_INTEGER)
    call MPI_File_write_at_all_end(file, out, status)
    call MPI_File_read_at_all_begin(file, own, in, n, MPI_INTEGER)
    call MPI_File_read_at_all_end(file, in, status)
    call check('MPI_File_read_at_all_end')
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_write_all_begin(file, out, n, MPI_INTEGER)
    call MPI_File_write_all_end(file, out, status)
    call MPI_File_seek(file, own, MPI_SEEK_SET)
    call MPI_File_read_all_begin(file, in, n, MPI_INTEGER)
    call MPI_File_read_all_end(file, in, status)
    call check('MPI_File_read_all_end')
  end subroutine

  subroutine sections()
    integer :: got
    wide_out = -2
    wide_out(2, :) = out
    wide_in = -3
    call MPI_File_write_at(file, own, wide_out(2, :), n, MPI_INTEGER, status)
    call MPI_Get_count(status, MPI_INTEGER, got)
    call expect(got == n, 'the count of a written section')
    call MPI_File_read_at_all(file, own, wide_in(3, n:1:-1), n, MPI_INTEGER, status)
    call expect(all(wide_in(3, n:1:-1) == out) .and. all(wide_in(1:2, :) == -3), 'a section of a file')
    wide_in = -3
    call MPI_File_iread_at(file, own, wide_in(1, :), n, MPI_INTEGER, request)
    call MPI_Wait(request, status)
    call expect(all(wide_in(1, :) == out) .and. all(wide_in(2:3, :) == -3), 'a section that is read in the background')
  end subroutine

  subroutine queries()
    type(MPI_Group) :: group
    type(MPI_Info) :: hints
    integer :: mode, members
    logical :: flag
    integer(kind=MPI_ADDRESS_KIND) :: extent
    call MPI_File_get_size(file, at)
    call expect(at == 4*n*ranks, 'MPI_File_get_size')
    call MPI_File_get_amode(file, mode)
    call expect(mode == MPI_MODE_CREATE + MPI_MODE_RDWR, 'MPI_File_get_amode')
    call MPI_File_get_group(file, group)
    call MPI_Group_size(group, members)
    call expect(members == ranks, 'MPI_File_get_group')
    call MPI_Group_free(group)
    call MPI_File_get_info(file, hints)
    call MPI_File_set_info(file, hints)
    call MPI_Info_free(hints)
    call MPI_File_set_atomicity(file, .true.)
    call MPI_File_get_atomicity(file, flag)
    call expect(flag, 'MPI_File_get_atomicity')
    call MPI_File_set_atomicity(file, .false.)
    call MPI_File_get_byte_offset(file, 8_MPI_OFFSET_KIND, at)
    call expect(at == 8, 'MPI_File_get_byte_offset')
    call MPI_File_get_type_extent(file, MPI_INTEGER, extent)
    call expect(extent == 4, 'MPI_File_get_type_extent')
    call MPI_File_preallocate(file, 4_MPI_OFFSET_KIND*n*ranks + 100)
    call MPI_File_set_size(file, 4_MPI_OFFSET_KIND*n*ranks)
    call MPI_File_sync(file)
    call MPI_File_get_size(file, at)
    call expect(at == 4*n*ranks, 'MPI_File_set_size')
  end subroutine

  subroutine views()
    type(MPI_Datatype) :: every, etype, filetype
    integer(kind=MPI_OFFSET_KIND) :: begin
    character(len=MPI_MAX_DATAREP_STRING) :: name
    call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND*ranks, every)
    call MPI_Type_commit(every)
    call MPI_File_set_view(file, 4_MPI_OFFSET_KIND*rank, MPI_INTEGER, every, 'native', MPI_INFO_NULL)
    call MPI_File_get_view(file, begin, etype, filetype, name)
    call expect(begin == 4*rank .and. etype == MPI_INTEGER .and. name == 'native', 'MPI_File_get_view')
    call MPI_File_write_at_all(file, 0_MPI_OFFSET_KIND, out, n, MPI_INTEGER, status)
    call MPI_File_read_at_all(file, 0_MPI_OFFSET_KIND, in, n, MPI_INTEGER, status)
    call check('a view')
    call MPI_Type_free(every)
    if (filetype /= MPI_INTEGER) call MPI_Type_free(filetype)
  end subroutine

  subroutine errors()
    type(MPI_Errhandler) :: handler
    integer :: code, class
    call MPI_File_create_errhandler(on_error, handler)
    call MPI_File_set_errhandler(file, handler)
    call MPI_Errhandler_free(handler)
    call MPI_File_get_errhandler(file, handler)
    call MPI_Errhandler_free(handler)
    call MPI_File_call_errhandler(file, MPI_ERR_OTHER)
    call expect(handled == 1, 'MPI_File_call_errhandler')
    call MPI_File_set_errhandler(file, MPI_ERRORS_RETURN)
    call MPI_File_write_at(file, -1_MPI_OFFSET_KIND, out, n, MPI_INTEGER, status, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_ARG, 'a negative position')
    call MPI_File_delete('/no/such/file', MPI_INFO_NULL, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_NO_SUCH_FILE, 'MPI_File_delete')
  end subroutine
end program
