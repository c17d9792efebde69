! Fortran 2008: handles, groups, communicators, attributes, error handlers, operations, datatypes, info.
! Not with: openmpi (4.1), which gives the functions of a datatype's attributes other values.
include 'f08_checks.h'

module callbacks
  use checks
  use, intrinsic :: iso_c_binding
  implicit none
  integer, save :: copies = 0, deletions = 0, handled = 0, handled_code = 0
  type(MPI_Comm), save :: handled_comm
contains
  subroutine copy_comm(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    if (comm_keyval == MPI_KEYVAL_INVALID .or. oldcomm == MPI_COMM_NULL) error stop 'copy_comm'
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_comm(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletions = deletions + 1
    if (comm_keyval == MPI_KEYVAL_INVALID .or. comm == MPI_COMM_NULL .or. attribute_val == 0 .or. extra_state == 0) then
      error stop 'delete_comm'
    end if
    ierror = MPI_SUCCESS
  end subroutine

  subroutine copy_type(oldtype, type_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Datatype) :: oldtype
    integer :: type_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    if (type_keyval == MPI_KEYVAL_INVALID .or. oldtype == MPI_DATATYPE_NULL) error stop 'copy_type'
    attribute_val_out = attribute_val_in*extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_type(datatype, type_keyval, attribute_val, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer :: type_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletions = deletions + 1
    if (type_keyval == MPI_KEYVAL_INVALID .or. datatype == MPI_DATATYPE_NULL .or. attribute_val == 0 .or. extra_state == 0) then
      error stop 'delete_type'
    end if
    ierror = MPI_SUCCESS
  end subroutine

  subroutine on_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    handled = handled + 1
    handled_code = error_code
    handled_comm = comm
  end subroutine

  ! The product of matrices of 2 x 2, which does not commute.
  subroutine multiply(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:, :, :), inout(:, :, :)
    integer :: i
    call c_f_pointer(invec, in, [2, 2, len])
    call c_f_pointer(inoutvec, inout, [2, 2, len])
    if (datatype == MPI_INTEGER) error stop 'multiply: not the datatype of the call'
    do i = 1, len
      inout(:, :, i) = matmul(in(:, :, i), inout(:, :, i))
    end do
  end subroutine
end module

program f08_objects
  use callbacks
  implicit none
  integer :: i
  call start()
  call handles()
  call groups()
  call communicators()
  call attributes()
  call errors()
  call operations()
  call datatypes()
  call packed()
  call infos()
  call environment()
  call finish()
contains
  subroutine handles()
    type(MPI_Comm) :: comm
    type(MPI_Request) :: requests(3)
    comm%MPI_VAL = MPI_COMM_WORLD%MPI_VAL
    call expect(comm == MPI_COMM_WORLD .and. .not. comm /= MPI_COMM_WORLD, 'MPI_VAL of a communicator')
    call expect(comm /= MPI_COMM_SELF .and. MPI_COMM_SELF /= MPI_COMM_NULL, 'communicators differ')
    requests = MPI_REQUEST_NULL
    call expect(requests(1) == MPI_REQUEST_NULL, 'a request')
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
    call expect(MPI_INTEGER /= MPI_REAL .and. MPI_SUM /= MPI_MAX .and. MPI_INFO_NULL == MPI_INFO_NULL, 'constants')
    call expect(MPI_ERRHANDLER_NULL /= MPI_ERRORS_RETURN .and. MPI_GROUP_EMPTY /= MPI_GROUP_NULL, 'more constants')
    call expect(MPI_FILE_NULL == MPI_FILE_NULL .and. MPI_WIN_NULL == MPI_WIN_NULL, 'null handles')
    call expect(MPI_MESSAGE_NULL /= MPI_MESSAGE_NO_PROC, 'messages')
  end subroutine

  subroutine groups()
    type(MPI_Group) :: world, some, others, all
    integer :: n, result, own, ranges(3, 1), back(1)
    call MPI_Comm_group(MPI_COMM_WORLD, world)
    call MPI_Group_size(world, n)
    call MPI_Group_rank(world, own)
    call expect(n == ranks .and. own == rank, 'the group of the world')
    call MPI_Group_incl(world, 1, [ranks - 1], some)
    call MPI_Group_excl(world, 1, [ranks - 1], others)
    call MPI_Group_union(some, others, all)
    call MPI_Group_compare(world, all, result)
    call expect(result == merge(MPI_IDENT, MPI_SIMILAR, ranks == 1), 'a union in another order')
    call MPI_Group_free(all)
    call MPI_Group_intersection(some, others, all)
    call MPI_Group_compare(all, MPI_GROUP_EMPTY, result)
    call expect(result == MPI_IDENT, 'an intersection')
    call MPI_Group_difference(world, others, all)
    call MPI_Group_translate_ranks(all, 1, [0], world, back)
    call expect(back(1) == ranks - 1, 'MPI_Group_translate_ranks')
    call MPI_Group_free(all)
    ranges(:, 1) = [0, ranks - 1, 2]
    call MPI_Group_range_incl(world, 1, ranges, all)
    call MPI_Group_size(all, n)
    call expect(n == (ranks + 1)/2, 'MPI_Group_range_incl')
    call MPI_Group_free(all)
    call MPI_Group_range_excl(world, 1, ranges, all)
    call MPI_Group_size(all, n)
    call expect(n == ranks/2, 'MPI_Group_range_excl')
    if (all /= MPI_GROUP_EMPTY) call MPI_Group_free(all)
    call MPI_Group_free(some)
    if (others /= MPI_GROUP_EMPTY) call MPI_Group_free(others)
    call MPI_Group_free(world)
    call expect(world == MPI_GROUP_NULL, 'a freed group')
  end subroutine

  subroutine communicators()
    type(MPI_Comm) :: dup, half, one, between, merged
    type(MPI_Group) :: group, remote
    type(MPI_Request) :: request
    type(MPI_Info) :: hints
    integer :: n, result, length, other
    logical :: flag
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Comm_dup(MPI_COMM_WORLD, dup)
    call MPI_Comm_compare(MPI_COMM_WORLD, dup, result)
    call expect(result == MPI_CONGRUENT, 'MPI_Comm_compare')
    call MPI_Comm_set_name(dup, 'mine  ')
    name = 'x'
    call MPI_Comm_get_name(dup, name, length)
    call expect(length == 4 .and. name == 'mine', 'MPI_Comm_get_name')
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, length)
    call expect(name(1:length) == 'MPI_COMM_WORLD', 'the name of the world')
    call MPI_Comm_free(dup)
    call expect(dup == MPI_COMM_NULL, 'a freed communicator')
    call MPI_Comm_idup(MPI_COMM_WORLD, dup, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Comm_size(dup, n)
    call expect(n == ranks, 'MPI_Comm_idup')
    call MPI_Comm_free(dup)
    call MPI_Info_create(hints)
    call MPI_Comm_dup_with_info(MPI_COMM_WORLD, hints, dup)
    call MPI_Comm_set_info(dup, hints)
    call MPI_Info_free(hints)
    call MPI_Comm_get_info(dup, hints)
    call MPI_Info_free(hints)
    call MPI_Comm_split(dup, modulo(rank, 2), -rank, half)
    call MPI_Comm_size(half, n)
    call MPI_Comm_rank(half, other)
    call expect(n == (ranks + 1 - modulo(rank, 2))/2 .and. other == n - 1 - rank/2, 'MPI_Comm_split')
    call MPI_Comm_test_inter(half, flag)
    call expect(.not. flag, 'MPI_Comm_test_inter')
    if (ranks > 1) then
      call MPI_Intercomm_create(half, 0, dup, ranks - 1 - modulo(ranks + rank, 2), 5, between)
      call MPI_Comm_test_inter(between, flag)
      call MPI_Comm_remote_size(between, n)
      call expect(flag .and. n == (ranks + modulo(rank, 2))/2, 'MPI_Intercomm_create')
      call MPI_Comm_remote_group(between, remote)
      call MPI_Group_size(remote, other)
      call expect(other == n, 'MPI_Comm_remote_group')
      call MPI_Group_free(remote)
      call MPI_Intercomm_merge(between, modulo(rank, 2) == 1, merged)
      call MPI_Comm_size(merged, n)
      call expect(n == ranks, 'MPI_Intercomm_merge')
      call MPI_Comm_free(merged)
      call MPI_Comm_free(between)
    end if
    call MPI_Comm_free(half)
    call MPI_Comm_group(dup, group)
    call MPI_Comm_create(dup, group, one)
    call MPI_Comm_free(one)
    call MPI_Comm_create_group(dup, group, 3, one)
    call MPI_Comm_compare(one, dup, result)
    call expect(result == MPI_CONGRUENT, 'MPI_Comm_create_group')
    call MPI_Comm_free(one)
    call MPI_Group_free(group)
    call MPI_Comm_split_type(dup, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, one)
    call expect(one /= MPI_COMM_NULL, 'MPI_Comm_split_type')
    call MPI_Comm_free(one)
    call MPI_Comm_split(dup, MPI_UNDEFINED, 0, one)
    call expect(one == MPI_COMM_NULL, 'no color')
    call MPI_Comm_free(dup)
  end subroutine

  subroutine attributes()
    type(MPI_Comm) :: comm, dup
    type(MPI_Datatype) :: one, other
    integer :: key, null_key, dup_key
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call expect(flag .and. value >= 32767, 'MPI_TAG_UB')
    call MPI_Comm_create_keyval(copy_comm, delete_comm, key, 5_MPI_ADDRESS_KIND)
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, null_key, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, dup_key, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_set_attr(comm, key, 2_MPI_ADDRESS_KIND**40)
    call MPI_Comm_set_attr(comm, null_key, 7_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(comm, dup_key, 8_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(comm, dup)
    call MPI_Comm_get_attr(dup, key, value, flag)
    call expect(flag .and. value == 2_MPI_ADDRESS_KIND**40 + 5 .and. copies == 1, 'a copied attribute')
    call MPI_Comm_get_attr(dup, null_key, value, flag)
    call expect(.not. flag, 'MPI_COMM_NULL_COPY_FN')
    call MPI_Comm_get_attr(dup, dup_key, value, flag)
    call expect(flag .and. value == 8, 'MPI_COMM_DUP_FN')
    call MPI_Comm_delete_attr(comm, key)
    call expect(deletions == 1, 'MPI_Comm_delete_attr')
    call MPI_Comm_free(dup)
    call expect(deletions == 2, 'attributes of a freed communicator')
    call MPI_Comm_free(comm)
    call MPI_Comm_free_keyval(key)
    call MPI_Comm_free_keyval(null_key)
    call MPI_Comm_free_keyval(dup_key)
    call expect(key == MPI_KEYVAL_INVALID, 'a freed key')
    copies = 0
    deletions = 0
    call MPI_Type_create_keyval(copy_type, delete_type, key, 3_MPI_ADDRESS_KIND)
    call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, null_key, 0_MPI_ADDRESS_KIND)
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, dup_key, 0_MPI_ADDRESS_KIND)
    call MPI_Type_contiguous(3, MPI_REAL, one)
    call MPI_Type_set_attr(one, key, 4_MPI_ADDRESS_KIND)
    call MPI_Type_set_attr(one, null_key, 4_MPI_ADDRESS_KIND)
    call MPI_Type_set_attr(one, dup_key, 9_MPI_ADDRESS_KIND)
    call MPI_Type_dup(one, other)
    call MPI_Type_get_attr(other, key, value, flag)
    call expect(flag .and. value == 12 .and. copies == 1, 'an attribute of a datatype')
    call MPI_Type_get_attr(other, null_key, value, flag)
    call expect(.not. flag, 'MPI_TYPE_NULL_COPY_FN')
    call MPI_Type_get_attr(other, dup_key, value, flag)
    call expect(flag .and. value == 9, 'MPI_TYPE_DUP_FN')
    call MPI_Type_delete_attr(other, key)
    call MPI_Type_free(one)
    call MPI_Type_free(other)
    call expect(deletions == 2, 'attributes of freed datatypes')
    call MPI_Type_free_keyval(key)
    call MPI_Type_free_keyval(null_key)
    call MPI_Type_free_keyval(dup_key)
  end subroutine

  subroutine errors()
    type(MPI_Errhandler) :: handler, before
    type(MPI_Comm) :: comm
    integer :: code, class, own_class, own_code, length
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_create_errhandler(on_error, handler)
    call MPI_Comm_set_errhandler(comm, handler)
    call MPI_Comm_get_errhandler(comm, before)
    call expect(before == handler, 'MPI_Comm_get_errhandler')
    call MPI_Errhandler_free(before)
    if (handler /= MPI_ERRHANDLER_NULL) call MPI_Errhandler_free(handler)
    call MPI_Send(rank, 1, MPI_INTEGER, 77, 1, comm, code)
    call expect(handled == 1 .and. handled_code == code .and. handled_comm == comm, 'an error handler of the program')
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_RANK, 'MPI_Error_class')
    call MPI_Error_string(code, text, length)
    call expect(length > 0 .and. text(length + 1:) == '', 'MPI_Error_string')
    call MPI_Add_error_class(own_class)
    call MPI_Add_error_code(own_class, own_code)
    call MPI_Add_error_string(own_code, 'an error of the program')
    call MPI_Error_string(own_code, text, length)
    call expect(text(1:length) == 'an error of the program', 'MPI_Add_error_string')
    call MPI_Comm_call_errhandler(comm, own_code)
    call expect(handled == 2 .and. handled_code == own_code, 'MPI_Comm_call_errhandler')
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
    call MPI_Bcast(length, 1, MPI_INTEGER, 12, comm, code)
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_ROOT .and. handled == 2, 'MPI_ERRORS_RETURN')
    call MPI_Comm_free(comm)
  end subroutine

  subroutine operations()
    type(MPI_Op) :: op
    type(MPI_Datatype) :: matrix
    integer :: mine(2, 2), product(2, 2), expected(2, 2)
    logical :: commutes
    call MPI_Type_contiguous(4, MPI_INTEGER, matrix)
    call MPI_Type_commit(matrix)
    call MPI_Op_create(multiply, .false., op)
    call MPI_Op_commutative(op, commutes)
    call expect(.not. commutes, 'MPI_Op_commutative')
    call MPI_Op_commutative(MPI_SUM, commutes)
    call expect(commutes, 'MPI_Op_commutative of a sum')
    mine = reshape([1, modulo(rank, 3), 1, 1], [2, 2])
    call MPI_Allreduce(mine, product, 1, matrix, op, MPI_COMM_WORLD)
    expected = reshape([1, 0, 0, 1], [2, 2])
    do i = 0, ranks - 1
      expected = matmul(expected, reshape([1, modulo(i, 3), 1, 1], [2, 2]))
    end do
    call expect(all(product == expected), 'a product of matrices in the order of ranks')
    call MPI_Op_free(op)
    call expect(op == MPI_OP_NULL, 'a freed operation')
    call MPI_Type_free(matrix)
  end subroutine

  subroutine datatypes()
    type(MPI_Datatype) :: made, again, types(4)
    integer(kind=MPI_ADDRESS_KIND) :: lower, extent, addresses(4)
    integer :: n, numbers(8), sizes(3), combiner, length, i_count, a_count, t_count
    integer(kind=MPI_COUNT_KIND) :: size_x, lower_x, extent_x
    character(len=MPI_MAX_OBJECT_NAME) :: name
    integer :: from(20), to(20)
    from = [(i, i = 1, 20)]
    call MPI_Type_vector(3, 2, 5, MPI_INTEGER, made)
    call MPI_Type_commit(made)
    call MPI_Type_size(made, n)
    call MPI_Type_size_x(made, size_x)
    call MPI_Type_get_extent(made, lower, extent)
    call MPI_Type_get_extent_x(made, lower_x, extent_x)
    call expect(n == 24 .and. size_x == 24 .and. lower == 0 .and. extent == 48 .and. lower_x == 0 .and. extent_x == 48, &
                'the size of a vector')
    call MPI_Type_get_true_extent(made, lower, extent)
    call MPI_Type_get_true_extent_x(made, lower_x, extent_x)
    call expect(extent == 48 .and. extent_x == 48, 'the true extent of a vector')
    to = 0
    call MPI_Sendrecv(from, 1, made, rank, 1, to, 6, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(to(1:6) == [1, 2, 6, 7, 11, 12]), 'a message of a vector')
    call MPI_Type_get_envelope(made, i_count, a_count, t_count, combiner)
    call expect(i_count == 3 .and. a_count == 0 .and. t_count == 1 .and. combiner == MPI_COMBINER_VECTOR, 'envelope')
    call MPI_Type_get_contents(made, i_count, a_count, t_count, numbers, addresses, types)
    call expect(all(numbers(1:3) == [3, 2, 5]) .and. types(1) == MPI_INTEGER, 'contents')
    call MPI_Type_set_name(made, 'a vector')
    call MPI_Type_get_name(made, name, length)
    call expect(name == 'a vector' .and. length == 8, 'MPI_Type_get_name')
    call MPI_Type_free(made)
    call MPI_Type_create_hvector(2, 1, 8_MPI_ADDRESS_KIND, MPI_INTEGER, made)
    call MPI_Type_create_resized(made, 0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, again)
    call MPI_Type_get_extent(again, lower, extent)
    call expect(extent == 16, 'MPI_Type_create_resized')
    call MPI_Type_free(made)
    call MPI_Type_free(again)
    call MPI_Type_indexed(2, [1, 2], [3, 0], MPI_INTEGER, made)
    call MPI_Type_size(made, sizes(1))
    call MPI_Type_free(made)
    call MPI_Type_create_indexed_block(2, 2, [3, 0], MPI_INTEGER, made)
    call MPI_Type_size(made, sizes(2))
    call MPI_Type_free(made)
    call MPI_Type_create_hindexed(2, [1, 2], [12_MPI_ADDRESS_KIND, 0_MPI_ADDRESS_KIND], MPI_INTEGER, made)
    call MPI_Type_size(made, sizes(3))
    call MPI_Type_free(made)
    call expect(all(sizes == [12, 16, 12]), 'indexed datatypes')
    call MPI_Type_create_hindexed_block(2, 2, [12_MPI_ADDRESS_KIND, 0_MPI_ADDRESS_KIND], MPI_INTEGER, made)
    call MPI_Type_size(made, sizes(3))
    call MPI_Type_free(made)
    call expect(sizes(3) == 16, 'MPI_Type_create_hindexed_block')
    call MPI_Type_create_struct(2, [1, 1], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], [MPI_INTEGER, MPI_REAL8], made)
    call MPI_Type_size(made, n)
    call MPI_Type_free(made)
    call expect(n == 12, 'MPI_Type_create_struct')
    call MPI_Type_create_subarray(2, [4, 5], [2, 2], [1, 2], MPI_ORDER_FORTRAN, MPI_INTEGER, made)
    call MPI_Type_commit(made)
    call MPI_Sendrecv(from, 1, made, rank, 1, to, 4, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(to(1:4) == [10, 11, 14, 15]), 'MPI_Type_create_subarray')
    call MPI_Type_free(made)
    call MPI_Type_create_darray(4, 3, 2, [4, 4], [MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC], &
                                [MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG], [2, 2], MPI_ORDER_FORTRAN, MPI_INTEGER, made)
    call MPI_Type_size(made, n)
    call MPI_Type_free(made)
    call expect(n == 16, 'MPI_Type_create_darray')
    call MPI_Type_create_f90_real(15, 300, made)
    call MPI_Type_size(made, n)
    call expect(n == 8, 'MPI_Type_create_f90_real')
    call MPI_Type_create_f90_integer(9, made)
    call MPI_Type_size(made, n)
    call expect(n == 4, 'MPI_Type_create_f90_integer')
    call MPI_Type_create_f90_complex(6, 30, made)
    call MPI_Type_size(made, n)
    call expect(n == 8, 'MPI_Type_create_f90_complex')
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, made)
    call MPI_Type_size(made, n)
    call expect(n == 4, 'MPI_Type_match_size')
    ! MPI_BOTTOM with addresses.
    call MPI_Get_address(from, addresses(1))
    call MPI_Get_address(from(2), addresses(2))
    call expect(MPI_Aint_diff(addresses(2), addresses(1)) == 4, 'MPI_Aint_diff')
    call expect(MPI_Aint_add(addresses(1), 4_MPI_ADDRESS_KIND) == addresses(2), 'MPI_Aint_add')
    call MPI_Type_create_hindexed(1, [3], addresses(2:2), MPI_INTEGER, made)
    call MPI_Type_commit(made)
    call MPI_Sendrecv(MPI_BOTTOM, 1, made, rank, 1, to, 3, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(to(1:3) == [2, 3, 4]), 'MPI_BOTTOM')
    call MPI_Type_free(made)
  end subroutine

  subroutine packed()
    character :: room(200), other(200)
    integer :: position, numbers(3), n
    real(8) :: value
    integer(kind=MPI_ADDRESS_KIND) :: room_size, at
    position = 0
    call MPI_Pack_size(3, MPI_INTEGER, MPI_COMM_WORLD, n)
    call expect(n >= 12, 'MPI_Pack_size')
    call MPI_Pack([1, 2, 3], 3, MPI_INTEGER, room, 200, position, MPI_COMM_WORLD)
    call MPI_Pack(2.5d0, 1, MPI_REAL8, room, 200, position, MPI_COMM_WORLD)
    n = position
    position = 0
    call MPI_Unpack(room, n, position, numbers, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Unpack(room, n, position, value, 1, MPI_REAL8, MPI_COMM_WORLD)
    call expect(all(numbers == [1, 2, 3]) .and. value == 2.5d0 .and. position == n, 'MPI_Pack, MPI_Unpack')
    call MPI_Pack_external_size('external32', 3, MPI_INTEGER, room_size)
    call expect(room_size == 12, 'MPI_Pack_external_size')
    at = 0
    call MPI_Pack_external('external32', numbers, 3, MPI_INTEGER, other, room_size, at)
    call expect(at == 12 .and. ichar(other(4)) == 1 .and. ichar(other(12)) == 3, 'MPI_Pack_external')
    numbers = 0
    at = 0
    call MPI_Unpack_external('external32', other, room_size, at, numbers, 3, MPI_INTEGER)
    call expect(all(numbers == [1, 2, 3]), 'MPI_Unpack_external')
  end subroutine

  subroutine infos()
    type(MPI_Info) :: info, dup
    integer :: n, length
    logical :: flag
    character(len=30) :: value
    character(len=MPI_MAX_INFO_KEY) :: key
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'a key ', ' a value')
    call MPI_Info_set(info, 'other', '2')
    call MPI_Info_get_nkeys(info, n)
    call expect(n == 2, 'MPI_Info_get_nkeys')
    call MPI_Info_get(info, 'a key', 30, value, flag)
    call expect(flag .and. value == 'a value', 'MPI_Info_get')
    call MPI_Info_get_valuelen(info, 'a key', length, flag)
    call expect(flag .and. length == 7, 'MPI_Info_get_valuelen')
    call MPI_Info_get_nthkey(info, 1, key)
    call expect(key == 'other', 'MPI_Info_get_nthkey')
    call MPI_Info_dup(info, dup)
    call MPI_Info_delete(info, 'other')
    call MPI_Info_get_nkeys(info, n)
    call expect(n == 1, 'MPI_Info_delete')
    call MPI_Info_get(info, 'other', 30, value, flag)
    call expect(.not. flag, 'a key that is gone')
    call MPI_Info_get_nkeys(dup, n)
    call expect(n == 2, 'MPI_Info_dup')
    call MPI_Info_free(info)
    call MPI_Info_free(dup)
    call expect(info == MPI_INFO_NULL, 'a freed info')
  end subroutine

  subroutine environment()
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    integer :: length, major, minor, level, n
    logical :: flag
    double precision :: begin
    real(8) :: x
    begin = MPI_Wtime()
    call expect(MPI_Wtime() >= begin .and. MPI_Wtick() > 0, 'clocks')
    call MPI_Get_processor_name(name, length)
    call expect(length > 0 .and. name(length + 1:) == '', 'MPI_Get_processor_name')
    call MPI_Get_library_version(version, length)
    call expect(length > 0 .and. version(length + 1:) == '', 'MPI_Get_library_version')
    call MPI_Get_version(major, minor)
    call expect(major == MPI_VERSION .and. minor == MPI_SUBVERSION, 'MPI_Get_version')
    call MPI_Query_thread(level)
    call MPI_Is_thread_main(flag)
    call expect(level >= MPI_THREAD_SINGLE .and. flag, 'threads')
    call MPI_Sizeof(x, n)
    call expect(n == 8, 'MPI_Sizeof')
    call MPI_Sizeof((1.0, 2.0), n, level)
    call expect(n == 8 .and. level == MPI_SUCCESS, 'MPI_Sizeof of a complex')
    call MPI_Pcontrol(1)
    block
      use, intrinsic :: iso_c_binding
      type(c_ptr) :: memory
      real(8), pointer :: values(:)
      call MPI_Alloc_mem(800_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory)
      call c_f_pointer(memory, values, [100])
      values = 1
      call MPI_Allreduce(MPI_IN_PLACE, values, 100, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD)
      call expect(all(values == ranks), 'MPI_Alloc_mem')
      call MPI_F_sync_reg(values)
      call MPI_Free_mem(values)
    end block
  end subroutine
end program
