/* What Open MPI's interface has for a rank alone: functions and variables of its library that its libraries for Fortran and C++ use. A
   part of of_rank.c, whose tables it uses. */
/* --- Fortran ---------------------------------------------------------------------------------------------------------------------------- */

extern void ompi_wait_f(void);
extern WEFT_HIDDEN void openmpi_own_wait(void);

/* Almost each function of the library for Fortran calls this. Where the loader has found that library's before those of fortran.c, they
   would read weft's objects as Open MPI's. */
OLDER_FUNCTION(older_handle, MPI_Comm_f2c, (int number)) {
  if (__builtin_expect(ompi_wait_f != openmpi_own_wait, 0) && language_of(__builtin_return_address(0)) == language_fortran) {
    struct dl_find_object of;
    const int is_known = _dl_find_object((void*)(uintptr_t)openmpi_own_wait, &of) == 0;
    const char* const path = is_known ? of.dlfo_link_map->l_name : "";
    const char* const name = strrchr(path, '/');
    fprintf(stderr,
            "weft: a program in Fortran for Open MPI (libmpi.so.40) was started without weft's library before the others: start it by "
            "weftrun, or set LD_PRELOAD=%.*s/libmpi.so.40\n",
            name != NULL ? (int)(name - path) : 0, path);
    _exit(1);
  }
  return comm_of_integer(number);
}

/* --- Error handlers and operations ---------------------------------------------------------------------------------------------------- */

/* Functions of the library for C++ that call the program's, where there is that library. */
extern void ompi_mpi_cxx_comm_errhandler_invoke(void) __attribute__((weak));
extern void ompi_mpi_cxx_win_errhandler_invoke(void) __attribute__((weak));
extern void ompi_mpi_cxx_file_errhandler_invoke(void) __attribute__((weak));
extern void ompi_mpi_cxx_op_intercept(void) __attribute__((weak));

static older_handle handler_with_room(struct known* all, int error, older_handle made, any_function* proxy, int language) {
  if (error != MPI_SUCCESS) return errhandler_out(MPI_ERRHANDLER_NULL);
  const uintptr_t handle = (uintptr_t)errhandler_in(made);
  pthread_mutex_lock(&lock);
  for (int n = 0; n < functions_max; ++n)
    if (all[n].handle == handle && language == language_cxx) all[n].proxy = proxy;
  pthread_mutex_unlock(&lock);
  return openmpi_object_of(openmpi_errhandler, handle);
}
older_handle ompi_errhandler_create(int kind, any_function* function, int language) {
  older_handle made = NULL;
  int error = MPI_SUCCESS;
  switch (kind) {
    case 1:
      error = create_comm_handler(function, &made, "MPI_Comm_create_errhandler", (enum language)language, weft_abi_MPI_Comm_create_errhandler);
      return handler_with_room(comm_handlers, error, made, ompi_mpi_cxx_comm_errhandler_invoke, language);
    case 2:
      error = create_win_handler(function, &made, "MPI_Win_create_errhandler", (enum language)language, weft_abi_MPI_Win_create_errhandler);
      return handler_with_room(win_handlers, error, made, ompi_mpi_cxx_win_errhandler_invoke, language);
    default:
      error = create_file_handler(function, &made, "MPI_File_create_errhandler", (enum language)language, weft_abi_MPI_File_create_errhandler);
      return handler_with_room(file_handlers, error, made, ompi_mpi_cxx_file_errhandler_invoke, language);
  }
}

/* The error of a call that one of these libraries has refused itself. Its handler and kind are read out of the object, and mean nothing. */
int ompi_errhandler_invoke(void* handler, older_handle object, int kind, int code, const char* call) {
  (void)handler, (void)kind, (void)call;
  if (object == file_out(MPI_FILE_NULL))
    weft_abi_MPI_File_call_errhandler(MPI_FILE_NULL, error_in(code));
  else
    weft_abi_MPI_Comm_call_errhandler(object == NULL ? MPI_COMM_WORLD : comm_in(object), error_in(code));
  return code;
}
void ompi_mpi_errors_are_fatal_comm_handler(older_handle* comm, int* code, ...) {
  (void)comm;
  weft_abi_MPI_Abort(MPI_COMM_WORLD, code == NULL ? MPI_ERR_OTHER : *code);
}

/* An operation of C++ was made, by code of the program's own, of the library's function for it: now the program's function is told. */
void ompi_op_set_cxx_callback(older_handle op, any_function* function) {
  struct openmpi_object* const object = op;
  MPI_Op before = op_in(op), made = MPI_OP_NULL;
  const int n = place_of(operations, function, language_cxx, "MPI_Op_create");
  int commutes = 0;
  weft_abi_MPI_Op_commutative(before, &commutes);
  if (n >= 0) operations[n].proxy = ompi_mpi_cxx_op_intercept;
  if (n < 0 || weft_abi_MPI_Op_create(operation_functions[n], commutes, &made) != MPI_SUCCESS) made = MPI_OP_NULL;
  if (made != MPI_OP_NULL) note_handle(operations, n, (uintptr_t)made);
  /* Without the program's function it is none: whoever calls by it is told so. */
  object->handle = (uintptr_t)made;
  weft_abi_MPI_Op_free(&before);
}

