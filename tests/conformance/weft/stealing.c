/* A rank that waits in any blocking call takes chunks of another rank's loop. Rank 0 runs loops until
   another thread has taken a chunk; rank 1, in its process, waits meanwhile, each time in another call in
   which it cannot go on without rank 0. Others only take part. A test that fails hangs, and is ended.

   Run with: -n 2 --workers 2 --timeout 60
   Run with: -n 4 --workers 2 --processes 2 --timeout 90 */
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

static void messages(void) { /* Between ranks 0 and 1. */
  const MPI_Comm w = MPI_COMM_WORLD;
  int value = 7, index = -1, outcount = 0, indices[2];
  MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  enum { calls = 10 };
  for (int call = 0; call < calls; ++call) {
    MPI_Barrier(w);
    if (rank > 1) continue;
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
    int in[64] = {rank, rank, rank, rank}, out[64] = {-1, -1, -1, -1};
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
    if (call == 2 || call == 5) EXPECT_INT(out[0], size * (size - 1) / 2);
    if (call == 3 || call == 4) EXPECT(out[0] == 0 && out[1] == 1, "%d %d", out[0], out[1]);
  }
}

/* Each statement is one in which rank 1 waits for rank 0. */
static int loops;
#define WAIT_IN(statement)                     \
  do {                                         \
    MPI_Barrier(MPI_COMM_WORLD);               \
    if (rank == 0) loop_until_helped();        \
    ++loops;                                   \
    statement;                                 \
  } while (0)

static void other_collectives(void) {
  const MPI_Comm w = MPI_COMM_WORLD;
  int in[64] = {0}, out[64], counts[64], places[64], octets[64];
  MPI_Datatype types[64];
  MPI_Request request;
  for (int r = 0; r < 64; ++r) counts[r] = 1, places[r] = r, octets[r] = 4 * r, types[r] = MPI_INT;
  WAIT_IN(MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 1, w));
  WAIT_IN(MPI_Gatherv(in, 1, MPI_INT, out, counts, places, MPI_INT, 1, w));
  WAIT_IN(MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, 0, w));
  WAIT_IN(MPI_Scatterv(in, counts, places, MPI_INT, out, 1, MPI_INT, 0, w));
  WAIT_IN(MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 1, w));
  WAIT_IN(MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, w));
  WAIT_IN(MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, w));
  WAIT_IN(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, w));
  WAIT_IN(MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, w));
  WAIT_IN(MPI_Allgatherv(in, 1, MPI_INT, out, counts, places, MPI_INT, w));
  WAIT_IN(MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, w));
  WAIT_IN(MPI_Alltoallw(in, counts, octets, types, out, counts, octets, types, w));
  MPI_Barrier_init(w, MPI_INFO_NULL, &request);
  WAIT_IN(MPI_Start(&request); MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Request_free(&request);
  MPI_Comm grid;
  MPI_Cart_create(w, 1, (int[]){size}, (int[]){1}, 0, &grid);
  WAIT_IN(MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, grid));
  WAIT_IN(MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, grid));
  WAIT_IN(MPI_Neighbor_allgatherv(in, 1, MPI_INT, out, counts, places, MPI_INT, grid));
  WAIT_IN(MPI_Neighbor_alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, grid));
  MPI_Aint far[64];
  for (int r = 0; r < 64; ++r) far[r] = 4 * r;
  WAIT_IN(MPI_Neighbor_alltoallw(in, counts, far, types, out, counts, far, types, grid));
  MPI_Comm_free(&grid);
}

static void communicators(void) {
  const MPI_Comm w = MPI_COMM_WORLD;
  MPI_Comm made, half, two, one;
  MPI_Group all;
  MPI_Request request;
  int value = 5;
  MPI_Comm_group(w, &all);
  WAIT_IN(MPI_Comm_dup(w, &made));
  WAIT_IN(MPI_Comm_disconnect(&made));
  WAIT_IN(MPI_Comm_idup(w, &made, &request); MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Comm_free(&made);
  WAIT_IN(MPI_Comm_split(w, 0, 0, &made));
  MPI_Comm_free(&made);
  WAIT_IN(MPI_Comm_create(w, all, &made));
  MPI_Comm_free(&made);
  WAIT_IN(MPI_Comm_create_group(w, all, 3, &made));
  MPI_Comm_free(&made);
  WAIT_IN(MPI_Cart_create(w, 1, (int[]){size}, (int[]){1}, 0, &made));
  MPI_Comm_free(&made);
  WAIT_IN(MPI_Dist_graph_create(w, 0, NULL, NULL, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
  MPI_Comm_free(&made);
  MPI_Comm_split(w, rank % 2, 0, &half);
  WAIT_IN(MPI_Intercomm_create(half, 0, w, 1 - rank % 2, 4, &two));
  WAIT_IN(MPI_Barrier(two));
  WAIT_IN(MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : rank % 2 == 0 ? MPI_PROC_NULL : 0, two));
  WAIT_IN(MPI_Intercomm_merge(two, rank % 2, &one));
  MPI_Comm_free(&one);
  MPI_Comm_free(&two);
  MPI_Comm_free(&half);
  MPI_Group_free(&all);
}

static void replaced_messages(void) {
  int value = rank;
  WAIT_IN(if (rank < 2)
            MPI_Sendrecv_replace(&value, 1, MPI_INT, 1 - rank, 8, 1 - rank, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (rank < 2) EXPECT_INT(value, 1 - rank);
}

static void persistent_messages(void) {
  int out[2] = {1, 2}, in[2] = {0, 0};
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (int i = 0; i < 2; ++i) {
    if (rank == 0) MPI_Send_init(&out[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
    if (rank == 1) MPI_Recv_init(&in[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
  }
  WAIT_IN(if (rank < 2) MPI_Startall(2, requests); MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  if (rank == 1) EXPECT(in[0] == 1 && in[1] == 2, "%d %d", in[0], in[1]);
  for (int i = 0; rank < 2 && i < 2; ++i) MPI_Request_free(&requests[i]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  messages();
  collectives();
  EXPECT_INT(sum, rank == 0 ? 16000 : 0); /* A thief wrote to the owner's globals, not to its own rank's. */
  other_collectives();
  communicators();
  replaced_messages();
  persistent_messages();
  EXPECT_INT(sum, rank == 0 ? 16000 + 1000 * loops : 0);
  int all = 0;
  MPI_Allreduce(&wrong_count, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(all == 0 ? "right\n" : "wrong: %d\n", all);
  if (rank == 0) loop_until_helped();
  MPI_Finalize();
  return all != 0;
}
