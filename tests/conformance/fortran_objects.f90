! Fortran's groups, communicators, topologies, datatypes, attributes of datatypes, info and environment: calls
! that the other programs in Fortran do not make.
module checks
  use mpi
  implicit none
  integer :: rank, ranks, error, wrong = 0
  integer, save :: copies = 0, deletions = 0
contains
  subroutine expect(is_so, what)
    logical, intent(in) :: is_so
    character(len=*), intent(in) :: what
    if (is_so) return
    wrong = wrong + 1
    print '(a, i0, a, i0, 2a)', 'rank ', rank, ' of ', ranks, ': wrong: ', what
  end subroutine

  subroutine copy_twice(type, key, state, in, out, flag, error)
    integer :: type, key, error
    integer(kind=MPI_ADDRESS_KIND) :: state, in, out
    logical :: flag
    copies = copies + 1
    out = state*in
    flag = .true.
    error = MPI_SUCCESS
  end subroutine

  subroutine deleted(type, key, value, state, error)
    integer :: type, key, error
    integer(kind=MPI_ADDRESS_KIND) :: value, state
    deletions = deletions + 1
    error = MPI_SUCCESS
  end subroutine

  ! `count` of `type` from `from`, as integers.
  subroutine flatten(from, count, type, to)
    integer :: from(*), count, type, to(:)
    to = -1
    call MPI_Sendrecv(from, count, type, rank, 0, to, size(to), MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end subroutine
end module

program fortran_objects
  use checks
  implicit none
  integer :: all_wrong, level
  logical :: flag
  call MPI_Init_thread(MPI_THREAD_SINGLE, level, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call groups()
  call communicators()
  call topologies()
  call datatypes()
  call made_of()
  call attributes()
  call infos()
  call environment()
  call codes()
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0 .and. all_wrong == 0) print '(a)', 'right'
  call MPI_Finalize(error)
  call MPI_Finalized(flag, error)
  if (all_wrong /= 0 .or. .not. flag) stop 1
contains
  subroutine groups()
    integer :: world, one, two, three, members, place, ranges(3, 1), there(1)
    call MPI_Comm_group(MPI_COMM_WORLD, world, error)
    call MPI_Group_size(world, members, error)
    call MPI_Group_rank(world, place, error)
    call expect(members == ranks .and. place == rank, 'world')
    call MPI_Group_incl(world, 1, [ranks - 1], one, error)
    call MPI_Group_excl(world, 1, [ranks - 1], two, error)
    call MPI_Group_union(two, one, three, error)
    call MPI_Group_compare(three, world, place, error)
    call expect(place == MPI_IDENT, 'union')
    call MPI_Group_free(three, error)
    call MPI_Group_intersection(two, one, three, error)
    call MPI_Group_size(three, members, error)
    call expect(members == 0, 'intersection')
    call MPI_Group_difference(world, one, three, error)
    call MPI_Group_size(three, members, error)
    call expect(members == ranks - 1, 'difference')
    call MPI_Group_translate_ranks(one, 1, [0], world, there, error)
    call expect(there(1) == ranks - 1, 'translated')
    call MPI_Group_free(three, error)
    ranges(:, 1) = [ranks - 1, 0, -1]
    call MPI_Group_range_incl(world, 1, ranges, three, error)
    call MPI_Group_translate_ranks(three, 1, [0], world, there, error)
    call expect(there(1) == ranks - 1, 'range')
    call MPI_Group_free(three, error)
    call MPI_Group_range_excl(world, 1, ranges, three, error)
    call MPI_Group_size(three, members, error)
    call expect(members == 0, 'range left out')
    call MPI_Group_free(one, error)
    if (two /= MPI_GROUP_EMPTY) call MPI_Group_free(two, error)
    call MPI_Group_free(world, error)
  end subroutine

  subroutine communicators()
    integer :: world, copy, other, half, between, whole, request, result, sum, first, far, info, handler
    logical :: is_inter
    call MPI_Comm_group(MPI_COMM_WORLD, world, error)
    call MPI_Comm_create(MPI_COMM_WORLD, world, copy, error)
    call MPI_Comm_compare(MPI_COMM_WORLD, copy, result, error)
    call expect(result == MPI_CONGRUENT, 'created')
    call MPI_Comm_create_group(MPI_COMM_WORLD, world, 3, other, error)
    call MPI_Comm_compare(copy, other, result, error)
    call expect(result == MPI_CONGRUENT, 'created of a group')
    call MPI_Comm_disconnect(other, error)
    call expect(other == MPI_COMM_NULL, 'disconnected')
    call MPI_Comm_idup(copy, other, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call MPI_Allreduce(1, sum, 1, MPI_INTEGER, MPI_SUM, other, error)
    call expect(sum == ranks, 'copied meanwhile')
    call MPI_Comm_free(other, error)
    call MPI_Comm_dup_with_info(copy, MPI_INFO_NULL, other, error)
    call MPI_Info_create(info, error)
    call MPI_Info_set(info, 'key', 'value', error)
    call MPI_Comm_set_info(other, info, error)
    call MPI_Info_free(info, error)
    call MPI_Comm_get_info(other, info, error)
    call expect(info /= MPI_INFO_NULL, 'hints')
    call MPI_Info_free(info, error)
    call MPI_Comm_get_errhandler(other, handler, error)
    call expect(handler == MPI_ERRORS_ARE_FATAL, 'error handler')
    call MPI_Errhandler_free(handler, error)
    call MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN, error)
    call MPI_Comm_call_errhandler(other, MPI_ERR_OTHER, error)
    call MPI_Comm_free(other, error)
    call MPI_Comm_split_type(copy, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, other, error)
    call MPI_Comm_size(other, sum, error)
    call expect(sum == ranks, 'one node')
    call MPI_Comm_free(other, error)
    call MPI_Comm_free(copy, error)
    call MPI_Group_free(world, error)
    call MPI_Comm_get_parent(other, error)
    call expect(other == MPI_COMM_NULL, 'no parent')
    if (ranks == 1) return
    first = merge(0, 1, rank < ranks/2)
    call MPI_Comm_split(MPI_COMM_WORLD, first, 0, half, error)
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, merge(ranks/2, 0, first == 0), 5, between, error)
    call MPI_Comm_test_inter(between, is_inter, error)
    call MPI_Comm_remote_size(between, far, error)
    call MPI_Comm_remote_group(between, world, error)
    call MPI_Group_size(world, sum, error)
    call expect(is_inter .and. far == sum .and. far == merge(ranks - ranks/2, ranks/2, first == 0), 'two groups')
    call MPI_Group_free(world, error)
    call MPI_Intercomm_merge(between, first == 1, whole, error)
    call MPI_Comm_rank(whole, sum, error)
    call expect(sum == rank, 'merged')
    call MPI_Comm_free(whole, error)
    call MPI_Comm_free(between, error)
    call MPI_Comm_free(half, error)
  end subroutine

  subroutine topologies()
    integer :: grid, row, dims(2), coords(2), where, kind, count, mapped, graph, nodes, edges, i
    integer :: index(ranks), list(2*ranks), got_index(ranks), got_list(2*ranks), near(2), in, out, from(2), to(2)
    integer :: from_weights(2), to_weights(2)
    logical :: periods(2), weighted
    dims = [ranks, 1]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., grid, error)
    call MPI_Topo_test(grid, kind, error)
    call MPI_Cartdim_get(grid, count, error)
    call expect(kind == MPI_CART .and. count == 2, 'grid')
    call MPI_Cart_coords(grid, rank, 2, coords, error)
    call MPI_Cart_rank(grid, coords, where, error)
    call expect(where == rank .and. coords(1) == rank .and. coords(2) == 0, 'place in the grid')
    call MPI_Cart_get(grid, 2, dims, periods, coords, error)
    call expect(periods(1) .and. .not. periods(2) .and. dims(1) == ranks, 'what the grid is')
    call MPI_Cart_sub(grid, [.true., .false.], row, error)
    call MPI_Comm_size(row, count, error)
    call expect(count == ranks, 'part of the grid')
    call MPI_Comm_free(row, error)
    call MPI_Comm_free(grid, error)
    call MPI_Cart_map(MPI_COMM_WORLD, 2, [ranks, 1], [.true., .false.], mapped, error)
    call expect(mapped >= 0 .and. mapped < ranks, 'mapped')

    do i = 1, ranks
      index(i) = 2*i
      list(2*i-1:2*i) = [modulo(i - 2, ranks), modulo(i, ranks)]
    end do
    call MPI_Graph_create(MPI_COMM_WORLD, ranks, index, list, .false., graph, error)
    call MPI_Graphdims_get(graph, nodes, edges, error)
    call expect(nodes == ranks .and. edges == 2*ranks, 'graph')
    call MPI_Graph_get(graph, ranks, 2*ranks, got_index, got_list, error)
    call expect(all(got_index == index) .and. all(got_list == list), 'what the graph is')
    call MPI_Graph_neighbors_count(graph, rank, count, error)
    call MPI_Graph_neighbors(graph, rank, 2, near, error)
    call expect(count == 2 .and. all(near == list(2*rank+1:2*rank+2)), 'neighbours')
    call MPI_Comm_free(graph, error)
    call MPI_Graph_map(MPI_COMM_WORLD, ranks, index, list, mapped, error)
    call expect(mapped >= 0 .and. mapped < ranks, 'mapped graph')

    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [2], near, [3, 4], MPI_INFO_NULL, .false., graph, error)
    call MPI_Dist_graph_neighbors_count(graph, in, out, weighted, error)
    call expect(in == 2 .and. out == 2 .and. weighted, 'distributed graph')
    call MPI_Dist_graph_neighbors(graph, 2, from, from_weights, 2, to, to_weights, error)
    call expect(sum(from_weights) == 7 .and. sum(to_weights) == 7 .and. sum(to) == sum(near), 'its neighbours')
    call MPI_Comm_free(graph, error)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, near, MPI_UNWEIGHTED, 2, near, MPI_UNWEIGHTED, MPI_INFO_NULL, &
        .false., graph, error)
    call MPI_Dist_graph_neighbors_count(graph, in, out, weighted, error)
    call expect(in == 2 .and. out == 2 .and. .not. weighted, 'without weights')
    call MPI_Comm_free(graph, error)
  end subroutine

  subroutine datatypes()
    integer :: numbers(24), got(6), type, other, i, size
    integer(kind=MPI_ADDRESS_KIND) :: lower, extent, one, two
    integer(kind=MPI_COUNT_KIND) :: count, lower_count, extent_count
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character :: external(16)
    integer(kind=MPI_ADDRESS_KIND) :: bytes, position
    numbers = [(i, i = 0, 23)]
    call MPI_Type_indexed(2, [1, 2], [4, 0], MPI_INTEGER, type, error)
    call MPI_Type_commit(type, error)
    call flatten(numbers, 1, type, got)
    call expect(all(got(1:3) == [4, 0, 1]), 'indexed')
    call MPI_Type_free(type, error)
    call MPI_Type_create_indexed_block(2, 2, [4, 0], MPI_INTEGER, type, error)
    call MPI_Type_commit(type, error)
    call flatten(numbers, 1, type, got)
    call expect(all(got(1:4) == [4, 5, 0, 1]), 'indexed block')
    call MPI_Type_free(type, error)
    call MPI_Type_create_hindexed(2, [1, 2], [16_MPI_ADDRESS_KIND, 0_MPI_ADDRESS_KIND], MPI_INTEGER, type, error)
    call MPI_Type_commit(type, error)
    call flatten(numbers, 1, type, got)
    call expect(all(got(1:3) == [4, 0, 1]), 'hindexed')
    call MPI_Type_free(type, error)
    call MPI_Type_create_hindexed_block(2, 1, [16_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND], MPI_INTEGER, type, error)
    call MPI_Type_commit(type, error)
    call flatten(numbers, 1, type, got)
    call expect(all(got(1:2) == [4, 1]), 'hindexed block')
    call MPI_Type_free(type, error)
    call MPI_Type_create_hvector(3, 1, 12_MPI_ADDRESS_KIND, MPI_INTEGER, type, error)
    call MPI_Type_commit(type, error)
    call flatten(numbers, 1, type, got)
    call expect(all(got(1:3) == [0, 3, 6]), 'hvector')
    call MPI_Type_dup(type, other, error)
    call MPI_Type_free(type, error)
    call flatten(numbers, 1, other, got)
    call expect(all(got(1:3) == [0, 3, 6]), 'dup')
    call MPI_Type_set_name(other, 'every third', error)
    call MPI_Type_get_name(other, name, size, error)
    call expect(name == 'every third' .and. size == 11, 'name of a datatype')
    call MPI_Type_free(other, error)
    call MPI_Type_create_subarray(2, [4, 6], [2, 2], [1, 3], MPI_ORDER_FORTRAN, MPI_INTEGER, type, error)
    call MPI_Type_commit(type, error)
    call flatten(numbers, 1, type, got)
    call expect(all(got(1:4) == [13, 14, 17, 18]), 'subarray')
    call MPI_Type_get_true_extent(type, one, two, error)
    call MPI_Type_get_true_extent_x(type, lower_count, extent_count, error)
    call expect(one == 52 .and. two == 24 .and. lower_count == one .and. extent_count == two, 'true extent')
    call MPI_Type_free(type, error)
    call MPI_Type_create_darray(2, 1, 1, [8], [MPI_DISTRIBUTE_CYCLIC], [MPI_DISTRIBUTE_DFLT_DARG], [2], MPI_ORDER_FORTRAN, &
        MPI_INTEGER, type, error)
    call MPI_Type_commit(type, error)
    call flatten(numbers, 1, type, got)
    call expect(all(got(1:4) == [1, 3, 5, 7]), 'darray')
    call MPI_Type_free(type, error)
    call MPI_Type_create_resized(MPI_INTEGER, -4_MPI_ADDRESS_KIND, 12_MPI_ADDRESS_KIND, type, error)
    call MPI_Type_commit(type, error)
    call flatten(numbers, 3, type, got)
    call expect(all(got(1:3) == [0, 3, 6]), 'resized')
    call MPI_Type_get_extent(type, lower, extent, error)
    call MPI_Type_get_extent_x(type, lower_count, extent_count, error)
    call MPI_Type_size_x(type, count, error)
    call expect(lower == -4 .and. extent == 12 .and. lower_count == -4 .and. extent_count == 12 .and. count == 4, 'extents')
    call MPI_Type_free(type, error)
    call MPI_Sizeof(numbers, size, error)
    call expect(size == 4, 'an integer')
    call MPI_Sizeof(1.0d0, size, error)
    call expect(size == 8, 'a double precision')
    call MPI_Sizeof((1.0, 2.0), size, error)
    call expect(size == 8, 'a complex')
    call MPI_Sizeof(name, size, error)
    call expect(size == 1, 'a character')
    call MPI_Sizeof(.true., size, error)
    call expect(size == 4, 'a logical')
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, type, error)
    call MPI_Type_size(type, size, error)
    call expect(size == 8, 'matched')
    call MPI_Get_address(numbers(1), one, error)
    call MPI_Get_address(numbers(3), two, error)
    call expect(MPI_Aint_diff(two, one) == 8 .and. MPI_Aint_add(one, 8_MPI_ADDRESS_KIND) == two, 'addresses')
    call MPI_Pack_external_size('external32', 2, MPI_INTEGER, bytes, error)
    position = 0
    call MPI_Pack_external('external32', numbers(2:3), 2, MPI_INTEGER, external, 16_MPI_ADDRESS_KIND, position, error)
    call expect(bytes == 8 .and. position == 8 .and. ichar(external(4)) == 1, 'external32')
    position = 0
    call MPI_Unpack_external('external32', external, 8_MPI_ADDRESS_KIND, position, got, 2, MPI_INTEGER, error)
    call expect(got(1) == 1 .and. got(2) == 2, 'unpacked')
    call MPI_Pack_size(3, MPI_INTEGER, MPI_COMM_WORLD, size, error)
    call expect(size >= 12, 'size of what is packed')
  end subroutine

  subroutine made_of()
    integer :: inner, type, integers, addresses, types, combiner, values(8), parts(2), status(MPI_STATUS_SIZE), elements
    integer(kind=MPI_ADDRESS_KIND) :: places(8)
    integer(kind=MPI_COUNT_KIND) :: many
    call MPI_Type_vector(3, 2, 4, MPI_INTEGER, inner, error)
    call MPI_Type_create_struct(2, [1, 2], [0_MPI_ADDRESS_KIND, 64_MPI_ADDRESS_KIND], [inner, MPI_DOUBLE_PRECISION], type, error)
    call MPI_Type_get_envelope(type, integers, addresses, types, combiner, error)
    call expect(integers == 3 .and. addresses == 2 .and. types == 2 .and. combiner == MPI_COMBINER_STRUCT, 'envelope')
    call MPI_Type_get_contents(type, 8, 8, 2, values, places, parts, error)
    call expect(values(1) == 2 .and. values(3) == 2 .and. places(2) == 64 .and. parts(2) == MPI_DOUBLE_PRECISION, 'contents')
    call MPI_Type_get_contents(parts(1), 8, 8, 1, values, places, parts(2:2), error)
    call expect(all(values(1:3) == [3, 2, 4]) .and. parts(2) == MPI_INTEGER, 'contents of a part')
    call MPI_Type_free(parts(1), error)
    call MPI_Type_free(type, error)
    call MPI_Type_free(inner, error)
    call MPI_Recv(values, 0, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, status, error)
    call MPI_Status_set_elements_x(status, MPI_INTEGER, 3000000000_MPI_COUNT_KIND, error)
    call MPI_Get_elements_x(status, MPI_INTEGER, many, error)
    call MPI_Get_elements(status, MPI_INTEGER, elements, error)
    call expect(many == 3000000000_MPI_COUNT_KIND .and. elements == MPI_UNDEFINED, 'many elements')
  end subroutine

  subroutine attributes()
    integer :: key, type, other
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag, commutes
    call MPI_Type_create_keyval(copy_twice, deleted, key, 3_MPI_ADDRESS_KIND, error)
    call MPI_Type_contiguous(2, MPI_INTEGER, type, error)
    call MPI_Type_set_attr(type, key, 14_MPI_ADDRESS_KIND, error)
    call MPI_Type_dup(type, other, error)
    call MPI_Type_get_attr(other, key, value, flag, error)
    call expect(flag .and. value == 42 .and. copies == 1, 'attribute copied')
    call MPI_Type_delete_attr(other, key, error)
    call MPI_Type_get_attr(other, key, value, flag, error)
    call expect(.not. flag .and. deletions == 1, 'attribute deleted')
    call MPI_Type_free(other, error)
    call MPI_Type_free(type, error)
    call expect(deletions == 2, 'attribute deleted with the datatype')
    call MPI_Type_free_keyval(key, error)
    call MPI_Op_commutative(MPI_SUM, commutes, error)
    call expect(commutes, 'a sum commutes')
  end subroutine

  subroutine infos()
    integer :: one, two, length, keys
    character(len=MPI_MAX_INFO_KEY) :: key
    character(len=12) :: value
    logical :: flag
    call MPI_Info_create(one, error)
    call MPI_Info_set(one, 'first', 'some text', error)
    call MPI_Info_set(one, 'second', 'b', error)
    call MPI_Info_dup(one, two, error)
    call MPI_Info_get_valuelen(two, 'first', length, flag, error)
    call expect(flag .and. length == 9, 'length')
    call MPI_Info_delete(two, 'first', error)
    call MPI_Info_get_nkeys(two, keys, error)
    call MPI_Info_get_nthkey(two, 0, key, error)
    call expect(keys == 1 .and. key == 'second', 'the other key')
    call MPI_Info_get(two, 'first', 12, value, flag, error)
    call expect(.not. flag, 'deleted key')
    call MPI_Info_free(two, error)
    call MPI_Info_free(one, error)
  end subroutine

  subroutine environment()
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    integer :: level, length, version, subversion
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: library
    integer(kind=MPI_ADDRESS_KIND) :: memory
    type(c_ptr) :: address
    integer, pointer :: array(:)
    logical :: is_main
    call MPI_Query_thread(level, error)
    call MPI_Is_thread_main(is_main, error)
    call expect(is_main .and. level >= MPI_THREAD_SINGLE, 'threads')
    call MPI_Get_processor_name(name, length, error)
    call expect(length > 0 .and. len_trim(name) == length, 'processor')
    call MPI_Get_version(version, subversion, error)
    call expect(version == MPI_VERSION .and. subversion == MPI_SUBVERSION, 'version')
    call MPI_Get_library_version(library, length, error)
    call expect(length > 0, 'library')
    call MPI_Alloc_mem(1000_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory, error)
    call expect(memory /= 0, 'memory')
    call free_at(memory)
    call MPI_Alloc_mem(1000_MPI_ADDRESS_KIND, MPI_INFO_NULL, address, error)
    call c_f_pointer(address, array, [250])
    array = 7
    call MPI_Free_mem(array, error)
    call MPI_Pcontrol(1)
    call expect(MPI_Wtick() > 0 .and. MPI_Wtick() < 0.01, 'tick')
  end subroutine

  ! What MPI_Free_mem takes is the memory, of which Fortran has the address.
  subroutine free_at(address)
    use, intrinsic :: iso_c_binding
    integer(kind=MPI_ADDRESS_KIND) :: address
    integer, pointer :: memory(:)
    type(c_ptr) :: at
    at = transfer(address, at)
    call c_f_pointer(at, memory, [250])
    memory = 7
    call MPI_Free_mem(memory, error)
  end subroutine

  subroutine codes()
    integer :: class, code, found, length
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Add_error_class(class, error)
    call MPI_Add_error_code(class, code, error)
    call MPI_Add_error_string(code, 'an own code', error)
    call MPI_Error_class(code, found, error)
    call MPI_Error_string(code, text, length, error)
    call expect(found == class .and. text == 'an own code' .and. length == 11, 'own error')
  end subroutine
end program
