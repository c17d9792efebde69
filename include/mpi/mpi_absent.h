/* What MPI 5.0 has and weft has not, so that programs which only mention it compile and link. A call of
 * a function of these lists ends in MPI_ERR_UNSUPPORTED_OPERATION. Of the tools interface all is there but
 * variables, categories and events, of which there are none: what asks for one is told so.
 *
 * Included by mpi.h alone. */
#ifndef WEFT_MPI_ABSENT_H
#define WEFT_MPI_ABSENT_H

/* --- Constants ---------------------------------------------------------------------------------- */
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

enum { /* Errors of the tools interface. */
  MPI_T_ERR_CANNOT_INIT = 1001,
  MPI_T_ERR_NOT_ACCESSIBLE = 1002,
  MPI_T_ERR_NOT_INITIALIZED = 1003,
  MPI_T_ERR_NOT_SUPPORTED = 1004,
  MPI_T_ERR_MEMORY = 1005,
  MPI_T_ERR_INVALID = 1006,
  MPI_T_ERR_INVALID_INDEX = 1007,
  MPI_T_ERR_INVALID_ITEM = 1008,
  MPI_T_ERR_INVALID_SESSION = 1009,
  MPI_T_ERR_INVALID_HANDLE = 1010,
  MPI_T_ERR_INVALID_NAME = 1011,
  MPI_T_ERR_OUT_OF_HANDLES = 1012,
  MPI_T_ERR_OUT_OF_SESSIONS = 1013,
  MPI_T_ERR_CVAR_SET_NOT_NOW = 1014,
  MPI_T_ERR_CVAR_SET_NEVER = 1015,
  MPI_T_ERR_PVAR_NO_WRITE = 1016,
  MPI_T_ERR_PVAR_NO_STARTSTOP = 1017,
  MPI_T_ERR_PVAR_NO_ATOMIC = 1018
};
enum { /* For whom a variable is. */
  MPI_T_VERBOSITY_USER_BASIC = 0x09,
  MPI_T_VERBOSITY_USER_DETAIL = 0x0a,
  MPI_T_VERBOSITY_USER_ALL = 0x0c,
  MPI_T_VERBOSITY_TUNER_BASIC = 0x11,
  MPI_T_VERBOSITY_TUNER_DETAIL = 0x12,
  MPI_T_VERBOSITY_TUNER_ALL = 0x14,
  MPI_T_VERBOSITY_MPIDEV_BASIC = 0x21,
  MPI_T_VERBOSITY_MPIDEV_DETAIL = 0x22,
  MPI_T_VERBOSITY_MPIDEV_ALL = 0x24
};
enum { /* To what a variable belongs. */
  MPI_T_BIND_NO_OBJECT = 1,
  MPI_T_BIND_MPI_COMM = 2,
  MPI_T_BIND_MPI_DATATYPE = 3,
  MPI_T_BIND_MPI_ERRHANDLER = 4,
  MPI_T_BIND_MPI_FILE = 5,
  MPI_T_BIND_MPI_GROUP = 6,
  MPI_T_BIND_MPI_OP = 7,
  MPI_T_BIND_MPI_REQUEST = 8,
  MPI_T_BIND_MPI_WIN = 9,
  MPI_T_BIND_MPI_MESSAGE = 10,
  MPI_T_BIND_MPI_INFO = 11,
  MPI_T_BIND_MPI_SESSION = 12
};
enum { /* Where setting a variable counts. */
  MPI_T_SCOPE_CONSTANT = 1,
  MPI_T_SCOPE_READONLY = 2,
  MPI_T_SCOPE_LOCAL = 3,
  MPI_T_SCOPE_GROUP = 4,
  MPI_T_SCOPE_GROUP_EQ = 5,
  MPI_T_SCOPE_ALL = 6,
  MPI_T_SCOPE_ALL_EQ = 7
};
enum { /* What a variable measures. */
  MPI_T_PVAR_CLASS_STATE = 1,
  MPI_T_PVAR_CLASS_LEVEL = 2,
  MPI_T_PVAR_CLASS_SIZE = 3,
  MPI_T_PVAR_CLASS_PERCENTAGE = 4,
  MPI_T_PVAR_CLASS_HIGHWATERMARK = 5,
  MPI_T_PVAR_CLASS_LOWWATERMARK = 6,
  MPI_T_PVAR_CLASS_COUNTER = 7,
  MPI_T_PVAR_CLASS_AGGREGATE = 8,
  MPI_T_PVAR_CLASS_TIMER = 9,
  MPI_T_PVAR_CLASS_GENERIC = 10
};
typedef enum MPI_T_cb_safety {
  MPI_T_CB_REQUIRE_NONE = 0x00,
  MPI_T_CB_REQUIRE_MPI_RESTRICTED = 0x03,
  MPI_T_CB_REQUIRE_THREAD_SAFE = 0x0F,
  MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE = 0x3F
} MPI_T_cb_safety;
typedef enum MPI_T_source_order {
  MPI_T_SOURCE_ORDERED = 1,
  MPI_T_SOURCE_UNORDERED = 2
} MPI_T_source_order;

