/* A rank that waits in any blocking call takes chunks of another rank's loop. Rank 0 runs loops until
   another thread has taken a chunk; rank 1 waits meanwhile, each time in another call. A test that fails
   hangs, and is ended.

   Run with: -n 2 --workers 2 --timeout 60 */
#include <pthread.h>
#include <stdatomic.h>
#include <weft/task.h>

#include "../conform.h"

static pthread_t first_thread;
static atomic_int threads;
static long sum; /* Rank 0's, whoever runs the chunk. */

static void chunk(size_t begin, size_t end, void* argument) {
  int* const done = argument;
  if (!pthread_equal(pthread_self(), first_thread)) atomic_store(&threads, 2);
  for (volatile int i = 0; i < 20000; ++i) {} /* Long enough to wake a thief for. */
  for (size_t i = begin; i < end; ++i) done[i] += (int)i;
}

static void loop_until_helped(void) {
  static int done[1000];
  first_thread = pthread_self();
  atomic_store(&threads, 1);
  while (atomic_load(&threads) < 2) {
    memset(done, 0, sizeof done);
    weft_parallel_for_grain(0, 1000, 10, 1, chunk, done);
  }
  for (int i = 0; i < 1000; ++i) EXPECT(done[i] == i, "index %d: %d", i, done[i]);
  sum += 1000;
}

static void messages(void) {
  const MPI_Comm w = MPI_COMM_WORLD;
  int value = 7, index = -1, outcount = 0, indices[2];
  MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  enum { calls = 10 };
  for (int call = 0; call < calls; ++call) {
    MPI_Barrier(w);
    if (rank == 0) {
      loop_until_helped();
      if (call == 7)
        MPI_Recv(&value, 1, MPI_INT, 1, call, w, MPI_STATUS_IGNORE);
      else if (call == 9)
        MPI_Sendrecv(&call, 1, MPI_INT, 1, call, &value, 1, MPI_INT, 1, call, w, MPI_STATUS_IGNORE);
      else
        MPI_Send(&call, 1, MPI_INT, 1, call, w);
      continue;
    }
    if (call < 1 || call == 6) MPI_Recv(&value, 1, MPI_INT, call == 6 ? MPI_ANY_SOURCE : 0, call, w, MPI_STATUS_IGNORE);
    if (call >= 1 && call <= 4) MPI_Irecv(&value, 1, MPI_INT, 0, call, w, &request[0]);
    if (call == 1) MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    if (call == 2) MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    if (call == 3) MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
    if (call == 4) MPI_Waitsome(2, request, &outcount, indices, MPI_STATUSES_IGNORE);
    if (call == 5) {
      MPI_Message message;
      MPI_Mprobe(0, call, w, &message, MPI_STATUS_IGNORE);
      MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
    if (call == 7) MPI_Ssend(&call, 1, MPI_INT, 0, call, w);
    if (call == 8) {
      MPI_Probe(0, call, w, MPI_STATUS_IGNORE);
      MPI_Recv(&value, 1, MPI_INT, 0, call, w, MPI_STATUS_IGNORE);
    }
    if (call == 9) MPI_Sendrecv(&call, 1, MPI_INT, 0, call, &value, 1, MPI_INT, 0, call, w, MPI_STATUS_IGNORE);
    if (call != 7) EXPECT_INT(value, call);
  }
}

static void collectives(void) {
  const MPI_Comm w = MPI_COMM_WORLD;
  for (int call = 0; call < 6; ++call) {
    int in[2] = {rank, rank}, out[2] = {-1, -1};
    MPI_Request request;
    MPI_Barrier(w);
    if (rank == 0) loop_until_helped();
    if (call == 0) MPI_Barrier(w);
    if (call == 1) MPI_Bcast(in, 1, MPI_INT, 0, w);
    if (call == 2) MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, w);
    if (call == 3) MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, w);
    if (call == 4) MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, w);
    if (call == 5) {
      MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, w, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (call == 2 || call == 5) EXPECT_INT(out[0], 1);
    if (call == 3 || call == 4) EXPECT(out[0] == 0 && out[1] == 1, "%d %d", out[0], out[1]);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  messages();
  collectives();
  EXPECT_INT(sum, rank == 0 ? 16000 : 0); /* A thief wrote to the owner's globals, not to its own rank's. */
  return end();
}
