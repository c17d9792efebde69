/* What MPICH's interface has for a rank alone: variables, and what its libraries for Fortran and C++ call. A part of of_rank.c, whose
   tables it uses. */

/* --- Variables: programs know their addresses --------------------------------------------------------------------------------------- */

/* Macros for the standard's interface. */
#undef MPI_UNWEIGHTED
#undef MPI_WEIGHTS_EMPTY
#undef MPI_T_PVAR_ALL_HANDLES
#undef MPI_F_STATUS_IGNORE
#undef MPI_F_STATUSES_IGNORE
#undef MPI_F08_STATUS_IGNORE
#undef MPI_F08_STATUSES_IGNORE
/* The standard's values, which go through as they are. */
int* const MPI_UNWEIGHTED = (int*)10;
int* const MPI_WEIGHTS_EMPTY = (int*)11;
void* const MPI_T_PVAR_ALL_HANDLES = (void*)1;
/* MPICH's library for Fortran sets the first two and compares with the others. */
int *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;
older_status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
int MPIR_F08_MPI_IN_PLACE, MPIR_F08_MPI_BOTTOM;
int *MPIR_C_MPI_UNWEIGHTED, *MPIR_C_MPI_WEIGHTS_EMPTY;
older_status* MPI_F08_STATUS_IGNORE = &MPIR_F08_MPI_STATUS_IGNORE_OBJ;
older_status* MPI_F08_STATUSES_IGNORE = MPIR_F08_MPI_STATUSES_IGNORE_OBJ;

/* Its own variables of these names, where a program has that library. */
__attribute__((constructor)) static void tell_fortran(void) {
  MPIR_C_MPI_UNWEIGHTED = (int*)10;
  MPIR_C_MPI_WEIGHTS_EMPTY = (int*)11;
}

/* --- C++ ---------------------------------------------------------------------------------------------------- */

/* One place at most has the handle. */
static void set_proxy(struct known* all, uintptr_t handle, any_function* proxy) {
  pthread_mutex_lock(&lock);
  for (int n = 0; n < functions_max; ++n)
    if (all[n].function != NULL && all[n].handle == handle) all[n].proxy = proxy, all[n].language = language_cxx;
  pthread_mutex_unlock(&lock);
}
void MPII_Op_set_cxx(int op, any_function* proxy) { set_proxy(operations, (uintptr_t)op_in(op), proxy); }
void MPII_Errhandler_set_cxx(int errhandler, any_function* proxy) {
  const uintptr_t handle = (uintptr_t)errhandler_in(errhandler);
  set_proxy(comm_handlers, handle, proxy);
  set_proxy(file_handlers, handle, proxy);
  set_proxy(win_handlers, handle, proxy);
}

/* --- Attributes ------------------------------------------------------------------------------------------ */

int MPIR_Dup_fn(int comm, int keyval, void* extra_state, void* value, void* copy, int* flag);
int MPIR_Dup_fn(int comm, int keyval, void* extra_state, void* value, void* copy, int* flag) {
  (void)comm, (void)keyval, (void)extra_state;
  *(void**)copy = value;
  *flag = 1;
  return MPI_SUCCESS;
}

void MPII_Keyval_set_proxy(int keyval, copy_proxy* copies, delete_proxy* removes) { set_key_proxies(keyval, copies, removes); }

/* How a value was set, which was part of the key in MPICH 3 and 4. */
enum { is_pointer = 0 };
/* MPICH's library for Fortran asks by these for values, not for addresses of predefined ones. A window's base is its
   address in both. */
static int is_integer_of_mpich(int key) {
  return key != MPI_WIN_BASE && ((key >= MPI_TAG_UB && key <= MPI_UNIVERSE_SIZE) || (key >= MPI_WIN_BASE && key <= MPI_WIN_MODEL));
}
#define ATTRIBUTES_OF_FORTRAN(Name, name)                                                                              \
  int MPII_##Name##_get_attr(int of, int keyval, void* attribute_val, int* flag, int kind);                            \
  int MPII_##Name##_get_attr(int of, int keyval, void* attribute_val, int* flag, int kind) {                           \
    /* Keys of Fortran are one more than C's. */                                                                       \
    const int key = key_in((keyval & 0x40000000) != 0 && (keyval & 1) == 0 ? keyval - 1 : keyval);                     \
    const int error = weft_abi_MPI_##Name##_get_attr(name##_in(of), key, attribute_val, flag);                         \
    if (error != MPI_SUCCESS || !*flag) return error_out(error);                                                       \
    predefined_value(key, attribute_val);                                                                              \
    if (kind != is_pointer && key == MPI_WIN_SIZE)                                                                     \
      *(MPI_Aint*)attribute_val = **(MPI_Aint**)attribute_val;                                                         \
    else if (kind != is_pointer && is_integer_of_mpich(key))                                                           \
      *(MPI_Aint*)attribute_val = **(int**)attribute_val;                                                              \
    return MPI_SUCCESS;                                                                                                \
  }                                                                                                                    \
  int MPII_##Name##_set_attr(int of, int keyval, void* attribute_val, int kind);                                       \
  int MPII_##Name##_set_attr(int of, int keyval, void* attribute_val, int kind) {                                      \
    (void)kind;                                                                                                        \
    return error_out(weft_abi_MPI_##Name##_set_attr(name##_in(of), key_in(keyval), attribute_val));                    \
  }
ATTRIBUTES_OF_FORTRAN(Comm, comm)
ATTRIBUTES_OF_FORTRAN(Type, type)
ATTRIBUTES_OF_FORTRAN(Win, win)

void MPII_Grequest_set_lang_f77(int request) {
  pthread_mutex_lock(&lock);
  for (struct own_request* own = own_requests; own != NULL; own = own->next)
    if (own->handle == request) own->is_of_fortran = 1;
  pthread_mutex_unlock(&lock);
}
