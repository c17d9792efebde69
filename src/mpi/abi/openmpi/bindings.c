/* What Open MPI's libraries for Fortran and C++ use of its library beside functions of MPI: texts, variables, and Fortran's functions of
   the base. The variables that are read as objects of Open MPI hold what makes the libraries take their shortest way. */
#include "functions.h"

/* --- Texts ---------------------------------------------------------------------------------------------------------------------------- */

/* Without the blanks at the end, in memory that the caller frees. 0: done. */
int ompi_fortran_string_f2c(const char* text, int length, char** made) {
  while (length > 0 && text[length - 1] == ' ') --length;
  *made = older_memory(length + 1, 1);
  memcpy(*made, text, (size_t)length);
  return 0;
}
/* With blanks up to the end. */
int ompi_fortran_string_c2f(const char* text, char* made, int length) {
  const int given = (int)strnlen(text, length > 0 ? (size_t)length : 0);
  memcpy(made, text, (size_t)given);
  memset(made + given, ' ', (size_t)(length - given));
  return 0;
}

static int argv_of(const char* array, long count, int length, int advance, char*** argv) {
  char** const made = older_memory(count + 1, sizeof *made);
  for (long i = 0; i < count; ++i) ompi_fortran_string_f2c(array + i * advance, length, &made[i]);
  *argv = made;
  return 0;
}
int ompi_fortran_argv_count_f2c(const char* array, int count, int length, int advance, char*** argv) {
  return argv_of(array, count, length, advance, argv);
}
static int is_blank(const char* text, int length) {
  for (int i = 0; i < length; ++i)
    if (text[i] != ' ') return 0;
  return 1;
}
/* Up to one that is blank. */
int ompi_fortran_argv_blank_f2c(const char* array, int length, int advance, char*** argv) {
  long count = 0;
  while (!is_blank(array + count * advance, length)) ++count;
  return argv_of(array, count, length, advance, argv);
}
/* Row i of `array` has the words of command i: those of one row are a column apart. */
int ompi_fortran_multiple_argvs_f2c(int commands, const char* array, int length, char**** argvs) {
  char*** const made = older_memory(commands + 1, sizeof *made);
  for (long i = 0; i < commands; ++i) ompi_fortran_argv_blank_f2c(array + i * length, length, length * commands, &made[i]);
  *argvs = made;
  return 0;
}

/* --- Datatypes --------------------------------------------------------------------------------------------------------------------------- */

older_handle ompi_datatype_match_size(int size, uint16_t kind, uint16_t language) {
  enum { integers = 0x1000, reals = 0x2000, complexes = 0x3000 };
  MPI_Datatype found = MPI_DATATYPE_NULL;
  (void)language;
  if (weft_abi_MPI_Type_match_size(kind == integers    ? MPI_TYPECLASS_INTEGER
                                   : kind == reals     ? MPI_TYPECLASS_REAL
                                   : kind == complexes ? MPI_TYPECLASS_COMPLEX
                                                       : -1,
                                   size, &found) != MPI_SUCCESS)
    found = MPI_DATATYPE_NULL;
  return type_out(found);
}

/* --- Variables --------------------------------------------------------------------------------------------------------------------------- */

/* Addresses that mean something in Fortran: those of common blocks, of which a program has its own. */
#define FORTRAN_VARIABLE(name, size) char mpi_fortran_##name##_[size] __attribute__((aligned(16)))
FORTRAN_VARIABLE(bottom, 4);
FORTRAN_VARIABLE(in_place, 4);
FORTRAN_VARIABLE(argv_null, 1);
FORTRAN_VARIABLE(argvs_null, 1);
FORTRAN_VARIABLE(errcodes_ignore, 4);
FORTRAN_VARIABLE(status_ignore, 8);
FORTRAN_VARIABLE(statuses_ignore, 8);
FORTRAN_VARIABLE(unweighted, 4);
FORTRAN_VARIABLE(weights_empty, 4);
#undef MPI_F_STATUS_IGNORE
#undef MPI_F_STATUSES_IGNORE
int* MPI_F_STATUS_IGNORE = (int*)(void*)mpi_fortran_status_ignore_;
int* MPI_F_STATUSES_IGNORE = (int*)(void*)mpi_fortran_statuses_ignore_;

/* Nothing is checked by the libraries themselves: weft does. */
char ompi_mpi_param_check;
int ompi_mpi_state;
/* No code is known: each is what it is. */
int ompi_errcode_intern_lastused;
char ompi_errcodes_intern[0x78] __attribute__((aligned(32)));
older_status ompi_status_empty = {-1, -1, MPI_SUCCESS, 0, 0};
/* A list of opal: empty, with its own end before and behind. */
struct openmpi_list {
  void* object[2];
  void* end[2];
  void *next, *previous;
  void* rest[2];
};
_Static_assert(sizeof(struct openmpi_list) == 0x40 && offsetof(struct openmpi_list, next) == 0x20, "as Open MPI has it");
struct openmpi_list ompi_registered_datareps = {{NULL, NULL}, {NULL, NULL}, &ompi_registered_datareps.end, &ompi_registered_datareps.end, {NULL, NULL}};

/* --- Functions of Fortran in the library for C ------------------------------------------------------------------------------------------- */

double mpi_wtime_f90_(void) { return weft_abi_MPI_Wtime(); }
double mpi_wtick_f90_(void) { return weft_abi_MPI_Wtick(); }
MPI_Aint mpi_aint_add_f90_(const MPI_Aint* base, const MPI_Aint* displacement) { return weft_abi_MPI_Aint_add(*base, *displacement); }
MPI_Aint mpi_aint_diff_f90_(const MPI_Aint* one, const MPI_Aint* other) { return weft_abi_MPI_Aint_diff(*one, *other); }
int mpi_conversion_fn_null_(void* user, int* type, int* count, void* file, MPI_Offset* position, MPI_Aint* extra_state, int* error) {
  (void)user, (void)type, (void)count, (void)file, (void)position, (void)extra_state, (void)error;
  return 0; /* It is not called. */
}
#define FORTRAN_ATTRIBUTE_FUNCTIONS(prefix, Value)                                                                              \
  void prefix##null_copy_fn_(int* of, int* keyval, Value* extra_state, Value* value, Value* copy, int* flag, int* error) {      \
    (void)of, (void)keyval, (void)extra_state, (void)value, (void)copy;                                                         \
    *flag = 0;                                                                                                                  \
    *error = MPI_SUCCESS;                                                                                                       \
  }                                                                                                                             \
  void prefix##dup_fn_(int* of, int* keyval, Value* extra_state, Value* value, Value* copy, int* flag, int* error) {            \
    (void)of, (void)keyval, (void)extra_state;                                                                                  \
    *copy = *value;                                                                                                             \
    *flag = 1;                                                                                                                  \
    *error = MPI_SUCCESS;                                                                                                       \
  }                                                                                                                             \
  void prefix##null_delete_fn_(int* of, int* keyval, Value* value, Value* extra_state, int* error) {                            \
    (void)of, (void)keyval, (void)value, (void)extra_state;                                                                     \
    *error = MPI_SUCCESS;                                                                                                       \
  }
FORTRAN_ATTRIBUTE_FUNCTIONS(mpi_, int)
FORTRAN_ATTRIBUTE_FUNCTIONS(mpi_comm_, MPI_Aint)
FORTRAN_ATTRIBUTE_FUNCTIONS(mpi_type_, MPI_Aint)
FORTRAN_ATTRIBUTE_FUNCTIONS(mpi_win_, MPI_Aint)
