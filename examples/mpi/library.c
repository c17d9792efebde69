/* A library that uses MPI without asking whether its caller does: it has a session of its own, from which it makes its
   communicator. The program beside it calls MPI_Init as ever. Not with: openmpi (4.1), which has no sessions. */
#include <mpi.h>
#include <stdio.h>

/* --- The library: sums over all ranks, apart from every message of the program ------------------------------------ */

static MPI_Session session = MPI_SESSION_NULL;
static MPI_Comm of_library = MPI_COMM_NULL;

static void library_begin(void) {
  MPI_Group all;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  /* The tag tells this call from others on the same group, such as another library's. */
  MPI_Comm_create_from_group(all, "org.example.sums", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &of_library);
  MPI_Group_free(&all);
}

static double library_sum(double mine) {
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, of_library);
  return sum;
}

static int library_is_first(void) {
  int rank;
  MPI_Comm_rank(of_library, &rank);
  return rank == 0;
}

static void library_end(void) {
  MPI_Comm_free(&of_library);
  MPI_Session_finalize(&session);
}

/* --- The program --------------------------------------------------------------------------------------------------- */

int main(int argc, char** argv) {
  library_begin(); /* Before MPI_Init. */
  const double before = library_sum(1);
  MPI_Init(&argc, &argv);
  int rank, size, largest = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Reduce(&rank, &largest, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  const double during = library_sum(rank);
  MPI_Finalize();
  const double after = library_sum(2); /* And after MPI_Finalize. */
  if (library_is_first())
    printf("%g ranks, numbers up to %d, whose sum is %g; twice as many: %g\n", before, largest, during, after);
  library_end();
  return 0;
}
