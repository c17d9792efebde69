/* Makes a program one of large counts: after this its calls are those with _c, and count_type is MPI_Count.
   Displacements in bytes are MPI_Aint in both, which is as large. */
#if defined(LARGE_COUNTS) && MPI_VERSION >= 4
typedef MPI_Count count_type;
#define MPI_Get_count MPI_Get_count_c
#define MPI_Get_elements MPI_Get_elements_c
#define MPI_Irecv MPI_Irecv_c
#define MPI_Pack MPI_Pack_c
#define MPI_Pack_external MPI_Pack_external_c
#define MPI_Pack_external_size MPI_Pack_external_size_c
#define MPI_Pack_size MPI_Pack_size_c
#define MPI_Recv MPI_Recv_c
#define MPI_Send MPI_Send_c
#define MPI_Sendrecv MPI_Sendrecv_c
#define MPI_Type_contiguous MPI_Type_contiguous_c
#define MPI_Type_create_darray MPI_Type_create_darray_c
#define MPI_Type_create_hindexed MPI_Type_create_hindexed_c
#define MPI_Type_create_hindexed_block MPI_Type_create_hindexed_block_c
#define MPI_Type_create_hvector MPI_Type_create_hvector_c
#define MPI_Type_create_indexed_block MPI_Type_create_indexed_block_c
#define MPI_Type_create_resized MPI_Type_create_resized_c
#define MPI_Type_create_struct MPI_Type_create_struct_c
#define MPI_Type_create_subarray MPI_Type_create_subarray_c
#define MPI_Type_get_extent MPI_Type_get_extent_c
#define MPI_Type_get_true_extent MPI_Type_get_true_extent_c
#define MPI_Type_indexed MPI_Type_indexed_c
#define MPI_Type_size MPI_Type_size_c
#define MPI_Type_vector MPI_Type_vector_c
#define MPI_Unpack MPI_Unpack_c
#define MPI_Unpack_external MPI_Unpack_external_c
#else
#undef LARGE_COUNTS
typedef int count_type;
#endif
