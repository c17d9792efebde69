/* MPI in C, with the handle values, constants and structures of the standard ABI (MPI 5.0, chapter
 * "Application Binary Interface"). What weft has not is in mpi_absent.h: it can be named
 * and linked, and a call of it is an error that says so. docs/mpi.md has the list.
 *
 * Every function exists twice, MPI_X and PMPI_X (profiling): MPI_X is weak. */
#ifndef WEFT_MPI_H
#define WEFT_MPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#define MPI_ABI_VERSION 1
#define MPI_ABI_SUBVERSION 0

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;
typedef int MPI_Fint;

typedef struct {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
} MPI_Status;

/* --- Handles ---------------------------------------------------------------------------------- */
typedef struct MPI_ABI_Comm* MPI_Comm;
typedef struct MPI_ABI_Datatype* MPI_Datatype;
typedef struct MPI_ABI_Errhandler* MPI_Errhandler;
typedef struct MPI_ABI_File* MPI_File;
typedef struct MPI_ABI_Group* MPI_Group;
typedef struct MPI_ABI_Info* MPI_Info;
typedef struct MPI_ABI_Message* MPI_Message;
typedef struct MPI_ABI_Op* MPI_Op;
typedef struct MPI_ABI_Request* MPI_Request;
typedef struct MPI_ABI_Session* MPI_Session;
typedef struct MPI_ABI_Win* MPI_Win;

#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_COMM_SELF ((MPI_Comm)0x102)
#define MPI_GROUP_NULL ((MPI_Group)0x108)
#define MPI_GROUP_EMPTY ((MPI_Group)0x109)
#define MPI_WIN_NULL ((MPI_Win)0x110)
#define MPI_FILE_NULL ((MPI_File)0x118)
#define MPI_SESSION_NULL ((MPI_Session)0x120)
#define MPI_MESSAGE_NULL ((MPI_Message)0x128)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)0x129)
#define MPI_INFO_NULL ((MPI_Info)0x130)
#define MPI_INFO_ENV ((MPI_Info)0x131)
#define MPI_ERRHANDLER_NULL ((MPI_Errhandler)0x140)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x141)
#define MPI_ERRORS_ABORT ((MPI_Errhandler)0x142)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)
#define MPI_REQUEST_NULL ((MPI_Request)0x180)

#define MPI_OP_NULL ((MPI_Op)0x20)
#define MPI_SUM ((MPI_Op)0x21)
#define MPI_MIN ((MPI_Op)0x22)
#define MPI_MAX ((MPI_Op)0x23)
#define MPI_PROD ((MPI_Op)0x24)
#define MPI_BAND ((MPI_Op)0x28)
#define MPI_BOR ((MPI_Op)0x29)
#define MPI_BXOR ((MPI_Op)0x2a)
#define MPI_LAND ((MPI_Op)0x30)
#define MPI_LOR ((MPI_Op)0x31)
#define MPI_LXOR ((MPI_Op)0x32)
#define MPI_MINLOC ((MPI_Op)0x38)
#define MPI_MAXLOC ((MPI_Op)0x39)
#define MPI_REPLACE ((MPI_Op)0x3c)
#define MPI_NO_OP ((MPI_Op)0x3d)

/* --- Datatypes ------------------------------------------------------------------------------------ */
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x200)
#define MPI_AINT ((MPI_Datatype)0x201)
#define MPI_COUNT ((MPI_Datatype)0x202)
#define MPI_OFFSET ((MPI_Datatype)0x203)
/* Removed by MPI 3.0, and no values of the ABI: bounds of a datatype, as parts of a structure. */
#define MPI_LB ((MPI_Datatype)0x204)
#define MPI_UB ((MPI_Datatype)0x205)
#define MPI_PACKED ((MPI_Datatype)0x207)
#define MPI_SHORT ((MPI_Datatype)0x208)
#define MPI_INT ((MPI_Datatype)0x209)
#define MPI_LONG ((MPI_Datatype)0x20a)
#define MPI_LONG_LONG ((MPI_Datatype)0x20b)
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x20c)
#define MPI_UNSIGNED ((MPI_Datatype)0x20d)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x20e)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x20f)
#define MPI_FLOAT ((MPI_Datatype)0x210)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x212)
#define MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX
#define MPI_CXX_FLOAT_COMPLEX ((MPI_Datatype)0x213)
#define MPI_DOUBLE ((MPI_Datatype)0x214)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x216)
#define MPI_CXX_DOUBLE_COMPLEX ((MPI_Datatype)0x217)
#define MPI_LOGICAL ((MPI_Datatype)0x218)
#define MPI_INTEGER ((MPI_Datatype)0x219)
#define MPI_REAL ((MPI_Datatype)0x21a)
#define MPI_COMPLEX ((MPI_Datatype)0x21b)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)0x21c)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)0x21d)
#define MPI_CHARACTER ((MPI_Datatype)0x21e)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x220)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x224)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x225)
#define MPI_FLOAT_INT ((MPI_Datatype)0x228)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x229)
#define MPI_LONG_INT ((MPI_Datatype)0x22a)
#define MPI_2INT ((MPI_Datatype)0x22b)
#define MPI_SHORT_INT ((MPI_Datatype)0x22c)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)0x22d)
#define MPI_2REAL ((MPI_Datatype)0x230)
#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)0x231)
#define MPI_2INTEGER ((MPI_Datatype)0x232)
#define MPI_C_BOOL ((MPI_Datatype)0x238)
#define MPI_CXX_BOOL ((MPI_Datatype)0x239)
#define MPI_WCHAR ((MPI_Datatype)0x23c)
#define MPI_INT8_T ((MPI_Datatype)0x240)
#define MPI_UINT8_T ((MPI_Datatype)0x241)
#define MPI_CHAR ((MPI_Datatype)0x243)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x244)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x245)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_INT16_T ((MPI_Datatype)0x248)
#define MPI_UINT16_T ((MPI_Datatype)0x249)
#define MPI_INT32_T ((MPI_Datatype)0x250)
#define MPI_UINT32_T ((MPI_Datatype)0x251)
#define MPI_INT64_T ((MPI_Datatype)0x258)
#define MPI_UINT64_T ((MPI_Datatype)0x259)
#define MPI_LOGICAL1 ((MPI_Datatype)0x2c0)
#define MPI_INTEGER1 ((MPI_Datatype)0x2c1)
#define MPI_LOGICAL2 ((MPI_Datatype)0x2c8)
#define MPI_INTEGER2 ((MPI_Datatype)0x2c9)
#define MPI_REAL2 ((MPI_Datatype)0x2ca)
#define MPI_LOGICAL4 ((MPI_Datatype)0x2d0)
#define MPI_INTEGER4 ((MPI_Datatype)0x2d1)
#define MPI_REAL4 ((MPI_Datatype)0x2d2)
#define MPI_COMPLEX4 ((MPI_Datatype)0x2d3)
#define MPI_LOGICAL8 ((MPI_Datatype)0x2d8)
#define MPI_INTEGER8 ((MPI_Datatype)0x2d9)
#define MPI_REAL8 ((MPI_Datatype)0x2da)
#define MPI_COMPLEX8 ((MPI_Datatype)0x2db)
#define MPI_LOGICAL16 ((MPI_Datatype)0x2e0)
#define MPI_INTEGER16 ((MPI_Datatype)0x2e1)
#define MPI_REAL16 ((MPI_Datatype)0x2e2)
#define MPI_COMPLEX16 ((MPI_Datatype)0x2e3)
#define MPI_COMPLEX32 ((MPI_Datatype)0x2eb)

/* --- Constants -------------------------------------------------------------------------------- */
enum { /* Error classes. */
  MPI_SUCCESS = 0,
  MPI_ERR_BUFFER = 1,
  MPI_ERR_COUNT = 2,
  MPI_ERR_TYPE = 3,
  MPI_ERR_TAG = 4,
  MPI_ERR_COMM = 5,
  MPI_ERR_RANK = 6,
  MPI_ERR_REQUEST = 7,
  MPI_ERR_ROOT = 8,
  MPI_ERR_GROUP = 9,
  MPI_ERR_OP = 10,
  MPI_ERR_TOPOLOGY = 11,
  MPI_ERR_DIMS = 12,
  MPI_ERR_ARG = 13,
  MPI_ERR_UNKNOWN = 14,
  MPI_ERR_TRUNCATE = 15,
  MPI_ERR_OTHER = 16,
  MPI_ERR_INTERN = 17,
  MPI_ERR_PENDING = 18,
  MPI_ERR_IN_STATUS = 19,
  MPI_ERR_ACCESS = 20,
  MPI_ERR_AMODE = 21,
  MPI_ERR_ASSERT = 22,
  MPI_ERR_BAD_FILE = 23,
  MPI_ERR_BASE = 24,
  MPI_ERR_CONVERSION = 25,
  MPI_ERR_DISP = 26,
  MPI_ERR_DUP_DATAREP = 27,
  MPI_ERR_FILE_EXISTS = 28,
  MPI_ERR_FILE_IN_USE = 29,
  MPI_ERR_FILE = 30,
  MPI_ERR_INFO_KEY = 31,
  MPI_ERR_INFO_NOKEY = 32,
  MPI_ERR_INFO_VALUE = 33,
  MPI_ERR_INFO = 34,
  MPI_ERR_IO = 35,
  MPI_ERR_KEYVAL = 36,
  MPI_ERR_LOCKTYPE = 37,
  MPI_ERR_NAME = 38,
  MPI_ERR_NO_MEM = 39,
  MPI_ERR_NOT_SAME = 40,
  MPI_ERR_NO_SPACE = 41,
  MPI_ERR_NO_SUCH_FILE = 42,
  MPI_ERR_PORT = 43,
  MPI_ERR_QUOTA = 44,
  MPI_ERR_READ_ONLY = 45,
  MPI_ERR_RMA_ATTACH = 46,
  MPI_ERR_RMA_CONFLICT = 47,
  MPI_ERR_RMA_RANGE = 48,
  MPI_ERR_RMA_SHARED = 49,
  MPI_ERR_RMA_SYNC = 50,
  MPI_ERR_SERVICE = 51,
  MPI_ERR_SIZE = 52,
  MPI_ERR_SPAWN = 53,
  MPI_ERR_UNSUPPORTED_DATAREP = 54,
  MPI_ERR_UNSUPPORTED_OPERATION = 55,
  MPI_ERR_WIN = 56,
  MPI_ERR_RMA_FLAVOR = 57,
  MPI_ERR_PROC_ABORTED = 58,
  MPI_ERR_VALUE_TOO_LARGE = 59,
  MPI_ERR_SESSION = 60,
  MPI_ERR_ERRHANDLER = 61,
  MPI_ERR_ABI = 62,
  MPI_ERR_LASTCODE = 16383
};

