/* The tables of convert.h, and the conversions that look into them. */
#include "functions.h"

#include <pthread.h>

/* --- Handles ------------------------------------------------------------------------------------------------------------------ */

/* The variables: programs know their addresses, and copy them. Their names are those of arrays elsewhere, so they are defined by
   other names, which the linker does not see. */
#define OBJECT(kind, name, standard, number, size)                                                                    \
  __attribute__((aligned(32))) union {                                                                                \
    struct openmpi_object object;                                                                                     \
    char room[size];                                                                                                  \
  } openmpi_variable_##name __asm__(#name) = {{OPENMPI_MARK(kind), (uintptr_t)(standard), number}};
#include "objects.inc"
OBJECT(errhandler, ompi_mpi_errors_throw_exceptions, MPI_ERRORS_RETURN, 3, 1024)
#undef OBJECT

/* The programs' addresses are those that the loader finds for the names. */
#define OBJECT(kind, name, standard, number, size) [(uintptr_t)(standard)] = name,
older_handle const openmpi_by_handle[openmpi_predefined_end] = {
#include "objects.inc"
};
#undef OBJECT
#define OBJECT(kind, name, standard, number, size) [openmpi_##kind][number] = name,
older_handle const openmpi_by_number[openmpi_kinds][openmpi_numbers_end] = {
#include "objects.inc"
    [openmpi_errhandler][3] = ompi_mpi_errors_throw_exceptions};
#undef OBJECT

/* --- Variables that are made --------------------------------------------------------------------------------------------------- */

