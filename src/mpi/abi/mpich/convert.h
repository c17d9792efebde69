/* The binary interface of MPICH before version 5 and of its kin (libmpi.so.12, libmpich.so.12), as weft's libraries of these
   names speak it: handles are integers, a status has 20 bytes, and most constants have other values than the standard's. Each
   function converts what it is given, calls the function of weft, and converts what comes back. Here are the conversions:
   x_in() from MPICH's to the standard's, x_out() back. The values are those of mpi.h of MPICH 4.0.2 and 5.0.2.

   A handle of MPICH has its kind in bits 26 to 29, and in the two above whether it is null (0), predefined (1) or made by the
   program (2). What the program has made carries the integer that weft has for it (MPI_Comm_toint).

   Functions of weft are called by names that begin with weft_abi_: names.h, which write_mpich.py makes, declares them. */
#ifndef WEFT_MPI_ABI_MPICH_CONVERT_H
#define WEFT_MPI_ABI_MPICH_CONVERT_H
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

#define WEFT_HIDDEN __attribute__((visibility("hidden")))

/* --- Tables (convert.c): by MPICH's value, and by the standard's -------------------------------------------------------- */

enum { standard_handles_end = 0x1000 };
struct mpich_number {
  int of_mpich, of_standard;
};
extern WEFT_HIDDEN const struct mpich_number mpich_error_numbers[];
extern WEFT_HIDDEN const struct mpich_number mpich_types[], mpich_operations[];
extern WEFT_HIDDEN const struct mpich_number mpich_combiners[], mpich_keys[];
/* The number that goes with another one; `otherwise` where none does. */
WEFT_HIDDEN int mpich_find_in(const struct mpich_number* table, int of_mpich, int otherwise);
WEFT_HIDDEN int mpich_find_out(const struct mpich_number* table, int of_standard, int otherwise);

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
enum { mpich_last_code = 0x3fffffff, mpich_added = 0x40000000 };
WEFT_HIDDEN int mpich_error_in(int code);
WEFT_HIDDEN int mpich_error_out(int code);
static inline int error_in(int code) { return code == MPI_SUCCESS ? MPI_SUCCESS : mpich_error_in(code); }
static inline int error_out(int code) { return __builtin_expect(code == MPI_SUCCESS, 1) ? MPI_SUCCESS : mpich_error_out(code); }
/* What a function of the program has returned: for MPICH, a number that is no code is MPI_ERR_OTHER. */
static inline int returned_in(int code) {
  const int known = error_in(code);
  return known == -1 ? MPI_ERR_OTHER : known;
}

/* --- Handles ------------------------------------------------------------------------------------------------------------------ */

#define MPICH_COMM_NULL 0x04000000
#define MPICH_COMM_WORLD 0x44000000
#define MPICH_COMM_SELF 0x44000001
#define MPICH_GROUP_NULL 0x08000000
#define MPICH_GROUP_EMPTY 0x48000000
#define MPICH_DATATYPE_NULL 0x0c000000
#define MPICH_ERRHANDLER_NULL 0x14000000
#define MPICH_ERRORS_ARE_FATAL 0x54000000
#define MPICH_ERRORS_RETURN 0x54000001
#define MPICH_ERRORS_THROW 0x54000002 /* Of the bindings for C++, which MPI 3.0 has removed. */
#define MPICH_ERRORS_ABORT 0x54000003
#define MPICH_OP_NULL 0x18000000
#define MPICH_INFO_NULL 0x1c000000
#define MPICH_INFO_ENV 0x5c000001
#define MPICH_WIN_NULL 0x20000000
#define MPICH_REQUEST_NULL 0x2c000000
#define MPICH_MESSAGE_NO_PROC 0x6c000000
#define MPICH_SESSION_NULL 0x38000000
#define MPICH_KEYVAL_INVALID 0x24000000

/* Of kind `null`, with the integer that weft has for it. */
#define MPICH_MADE(null, number) ((int)(0x80000000u | (unsigned)(null) | (unsigned)(number)))
#define MPICH_IS_MADE(null, handle) (((unsigned)(handle) & 0xfc000000u) == (0x80000000u | (unsigned)(null)))
/* A number that was never given out becomes a handle of no object, which weft refuses. */
#define MPICH_HANDLES(Handle, Name, name, null)                                                                       \
  static inline Handle name##_made_in(int handle) {                                                                   \
    const int number = handle & 0x03ffffff;                                                                           \
    return MPICH_IS_MADE(null, handle) && number >= standard_handles_end ? weft_abi_MPI_##Name##_fromint(number)      \
                                                                         : (Handle)0;                                 \
  }                                                                                                                   \
  static inline int name##_made_out(Handle handle) { return MPICH_MADE(null, weft_abi_MPI_##Name##_toint(handle)); }

