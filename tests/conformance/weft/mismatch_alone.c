/* Ranks that disagree about a collective, with MPI_ERRORS_RETURN: each gets an error, nobody waits for ever,
   and other communicators work on. */
/* Run with: -n 3 --ranks-per-process 1 --timeout 60 */
#include "mismatch.h"
