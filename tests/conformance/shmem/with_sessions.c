/* A session of MPI that begins before OpenSHMEM and ends after it, and others meanwhile. */
#include <mpi.h>
#include "conform.h"

static long value;

static MPI_Comm communicator_of(MPI_Session session, const char* tag) {
  MPI_Group all;
  MPI_Comm made;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Comm_create_from_group(all, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  MPI_Group_free(&all);
  return made;
}

static int sum_of(MPI_Comm comm, int mine) {
  int sum = -1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

int main(void) {
  MPI_Session outer, inner;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &outer);
  MPI_Comm all = communicator_of(outer, "outer");
  begin();
  const int triangle = pes * (pes + 1) / 2;
  int rank = -1;
  MPI_Comm_rank(all, &rank);
  EXPECT(rank == me);
  shmem_long_p(&value, me + 1, NEXT);
  shmem_barrier_all();
  EXPECT(sum_of(all, (int)value) == triangle);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inner);
  MPI_Comm copy = communicator_of(inner, "inner");
  EXPECT(sum_of(copy, me + 1) == triangle);
  MPI_Comm_free(&copy);
  MPI_Session_finalize(&inner);
  const int status = end();
  EXPECT(sum_of(all, rank + 1) == triangle); /* Behind shmem_finalize(). */
  MPI_Comm_free(&all);
  MPI_Session_finalize(&outer);
  return status != 0 || wrong_count != 0;
}
