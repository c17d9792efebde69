/* The binary interface of Open MPI 4 (libmpi.so.40), as weft's library of this name speaks it: handles are addresses, a status has
   24 bytes, and many constants have other values than the standard's. Each function converts what it is given, calls the function of
   weft, and converts what comes back. Here are the conversions: x_in() from Open MPI's to the standard's, x_out() back. The values are
   those of mpi.h of Open MPI 4.1.4.

   A predefined handle is the address of a variable of the library (objects.inc), which a program may have copied into itself. Its
   first words hold a mark, the standard's handle and Fortran's number, so that a copy means the same. What the program makes is the
   address that weft has for it: the first word of weft's objects is never a mark. Operations, and what the libraries for Fortran and
   C++ write into, are variables of the first form which this library makes.

   Functions of weft are called by names that begin with weft_abi_: names.h, which write_functions.py makes, declares them. What begins
   with older_ or OLDER_ is named alike for each such interface. */
#ifndef WEFT_MPI_ABI_OPENMPI_CONVERT_H
#define WEFT_MPI_ABI_OPENMPI_CONVERT_H
#include "values.h"

typedef void* older_handle;
/* What the files of the interface's own libraries have in their names. */
#define older_cxx_library "libmpi_cxx"
#define older_fortran_library "libmpi_mpifh"

/* --- Ranks and tags ------------------------------------------------------------------------------------------------------ */

static inline int rank_in(int rank) { return rank >= 0 ? rank : rank == -2 ? MPI_PROC_NULL : rank == -3 ? -2 : rank; }
static inline int rank_out(int rank) { return rank >= 0 ? rank : rank == MPI_PROC_NULL ? -2 : rank; }
static inline int tag_in(int tag) { return tag == -1 ? MPI_ANY_TAG : tag == -2 ? -1 : tag; }
static inline int tag_out(int tag) { return tag == MPI_ANY_TAG ? -1 : tag; }

/* Codes that the program adds lie above MPI_ERR_LASTCODE in both. */
enum { older_last_code = 92 };

/* --- Handles ------------------------------------------------------------------------------------------------------------------ */

enum openmpi_kind {
  openmpi_comm,
  openmpi_group,
  openmpi_type,
  openmpi_op,
  openmpi_errhandler,
  openmpi_info,
  openmpi_win,
  openmpi_request,
  openmpi_message,
  openmpi_session,
  openmpi_file,
  openmpi_kinds
};
#define OPENMPI_MARK(kind) (0x6f6d70692a2a0000u + (uint64_t)openmpi_##kind)
struct openmpi_object {
  uint64_t mark;
  uintptr_t handle; /* The standard's. */
  int number;       /* Fortran's; -1: that of weft. */
};

#define OPENMPI_NONE(n) n /* No handle of the standard. */
#define OBJECT(kind, name, standard, number, size) extern char name[size];
#include "objects.inc"
#undef OBJECT
/* Of C++'s bindings: errors are returned. Open MPI calls a function of its library for C++, which sets MPI::mpi_errno; here nobody does. */
extern char ompi_mpi_errors_throw_exceptions[1024];

/* The addresses that the program has for predefined handles: by the standard's handle, and by Fortran's number (convert.c). */
enum { openmpi_numbers_end = 80, openmpi_predefined_end = 0x300 };
extern WEFT_HIDDEN older_handle const openmpi_by_handle[openmpi_predefined_end];
extern WEFT_HIDDEN older_handle const openmpi_by_number[openmpi_kinds][openmpi_numbers_end];

/* What Open MPI has no variable for (MPI_INTEGER16) is the handle that is none. */
static inline older_handle openmpi_predefined_out(uintptr_t value, older_handle none) {
  const older_handle known = value < openmpi_predefined_end ? openmpi_by_handle[value] : NULL;
  return known != NULL ? known : none;
}
#define openmpi_no_comm ompi_mpi_comm_null
#define openmpi_no_group ompi_mpi_group_null
#define openmpi_no_type ompi_mpi_datatype_null
#define openmpi_no_errhandler ompi_mpi_errhandler_null
#define openmpi_no_op ompi_mpi_op_null
#define openmpi_no_info ompi_mpi_info_null
#define openmpi_no_win ompi_mpi_win_null
#define openmpi_no_request ompi_request_null
#define openmpi_no_message ompi_message_null
#define openmpi_no_session ompi_mpi_instance_null
#define openmpi_no_file ompi_mpi_file_null