/* --- Handles ------------------------------------------------------------------------------------- */
typedef struct MPI_ABI_T_enum* MPI_T_enum;
typedef struct MPI_ABI_T_cvar_handle* MPI_T_cvar_handle;
typedef struct MPI_ABI_T_pvar_handle* MPI_T_pvar_handle;
typedef struct MPI_ABI_T_pvar_session* MPI_T_pvar_session;
typedef struct MPI_ABI_T_event_registration* MPI_T_event_registration;
typedef struct MPI_ABI_T_event_instance* MPI_T_event_instance;
#define MPI_T_ENUM_NULL ((MPI_T_enum)0)
#define MPI_T_CVAR_HANDLE_NULL ((MPI_T_cvar_handle)0)
#define MPI_T_PVAR_SESSION_NULL ((MPI_T_pvar_session)0)
#define MPI_T_PVAR_HANDLE_NULL ((MPI_T_pvar_handle)0)
#define MPI_T_PVAR_ALL_HANDLES ((MPI_T_pvar_handle)1)

/* --- Functions of the program -------------------------------------------------------------------- */
typedef int(MPI_Win_copy_attr_function)(MPI_Win oldwin, int win_keyval, void* extra_state,
                                        void* attribute_val_in, void* attribute_val_out, int* flag);
typedef int(MPI_Win_delete_attr_function)(MPI_Win win, int win_keyval, void* attribute_val,
                                          void* extra_state);
typedef int(MPI_Datarep_extent_function)(MPI_Datatype datatype, MPI_Aint* extent, void* extra_state);
typedef int(MPI_Datarep_conversion_function)(void* userbuf, MPI_Datatype datatype, int count,
                                             void* filebuf, MPI_Offset position, void* extra_state);
typedef int(MPI_Datarep_conversion_function_c)(void* userbuf, MPI_Datatype datatype,
                                               MPI_Count count, void* filebuf, MPI_Offset position,
                                               void* extra_state);
typedef void(MPI_File_errhandler_function)(MPI_File* file, int* error_code, ...);
typedef void(MPI_Win_errhandler_function)(MPI_Win* win, int* error_code, ...);
typedef void(MPI_Session_errhandler_function)(MPI_Session* session, int* error_code, ...);
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef MPI_Session_errhandler_function MPI_Session_errhandler_fn;
typedef void(MPI_T_event_cb_function)(MPI_T_event_instance event_instance,
                                      MPI_T_event_registration event_registration,
                                      MPI_T_cb_safety cb_safety, void* user_data);
typedef void(MPI_T_event_free_cb_function)(MPI_T_event_registration event_registration,
                                           MPI_T_cb_safety cb_safety, void* user_data);
typedef void(MPI_T_event_dropped_cb_function)(MPI_Count count,
                                              MPI_T_event_registration event_registration,
                                              int source_index, MPI_T_cb_safety cb_safety,
                                              void* user_data);
#define MPI_WIN_NULL_COPY_FN ((MPI_Win_copy_attr_function*)0)
#define MPI_WIN_DUP_FN ((MPI_Win_copy_attr_function*)1)
#define MPI_WIN_NULL_DELETE_FN ((MPI_Win_delete_attr_function*)0)
#define MPI_CONVERSION_FN_NULL ((MPI_Datarep_conversion_function*)0)
#define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c*)0)

