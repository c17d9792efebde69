/* The stubs that generate.py cannot write by its rule: functions whose arguments differ from C's, that take or return indices
   (which count from 1 in Fortran), that pass attributes by value, or that take functions of the program. */
#include <pthread.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "declared.h"
#include "stubs.h"

/* Aligned as common blocks are. */
#define COMMON __attribute__((aligned(32)))
int weft_mpi_bottom_ COMMON, weft_mpi_in_place_ COMMON, weft_mpi_buffer_automatic_ COMMON;
int weft_mpi_status_ignore_[8] COMMON, weft_mpi_statuses_ignore_[8] COMMON;
int weft_mpi_unweighted_[1] COMMON, weft_mpi_weights_empty_[1] COMMON, weft_mpi_errcodes_ignore_[1] COMMON;
char weft_mpi_argv_null_[1] COMMON, weft_mpi_argvs_null_[1] COMMON;

char* weft_fortran_text_in(const char* text, size_t length) {
  while (length > 0 && *text == ' ') ++text, --length;
  return weft_fortran_name_in(text, length);
}

char* weft_fortran_name_in(const char* text, size_t length) {
  while (length > 0 && text[length - 1] == ' ') --length;
  char* const copy = weft_fortran_memory((long)length + 1, 1);
  memcpy(copy, text, length);
  copy[length] = 0;
  return copy;
}

void weft_fortran_text_out(const char* text, char* to, size_t room) {
  const size_t length = strlen(text) < room ? strlen(text) : room;
  memcpy(to, text, length);
  memset(to + length, ' ', room - length);
}

void* weft_fortran_memory(long count, size_t size) {
  void* const memory = malloc(count > 0 ? (size_t)count * size : 1);
  if (memory == NULL) {
    fprintf(stderr, "MPI: no memory for %ld arguments of %zu bytes\n", count, size);
    abort();
  }
  return memory;
}

#ifdef WEFT_HAS_MPI_Comm_get_attr
long weft_fortran_peers(MPI_Comm comm) {
  int is_inter = 0, size = 0;
  MPI_Comm_test_inter(comm, &is_inter);
  if (is_inter)
    MPI_Comm_remote_size(comm, &size);
  else
    MPI_Comm_size(comm, &size);
  return size;
}

long weft_fortran_neighbours(MPI_Comm comm, int incoming) {
  int kind = MPI_UNDEFINED, in = 0, out = 0, weighted = 0, rank = 0;
  MPI_Topo_test(comm, &kind);
  if (kind == MPI_CART) {
    MPI_Cartdim_get(comm, &in);
    return 2L * in;
  }
  if (kind == MPI_GRAPH) {
    MPI_Comm_rank(comm, &rank);
    MPI_Graph_neighbors_count(comm, rank, &in);
    return in;
  }
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  return incoming ? in : out;
}
#endif

/* --- Start, clocks, addresses ------------------------------------------------------------------- */

void pmpi_init_(MPI_Fint* ierror) {
  WEFT_STUB;
  *ierror = MPI_Init(NULL, NULL);
}
WEFT_FORTRAN_NAME(mpi_init_, (MPI_Fint*));

void pmpi_init_thread_(const MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror) {
  WEFT_STUB;
  *ierror = MPI_Init_thread(NULL, NULL, *required, provided);
}
WEFT_FORTRAN_NAME(mpi_init_thread_, (const MPI_Fint*, MPI_Fint*, MPI_Fint*));

void pmpi_pcontrol_(const MPI_Fint* level) {
  WEFT_STUB_OF_CALL;
  MPI_Pcontrol(*level);
}
WEFT_FORTRAN_NAME(mpi_pcontrol_, (const MPI_Fint*));

