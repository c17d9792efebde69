/* What the conformance programs share. Each is a plain MPI program: MPI_Init to MPI_Finalize between
   begin() and end(), which prints "right" from rank 0 when no rank found anything wrong. */
#ifndef CONFORM_H
#define CONFORM_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static int wrong_count;

/* EXPECT(condition, format, values...): says what was found when the condition does not hold. */
#define EXPECT(condition, ...)                                                       \
  do {                                                                               \
    if (!(condition) && ++wrong_count <= 10) {                                       \
      char found_[256];                                                              \
      snprintf(found_, sizeof found_, __VA_ARGS__);                                  \
      printf("rank %d of %d: %s:%d: %s: %s\n", rank, size, __FILE__, __LINE__, #condition, found_); \
      fflush(stdout); /* Also where the rank is killed, or the job that reads it ends first. */      \
    }                                                                                \
  } while (0)

#define EXPECT_INT(found, wanted)                                                    \
  do {                                                                               \
    long long one_ = (long long)(found), other_ = (long long)(wanted);               \
    EXPECT(one_ == other_, "%s is %lld, not %lld", #found, one_, other_);            \
  } while (0)

/* The class of the error that `call` returns; the communicator's handler must be MPI_ERRORS_RETURN. */
#define EXPECT_CLASS(call, wanted)                                                   \
  do {                                                                               \
    int class_ = MPI_SUCCESS, code_ = (call);                                        \
    MPI_Error_class(code_, &class_);                                                 \
    EXPECT(class_ == (wanted), "%s returned class %d, not %s (%d)", #call, class_, #wanted, (wanted)); \
  } while (0)

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

static void learn_place(void) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  learn_place();
}

static inline int end(void) {
  int all = 0;
  MPI_Allreduce(&wrong_count, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(all == 0 ? "right\n" : "wrong: %d\n", all);
  fflush(stdout);
  MPI_Finalize();
  return all != 0;
}

#endif