/* --- Functions: X(name, parameters), each returns an int ------------------------------------------- */
#define WEFT_MPI_WINDOWS(X)                                                                        \
  X(MPI_Accumulate,                                                                                \
    (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,     \
     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win      \
     win))                                                                                         \
  X(MPI_Accumulate_c,                                                                              \
    (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int            \
     target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,      \
     MPI_Op op, MPI_Win win))                                                                      \
  X(MPI_Compare_and_swap,                                                                          \
    (const void* origin_addr, const void* compare_addr, void* result_addr, MPI_Datatype            \
     datatype, int target_rank, MPI_Aint target_disp, MPI_Win win))                                \
  X(MPI_Fetch_and_op,                                                                              \
    (const void* origin_addr, void* result_addr, MPI_Datatype datatype, int target_rank,           \
     MPI_Aint target_disp, MPI_Op op, MPI_Win win))                                                \
  X(MPI_Get,                                                                                       \
    (void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,           \
     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win))           \
  X(MPI_Get_c,                                                                                     \
    (void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,     \
     MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win))     \
  X(MPI_Get_accumulate,                                                                            \
    (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, void* result_addr,   \
     int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, int    \
     target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win))                          \
  X(MPI_Get_accumulate_c,                                                                          \
    (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, void*          \
     result_addr, MPI_Count result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint  \
     target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win))   \
  X(MPI_Put,                                                                                       \
    (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,     \
     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win))           \
  X(MPI_Put_c,                                                                                     \
    (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int            \
     target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,      \
     MPI_Win win))                                                                                 \
  X(MPI_Raccumulate,                                                                               \
    (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,     \
     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win      \
     win, MPI_Request* request))                                                                   \
  X(MPI_Raccumulate_c,                                                                             \
    (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int            \
     target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,      \
     MPI_Op op, MPI_Win win, MPI_Request* request))                                                \
  X(MPI_Rget,                                                                                      \
    (void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,           \
     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,            \
     MPI_Request* request))                                                                        \
  X(MPI_Rget_c,                                                                                    \
    (void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,     \
     MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,      \
     MPI_Request* request))                                                                        \
  X(MPI_Rget_accumulate,                                                                           \
    (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, void* result_addr,   \
     int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, int    \
     target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request))    \
  X(MPI_Rget_accumulate_c,                                                                         \
    (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, void*          \
     result_addr, MPI_Count result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint  \
     target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,    \
     MPI_Request* request))                                                                        \
  X(MPI_Rput,                                                                                      \
    (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,     \
     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,            \
     MPI_Request* request))                                                                        \
  X(MPI_Rput_c,                                                                                    \
    (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int            \
     target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,      \
     MPI_Win win, MPI_Request* request))                                                           \
  X(MPI_Win_allocate,                                                                              \
    (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win))     \
  X(MPI_Win_allocate_c,                                                                            \
    (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win*      \
     win))                                                                                         \
  X(MPI_Win_allocate_shared,                                                                       \
    (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win))     \
  X(MPI_Win_allocate_shared_c,                                                                     \
    (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win*      \
     win))                                                                                         \
  X(MPI_Win_attach, (MPI_Win win, void* base, MPI_Aint size))                                      \
  X(MPI_Win_call_errhandler, (MPI_Win win, int errorcode))                                         \
  X(MPI_Win_complete, (MPI_Win win))                                                               \
  X(MPI_Win_create,                                                                                \
    (void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win))        \
  X(MPI_Win_create_c,                                                                              \
    (void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win))   \
  X(MPI_Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* win))                          \
  X(MPI_Win_create_errhandler,                                                                     \
    (MPI_Win_errhandler_function* win_errhandler_fn, MPI_Errhandler* errhandler))                  \
  X(MPI_Win_create_keyval,                                                                         \
    (MPI_Win_copy_attr_function* win_copy_attr_fn, MPI_Win_delete_attr_function*                   \
     win_delete_attr_fn, int* win_keyval, void* extra_state))                                      \
  X(MPI_Win_delete_attr, (MPI_Win win, int win_keyval))                                            \
  X(MPI_Win_detach, (MPI_Win win, const void* base))                                               \
  X(MPI_Win_fence, (int assert, MPI_Win win))                                                      \
  X(MPI_Win_flush, (int rank, MPI_Win win))                                                        \
  X(MPI_Win_flush_all, (MPI_Win win))                                                              \
  X(MPI_Win_flush_local, (int rank, MPI_Win win))                                                  \
  X(MPI_Win_flush_local_all, (MPI_Win win))                                                        \
  X(MPI_Win_free, (MPI_Win* win))                                                                  \
  X(MPI_Win_free_keyval, (int* win_keyval))                                                        \
  X(MPI_Win_get_attr, (MPI_Win win, int win_keyval, void* attribute_val, int* flag))               \
  X(MPI_Win_get_errhandler, (MPI_Win win, MPI_Errhandler* errhandler))                             \
  X(MPI_Win_get_group, (MPI_Win win, MPI_Group* group))                                            \
  X(MPI_Win_get_info, (MPI_Win win, MPI_Info* info_used))                                          \
  X(MPI_Win_get_name, (MPI_Win win, char* win_name, int* resultlen))                               \
  X(MPI_Win_lock, (int lock_type, int rank, int assert, MPI_Win win))                              \
  X(MPI_Win_lock_all, (int assert, MPI_Win win))                                                   \
  X(MPI_Win_post, (MPI_Group group, int assert, MPI_Win win))                                      \
  X(MPI_Win_set_attr, (MPI_Win win, int win_keyval, void* attribute_val))                          \
  X(MPI_Win_set_errhandler, (MPI_Win win, MPI_Errhandler errhandler))                              \
  X(MPI_Win_set_info, (MPI_Win win, MPI_Info info))                                                \
  X(MPI_Win_set_name, (MPI_Win win, const char* win_name))                                         \
  X(MPI_Win_shared_query, (MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr))  \
  X(MPI_Win_shared_query_c,                                                                        \
    (MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* disp_unit, void* baseptr))                   \
  X(MPI_Win_start, (MPI_Group group, int assert, MPI_Win win))                                     \
  X(MPI_Win_sync, (MPI_Win win))                                                                   \
  X(MPI_Win_test, (MPI_Win win, int* flag))                                                        \
  X(MPI_Win_unlock, (int rank, MPI_Win win))                                                       \
  X(MPI_Win_unlock_all, (MPI_Win win))                                                             \
  X(MPI_Win_wait, (MPI_Win win))