enum { /* Ranks and tags that are none. */
  MPI_ANY_SOURCE = -1,
  MPI_ANY_TAG = -2,
  MPI_PROC_NULL = -3,
  MPI_ROOT = -4,
  MPI_UNDEFINED = -32766
};

enum { /* Threads. */
  MPI_THREAD_SINGLE = 0,
  MPI_THREAD_FUNNELED = 1024,
  MPI_THREAD_SERIALIZED = 2048,
  MPI_THREAD_MULTIPLE = 4096
};

enum { /* How arrays are stored and shared out. */
  MPI_ORDER_C = 12,
  MPI_ORDER_FORTRAN = 15,
  MPI_DISTRIBUTE_NONE = 16,
  MPI_DISTRIBUTE_BLOCK = 17,
  MPI_DISTRIBUTE_CYCLIC = 18,
  MPI_DISTRIBUTE_DFLT_DARG = 19
};

enum { /* How a datatype was made. */
  MPI_COMBINER_NAMED = 101,
  MPI_COMBINER_DUP = 102,
  MPI_COMBINER_CONTIGUOUS = 103,
  MPI_COMBINER_VECTOR = 104,
  MPI_COMBINER_HVECTOR = 105,
  MPI_COMBINER_INDEXED = 106,
  MPI_COMBINER_HINDEXED = 107,
  MPI_COMBINER_INDEXED_BLOCK = 108,
  MPI_COMBINER_HINDEXED_BLOCK = 109,
  MPI_COMBINER_STRUCT = 110,
  MPI_COMBINER_SUBARRAY = 111,
  MPI_COMBINER_DARRAY = 112,
  MPI_COMBINER_F90_REAL = 113,
  MPI_COMBINER_F90_COMPLEX = 114,
  MPI_COMBINER_F90_INTEGER = 115,
  MPI_COMBINER_RESIZED = 116,
  MPI_COMBINER_VALUE_INDEX = 117,
  /* Removed by MPI 3.0; no datatype is made so. */
  MPI_COMBINER_HVECTOR_INTEGER = 118,
  MPI_COMBINER_HINDEXED_INTEGER = 119,
  MPI_COMBINER_STRUCT_INTEGER = 120
};

enum { MPI_TYPECLASS_INTEGER = 192, MPI_TYPECLASS_REAL = 193, MPI_TYPECLASS_COMPLEX = 194 };
enum { MPI_IDENT = 201, MPI_CONGRUENT = 202, MPI_SIMILAR = 203, MPI_UNEQUAL = 204 };
enum { MPI_CART = 211, MPI_GRAPH = 212, MPI_DIST_GRAPH = 213 };
enum {
  MPI_COMM_TYPE_SHARED = 221,
  MPI_COMM_TYPE_HW_UNGUIDED = 222,
  MPI_COMM_TYPE_HW_GUIDED = 223,
  MPI_COMM_TYPE_RESOURCE_GUIDED = 224
};

enum { /* Keys of attributes. */
  MPI_KEYVAL_INVALID = 0,
  MPI_TAG_UB = 501,
  MPI_IO = 502,
  MPI_HOST = 503,
  MPI_WTIME_IS_GLOBAL = 504,
  MPI_APPNUM = 505,
  MPI_LASTUSEDCODE = 506,
  MPI_UNIVERSE_SIZE = 507
};

enum { MPI_F_STATUS_SIZE = 8, MPI_F_SOURCE = 0, MPI_F_TAG = 1, MPI_F_ERROR = 2 };

/* Addresses that are none. */
#define MPI_BOTTOM ((void*)0)
#define MPI_IN_PLACE ((void*)1)
#define MPI_BUFFER_AUTOMATIC ((void*)2)
#define MPI_ARGV_NULL ((char**)0)
#define MPI_ARGVS_NULL ((char***)0)
#define MPI_ERRCODES_IGNORE ((int*)0)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)
#define MPI_UNWEIGHTED ((int*)10)
#define MPI_WEIGHTS_EMPTY ((int*)11)

/* Sizes. */
#define MPI_MAX_DATAREP_STRING 128
#define MPI_MAX_ERROR_STRING 512
#define MPI_MAX_INFO_KEY 256
#define MPI_MAX_INFO_VAL 1024
#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_MAX_OBJECT_NAME 128
#define MPI_MAX_PORT_NAME 1024
#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_MAX_STRINGTAG_LEN 1024
#define MPI_MAX_PSET_NAME_LEN 1024
#define MPI_BSEND_OVERHEAD 512

/* --- Functions of the program that MPI calls ---------------------------------------------------- */
typedef void(MPI_User_function)(void* invec, void* inoutvec, int* len, MPI_Datatype* datatype);
typedef void(MPI_User_function_c)(void* invec, void* inoutvec, MPI_Count* len,
                                  MPI_Datatype* datatype);
typedef int(MPI_Grequest_query_function)(void* extra_state, MPI_Status* status);
typedef int(MPI_Grequest_free_function)(void* extra_state);
typedef int(MPI_Grequest_cancel_function)(void* extra_state, int complete);
typedef int(MPI_Copy_function)(MPI_Comm oldcomm, int keyval, void* extra_state,
                               void* attribute_val_in, void* attribute_val_out, int* flag);
typedef int(MPI_Delete_function)(MPI_Comm comm, int keyval, void* attribute_val, void* extra_state);
typedef int(MPI_Comm_copy_attr_function)(MPI_Comm oldcomm, int comm_keyval, void* extra_state,
                                         void* attribute_val_in, void* attribute_val_out,
                                         int* flag);
typedef int(MPI_Comm_delete_attr_function)(MPI_Comm comm, int comm_keyval, void* attribute_val,
                                           void* extra_state);
typedef int(MPI_Type_copy_attr_function)(MPI_Datatype oldtype, int type_keyval, void* extra_state,
                                         void* attribute_val_in, void* attribute_val_out,
                                         int* flag);
typedef int(MPI_Type_delete_attr_function)(MPI_Datatype datatype, int type_keyval,
                                           void* attribute_val, void* extra_state);
typedef void(MPI_Comm_errhandler_function)(MPI_Comm* comm, int* error_code, ...);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;

typedef MPI_Comm_errhandler_function MPI_Handler_function; /* Removed by MPI 3.0. */
typedef void(MPI_Session_errhandler_function)(MPI_Session* session, int* error_code, ...);
typedef MPI_Session_errhandler_function MPI_Session_errhandler_fn;

#define MPI_NULL_COPY_FN ((MPI_Copy_function*)0)
#define MPI_DUP_FN ((MPI_Copy_function*)1)
#define MPI_NULL_DELETE_FN ((MPI_Delete_function*)0)
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function*)0)
#define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function*)1)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function*)0)
#define MPI_TYPE_NULL_COPY_FN ((MPI_Type_copy_attr_function*)0)
#define MPI_TYPE_DUP_FN ((MPI_Type_copy_attr_function*)1)
#define MPI_TYPE_NULL_DELETE_FN ((MPI_Type_delete_attr_function*)0)

/* Declares MPI_X and PMPI_X. */
#define WEFT_MPI_DECLARE(result, name, parameters) \
  result name parameters;                          \
  result P##name parameters;

/* --- Environment (environment.cpp, memory.cpp) -------------------------------------------------------------- */
WEFT_MPI_DECLARE(int, MPI_Init, (int* argc, char*** argv))
WEFT_MPI_DECLARE(int, MPI_Init_thread, (int* argc, char*** argv, int required, int* provided))
WEFT_MPI_DECLARE(int, MPI_Initialized, (int* flag))
WEFT_MPI_DECLARE(int, MPI_Finalize, (void))
WEFT_MPI_DECLARE(int, MPI_Finalized, (int* flag))
WEFT_MPI_DECLARE(int, MPI_Abort, (MPI_Comm comm, int errorcode))
WEFT_MPI_DECLARE(int, MPI_Query_thread, (int* provided))
WEFT_MPI_DECLARE(int, MPI_Is_thread_main, (int* flag))
WEFT_MPI_DECLARE(double, MPI_Wtime, (void))
WEFT_MPI_DECLARE(double, MPI_Wtick, (void))
WEFT_MPI_DECLARE(int, MPI_Get_processor_name, (char* name, int* resultlen))
WEFT_MPI_DECLARE(int, MPI_Get_version, (int* version, int* subversion))
WEFT_MPI_DECLARE(int, MPI_Get_hw_resource_info, (MPI_Info* hw_info))
WEFT_MPI_DECLARE(int, MPI_Get_library_version, (char* version, int* resultlen))
WEFT_MPI_DECLARE(int, MPI_Abi_get_version, (int* abi_major, int* abi_minor))
WEFT_MPI_DECLARE(int, MPI_Abi_get_info, (MPI_Info* info))
WEFT_MPI_DECLARE(int, MPI_Abi_get_fortran_info, (MPI_Info* info))
WEFT_MPI_DECLARE(int, MPI_Abi_set_fortran_info, (MPI_Info info))
WEFT_MPI_DECLARE(int, MPI_Abi_get_fortran_booleans,
                 (int logical_size, void* logical_true, void* logical_false, int* is_set))