/* --- Keys and attributes -------------------------------------------------------------------------------------------------------------- */

/* Functions of Fortran for keys: values are integers of Fortran (MPI-1), or as wide as addresses. */
#define FORTRAN_KEY(kind, width, Value)                                                                                        \
  typedef void copy_##kind##_##width##_function(int*, int*, Value*, Value*, Value*, int*, int*);                               \
  typedef void delete_##kind##_##width##_function(int*, int*, Value*, Value*, int*);                                           \
  static int copy_##kind##_##width(any_function* function, older_handle of, int keyval, void* extra_state, int how, void* value, \
                                   void** copy, int* flag) {                                                                   \
    int number = kind##_to_integer(of), key = key_out(keyval), error = MPI_SUCCESS, is_copied = 0;                             \
    Value extra = (Value)(intptr_t)extra_state, given = (Value)(intptr_t)value, made = 0;                                      \
    (void)how;                                                                                                                 \
    ((copy_##kind##_##width##_function*)function)(&number, &key, &extra, &given, &made, &is_copied, &error);                   \
    *flag = is_copied != 0;                                                                                                    \
    if (*flag) *copy = (void*)(intptr_t)made;                                                                                  \
    return error;                                                                                                              \
  }                                                                                                                            \
  static int delete_##kind##_##width(any_function* function, older_handle of, int keyval, int how, void* value, void* extra_state) { \
    int number = kind##_to_integer(of), key = key_out(keyval), error = MPI_SUCCESS;                                            \
    Value extra = (Value)(intptr_t)extra_state, given = (Value)(intptr_t)value;                                                \
    (void)how;                                                                                                                 \
    ((delete_##kind##_##width##_function*)function)(&number, &key, &given, &extra, &error);                                    \
    return error;                                                                                                              \
  }
FORTRAN_KEY(comm, fint, int)
FORTRAN_KEY(comm, aint, MPI_Aint)
FORTRAN_KEY(type, aint, MPI_Aint)
FORTRAN_KEY(win, aint, MPI_Aint)

/* Kinds of attributes: 1 communicators, 2 datatypes, 3 windows. */
static int create_key(int kind, any_function* copy, any_function* remove, int* keyval, void* extra_state) {
  return kind == 1   ? create_key_of_comm(copy, remove, keyval, extra_state)
         : kind == 2 ? create_key_of_type(copy, remove, keyval, extra_state)
                     : create_key_of_win(copy, remove, keyval, extra_state);
}
int ompi_attr_create_keyval(int kind, any_function* copy, any_function* remove, int* keyval, void* extra_state, int flags, void* bindings) {
  (void)flags, (void)bindings;
  return create_key(kind, copy, remove, keyval, extra_state);
}
int ompi_attr_create_keyval_fint(int kind, any_function* copy, any_function* remove, int* keyval, int extra_state, int flags, void* bindings) {
  (void)flags, (void)bindings;
  const int error = create_key(kind, copy, remove, keyval, (void*)(intptr_t)extra_state);
  if (error == MPI_SUCCESS) set_key_proxies(*keyval, copy_comm_fint, delete_comm_fint);
  return error;
}
int ompi_attr_create_keyval_aint(int kind, any_function* copy, any_function* remove, int* keyval, MPI_Aint extra_state, int flags, void* bindings) {
  (void)flags, (void)bindings;
  const int error = create_key(kind, copy, remove, keyval, (void*)extra_state);
  if (error == MPI_SUCCESS)
    set_key_proxies(*keyval, kind == 1 ? copy_comm_aint : kind == 2 ? copy_type_aint : copy_win_aint,
                    kind == 1 ? delete_comm_aint : kind == 2 ? delete_type_aint : delete_win_aint);
  return error;
}

int ompi_attr_set_aint(int kind, older_handle of, void* table, int keyval, MPI_Aint value, int is_predefined) {
  (void)table, (void)is_predefined;
  const int key = key_in(keyval);
  return error_out(kind == 1   ? weft_abi_MPI_Comm_set_attr(comm_in(of), key, (void*)value)
                   : kind == 2 ? weft_abi_MPI_Type_set_attr(type_in(of), key, (void*)value)
                               : weft_abi_MPI_Win_set_attr(win_in(of), key, (void*)value));
}
int ompi_attr_set_fint(int kind, older_handle of, void* table, int keyval, int value, int is_predefined) {
  return ompi_attr_set_aint(kind, of, table, keyval, value, is_predefined);
}

/* Where fortran.c stands before the library for Fortran, nobody calls these, which are asked by an address out of an object. */
int ompi_attr_get_aint(void* table, int keyval, MPI_Aint* value, int* flag) {
  (void)table, (void)keyval, (void)value;
  *flag = 0;
  return error_out(MPI_ERR_INTERN);
}
int ompi_attr_get_fint(void* table, int keyval, int* value, int* flag) {
  (void)table, (void)keyval, (void)value;
  *flag = 0;
  return error_out(MPI_ERR_INTERN);
}