#define WEFT_MPI_FILES(X)                                                                          \
  X(MPI_File_call_errhandler, (MPI_File fh, int errorcode))                                        \
  X(MPI_File_close, (MPI_File* fh))                                                                \
  X(MPI_File_create_errhandler,                                                                    \
    (MPI_File_errhandler_function* file_errhandler_fn, MPI_Errhandler* errhandler))                \
  X(MPI_File_delete, (const char* filename, MPI_Info info))                                        \
  X(MPI_File_get_amode, (MPI_File fh, int* amode))                                                 \
  X(MPI_File_get_atomicity, (MPI_File fh, int* flag))                                              \
  X(MPI_File_get_byte_offset, (MPI_File fh, MPI_Offset offset, MPI_Offset* disp))                  \
  X(MPI_File_get_errhandler, (MPI_File file, MPI_Errhandler* errhandler))                          \
  X(MPI_File_get_group, (MPI_File fh, MPI_Group* group))                                           \
  X(MPI_File_get_info, (MPI_File fh, MPI_Info* info_used))                                         \
  X(MPI_File_get_position, (MPI_File fh, MPI_Offset* offset))                                      \
  X(MPI_File_get_position_shared, (MPI_File fh, MPI_Offset* offset))                               \
  X(MPI_File_get_size, (MPI_File fh, MPI_Offset* size))                                            \
  X(MPI_File_get_type_extent, (MPI_File fh, MPI_Datatype datatype, MPI_Aint* extent))              \
  X(MPI_File_get_type_extent_c, (MPI_File fh, MPI_Datatype datatype, MPI_Count* extent))           \
  X(MPI_File_get_view,                                                                             \
    (MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep))   \
  X(MPI_File_iread,                                                                                \
    (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Request* request))              \
  X(MPI_File_iread_c,                                                                              \
    (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request))        \
  X(MPI_File_iread_all,                                                                            \
    (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Request* request))              \
  X(MPI_File_iread_all_c,                                                                          \
    (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request))        \
  X(MPI_File_iread_at,                                                                             \
    (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype, MPI_Request*     \
     request))                                                                                     \
  X(MPI_File_iread_at_c,                                                                           \
    (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,            \
     MPI_Request* request))                                                                        \
  X(MPI_File_iread_at_all,                                                                         \
    (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype, MPI_Request*     \
     request))                                                                                     \
  X(MPI_File_iread_at_all_c,                                                                       \
    (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,            \
     MPI_Request* request))                                                                        \
  X(MPI_File_iread_shared,                                                                         \
    (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Request* request))              \
  X(MPI_File_iread_shared_c,                                                                       \
    (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request* request))        \
  X(MPI_File_iwrite,                                                                               \
    (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Request* request))        \
  X(MPI_File_iwrite_c,                                                                             \
    (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request*            \
     request))                                                                                     \
  X(MPI_File_iwrite_all,                                                                           \
    (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Request* request))        \
  X(MPI_File_iwrite_all_c,                                                                         \
    (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request*            \
     request))                                                                                     \
  X(MPI_File_iwrite_at,                                                                            \
    (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,            \
     MPI_Request* request))                                                                        \
  X(MPI_File_iwrite_at_c,                                                                          \
    (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype,      \
     MPI_Request* request))                                                                        \
  X(MPI_File_iwrite_at_all,                                                                        \
    (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,            \
     MPI_Request* request))                                                                        \
  X(MPI_File_iwrite_at_all_c,                                                                      \
    (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype,      \
     MPI_Request* request))                                                                        \
  X(MPI_File_iwrite_shared,                                                                        \
    (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Request* request))        \
  X(MPI_File_iwrite_shared_c,                                                                      \
    (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Request*            \
     request))                                                                                     \
  X(MPI_File_open, (MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh))  \
  X(MPI_File_preallocate, (MPI_File fh, MPI_Offset size))                                          \
  X(MPI_File_read, (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status)) \
  X(MPI_File_read_c,                                                                               \
    (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status))          \
  X(MPI_File_read_all,                                                                             \
    (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status))                \
  X(MPI_File_read_all_c,                                                                           \
    (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status))          \
  X(MPI_File_read_all_begin, (MPI_File fh, void* buf, int count, MPI_Datatype datatype))           \
  X(MPI_File_read_all_begin_c, (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype))   \
  X(MPI_File_read_all_end, (MPI_File fh, void* buf, MPI_Status* status))                           \
  X(MPI_File_read_at,                                                                              \
    (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype, MPI_Status*      \
     status))                                                                                      \
  X(MPI_File_read_at_c,                                                                            \
    (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,            \
     MPI_Status* status))                                                                          \
  X(MPI_File_read_at_all,                                                                          \
    (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype, MPI_Status*      \
     status))                                                                                      \
  X(MPI_File_read_at_all_c,                                                                        \
    (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,            \
     MPI_Status* status))                                                                          \
  X(MPI_File_read_at_all_begin,                                                                    \
    (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype))                 \
  X(MPI_File_read_at_all_begin_c,                                                                  \
    (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype))           \
  X(MPI_File_read_at_all_end, (MPI_File fh, void* buf, MPI_Status* status))                        \
  X(MPI_File_read_ordered,                                                                         \
    (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status))                \
  X(MPI_File_read_ordered_c,                                                                       \
    (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status))          \
  X(MPI_File_read_ordered_begin, (MPI_File fh, void* buf, int count, MPI_Datatype datatype))       \
  X(MPI_File_read_ordered_begin_c,                                                                 \
    (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype))                              \
  X(MPI_File_read_ordered_end, (MPI_File fh, void* buf, MPI_Status* status))                       \
  X(MPI_File_read_shared,                                                                          \
    (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status))                \
  X(MPI_File_read_shared_c,                                                                        \
    (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status))          \
  X(MPI_File_seek, (MPI_File fh, MPI_Offset offset, int whence))                                   \
  X(MPI_File_seek_shared, (MPI_File fh, MPI_Offset offset, int whence))                            \
  X(MPI_File_set_atomicity, (MPI_File fh, int flag))                                               \
  X(MPI_File_set_errhandler, (MPI_File file, MPI_Errhandler errhandler))                           \
  X(MPI_File_set_info, (MPI_File fh, MPI_Info info))                                               \
  X(MPI_File_set_size, (MPI_File fh, MPI_Offset size))                                             \
  X(MPI_File_set_view,                                                                             \
    (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char*          \
     datarep, MPI_Info info))                                                                      \
  X(MPI_File_sync, (MPI_File fh))                                                                  \
  X(MPI_File_write,                                                                                \
    (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status))          \
  X(MPI_File_write_c,                                                                              \
    (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status))    \
  X(MPI_File_write_all,                                                                            \
    (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status))          \
  X(MPI_File_write_all_c,                                                                          \
    (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status))    \
  X(MPI_File_write_all_begin, (MPI_File fh, const void* buf, int count, MPI_Datatype datatype))    \
  X(MPI_File_write_all_begin_c,                                                                    \
    (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype))                        \
  X(MPI_File_write_all_end, (MPI_File fh, const void* buf, MPI_Status* status))                    \
  X(MPI_File_write_at,                                                                             \
    (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,            \
     MPI_Status* status))                                                                          \
  X(MPI_File_write_at_c,                                                                           \
    (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype,      \
     MPI_Status* status))                                                                          \
  X(MPI_File_write_at_all,                                                                         \
    (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,            \
     MPI_Status* status))                                                                          \
  X(MPI_File_write_at_all_c,                                                                       \
    (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype,      \
     MPI_Status* status))                                                                          \
  X(MPI_File_write_at_all_begin,                                                                   \
    (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype))           \
  X(MPI_File_write_at_all_begin_c,                                                                 \
    (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count, MPI_Datatype datatype))     \
  X(MPI_File_write_at_all_end, (MPI_File fh, const void* buf, MPI_Status* status))                 \
  X(MPI_File_write_ordered,                                                                        \
    (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status))          \
  X(MPI_File_write_ordered_c,                                                                      \
    (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status))    \
  X(MPI_File_write_ordered_begin,                                                                  \
    (MPI_File fh, const void* buf, int count, MPI_Datatype datatype))                              \
  X(MPI_File_write_ordered_begin_c,                                                                \
    (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype))                        \
  X(MPI_File_write_ordered_end, (MPI_File fh, const void* buf, MPI_Status* status))                \
  X(MPI_File_write_shared,                                                                         \
    (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status))          \
  X(MPI_File_write_shared_c,                                                                       \
    (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Status* status))    \
  X(MPI_Register_datarep,                                                                          \
    (const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,                     \
     MPI_Datarep_conversion_function* write_conversion_fn, MPI_Datarep_extent_function*            \
     dtype_file_extent_fn, void* extra_state))                                                     \
  X(MPI_Register_datarep_c,                                                                        \
    (const char* datarep, MPI_Datarep_conversion_function_c* read_conversion_fn,                   \
     MPI_Datarep_conversion_function_c* write_conversion_fn, MPI_Datarep_extent_function*          \
     dtype_file_extent_fn, void* extra_state))