/* What is no address becomes no handle, which weft refuses. */
#define OPENMPI_HANDLES(Handle, Name, kind)                                                                             \
  static inline Handle kind##_in(older_handle handle) {                                                                 \
    const struct openmpi_object* const object = handle;                                                                 \
    if (__builtin_expect((uintptr_t)handle < standard_handles_end, 0)) return (Handle)0;                                \
    return object->mark == OPENMPI_MARK(kind) ? (Handle)object->handle : (Handle)handle;                                \
  }                                                                                                                     \
  static inline older_handle kind##_known_out(Handle handle) {                                                          \
    const uintptr_t value = (uintptr_t)handle;                                                                          \
    return value >= standard_handles_end ? (older_handle)handle : openmpi_predefined_out(value, openmpi_no_##kind); \
  }                                                                                                                     \
  static inline int kind##_to_integer(older_handle handle) {                                                            \
    const struct openmpi_object* const object = handle;                                                                 \
    if ((uintptr_t)handle >= standard_handles_end && object->mark == OPENMPI_MARK(kind) && object->number >= 0)         \
      return object->number;                                                                                            \
    return weft_abi_MPI_##Name##_toint(kind##_in(handle));                                                              \
  }                                                                                                                     \
  static inline older_handle kind##_of_integer(int number) {                                                            \
    if (number >= 0 && number < openmpi_numbers_end) return openmpi_by_number[openmpi_##kind][number];                  \
    return number < standard_handles_end ? NULL : kind##_out(weft_abi_MPI_##Name##_fromint(number));                    \
  }
#define OPENMPI_OUT(Handle, kind)                                    \
  static inline older_handle kind##_known_out(Handle handle);        \
  static inline older_handle kind##_out(Handle handle) { return kind##_known_out(handle); }
OPENMPI_OUT(MPI_Comm, comm)
OPENMPI_OUT(MPI_Group, group)
OPENMPI_OUT(MPI_Datatype, type)
OPENMPI_OUT(MPI_Info, info)
OPENMPI_OUT(MPI_Win, win)
OPENMPI_OUT(MPI_Request, request)
OPENMPI_OUT(MPI_Message, message)
OPENMPI_OUT(MPI_Session, session)
OPENMPI_OUT(MPI_File, file)
/* Those for which this library has made a variable. */
WEFT_HIDDEN older_handle op_out(MPI_Op op);
WEFT_HIDDEN older_handle errhandler_out(MPI_Errhandler errhandler);
OPENMPI_HANDLES(MPI_Comm, Comm, comm)
OPENMPI_HANDLES(MPI_Group, Group, group)
OPENMPI_HANDLES(MPI_Datatype, Type, type)
OPENMPI_HANDLES(MPI_Errhandler, Errhandler, errhandler)
OPENMPI_HANDLES(MPI_Op, Op, op)
OPENMPI_HANDLES(MPI_Info, Info, info)
OPENMPI_HANDLES(MPI_Win, Win, win)
OPENMPI_HANDLES(MPI_Request, Request, request)
OPENMPI_HANDLES(MPI_Message, Message, message)
OPENMPI_HANDLES(MPI_Session, Session, session)
OPENMPI_HANDLES(MPI_File, File, file)
/* The variable for what has been made, a new one where there is none; and NULL where there is none. It stays: weft uses the memory of
   an object again for one of its kind. */
WEFT_HIDDEN struct openmpi_object* openmpi_object_of(enum openmpi_kind kind, uintptr_t handle);
WEFT_HIDDEN struct openmpi_object* openmpi_find_object(enum openmpi_kind kind, uintptr_t handle);
/* The library for Fortran writes into a request that the program completes. */
static inline older_handle fortran_request_out(MPI_Request request) { return openmpi_object_of(openmpi_request, (uintptr_t)request); }

#define OLDER_REQUEST_NULL ((older_handle)ompi_request_null)

/* --- Statuses ------------------------------------------------------------------------------------------------------------------ */

typedef struct {
  int source, tag, error, cancelled;
  size_t bytes;
} older_status;
_Static_assert(sizeof(older_status) == 24, "as Open MPI has it");

#define OLDER_STATUS_IGNORE ((older_status*)0)
/* In a status that a call may write: what it has not written. */
enum { older_not_written = INT_MIN };
/* weft keeps the bytes of the message in the first two words, and in the third whether it was cancelled (status.hpp). */
static inline void status_out(const MPI_Status* from, older_status* to) {
  if (from->MPI_SOURCE != older_not_written) {
    memcpy(&to->bytes, &from->MPI_internal[0], sizeof to->bytes);
    to->cancelled = from->MPI_internal[2] != 0;
    to->source = rank_out(from->MPI_SOURCE);
    to->tag = tag_out(from->MPI_TAG);
  }
  if (from->MPI_ERROR != older_not_written) to->error = error_out(from->MPI_ERROR);
}
static inline void older_copy_length(const older_status* from, older_status* to) {
  to->bytes = from->bytes;
  to->cancelled = from->cancelled;
}
static inline void status_in(const older_status* from, MPI_Status* to) {
  memset(to, 0, sizeof *to);
  memcpy(&to->MPI_internal[0], &from->bytes, sizeof from->bytes);
  to->MPI_internal[2] = from->cancelled != 0;
  to->MPI_SOURCE = rank_in(from->source);
  to->MPI_TAG = tag_in(from->tag);
  to->MPI_ERROR = error_in(from->error);
}

