/* The functions of an older interface that keep something for the rank: which functions of the program MPI is to call. MPI
   calls one here, which converts and calls that of the program. Each copy of a program has a copy of the library that this file is in
   (libweft-process-mpich.so, libmpi.so.40): so what is static here is a rank's own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "functions.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of which language's bindings the library is that calls. The functions that the one for Fortran hands over take all by reference, and
   return their code by their last argument. */
enum language { language_c, language_cxx, language_fortran };
static enum language language_of(const void* caller) {
  struct dl_find_object of; /* dladdr() does not know all copies of a program. */
  if (_dl_find_object((void*)(uintptr_t)caller, &of) != 0) return language_c;
  const char* const name = of.dlfo_link_map->l_name;
  return strstr(name, older_cxx_library) != NULL ? language_cxx : strstr(name, older_fortran_library) != NULL ? language_fortran : language_c;
}

/* --- Operations and error handlers ---------------------------------------------------------------------------------------------------- */

/* Their functions are given nothing in which a function here could find which of the program's is meant. So a table holds as
   many functions as a rank may have: number n converts and calls function n of the program. One keeps its place for good: MPI_Op_free
   and MPI_Errhandler_free do not end its use, since collectives under way and communicators still have it. All operations that
   are made of one function share its place. */
enum { functions_max = 64 };
#define EIGHT(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7)
#define ALL(M) EIGHT(M, 0) EIGHT(M, 01) EIGHT(M, 02) EIGHT(M, 03) EIGHT(M, 04) EIGHT(M, 05) EIGHT(M, 06) EIGHT(M, 07)

typedef void any_function(void);
/* The program's functions of one kind, each language's in places of their own: the library for C++ says, right after it has
   made the operation or handler, which function of its own is to be called in place of the program's. */
struct known {
  any_function* function;
  any_function* proxy;
  enum language language;
  uintptr_t handle; /* The latest operation or handler that was made of it; 0: none, or another one has this handle now. */
};
static struct known operations[functions_max], large_operations[functions_max], comm_handlers[functions_max],
    file_handlers[functions_max], win_handlers[functions_max], session_handlers[functions_max];

/* The place of `function`, which is new where no other one has it; -1: there is no room, and the error handler has been called. */
static int place_of(struct known* all, any_function* function, enum language language, const char* call) {
  pthread_mutex_lock(&lock);
  int n = 0;
  while (n < functions_max && all[n].function != NULL && (all[n].function != function || all[n].language != language)) ++n;
  if (n < functions_max) all[n].function = function, all[n].language = language;
  pthread_mutex_unlock(&lock);
  if (n < functions_max) return n;
  fprintf(stderr, "%s: %d functions of the program are known already, more cannot be\n", call, functions_max);
  weft_abi_MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER);
  return -1;
}

/* What was made of function n has this handle, which one may have had that has been freed. */
static void note_handle(struct known* all, int n, uintptr_t handle) {
  struct known* const of_operations[] = {operations, large_operations, NULL};
  struct known* const of_handlers[] = {comm_handlers, file_handlers, win_handlers, session_handlers, NULL};
  pthread_mutex_lock(&lock);
  for (struct known* const* kind = all == operations || all == large_operations ? of_operations : of_handlers; *kind != NULL; ++kind)
    for (int i = 0; i < functions_max; ++i)
      if ((*kind)[i].handle == handle) (*kind)[i].handle = 0;
  all[n].handle = handle;
  pthread_mutex_unlock(&lock);
}

typedef void operation_of_program(void*, void*, int*, older_handle*);
typedef void large_operation_of_program(void*, void*, MPI_Count*, older_handle*);
typedef void operation_of_fortran(void*, void*, int*, int*);

static void call_operation(int n, void* in, void* inout, int* count, MPI_Datatype* datatype) {
  older_handle type = type_out(*datatype);
  if (operations[n].proxy != NULL) {
    call_cxx_operation(operations[n].proxy, in, inout, count, &type, operations[n].function);
  } else if (operations[n].language == language_fortran) {
    int number = type_to_integer(type);
    ((operation_of_fortran*)operations[n].function)(in, inout, count, &number);
  } else
    ((operation_of_program*)operations[n].function)(in, inout, count, &type);
}
static void call_large_operation(int n, void* in, void* inout, MPI_Count* count, MPI_Datatype* datatype) {
  older_handle type = type_out(*datatype);
  ((large_operation_of_program*)large_operations[n].function)(in, inout, count, &type);
}
#define OPERATION(n)                                                                                \
  static void operation_##n(void* in, void* inout, int* count, MPI_Datatype* type) { call_operation(n, in, inout, count, type); }