#define WEFT_MPI_SESSIONS(X)                                                                       \
  X(MPI_Comm_create_from_group,                                                                    \
    (MPI_Group group, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm*   \
     newcomm))                                                                                     \
  X(MPI_Group_from_session_pset,                                                                   \
    (MPI_Session session, const char* pset_name, MPI_Group* newgroup))                             \
  X(MPI_Intercomm_create_from_groups,                                                              \
    (MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader, const     \
     char* stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* newintercomm))           \
  X(MPI_Session_attach_buffer, (MPI_Session session, void* buffer, int size))                      \
  X(MPI_Session_attach_buffer_c, (MPI_Session session, void* buffer, MPI_Count size))              \
  X(MPI_Session_call_errhandler, (MPI_Session session, int errorcode))                             \
  X(MPI_Session_create_errhandler,                                                                 \
    (MPI_Session_errhandler_function* session_errhandler_fn, MPI_Errhandler* errhandler))          \
  X(MPI_Session_detach_buffer, (MPI_Session session, void* buffer_addr, int* size))                \
  X(MPI_Session_detach_buffer_c, (MPI_Session session, void* buffer_addr, MPI_Count* size))        \
  X(MPI_Session_finalize, (MPI_Session* session))                                                  \
  X(MPI_Session_flush_buffer, (MPI_Session session))                                               \
  X(MPI_Session_get_errhandler, (MPI_Session session, MPI_Errhandler* errhandler))                 \
  X(MPI_Session_get_info, (MPI_Session session, MPI_Info* info_used))                              \
  X(MPI_Session_get_nth_pset,                                                                      \
    (MPI_Session session, MPI_Info info, int n, int* pset_len, char* pset_name))                   \
  X(MPI_Session_get_num_psets, (MPI_Session session, MPI_Info info, int* npset_names))             \
  X(MPI_Session_get_pset_info, (MPI_Session session, const char* pset_name, MPI_Info* info))       \
  X(MPI_Session_iflush_buffer, (MPI_Session session, MPI_Request* request))                        \
  X(MPI_Session_init, (MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session))            \
  X(MPI_Session_set_errhandler, (MPI_Session session, MPI_Errhandler errhandler))