MPICH_HANDLES(MPI_Comm, Comm, comm, MPICH_COMM_NULL)
MPICH_HANDLES(MPI_Group, Group, group, MPICH_GROUP_NULL)
MPICH_HANDLES(MPI_Datatype, Type, type, MPICH_DATATYPE_NULL)
MPICH_HANDLES(MPI_Errhandler, Errhandler, errhandler, MPICH_ERRHANDLER_NULL)
MPICH_HANDLES(MPI_Op, Op, op, MPICH_OP_NULL)
MPICH_HANDLES(MPI_Info, Info, info, MPICH_INFO_NULL)
MPICH_HANDLES(MPI_Win, Win, win, MPICH_WIN_NULL)
MPICH_HANDLES(MPI_Request, Request, request, MPICH_REQUEST_NULL)
MPICH_HANDLES(MPI_Message, Message, message, MPICH_REQUEST_NULL)
MPICH_HANDLES(MPI_Session, Session, session, MPICH_SESSION_NULL)

static inline MPI_Comm comm_in(int comm) {
  return comm == MPICH_COMM_WORLD  ? MPI_COMM_WORLD
         : comm == MPICH_COMM_SELF ? MPI_COMM_SELF
         : comm == MPICH_COMM_NULL ? MPI_COMM_NULL
                                   : comm_made_in(comm);
}
static inline int comm_out(MPI_Comm comm) {
  return comm == MPI_COMM_NULL    ? MPICH_COMM_NULL
         : comm == MPI_COMM_WORLD ? MPICH_COMM_WORLD
         : comm == MPI_COMM_SELF  ? MPICH_COMM_SELF
                                  : comm_made_out(comm);
}
static inline MPI_Group group_in(int group) {
  return group == MPICH_GROUP_NULL ? MPI_GROUP_NULL : group == MPICH_GROUP_EMPTY ? MPI_GROUP_EMPTY : group_made_in(group);
}
static inline int group_out(MPI_Group group) {
  return group == MPI_GROUP_NULL ? MPICH_GROUP_NULL : group == MPI_GROUP_EMPTY ? MPICH_GROUP_EMPTY : group_made_out(group);
}
/* Predefined datatypes: the last byte of MPICH's number is their own. */
extern WEFT_HIDDEN struct mpich_number mpich_type_by_byte[256];
WEFT_HIDDEN MPI_Datatype mpich_type_in(int type);
WEFT_HIDDEN int mpich_type_out(MPI_Datatype type);
static inline MPI_Datatype type_in(int type) {
  const struct mpich_number* const known = &mpich_type_by_byte[type & 255];
  return __builtin_expect(known->of_mpich == type, 1) ? (MPI_Datatype)(uintptr_t)known->of_standard : mpich_type_in(type);
}
static inline int type_out(MPI_Datatype type) { return mpich_type_out(type); }
WEFT_HIDDEN MPI_Errhandler errhandler_in(int errhandler);
WEFT_HIDDEN int errhandler_out(MPI_Errhandler errhandler);
WEFT_HIDDEN MPI_Op op_in(int op);
WEFT_HIDDEN int op_out(MPI_Op op);
static inline MPI_Info info_in(int info) {
  return info == MPICH_INFO_NULL ? MPI_INFO_NULL : info == MPICH_INFO_ENV ? MPI_INFO_ENV : info_made_in(info);
}
static inline int info_out(MPI_Info info) {
  return info == MPI_INFO_NULL ? MPICH_INFO_NULL : info == MPI_INFO_ENV ? MPICH_INFO_ENV : info_made_out(info);
}
static inline MPI_Win win_in(int win) { return win == MPICH_WIN_NULL ? MPI_WIN_NULL : win_made_in(win); }
static inline int win_out(MPI_Win win) { return win == MPI_WIN_NULL ? MPICH_WIN_NULL : win_made_out(win); }
static inline MPI_Request request_in(int request) {
  return request == MPICH_REQUEST_NULL ? MPI_REQUEST_NULL : request_made_in(request);
}
static inline int request_out(MPI_Request request) {
  return request == MPI_REQUEST_NULL ? MPICH_REQUEST_NULL : request_made_out(request);
}
static inline MPI_Message message_in(int message) {
  return message == MPICH_REQUEST_NULL ? MPI_MESSAGE_NULL : message == MPICH_MESSAGE_NO_PROC ? MPI_MESSAGE_NO_PROC : message_made_in(message);
}
static inline int message_out(MPI_Message message) {
  return message == MPI_MESSAGE_NULL ? MPICH_REQUEST_NULL : message == MPI_MESSAGE_NO_PROC ? MPICH_MESSAGE_NO_PROC : message_made_out(message);
}
static inline MPI_Session session_in(int session) { return session == MPICH_SESSION_NULL ? MPI_SESSION_NULL : session_made_in(session); }
static inline int session_out(MPI_Session session) { return session == MPI_SESSION_NULL ? MPICH_SESSION_NULL : session_made_out(session); }
/* A file is an address in both. */
static inline MPI_File file_in(void* file) { return file == NULL ? MPI_FILE_NULL : (MPI_File)file; }
static inline void* file_out(MPI_File file) { return file == MPI_FILE_NULL ? NULL : (void*)file; }