#define LARGE_OPERATION(n)                                                                          \
  static void large_operation_##n(void* in, void* inout, MPI_Count* count, MPI_Datatype* type) { call_large_operation(n, in, inout, count, type); }
#define OPERATION_NAME(n) operation_##n,
#define LARGE_OPERATION_NAME(n) large_operation_##n,
ALL(OPERATION)
ALL(LARGE_OPERATION)
static MPI_User_function* const operation_functions[functions_max] = {ALL(OPERATION_NAME)};
static MPI_User_function_c* const large_operation_functions[functions_max] = {ALL(LARGE_OPERATION_NAME)};

#define CREATE_OPERATION(name, table, functions)                                                               \
  OLDER_FUNCTION(int, name, (any_function* user_fn, int commute, older_handle* op)) {                                   \
    MPI_Op made = (MPI_Op)0;                                                                                   \
    const enum language language = language_of(__builtin_return_address(0));                                   \
    const int n = user_fn == NULL ? 0 : place_of(table, user_fn, language, #name);                             \
    if (n < 0) return error_out(MPI_ERR_OTHER);                                                                \
    const int error = weft_abi_##name(user_fn == NULL ? NULL : functions[n], commute, op == NULL ? NULL : &made); \
    if (made == (MPI_Op)0) return error_out(error);                                                            \
    note_handle(table, n, (uintptr_t)made);                                                                    \
    *op = op_out(made);                                                                                        \
    return error_out(error);                                                                                   \
  }
CREATE_OPERATION(MPI_Op_create, operations, operation_functions)
CREATE_OPERATION(MPI_Op_create_c, large_operations, large_operation_functions)

/* Error handlers of each kind. A proxy is told the kind: 0 communicators, 1 files, 2 windows. */
typedef void handler_of_fortran(int*, int*);
#define HANDLERS(kind, Handle, Theirs, out, Kind, number)                                                          \
  typedef void kind##_handler(Theirs*, int*, ...);                                                                 \
  static void call_##kind##_handler(int n, Handle* handle, int* code) {                                            \
    Theirs given = out(*handle);                                                                                   \
    const int given_code = error_out(*code);                                                                       \
    int their_code = given_code;                                                                                   \
    if (kind##_handlers[n].proxy != NULL) {                                                                        \
      call_cxx_handler(kind##_handlers[n].proxy, number, &given, &their_code, kind##_handlers[n].function);        \
    } else if (kind##_handlers[n].language == language_fortran) {                                                  \
      int handle_number = kind##_to_integer(given);                                                                \
      ((handler_of_fortran*)kind##_handlers[n].function)(&handle_number, &their_code);                             \
    } else                                                                                                         \
      ((kind##_handler*)kind##_handlers[n].function)(&given, &their_code);                                         \
    if (their_code != given_code) *code = returned_in(their_code);                                                 \
  }                                                                                                                \
  ALL(HANDLER_OF_##kind)                                                                                           \
  static Kind* const kind##_handler_functions[functions_max] = {ALL(HANDLER_NAME_##kind)};                         \
  static int create_##kind##_handler(any_function* function, older_handle* errhandler, const char* call, enum language language, \
                                     int (*create)(Kind*, MPI_Errhandler*)) {                                      \
    MPI_Errhandler made = (MPI_Errhandler)0;                                                                       \
    const int n = function == NULL ? 0 : place_of(kind##_handlers, function, language, call);                      \
    if (n < 0) return error_out(MPI_ERR_OTHER);                                                                    \
    const int error = create(function == NULL ? NULL : kind##_handler_functions[n], errhandler == NULL ? NULL : &made); \
    if (made == (MPI_Errhandler)0) return error_out(error);                                                        \
    note_handle(kind##_handlers, n, (uintptr_t)made);                                                              \
    *errhandler = errhandler_out(made);                                                                            \
    return error_out(error);                                                                                       \
  }
#define HANDLER_OF_comm(n) static void comm_handler_##n(MPI_Comm* of, int* code, ...) { call_comm_handler(n, of, code); }
#define HANDLER_OF_file(n) static void file_handler_##n(MPI_File* of, int* code, ...) { call_file_handler(n, of, code); }
#define HANDLER_OF_win(n) static void win_handler_##n(MPI_Win* of, int* code, ...) { call_win_handler(n, of, code); }
#define HANDLER_OF_session(n) static void session_handler_##n(MPI_Session* of, int* code, ...) { call_session_handler(n, of, code); }
#define HANDLER_NAME_comm(n) comm_handler_##n,
#define HANDLER_NAME_file(n) file_handler_##n,
#define HANDLER_NAME_win(n) win_handler_##n,
#define HANDLER_NAME_session(n) session_handler_##n,
HANDLERS(comm, MPI_Comm, older_handle, comm_out, MPI_Comm_errhandler_function, 0)
HANDLERS(file, MPI_File, void*, file_out, MPI_File_errhandler_function, 1)
HANDLERS(win, MPI_Win, older_handle, win_out, MPI_Win_errhandler_function, 2)
HANDLERS(session, MPI_Session, older_handle, session_out, MPI_Session_errhandler_function, 3)

#define CREATE_HANDLER(name, kind, made_by)                                                                           \
  OLDER_FUNCTION(int, name, (any_function* function, older_handle* errhandler)) {                                              \
    return create_##kind##_handler(function, errhandler, #name, language_of(__builtin_return_address(0)), weft_abi_##made_by);     \
  }
CREATE_HANDLER(MPI_Comm_create_errhandler, comm, MPI_Comm_create_errhandler)
CREATE_HANDLER(MPI_Errhandler_create, comm, MPI_Comm_create_errhandler)
CREATE_HANDLER(MPI_File_create_errhandler, file, MPI_File_create_errhandler)
CREATE_HANDLER(MPI_Win_create_errhandler, win, MPI_Win_create_errhandler)
CREATE_HANDLER(MPI_Session_create_errhandler, session, MPI_Session_create_errhandler)

/* --- Keys of attributes ----------------------------------------------------------------------------------------------------------------- */

typedef int copy_of_program(older_handle, int, void*, void*, void*, int*);
typedef int delete_of_program(older_handle, int, void*, void*);
/* A library for Fortran, or for C++, calls the program's function itself. */
typedef int copy_proxy(any_function*, older_handle, int, void*, int kind, void*, void**, int*);
typedef int delete_proxy(any_function*, older_handle, int, int kind, void*, void*);

/* It lives as long as attributes may be under the key, which is as long as the program may run. */
struct key {
  any_function *copy, *remove;
  void* extra_state;
  copy_proxy* copies;
  delete_proxy* removes;
  int number;
  struct key* next;
};
static struct key* keys;

static int copy_attribute(const struct key* k, older_handle handle, int keyval, void* value, void* copy, int* flag) {
  *flag = 0;
  if (k->copy == NULL) return MPI_SUCCESS;
  if (k->copies != NULL)
    return returned_in(k->copies(k->copy, handle, keyval, k->extra_state, older_kind_of_proxy, value, copy, flag));
  return returned_in(((copy_of_program*)k->copy)(handle, keyval, k->extra_state, value, copy, flag));
}
static int delete_attribute(const struct key* k, older_handle handle, int keyval, void* value) {
  if (k->remove == NULL) return MPI_SUCCESS;
  if (k->removes != NULL) return returned_in(k->removes(k->remove, handle, keyval, older_kind_of_proxy, value, k->extra_state));
  return returned_in(((delete_of_program*)k->remove)(handle, keyval, value, k->extra_state));
}

#define KEYS(kind, Handle, Name)                                                                                              \
  static int copy_of_##kind(Handle of, int keyval, void* k, void* value, void* copy, int* flag) {                             \
    return copy_attribute(k, kind##_out(of), keyval, value, copy, flag);                                                      \
  }                                                                                                                           \
  static int delete_of_##kind(Handle of, int keyval, void* value, void* k) {                                                  \
    return delete_attribute(k, kind##_out(of), keyval, value);                                                                \
  }                                                                                                                           \
  static int create_key_of_##kind(any_function* copy, any_function* remove, int* keyval, void* extra_state) {                 \
    struct key* const k = older_memory(1, sizeof *k);                                                                         \
    *k = (struct key){copy, remove, extra_state, NULL, NULL, MPI_KEYVAL_INVALID, NULL};                                       \
    const int error = weft_abi_MPI_##Name##_create_keyval(copy_of_##kind, delete_of_##kind, keyval == NULL ? NULL : &k->number, k); \
    if (error != MPI_SUCCESS) {                                                                                               \
      free(k);                                                                                                                \
      return error_out(error);                                                                                                \
    }                                                                                                                         \
    *keyval = k->number;                                                                                                      \
    pthread_mutex_lock(&lock);                                                                                                \
    k->next = keys;                                                                                                           \
    keys = k;                                                                                                                 \
    pthread_mutex_unlock(&lock);                                                                                              \
    return MPI_SUCCESS;                                                                                                       \
  }
KEYS(comm, MPI_Comm, Comm)
KEYS(type, MPI_Datatype, Type)
KEYS(win, MPI_Win, Win)

#define CREATE_KEYVAL(name, kind)                                                                                 \
  OLDER_FUNCTION(int, name, (any_function* copy_fn, any_function* delete_fn, int* keyval, void* extra_state)) {   \
    return create_key_of_##kind(copy_fn, delete_fn, keyval, extra_state);                                         \
  }
CREATE_KEYVAL(MPI_Comm_create_keyval, comm)
CREATE_KEYVAL(MPI_Keyval_create, comm)
CREATE_KEYVAL(MPI_Type_create_keyval, type)
CREATE_KEYVAL(MPI_Win_create_keyval, win)

/* What the library for Fortran, or for C++, has for the functions of a key. */
static void set_key_proxies(int keyval, copy_proxy* copies, delete_proxy* removes) {
  pthread_mutex_lock(&lock);
  struct key* k = keys;
  while (k != NULL && k->number != keyval) k = k->next;
  if (k != NULL) k->copies = copies, k->removes = removes;
  pthread_mutex_unlock(&lock);
}

/* Attributes whose values are constants, or numbers that differ: the program gets the address of another integer. What is an
   attribute of a window has one for each value, since windows differ; what is one of communicators is the same for all. */
static void predefined_value(int keyval, void* attribute_val) {
  static int io, host, last_code, flavors[] = {0, 1, 2, 3, 4}, models[] = {OLDER_WIN_SEPARATE, OLDER_WIN_UNIFIED};
  int** const value = attribute_val;
  switch (keyval) {
    case MPI_IO: io = rank_out(**value), *value = &io; break;
    case MPI_HOST: host = rank_out(**value), *value = &host; break;
    case MPI_LASTUSEDCODE: last_code = error_out(**value), *value = &last_code; break;
    case MPI_WIN_CREATE_FLAVOR: *value = &flavors[**value - MPI_WIN_FLAVOR_CREATE + 1]; break;
    case MPI_WIN_MODEL: *value = &models[**value == MPI_WIN_SEPARATE ? 0 : 1]; break;
    default: break;
  }
}

#define GET_ATTRIBUTE(name, kind)                                                                       \
  OLDER_FUNCTION(int, name, (older_handle of, int keyval, void* attribute_val, int* flag)) {                     \
    const int key = key_in(keyval);                                                                     \
    const int error = weft_abi_##name(kind##_in(of), key, attribute_val, flag);                         \
    if (error == MPI_SUCCESS && *flag) predefined_value(key, attribute_val);                            \
    return error_out(error);                                                                            \
  }
GET_ATTRIBUTE(MPI_Comm_get_attr, comm)
GET_ATTRIBUTE(MPI_Attr_get, comm)
GET_ATTRIBUTE(MPI_Win_get_attr, win)

/* --- Requests that the program completes, and representations of data: they are given a state ------------------------------------------- */

struct own_request {
  int (*query)(void*, older_status*);
  int (*free)(void*);
  int (*cancel)(void*, int);
  void* extra_state;
  older_handle handle;
  int is_of_fortran;  /* Its functions return their code by their last argument. */
  struct own_request* next;
};
static struct own_request* own_requests;
typedef void query_of_fortran(void*, older_status*, int*);
typedef void free_of_fortran(void*, int*);
typedef void cancel_of_fortran(void*, int*, int*);

static int query_request(void* of, MPI_Status* status) {
  const struct own_request* const own = of;
  older_status theirs;
  memset(&theirs, 0, sizeof theirs);
  status_out(status, &theirs); /* What the function leaves alone. */
  int error = MPI_SUCCESS;
  if (own->is_of_fortran)
    ((query_of_fortran*)(any_function*)own->query)(own->extra_state, &theirs, &error);
  else
    error = own->query(own->extra_state, &theirs);
  if (error == MPI_SUCCESS) status_in(&theirs, status);
  return returned_in(error);
}
static int free_request(void* of) {
  struct own_request* const own = of;
  pthread_mutex_lock(&lock);
  struct own_request** at = &own_requests;
  while (*at != NULL && *at != own) at = &(*at)->next;
  if (*at != NULL) *at = own->next;
  pthread_mutex_unlock(&lock);
  int error = MPI_SUCCESS;
  if (own->is_of_fortran)
    ((free_of_fortran*)(any_function*)own->free)(own->extra_state, &error);
  else
    error = own->free(own->extra_state);
  free(own);
  return returned_in(error);
}
static int cancel_request(void* of, int complete) {
  const struct own_request* const own = of;
  int error = MPI_SUCCESS;
  if (own->is_of_fortran)
    ((cancel_of_fortran*)(any_function*)own->cancel)(own->extra_state, &complete, &error);
  else
    error = own->cancel(own->extra_state, complete);
  return returned_in(error);
}

OLDER_FUNCTION(int, MPI_Grequest_start,
               (int (*query_fn)(void*, older_status*), int (*free_fn)(void*), int (*cancel_fn)(void*, int), void* extra_state,
                older_handle* request)) {
  struct own_request* const own = older_memory(1, sizeof *own);
  *own = (struct own_request){query_fn, free_fn, cancel_fn, extra_state, OLDER_REQUEST_NULL,
                              language_of(__builtin_return_address(0)) == language_fortran, NULL};
  MPI_Request made = (MPI_Request)0;
  const int error = weft_abi_MPI_Grequest_start(query_fn == NULL ? NULL : query_request, free_fn == NULL ? NULL : free_request,
                                                cancel_fn == NULL ? NULL : cancel_request, own, request == NULL ? NULL : &made);
  if (made == (MPI_Request)0) {
    free(own);
    return error_out(error);
  }
  *request = own->handle = own->is_of_fortran ? fortran_request_out(made) : request_out(made);
  pthread_mutex_lock(&lock);
  own->next = own_requests;
  own_requests = own;
  pthread_mutex_unlock(&lock);
  return error_out(error);
}
/* It lives as long as the program. */
struct representation {
  any_function *read, *write, *extent;
  void* extra_state;
  int is_of_fortran;
};
typedef int extent_of_program(older_handle, MPI_Aint*, void*);
typedef void extent_of_fortran(int*, MPI_Aint*, void*, int*);
static int extent_in_file(MPI_Datatype type, MPI_Aint* extent, void* of) {
  const struct representation* const r = of;
  const older_handle handle = type_out(type);
  int number = r->is_of_fortran ? type_to_integer(handle) : 0, error = MPI_SUCCESS;
  if (r->is_of_fortran)
    ((extent_of_fortran*)r->extent)(&number, extent, r->extra_state, &error);
  else
    error = ((extent_of_program*)r->extent)(handle, extent, r->extra_state);
  return returned_in(error);
}

#define CONVERT(name, Count, function)                                                                                            \
  typedef int name##_of_program(void*, older_handle, Count, void*, MPI_Offset, void*);                                                      \
  typedef void name##_of_fortran(void*, int*, Count*, void*, MPI_Offset*, void*, int*);                                          \
  static int name(void* buffer, MPI_Datatype type, Count count, void* file, MPI_Offset position, void* of) {                     \
    const struct representation* const r = of;                                                                                   \
    const older_handle handle = type_out(type);                                                                                  \
    int number = r->is_of_fortran ? type_to_integer(handle) : 0, error = MPI_SUCCESS;                                            \
    if (r->is_of_fortran)                                                                                                        \
      ((name##_of_fortran*)r->function)(buffer, &number, &count, file, &position, r->extra_state, &error);                       \
    else                                                                                                                         \
      error = ((name##_of_program*)r->function)(buffer, handle, count, file, position, r->extra_state);                            \
    return returned_in(error);                                                                                                      \
  }
CONVERT(convert_reading, int, read)
CONVERT(convert_writing, int, write)
CONVERT(convert_reading_c, MPI_Count, read)
CONVERT(convert_writing_c, MPI_Count, write)

#define REGISTER(name, ending)                                                                                                     \
  OLDER_FUNCTION(int, name, (const char* datarep, any_function* read, any_function* write, any_function* extent, void* extra_state)) { \
    struct representation* const r = older_memory(1, sizeof *r);                                                                   \
    *r = (struct representation){read, write, extent, extra_state,                                                    \
                                older_fortran_datareps && language_of(__builtin_return_address(0)) == language_fortran};                                     \
    const int error = weft_abi_##name(datarep, read == NULL ? NULL : convert_reading##ending,                                      \
                                      write == NULL ? NULL : convert_writing##ending, extent == NULL ? NULL : extent_in_file, r);  \
    if (error != MPI_SUCCESS) free(r);                                                                                             \
    return error_out(error);                                                                                                       \
  }
REGISTER(MPI_Register_datarep, )
REGISTER(MPI_Register_datarep_c, _c)

/* What the interface has for its own libraries for Fortran and C++, and variables. */
#include "own_of_rank.h"