WEFT_MPI_DECLARE(int, MPI_Abi_set_fortran_booleans,
                 (int logical_size, void* logical_true, void* logical_false))
WEFT_MPI_DECLARE(int, MPI_Pcontrol, (const int level, ...))
WEFT_MPI_DECLARE(int, MPI_Alloc_mem, (MPI_Aint size, MPI_Info info, void* baseptr))
WEFT_MPI_DECLARE(int, MPI_Free_mem, (void* base))

/* --- Sessions (sessions.cpp), and their sets of processes (process_sets.cpp) ----------------------- */
WEFT_MPI_DECLARE(int, MPI_Session_init,
                 (MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session))
WEFT_MPI_DECLARE(int, MPI_Session_finalize, (MPI_Session* session))
WEFT_MPI_DECLARE(int, MPI_Session_get_info, (MPI_Session session, MPI_Info* info_used))
WEFT_MPI_DECLARE(int, MPI_Session_get_num_psets,
                 (MPI_Session session, MPI_Info info, int* npset_names))
WEFT_MPI_DECLARE(int, MPI_Session_get_nth_pset,
                 (MPI_Session session, MPI_Info info, int n, int* pset_len, char* pset_name))
WEFT_MPI_DECLARE(int, MPI_Session_get_pset_info,
                 (MPI_Session session, const char* pset_name, MPI_Info* info))
WEFT_MPI_DECLARE(int, MPI_Group_from_session_pset,
                 (MPI_Session session, const char* pset_name, MPI_Group* newgroup))

/* --- Error handlers, classes, codes and strings (error_handler.cpp) ------------------------------- */
WEFT_MPI_DECLARE(int, MPI_Comm_create_errhandler,
                 (MPI_Comm_errhandler_function* comm_errhandler_fn, MPI_Errhandler* errhandler))
WEFT_MPI_DECLARE(int, MPI_Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler errhandler))
WEFT_MPI_DECLARE(int, MPI_Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler* errhandler))
WEFT_MPI_DECLARE(int, MPI_Comm_call_errhandler, (MPI_Comm comm, int errorcode))
WEFT_MPI_DECLARE(int, MPI_Session_create_errhandler,
                 (MPI_Session_errhandler_function* session_errhandler_fn,
                  MPI_Errhandler* errhandler))
WEFT_MPI_DECLARE(int, MPI_Session_set_errhandler, (MPI_Session session, MPI_Errhandler errhandler))
WEFT_MPI_DECLARE(int, MPI_Session_get_errhandler, (MPI_Session session, MPI_Errhandler* errhandler))
WEFT_MPI_DECLARE(int, MPI_Session_call_errhandler, (MPI_Session session, int errorcode))
WEFT_MPI_DECLARE(int, MPI_Errhandler_free, (MPI_Errhandler* errhandler))
WEFT_MPI_DECLARE(int, MPI_Error_class, (int errorcode, int* errorclass))
WEFT_MPI_DECLARE(int, MPI_Error_string, (int errorcode, char* string, int* resultlen))
WEFT_MPI_DECLARE(int, MPI_Add_error_class, (int* errorclass))
WEFT_MPI_DECLARE(int, MPI_Add_error_code, (int errorclass, int* errorcode))
WEFT_MPI_DECLARE(int, MPI_Add_error_string, (int errorcode, const char* string))
WEFT_MPI_DECLARE(int, MPI_Remove_error_class, (int errorclass))
WEFT_MPI_DECLARE(int, MPI_Remove_error_code, (int errorcode))
WEFT_MPI_DECLARE(int, MPI_Remove_error_string, (int errorcode))