/* --- Statuses ------------------------------------------------------------------------------------------------------------------ */

typedef struct {
  int count_low, count_high_and_cancelled, source, tag, error;
} mpich_status;
_Static_assert(sizeof(mpich_status) == 20, "as MPICH has it");

#define MPICH_STATUS_IGNORE ((mpich_status*)1)
/* In a status that a call may write: what it has not written. */
enum { mpich_not_written = INT_MIN };

static inline void status_begin(MPI_Status* status) { status->MPI_SOURCE = status->MPI_ERROR = mpich_not_written; }
/* weft keeps the bytes of the message in the first two words, and in the third whether it was cancelled (status.hpp). */
static inline void status_out(const MPI_Status* from, mpich_status* to) {
  if (from->MPI_SOURCE != mpich_not_written) {
    to->count_low = from->MPI_internal[0];
    to->count_high_and_cancelled = (int)((unsigned)from->MPI_internal[1] << 1 | (from->MPI_internal[2] != 0));
    to->source = rank_out(from->MPI_SOURCE);
    to->tag = tag_out(from->MPI_TAG);
  }
  if (from->MPI_ERROR != mpich_not_written) to->error = error_out(from->MPI_ERROR);
}
static inline void status_in(const mpich_status* from, MPI_Status* to) {
  memset(to, 0, sizeof *to);
  to->MPI_internal[0] = from->count_low;
  to->MPI_internal[1] = (int)((unsigned)from->count_high_and_cancelled >> 1);
  to->MPI_internal[2] = from->count_high_and_cancelled & 1;
  to->MPI_SOURCE = rank_in(from->source);
  to->MPI_TAG = tag_in(from->tag);
  to->MPI_ERROR = error_in(from->error);
}

/* What a call has changed in a status that it was given; the rest stays as the program has it. */
static inline void status_update(const MPI_Status* from, mpich_status* to) {
  mpich_status changed = *to;
  MPI_Status before;
  status_in(to, &before);
  status_out(from, &changed);
  to->count_low = changed.count_low;
  to->count_high_and_cancelled = changed.count_high_and_cancelled;
  if (from->MPI_SOURCE != before.MPI_SOURCE) to->source = changed.source;
  if (from->MPI_TAG != before.MPI_TAG) to->tag = changed.tag;
  if (from->MPI_ERROR != before.MPI_ERROR) to->error = changed.error;
}

/* --- Addresses that are none -------------------------------------------------------------------------------------------------- */

#define MPICH_IN_PLACE ((void*)-1)
#define MPICH_BUFFER_AUTOMATIC ((void*)-2)
static inline void* place_in(const void* buffer) { return buffer == MPICH_IN_PLACE ? MPI_IN_PLACE : (void*)buffer; }
static inline void* attached_in(void* buffer) { return buffer == MPICH_BUFFER_AUTOMATIC ? MPI_BUFFER_AUTOMATIC : buffer; }
static inline void* attached_out(void* buffer) { return buffer == MPI_BUFFER_AUTOMATIC ? MPICH_BUFFER_AUTOMATIC : buffer; }

/* --- Other constants ----------------------------------------------------------------------------------------------------------- */

