/* Conversions that both interfaces have. */
#include "functions.h"

#include <stdio.h>

/* From older_first_combiner on. */
const struct older_number older_combiners[] = {
    {0, MPI_COMBINER_NAMED},          {1, MPI_COMBINER_DUP},
    {2, MPI_COMBINER_CONTIGUOUS},     {3, MPI_COMBINER_VECTOR},
    {4, MPI_COMBINER_HVECTOR_INTEGER}, {5, MPI_COMBINER_HVECTOR},
    {6, MPI_COMBINER_INDEXED},        {7, MPI_COMBINER_HINDEXED_INTEGER},
    {8, MPI_COMBINER_HINDEXED},       {9, MPI_COMBINER_INDEXED_BLOCK},
    {10, MPI_COMBINER_STRUCT_INTEGER}, {11, MPI_COMBINER_STRUCT},
    {12, MPI_COMBINER_SUBARRAY},      {13, MPI_COMBINER_DARRAY},
    {14, MPI_COMBINER_F90_REAL},      {15, MPI_COMBINER_F90_COMPLEX},
    {16, MPI_COMBINER_F90_INTEGER},   {17, MPI_COMBINER_RESIZED},
    {18, MPI_COMBINER_HINDEXED_BLOCK}, {19, MPI_COMBINER_VALUE_INDEX},
    {0, 0},
};

int older_find_in(const struct older_number* table, int of_theirs, int otherwise) {
  for (; table->of_theirs != 0 || table->of_standard != 0; ++table)
    if (table->of_theirs == of_theirs) return table->of_standard;
  return otherwise;
}
int older_find_out(const struct older_number* table, int of_standard, int otherwise) {
  for (; table->of_theirs != 0 || table->of_standard != 0; ++table)
    if (table->of_standard == of_standard) return table->of_theirs;
  return otherwise;
}

/* By their number; 0: none. It is asked for whatever lay in the memory of a status, too, which calls of one message leave there: the
   table is not searched for that. */
enum { codes_end = 128 };
static int errors_of_standard[codes_end];

__attribute__((constructor)) static void prepare_errors(void) {
  for (const struct older_number* e = older_error_numbers; e->of_theirs != 0; ++e) errors_of_standard[e->of_theirs] = e->of_standard;
}
int older_error_of_table(int code) {
  return code > 0 && code < codes_end && errors_of_standard[code] != 0 ? errors_of_standard[code] : -1;
}

int returned_in(int code) {
  const int known = error_in(code);
  int flag = 0, *last = NULL;
  if (known > MPI_ERR_LASTCODE && weft_abi_MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag) == MPI_SUCCESS && flag &&
      known > *last)
    return MPI_ERR_OTHER;
  return known == -1 ? MPI_ERR_OTHER : known;
}

/* --- Numbers of which each bit says something ------------------------------------------------------------------------------------ */

static const struct older_number modes[] = {{1, MPI_MODE_CREATE},          {2, MPI_MODE_RDONLY},
                                            {4, MPI_MODE_WRONLY},          {8, MPI_MODE_RDWR},
                                            {16, MPI_MODE_DELETE_ON_CLOSE}, {32, MPI_MODE_UNIQUE_OPEN},
                                            {64, MPI_MODE_EXCL},           {128, MPI_MODE_APPEND},
                                            {256, MPI_MODE_SEQUENTIAL},    {0, 0}};

/* A bit that is none stays set, where the standard has none either. */
static int bits_in(const struct older_number* table, int given) {
  int made = 0, known = 0;
  for (; table->of_theirs != 0; ++table) {
    known |= table->of_theirs;
    if (given & table->of_theirs) made |= table->of_standard;
  }
  return (given & ~known) != 0 ? made | 1 << 30 : made;
}
int assert_in(int given) { return bits_in(older_promises, given); }
int access_in(int mode) { return bits_in(modes, mode); }
int access_out(int mode) {
  int made = 0;
  for (const struct older_number* m = modes; m->of_theirs != 0; ++m)
    if (mode & m->of_standard) made |= m->of_theirs;
  return made;
}

int verbosity_out(int verbosity) {
  static const struct older_number all[] = {
      {0, MPI_T_VERBOSITY_USER_BASIC},   {1, MPI_T_VERBOSITY_USER_DETAIL},   {2, MPI_T_VERBOSITY_USER_ALL},
      {3, MPI_T_VERBOSITY_TUNER_BASIC},  {4, MPI_T_VERBOSITY_TUNER_DETAIL},  {5, MPI_T_VERBOSITY_TUNER_ALL},
      {6, MPI_T_VERBOSITY_MPIDEV_BASIC}, {7, MPI_T_VERBOSITY_MPIDEV_DETAIL}, {8, MPI_T_VERBOSITY_MPIDEV_ALL},
      {0, 0}};
  return older_first_verbosity + older_find_out(all, verbosity, 0);
}

/* --- Arrays ---------------------------------------------------------------------------------------------------------------------- */

void* older_memory(long count, size_t size) {
  void* const memory = calloc((size_t)count, size);
  if (memory == NULL) {
    fprintf(stderr, "MPI: no memory for %ld arguments of %zu bytes\n", count, size);
    abort();
  }
  return memory;
}