/* Open MPI's libraries for Fortran and C++ write into what is behind these handles, at most so far. */
enum { openmpi_room = 512 };
struct made {
  union {
    struct openmpi_object object;
    char room[openmpi_room];
  };
  struct made* next;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct made* all;
static const uint64_t marks[openmpi_kinds] = {
    [openmpi_op] = OPENMPI_MARK(op), [openmpi_errhandler] = OPENMPI_MARK(errhandler), [openmpi_request] = OPENMPI_MARK(request)};

static struct openmpi_object* find(enum openmpi_kind kind, uintptr_t handle) {
  for (struct made* m = all; m != NULL; m = m->next)
    if (m->object.handle == handle && m->object.mark == marks[kind]) return &m->object;
  return NULL;
}
struct openmpi_object* openmpi_find_object(enum openmpi_kind kind, uintptr_t handle) {
  pthread_mutex_lock(&lock);
  struct openmpi_object* const found = find(kind, handle);
  pthread_mutex_unlock(&lock);
  return found;
}
struct openmpi_object* openmpi_object_of(enum openmpi_kind kind, uintptr_t handle) {
  pthread_mutex_lock(&lock);
  struct openmpi_object* object = find(kind, handle);
  if (object == NULL) {
    struct made* const m = older_memory(1, sizeof *m);
    m->object = (struct openmpi_object){marks[kind], handle, -1};
    m->next = all;
    all = m;
    object = &m->object;
  }
  pthread_mutex_unlock(&lock);
  return object;
}
older_handle op_out(MPI_Op op) {
  return (uintptr_t)op < standard_handles_end ? op_known_out(op) : openmpi_object_of(openmpi_op, (uintptr_t)op);
}
older_handle errhandler_out(MPI_Errhandler errhandler) {
  struct openmpi_object* const made = openmpi_find_object(openmpi_errhandler, (uintptr_t)errhandler);
  return made != NULL ? made : errhandler_known_out(errhandler);
}

/* --- Errors ------------------------------------------------------------------------------------------------------------------ */

/* Codes below are the standard's in both. */
enum { first_other_code = 18 };
const struct older_number older_error_numbers[] = {
    {18, MPI_ERR_IN_STATUS},
    {19, MPI_ERR_PENDING},
    {20, MPI_ERR_ACCESS},
    {21, MPI_ERR_AMODE},
    {22, MPI_ERR_ASSERT},
    {23, MPI_ERR_BAD_FILE},
    {24, MPI_ERR_BASE},
    {25, MPI_ERR_CONVERSION},
    {26, MPI_ERR_DISP},
    {27, MPI_ERR_DUP_DATAREP},
    {28, MPI_ERR_FILE_EXISTS},
    {29, MPI_ERR_FILE_IN_USE},
    {30, MPI_ERR_FILE},
    {31, MPI_ERR_INFO_KEY},
    {32, MPI_ERR_INFO_NOKEY},
    {33, MPI_ERR_INFO_VALUE},
    {34, MPI_ERR_INFO},
    {35, MPI_ERR_IO},
    {36, MPI_ERR_KEYVAL},
    {37, MPI_ERR_LOCKTYPE},
    {38, MPI_ERR_NAME},
    {39, MPI_ERR_NO_MEM},
    {40, MPI_ERR_NOT_SAME},
    {41, MPI_ERR_NO_SPACE},
    {42, MPI_ERR_NO_SUCH_FILE},
    {43, MPI_ERR_PORT},
    {44, MPI_ERR_QUOTA},
    {45, MPI_ERR_READ_ONLY},
    {46, MPI_ERR_RMA_CONFLICT},
    {47, MPI_ERR_RMA_SYNC},
    {48, MPI_ERR_SERVICE},
    {49, MPI_ERR_SIZE},
    {50, MPI_ERR_SPAWN},
    {51, MPI_ERR_UNSUPPORTED_DATAREP},
    {52, MPI_ERR_UNSUPPORTED_OPERATION},
    {53, MPI_ERR_WIN},
    {54, MPI_T_ERR_MEMORY},
    {55, MPI_T_ERR_NOT_INITIALIZED},
    {56, MPI_T_ERR_CANNOT_INIT},
    {57, MPI_T_ERR_INVALID_INDEX},
    {58, MPI_T_ERR_INVALID_ITEM},
    {59, MPI_T_ERR_INVALID_HANDLE},
    {60, MPI_T_ERR_OUT_OF_HANDLES},
    {61, MPI_T_ERR_OUT_OF_SESSIONS},
    {62, MPI_T_ERR_INVALID_SESSION},
    {63, MPI_T_ERR_CVAR_SET_NOT_NOW},
    {64, MPI_T_ERR_CVAR_SET_NEVER},
    {65, MPI_T_ERR_PVAR_NO_STARTSTOP},
    {66, MPI_T_ERR_PVAR_NO_WRITE},
    {67, MPI_T_ERR_PVAR_NO_ATOMIC},
    {68, MPI_ERR_RMA_RANGE},
    {69, MPI_ERR_RMA_ATTACH},
    {70, MPI_ERR_RMA_FLAVOR},
    {71, MPI_ERR_RMA_SHARED},
    {72, MPI_T_ERR_INVALID},
    {73, MPI_T_ERR_INVALID_NAME},
    /* Of version 5. Both of the first are one in weft, which goes out as the first. */
    {75, MPIX_ERR_PROC_FAILED},
    {74, MPI_ERR_PROC_ABORTED},
    {76, MPIX_ERR_PROC_FAILED_PENDING},
    {77, MPIX_ERR_REVOKED},
    {78, MPI_ERR_SESSION},
    {79, MPI_ERR_VALUE_TOO_LARGE},
    {0, 0},
};

/* What is no code of Open MPI's becomes none of the standard's: -1. */
int older_error_in(int code) {
  if (code >= 0 && code < first_other_code) return code;
  return code >= older_last_code ? code - older_last_code + MPI_ERR_LASTCODE : older_error_of_table(code);
}
int older_error_out(int code) {
  if (code >= 0 && code < first_other_code) return code;
  if (code >= MPI_ERR_LASTCODE) return code - MPI_ERR_LASTCODE + older_last_code;
  return older_find_out(older_error_numbers, code, MPI_ERR_OTHER);
}

const struct older_number older_promises[] = {{1, MPI_MODE_NOCHECK}, {2, MPI_MODE_NOPRECEDE},  {4, MPI_MODE_NOPUT},
                                              {8, MPI_MODE_NOSTORE}, {16, MPI_MODE_NOSUCCEED}, {0, 0}};

int openmpi_key_in(int key) {
  static const int keys[] = {MPI_KEYVAL_INVALID, MPI_TAG_UB,       MPI_HOST,          MPI_IO,
                             MPI_WTIME_IS_GLOBAL, MPI_APPNUM,      MPI_LASTUSEDCODE,  MPI_UNIVERSE_SIZE,
                             MPI_WIN_BASE,       MPI_WIN_SIZE,     MPI_WIN_DISP_UNIT, MPI_WIN_CREATE_FLAVOR,
                             MPI_WIN_MODEL};
  return keys[key + 1];
}
