/* The binary interface of MPICH before version 5 and of its kin (libmpi.so.12, libmpich.so.12), as weft's libraries of these
   names speak it: handles are integers, a status has 20 bytes, and most constants have other values than the standard's. Each
   function converts what it is given, calls the function of weft, and converts what comes back. Here are the conversions:
   x_in() from MPICH's to the standard's, x_out() back. The values are those of mpi.h of MPICH 4.0.2 and 5.0.2.

   A handle of MPICH has its kind in bits 26 to 29, and in the two above whether it is null (0), predefined (1) or made by the
   program (2). What the program has made carries the integer that weft has for it (MPI_Comm_toint).

   Functions of weft are called by names that begin with weft_abi_: names.h, which write_functions.py makes, declares them. What begins
   with older_ or OLDER_ is named alike for each such interface. */
#ifndef WEFT_MPI_ABI_MPICH_CONVERT_H
#define WEFT_MPI_ABI_MPICH_CONVERT_H
#include "values.h"

typedef int older_handle;
/* What the files of the interface's own libraries have in their names. */
#define older_cxx_library "cxx.so"
#define older_fortran_library "fort.so"

/* --- Ranks and tags ------------------------------------------------------------------------------------------------------ */

static inline int rank_in(int rank) {
  return rank >= 0 ? rank : rank == -1 ? MPI_PROC_NULL : rank == -2 ? MPI_ANY_SOURCE : rank == -3 ? MPI_ROOT : rank == -4 ? -2 : rank;
}
static inline int rank_out(int rank) {
  return rank >= 0                ? rank
         : rank == MPI_PROC_NULL  ? -1
         : rank == MPI_ANY_SOURCE ? -2
         : rank == MPI_ROOT       ? -3
                                  : rank;
}
static inline int tag_in(int tag) { return tag == -1 ? MPI_ANY_TAG : tag == -2 ? -1 : tag; }
static inline int tag_out(int tag) { return tag == MPI_ANY_TAG ? -1 : tag; }

/* --- Errors ------------------------------------------------------------------------------------------------------------------ */

/* Codes that the program adds lie above MPI_ERR_LASTCODE in both. */
enum { older_last_code = 0x3fffffff, older_added = 0x40000000 };
/* --- Handles ------------------------------------------------------------------------------------------------------------------ */

#define OLDER_COMM_NULL 0x04000000
#define OLDER_COMM_WORLD 0x44000000
#define OLDER_COMM_SELF 0x44000001
#define OLDER_GROUP_NULL 0x08000000
#define OLDER_GROUP_EMPTY 0x48000000
#define OLDER_DATATYPE_NULL 0x0c000000
#define OLDER_ERRHANDLER_NULL 0x14000000
#define OLDER_ERRORS_ARE_FATAL 0x54000000
#define OLDER_ERRORS_RETURN 0x54000001
#define OLDER_ERRORS_THROW 0x54000002 /* Of the bindings for C++, which MPI 3.0 has removed. */
#define OLDER_ERRORS_ABORT 0x54000003
#define OLDER_OP_NULL 0x18000000
#define OLDER_INFO_NULL 0x1c000000
#define OLDER_INFO_ENV 0x5c000001
#define OLDER_WIN_NULL 0x20000000
#define OLDER_REQUEST_NULL 0x2c000000
#define OLDER_MESSAGE_NO_PROC 0x6c000000
#define OLDER_SESSION_NULL 0x38000000
#define OLDER_KEYVAL_INVALID 0x24000000

/* Of kind `null`, with the integer that weft has for it. */
#define OLDER_MADE(null, number) ((int)(0x80000000u | (unsigned)(null) | (unsigned)(number)))
#define OLDER_IS_MADE(null, handle) (((unsigned)(handle) & 0xfc000000u) == (0x80000000u | (unsigned)(null)))
/* A number that was never given out becomes a handle of no object, which weft refuses. */
#define OLDER_HANDLES(Handle, Name, name, null)                                                                       \
  static inline Handle name##_made_in(int handle) {                                                                   \
    const int number = handle & 0x03ffffff;                                                                           \
    return OLDER_IS_MADE(null, handle) && number >= standard_handles_end ? weft_abi_MPI_##Name##_fromint(number)      \
                                                                         : (Handle)0;                                 \
  }                                                                                                                   \
  static inline int name##_made_out(Handle handle) { return OLDER_MADE(null, weft_abi_MPI_##Name##_toint(handle)); }

