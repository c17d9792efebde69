/* Ranks that disagree about a collective, with MPI_ERRORS_RETURN: each gets an error, nobody waits for ever,
   and other communicators work on.

   Run with: -n 5 --timeout 60
   Run with: -n 5 --processes 2 --timeout 60
   Run with: -n 4 --ranks-per-process 1 --timeout 60 */
#include "../conform.h"

enum { many = 100000 };
static int in[many], out[many];

static MPI_Comm start(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

/* Every rank has got an error of this class; the world has not been touched. */
static void check(const char* what, MPI_Comm comm, int code, int class) {
  int sum = -1;
  EXPECT(code == class, "%s: class %d", what, code);
  MPI_Comm_free(&comm);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(sum == size * (size - 1) / 2, "after %s: %d", what, sum);
}

static void other_call(int odd_one) {
  MPI_Comm comm = start();
  const int code =
      rank == odd_one ? MPI_Barrier(comm) : MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm);
  check("another call", comm, code, MPI_ERR_NOT_SAME);
}

static void other_length(int odd_one, int count) {
  MPI_Comm comm = start();
  const int code = MPI_Allreduce(in, out, rank == odd_one ? count + 1 : count, MPI_INT, MPI_SUM, comm);
  check("another length", comm, code, MPI_ERR_NOT_SAME);
}

static void other_root(int odd_one, int count) {
  MPI_Comm comm = start();
  int code = MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, rank == odd_one ? 1 : 0, comm);
  check("another root", comm, code, MPI_ERR_NOT_SAME);
}

/* What one gives is not what the others expect. */
static void other_part(int odd_one, int count) {
  MPI_Comm comm = start();
  const int mine = rank == odd_one ? count / 2 : count;
  const int code = MPI_Allgather(in, mine, MPI_INT, out, count, MPI_INT, comm);
  check("a short part", comm, code, MPI_ERR_TRUNCATE);
}

/* A call that is refused for its arguments, and then the next one. */
static void refused(int odd_one) {
  MPI_Comm comm = start();
  int code = MPI_Allreduce(in, out, rank == odd_one ? -1 : 1, MPI_INT, MPI_SUM, comm);
  if (rank == odd_one) {
    EXPECT(code != MPI_SUCCESS, "a negative count");
    code = MPI_Barrier(comm);
  }
  check("a refused call", comm, code, MPI_ERR_NOT_SAME);
}

static void not_blocking(int odd_one) {
  MPI_Comm comm = start();
  MPI_Request request;
  int code = rank == odd_one ? MPI_Ibarrier(comm, &request) : MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, comm, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  check("a non-blocking call", comm, code, MPI_ERR_NOT_SAME);
}

/* Later calls on it end with an error, too. A broadcast may be over for those that have its data. */
static void afterwards(void) {
  MPI_Comm comm = start();
  if (rank == size - 1)
    MPI_Barrier(comm);
  else
    MPI_Bcast(in, 1, MPI_INT, 0, comm);
  check("a later call", comm, MPI_Barrier(comm), MPI_ERR_NOT_SAME);
}

/* Between two groups: what rank r of the first group passes as the root, and what all of the second name. */
static int roots[2], named;
static int root_of(int is_first) {
  return !is_first ? named : rank < 2 ? roots[rank] : MPI_PROC_NULL;
}

enum { broadcast, gather, gatherv, scatter, scatterv, reduce, rooted };
static int call_rooted(int what, int root, MPI_Comm comm) {
  int counts[64], places[64];
  for (int i = 0; i < 64; ++i) counts[i] = 1, places[i] = i;
  switch (what) {
    case broadcast: return MPI_Bcast(in, 1, MPI_INT, root, comm);
    case gather: return MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, root, comm);
    case gatherv: return MPI_Gatherv(in, 1, MPI_INT, out, counts, places, MPI_INT, root, comm);
    case scatter: return MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, root, comm);
    case scatterv: return MPI_Scatterv(in, counts, places, MPI_INT, out, 1, MPI_INT, root, comm);
    default: return MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, root, comm);
  }
}

/* All ranks are told, wherever they are, and nobody waits for ever. */
static void between_groups(int first, int second, int name) {
  const int is_first = rank < (size + 1) / 2;
  if (size < 4) return;
  roots[0] = first, roots[1] = second, named = name;
  for (int what = 0; what < rooted; ++what) {
    MPI_Comm mine, other;
    int told = 0, code;
    MPI_Comm_split(MPI_COMM_WORLD, is_first, rank, &mine);
    MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, is_first ? (size + 1) / 2 : 0, 12, &other);
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    code = call_rooted(what, root_of(is_first), other) != MPI_SUCCESS;
    MPI_Allreduce(&code, &told, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    EXPECT(told != 0, "roots %d and %d, named %d: call %d", first, second, name, what);
    MPI_Comm_free(&other);
    MPI_Comm_free(&mine);
  }
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
  between_groups(MPI_ROOT, MPI_ROOT, 0);
  between_groups(MPI_ROOT, MPI_PROC_NULL, 1);
  between_groups(MPI_PROC_NULL, MPI_PROC_NULL, 0);
  return end();
}