#define MPICH_DISPLACEMENT_CURRENT (-54278278)
#define MPICH_DFLT_DARG (-49767)
static inline int compared_out(int result) { return result - MPI_IDENT; }
static inline int thread_level_in(int level) {
  return level == 0   ? MPI_THREAD_SINGLE
         : level == 1 ? MPI_THREAD_FUNNELED
         : level == 2 ? MPI_THREAD_SERIALIZED
         : level == 3 ? MPI_THREAD_MULTIPLE
                      : level;
}
static inline int thread_level_out(int level) {
  return level >= MPI_THREAD_MULTIPLE     ? 3
         : level >= MPI_THREAD_SERIALIZED ? 2
         : level >= MPI_THREAD_FUNNELED   ? 1
                                          : 0;
}
static inline int topology_out(int kind) {
  return kind == MPI_GRAPH ? 1 : kind == MPI_CART ? 2 : kind == MPI_DIST_GRAPH ? 3 : kind;
}
static inline int order_in(int order) { return order == 56 ? MPI_ORDER_C : order == 57 ? MPI_ORDER_FORTRAN : -1; }
static inline int order_out(int order) { return order == MPI_ORDER_C ? 56 : 57; }
static inline int distribution_in(int way) {
  return way == 121 ? MPI_DISTRIBUTE_BLOCK : way == 122 ? MPI_DISTRIBUTE_CYCLIC : way == 123 ? MPI_DISTRIBUTE_NONE : -1;
}
static inline int distribution_out(int way) { return way == MPI_DISTRIBUTE_BLOCK ? 121 : way == MPI_DISTRIBUTE_CYCLIC ? 122 : 123; }
static inline int distribution_size_in(int size) { return size == MPICH_DFLT_DARG ? MPI_DISTRIBUTE_DFLT_DARG : size; }
static inline int distribution_size_out(int size) { return size == MPI_DISTRIBUTE_DFLT_DARG ? MPICH_DFLT_DARG : size; }
static inline int combiner_out(int combiner) { return mpich_find_out(mpich_combiners, combiner, combiner); }
static inline int type_class_in(int kind) {
  return kind == 1 ? MPI_TYPECLASS_REAL : kind == 2 ? MPI_TYPECLASS_INTEGER : kind == 3 ? MPI_TYPECLASS_COMPLEX : -1;
}
static inline int lock_in(int kind) { return kind == 234 ? MPI_LOCK_EXCLUSIVE : kind == 235 ? MPI_LOCK_SHARED : -1; }
WEFT_HIDDEN int assert_in(int promises);
WEFT_HIDDEN int access_in(int mode);
WEFT_HIDDEN int access_out(int mode);
static inline int whence_in(int from) { return from == 600 ? MPI_SEEK_SET : from == 602 ? MPI_SEEK_CUR : from == 604 ? MPI_SEEK_END : -1; }
static inline MPI_Offset displacement_in(MPI_Offset displacement) {
  return displacement == MPICH_DISPLACEMENT_CURRENT ? MPI_DISPLACEMENT_CURRENT : displacement;
}
static inline int split_in(int kind) {
  return kind == 1   ? MPI_COMM_TYPE_SHARED
         : kind == 2 ? MPI_COMM_TYPE_HW_GUIDED
         : kind == 3 ? MPI_COMM_TYPE_HW_UNGUIDED
         : kind == 4 ? MPI_COMM_TYPE_RESOURCE_GUIDED
                     : kind;
}
/* Keys that the program has made are the same numbers. */
static inline int key_in(int key) { return mpich_find_in(mpich_keys, key, key); }
static inline int key_out(int key) { return key == MPI_KEYVAL_INVALID ? MPICH_KEYVAL_INVALID : key; }

/* The tools interface. */
WEFT_HIDDEN int verbosity_out(int verbosity);
static inline int bound_out(int bound) { return bound + 9700 - MPI_T_BIND_NO_OBJECT; }
static inline int scope_out(int scope) { return scope + 60438 - MPI_T_SCOPE_CONSTANT; }
static inline int variable_class_in(int kind) { return kind - 240 + MPI_T_PVAR_CLASS_STATE; }
static inline int variable_class_out(int kind) { return kind + 240 - MPI_T_PVAR_CLASS_STATE; }
static inline MPI_T_cb_safety safety_in(int safety) {
  return safety == 0   ? MPI_T_CB_REQUIRE_NONE
         : safety == 1 ? MPI_T_CB_REQUIRE_MPI_RESTRICTED
         : safety == 2 ? MPI_T_CB_REQUIRE_THREAD_SAFE
                       : MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE;
}

/* --- Arrays of arguments ------------------------------------------------------------------------------------------------------- */

/* Room for `count` elements: in the frame where they are few. A count that is none makes room for none: weft refuses it. */
enum { mpich_few = 64 };
WEFT_HIDDEN void* mpich_memory(long count, size_t size);
#define MPICH_ARRAY(Type, name, count)                                                                            \
  const long name##_count = (count) > 0 ? (long)(count) : 0;                                                      \
  Type name##_few[mpich_few];                                                                                     \
  Type* const name = name##_count <= mpich_few ? name##_few : (Type*)mpich_memory(name##_count, sizeof *name)
#define MPICH_END(name)                      \
  do {                                       \
    if ((name) != name##_few) free(name);    \
  } while (0)

/* How many elements the arrays of MPI_Alltoallw and of MPI_Neighbor_alltoallw have, which rank the caller is, and whether an info has
   a key: libweft's, which calls no error handler (for_mpich.cpp). */
int weft_peers_of(MPI_Comm comm);
int weft_neighbours_of(MPI_Comm comm, int incoming);
int weft_rank_in(MPI_Comm comm);
int weft_has_hint(MPI_Info info, const char* key);

#endif
