/* Partitioned messages: what MPICH 4.0 does not do. Errors, MPI_PROC_NULL, no partitions, large counts; partitions made ready
   by threads and by chunks of loops.

   Run with: -n 1
   Run with: -n 5
   Run with: -n 5 --processes 2
   Run with: -n 3 --ranks-per-process 1
   Run with: -n 4 --processes 2 --check */
#include "../conform.h"
#include <pthread.h>
#include <weft/loop.h>

#define CALLS(x) EXPECT_INT((x), MPI_SUCCESS)

enum { many = 10000 };
static int sent[many], got[many];
static int right, left;

static void nobody(void) {
  MPI_Request requests[2];
  CALLS(MPI_Psend_init(sent, 3, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  CALLS(MPI_Precv_init(got, 3, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  CALLS(MPI_Startall(2, requests));
  CALLS(MPI_Pready_range(0, 2, requests[0]));
  CALLS(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void errors(void) {
  MPI_Request send, receive, plain;
  int flag = -1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPI_Precv_init(got, 2, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &receive), MPI_ERR_RANK);
  EXPECT_CLASS(MPI_Precv_init(got, 2, 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &receive), MPI_ERR_TAG);
  EXPECT_CLASS(MPI_Psend_init(sent, -1, 1, MPI_INT, right, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Psend_init(sent, 2, -1, MPI_INT, right, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Psend_init(sent, 2, 1, MPI_INT, size, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send), MPI_ERR_RANK);
  CALLS(MPI_Psend_init(sent, 4, 1, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  CALLS(MPI_Precv_init(got, 4, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  CALLS(MPI_Send_init(sent, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &plain));
  EXPECT_CLASS(MPI_Pready(0, send), MPI_ERR_REQUEST); /* Not started. */
  EXPECT_CLASS(MPI_Pready(0, receive), MPI_ERR_REQUEST);
  EXPECT_CLASS(MPI_Pready(0, plain), MPI_ERR_REQUEST);
  EXPECT_CLASS(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
  EXPECT_CLASS(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
  EXPECT_CLASS(MPI_Parrived(receive, 0, NULL), MPI_ERR_ARG);
  CALLS(MPI_Startall(2, (MPI_Request[]){send, receive}));
  EXPECT_CLASS(MPI_Start(&send), MPI_ERR_REQUEST); /* It is active. */
  EXPECT_CLASS(MPI_Cancel(&receive), MPI_ERR_REQUEST);
  EXPECT_CLASS(MPI_Parrived(receive, 4, &flag), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Pready(4, send), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Pready(-1, send), MPI_ERR_ARG);
  CALLS(MPI_Pready(1, send));
  EXPECT_CLASS(MPI_Pready(1, send), MPI_ERR_ARG); /* Twice. */
  EXPECT_CLASS(MPI_Pready_range(3, 2, send), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Pready_list(1, NULL, send), MPI_ERR_ARG);
  CALLS(MPI_Pready_list(1, (int[]){0}, send));
  CALLS(MPI_Pready_range(2, 3, send));
  CALLS(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CALLS(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CALLS(MPI_Request_free(&send));
  CALLS(MPI_Request_free(&receive));
  CALLS(MPI_Request_free(&plain));
  EXPECT_CLASS(MPI_Pready(0, send), MPI_ERR_REQUEST);
  /* A message that is longer than its receive. */
  CALLS(MPI_Psend_init(sent, 4, 2, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  CALLS(MPI_Precv_init(got, 4, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  got[4] = -5;
  CALLS(MPI_Startall(2, (MPI_Request[]){send, receive}));
  CALLS(MPI_Pready_range(0, 3, send));
  CALLS(MPI_Wait(&send, MPI_STATUS_IGNORE));
  EXPECT_CLASS(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  EXPECT_INT(got[4], -5);
  CALLS(MPI_Request_free(&send));
  CALLS(MPI_Request_free(&receive));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* No partitions at one side or at both; fewer bytes than there is room for. */
static void little(void) {
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Request send, receive;
    MPI_Status status;
    CALLS(MPI_Psend_init(sent, 0, 3, MPI_INT, right, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    CALLS(MPI_Precv_init(got, 2 * turn, 1, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    CALLS(MPI_Start(&send));
    CALLS(MPI_Start(&receive));
    CALLS(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CALLS(MPI_Wait(&receive, &status));
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    EXPECT_INT(count, 0);
    CALLS(MPI_Request_free(&send));
    CALLS(MPI_Request_free(&receive));
  }
}

/* --- Who makes partitions ready ----------------------------------------------------------------------------------------- */

static void mark(int p, MPI_Request r) {
  sent[p] = rank + size * p;
  if (MPI_Pready(p, r) != MPI_SUCCESS) abort();
}

enum { threads = 3 };
static MPI_Request of_threads;
static void* mark_some(void* first) {
  for (int p = (int)(long)first; p < many; p += threads) mark(p, of_threads);
  return NULL;
}
static void by_threads(MPI_Request send) {
  pthread_t all[threads];
  of_threads = send;
  for (long t = 0; t < threads; ++t) pthread_create(&all[t], NULL, mark_some, (void*)t);
  for (int t = 0; t < threads; ++t) pthread_join(all[t], NULL);
}

static void mark_chunk(size_t begin, size_t end, void* request) {
  for (size_t p = begin; p < end; ++p) mark((int)p, *(MPI_Request*)request);
}
static void by_chunks(MPI_Request send) { weft_parallel_for(0, many, mark_chunk, &send); }

static void by_itself(MPI_Request send) {
  for (int p = many - 1; p >= 0; --p) mark(p, send);
}

static void rounds(const char* who, void (*make_ready)(MPI_Request), int partitions_got) {
  MPI_Request send, receive;
  CALLS(MPI_Psend_init(sent, many, 1, MPI_INT, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  CALLS(MPI_Precv_init(got, partitions_got, many / partitions_got, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  for (int round = 0; round < 3; ++round) {
    memset(got, 0, sizeof got);
    CALLS(MPI_Start(&receive));
    CALLS(MPI_Start(&send));
    make_ready(send);
    int flag = 0;
    while (!flag) CALLS(MPI_Parrived(receive, partitions_got / 2, &flag));
    EXPECT_INT(got[many / partitions_got * (partitions_got / 2)], left + size * (many / partitions_got * (partitions_got / 2)));
    CALLS(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CALLS(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    int wrong = 0;
    for (int p = 0; p < many; ++p) wrong += got[p] != left + size * p;
    EXPECT(wrong == 0, "%s, round %d: %d are wrong", who, round, wrong);
  }
  CALLS(MPI_Request_free(&send));
  CALLS(MPI_Request_free(&receive));
}

/* MPI_Finalize does not wait for what nobody sends: of a sender that makes no request, frees it, or does not start it. A checked
   job, of four ranks, is told of the request. */
static void left_behind(void) {
  static int never[4], also_never[8], sent_never[8];
  MPI_Request request;
  if (size == 4) return;
  for (int frees = 0; frees < 2; ++frees) {
    CALLS(MPI_Psend_init(sent_never + 4 * frees, 4, 1, MPI_INT, left, 78 + frees, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    if (frees) CALLS(MPI_Request_free(&request));
    CALLS(MPI_Precv_init(also_never + 4 * frees, 4, 1, MPI_INT, right, 78 + frees, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    CALLS(MPI_Start(&request));
  }
  MPI_Barrier(MPI_COMM_WORLD); /* Both sides have met. */
  if (rank != 0) return;
  CALLS(MPI_Precv_init(never, 4, 1, MPI_INT, right, 77, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  CALLS(MPI_Start(&request));
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  learn_place();
  EXPECT_INT(level, MPI_THREAD_MULTIPLE);
  right = (rank + 1) % size, left = (rank + size - 1) % size;
  nobody();
  errors();
  little();
  rounds("the rank", by_itself, many);
  rounds("the rank", by_itself, 10);
  rounds("threads", by_threads, 100);
  rounds("chunks", by_chunks, many);
  rounds("chunks", by_chunks, 1);
  left_behind();
  return end();
}
