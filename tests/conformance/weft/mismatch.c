/* Ranks that disagree about a collective, with MPI_ERRORS_RETURN: each gets an error, nobody waits for ever,
   and other communicators work on.

   Run with: -n 5 --timeout 60
   Run with: -n 5 --processes 2 --timeout 60
   Run with: -n 3 --ranks-per-process 1 --timeout 60 */
#include "../conform.h"

enum { many = 100000 };
static int in[many], out[many];

static MPI_Comm start(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

/* Every rank has got an error; the world has not been touched. */
static void check(const char* what, MPI_Comm comm, int code) {
  int sum = -1;
  EXPECT(code != MPI_SUCCESS, "%s", what);
  MPI_Comm_free(&comm);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(sum == size * (size - 1) / 2, "after %s: %d", what, sum);
}

static void other_call(int odd_one) {
  MPI_Comm comm = start();
  const int code =
      rank == odd_one ? MPI_Barrier(comm) : MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm);
  check("another call", comm, code);
}

static void other_length(int odd_one, int count) {
  MPI_Comm comm = start();
  const int code = MPI_Allreduce(in, out, rank == odd_one ? count + 1 : count, MPI_INT, MPI_SUM, comm);
  check("another length", comm, code);
}

static void other_root(int odd_one, int count) {
  MPI_Comm comm = start();
  int code = MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, rank == odd_one ? 1 : 0, comm);
  check("another root", comm, code);
}

/* What one gives is not what the others expect. */
static void other_part(int odd_one, int count) {
  MPI_Comm comm = start();
  const int mine = rank == odd_one ? count / 2 : count;
  const int code = MPI_Allgather(in, mine, MPI_INT, out, count, MPI_INT, comm);
  check("a short part", comm, code);
}

/* A call that is refused for its arguments, and then the next one. */
static void refused(int odd_one) {
  MPI_Comm comm = start();
  int code = MPI_Allreduce(in, out, rank == odd_one ? -1 : 1, MPI_INT, MPI_SUM, comm);
  if (rank == odd_one) {
    EXPECT(code != MPI_SUCCESS, "a negative count");
    code = MPI_Barrier(comm);
  }
  check("a refused call", comm, code);
}

static void not_blocking(int odd_one) {
  MPI_Comm comm = start();
  MPI_Request request;
  int code = rank == odd_one ? MPI_Ibarrier(comm, &request) : MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, comm, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  check("a non-blocking call", comm, code);
}

/* Later calls on it end with an error, too. A broadcast may be over for those that have its data. */
static void afterwards(void) {
  MPI_Comm comm = start();
  if (rank == size - 1)
    MPI_Barrier(comm);
  else
    MPI_Bcast(in, 1, MPI_INT, 0, comm);
  check("a later call", comm, MPI_Barrier(comm));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int odd_ones[] = {0, 1, size - 1};
  for (int i = 0; i < LENGTH(odd_ones); ++i) {
    other_call(odd_ones[i]);
    for (int count = 2; count <= many / size; count *= 100) {
      other_length(odd_ones[i], count);
      other_root(odd_ones[i], count);
      other_part(odd_ones[i], count);
    }
    refused(odd_ones[i]);
    not_blocking(odd_ones[i]);
  }
  afterwards();
  return end();
}