/* --- Point-to-point (point_to_point.cpp, nonblocking.cpp, buffered.cpp, probing.cpp) -------------- */
WEFT_MPI_DECLARE(int, MPI_Send,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Send_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Rsend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Rsend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ssend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ssend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Bsend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Bsend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Recv,
                 (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Recv_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                  MPI_Comm comm, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Sendrecv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                  void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                  MPI_Comm comm, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Sendrecv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                  int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                  int source, int recvtag, MPI_Comm comm, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Sendrecv_replace,
                 (void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                  int recvtag, MPI_Comm comm, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Sendrecv_replace_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                  int source, int recvtag, MPI_Comm comm, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Isendrecv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                  void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Isendrecv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                  int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                  int source, int recvtag, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Isendrecv_replace,
                 (void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                  int recvtag, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Isendrecv_replace_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                  int source, int recvtag, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Isend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Isend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Irsend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Irsend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Issend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Issend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Ibsend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Ibsend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Send_init,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Send_init_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Rsend_init,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Rsend_init_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Ssend_init,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Ssend_init_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Bsend_init,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Bsend_init_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Irecv,
                 (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Irecv_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Recv_init,
                 (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Recv_init_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Psend_init,
                 (const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Precv_init,
                 (void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Pready, (int partition, MPI_Request request))
WEFT_MPI_DECLARE(int, MPI_Pready_range,
                 (int partition_low, int partition_high, MPI_Request request))
WEFT_MPI_DECLARE(int, MPI_Pready_list,
                 (int length, const int array_of_partitions[], MPI_Request request))
WEFT_MPI_DECLARE(int, MPI_Parrived, (MPI_Request request, int partition, int* flag))
WEFT_MPI_DECLARE(int, MPI_Buffer_attach, (void* buffer, int size))
WEFT_MPI_DECLARE(int, MPI_Buffer_attach_c, (void* buffer, MPI_Count size))
WEFT_MPI_DECLARE(int, MPI_Buffer_detach, (void* buffer_addr, int* size))
WEFT_MPI_DECLARE(int, MPI_Buffer_detach_c, (void* buffer_addr, MPI_Count* size))
WEFT_MPI_DECLARE(int, MPI_Buffer_flush, (void))
WEFT_MPI_DECLARE(int, MPI_Buffer_iflush, (MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Comm_attach_buffer, (MPI_Comm comm, void* buffer, int size))
WEFT_MPI_DECLARE(int, MPI_Comm_attach_buffer_c, (MPI_Comm comm, void* buffer, MPI_Count size))
WEFT_MPI_DECLARE(int, MPI_Comm_detach_buffer, (MPI_Comm comm, void* buffer_addr, int* size))
WEFT_MPI_DECLARE(int, MPI_Comm_detach_buffer_c,
                 (MPI_Comm comm, void* buffer_addr, MPI_Count* size))
WEFT_MPI_DECLARE(int, MPI_Comm_flush_buffer, (MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Comm_iflush_buffer, (MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Session_attach_buffer, (MPI_Session session, void* buffer, int size))
WEFT_MPI_DECLARE(int, MPI_Session_attach_buffer_c,
                 (MPI_Session session, void* buffer, MPI_Count size))
WEFT_MPI_DECLARE(int, MPI_Session_detach_buffer,
                 (MPI_Session session, void* buffer_addr, int* size))
WEFT_MPI_DECLARE(int, MPI_Session_detach_buffer_c,
                 (MPI_Session session, void* buffer_addr, MPI_Count* size))
WEFT_MPI_DECLARE(int, MPI_Session_flush_buffer, (MPI_Session session))
WEFT_MPI_DECLARE(int, MPI_Session_iflush_buffer, (MPI_Session session, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Probe, (int source, int tag, MPI_Comm comm, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Iprobe,
                 (int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Mprobe,
                 (int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Improbe,
                 (int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Mrecv,
                 (void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Mrecv_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Imrecv,
                 (void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Imrecv_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                  MPI_Request* request))

/* --- Requests (completion.cpp) -------------------------------------------------------------------- */
WEFT_MPI_DECLARE(int, MPI_Wait, (MPI_Request* request, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Test, (MPI_Request* request, int* flag, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Waitall,
                 (int count, MPI_Request* array_of_requests, MPI_Status* array_of_statuses))
WEFT_MPI_DECLARE(int, MPI_Testall,
                 (int count, MPI_Request* array_of_requests, int* flag,
                  MPI_Status* array_of_statuses))
WEFT_MPI_DECLARE(int, MPI_Waitany,
                 (int count, MPI_Request* array_of_requests, int* indx, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Testany,
                 (int count, MPI_Request* array_of_requests, int* indx, int* flag,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Waitsome,
                 (int incount, MPI_Request* array_of_requests, int* outcount,
                  int* array_of_indices, MPI_Status* array_of_statuses))
WEFT_MPI_DECLARE(int, MPI_Testsome,
                 (int incount, MPI_Request* array_of_requests, int* outcount,
                  int* array_of_indices, MPI_Status* array_of_statuses))
WEFT_MPI_DECLARE(int, MPI_Request_get_status, (MPI_Request request, int* flag, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Request_get_status_all,
                 (int count, const MPI_Request* array_of_requests, int* flag,
                  MPI_Status* array_of_statuses))
WEFT_MPI_DECLARE(int, MPI_Request_get_status_any,
                 (int count, const MPI_Request* array_of_requests, int* indx, int* flag,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Request_get_status_some,
                 (int incount, const MPI_Request* array_of_requests, int* outcount,
                  int* array_of_indices, MPI_Status* array_of_statuses))
WEFT_MPI_DECLARE(int, MPI_Request_free, (MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Cancel, (MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Start, (MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Startall, (int count, MPI_Request* array_of_requests))
WEFT_MPI_DECLARE(int, MPI_Grequest_start,
                 (MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                  MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Grequest_complete, (MPI_Request request))

/* --- Status (status.cpp) -------------------------------------------------------------------------- */
WEFT_MPI_DECLARE(int, MPI_Get_count, (const MPI_Status* status, MPI_Datatype datatype, int* count))
WEFT_MPI_DECLARE(int, MPI_Get_count_c,
                 (const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count))
WEFT_MPI_DECLARE(int, MPI_Get_elements,
                 (const MPI_Status* status, MPI_Datatype datatype, int* count))
WEFT_MPI_DECLARE(int, MPI_Get_elements_c,
                 (const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count))
WEFT_MPI_DECLARE(int, MPI_Get_elements_x,
                 (const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count))
WEFT_MPI_DECLARE(int, MPI_Status_set_elements,
                 (MPI_Status* status, MPI_Datatype datatype, int count))
WEFT_MPI_DECLARE(int, MPI_Status_set_elements_c,
                 (MPI_Status* status, MPI_Datatype datatype, MPI_Count count))
WEFT_MPI_DECLARE(int, MPI_Status_set_elements_x,
                 (MPI_Status* status, MPI_Datatype datatype, MPI_Count count))
WEFT_MPI_DECLARE(int, MPI_Test_cancelled, (const MPI_Status* status, int* flag))
WEFT_MPI_DECLARE(int, MPI_Status_set_cancelled, (MPI_Status* status, int flag))
WEFT_MPI_DECLARE(int, MPI_Status_get_source, (const MPI_Status* status, int* source))
WEFT_MPI_DECLARE(int, MPI_Status_set_source, (MPI_Status* status, int source))
WEFT_MPI_DECLARE(int, MPI_Status_get_tag, (const MPI_Status* status, int* tag))
WEFT_MPI_DECLARE(int, MPI_Status_set_tag, (MPI_Status* status, int tag))
WEFT_MPI_DECLARE(int, MPI_Status_get_error, (const MPI_Status* status, int* error))
WEFT_MPI_DECLARE(int, MPI_Status_set_error, (MPI_Status* status, int error))

/* --- Datatypes (constructors.cpp, array_types.cpp, datatype_queries.cpp) -------------------------- */
WEFT_MPI_DECLARE(int, MPI_Type_contiguous, (int count, MPI_Datatype oldtype, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_contiguous_c,
                 (MPI_Count count, MPI_Datatype oldtype, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_vector,
                 (int count, int blocklength, int stride, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_vector_c,
                 (MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_hvector,
                 (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_hvector_c,
                 (MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_indexed,
                 (int count, const int* array_of_blocklengths, const int* array_of_displacements,
                  MPI_Datatype oldtype, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_indexed_c,
                 (MPI_Count count, const MPI_Count* array_of_blocklengths,
                  const MPI_Count* array_of_displacements, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_hindexed,
                 (int count, const int* array_of_blocklengths,
                  const MPI_Aint* array_of_displacements, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_hindexed_c,
                 (MPI_Count count, const MPI_Count* array_of_blocklengths,
                  const MPI_Count* array_of_displacements, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_indexed_block,
                 (int count, int blocklength, const int* array_of_displacements,
                  MPI_Datatype oldtype, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_indexed_block_c,
                 (MPI_Count count, MPI_Count blocklength, const MPI_Count* array_of_displacements,
                  MPI_Datatype oldtype, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_hindexed_block,
                 (int count, int blocklength, const MPI_Aint* array_of_displacements,
                  MPI_Datatype oldtype, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_hindexed_block_c,
                 (MPI_Count count, MPI_Count blocklength, const MPI_Count* array_of_displacements,
                  MPI_Datatype oldtype, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_struct,
                 (int count, const int* array_of_blocklengths,
                  const MPI_Aint* array_of_displacements, const MPI_Datatype* array_of_types,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_struct_c,
                 (MPI_Count count, const MPI_Count* array_of_blocklengths,
                  const MPI_Count* array_of_displacements, const MPI_Datatype* array_of_types,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_resized,
                 (MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_resized_c,
                 (MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_f90_integer, (int range, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_f90_real, (int precision, int range, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_f90_complex,
                 (int precision, int range, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_dup, (MPI_Datatype oldtype, MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_commit, (MPI_Datatype* datatype))
WEFT_MPI_DECLARE(int, MPI_Type_free, (MPI_Datatype* datatype))
WEFT_MPI_DECLARE(int, MPI_Type_create_subarray,
                 (int ndims, const int* array_of_sizes, const int* array_of_subsizes,
                  const int* array_of_starts, int order, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_subarray_c,
                 (int ndims, const MPI_Count* array_of_sizes, const MPI_Count* array_of_subsizes,
                  const MPI_Count* array_of_starts, int order, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_darray,
                 (int size, int rank, int ndims, const int* array_of_gsizes,
                  const int* array_of_distribs, const int* array_of_dargs,
                  const int* array_of_psizes, int order, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_create_darray_c,
                 (int size, int rank, int ndims, const MPI_Count* array_of_gsizes,
                  const int* array_of_distribs, const int* array_of_dargs,
                  const int* array_of_psizes, int order, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_get_envelope,
                 (MPI_Datatype datatype, int* num_integers, int* num_addresses, int* num_datatypes,
                  int* combiner))
WEFT_MPI_DECLARE(int, MPI_Type_get_envelope_c,
                 (MPI_Datatype datatype, MPI_Count* num_integers, MPI_Count* num_addresses,
                  MPI_Count* num_large_counts, MPI_Count* num_datatypes, int* combiner))
WEFT_MPI_DECLARE(int, MPI_Type_get_contents,
                 (MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                  int* array_of_integers, MPI_Aint* array_of_addresses,
                  MPI_Datatype* array_of_datatypes))
WEFT_MPI_DECLARE(int, MPI_Type_get_contents_c,
                 (MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                  MPI_Count max_large_counts, MPI_Count max_datatypes, int* array_of_integers,
                  MPI_Aint* array_of_addresses, MPI_Count* array_of_large_counts,
                  MPI_Datatype* array_of_datatypes))
WEFT_MPI_DECLARE(int, MPI_Type_set_name, (MPI_Datatype datatype, const char* type_name))
WEFT_MPI_DECLARE(int, MPI_Type_get_name, (MPI_Datatype datatype, char* type_name, int* resultlen))
WEFT_MPI_DECLARE(int, MPI_Type_match_size, (int typeclass, int size, MPI_Datatype* datatype))
WEFT_MPI_DECLARE(int, MPI_Type_get_value_index,
                 (MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype* pair_type))
WEFT_MPI_DECLARE(int, MPI_Get_address, (const void* location, MPI_Aint* address))
WEFT_MPI_DECLARE(MPI_Aint, MPI_Aint_add, (MPI_Aint base, MPI_Aint disp))
WEFT_MPI_DECLARE(MPI_Aint, MPI_Aint_diff, (MPI_Aint addr1, MPI_Aint addr2))
WEFT_MPI_DECLARE(int, MPI_Type_size, (MPI_Datatype datatype, int* size))
WEFT_MPI_DECLARE(int, MPI_Type_size_c, (MPI_Datatype datatype, MPI_Count* size))
WEFT_MPI_DECLARE(int, MPI_Type_size_x, (MPI_Datatype datatype, MPI_Count* size))
WEFT_MPI_DECLARE(int, MPI_Type_get_extent, (MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent))
WEFT_MPI_DECLARE(int, MPI_Type_get_extent_c,
                 (MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent))
WEFT_MPI_DECLARE(int, MPI_Type_get_extent_x,
                 (MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent))
WEFT_MPI_DECLARE(int, MPI_Type_get_true_extent,
                 (MPI_Datatype datatype, MPI_Aint* true_lb, MPI_Aint* true_extent))
WEFT_MPI_DECLARE(int, MPI_Type_get_true_extent_c,
                 (MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent))
WEFT_MPI_DECLARE(int, MPI_Type_get_true_extent_x,
                 (MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent))

/* --- Pack and unpack (pack.cpp, external.cpp) ----------------------------------------------------- */
WEFT_MPI_DECLARE(int, MPI_Pack,
                 (const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf, int outsize,
                  int* position, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Pack_c,
                 (const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
                  MPI_Count outsize, MPI_Count* position, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Unpack,
                 (const void* inbuf, int insize, int* position, void* outbuf, int outcount,
                  MPI_Datatype datatype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Unpack_c,
                 (const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
                  MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Pack_size, (int incount, MPI_Datatype datatype, MPI_Comm comm, int* size))
WEFT_MPI_DECLARE(int, MPI_Pack_size_c,
                 (MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count* size))
WEFT_MPI_DECLARE(int, MPI_Pack_external,
                 (const char* datarep, const void* inbuf, int incount, MPI_Datatype datatype,
                  void* outbuf, MPI_Aint outsize, MPI_Aint* position))
WEFT_MPI_DECLARE(int, MPI_Pack_external_c,
                 (const char* datarep, const void* inbuf, MPI_Count incount,
                  MPI_Datatype datatype, void* outbuf, MPI_Count outsize, MPI_Count* position))
WEFT_MPI_DECLARE(int, MPI_Unpack_external,
                 (const char* datarep, const void* inbuf, MPI_Aint insize, MPI_Aint* position,
                  void* outbuf, int outcount, MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_Unpack_external_c,
                 (const char* datarep, const void* inbuf, MPI_Count insize, MPI_Count* position,
                  void* outbuf, MPI_Count outcount, MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_Pack_external_size,
                 (const char* datarep, int incount, MPI_Datatype datatype, MPI_Aint* size))
WEFT_MPI_DECLARE(int, MPI_Pack_external_size_c,
                 (const char* datarep, MPI_Count incount, MPI_Datatype datatype, MPI_Count* size))

/* --- Collectives (collectives.cpp) ---------------------------------------------------------------- */
WEFT_MPI_DECLARE(int, MPI_Barrier, (MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ibarrier, (MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Barrier_init, (MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Bcast,
                 (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ibcast,
                 (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Bcast_init,
                 (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Bcast_c,
                 (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ibcast_c,
                 (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Bcast_init_c,
                 (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Gather,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Igather,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Gather_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Gather_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Igather_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Gather_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Scatter,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iscatter,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Scatter_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Scatter_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iscatter_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Scatter_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Gatherv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Igatherv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Gatherv_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Gatherv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  int root, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Igatherv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Gatherv_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Scatterv,
                 (const void* sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iscatterv,
                 (const void* sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Scatterv_init,
                 (const void* sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Scatterv_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                  MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                  MPI_Datatype recvtype, int root, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iscatterv_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                  MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                  MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Scatterv_init_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                  MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                  MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Allgather,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iallgather,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Allgather_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Allgather_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iallgather_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Allgather_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Alltoall,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ialltoall,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Alltoall_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Alltoall_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ialltoall_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Alltoall_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Allgatherv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iallgatherv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Allgatherv_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Allgatherv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iallgatherv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Allgatherv_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Alltoallv,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                  const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ialltoallv,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                  const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Alltoallv_init,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                  const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Alltoallv_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ialltoallv_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Alltoallv_init_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Alltoallw,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ialltoallw,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Alltoallw_init,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Alltoallw_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ialltoallw_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Alltoallw_init_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Reduce,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  int root, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ireduce,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  int root, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Reduce_init,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Reduce_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, int root, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ireduce_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, int root, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Reduce_init_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Allreduce,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iallreduce,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Allreduce_init,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Allreduce_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iallreduce_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Allreduce_init_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Scan,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iscan,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Scan_init,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Scan_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iscan_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Scan_init_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Exscan,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iexscan,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Exscan_init,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Exscan_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Iexscan_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Exscan_init_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Reduce_scatter_block,
                 (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ireduce_scatter_block,
                 (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Reduce_scatter_block_init,
                 (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Reduce_scatter_block_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ireduce_scatter_block_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Reduce_scatter_block_init_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Reduce_scatter,
                 (const void* sendbuf, void* recvbuf, const int recvcounts[],
                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ireduce_scatter,
                 (const void* sendbuf, void* recvbuf, const int recvcounts[],
                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Reduce_scatter_init,
                 (const void* sendbuf, void* recvbuf, const int recvcounts[],
                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Reduce_scatter_c,
                 (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ireduce_scatter_c,
                 (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Reduce_scatter_init_c,
                 (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))

/* --- Operations (operation.cpp) ------------------------------------------------------------------- */
WEFT_MPI_DECLARE(int, MPI_Op_create, (MPI_User_function* user_fn, int commute, MPI_Op* op))
WEFT_MPI_DECLARE(int, MPI_Op_create_c, (MPI_User_function_c* user_fn, int commute, MPI_Op* op))
WEFT_MPI_DECLARE(int, MPI_Op_free, (MPI_Op* op))
WEFT_MPI_DECLARE(int, MPI_Op_commutative, (MPI_Op op, int* commute))
WEFT_MPI_DECLARE(int, MPI_Reduce_local,
                 (const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op))
WEFT_MPI_DECLARE(int, MPI_Reduce_local_c,
                 (const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op))

/* --- Groups (group.cpp) --------------------------------------------------------------------------- */
WEFT_MPI_DECLARE(int, MPI_Group_size, (MPI_Group group, int* size))
WEFT_MPI_DECLARE(int, MPI_Group_rank, (MPI_Group group, int* rank))
WEFT_MPI_DECLARE(int, MPI_Group_translate_ranks,
                 (MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[]))
WEFT_MPI_DECLARE(int, MPI_Group_compare, (MPI_Group group1, MPI_Group group2, int* result))
WEFT_MPI_DECLARE(int, MPI_Comm_group, (MPI_Comm comm, MPI_Group* group))
WEFT_MPI_DECLARE(int, MPI_Group_union, (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup))
WEFT_MPI_DECLARE(int, MPI_Group_intersection,
                 (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup))
WEFT_MPI_DECLARE(int, MPI_Group_difference,
                 (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup))
WEFT_MPI_DECLARE(int, MPI_Group_incl,
                 (MPI_Group group, int n, const int ranks[], MPI_Group* newgroup))
WEFT_MPI_DECLARE(int, MPI_Group_excl,
                 (MPI_Group group, int n, const int ranks[], MPI_Group* newgroup))
WEFT_MPI_DECLARE(int, MPI_Group_range_incl,
                 (MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup))
WEFT_MPI_DECLARE(int, MPI_Group_range_excl,
                 (MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup))
WEFT_MPI_DECLARE(int, MPI_Group_free, (MPI_Group* group))

/* --- Communicators (communicator.cpp) ------------------------------------------------------------- */
WEFT_MPI_DECLARE(int, MPI_Comm_rank, (MPI_Comm comm, int* rank))
WEFT_MPI_DECLARE(int, MPI_Comm_size, (MPI_Comm comm, int* size))
WEFT_MPI_DECLARE(int, MPI_Comm_compare, (MPI_Comm comm1, MPI_Comm comm2, int* result))
WEFT_MPI_DECLARE(int, MPI_Comm_dup, (MPI_Comm comm, MPI_Comm* newcomm))
WEFT_MPI_DECLARE(int, MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm))
WEFT_MPI_DECLARE(int, MPI_Comm_idup, (MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Comm_idup_with_info,
                 (MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* newcomm))
WEFT_MPI_DECLARE(int, MPI_Comm_split_type,
                 (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm))
WEFT_MPI_DECLARE(int, MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm))
WEFT_MPI_DECLARE(int, MPI_Comm_create_group,
                 (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm))
WEFT_MPI_DECLARE(int, MPI_Comm_create_from_group,
                 (MPI_Group group, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler,
                  MPI_Comm* newcomm))
WEFT_MPI_DECLARE(int, MPI_Comm_free, (MPI_Comm* comm))
WEFT_MPI_DECLARE(int, MPI_Comm_get_parent, (MPI_Comm* parent))
WEFT_MPI_DECLARE(int, MPI_Comm_disconnect, (MPI_Comm* comm))

/* --- Processes that start later ----------------------------------------------------------------- */
WEFT_MPI_DECLARE(int, MPI_Comm_spawn,
                 (const char* command, char* argv[], int maxprocs, MPI_Info info, int root,
                  MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]))
WEFT_MPI_DECLARE(int, MPI_Comm_spawn_multiple,
                 (int count, char* array_of_commands[], char** array_of_argv[],
                  const int array_of_maxprocs[], const MPI_Info array_of_info[], int root,
                  MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]))
WEFT_MPI_DECLARE(int, MPI_Open_port, (MPI_Info info, char* port_name))
WEFT_MPI_DECLARE(int, MPI_Close_port, (const char* port_name))
WEFT_MPI_DECLARE(int, MPI_Comm_accept,
                 (const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm))
WEFT_MPI_DECLARE(int, MPI_Comm_connect,
                 (const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm))
WEFT_MPI_DECLARE(int, MPI_Comm_join, (int fd, MPI_Comm* intercomm))
WEFT_MPI_DECLARE(int, MPI_Publish_name,
                 (const char* service_name, MPI_Info info, const char* port_name))
WEFT_MPI_DECLARE(int, MPI_Unpublish_name,
                 (const char* service_name, MPI_Info info, const char* port_name))
WEFT_MPI_DECLARE(int, MPI_Lookup_name, (const char* service_name, MPI_Info info, char* port_name))
WEFT_MPI_DECLARE(int, MPI_Comm_set_name, (MPI_Comm comm, const char* comm_name))
WEFT_MPI_DECLARE(int, MPI_Comm_get_name, (MPI_Comm comm, char* comm_name, int* resultlen))
WEFT_MPI_DECLARE(int, MPI_Comm_set_info, (MPI_Comm comm, MPI_Info info))
WEFT_MPI_DECLARE(int, MPI_Comm_get_info, (MPI_Comm comm, MPI_Info* info_used))

/* --- Inter-communicators (intercommunicator.cpp) -------------------------------------------------- */
WEFT_MPI_DECLARE(int, MPI_Comm_test_inter, (MPI_Comm comm, int* flag))
WEFT_MPI_DECLARE(int, MPI_Comm_remote_size, (MPI_Comm comm, int* size))
WEFT_MPI_DECLARE(int, MPI_Comm_remote_group, (MPI_Comm comm, MPI_Group* group))
WEFT_MPI_DECLARE(int, MPI_Intercomm_create,
                 (MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader,
                  int tag, MPI_Comm* newintercomm))
WEFT_MPI_DECLARE(int, MPI_Intercomm_create_from_groups,
                 (MPI_Group local_group, int local_leader, MPI_Group remote_group,
                  int remote_leader, const char* stringtag, MPI_Info info,
                  MPI_Errhandler errhandler, MPI_Comm* newintercomm))
WEFT_MPI_DECLARE(int, MPI_Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm* newintracomm))

/* --- Attributes (attributes.cpp) ------------------------------------------------------------------ */
WEFT_MPI_DECLARE(int, MPI_Comm_create_keyval,
                 (MPI_Comm_copy_attr_function* comm_copy_attr_fn,
                  MPI_Comm_delete_attr_function* comm_delete_attr_fn, int* comm_keyval,
                  void* extra_state))
WEFT_MPI_DECLARE(int, MPI_Comm_free_keyval, (int* comm_keyval))
WEFT_MPI_DECLARE(int, MPI_Comm_set_attr, (MPI_Comm comm, int comm_keyval, void* attribute_val))
WEFT_MPI_DECLARE(int, MPI_Comm_get_attr,
                 (MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag))
WEFT_MPI_DECLARE(int, MPI_Comm_delete_attr, (MPI_Comm comm, int comm_keyval))
WEFT_MPI_DECLARE(int, MPI_Keyval_create,
                 (MPI_Copy_function* copy_fn, MPI_Delete_function* delete_fn, int* keyval,
                  void* extra_state))
WEFT_MPI_DECLARE(int, MPI_Keyval_free, (int* keyval))
WEFT_MPI_DECLARE(int, MPI_Attr_put, (MPI_Comm comm, int keyval, void* attribute_val))
WEFT_MPI_DECLARE(int, MPI_Attr_get, (MPI_Comm comm, int keyval, void* attribute_val, int* flag))
WEFT_MPI_DECLARE(int, MPI_Attr_delete, (MPI_Comm comm, int keyval))
WEFT_MPI_DECLARE(int, MPI_Type_create_keyval,
                 (MPI_Type_copy_attr_function* type_copy_attr_fn,
                  MPI_Type_delete_attr_function* type_delete_attr_fn, int* type_keyval,
                  void* extra_state))
WEFT_MPI_DECLARE(int, MPI_Type_free_keyval, (int* type_keyval))
WEFT_MPI_DECLARE(int, MPI_Type_set_attr,
                 (MPI_Datatype datatype, int type_keyval, void* attribute_val))
WEFT_MPI_DECLARE(int, MPI_Type_get_attr,
                 (MPI_Datatype datatype, int type_keyval, void* attribute_val, int* flag))
WEFT_MPI_DECLARE(int, MPI_Type_delete_attr, (MPI_Datatype datatype, int type_keyval))

/* --- Info (info.cpp) ------------------------------------------------------------------------------ */
WEFT_MPI_DECLARE(int, MPI_Info_create, (MPI_Info* info))
WEFT_MPI_DECLARE(int, MPI_Info_create_env, (int, char*[], MPI_Info* info))
WEFT_MPI_DECLARE(int, MPI_Info_dup, (MPI_Info info, MPI_Info* newinfo))
WEFT_MPI_DECLARE(int, MPI_Info_free, (MPI_Info* info))
WEFT_MPI_DECLARE(int, MPI_Info_set, (MPI_Info info, const char* key, const char* value))
WEFT_MPI_DECLARE(int, MPI_Info_delete, (MPI_Info info, const char* key))
WEFT_MPI_DECLARE(int, MPI_Info_get,
                 (MPI_Info info, const char* key, int valuelen, char* value, int* flag))
WEFT_MPI_DECLARE(int, MPI_Info_get_valuelen,
                 (MPI_Info info, const char* key, int* valuelen, int* flag))
WEFT_MPI_DECLARE(int, MPI_Info_get_string,
                 (MPI_Info info, const char* key, int* buflen, char* value, int* flag))
WEFT_MPI_DECLARE(int, MPI_Info_get_nkeys, (MPI_Info info, int* nkeys))
WEFT_MPI_DECLARE(int, MPI_Info_get_nthkey, (MPI_Info info, int n, char* key))

/* --- Topologies (topology.cpp) and neighbourhood collectives (neighborhood.cpp) --------------------- */
WEFT_MPI_DECLARE(int, MPI_Topo_test, (MPI_Comm comm, int* status))
WEFT_MPI_DECLARE(int, MPI_Dims_create, (int nnodes, int ndims, int dims[]))
WEFT_MPI_DECLARE(int, MPI_Cart_create,
                 (MPI_Comm comm_old, int ndims, const int dims[], const int periods[],
                  int reorder, MPI_Comm* comm_cart))
WEFT_MPI_DECLARE(int, MPI_Cartdim_get, (MPI_Comm comm, int* ndims))
WEFT_MPI_DECLARE(int, MPI_Cart_get,
                 (MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]))
WEFT_MPI_DECLARE(int, MPI_Cart_rank, (MPI_Comm comm, const int coords[], int* rank))
WEFT_MPI_DECLARE(int, MPI_Cart_coords, (MPI_Comm comm, int rank, int maxdims, int coords[]))
WEFT_MPI_DECLARE(int, MPI_Cart_shift,
                 (MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest))
WEFT_MPI_DECLARE(int, MPI_Cart_sub, (MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm))
WEFT_MPI_DECLARE(int, MPI_Cart_map,
                 (MPI_Comm comm, int ndims, const int dims[], const int periods[], int* newrank))
WEFT_MPI_DECLARE(int, MPI_Graph_create,
                 (MPI_Comm comm_old, int nnodes, const int index[], const int edges[],
                  int reorder, MPI_Comm* comm_graph))
WEFT_MPI_DECLARE(int, MPI_Graphdims_get, (MPI_Comm comm, int* nnodes, int* nedges))
WEFT_MPI_DECLARE(int, MPI_Graph_get,
                 (MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[]))
WEFT_MPI_DECLARE(int, MPI_Graph_neighbors_count, (MPI_Comm comm, int rank, int* nneighbors))
WEFT_MPI_DECLARE(int, MPI_Graph_neighbors,
                 (MPI_Comm comm, int rank, int maxneighbors, int neighbors[]))
WEFT_MPI_DECLARE(int, MPI_Graph_map,
                 (MPI_Comm comm, int nnodes, const int index[], const int edges[], int* newrank))
WEFT_MPI_DECLARE(int, MPI_Dist_graph_create_adjacent,
                 (MPI_Comm comm_old, int indegree, const int sources[], const int* sourceweights,
                  int outdegree, const int destinations[], const int* destweights, MPI_Info info,
                  int reorder, MPI_Comm* comm_dist_graph))
WEFT_MPI_DECLARE(int, MPI_Dist_graph_create,
                 (MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                  const int destinations[], const int* weights, MPI_Info info, int reorder,
                  MPI_Comm* comm_dist_graph))
WEFT_MPI_DECLARE(int, MPI_Dist_graph_neighbors_count,
                 (MPI_Comm comm, int* indegree, int* outdegree, int* weighted))
WEFT_MPI_DECLARE(int, MPI_Dist_graph_neighbors,
                 (MPI_Comm comm, int maxindegree, int sources[], int* sourceweights,
                  int maxoutdegree, int destinations[], int* destweights))
WEFT_MPI_DECLARE(int, MPI_Neighbor_allgather,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ineighbor_allgather,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_allgather_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_allgather_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ineighbor_allgather_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_allgather_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_alltoall,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ineighbor_alltoall,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_alltoall_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_alltoall_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ineighbor_alltoall_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_alltoall_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_allgatherv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ineighbor_allgatherv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_allgatherv_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_allgatherv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ineighbor_allgatherv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_allgatherv_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_alltoallv,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                  const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ineighbor_alltoallv,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                  const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_alltoallv_init,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                  const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_alltoallv_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ineighbor_alltoallv_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_alltoallv_init_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_alltoallw,
                 (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ineighbor_alltoallw,
                 (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_alltoallw_init,
                 (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_alltoallw_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm))
WEFT_MPI_DECLARE(int, MPI_Ineighbor_alltoallw_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Neighbor_alltoallw_init_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))

/* --- Handles of Fortran (fortran/) ------------------------------------------------------------------ */
WEFT_MPI_DECLARE(MPI_Fint, MPI_Comm_c2f, (MPI_Comm comm))
WEFT_MPI_DECLARE(MPI_Comm, MPI_Comm_f2c, (MPI_Fint comm))
WEFT_MPI_DECLARE(MPI_Fint, MPI_Type_c2f, (MPI_Datatype datatype))
WEFT_MPI_DECLARE(MPI_Datatype, MPI_Type_f2c, (MPI_Fint datatype))
WEFT_MPI_DECLARE(MPI_Fint, MPI_Group_c2f, (MPI_Group group))
WEFT_MPI_DECLARE(MPI_Group, MPI_Group_f2c, (MPI_Fint group))
WEFT_MPI_DECLARE(MPI_Fint, MPI_Request_c2f, (MPI_Request request))
WEFT_MPI_DECLARE(MPI_Request, MPI_Request_f2c, (MPI_Fint request))
WEFT_MPI_DECLARE(MPI_Fint, MPI_Op_c2f, (MPI_Op op))
WEFT_MPI_DECLARE(MPI_Op, MPI_Op_f2c, (MPI_Fint op))
WEFT_MPI_DECLARE(MPI_Fint, MPI_Info_c2f, (MPI_Info info))
WEFT_MPI_DECLARE(MPI_Info, MPI_Info_f2c, (MPI_Fint info))
WEFT_MPI_DECLARE(MPI_Fint, MPI_Errhandler_c2f, (MPI_Errhandler errhandler))
WEFT_MPI_DECLARE(MPI_Errhandler, MPI_Errhandler_f2c, (MPI_Fint errhandler))
WEFT_MPI_DECLARE(MPI_Fint, MPI_Message_c2f, (MPI_Message message))
WEFT_MPI_DECLARE(MPI_Message, MPI_Message_f2c, (MPI_Fint message))
WEFT_MPI_DECLARE(MPI_Fint, MPI_File_c2f, (MPI_File file))
WEFT_MPI_DECLARE(MPI_File, MPI_File_f2c, (MPI_Fint file))
WEFT_MPI_DECLARE(MPI_Fint, MPI_Session_c2f, (MPI_Session session))
WEFT_MPI_DECLARE(MPI_Session, MPI_Session_f2c, (MPI_Fint session))
WEFT_MPI_DECLARE(MPI_Fint, MPI_Win_c2f, (MPI_Win win))
WEFT_MPI_DECLARE(MPI_Win, MPI_Win_f2c, (MPI_Fint win))
WEFT_MPI_DECLARE(int, MPI_Status_c2f, (const MPI_Status* c_status, MPI_Fint* f_status))
WEFT_MPI_DECLARE(int, MPI_Status_f2c, (const MPI_Fint* f_status, MPI_Status* c_status))
/* A status is the same bytes as TYPE(MPI_Status) of Fortran 2008. */
typedef MPI_Status MPI_F08_status;
WEFT_MPI_DECLARE(int, MPI_Status_c2f08, (const MPI_Status* c_status, MPI_F08_status* f08_status))
WEFT_MPI_DECLARE(int, MPI_Status_f082c, (const MPI_F08_status* f08_status, MPI_Status* c_status))
WEFT_MPI_DECLARE(int, MPI_Status_f2f08, (const MPI_Fint* f_status, MPI_F08_status* f08_status))
WEFT_MPI_DECLARE(int, MPI_Status_f082f, (const MPI_F08_status* f08_status, MPI_Fint* f_status))

/* The same integers by the names of the ABI. */
WEFT_MPI_DECLARE(int, MPI_Comm_toint, (MPI_Comm comm))
WEFT_MPI_DECLARE(MPI_Comm, MPI_Comm_fromint, (int comm))
WEFT_MPI_DECLARE(int, MPI_Type_toint, (MPI_Datatype datatype))
WEFT_MPI_DECLARE(MPI_Datatype, MPI_Type_fromint, (int datatype))
WEFT_MPI_DECLARE(int, MPI_Group_toint, (MPI_Group group))
WEFT_MPI_DECLARE(MPI_Group, MPI_Group_fromint, (int group))
WEFT_MPI_DECLARE(int, MPI_Request_toint, (MPI_Request request))
WEFT_MPI_DECLARE(MPI_Request, MPI_Request_fromint, (int request))
WEFT_MPI_DECLARE(int, MPI_Op_toint, (MPI_Op op))
WEFT_MPI_DECLARE(MPI_Op, MPI_Op_fromint, (int op))
WEFT_MPI_DECLARE(int, MPI_Info_toint, (MPI_Info info))
WEFT_MPI_DECLARE(MPI_Info, MPI_Info_fromint, (int info))
WEFT_MPI_DECLARE(int, MPI_Errhandler_toint, (MPI_Errhandler errhandler))
WEFT_MPI_DECLARE(MPI_Errhandler, MPI_Errhandler_fromint, (int errhandler))
WEFT_MPI_DECLARE(int, MPI_Message_toint, (MPI_Message message))
WEFT_MPI_DECLARE(MPI_Message, MPI_Message_fromint, (int message))
WEFT_MPI_DECLARE(int, MPI_File_toint, (MPI_File file))
WEFT_MPI_DECLARE(MPI_File, MPI_File_fromint, (int file))
WEFT_MPI_DECLARE(int, MPI_Session_toint, (MPI_Session session))
WEFT_MPI_DECLARE(MPI_Session, MPI_Session_fromint, (int session))
WEFT_MPI_DECLARE(int, MPI_Win_toint, (MPI_Win win))
WEFT_MPI_DECLARE(MPI_Win, MPI_Win_fromint, (int win))
/* In place of a status of Fortran that nobody wants: the common blocks of mpif.h. */
extern MPI_Fint weft_mpi_status_ignore_[MPI_F_STATUS_SIZE];
extern MPI_Fint weft_mpi_statuses_ignore_[MPI_F_STATUS_SIZE];
#define MPI_F_STATUS_IGNORE weft_mpi_status_ignore_
#define MPI_F_STATUSES_IGNORE weft_mpi_statuses_ignore_
#define MPI_F08_STATUS_IGNORE ((MPI_F08_status*)weft_mpi_status_ignore_)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status*)weft_mpi_statuses_ignore_)

/* --- Windows: one-sided communication (window) ------------------------------------------------------ */
enum { /* What a program promises about a window. */
  MPI_MODE_NOCHECK = 1024,
  MPI_MODE_NOPRECEDE = 2048,
  MPI_MODE_NOPUT = 4096,
  MPI_MODE_NOSTORE = 8192,
  MPI_MODE_NOSUCCEED = 16384
};
enum { MPI_LOCK_EXCLUSIVE = 301, MPI_LOCK_SHARED = 302 };
enum {
  MPI_WIN_FLAVOR_CREATE = 311,
  MPI_WIN_FLAVOR_ALLOCATE = 312,
  MPI_WIN_FLAVOR_DYNAMIC = 313,
  MPI_WIN_FLAVOR_SHARED = 314
};
enum { MPI_WIN_UNIFIED = 321, MPI_WIN_SEPARATE = 322 };
enum { /* Keys of a window's attributes. */
  MPI_WIN_BASE = 601,
  MPI_WIN_DISP_UNIT = 602,
  MPI_WIN_SIZE = 603,
  MPI_WIN_CREATE_FLAVOR = 604,
  MPI_WIN_MODEL = 605
};
typedef int(MPI_Win_copy_attr_function)(MPI_Win oldwin, int win_keyval, void* extra_state,
                                        void* attribute_val_in, void* attribute_val_out, int* flag);
typedef int(MPI_Win_delete_attr_function)(MPI_Win win, int win_keyval, void* attribute_val,
                                          void* extra_state);
typedef void(MPI_Win_errhandler_function)(MPI_Win* win, int* error_code, ...);
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
#define MPI_WIN_NULL_COPY_FN ((MPI_Win_copy_attr_function*)0)
#define MPI_WIN_DUP_FN ((MPI_Win_copy_attr_function*)1)
#define MPI_WIN_NULL_DELETE_FN ((MPI_Win_delete_attr_function*)0)
WEFT_MPI_DECLARE(int, MPI_Win_create,
                 (void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                  MPI_Win* win))
WEFT_MPI_DECLARE(int, MPI_Win_create_c,
                 (void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                  MPI_Win* win))
WEFT_MPI_DECLARE(int, MPI_Win_allocate,
                 (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                  MPI_Win* win))
WEFT_MPI_DECLARE(int, MPI_Win_allocate_c,
                 (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                  MPI_Win* win))
WEFT_MPI_DECLARE(int, MPI_Win_allocate_shared,
                 (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                  MPI_Win* win))
WEFT_MPI_DECLARE(int, MPI_Win_allocate_shared_c,
                 (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                  MPI_Win* win))
WEFT_MPI_DECLARE(int, MPI_Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* win))
WEFT_MPI_DECLARE(int, MPI_Win_free, (MPI_Win* win))
WEFT_MPI_DECLARE(int, MPI_Win_attach, (MPI_Win win, void* base, MPI_Aint size))
WEFT_MPI_DECLARE(int, MPI_Win_detach, (MPI_Win win, const void* base))
WEFT_MPI_DECLARE(int, MPI_Win_shared_query,
                 (MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr))
WEFT_MPI_DECLARE(int, MPI_Win_shared_query_c,
                 (MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* disp_unit, void* baseptr))
WEFT_MPI_DECLARE(int, MPI_Put,
                 (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Put_c,
                 (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Get,
                 (void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Get_c,
                 (void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Accumulate,
                 (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Accumulate_c,
                 (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Get_accumulate,
                 (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  void* result_addr, int result_count, MPI_Datatype result_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Get_accumulate_c,
                 (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  void* result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Fetch_and_op,
                 (const void* origin_addr, void* result_addr, MPI_Datatype datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Compare_and_swap,
                 (const void* origin_addr, const void* compare_addr, void* result_addr,
                  MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Rput,
                 (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Rput_c,
                 (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Rget,
                 (void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Rget_c,
                 (void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Raccumulate,
                 (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Raccumulate_c,
                 (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Rget_accumulate,
                 (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  void* result_addr, int result_count, MPI_Datatype result_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Rget_accumulate_c,
                 (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  void* result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_Win_fence, (int assert, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_post, (MPI_Group group, int assert, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_start, (MPI_Group group, int assert, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_complete, (MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_wait, (MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_test, (MPI_Win win, int* flag))
WEFT_MPI_DECLARE(int, MPI_Win_lock, (int lock_type, int rank, int assert, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_unlock, (int rank, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_lock_all, (int assert, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_unlock_all, (MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_flush, (int rank, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_flush_all, (MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_flush_local, (int rank, MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_flush_local_all, (MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_sync, (MPI_Win win))
WEFT_MPI_DECLARE(int, MPI_Win_get_group, (MPI_Win win, MPI_Group* group))
WEFT_MPI_DECLARE(int, MPI_Win_set_name, (MPI_Win win, const char* win_name))
WEFT_MPI_DECLARE(int, MPI_Win_get_name, (MPI_Win win, char* win_name, int* resultlen))
WEFT_MPI_DECLARE(int, MPI_Win_set_info, (MPI_Win win, MPI_Info info))
WEFT_MPI_DECLARE(int, MPI_Win_get_info, (MPI_Win win, MPI_Info* info_used))
WEFT_MPI_DECLARE(int, MPI_Win_create_errhandler,
                 (MPI_Win_errhandler_function * win_errhandler_fn, MPI_Errhandler* errhandler))
WEFT_MPI_DECLARE(int, MPI_Win_set_errhandler, (MPI_Win win, MPI_Errhandler errhandler))
WEFT_MPI_DECLARE(int, MPI_Win_get_errhandler, (MPI_Win win, MPI_Errhandler* errhandler))
WEFT_MPI_DECLARE(int, MPI_Win_call_errhandler, (MPI_Win win, int errorcode))
WEFT_MPI_DECLARE(int, MPI_Win_create_keyval,
                 (MPI_Win_copy_attr_function * win_copy_attr_fn,
                  MPI_Win_delete_attr_function* win_delete_attr_fn, int* win_keyval,
                  void* extra_state))
WEFT_MPI_DECLARE(int, MPI_Win_free_keyval, (int* win_keyval))
WEFT_MPI_DECLARE(int, MPI_Win_set_attr, (MPI_Win win, int win_keyval, void* attribute_val))
WEFT_MPI_DECLARE(int, MPI_Win_get_attr,
                 (MPI_Win win, int win_keyval, void* attribute_val, int* flag))
WEFT_MPI_DECLARE(int, MPI_Win_delete_attr, (MPI_Win win, int win_keyval))

/* --- Files (src/mpi/io) ---------------------------------------------------------------------------- */
enum { /* How a file is opened. */
  MPI_MODE_APPEND = 1,
  MPI_MODE_CREATE = 2,
  MPI_MODE_DELETE_ON_CLOSE = 4,
  MPI_MODE_EXCL = 8,
  MPI_MODE_RDONLY = 16,
  MPI_MODE_RDWR = 32,
  MPI_MODE_SEQUENTIAL = 64,
  MPI_MODE_UNIQUE_OPEN = 128,
  MPI_MODE_WRONLY = 256
};
enum { MPI_SEEK_CUR = 401, MPI_SEEK_END = 402, MPI_SEEK_SET = 403 };
#define MPI_DISPLACEMENT_CURRENT ((MPI_Offset)-1)
typedef int(MPI_Datarep_extent_function)(MPI_Datatype datatype, MPI_Aint* extent,
                                         void* extra_state);
typedef int(MPI_Datarep_conversion_function)(void* userbuf, MPI_Datatype datatype, int count,
                                             void* filebuf, MPI_Offset position, void* extra_state);
typedef int(MPI_Datarep_conversion_function_c)(void* userbuf, MPI_Datatype datatype,
                                               MPI_Count count, void* filebuf, MPI_Offset position,
                                               void* extra_state);
typedef void(MPI_File_errhandler_function)(MPI_File* file, int* error_code, ...);
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
#define MPI_CONVERSION_FN_NULL ((MPI_Datarep_conversion_function*)0)
#define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c*)0)
WEFT_MPI_DECLARE(int, MPI_File_call_errhandler, (MPI_File fh, int errorcode))
WEFT_MPI_DECLARE(int, MPI_File_close, (MPI_File* fh))
WEFT_MPI_DECLARE(int, MPI_File_create_errhandler,
                 (MPI_File_errhandler_function* file_errhandler_fn, MPI_Errhandler* errhandler))
WEFT_MPI_DECLARE(int, MPI_File_delete, (const char* filename, MPI_Info info))
WEFT_MPI_DECLARE(int, MPI_File_get_amode, (MPI_File fh, int* amode))
WEFT_MPI_DECLARE(int, MPI_File_get_atomicity, (MPI_File fh, int* flag))
WEFT_MPI_DECLARE(int, MPI_File_get_byte_offset, (MPI_File fh, MPI_Offset offset, MPI_Offset* disp))
WEFT_MPI_DECLARE(int, MPI_File_get_errhandler, (MPI_File file, MPI_Errhandler* errhandler))
WEFT_MPI_DECLARE(int, MPI_File_get_group, (MPI_File fh, MPI_Group* group))
WEFT_MPI_DECLARE(int, MPI_File_get_info, (MPI_File fh, MPI_Info* info_used))
WEFT_MPI_DECLARE(int, MPI_File_get_position, (MPI_File fh, MPI_Offset* offset))
WEFT_MPI_DECLARE(int, MPI_File_get_position_shared, (MPI_File fh, MPI_Offset* offset))
WEFT_MPI_DECLARE(int, MPI_File_get_size, (MPI_File fh, MPI_Offset* size))
WEFT_MPI_DECLARE(int, MPI_File_get_type_extent,
                 (MPI_File fh, MPI_Datatype datatype, MPI_Aint* extent))
WEFT_MPI_DECLARE(int, MPI_File_get_type_extent_c,
                 (MPI_File fh, MPI_Datatype datatype, MPI_Count* extent))
WEFT_MPI_DECLARE(int, MPI_File_get_view,
                 (MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                  char* datarep))
WEFT_MPI_DECLARE(int, MPI_File_iread,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iread_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iread_all,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iread_all_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iread_at,
                 (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iread_at_c,
                 (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iread_at_all,
                 (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iread_at_all_c,
                 (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iread_shared,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iread_shared_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iwrite,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iwrite_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iwrite_all,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iwrite_all_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iwrite_at,
                 (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iwrite_at_c,
                 (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iwrite_at_all,
                 (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iwrite_at_all_c,
                 (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iwrite_shared,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_iwrite_shared_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
WEFT_MPI_DECLARE(int, MPI_File_open,
                 (MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh))
WEFT_MPI_DECLARE(int, MPI_File_preallocate, (MPI_File fh, MPI_Offset size))
WEFT_MPI_DECLARE(int, MPI_File_read,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_all,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_all_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_all_begin,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_File_read_all_begin_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_File_read_all_end, (MPI_File fh, void* buf, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_at,
                 (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_at_c,
                 (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_at_all,
                 (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_at_all_c,
                 (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_at_all_begin,
                 (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_File_read_at_all_begin_c,
                 (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count,
                  MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_File_read_at_all_end, (MPI_File fh, void* buf, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_ordered,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_ordered_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_ordered_begin,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_File_read_ordered_begin_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_File_read_ordered_end, (MPI_File fh, void* buf, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_shared,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_read_shared_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_seek, (MPI_File fh, MPI_Offset offset, int whence))
WEFT_MPI_DECLARE(int, MPI_File_seek_shared, (MPI_File fh, MPI_Offset offset, int whence))
WEFT_MPI_DECLARE(int, MPI_File_set_atomicity, (MPI_File fh, int flag))
WEFT_MPI_DECLARE(int, MPI_File_set_errhandler, (MPI_File file, MPI_Errhandler errhandler))
WEFT_MPI_DECLARE(int, MPI_File_set_info, (MPI_File fh, MPI_Info info))
WEFT_MPI_DECLARE(int, MPI_File_set_size, (MPI_File fh, MPI_Offset size))
WEFT_MPI_DECLARE(int, MPI_File_set_view,
                 (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                  const char* datarep, MPI_Info info))
WEFT_MPI_DECLARE(int, MPI_File_sync, (MPI_File fh))
WEFT_MPI_DECLARE(int, MPI_File_write,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_all,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_all_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_all_begin,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_File_write_all_begin_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_File_write_all_end, (MPI_File fh, const void* buf, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_at,
                 (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_at_c,
                 (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_at_all,
                 (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_at_all_c,
                 (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_at_all_begin,
                 (MPI_File fh, MPI_Offset offset, const void* buf, int count,
                  MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_File_write_at_all_begin_c,
                 (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_File_write_at_all_end, (MPI_File fh, const void* buf, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_ordered,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_ordered_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_ordered_begin,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_File_write_ordered_begin_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype))
WEFT_MPI_DECLARE(int, MPI_File_write_ordered_end,
                 (MPI_File fh, const void* buf, MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_shared,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_File_write_shared_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
WEFT_MPI_DECLARE(int, MPI_Register_datarep,
                 (const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                  MPI_Datarep_conversion_function* write_conversion_fn,
                  MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state))
WEFT_MPI_DECLARE(int, MPI_Register_datarep_c,
                 (const char* datarep, MPI_Datarep_conversion_function_c* read_conversion_fn,
                  MPI_Datarep_conversion_function_c* write_conversion_fn,
                  MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state))

/* --- Removed by MPI 3.0 (removed.cpp) -------------------------------------------------------------- */
WEFT_MPI_DECLARE(int, MPI_Address, (const void* location, MPI_Aint* address))
WEFT_MPI_DECLARE(int, MPI_Type_hvector,
                 (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_hindexed,
                 (int count, const int* array_of_blocklengths,
                  const MPI_Aint* array_of_displacements, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_struct,
                 (int count, const int* array_of_blocklengths,
                  const MPI_Aint* array_of_displacements, const MPI_Datatype* array_of_types,
                  MPI_Datatype* newtype))
WEFT_MPI_DECLARE(int, MPI_Type_extent, (MPI_Datatype datatype, MPI_Aint* extent))
WEFT_MPI_DECLARE(int, MPI_Type_lb, (MPI_Datatype datatype, MPI_Aint* displacement))
WEFT_MPI_DECLARE(int, MPI_Type_ub, (MPI_Datatype datatype, MPI_Aint* displacement))
WEFT_MPI_DECLARE(int, MPI_Errhandler_create,
                 (MPI_Handler_function* handler_fn, MPI_Errhandler* errhandler))
WEFT_MPI_DECLARE(int, MPI_Errhandler_set, (MPI_Comm comm, MPI_Errhandler errhandler))
WEFT_MPI_DECLARE(int, MPI_Errhandler_get, (MPI_Comm comm, MPI_Errhandler* errhandler))

/* --- Not there (absent.cpp), and the tools interface (tools.cpp) ----------------------------------- */
#include "mpi_absent.h"
WEFT_MPI_DECLARE(int, MPI_T_category_changed, (int* update_number))
WEFT_MPI_DECLARE(int, MPI_T_category_get_num, (int* num_cat))
WEFT_MPI_DECLARE(int, MPI_T_cvar_get_num, (int* num_cvar))
WEFT_MPI_DECLARE(int, MPI_T_event_get_num, (int* num_events))
WEFT_MPI_DECLARE(int, MPI_T_finalize, (void))
WEFT_MPI_DECLARE(int, MPI_T_init_thread, (int required, int* provided))
WEFT_MPI_DECLARE(int, MPI_T_pvar_get_num, (int* num_pvar))
WEFT_MPI_DECLARE(int, MPI_T_pvar_reset, (MPI_T_pvar_session session, MPI_T_pvar_handle handle))
WEFT_MPI_DECLARE(int, MPI_T_pvar_session_create, (MPI_T_pvar_session* session))
WEFT_MPI_DECLARE(int, MPI_T_pvar_session_free, (MPI_T_pvar_session* session))
WEFT_MPI_DECLARE(int, MPI_T_pvar_start, (MPI_T_pvar_session session, MPI_T_pvar_handle handle))
WEFT_MPI_DECLARE(int, MPI_T_pvar_stop, (MPI_T_pvar_session session, MPI_T_pvar_handle handle))
WEFT_MPI_DECLARE(int, MPI_T_source_get_num, (int* num_sources))

#define WEFT_MPI_DECLARE_ABSENT(name, parameters) WEFT_MPI_DECLARE(int, name, parameters)
#define WEFT_MPI_DECLARE_TOOL(error, name, parameters) WEFT_MPI_DECLARE(int, name, parameters)
WEFT_MPI_TOOLS(WEFT_MPI_DECLARE_TOOL)
#undef WEFT_MPI_DECLARE_ABSENT
#undef WEFT_MPI_DECLARE_TOOL

#undef WEFT_MPI_DECLARE

#ifdef __cplusplus
}
#endif
#include "mpi-ext.h"
#endif