OLDER_HANDLES(MPI_Comm, Comm, comm, OLDER_COMM_NULL)
OLDER_HANDLES(MPI_Group, Group, group, OLDER_GROUP_NULL)
OLDER_HANDLES(MPI_Datatype, Type, type, OLDER_DATATYPE_NULL)
OLDER_HANDLES(MPI_Errhandler, Errhandler, errhandler, OLDER_ERRHANDLER_NULL)
OLDER_HANDLES(MPI_Op, Op, op, OLDER_OP_NULL)
OLDER_HANDLES(MPI_Info, Info, info, OLDER_INFO_NULL)
OLDER_HANDLES(MPI_Win, Win, win, OLDER_WIN_NULL)
OLDER_HANDLES(MPI_Request, Request, request, OLDER_REQUEST_NULL)
OLDER_HANDLES(MPI_Message, Message, message, OLDER_REQUEST_NULL)
OLDER_HANDLES(MPI_Session, Session, session, OLDER_SESSION_NULL)

static inline MPI_Comm comm_in(int comm) {
  return comm == OLDER_COMM_WORLD  ? MPI_COMM_WORLD
         : comm == OLDER_COMM_SELF ? MPI_COMM_SELF
         : comm == OLDER_COMM_NULL ? MPI_COMM_NULL
                                   : comm_made_in(comm);
}
static inline int comm_out(MPI_Comm comm) {
  return comm == MPI_COMM_NULL    ? OLDER_COMM_NULL
         : comm == MPI_COMM_WORLD ? OLDER_COMM_WORLD
         : comm == MPI_COMM_SELF  ? OLDER_COMM_SELF
                                  : comm_made_out(comm);
}
static inline MPI_Group group_in(int group) {
  return group == OLDER_GROUP_NULL ? MPI_GROUP_NULL : group == OLDER_GROUP_EMPTY ? MPI_GROUP_EMPTY : group_made_in(group);
}
static inline int group_out(MPI_Group group) {
  return group == MPI_GROUP_NULL ? OLDER_GROUP_NULL : group == MPI_GROUP_EMPTY ? OLDER_GROUP_EMPTY : group_made_out(group);
}
/* Predefined datatypes: the last byte of MPICH's number is their own. */
extern WEFT_HIDDEN struct older_number older_type_by_byte[256];
WEFT_HIDDEN MPI_Datatype older_type_in(int type);
WEFT_HIDDEN int older_type_out(MPI_Datatype type);
static inline MPI_Datatype type_in(int type) {
  const struct older_number* const known = &older_type_by_byte[type & 255];
  return __builtin_expect(known->of_theirs == type, 1) ? (MPI_Datatype)(uintptr_t)known->of_standard : older_type_in(type);
}
static inline int type_out(MPI_Datatype type) { return older_type_out(type); }
WEFT_HIDDEN MPI_Errhandler errhandler_in(int errhandler);
WEFT_HIDDEN int errhandler_out(MPI_Errhandler errhandler);
WEFT_HIDDEN MPI_Op op_in(int op);
WEFT_HIDDEN int op_out(MPI_Op op);
static inline MPI_Info info_in(int info) {
  return info == OLDER_INFO_NULL ? MPI_INFO_NULL : info == OLDER_INFO_ENV ? MPI_INFO_ENV : info_made_in(info);
}
static inline int info_out(MPI_Info info) {
  return info == MPI_INFO_NULL ? OLDER_INFO_NULL : info == MPI_INFO_ENV ? OLDER_INFO_ENV : info_made_out(info);
}
static inline MPI_Win win_in(int win) { return win == OLDER_WIN_NULL ? MPI_WIN_NULL : win_made_in(win); }
static inline int win_out(MPI_Win win) { return win == MPI_WIN_NULL ? OLDER_WIN_NULL : win_made_out(win); }
static inline MPI_Request request_in(int request) {
  return request == OLDER_REQUEST_NULL ? MPI_REQUEST_NULL : request_made_in(request);
}
static inline int request_out(MPI_Request request) {
  return request == MPI_REQUEST_NULL ? OLDER_REQUEST_NULL : request_made_out(request);
}
static inline MPI_Message message_in(int message) {
  return message == OLDER_REQUEST_NULL ? MPI_MESSAGE_NULL : message == OLDER_MESSAGE_NO_PROC ? MPI_MESSAGE_NO_PROC : message_made_in(message);
}
static inline int message_out(MPI_Message message) {
  return message == MPI_MESSAGE_NULL ? OLDER_REQUEST_NULL : message == MPI_MESSAGE_NO_PROC ? OLDER_MESSAGE_NO_PROC : message_made_out(message);
}
static inline MPI_Session session_in(int session) { return session == OLDER_SESSION_NULL ? MPI_SESSION_NULL : session_made_in(session); }
static inline int session_out(MPI_Session session) { return session == MPI_SESSION_NULL ? OLDER_SESSION_NULL : session_made_out(session); }
/* A file is an address in both. */
static inline MPI_File file_in(void* file) { return file == NULL ? MPI_FILE_NULL : (MPI_File)file; }
static inline void* file_out(MPI_File file) { return file == MPI_FILE_NULL ? NULL : (void*)file; }

