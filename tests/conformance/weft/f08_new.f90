! Fortran 2008: functions of MPI 4 and 5 that the others have not, representations of files, names for profiling, errors that are told.
!
! Run with: -n 1
! Run with: -n 5
! Run with: -n 5 --processes 2 --check
! Run with: -n 3 --ranks-per-process 1
include '../f08_checks.h'

module callbacks
  use checks
  use, intrinsic :: iso_c_binding
  implicit none
  integer, save :: large_calls = 0
contains
  subroutine add_large(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    large_calls = large_calls + 1
    if (datatype /= MPI_INTEGER) error stop 'add_large'
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = in + inout
  end subroutine

  ! A representation of integers as their negative.
  subroutine negate_in(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [position + count])
    call c_f_pointer(filebuf, file, [count])
    user(position + 1:position + count) = -file
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == 3)
  end subroutine
  subroutine negate_out(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [position + count])
    call c_f_pointer(filebuf, file, [count])
    file = -user(position + 1:position + count)
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == 3)
  end subroutine
  ! The same with large counts.
  subroutine negate_large(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: ierror
    integer(kind=MPI_COUNT_KIND) :: count
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [position + count])
    call c_f_pointer(filebuf, file, [count])
    user(position + 1:position + count) = -file
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == 3)
  end subroutine
  subroutine extent_of(datatype, extent, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    extent = 4
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == 3)
  end subroutine
end module

program f08_new
  use callbacks
  implicit none
  integer :: i
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  call started()
  call statuses()
  call requests_of()
  call buffers()
  call errors()
  call objects()
  call binary_interface()
  call representations()
  call graphs()
  call profiled()
  call attributes_of_c()
  call finish()