/* --- Addresses that are none -------------------------------------------------------------------------------------------------- */

#define OLDER_IN_PLACE MPI_IN_PLACE
static inline void* place_in(const void* buffer) { return (void*)(uintptr_t)buffer; }
static inline void* attached_in(void* buffer) { return buffer; }
static inline void* attached_out(void* buffer) { return buffer; }
static inline int* weights_in(const int* weights) {
  return weights == (int*)2 ? MPI_UNWEIGHTED : weights == (int*)3 ? MPI_WEIGHTS_EMPTY : (int*)(uintptr_t)weights;
}

/* --- Sizes that programs know --------------------------------------------------------------------------------------------------- */

/* First values of rows of constants that both interfaces have in the same order. */
enum { older_first_combiner = 0, older_first_verbosity = 0, older_first_bind = 0, older_first_scope = 0, older_first_variable_class = 0 };
enum { older_overhead = 128, older_processor_name = 256, older_port_name = 1024 };
enum { openmpi_error_string = 256, openmpi_object_name = 64, openmpi_library_version = 256, openmpi_info_key = 36 };

/* --- Functions of the program that its library for C++ calls --------------------------------------------------------------------- */

typedef void proxy_of_operation(void*, void*, int*, older_handle*, void (*)(void));
static inline void call_cxx_operation(void (*proxy)(void), void* in, void* inout, int* count, older_handle* type, void (*function)(void)) {
  ((proxy_of_operation*)proxy)(in, inout, count, type, function);
}
typedef void proxy_of_handler(void*, int*, const char*, void (*)(void));
static inline void call_cxx_handler(void (*proxy)(void), int kind, void* handle, int* code, void (*function)(void)) {
  (void)kind;
  ((proxy_of_handler*)proxy)(handle, code, NULL, function);
}
/* The library for Fortran hands over functions for representations of data that are called as in C. */
enum { older_kind_of_proxy = 0, older_fortran_datareps = 0 };

/* --- Other constants ----------------------------------------------------------------------------------------------------------- */

#define OLDER_DFLT_DARG (-1)
static inline int topology_out(int kind) {
  return kind == MPI_CART ? 1 : kind == MPI_GRAPH ? 2 : kind == MPI_DIST_GRAPH ? 3 : kind;
}
static inline int order_in(int order) { return order == 0 ? MPI_ORDER_C : order == 1 ? MPI_ORDER_FORTRAN : -1; }
static inline int order_out(int order) { return order == MPI_ORDER_C ? 0 : 1; }
static inline int distribution_in(int way) {
  return way == 0 ? MPI_DISTRIBUTE_BLOCK : way == 1 ? MPI_DISTRIBUTE_CYCLIC : way == 2 ? MPI_DISTRIBUTE_NONE : -1;
}
static inline int distribution_out(int way) { return way == MPI_DISTRIBUTE_BLOCK ? 0 : way == MPI_DISTRIBUTE_CYCLIC ? 1 : 2; }
static inline int distribution_size_in(int size) { return size == OLDER_DFLT_DARG ? MPI_DISTRIBUTE_DFLT_DARG : size; }
static inline int distribution_size_out(int size) { return size == MPI_DISTRIBUTE_DFLT_DARG ? OLDER_DFLT_DARG : size; }
static inline int type_class_in(int kind) {
  return kind == 1 ? MPI_TYPECLASS_INTEGER : kind == 2 ? MPI_TYPECLASS_REAL : kind == 3 ? MPI_TYPECLASS_COMPLEX : -1;
}
static inline int lock_in(int kind) { return kind == 1 ? MPI_LOCK_EXCLUSIVE : kind == 2 ? MPI_LOCK_SHARED : -1; }
#define OLDER_WIN_SEPARATE 1
#define OLDER_WIN_UNIFIED 0
static inline MPI_T_pvar_handle variable_handle_in(MPI_T_pvar_handle handle) {
  return (intptr_t)handle == -1 ? MPI_T_PVAR_ALL_HANDLES : handle;
}
/* Of Open MPI's own kinds (OMPI_COMM_TYPE_BOARD, OMPI_COMM_TYPE_HOST) those that are nodes; caches and sockets are refused. */
static inline int split_in(int kind, MPI_Info info) {
  (void)info;
  return kind == 0 || kind == 8 || kind == 9 ? MPI_COMM_TYPE_SHARED : kind > 0 ? 1 : kind;
}
/* Keys that the program has made are the same numbers. */
WEFT_HIDDEN int openmpi_key_in(int key);
static inline int key_in(int key) { return key >= -1 && key < 12 ? openmpi_key_in(key) : key; }
static inline int key_out(int key) { return key == MPI_KEYVAL_INVALID ? -1 : key; }

#endif
