/* What MPICH's interface has alone. */
#include "functions.h"

/* The new communicator is written after the return, when the request is complete, as four bytes with MPICH's marks. */
int weft_marked_idup(MPI_Comm comm, MPI_Info info, int* newcomm, int null, unsigned made, MPI_Request* request);
static int idup(int comm, MPI_Info info, int* newcomm, int* request) {
  MPI_Request made = (MPI_Request)0;
  const int error = weft_marked_idup(comm_in(comm), info, newcomm, OLDER_COMM_NULL, (unsigned)OLDER_MADE(OLDER_COMM_NULL, 0),
                                     request == NULL ? NULL : &made);
  if (made != (MPI_Request)0) *request = request_out(made);
  return error_out(error);
}
OLDER_FUNCTION(int, MPI_Comm_idup, (int comm, int* newcomm, int* request)) { return idup(comm, MPI_INFO_NULL, newcomm, request); }
OLDER_FUNCTION(int, MPI_Comm_idup_with_info, (int comm, int info, int* newcomm, int* request)) {
  return idup(comm, info_in(info), newcomm, request);
}

/* --- Beyond the standard, as MPICH has it --------------------------------------------------------------------------------------------------- */

OLDER_FUNCTION(int, MPIX_Query_cuda_support, (void)) { return 0; }
OLDER_FUNCTION(int, MPIX_Query_hip_support, (void)) { return 0; }
OLDER_FUNCTION(int, MPIX_Query_ze_support, (void)) { return 0; }
OLDER_FUNCTION(int, MPIX_GPU_query_support, (int kind, int* is_supported)) {
  (void)kind;
  *is_supported = 0;
  return MPI_SUCCESS;
}
OLDER_FUNCTION(int, MPIX_Delete_error_class, (int errorclass)) { return error_out(weft_abi_MPI_Remove_error_class(error_in(errorclass))); }
OLDER_FUNCTION(int, MPIX_Delete_error_code, (int errorcode)) { return error_out(weft_abi_MPI_Remove_error_code(error_in(errorcode))); }
OLDER_FUNCTION(int, MPIX_Delete_error_string, (int errorcode)) { return error_out(weft_abi_MPI_Remove_error_string(error_in(errorcode))); }