contains
  subroutine started()
    integer :: level, error
    logical :: flag
    call MPI_Init_thread(MPI_THREAD_FUNNELED, level)
    call expect(level >= MPI_THREAD_FUNNELED, 'MPI_Init_thread')
    call MPI_Initialized(flag, error)
    call expect(flag .and. error == MPI_SUCCESS, 'MPI_Initialized')
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    right = modulo(rank + 1, ranks)
    left = modulo(rank - 1, ranks)
  end subroutine

  subroutine statuses()
    integer :: n
    call MPI_Status_set_source(status, 4)
    call MPI_Status_set_tag(status, 5)
    call MPI_Status_set_error(status, MPI_ERR_TAG)
    call expect(status%MPI_SOURCE == 4 .and. status%MPI_TAG == 5 .and. status%MPI_ERROR == MPI_ERR_TAG, 'MPI_Status_set_tag')
    call MPI_Status_get_source(status, n)
    call expect(n == 4, 'MPI_Status_get_source')
    call MPI_Status_get_tag(status, n)
    call expect(n == 5, 'MPI_Status_get_tag')
    call MPI_Status_get_error(status, n)
    call expect(n == MPI_ERR_TAG, 'MPI_Status_get_error')
  end subroutine

  subroutine requests_of()
    type(MPI_Request) :: requests(3)
    type(MPI_Status) :: some(3)
    integer :: k, n, from(3), to(3), indices(3)
    logical :: flag
    from = rank
    do k = 1, 3
      call MPI_Irecv(to(k), 1, MPI_INTEGER, left, k, MPI_COMM_WORLD, requests(k))
    end do
    call MPI_Send(from(2), 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status_any(3, requests, n, flag, status)
    end do
    call expect(n == 2 .and. status%MPI_TAG == 2 .and. requests(2) /= MPI_REQUEST_NULL, 'MPI_Request_get_status_any')
    n = 0
    do while (n == 0)
      call MPI_Request_get_status_some(3, requests, n, indices, some)
    end do
    call expect(n == 1 .and. indices(1) == 2 .and. some(1)%MPI_TAG == 2, 'MPI_Request_get_status_some')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Send(from(1), 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD)
    call MPI_Send(from(3), 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status_all(3, requests, flag, MPI_STATUSES_IGNORE)
    end do
    call MPI_Waitall(3, requests, some)
    call expect(all(some%MPI_TAG == [1, 2, 3]) .and. all(to == left), 'MPI_Request_get_status_all')
  end subroutine

  subroutine buffers()
    integer(8), target :: room(500)
    type(c_ptr) :: detached
    integer :: n, value
    integer(kind=MPI_COUNT_KIND) :: many
    type(MPI_Comm) :: comm
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_attach_buffer(comm, room, 4000)
    call MPI_Bsend(rank, 1, MPI_INTEGER, right, 1, comm)
    call MPI_Recv(value, 1, MPI_INTEGER, left, 1, comm, status)
    call MPI_Comm_flush_buffer(comm)
    call MPI_Comm_iflush_buffer(comm, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Comm_detach_buffer(comm, detached, n)
    call expect(value == left .and. n == 4000, 'MPI_Comm_detach_buffer')
    call expect(transfer(detached, 0_c_intptr_t) == transfer(c_loc(room), 0_c_intptr_t), 'the buffer of a communicator')
    call MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0)
    call MPI_Comm_detach_buffer(comm, detached, n)
    call MPI_Comm_attach_buffer(comm, room, 4000_MPI_COUNT_KIND)
    call MPI_Comm_detach_buffer(comm, detached, many)
    call expect(many == 4000, 'MPI_Comm_detach_buffer with a large count')
    call MPI_Comm_disconnect(comm)
    call expect(comm == MPI_COMM_NULL, 'MPI_Comm_disconnect')
    call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0)
    call MPI_Bsend(rank, 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD)
    call MPI_Recv(value, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call MPI_Buffer_flush()
    call MPI_Buffer_iflush(request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Buffer_detach(detached, n)
    call expect(value == left, 'MPI_BUFFER_AUTOMATIC')
  end subroutine

  subroutine errors()
    integer :: class, code
    call MPI_Add_error_class(class)
    call MPI_Add_error_code(class, code)
    call MPI_Add_error_string(code, 'words')
    call MPI_Remove_error_string(code)
    call MPI_Remove_error_code(code)
    call MPI_Remove_error_class(class)
  end subroutine

  subroutine objects()
    type(MPI_Info) :: info
    type(MPI_Comm) :: comm, parent
    type(MPI_Datatype) :: pair
    type(MPI_Op) :: op
    integer :: length, sums(3), from(3), n
    logical :: flag
    character(len=20) :: value
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'key', 'a value')
    length = 20
    value = 'x'
    call MPI_Info_get_string(info, 'key', length, value, flag)
    call expect(flag .and. length == 7 .and. value == 'a value', 'MPI_Info_get_string')
    length = 0
    call MPI_Info_get_string(info, 'key', length, value, flag)
    call expect(length == 7, 'the length of a value')
    call MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, comm, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Comm_size(comm, n)
    call expect(n == ranks, 'MPI_Comm_idup_with_info')
    call MPI_Comm_free(comm)
    call MPI_Info_free(info)
    call MPI_Info_create_env(info)
    call MPI_Info_get_nkeys(info, n)
    call expect(n > 0, 'MPI_Info_create_env')
    call MPI_Info_free(info)
    call MPI_Get_hw_resource_info(info)
    call MPI_Info_free(info)
    call MPI_Comm_get_parent(parent)
    call expect(parent == MPI_COMM_NULL, 'MPI_Comm_get_parent')
    call later()
    call MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, pair)
    call expect(pair == MPI_DOUBLE_INT, 'MPI_Type_get_value_index')
    call MPI_Op_create_c(add_large, .true., op)
    from = rank
    call MPI_Allreduce(from, sums, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
    call expect(all(sums == ranks*(ranks - 1)/2), 'MPI_Op_create_c')
    call MPI_Reduce_local(from, sums, 3, MPI_INTEGER, op)
    call expect(all(sums == rank + ranks*(ranks - 1)/2) .and. large_calls > 0, 'an operation with large counts')
    call MPI_Op_free(op)
  end subroutine

  ! Processes that start later: errors, ports and names.
  subroutine later()
    type(MPI_Comm) :: other
    character(MPI_MAX_PORT_NAME) :: port, found
    character(20) :: name
    integer :: error, class, codes(2)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Comm_spawn('/no/such/program', MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, other, codes, error)
    call MPI_Error_class(error, class)
    call expect(class == MPI_ERR_SPAWN .and. all(codes == MPI_ERR_SPAWN), 'MPI_Comm_spawn')
    call MPI_Comm_spawn_multiple(2, ['/no/one', '/no/two'], MPI_ARGVS_NULL, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, &
        MPI_COMM_SELF, other, codes, error)
    call MPI_Error_class(error, class)
    call expect(class == MPI_ERR_SPAWN, 'MPI_Comm_spawn_multiple')
    call MPI_Open_port(MPI_INFO_NULL, port)
    write (name, '(a, i0, a, i0)') 'f08 ', rank, ' ', getpid()
    call MPI_Publish_name(name, MPI_INFO_NULL, port)
    call MPI_Lookup_name(name, MPI_INFO_NULL, found)
    call expect(found == port, 'MPI_Lookup_name')
    call MPI_Unpublish_name(name, MPI_INFO_NULL, port)
    call MPI_Comm_accept('no port', MPI_INFO_NULL, 0, MPI_COMM_SELF, other, error)
    call MPI_Error_class(error, class)
    call expect(class == MPI_ERR_PORT, 'MPI_Comm_accept')
    call MPI_Close_port(port)
    call MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, other, error)
    call MPI_Error_class(error, class)
    call expect(class == MPI_ERR_PORT, 'MPI_Comm_connect')
    call MPI_Comm_join(-1, other, error)
    call MPI_Error_class(error, class)
    call expect(class == MPI_ERR_ARG, 'MPI_Comm_join')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
  end subroutine

  subroutine binary_interface()
    type(MPI_Info) :: info
    integer :: major, minor
    logical :: is_set, yes, no
    call MPI_Abi_get_version(major, minor)
    call expect(major == MPI_ABI_VERSION .and. minor == MPI_ABI_SUBVERSION, 'MPI_Abi_get_version')
    call MPI_Abi_get_info(info)
    call MPI_Info_free(info)
    call MPI_Abi_get_fortran_info(info)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Abi_set_fortran_info(info, major)
    call expect(major == MPI_ERR_ABI, 'MPI_Abi_set_fortran_info, which comes too late')
    call MPI_Info_free(info)
    call MPI_Abi_get_fortran_booleans(storage_size(yes)/8, yes, no, is_set)
    call expect(is_set .and. yes .and. .not. no, 'MPI_Abi_get_fortran_booleans')
    call MPI_Abi_set_fortran_booleans(storage_size(yes)/8, yes, no, major)
    call expect(major == MPI_ERR_ABI, 'MPI_Abi_set_fortran_booleans, which comes too late')
  end subroutine

  subroutine representations()
    type(MPI_File) :: file
    character(len=200) :: path
    integer :: length, out(4), in(4), code, k
    integer(kind=MPI_OFFSET_KIND) :: own
    integer(kind=MPI_COUNT_KIND) :: extent
    call get_environment_variable('TMPDIR', path, length)
    if (length == 0) path = '/tmp'
    i = 0
    if (rank == 0) call system_clock(i)
    call MPI_Bcast(i, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    write (path(len_trim(path) + 1:), '(a, i0, a)') '/f08_new.', i, '.data'
    call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call MPI_Register_datarep('negative', negate_in, negate_out, extent_of, 3_MPI_ADDRESS_KIND)
    call MPI_Register_datarep_c('large', negate_large, MPI_CONVERSION_FN_NULL_C, extent_of, 3_MPI_ADDRESS_KIND, code)
    call expect(code == MPI_SUCCESS, 'MPI_Register_datarep_c')
    call MPI_File_get_type_extent_c(file, MPI_INTEGER, extent)
    call expect(extent == 4, 'MPI_File_get_type_extent_c')
    own = 4*rank
    out = [(k + 10*rank, k = 1, 4)]
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'negative', MPI_INFO_NULL)
    call MPI_File_write_at_all(file, own, out, 4, MPI_INTEGER, status)
    call MPI_File_read_at_all(file, own, in, 4, MPI_INTEGER, status)
    call expect(all(in == out), 'a representation of the program')
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
    call MPI_File_read_at_all(file, own, in, 4, MPI_INTEGER, status)
    call expect(all(in == -out), 'what it has written')
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'large', MPI_INFO_NULL)
    call MPI_File_read_at_all(file, own, in, 4, MPI_INTEGER, status)
    call expect(all(in == out), 'a representation with large counts')
    call MPI_File_close(file)
    call MPI_Register_datarep('negative', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, 3_MPI_ADDRESS_KIND, code)
    call expect(code /= MPI_SUCCESS, 'a representation that is there already')
  end subroutine

  subroutine graphs()
    type(MPI_Comm) :: made
    integer :: in_count, out_count, none(1)
    logical :: weighted
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, none, MPI_WEIGHTS_EMPTY, 0, none, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, &
                                        .false., made)
    call MPI_Dist_graph_neighbors_count(made, in_count, out_count, weighted)
    call expect(in_count == 0 .and. out_count == 0 .and. weighted, 'MPI_WEIGHTS_EMPTY')
    call MPI_Comm_free(made)
  end subroutine

  ! The names for profiling.
  subroutine profiled()
    integer :: n, to(4), from(4)
    integer(kind=MPI_COUNT_KIND) :: many, lower, true_extent
    type(MPI_Datatype) :: type
    double precision :: begin
    begin = PMPI_Wtime()
    call PMPI_Comm_size(MPI_COMM_WORLD, n)
    call expect(n == ranks .and. begin >= 0, 'PMPI_Comm_size')
    from = rank
    call PMPI_Sendrecv(from(1:3:2), 2, MPI_INTEGER, right, 1, to, 2_4, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call PMPI_Get_count(status, MPI_INTEGER, n)
    call PMPI_Get_count(status, MPI_INTEGER, many)
    call expect(n == 2 .and. many == 2 .and. all(to(1:2) == left), 'PMPI_Sendrecv')
    call PMPI_Type_get_extent_c(MPI_INTEGER, lower, many)
    call expect(lower == 0 .and. many == 4, 'PMPI_Type_get_extent_c')
    ! Generic names cannot tell kinds of addresses and counts apart.
    call MPI_Type_create_resized_c(MPI_INTEGER, 0_MPI_COUNT_KIND, 12_MPI_COUNT_KIND, type)
    call MPI_Type_get_extent_c(type, lower, many)
    call MPI_Type_get_true_extent_c(type, lower, true_extent)
    call expect(many == 12 .and. true_extent == 4, 'MPI_Type_get_true_extent_c')
    call MPI_Type_free(type)
  end subroutine

  ! C gets the address of the number that Fortran has set; Fortran gets the address that C has set.
  subroutine attributes_of_c()
    interface
      integer(c_int) function get_of_c(comm, key, value, flag) bind(C, name='MPI_Comm_get_attr')
        import :: c_int, c_intptr_t, c_ptr
        integer(c_intptr_t), value :: comm
        integer(c_int), value :: key
        type(c_ptr) :: value
        integer(c_int) :: flag
      end function
      integer(c_int) function set_of_c(comm, key, value) bind(C, name='MPI_Comm_set_attr')
        import :: c_int, c_intptr_t, c_ptr
        integer(c_intptr_t), value :: comm
        integer(c_int), value :: key
        type(c_ptr), value :: value
      end function
    end interface
    integer, target :: own
    integer(c_int) :: key, has, error
    type(c_ptr) :: address
    integer(kind=MPI_ADDRESS_KIND), pointer :: number
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, 2_MPI_ADDRESS_KIND**40 + rank)
    error = get_of_c(int(MPI_COMM_SELF%MPI_VAL, c_intptr_t), key, address, has)
    call c_f_pointer(address, number)
    call expect(error == MPI_SUCCESS .and. has == 1 .and. number == 2_MPI_ADDRESS_KIND**40 + rank, "an attribute of Fortran in C")
    error = set_of_c(int(MPI_COMM_SELF%MPI_VAL, c_intptr_t), key, c_loc(own))
    call MPI_Comm_get_attr(MPI_COMM_SELF, key, value, flag)
    call expect(error == MPI_SUCCESS .and. flag .and. value == transfer(c_loc(own), value), "an attribute of C in Fortran")
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key)
    call MPI_Comm_free_keyval(key)
  end subroutine
end program
