/* What weft has beyond the standard. Its names begin with MPIX_, and each has a PMPIX_ name. docs/mpi.md has the rules.
 *
 * The proposal "User Level Failure Mitigation", by which a program goes on after processes have died: in a job that does not
 * go on (weftrun without --on-failure error) nobody is ever told of a failure.
 *
 * Functions that MPICH has by the same names: callbacks that get a pointer of the program's, the blocks of a datatype,
 * and functions of the program that MPI calls while it waits.
 *
 * mpi.h includes it, so that a program may include either. */
#ifndef WEFT_MPI_EXT_H
#define WEFT_MPI_EXT_H
#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MPIX_HAVE_ULFM 1

enum { /* Error classes. A process that has failed is one that has aborted: the standard has a class for it. */
  MPIX_ERR_PROC_FAILED = MPI_ERR_PROC_ABORTED,
  MPIX_ERR_PROC_FAILED_PENDING = 102,
  MPIX_ERR_REVOKED = 103
};
/* Programs ask by #ifdef whether they are there. */
#define MPIX_ERR_PROC_FAILED MPIX_ERR_PROC_FAILED
#define MPIX_ERR_PROC_FAILED_PENDING MPIX_ERR_PROC_FAILED_PENDING
#define MPIX_ERR_REVOKED MPIX_ERR_REVOKED

enum { /* A key of attributes of MPI_COMM_WORLD: 1 where the job goes on after failures, 0 where it does not. */
  MPIX_FT = 591
};
#define MPIX_FT MPIX_FT

/* Declares MPIX_X and PMPIX_X. */
#define WEFT_MPIX_DECLARE(name, parameters) \
  int name parameters;                      \
  int P##name parameters;

WEFT_MPIX_DECLARE(MPIX_Comm_revoke, (MPI_Comm comm))
WEFT_MPIX_DECLARE(MPIX_Comm_is_revoked, (MPI_Comm comm, int* flag))
WEFT_MPIX_DECLARE(MPIX_Comm_shrink, (MPI_Comm comm, MPI_Comm* newcomm))
WEFT_MPIX_DECLARE(MPIX_Comm_ishrink, (MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request))
WEFT_MPIX_DECLARE(MPIX_Comm_agree, (MPI_Comm comm, int* flag))
WEFT_MPIX_DECLARE(MPIX_Comm_iagree, (MPI_Comm comm, int* flag, MPI_Request* request))
WEFT_MPIX_DECLARE(MPIX_Comm_failure_ack, (MPI_Comm comm))
WEFT_MPIX_DECLARE(MPIX_Comm_failure_get_acked, (MPI_Comm comm, MPI_Group* failedgrp))
WEFT_MPIX_DECLARE(MPIX_Comm_get_failed, (MPI_Comm comm, MPI_Group* failedgrp))
WEFT_MPIX_DECLARE(MPIX_Comm_ack_failed, (MPI_Comm comm, int num_to_ack, int* num_acked))

/* --- Callbacks with extra state: they get it as their last argument, and the rest by value. The destructor, which may be null,
   is called with it once the object has been freed and nothing uses it any more; not when the program ends with the object. */
typedef void MPIX_Destructor_function(void* extra_state);
typedef void MPIX_User_function_x(void* invec, void* inoutvec, MPI_Count len, MPI_Datatype datatype, void* extra_state);
typedef void MPIX_Comm_errhandler_function_x(MPI_Comm comm, int error_code, void* extra_state);
typedef void MPIX_Win_errhandler_function_x(MPI_Win win, int error_code, void* extra_state);
typedef void MPIX_File_errhandler_function_x(MPI_File file, int error_code, void* extra_state);
typedef void MPIX_Session_errhandler_function_x(MPI_Session session, int error_code, void* extra_state);

WEFT_MPIX_DECLARE(MPIX_Op_create_x, (MPIX_User_function_x* user_fn_x, MPIX_Destructor_function* destructor_fn, int commute,
                                     void* extra_state, MPI_Op* op))
WEFT_MPIX_DECLARE(MPIX_Comm_create_errhandler_x,
                  (MPIX_Comm_errhandler_function_x* comm_errhandler_fn_x, MPIX_Destructor_function* destructor_fn,
                   void* extra_state, MPI_Errhandler* errhandler))
WEFT_MPIX_DECLARE(MPIX_Win_create_errhandler_x,
                  (MPIX_Win_errhandler_function_x* win_errhandler_fn_x, MPIX_Destructor_function* destructor_fn,
                   void* extra_state, MPI_Errhandler* errhandler))
WEFT_MPIX_DECLARE(MPIX_File_create_errhandler_x,
                  (MPIX_File_errhandler_function_x* file_errhandler_fn_x, MPIX_Destructor_function* destructor_fn,
                   void* extra_state, MPI_Errhandler* errhandler))
WEFT_MPIX_DECLARE(MPIX_Session_create_errhandler_x,
                  (MPIX_Session_errhandler_function_x* session_errhandler_fn_x, MPIX_Destructor_function* destructor_fn,
                   void* extra_state, MPI_Errhandler* errhandler))

/* --- A datatype as the blocks of memory that an element has, in the order in which it is sent. As a struct iovec; a base is the
   block's displacement in bytes, as an address. */
typedef struct MPIX_Iov {
  void* iov_base;
  MPI_Aint iov_len;
} MPIX_Iov;

/* How many blocks, from the first on, have no more than max_iov_bytes together, and how many bytes these have. -1: all blocks. */
WEFT_MPIX_DECLARE(MPIX_Type_iov_len, (MPI_Datatype datatype, MPI_Count max_iov_bytes, MPI_Count* iov_len,
                                      MPI_Count* actual_iov_bytes))
/* The blocks iov_offset, iov_offset + 1, ..., at most max_iov_len of them; *actual_iov_len: how many. */
WEFT_MPIX_DECLARE(MPIX_Type_iov, (MPI_Datatype datatype, MPI_Count iov_offset, MPIX_Iov* iov, MPI_Count max_iov_len,
                                  MPI_Count* actual_iov_len))

/* --- Functions of the program that are called again and again while the rank waits or tests in MPI, until they return
   MPIX_ASYNC_DONE. They may call MPI. MPI_Finalize, or the end of the last session, comes when all are done. */
typedef int MPIX_Stream; /* There is none but MPIX_STREAM_NULL. */
#define MPIX_STREAM_NULL 0
typedef struct MPIX_Async_thing_s* MPIX_Async_thing;
typedef int MPIX_Async_poll_function(MPIX_Async_thing thing);
enum { MPIX_ASYNC_NOPROGRESS = 0, MPIX_ASYNC_DONE = 1 };

WEFT_MPIX_DECLARE(MPIX_Async_start, (MPIX_Async_poll_function* poll_fn, void* extra_state, MPIX_Stream stream))
/* Called by a poll function: another one, which is called from the next round on. */
WEFT_MPIX_DECLARE(MPIX_Async_spawn, (MPIX_Async_thing thing, MPIX_Async_poll_function* poll_fn, void* extra_state,
                                     MPIX_Stream stream))
void* MPIX_Async_get_state(MPIX_Async_thing thing);
void* PMPIX_Async_get_state(MPIX_Async_thing thing);
/* Whether a wait for the request would return at once. Looks at nothing else, and lets nobody run. */
WEFT_MPIX_DECLARE(MPIX_Request_is_complete, (MPI_Request request))

#undef WEFT_MPIX_DECLARE

#ifdef __cplusplus
}
#endif
#endif
