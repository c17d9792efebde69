/* What one thread waits for another one completes or changes: it cancels a receive, sends the message, completes a
   generalized request, receives what is sent, takes a send back. Each wait ends, whether the other thread has called MPI
   before or not. */
#include <pthread.h>
#include <unistd.h>

#include "conform.h"

enum what { cancelled, sent, completed, probed, received, withdrawn, kinds };
enum wait { by_wait, by_waitall, by_waitany, by_waitsome, waits };

static MPI_Request requests[2];
static int value = 3;

static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = status->MPI_TAG = 0;
  return MPI_SUCCESS;
}
static int nothing(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int no_cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

struct act {
  enum what what;
  int has_called;
};

static void* act(void* pointer) {
  const struct act how = *(struct act*)pointer;
  int unused, got = -1;
  if (how.has_called) MPI_Comm_rank(MPI_COMM_WORLD, &unused);
  usleep(2000); /* So that the other thread waits, mostly. */
  switch (how.what) {
    case cancelled: MPI_Cancel(&requests[0]); break;
    case sent: MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_SELF); break;
    case completed: MPI_Grequest_complete(requests[0]); break;
    case probed: MPI_Send(&value, 1, MPI_INT, 0, 6, MPI_COMM_SELF); break;
    case received: MPI_Recv(&got, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE); break;
    case withdrawn: MPI_Cancel(&requests[0]); break;
    default: break;
  }
  return NULL;
}

static void wait_by(enum wait how, MPI_Status* status) {
  MPI_Status statuses[2];
  int index = -1, count = -1, indices[2];
  switch (how) {
    case by_wait:
      MPI_Wait(&requests[0], status);
      return;
    case by_waitall:
      MPI_Waitall(1, requests, statuses);
      break;
    case by_waitany:
      MPI_Waitany(2, requests, &index, statuses);
      EXPECT_INT(index, 0);
      break;
    default:
      MPI_Waitsome(2, requests, &count, indices, statuses);
      EXPECT(count == 1 && indices[0] == 0, "%d", count);
      break;
  }
  *status = statuses[0];
}

static void one(enum what what, enum wait how, int has_called) {
  struct act to_do = {what, has_called};
  int got = -1, never = -1, flag = -1;
  pthread_t thread;
  MPI_Status status;
  requests[0] = requests[1] = MPI_REQUEST_NULL;
  if (what == cancelled || what == sent)
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_SELF, &requests[0]);
  if (what == completed) MPI_Grequest_start(query, nothing, no_cancel, NULL, &requests[0]);
  if (what == received || what == withdrawn) MPI_Issend(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[0]);
  if (how == by_waitany || how == by_waitsome) MPI_Irecv(&never, 1, MPI_INT, 0, 8, MPI_COMM_SELF, &requests[1]);
  pthread_create(&thread, NULL, act, &to_do);
  if (what == probed) {
    MPI_Probe(MPI_ANY_SOURCE, 6, MPI_COMM_SELF, &status);
    MPI_Recv(&got, 1, MPI_INT, 0, 6, MPI_COMM_SELF, &status);
    EXPECT_INT(got, value);
  } else {
    wait_by(how, &status);
    MPI_Test_cancelled(&status, &flag);
    EXPECT(flag == (what == cancelled || what == withdrawn), "%d by %d: %d", what, how, flag);
    EXPECT_INT(got, what == sent ? value : -1);
    EXPECT(requests[0] == MPI_REQUEST_NULL, "still there");
  }
  pthread_join(thread, NULL);
  if (requests[1] != MPI_REQUEST_NULL) {
    MPI_Cancel(&requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
}

/* A persistent receive, cancelled by the thread in each round, is there again. */
static void persistent(void) {
  int got = -1, flag = 0;
  MPI_Status status;
  MPI_Recv_init(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[0]);
  for (int round = 0; round < 3; ++round) {
    struct act to_do = {cancelled, round % 2};
    pthread_t thread;
    MPI_Start(&requests[0]);
    pthread_create(&thread, NULL, act, &to_do);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &flag);
    EXPECT_INT(flag, 1);
    pthread_join(thread, NULL);
  }
  MPI_Request_free(&requests[0]);
}

#ifdef MPI_ABI_VERSION /* Erroneous, and not all look. */
static void* wait_too(void* code) {
  MPI_Request copy = requests[0];
  *(int*)code = MPI_Wait(&copy, MPI_STATUS_IGNORE);
  return NULL;
}

/* Two threads wait for one request, or a list has it twice: one of them is told, and neither hangs. */
static void waited_for_twice(void) {
  int got = -1, codes[2] = {-1, -1}, class = -1, refused = 0;
  pthread_t thread;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Irecv(&got, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[0]);
  pthread_create(&thread, NULL, wait_too, &codes[0]);
  usleep(5000);
  struct act to_do = {sent, 0};
  pthread_t other;
  pthread_create(&other, NULL, act, &to_do);
  codes[1] = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  pthread_join(thread, NULL);
  pthread_join(other, NULL);
  for (int i = 0; i < 2; ++i) {
    MPI_Error_class(codes[i], &class);
    refused += class == MPI_ERR_REQUEST;
    EXPECT(class == MPI_SUCCESS || class == MPI_ERR_REQUEST, "class %d", class);
  }
  EXPECT_INT(refused, 1);
  EXPECT_INT(got, value);
  MPI_Request twice[2];
  MPI_Irecv(&got, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &twice[0]);
  twice[1] = twice[0];
  EXPECT_CLASS(MPI_Waitall(2, twice, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
  MPI_Cancel(&twice[0]);
  EXPECT_INT(MPI_Wait(&twice[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}
#else
static void waited_for_twice(void) {}
#endif

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  learn_place();
  EXPECT_INT(level, MPI_THREAD_MULTIPLE);
#if defined MPICH_VERSION && !defined MPI_ABI_VERSION /* Its waits keep other threads out on a busy machine. */
  level = MPI_THREAD_SERIALIZED;
#endif
  if (level == MPI_THREAD_MULTIPLE) {
#ifndef MPI_ABI_VERSION /* Not all take sends back. */
    enum { kinds = withdrawn };
#endif
    for (int what = 0; what < kinds; ++what)
      for (int how = 0; how < (what == probed ? 1 : waits); ++how)
        for (int has_called = 0; has_called < 2; ++has_called) one(what, how, has_called);
    persistent();
    waited_for_twice();
  }
  return end();
}