#define WEFT_MPI_DYNAMIC_PROCESSES(X)                                                              \
  X(MPI_Close_port, (const char* port_name))                                                       \
  X(MPI_Comm_accept,                                                                               \
    (const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm))            \
  X(MPI_Comm_connect,                                                                              \
    (const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm))            \
  X(MPI_Comm_join, (int fd, MPI_Comm* intercomm))                                                  \
  X(MPI_Comm_spawn,                                                                                \
    (const char* command, char* argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,      \
     MPI_Comm* intercomm, int array_of_errcodes[]))                                                \
  X(MPI_Comm_spawn_multiple,                                                                       \
    (int count, char* array_of_commands[], char** array_of_argv[], const int                       \
     array_of_maxprocs[], const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm*       \
     intercomm, int array_of_errcodes[]))                                                          \
  X(MPI_Lookup_name, (const char* service_name, MPI_Info info, char* port_name))                   \
  X(MPI_Open_port, (MPI_Info info, char* port_name))                                               \
  X(MPI_Publish_name, (const char* service_name, MPI_Info info, const char* port_name))            \
  X(MPI_Unpublish_name, (const char* service_name, MPI_Info info, const char* port_name))

#define WEFT_MPI_PARTITIONED_MESSAGES(X)                                                           \
  X(MPI_Parrived, (MPI_Request request, int partition, int* flag))                                 \
  X(MPI_Pready, (int partition, MPI_Request request))                                              \
  X(MPI_Pready_list, (int length, const int array_of_partitions[], MPI_Request request))           \
  X(MPI_Pready_range, (int partition_low, int partition_high, MPI_Request request))                \
  X(MPI_Precv_init,                                                                                \
    (void* buf, int partitions, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm      \
     comm, MPI_Info info, MPI_Request* request))                                                   \
  X(MPI_Precv_init_c,                                                                              \
    (void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,         \
     MPI_Comm comm, MPI_Info info, MPI_Request* request))                                          \
  X(MPI_Psend_init,                                                                                \
    (const void* buf, int partitions, int count, MPI_Datatype datatype, int dest, int tag,         \
     MPI_Comm comm, MPI_Info info, MPI_Request* request))                                          \
  X(MPI_Psend_init_c,                                                                              \
    (const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,   \
     MPI_Comm comm, MPI_Info info, MPI_Request* request))

