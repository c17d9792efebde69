/* What weft has beyond the standard: the proposal "User Level Failure Mitigation", by which a program goes on after
 * processes have died. Its names begin with MPIX_. In a job that does not go on (weftrun without --on-failure error) nobody
 * is ever told of a failure. docs/mpi.md has the rules.
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

#undef WEFT_MPIX_DECLARE

#ifdef __cplusplus
}
#endif
#endif