#define WEFT_FORTRAN_FUNCTION(result, name, parameters)                         \
  extern __attribute__((weak, alias("p" #name))) result name parameters;        \
  extern __attribute__((weak, alias("p" #name))) result name##f08_ parameters;  \
  extern __attribute__((alias("p" #name))) result p##name##f08_ parameters
double pmpi_wtime_(void) { return MPI_Wtime(); }
WEFT_FORTRAN_FUNCTION(double, mpi_wtime_, (void));
double pmpi_wtick_(void) { return MPI_Wtick(); }
WEFT_FORTRAN_FUNCTION(double, mpi_wtick_, (void));
#ifdef WEFT_HAS_MPI_Aint_add
MPI_Aint pmpi_aint_add_(const MPI_Aint* base, const MPI_Aint* distance) { return MPI_Aint_add(*base, *distance); }
WEFT_FORTRAN_FUNCTION(MPI_Aint, mpi_aint_add_, (const MPI_Aint*, const MPI_Aint*));
MPI_Aint pmpi_aint_diff_(const MPI_Aint* one, const MPI_Aint* other) { return MPI_Aint_diff(*one, *other); }
WEFT_FORTRAN_FUNCTION(MPI_Aint, mpi_aint_diff_, (const MPI_Aint*, const MPI_Aint*));
#endif

/* Detaching returns the size alone: Fortran has no variable that could take the buffer's address. */
#define DETACH(Detach, detach, Count)                                                        \
  void p##detach##_(void* buffer, Count* size, MPI_Fint* ierror) {                           \
    WEFT_STUB;                                                                               \
    void* address = NULL;                                                                    \
    (void)buffer;                                                                            \
    *ierror = Detach(&address, size);                                                        \
  }                                                                                          \
  WEFT_FORTRAN_NAME_ALONE(detach##_, (void*, Count*, MPI_Fint*));
#define DETACH_OF(Kind, Detach, detach, Count)                                               \
  void p##detach##_(MPI_Fint* of, void* buffer, Count* size, MPI_Fint* ierror) {             \
    WEFT_STUB;                                                                               \
    void* address = NULL;                                                                    \
    (void)buffer;                                                                            \
    *ierror = Detach(MPI_##Kind##_f2c(*of), &address, size);                                 \
  }                                                                                          \
  WEFT_FORTRAN_NAME_ALONE(detach##_, (MPI_Fint*, void*, Count*, MPI_Fint*));
#ifdef WEFT_HAS_MPI_Buffer_detach
DETACH(MPI_Buffer_detach, mpi_buffer_detach, int)
DETACH(MPI_Buffer_detach_c, mpi_buffer_detach_c, MPI_Count)
#endif
#ifdef WEFT_HAS_MPI_Comm_detach_buffer
DETACH_OF(Comm, MPI_Comm_detach_buffer, mpi_comm_detach_buffer, int)
DETACH_OF(Comm, MPI_Comm_detach_buffer_c, mpi_comm_detach_buffer_c, MPI_Count)
#endif
#ifdef WEFT_HAS_MPI_Session_detach_buffer
DETACH_OF(Session, MPI_Session_detach_buffer, mpi_session_detach_buffer, int)
DETACH_OF(Session, MPI_Session_detach_buffer_c, mpi_session_detach_buffer_c, MPI_Count)
#endif

/* --- A status: an array of integers, or TYPE(MPI_Status) of the same bytes ------------------------------------------- */

void pmpi_status_f2f08_(const MPI_Fint* given, MPI_F08_status* made, MPI_Fint* ierror) {
  WEFT_STUB;
  *ierror = MPI_Status_f2f08(given, made);
}
WEFT_FORTRAN_NAME(mpi_status_f2f08_, (const MPI_Fint*, MPI_F08_status*, MPI_Fint*));
void pmpi_status_f082f_(const MPI_F08_status* given, MPI_Fint* made, MPI_Fint* ierror) {
  WEFT_STUB;
  *ierror = MPI_Status_f082f(given, made);
}
WEFT_FORTRAN_NAME(mpi_status_f082f_, (const MPI_F08_status*, MPI_Fint*, MPI_Fint*));

/* --- Requests by index, which counts from 1 --------------------------------------------------------------- */

#ifdef WEFT_HAS_MPI_Waitany
static MPI_Request* requests_in(const MPI_Fint* from, MPI_Fint count) {
  MPI_Request* const to = weft_fortran_memory(count, sizeof *to);
  for (MPI_Fint i = 0; i < count; ++i) to[i] = MPI_Request_f2c(from[i]);
  return to;
}

static void requests_out(MPI_Request* from, MPI_Fint* to, MPI_Fint count) {
  for (MPI_Fint i = 0; i < count; ++i) to[i] = MPI_Request_c2f(from[i]);
  free(from);
}

void pmpi_waitany_(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Status* status, MPI_Fint* ierror) {
  WEFT_STUB;
  MPI_Request* const of_c = requests_in(requests, *count);
  *index = MPI_UNDEFINED;
  *ierror = MPI_Waitany(*count, of_c, index, weft_fortran_status(status));
  if (*index != MPI_UNDEFINED) ++*index;
  requests_out(of_c, requests, *count);
}
WEFT_FORTRAN_NAME(mpi_waitany_, (const MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Status*, MPI_Fint*));

void pmpi_testany_(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag, MPI_Status* status,
                   MPI_Fint* ierror) {
  WEFT_STUB;
  MPI_Request* const of_c = requests_in(requests, *count);
  *index = MPI_UNDEFINED;
  *ierror = MPI_Testany(*count, of_c, index, flag, weft_fortran_status(status));
  if (*index != MPI_UNDEFINED) ++*index;
  requests_out(of_c, requests, *count);
}
WEFT_FORTRAN_NAME(mpi_testany_, (const MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Status*, MPI_Fint*));

static void from_one_on(const MPI_Fint* count, MPI_Fint* indices) {
  for (MPI_Fint i = 0; *count != MPI_UNDEFINED && i < *count; ++i) ++indices[i];
}

void pmpi_waitsome_(const MPI_Fint* in_count, MPI_Fint* requests, MPI_Fint* out_count, MPI_Fint* indices,
                    MPI_Status* statuses, MPI_Fint* ierror) {
  WEFT_STUB;
  MPI_Request* const of_c = requests_in(requests, *in_count);
  *out_count = 0;  /* A call that fails early sets nothing. */
  *ierror = MPI_Waitsome(*in_count, of_c, out_count, indices, weft_fortran_status(statuses));
  from_one_on(out_count, indices);
  requests_out(of_c, requests, *in_count);
}
WEFT_FORTRAN_NAME(mpi_waitsome_, (const MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Status*, MPI_Fint*));

void pmpi_testsome_(const MPI_Fint* in_count, MPI_Fint* requests, MPI_Fint* out_count, MPI_Fint* indices,
                    MPI_Status* statuses, MPI_Fint* ierror) {
  WEFT_STUB;
  MPI_Request* const of_c = requests_in(requests, *in_count);
  *out_count = 0;
  *ierror = MPI_Testsome(*in_count, of_c, out_count, indices, weft_fortran_status(statuses));
  from_one_on(out_count, indices);
  requests_out(of_c, requests, *in_count);
}
WEFT_FORTRAN_NAME(mpi_testsome_, (const MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Status*, MPI_Fint*));

void pmpi_request_get_status_any_(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag,
                                  MPI_Status* status, MPI_Fint* ierror) {
  WEFT_STUB;
  MPI_Request* const of_c = requests_in(requests, *count);
  *index = MPI_UNDEFINED;
  *ierror = MPI_Request_get_status_any(*count, of_c, index, flag, weft_fortran_status(status));
  if (*index != MPI_UNDEFINED) ++*index;
  free(of_c);
}
WEFT_FORTRAN_NAME(mpi_request_get_status_any_,
                  (const MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Status*, MPI_Fint*));

void pmpi_request_get_status_some_(const MPI_Fint* in_count, MPI_Fint* requests, MPI_Fint* out_count,
                                   MPI_Fint* indices, MPI_Status* statuses, MPI_Fint* ierror) {
  WEFT_STUB;
  MPI_Request* const of_c = requests_in(requests, *in_count);
  *out_count = 0;
  *ierror = MPI_Request_get_status_some(*in_count, of_c, out_count, indices, weft_fortran_status(statuses));
  from_one_on(out_count, indices);
  free(of_c);
}
WEFT_FORTRAN_NAME(mpi_request_get_status_some_,
                  (const MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Status*, MPI_Fint*));

/* A generalized request. The program's functions get its variable `extra_state` by reference, and may change it. */
struct own_request {
  void (*query)(MPI_Aint*, MPI_Status*, MPI_Fint*);
  void (*free)(MPI_Aint*, MPI_Fint*);
  void (*cancel)(MPI_Aint*, MPI_Fint*, MPI_Fint*);
  MPI_Aint* state;
};

static int on_query(void* of, MPI_Status* status) {
  struct own_request* const own = of;
  MPI_Fint error = MPI_SUCCESS;
  own->query(own->state, status, &error);
  return error;
}
static int on_free(void* of) {
  struct own_request* const own = of;
  MPI_Fint error = MPI_SUCCESS;
  own->free(own->state, &error);
  free(own);
  return error;
}
static int on_cancel(void* of, int complete) {
  struct own_request* const own = of;
  MPI_Fint error = MPI_SUCCESS, is_complete = complete != 0;
  own->cancel(own->state, &is_complete, &error);
  return error;
}

void pmpi_grequest_start_(void (*query)(MPI_Aint*, MPI_Status*, MPI_Fint*), void (*release)(MPI_Aint*, MPI_Fint*),
                          void (*cancel)(MPI_Aint*, MPI_Fint*, MPI_Fint*), MPI_Aint* state, MPI_Fint* request,
                          MPI_Fint* ierror) {
  WEFT_STUB;
  struct own_request* const own = weft_fortran_memory(1, sizeof *own);
  *own = (struct own_request){query, release, cancel, state};
  MPI_Request of_c = MPI_REQUEST_NULL;
  *ierror = MPI_Grequest_start(on_query, on_free, on_cancel, own, &of_c);
  *request = MPI_Request_c2f(of_c);
}
WEFT_FORTRAN_NAME(mpi_grequest_start_, (void (*)(MPI_Aint*, MPI_Status*, MPI_Fint*), void (*)(MPI_Aint*, MPI_Fint*),
                                        void (*)(MPI_Aint*, MPI_Fint*, MPI_Fint*), MPI_Aint*, MPI_Fint*, MPI_Fint*));
#endif

/* --- MPI_Comm_idup: the new communicator is written after the return ---------------------------------------------------------------- */

#ifdef WEFT_HAS_MPI_Comm_idup
static void idup(MPI_Fint comm, MPI_Info info, MPI_Fint* newcomm, MPI_Fint* request, MPI_Fint* ierror) {
  MPI_Request of_c = MPI_REQUEST_NULL;
  *ierror = weft_fortran_idup(MPI_Comm_f2c(comm), info, newcomm, &of_c);
  *request = MPI_Request_c2f(of_c);
}
void pmpi_comm_idup_(const MPI_Fint* comm, MPI_Fint* newcomm, MPI_Fint* request, MPI_Fint* ierror) {
  WEFT_STUB;
  idup(*comm, MPI_INFO_NULL, newcomm, request, ierror);
}
WEFT_FORTRAN_NAME(mpi_comm_idup_, (const MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*));
void pmpi_comm_idup_with_info_(const MPI_Fint* comm, const MPI_Fint* info, MPI_Fint* newcomm, MPI_Fint* request,
                               MPI_Fint* ierror) {
  WEFT_STUB;
  idup(*comm, MPI_Info_f2c(*info), newcomm, request, ierror);
}
WEFT_FORTRAN_NAME(mpi_comm_idup_with_info_, (const MPI_Fint*, const MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*));
#endif

#ifdef WEFT_HAS_MPIX_Comm_ishrink
void pmpix_comm_ishrink_(const MPI_Fint* comm, MPI_Fint* newcomm, MPI_Fint* request, MPI_Fint* ierror) {
  WEFT_STUB;
  MPI_Request of_c = MPI_REQUEST_NULL;
  *ierror = weft_fortran_ishrink(MPI_Comm_f2c(*comm), newcomm, &of_c);
  *request = MPI_Request_c2f(of_c);
}
WEFT_FORTRAN_NAME(mpix_comm_ishrink_, (const MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*));
#endif

/* --- Functions of the program that are given no state of their own ------------------------------- */

/* MPI calls an operation or an error handler with handles of C, and with no argument in which a stub could keep which
   function of Fortran is meant. So a table holds 64 functions of C; number n converts the handle and calls function n of the
   program. A function keeps its place for good: MPI_Op_free and MPI_Errhandler_free do not end the use of it, since
   collectives under way and communicators still have the operation or handler. */
enum { functions_max = 64 };
#define EIGHT(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7)
#define ALL(M) EIGHT(M, 0) EIGHT(M, 01) EIGHT(M, 02) EIGHT(M, 03) EIGHT(M, 04) EIGHT(M, 05) EIGHT(M, 06) EIGHT(M, 07)

#ifdef WEFT_HAS_MPI_Op_create
/* Operations whose functions take counts of type `Count`. */
#define OPERATIONS(kind, Count, UserFunction, Create, create)                                                          \
  typedef void kind##_of_fortran(void*, void*, Count*, MPI_Fint*);                                                     \
  static kind##_of_fortran* kind##s[functions_max];                                                                    \
  static inline void call_##kind(int n, void* in, void* inout, Count* count, MPI_Datatype* datatype) {                 \
    MPI_Fint of_fortran = MPI_Type_c2f(*datatype);                                                                     \
    kind##s[n](in, inout, count, &of_fortran);                                                                         \
  }                                                                                                                    \
  ALL(OPERATION_##kind)                                                                                                \
  static UserFunction* const kind##s_of_c[functions_max] = {ALL(NAME_##kind)};                                         \
  void p##create##_(kind##_of_fortran* function, const MPI_Fint* commute, MPI_Fint* op, MPI_Fint* ierror) {            \
    WEFT_STUB;                                                                                                         \
    MPI_Op of_c = MPI_OP_NULL;                                                                                         \
    int n = 0;                                                                                                         \
    while (n < functions_max && kind##s[n] != NULL && kind##s[n] != function) ++n;                                     \
    if (n == functions_max) {                                                                                          \
      fprintf(stderr, #Create ": %d functions of Fortran are operations already, more cannot be\n", functions_max);    \
      *ierror = MPI_ERR_OTHER;                                                                                         \
      return;                                                                                                          \
    }                                                                                                                  \
    kind##s[n] = function;                                                                                             \
    *ierror = Create(kind##s_of_c[n], *commute, &of_c);                                                                \
    *op = MPI_Op_c2f(of_c);                                                                                            \
  }                                                                                                                    \
  WEFT_FORTRAN_NAME(create##_, (kind##_of_fortran*, const MPI_Fint*, MPI_Fint*, MPI_Fint*));
#define OPERATION_OF(kind, Count, n)                                                                      \
  static void kind##_##n(void* in, void* inout, Count* count, MPI_Datatype* datatype) {                   \
    call_##kind(n, in, inout, count, datatype);                                                     \
  }

#define OPERATION_operation(n) OPERATION_OF(operation, int, n)
#define NAME_operation(n) operation_##n,
OPERATIONS(operation, int, MPI_User_function, MPI_Op_create, mpi_op_create)
#define OPERATION_large_operation(n) OPERATION_OF(large_operation, MPI_Count, n)
#define NAME_large_operation(n) large_operation_##n,
OPERATIONS(large_operation, MPI_Count, MPI_User_function_c, MPI_Op_create_c, mpi_op_create_c)
#endif

typedef void fortran_handler(MPI_Fint*, MPI_Fint*);
/* Error handlers of one kind of object: `kind` begins the names of the functions of C, which HANDLER_kind defines. */
#define ERROR_HANDLERS(kind, Kind)                                                                                        \
  static fortran_handler* kind##_handlers[functions_max];                                                                 \
  ALL(HANDLER_##kind)                                                                                                     \
  static MPI_##Kind##_errhandler_function* const kind##_handlers_of_c[functions_max] = {ALL(NAME_##kind)};                \
  void pmpi_##kind##_create_errhandler_(fortran_handler* function, MPI_Fint* handler, MPI_Fint* ierror) {                 \
    WEFT_STUB;                                                                                                            \
    MPI_Errhandler of_c = MPI_ERRHANDLER_NULL;                                                                            \
    int n = 0;                                                                                                            \
    while (n < functions_max && kind##_handlers[n] != NULL && kind##_handlers[n] != function) ++n;                        \
    if (n == functions_max) {                                                                                             \
      fprintf(stderr, "MPI_" #Kind "_create_errhandler: %d error handlers of Fortran are known already, more cannot be\n", \
              functions_max);                                                                                             \
      *ierror = MPI_ERR_OTHER;                                                                                            \
      return;                                                                                                             \
    }                                                                                                                     \
    kind##_handlers[n] = function;                                                                                        \
    *ierror = MPI_##Kind##_create_errhandler(kind##_handlers_of_c[n], &of_c);                                             \
    *handler = MPI_Errhandler_c2f(of_c);                                                                                  \
  }                                                                                                                       \
  WEFT_FORTRAN_NAME(mpi_##kind##_create_errhandler_, (fortran_handler*, MPI_Fint*, MPI_Fint*));
#define HANDLER_OF(kind, Kind, n)                                    \
  static void kind##_handler_##n(MPI_##Kind* of, int* code, ...) {   \
    MPI_Fint of_fortran = MPI_##Kind##_c2f(*of);                     \
    kind##_handlers[n](&of_fortran, code);                           \
  }

#ifdef WEFT_HAS_MPI_Comm_create_errhandler
#define HANDLER_comm(n) HANDLER_OF(comm, Comm, n)
#define NAME_comm(n) comm_handler_##n,
ERROR_HANDLERS(comm, Comm)

void pmpi_errhandler_create_(fortran_handler* function, MPI_Fint* handler, MPI_Fint* ierror) {
  WEFT_STUB;
  pmpi_comm_create_errhandler_(function, handler, ierror);
}
WEFT_FORTRAN_NAME(mpi_errhandler_create_, (fortran_handler*, MPI_Fint*, MPI_Fint*));
#endif
#ifdef WEFT_HAS_MPI_Win_create_errhandler
#define HANDLER_win(n) HANDLER_OF(win, Win, n)
#define NAME_win(n) win_handler_##n,
ERROR_HANDLERS(win, Win)
#endif
#ifdef WEFT_HAS_MPI_File_create_errhandler
#define HANDLER_file(n) HANDLER_OF(file, File, n)
#define NAME_file(n) file_handler_##n,
ERROR_HANDLERS(file, File)
#endif
#ifdef WEFT_HAS_MPI_Session_create_errhandler
#define HANDLER_session(n) HANDLER_OF(session, Session, n)
#define NAME_session(n) session_handler_##n,
ERROR_HANDLERS(session, Session)
#endif

/* Known by its address; MPI never calls it. */
void mpi_conversion_fn_null_(void) {}
void mpi_conversion_fn_null_c_(void) {}

/* --- Files: data representations -------------------------------------------------------------------------------------- */

#ifdef WEFT_HAS_MPI_Register_datarep
typedef void fortran_extent(MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Fint*);
/* Representations whose functions take counts of type `Count`. Their functions of C find Fortran's in their extra state, which lasts
   as long as the program. */
#define REPRESENTATIONS(kind, Count, Register, register_name, null_name)                                                       \
  typedef void kind##_conversion(void*, MPI_Fint*, Count*, void*, MPI_Offset*, MPI_Aint*, MPI_Fint*);                          \
  struct kind {                                                                                                                \
    kind##_conversion *read, *write;                                                                                           \
    fortran_extent* extent;                                                                                                    \
    MPI_Aint extra;                                                                                                            \
  };                                                                                                                           \
  static int convert_by_##kind(kind##_conversion* function, MPI_Aint* extra, void* userbuf, MPI_Datatype datatype, Count count, \
                               void* filebuf, MPI_Offset position) {                                                           \
    MPI_Fint type = MPI_Type_c2f(datatype), error = MPI_SUCCESS;                                                               \
    function(userbuf, &type, &count, filebuf, &position, extra, &error);                                                       \
    return error;                                                                                                              \
  }                                                                                                                            \
  static int read_by_##kind(void* userbuf, MPI_Datatype datatype, Count count, void* filebuf, MPI_Offset position,             \
                            void* state) {                                                                                     \
    struct kind* const r = state;                                                                                              \
    return convert_by_##kind(r->read, &r->extra, userbuf, datatype, count, filebuf, position);                                 \
  }                                                                                                                            \
  static int write_by_##kind(void* userbuf, MPI_Datatype datatype, Count count, void* filebuf, MPI_Offset position,            \
                             void* state) {                                                                                    \
    struct kind* const r = state;                                                                                              \
    return convert_by_##kind(r->write, &r->extra, userbuf, datatype, count, filebuf, position);                                \
  }                                                                                                                            \
  static int extent_by_##kind(MPI_Datatype datatype, MPI_Aint* extent, void* state) {                                          \
    struct kind* const r = state;                                                                                              \
    MPI_Fint type = MPI_Type_c2f(datatype), error = MPI_SUCCESS;                                                               \
    r->extent(&type, extent, &r->extra, &error);                                                                               \
    return error;                                                                                                              \
  }                                                                                                                            \
  void p##register_name##_(char* datarep, kind##_conversion* read, kind##_conversion* write, fortran_extent* extent,           \
                           MPI_Aint* extra_state, MPI_Fint* ierror, size_t datarep_room) {                                     \
    WEFT_STUB;                                                                                                                 \
    char* const name = weft_fortran_text_in(datarep, datarep_room);                                                            \
    struct kind* const r = weft_fortran_memory(1, sizeof *r);                                                                  \
    *r = (struct kind){read, write, extent, *extra_state};                                                                     \
    const int reads = (void (*)(void))read != &null_name;                                                                      \
    const int writes = (void (*)(void))write != &null_name;                                                                    \
    *ierror = Register(name, reads ? read_by_##kind : NULL, writes ? write_by_##kind : NULL, extent_by_##kind, r);             \
    free(name);                                                                                                                \
  }                                                                                                                            \
  WEFT_FORTRAN_NAME(register_name##_, (char*, kind##_conversion*, kind##_conversion*, fortran_extent*, MPI_Aint*, MPI_Fint*,   \
                                       size_t));
REPRESENTATIONS(representation, int, MPI_Register_datarep, mpi_register_datarep, mpi_conversion_fn_null_)
REPRESENTATIONS(large_representation, MPI_Count, MPI_Register_datarep_c, mpi_register_datarep_c, mpi_conversion_fn_null_c_)
#endif

/* --- Attributes: values of an address's size, passed by reference ------------------------------- */

#ifdef WEFT_HAS_MPI_Comm_create_keyval
/* The predefined ones are known by their addresses: MPI never calls them, but a program may. */
#define PREDEFINED(number, dup, null_copy, null_delete)                                                                        \
  void dup(MPI_Fint* of, MPI_Fint* key, number* state, number* in, number* out, MPI_Fint* flag, MPI_Fint* ierror) {            \
    (void)of, (void)key, (void)state;                                                                                          \
    *out = *in, *flag = 1, *ierror = MPI_SUCCESS;                                                                              \
  }                                                                                                                            \
  void null_copy(MPI_Fint* of, MPI_Fint* key, number* state, number* in, number* out, MPI_Fint* flag, MPI_Fint* ierror) {      \
    (void)of, (void)key, (void)state, (void)in, (void)out;                                                                     \
    *flag = 0, *ierror = MPI_SUCCESS;                                                                                          \
  }                                                                                                                            \
  void null_delete(MPI_Fint* of, MPI_Fint* key, number* value, number* state, MPI_Fint* ierror) {                              \
    (void)of, (void)key, (void)value, (void)state;                                                                             \
    *ierror = MPI_SUCCESS;                                                                                                     \
  }
PREDEFINED(MPI_Aint, mpi_comm_dup_fn_, mpi_comm_null_copy_fn_, mpi_comm_null_delete_fn_)
PREDEFINED(MPI_Aint, mpi_type_dup_fn_, mpi_type_null_copy_fn_, mpi_type_null_delete_fn_)
PREDEFINED(MPI_Aint, mpi_win_dup_fn_, mpi_win_null_copy_fn_, mpi_win_null_delete_fn_)
PREDEFINED(MPI_Fint, mpi_dup_fn_, mpi_null_copy_fn_, mpi_null_delete_fn_)

/* An attribute that Fortran sets is a number, of which C gets the address. Equal numbers share a cell, which stays: C may have its
   address, and copies of the attribute have it, too. */
enum { cells_of_block = 255 };
struct cell_block {
  struct cell_block* before;
  MPI_Aint cells[cells_of_block];
};
static struct cell_block* last_cells;
static int cells_used = cells_of_block;  /* Of the last block. */
static void* cells_by_value;             /* A tree of tsearch(). */
static pthread_mutex_t cells_lock = PTHREAD_MUTEX_INITIALIZER;

static int compare_cells(const void* one, const void* other) {
  const MPI_Aint a = *(const MPI_Aint*)one, b = *(const MPI_Aint*)other;
  return (a > b) - (a < b);
}

static void* cell_of(MPI_Aint value) {
  pthread_mutex_lock(&cells_lock);
  void* const* known = tfind(&value, &cells_by_value, compare_cells);
  if (known == NULL) {
    if (cells_used == cells_of_block) {
      struct cell_block* const added = weft_fortran_memory(1, sizeof *added);
      added->before = last_cells;
      last_cells = added;
      cells_used = 0;
    }
    MPI_Aint* const cell = &last_cells->cells[cells_used++];
    *cell = value;
    known = tsearch(cell, &cells_by_value, compare_cells);
  }
  pthread_mutex_unlock(&cells_lock);
  return *known;
}

/* What Fortran sees of an attribute: the number that it has set, or the address that C has. */
static MPI_Aint number_of(void* of_c) {
  MPI_Aint number = (MPI_Aint)of_c;
  pthread_mutex_lock(&cells_lock);
  for (const struct cell_block* b = last_cells; b != NULL; b = b->before)
    if ((const MPI_Aint*)of_c >= b->cells && (const MPI_Aint*)of_c < b->cells + cells_of_block) {
      number = *(const MPI_Aint*)of_c;
      break;
    }
  pthread_mutex_unlock(&cells_lock);
  return number;
}

/* A predefined attribute of C is the address of a number, but for a window's base. */
static MPI_Aint value_of_key(MPI_Fint key, void* of_c) {
  if (key == MPI_WIN_SIZE) return *(const MPI_Aint*)of_c;
  const int is_number = (key >= MPI_TAG_UB && key <= MPI_UNIVERSE_SIZE) || key == MPI_WIN_DISP_UNIT ||
                        key == MPI_WIN_CREATE_FLAVOR || key == MPI_WIN_MODEL || key == MPIX_FT;
  return is_number ? *(const int*)of_c : key == MPI_WIN_BASE ? (MPI_Aint)of_c : number_of(of_c);
}
typedef void predefined(void);

/* A key's functions are what C's are given as their state; kept for good, since keys live on in attributes.
   `number` is what Fortran passes as value and state: MPI-1's functions took integers of the default kind. */
#define KEYS(kind, Kind, number, handle, create, set, get)                                                                    \
  typedef void kind##_copy(MPI_Fint*, MPI_Fint*, number*, number*, number*, MPI_Fint*, MPI_Fint*);                            \
  typedef void kind##_delete(MPI_Fint*, MPI_Fint*, number*, number*, MPI_Fint*);                                              \
  struct kind##_key {                                                                                                         \
    kind##_copy* copy;                                                                                                        \
    kind##_delete* delete;                                                                                                    \
    number state;                                                                                                             \
  };                                                                                                                          \
  static int copy_of_##kind(handle from, int key, void* of, void* in, void* out, int* flag) {                                 \
    struct kind##_key* const f = of;                                                                                          \
    MPI_Fint from_number = MPI_##Kind##_c2f(from), error = MPI_SUCCESS, is_copied = 0;                                        \
    number value = (number)number_of(in), copy = 0;                                                                            \
    f->copy(&from_number, &key, &f->state, &value, &copy, &is_copied, &error);                                                \
    *flag = is_copied != 0;                                                                                                   \
    if (is_copied != 0) *(void**)out = cell_of(copy);                                                                                     \
    return error;                                                                                                             \
  }                                                                                                                           \
  static int deletion_of_##kind(handle from, int key, void* value_of_c, void* of) {                                           \
    struct kind##_key* const f = of;                                                                                          \
    MPI_Fint from_number = MPI_##Kind##_c2f(from), error = MPI_SUCCESS;                                                       \
    number value = (number)number_of(value_of_c);                                                                              \
    f->delete(&from_number, &key, &value, &f->state, &error);                                                                 \
    return error;                                                                                                             \
  }                                                                                                                           \
  void pmpi_##create##_(kind##_copy* copy, kind##_delete* delete, MPI_Fint* key, const number* state, MPI_Fint* ierror) { \
    WEFT_STUB; \
    struct kind##_key* const f = weft_fortran_memory(1, sizeof *f);                                                           \
    *f = (struct kind##_key){copy, delete, *state};                                                                           \
    *ierror = MPI_##Kind##_create_keyval((predefined*)copy == (predefined*)kind##_dup_fn         ? MPI_##Kind##_DUP_FN_OF_C   \
                                         : (predefined*)copy == (predefined*)kind##_null_copy_fn ? MPI_##Kind##_NULL_COPY_FN_OF_C\
                                                                                                 : copy_of_##kind,            \
                                         (predefined*)delete == (predefined*)kind##_null_delete_fn                            \
                                             ? MPI_##Kind##_NULL_DELETE_FN_OF_C                                               \
                                             : deletion_of_##kind,                                                            \
                                         key, f);                                                                             \
  }                                                                                                                           \
  WEFT_FORTRAN_NAME(mpi_##create##_, (kind##_copy*, kind##_delete*, MPI_Fint*, const number*, MPI_Fint*));                    \
  void pmpi_##set##_(const MPI_Fint* of, const MPI_Fint* key, const number* value, MPI_Fint* ierror) { \
    WEFT_STUB; \
    *ierror = MPI_##Kind##_set_attr(MPI_##Kind##_f2c(*of), *key, cell_of(*value));                                    \
  }                                                                                                                           \
  WEFT_FORTRAN_NAME(mpi_##set##_, (const MPI_Fint*, const MPI_Fint*, const number*, MPI_Fint*));                              \
  void pmpi_##get##_(const MPI_Fint* of, const MPI_Fint* key, number* value, MPI_Fint* flag, MPI_Fint* ierror) { \
    WEFT_STUB; \
    void* value_of_c = NULL;                                                                                                  \
    *ierror = MPI_##Kind##_get_attr(MPI_##Kind##_f2c(*of), *key, &value_of_c, flag);                                          \
    if (*ierror == MPI_SUCCESS && *flag) *value = (number)value_of_key(*key, value_of_c);                                     \
  }                                                                                                                           \
  WEFT_FORTRAN_NAME(mpi_##get##_, (const MPI_Fint*, const MPI_Fint*, number*, MPI_Fint*, MPI_Fint*));

#define MPI_Comm_DUP_FN_OF_C MPI_COMM_DUP_FN
#define MPI_Comm_NULL_COPY_FN_OF_C MPI_COMM_NULL_COPY_FN
#define MPI_Comm_NULL_DELETE_FN_OF_C MPI_COMM_NULL_DELETE_FN
#define MPI_Type_DUP_FN_OF_C MPI_TYPE_DUP_FN
#define MPI_Type_NULL_COPY_FN_OF_C MPI_TYPE_NULL_COPY_FN
#define MPI_Type_NULL_DELETE_FN_OF_C MPI_TYPE_NULL_DELETE_FN

#define MPI_Win_DUP_FN_OF_C MPI_WIN_DUP_FN
#define MPI_Win_NULL_COPY_FN_OF_C MPI_WIN_NULL_COPY_FN
#define MPI_Win_NULL_DELETE_FN_OF_C MPI_WIN_NULL_DELETE_FN

#define comm_dup_fn mpi_comm_dup_fn_
#define comm_null_copy_fn mpi_comm_null_copy_fn_
#define comm_null_delete_fn mpi_comm_null_delete_fn_
#define type_dup_fn mpi_type_dup_fn_
#define type_null_copy_fn mpi_type_null_copy_fn_
#define type_null_delete_fn mpi_type_null_delete_fn_
#define win_dup_fn mpi_win_dup_fn_
#define win_null_copy_fn mpi_win_null_copy_fn_
#define win_null_delete_fn mpi_win_null_delete_fn_
#define old_dup_fn mpi_dup_fn_
#define old_null_copy_fn mpi_null_copy_fn_
#define old_null_delete_fn mpi_null_delete_fn_

KEYS(comm, Comm, MPI_Aint, MPI_Comm, comm_create_keyval, comm_set_attr, comm_get_attr)
KEYS(type, Type, MPI_Aint, MPI_Datatype, type_create_keyval, type_set_attr, type_get_attr)
KEYS(win, Win, MPI_Aint, MPI_Win, win_create_keyval, win_set_attr, win_get_attr)
KEYS(old, Comm, MPI_Fint, MPI_Comm, keyval_create, attr_put, attr_get)
#endif

/* --- Info: values as long as the caller's room -------------------------------------------------- */

#ifdef WEFT_HAS_MPI_Info_create_env
void pmpi_info_create_env_(MPI_Fint* info, MPI_Fint* ierror) {
  WEFT_STUB;
  MPI_Info of_c = MPI_INFO_NULL;
  *ierror = MPI_Info_create_env(0, NULL, &of_c);
  *info = MPI_Info_c2f(of_c);
}
WEFT_FORTRAN_NAME(mpi_info_create_env_, (MPI_Fint*, MPI_Fint*));
#endif

#ifdef WEFT_HAS_MPI_Info_get
void pmpi_info_get_(const MPI_Fint* info, char* key, const MPI_Fint* value_length, char* value, MPI_Fint* flag,
                    MPI_Fint* ierror, size_t key_room, size_t value_room) {
  WEFT_STUB;
  char* const key_of_c = weft_fortran_text_in(key, key_room);
  char text[MPI_MAX_INFO_VAL + 1] = "";
  *ierror = MPI_Info_get(MPI_Info_f2c(*info), key_of_c, *value_length < MPI_MAX_INFO_VAL ? *value_length : MPI_MAX_INFO_VAL,
                         text, flag);
  if (*ierror == MPI_SUCCESS && *flag) weft_fortran_text_out(text, value, value_room);
  free(key_of_c);
}
WEFT_FORTRAN_NAME(mpi_info_get_, (const MPI_Fint*, char*, const MPI_Fint*, char*, MPI_Fint*, MPI_Fint*, size_t, size_t));
#endif

#ifdef WEFT_HAS_MPI_Info_get_string
/* C counts the zero at the end, Fortran has none. */
void pmpi_info_get_string_(const MPI_Fint* info, char* key, MPI_Fint* room, char* value, MPI_Fint* flag, MPI_Fint* ierror,
                           size_t key_room, size_t value_room) {
  WEFT_STUB;
  char* const key_of_c = weft_fortran_text_in(key, key_room);
  char text[MPI_MAX_INFO_VAL + 1] = "";
  const MPI_Fint wanted = *room;
  int room_of_c = wanted <= 0 ? 0 : wanted < MPI_MAX_INFO_VAL ? wanted + 1 : MPI_MAX_INFO_VAL;
  *ierror = MPI_Info_get_string(MPI_Info_f2c(*info), key_of_c, &room_of_c, text, flag);
  if (*ierror == MPI_SUCCESS && *flag) {
    *room = room_of_c - 1;
    if (wanted > 0) weft_fortran_text_out(text, value, value_room);
  }
  free(key_of_c);
}
WEFT_FORTRAN_NAME(mpi_info_get_string_, (const MPI_Fint*, char*, MPI_Fint*, char*, MPI_Fint*, MPI_Fint*, size_t, size_t));
#endif

#ifdef WEFT_HAS_MPI_Session_get_nth_pset
void pmpi_session_get_nth_pset_(const MPI_Fint* session, const MPI_Fint* info, const MPI_Fint* n, MPI_Fint* room, char* name,
                                MPI_Fint* ierror, size_t name_room) {
  WEFT_STUB;
  char text[MPI_MAX_PSET_NAME_LEN] = "";
  const MPI_Fint wanted = *room;
  int room_of_c = wanted <= 0 ? 0 : wanted < MPI_MAX_PSET_NAME_LEN ? wanted + 1 : MPI_MAX_PSET_NAME_LEN;
  *ierror = MPI_Session_get_nth_pset(MPI_Session_f2c(*session), MPI_Info_f2c(*info), *n, &room_of_c, text);
  if (*ierror == MPI_SUCCESS) {
    *room = room_of_c - 1;
    if (wanted > 0) weft_fortran_text_out(text, name, name_room);
  }
}
WEFT_FORTRAN_NAME(mpi_session_get_nth_pset_, (const MPI_Fint*, const MPI_Fint*, const MPI_Fint*, MPI_Fint*, char*, MPI_Fint*, size_t));
#endif

/* --- Processes that start later ---------------------------------------------------------------- */

#ifdef WEFT_HAS_MPI_Comm_spawn
/* The words of a program: an array of strings, `step` apart, which ends with a blank one. */
static char** words_in(const char* first, size_t room, long step) {
  long count = 0;
  for (const char* word = first;; word += (size_t)step * room, ++count) {
    size_t blanks = 0;
    while (blanks < room && word[blanks] == ' ') ++blanks;
    if (blanks == room) break;
  }
  char** const words = weft_fortran_memory(count + 1, sizeof *words);
  for (long i = 0; i < count; ++i) words[i] = weft_fortran_text_in(first + (size_t)(i * step) * room, room);
  words[count] = NULL;
  return words;
}
static void free_words(char** words) {
  for (char** word = words; *word != NULL; ++word) free(*word);
  free(words);
}
static int* codes_of(MPI_Fint* codes) {
  return (void*)codes == (void*)weft_mpi_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : codes;
}

/* What only the root gives is not looked at elsewhere. */
static int is_spawning(MPI_Comm comm, MPI_Fint root) {
  int rank = -1, is_inter = 0;
  if (comm != MPI_COMM_NULL) PMPI_Comm_test_inter(comm, &is_inter);
  if (comm != MPI_COMM_NULL && !is_inter) PMPI_Comm_rank(comm, &rank);
  return rank == root;
}

void pmpi_comm_spawn_(char* command, char* argv, const MPI_Fint* maxprocs, const MPI_Fint* info, const MPI_Fint* root,
                      const MPI_Fint* comm, MPI_Fint* intercomm, MPI_Fint* codes, MPI_Fint* ierror, size_t command_room,
                      size_t argv_room) {
  WEFT_STUB;
  const MPI_Comm c_comm = MPI_Comm_f2c(*comm);
  const int is_root = is_spawning(c_comm, *root);
  char* const c_command = is_root ? weft_fortran_text_in(command, command_room) : NULL;
  char** const words = !is_root || argv == weft_mpi_argv_null_ ? NULL : words_in(argv, argv_room, 1);
  MPI_Comm made = MPI_COMM_NULL;
  *ierror = MPI_Comm_spawn(c_command, words == NULL ? MPI_ARGV_NULL : words, *maxprocs, MPI_Info_f2c(*info), *root,
                           c_comm, &made, codes_of(codes));
  *intercomm = MPI_Comm_c2f(made);
  if (words != NULL) free_words(words);
  free(c_command);
}
WEFT_FORTRAN_NAME(mpi_comm_spawn_, (char*, char*, const MPI_Fint*, const MPI_Fint*, const MPI_Fint*, const MPI_Fint*, MPI_Fint*,
                                    MPI_Fint*, MPI_Fint*, size_t, size_t));
#endif

#ifdef WEFT_HAS_MPI_Comm_spawn_multiple
void pmpi_comm_spawn_multiple_(const MPI_Fint* count, char* commands, char* argv, const MPI_Fint* maxprocs,
                               const MPI_Fint* infos, const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* intercomm,
                               MPI_Fint* codes, MPI_Fint* ierror, size_t command_room, size_t argv_room) {
  WEFT_STUB;
  const MPI_Comm c_comm = MPI_Comm_f2c(*comm);
  const long programs = is_spawning(c_comm, *root) && *count > 0 ? *count : 0;
  char** const c_commands = weft_fortran_memory(programs + 1, sizeof *c_commands);
  char*** const words = weft_fortran_memory(programs + 1, sizeof *words);
  MPI_Info* const c_infos = weft_fortran_memory(programs + 1, sizeof *c_infos);
  const int has_words = argv != weft_mpi_argvs_null_;
  for (long i = 0; i < programs; ++i) {
    c_commands[i] = weft_fortran_text_in(commands + (size_t)i * command_room, command_room);
    words[i] = has_words ? words_in(argv + (size_t)i * argv_room, argv_room, programs) : NULL;
    c_infos[i] = MPI_Info_f2c(infos[i]);
  }
  MPI_Comm made = MPI_COMM_NULL;
  *ierror = MPI_Comm_spawn_multiple(*count, c_commands, has_words ? words : MPI_ARGVS_NULL, maxprocs, c_infos, *root, c_comm,
                                    &made, codes_of(codes));
  *intercomm = MPI_Comm_c2f(made);
  for (long i = 0; i < programs; ++i) {
    free(c_commands[i]);
    if (words[i] != NULL) free_words(words[i]);
  }
  free(c_commands);
  free(words);
  free(c_infos);
}
WEFT_FORTRAN_NAME(mpi_comm_spawn_multiple_, (const MPI_Fint*, char*, char*, const MPI_Fint*, const MPI_Fint*, const MPI_Fint*,
                                             const MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, size_t, size_t));
#endif
