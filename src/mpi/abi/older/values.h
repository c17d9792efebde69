/* What conversions of both interfaces stand on. */
#ifndef WEFT_MPI_ABI_OLDER_VALUES_H
#define WEFT_MPI_ABI_OLDER_VALUES_H
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

#define WEFT_HIDDEN __attribute__((visibility("hidden")))

enum { standard_handles_end = 0x1000 };

/* --- Tables: by the interface's value, and by the standard's. The last row has 0 of both. ---------------------------------- */

struct older_number {
  int of_theirs, of_standard;
};
/* The number that goes with another one; `otherwise` where none does. */
WEFT_HIDDEN int older_find_in(const struct older_number* table, int of_theirs, int otherwise);
WEFT_HIDDEN int older_find_out(const struct older_number* table, int of_standard, int otherwise);
/* Of each interface, in its convert.c. */
extern WEFT_HIDDEN const struct older_number older_error_numbers[], older_promises[];

/* --- Errors (convert.c) ------------------------------------------------------------------------------------------------------ */

WEFT_HIDDEN int older_error_in(int code);
WEFT_HIDDEN int older_error_out(int code);
/* The standard's class of a code in older_error_numbers; -1: it is not there. */
WEFT_HIDDEN int older_error_of_table(int code);
static inline int error_in(int code) { return code == MPI_SUCCESS ? MPI_SUCCESS : older_error_in(code); }
static inline int error_out(int code) { return __builtin_expect(code == MPI_SUCCESS, 1) ? MPI_SUCCESS : older_error_out(code); }
/* What a function of the program has returned: a number that is no code is MPI_ERR_OTHER. */
WEFT_HIDDEN int returned_in(int code);
WEFT_HIDDEN void* older_memory(long count, size_t size);

/* --- What is asked of libweft before the call: no error handler is called (for_older.cpp) ----------------------------------- */

/* How many elements the arrays of MPI_Alltoallw and of MPI_Neighbor_alltoallw have, which rank the caller is, and whether an info has
   a key. */
int weft_peers_of(MPI_Comm comm);
int weft_neighbours_of(MPI_Comm comm, int incoming);
int weft_rank_in(MPI_Comm comm);
int weft_has_hint(MPI_Info info, const char* key);

#endif