/* X(error, name, parameters): what asks for a variable, category or event. */
#define WEFT_MPI_TOOLS(X)                                                                          \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_categories,                                        \
    (int cat_index, int len, int indices[]))                                                       \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_cvars, (int cat_index, int len, int indices[]))    \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_events, (int cat_index, int len, int indices[]))   \
  X(MPI_T_ERR_INVALID_NAME, MPI_T_category_get_index, (const char* name, int* cat_index))          \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_info,                                              \
    (int cat_index, char* name, int* name_len, char* desc, int* desc_len, int* num_cvars, int*     \
     num_pvars, int* num_categories))                                                              \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_num_events, (int cat_index, int* num_events))      \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_pvars, (int cat_index, int len, int indices[]))    \
  X(MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index, (const char* name, int* cvar_index))             \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_get_info,                                                  \
    (int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,            \
     MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope))                      \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_handle_alloc,                                              \
    (int cvar_index, void* obj_handle, MPI_T_cvar_handle* handle, int* count))                     \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free, (MPI_T_cvar_handle* handle))                 \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read, (MPI_T_cvar_handle handle, void* buf))              \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_write, (MPI_T_cvar_handle handle, const void* buf))       \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_enum_get_info,                                                 \
    (MPI_T_enum enumtype, int* num, char* name, int* name_len))                                    \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_enum_get_item,                                                 \
    (MPI_T_enum enumtype, int indx, int* value, char* name, int* name_len))                        \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_callback_get_info,                                       \
    (MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info*             \
     info_used))                                                                                   \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_callback_set_info,                                       \
    (MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info info))       \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_copy,                                                    \
    (MPI_T_event_instance event_instance, void* buffer))                                           \
  X(MPI_T_ERR_INVALID_NAME, MPI_T_event_get_index, (const char* name, int* event_index))           \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_event_get_info,                                                 \
    (int event_index, char* name, int* name_len, int* verbosity, MPI_Datatype                      \
     array_of_datatypes[], MPI_Aint array_of_displacements[], int* num_elements, MPI_T_enum*       \
     enumtype, MPI_Info* info, char* desc, int* desc_len, int* bind))                              \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_get_source,                                              \
    (MPI_T_event_instance event_instance, int* source_index))                                      \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_get_timestamp,                                           \
    (MPI_T_event_instance event_instance, MPI_Count* event_timestamp))                             \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_event_handle_alloc,                                             \
    (int event_index, void* obj_handle, MPI_Info info, MPI_T_event_registration*                   \
     event_registration))                                                                          \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_free,                                             \
    (MPI_T_event_registration event_registration, void* user_data, MPI_T_event_free_cb_function    \
     free_cb_function))                                                                            \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_get_info,                                         \
    (MPI_T_event_registration event_registration, MPI_Info* info_used))                            \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_set_info,                                         \
    (MPI_T_event_registration event_registration, MPI_Info info))                                  \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_read,                                                    \
    (MPI_T_event_instance event_instance, int element_index, void* buffer))                        \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_register_callback,                                       \
    (MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info info,        \
     void* user_data, MPI_T_event_cb_function event_cb_function))                                  \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_set_dropped_handler,                                     \
    (MPI_T_event_registration event_registration, MPI_T_event_dropped_cb_function                  \
     dropped_cb_function))                                                                         \
  X(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index,                                                  \
    (const char* name, int var_class, int* pvar_index))                                            \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_get_info,                                                  \
    (int pvar_index, char* name, int* name_len, int* verbosity, int* var_class, MPI_Datatype*      \
     datatype, MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* readonly, int*     \
     continuous, int* atomic))                                                                     \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_handle_alloc,                                              \
    (MPI_T_pvar_session session, int pvar_index, void* obj_handle, MPI_T_pvar_handle* handle,      \
     int* count))                                                                                  \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free,                                              \
    (MPI_T_pvar_session session, MPI_T_pvar_handle* handle))                                       \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read,                                                     \
    (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf))                             \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_readreset,                                                \
    (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf))                             \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_reset,                                                    \
    (MPI_T_pvar_session session, MPI_T_pvar_handle handle))                                        \
  X(MPI_T_ERR_OUT_OF_SESSIONS, MPI_T_pvar_session_create, (MPI_T_pvar_session* session))           \
  X(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free, (MPI_T_pvar_session* session))             \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_start,                                                    \
    (MPI_T_pvar_session session, MPI_T_pvar_handle handle))                                        \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_stop,                                                     \
    (MPI_T_pvar_session session, MPI_T_pvar_handle handle))                                        \
  X(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_write,                                                    \
    (MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf))                       \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_source_get_info,                                                \
    (int source_index, char* name, int* name_len, char* desc, int* desc_len, MPI_T_source_order*   \
     ordering, MPI_Count* ticks_per_second, MPI_Count* max_ticks, MPI_Info* info))                 \
  X(MPI_T_ERR_INVALID_INDEX, MPI_T_source_get_timestamp, (int source_index, MPI_Count* timestamp))

#endif