/* Handles are integers, but for files: Fortran's are the same. */
#define OLDER_INTEGERS(kind)                                                     \
  static inline int kind##_to_integer(older_handle handle) { return handle; }    \
  static inline older_handle kind##_of_integer(int number) { return number; }
OLDER_INTEGERS(comm)
OLDER_INTEGERS(type)
OLDER_INTEGERS(group)
OLDER_INTEGERS(request)
OLDER_INTEGERS(op)
OLDER_INTEGERS(info)
OLDER_INTEGERS(errhandler)
OLDER_INTEGERS(message)
OLDER_INTEGERS(session)
OLDER_INTEGERS(win)
static inline older_handle fortran_request_out(MPI_Request request) { return request_out(request); }
static inline int file_to_integer(void* file) { return file == NULL ? 0 : weft_abi_MPI_File_toint(file_in(file)); }
static inline void* file_of_integer(int number) { return number == 0 ? NULL : file_out(weft_abi_MPI_File_fromint(number)); }

/* --- Statuses ------------------------------------------------------------------------------------------------------------------ */

typedef struct {
  int count_low, count_high_and_cancelled, source, tag, error;
} older_status;
_Static_assert(sizeof(older_status) == 20, "as MPICH has it");

#define OLDER_STATUS_IGNORE ((older_status*)1)
/* In a status that a call may write: what it has not written. */
enum { older_not_written = INT_MIN };
/* weft keeps the bytes of the message in the first two words, and in the third whether it was cancelled (status.hpp). */
static inline void status_out(const MPI_Status* from, older_status* to) {
  if (from->MPI_SOURCE != older_not_written) {
    to->count_low = from->MPI_internal[0];
    to->count_high_and_cancelled = (int)((unsigned)from->MPI_internal[1] << 1 | (from->MPI_internal[2] != 0));
    to->source = rank_out(from->MPI_SOURCE);
    to->tag = tag_out(from->MPI_TAG);
  }
  if (from->MPI_ERROR != older_not_written) to->error = error_out(from->MPI_ERROR);
}
static inline void older_copy_length(const older_status* from, older_status* to) {
  to->count_low = from->count_low;
  to->count_high_and_cancelled = from->count_high_and_cancelled;
}
static inline void status_in(const older_status* from, MPI_Status* to) {
  /* In one store, since it is read at once. */
  const uint64_t bytes = (uint32_t)from->count_low | (uint64_t)((uint32_t)from->count_high_and_cancelled >> 1) << 32;
  memcpy(to->MPI_internal, &bytes, sizeof bytes);
  to->MPI_internal[2] = from->count_high_and_cancelled & 1;
  to->MPI_internal[3] = to->MPI_internal[4] = 0;
  to->MPI_SOURCE = rank_in(from->source);
  to->MPI_TAG = tag_in(from->tag);
  to->MPI_ERROR = error_in(from->error);
}

/* --- Addresses that are none -------------------------------------------------------------------------------------------------- */

#define OLDER_IN_PLACE ((void*)-1)
#define OLDER_BUFFER_AUTOMATIC ((void*)-2)
/* MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY are variables of MPICH's library, which hold the standard's values here. */
static inline int* weights_in(const int* weights) { return (int*)(uintptr_t)weights; }
static inline void* place_in(const void* buffer) { return buffer == OLDER_IN_PLACE ? MPI_IN_PLACE : (void*)buffer; }
static inline void* attached_in(void* buffer) { return buffer == OLDER_BUFFER_AUTOMATIC ? MPI_BUFFER_AUTOMATIC : buffer; }
static inline void* attached_out(void* buffer) { return buffer == MPI_BUFFER_AUTOMATIC ? OLDER_BUFFER_AUTOMATIC : buffer; }

/* --- Sizes that programs know --------------------------------------------------------------------------------------------------- */

/* First values of rows of constants that both interfaces have in the same order. */
enum { older_first_combiner = 1, older_first_verbosity = 221, older_first_bind = 9700, older_first_scope = 60438, older_first_variable_class = 240 };
enum { older_overhead = 96, older_processor_name = 128, older_port_name = 256 };

/* --- Functions of the program that its library for C++ calls --------------------------------------------------------------------- */

typedef void proxy_of_operation(const void*, void*, int, int, void (*)(void));
static inline void call_cxx_operation(void (*proxy)(void), void* in, void* inout, int* count, older_handle* type, void (*function)(void)) {
  ((proxy_of_operation*)proxy)(in, inout, *count, *type, function);
}
typedef void proxy_of_handler(int, void*, int*, void (*)(void));
static inline void call_cxx_handler(void (*proxy)(void), int kind, void* handle, int* code, void (*function)(void)) {
  ((proxy_of_handler*)proxy)(kind, handle, code, function);
}
enum { older_kind_of_proxy = 1, older_fortran_datareps = 1 }; /* How the value of an attribute was set: as an address. */

/* --- Other constants ----------------------------------------------------------------------------------------------------------- */

#define OLDER_DFLT_DARG (-49767)
static inline int topology_out(int kind) {
  return kind == MPI_GRAPH ? 1 : kind == MPI_CART ? 2 : kind == MPI_DIST_GRAPH ? 3 : kind;
}
static inline int order_in(int order) { return order == 56 ? MPI_ORDER_C : order == 57 ? MPI_ORDER_FORTRAN : -1; }
static inline int order_out(int order) { return order == MPI_ORDER_C ? 56 : 57; }
static inline int distribution_in(int way) {
  return way == 121 ? MPI_DISTRIBUTE_BLOCK : way == 122 ? MPI_DISTRIBUTE_CYCLIC : way == 123 ? MPI_DISTRIBUTE_NONE : -1;
}
static inline int distribution_out(int way) { return way == MPI_DISTRIBUTE_BLOCK ? 121 : way == MPI_DISTRIBUTE_CYCLIC ? 122 : 123; }
static inline int distribution_size_in(int size) { return size == OLDER_DFLT_DARG ? MPI_DISTRIBUTE_DFLT_DARG : size; }
static inline int distribution_size_out(int size) { return size == MPI_DISTRIBUTE_DFLT_DARG ? OLDER_DFLT_DARG : size; }
static inline int type_class_in(int kind) {
  return kind == 1 ? MPI_TYPECLASS_REAL : kind == 2 ? MPI_TYPECLASS_INTEGER : kind == 3 ? MPI_TYPECLASS_COMPLEX : -1;
}
static inline int lock_in(int kind) { return kind == 234 ? MPI_LOCK_EXCLUSIVE : kind == 235 ? MPI_LOCK_SHARED : -1; }
#define OLDER_WIN_SEPARATE 1
#define OLDER_WIN_UNIFIED 2
/* In MPICH 4.0 this number has been MPIX_COMM_TYPE_NEIGHBORHOOD, of which weft knows nothing, and which other hints belong to. Without
   any hint both make no communicator. */
static inline int is_neighborhood(int split_type, MPI_Info info) {
  return split_type == 4 && !weft_has_hint(info, "mpi_hw_resource_type") && !weft_has_hint(info, "mpi_pset_name") &&
         (weft_has_hint(info, "nbhd_common_dirname") || weft_has_hint(info, "network_topo"));
}
static inline int split_in(int kind, MPI_Info info) {
  return is_neighborhood(kind, info) ? kind
         : kind == 1 ? MPI_COMM_TYPE_SHARED
         : kind == 2 ? MPI_COMM_TYPE_HW_GUIDED
         : kind == 3 ? MPI_COMM_TYPE_HW_UNGUIDED
         : kind == 4 ? MPI_COMM_TYPE_RESOURCE_GUIDED
                     : kind;
}
/* Keys that the program has made are the same numbers. */
extern WEFT_HIDDEN const struct older_number older_keys[];
static inline int key_in(int key) { return older_find_in(older_keys, key, key); }
static inline int key_out(int key) { return key == MPI_KEYVAL_INVALID ? OLDER_KEYVAL_INVALID : key; }
static inline MPI_T_pvar_handle variable_handle_in(MPI_T_pvar_handle handle) { return handle; }

#endif
