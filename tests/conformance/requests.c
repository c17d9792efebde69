/* Waiting and testing, any, some and all; null and inactive requests; persistent ones; cancelling. */
#include "conform.h"

#ifdef MPI_ABI_VERSION /* Not all set it. */
#define EXPECT_NO_ERROR(status) EXPECT_INT((status).MPI_ERROR, MPI_SUCCESS)
#else
#define EXPECT_NO_ERROR(status)
#endif

static void empty_status(void) {
  MPI_Request none = MPI_REQUEST_NULL;
  MPI_Status status;
  int flag = 0, count = -1, cancelled = -1;
  memset(&status, 0x55, sizeof status);
  MPI_Wait(&none, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count == 0 && !cancelled,
         "source %d tag %d count %d", status.MPI_SOURCE, status.MPI_TAG, count);
  EXPECT_NO_ERROR(status);
  status.MPI_ERROR = MPI_ERR_OTHER;
  MPI_Test(&none, &flag, &status);
  EXPECT_INT(flag, 1);
  EXPECT_NO_ERROR(status);
  status.MPI_ERROR = MPI_ERR_OTHER;
  flag = 0;
  MPI_Request_get_status(none, &flag, &status);
  EXPECT_INT(flag, 1);
  EXPECT_NO_ERROR(status);
}

static void lists_of_nothing(void) {
  MPI_Request none[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status[3];
  int index = 5, flag = 0, indices[3], count = 5;
  MPI_Waitany(3, none, &index, status);
  EXPECT_INT(index, MPI_UNDEFINED);
  index = 5;
  MPI_Waitany(0, NULL, &index, status);
  EXPECT_INT(index, MPI_UNDEFINED);
  MPI_Testany(3, none, &index, &flag, status);
  EXPECT(flag && index == MPI_UNDEFINED, "%d %d", flag, index);
  MPI_Waitsome(3, none, &count, indices, status);
  EXPECT_INT(count, MPI_UNDEFINED);
  count = 5;
  MPI_Testsome(3, none, &count, indices, status);
  EXPECT_INT(count, MPI_UNDEFINED);
  flag = 0;
  MPI_Testall(3, none, &flag, status);
  EXPECT_INT(flag, 1);
  MPI_Waitall(3, none, MPI_STATUSES_IGNORE);
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
}

static void any_and_some(void) {
  enum { messages = 24 };
  MPI_Request in[messages + 1], out[messages];
  int got[messages], sent[messages], seen[messages] = {0};
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int round = 0; round < 4; ++round) {
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < messages; ++i) MPI_Irecv(&got[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &in[i]);
    in[messages] = MPI_REQUEST_NULL;
    for (int i = messages - 1; i >= 0; --i) {
      sent[i] = 100 * round + i;
      MPI_Isend(&sent[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &out[i]);
    }
    for (int done = 0; done < messages;) {
      MPI_Status status[messages + 1];
      int indices[messages + 1], count = 0, flag = 0;
      if (round == 0) {
        MPI_Waitany(messages + 1, in, &indices[0], &status[0]);
        count = 1;
      } else if (round == 1) {
        MPI_Waitsome(messages + 1, in, &count, indices, status);
        EXPECT(count >= 1, "%d ended", count);
      } else if (round == 2) {
        MPI_Testany(messages + 1, in, &indices[0], &flag, &status[0]);
        count = flag;
      } else {
        MPI_Testsome(messages + 1, in, &count, indices, status);
      }
      for (int i = 0; i < count; ++i) {
        const int k = indices[i];
        EXPECT(k >= 0 && k < messages && !seen[k], "index %d", k);
        if (k < 0 || k >= messages) return;
        seen[k] = 1;
        EXPECT(got[k] == 100 * round + k && status[i].MPI_TAG == k && in[k] == MPI_REQUEST_NULL, "%d: %d, tag %d", k, got[k],
               status[i].MPI_TAG);
      }
      done += count;
    }
    int flag = 0;
    while (!flag) MPI_Testall(messages, out, &flag, MPI_STATUSES_IGNORE);
    for (int i = 0; i < messages; ++i) EXPECT(out[i] == MPI_REQUEST_NULL, "request %d lives", i);
  }
}

static void many_outstanding(void) {
  enum { messages = 2000 };
  static MPI_Request requests[2 * messages];
  static int in[messages], out[messages];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < messages; ++i) {
    out[i] = i * 3 + rank;
    MPI_Isend(&out[i], 1, MPI_INT, right, i % 7, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < messages; ++i) MPI_Irecv(&in[i], 1, MPI_INT, left, i % 7, MPI_COMM_WORLD, &requests[messages + i]);
  MPI_Waitall(2 * messages, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < messages; ++i) EXPECT(in[i] == i * 3 + left, "message %d is %d", i, in[i]);
}

static void persistent(void) {
  static char room[4096 + MPI_BSEND_OVERHEAD];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int out = 0, in = 0, flag = 0, index = 0;
  MPI_Request r[2];
  MPI_Status status;
  MPI_Buffer_attach(room, sizeof room);
  for (int mode = 0; mode < 4; ++mode) {
    MPI_Recv_init(&in, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &r[0]);
    if (mode == 0) MPI_Send_init(&out, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &r[1]);
    if (mode == 1) MPI_Ssend_init(&out, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &r[1]);
    if (mode == 2) MPI_Bsend_init(&out, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &r[1]);
    if (mode == 3) MPI_Rsend_init(&out, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &r[1]);
    /* Inactive requests end at once, with the empty status, and live on. */
    MPI_Wait(&r[0], &status);
    EXPECT(r[0] != MPI_REQUEST_NULL && status.MPI_SOURCE == MPI_ANY_SOURCE, "source %d", status.MPI_SOURCE);
    MPI_Waitany(2, r, &index, &status);
    EXPECT_INT(index, MPI_UNDEFINED);
    for (int round = 0; round < 5; ++round) {
      out = 100 * mode + round + rank;
      if (mode == 3) {
        MPI_Start(&r[0]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Start(&r[1]);
      } else {
        MPI_Startall(2, r);
      }
      MPI_Wait(&r[1], MPI_STATUS_IGNORE);
      MPI_Wait(&r[0], &status);
      EXPECT(in == 100 * mode + round + left && status.MPI_SOURCE == left, "round %d: %d", round, in);
      MPI_Test(&r[0], &flag, &status);
      EXPECT_INT(flag, 1);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    EXPECT(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL, "freed requests have values");
  }
  void* old;
  int old_size;
  MPI_Buffer_detach(&old, &old_size);
}

static void cancelling(void) {
  MPI_Request request;
  MPI_Status status;
  int value = 3, cancelled = 0;
  MPI_Irecv(&value, 1, MPI_INT, rank, 77, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT(cancelled && value == 3 && request == MPI_REQUEST_NULL, "cancelled %d", cancelled);
  /* What has been matched is not cancelled. */
  MPI_Irecv(&value, 1, MPI_INT, rank, 78, MPI_COMM_WORLD, &request);
  MPI_Send(&rank, 1, MPI_INT, rank, 78, MPI_COMM_WORLD);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT(!cancelled && value == rank, "cancelled %d, value %d", cancelled, value);
}

/* Whether a send is taken back is up to the library and to chance, but either it is, or its message arrives.
   Nobody waits for anybody: libraries that take none back complete it when it is received. */
static void cancelled_sends(void) {
  enum { message = 79, end_of_send = 80 };
  static int large[100000], into[100000];
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int i = 0; i < 20; ++i) {
    MPI_Request request;
    MPI_Message taken;
    MPI_Status status;
    int done = 0, gone = 0, told = -1, received = 0, cancelled = 0;
    large[0] = rank;
    if (i % 2 == 0)
      MPI_Issend(large, 1, MPI_INT, to, message, MPI_COMM_WORLD, &request);
    else
      MPI_Isend(large, LENGTH(large), MPI_INT, to, message, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    while (!done || told < 0) {
      int here = 0;
      if (!done) MPI_Test(&request, &done, &status);
      if (done && !gone) {
        MPI_Test_cancelled(&status, &cancelled);
        MPI_Send(&cancelled, 1, MPI_INT, to, end_of_send, MPI_COMM_WORLD);
        gone = 1;
      }
      MPI_Improbe(from, message, MPI_COMM_WORLD, &here, &taken, MPI_STATUS_IGNORE);
      if (here) { /* And is nobody else's any more. */
        MPI_Mrecv(into, LENGTH(into), MPI_INT, &taken, MPI_STATUS_IGNORE);
        EXPECT_INT(into[0], from);
        ++received;
      }
      MPI_Iprobe(from, end_of_send, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
      if (here && told < 0) MPI_Recv(&told, 1, MPI_INT, from, end_of_send, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!told && !received) { /* Both came between the two looks. */
      MPI_Recv(into, LENGTH(into), MPI_INT, from, message, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      ++received;
    }
    EXPECT_INT(received, told ? 0 : 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void freed_while_active(void) {
  static int out[5];
  MPI_Request request;
  int in = -1;
  for (int i = 0; i < 5; ++i) {
    out[i] = rank + i;
    MPI_Isend(&out[i], 1, MPI_INT, (rank + 1) % size, 6, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    EXPECT(request == MPI_REQUEST_NULL, "freed request %d", i);
  }
  const int left = (rank + size - 1) % size;
  for (int i = 0; i < 5; ++i) {
    MPI_Recv(&in, 1, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_INT(in, left + i);
  }
}

static void looking_without_ending(void) {
  MPI_Request request;
  MPI_Status status;
  int in = -1, flag = 0;
  MPI_Irecv(&in, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &request);
  MPI_Request_get_status(request, &flag, &status);
  EXPECT_INT(flag, 0);
  MPI_Send(&rank, 1, MPI_INT, rank, 8, MPI_COMM_WORLD);
  while (!flag) MPI_Request_get_status(request, &flag, &status);
  EXPECT(status.MPI_SOURCE == rank && in == rank && request != MPI_REQUEST_NULL, "source %d", status.MPI_SOURCE);
  flag = 0;
  MPI_Test(&request, &flag, &status);
  EXPECT(flag && request == MPI_REQUEST_NULL && status.MPI_TAG == 8, "tag %d", status.MPI_TAG);
}

/* Requests of the program's own. */
static int queried, freed;
static int on_query(void* state, MPI_Status* status) {
  ++queried;
  MPI_Status_set_elements(status, MPI_INT, *(int*)state);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 4;
  status->MPI_TAG = 5;
  return MPI_SUCCESS;
}
static int on_free(void* state) {
  (void)state;
  ++freed;
  return MPI_SUCCESS;
}
static int on_cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

#ifdef MPI_ABI_VERSION /* MPI 4.1. */
static void looking_at_lists(void) {
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[3];
  int flag = 0, index = 0, count = 0, indices[3], value = -1, out = rank;
  memset(statuses, 0x55, sizeof statuses);
  MPI_Request_get_status_all(3, requests, &flag, statuses);
  EXPECT(flag == 1 && statuses[2].MPI_ERROR == MPI_SUCCESS && statuses[2].MPI_TAG == MPI_ANY_TAG, "%d, tag %d",
         flag, statuses[2].MPI_TAG);
  flag = 0;
  MPI_Request_get_status_any(3, requests, &index, &flag, statuses);
  EXPECT(flag == 1 && index == MPI_UNDEFINED, "%d, number %d", flag, index);
  MPI_Request_get_status_some(3, requests, &count, indices, statuses);
  EXPECT_INT(count, MPI_UNDEFINED);
  MPI_Irecv(&value, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &requests[1]);
  MPI_Request_get_status_all(3, requests, &flag, statuses);
  EXPECT_INT(flag, 0);
  MPI_Request_get_status_any(3, requests, &index, &flag, statuses);
  EXPECT(flag == 0 && index == MPI_UNDEFINED, "%d, number %d", flag, index);
  MPI_Request_get_status_some(3, requests, &count, indices, statuses);
  EXPECT_INT(count, 0);
  MPI_Send(&out, 1, MPI_INT, rank, 7, MPI_COMM_WORLD);
  do MPI_Request_get_status_any(3, requests, &index, &flag, statuses);
  while (!flag);
  EXPECT(index == 1 && statuses[0].MPI_TAG == 7, "number %d, tag %d", index, statuses[0].MPI_TAG);
  MPI_Request_get_status_some(3, requests, &count, indices, statuses);
  EXPECT(count == 1 && indices[0] == 1 && statuses[0].MPI_SOURCE == rank, "%d from %d", count, statuses[0].MPI_SOURCE);
  MPI_Request_get_status_all(3, requests, &flag, statuses);
  EXPECT(flag == 1 && statuses[1].MPI_TAG == 7, "%d, tag %d", flag, statuses[1].MPI_TAG);
  EXPECT(requests[1] != MPI_REQUEST_NULL, "the request has gone");
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  EXPECT_INT(value, rank);
}
#endif

static void generalized(void) {
  int elements = 6, flag = 1, count = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Grequest_start(on_query, on_free, on_cancel, &elements, &request);
  MPI_Test(&request, &flag, &status);
  EXPECT_INT(flag, 0);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT(count == 6 && status.MPI_SOURCE == 4 && status.MPI_TAG == 5 && queried == 1 && freed == 1,
         "count %d source %d queried %d freed %d", count, status.MPI_SOURCE, queried, freed);
}

/* A communicator that is freed lives on, with its error handler, until its requests have ended. */
static void freed_communicator(void) {
  MPI_Comm comm;
  MPI_Request requests[2];
  MPI_Status status;
  int got = 0, flag = 0;
#ifdef MPI_ABI_VERSION /* Others call that of MPI_COMM_WORLD. */
  int sent[2] = {1, 2};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Irecv(&got, 1, MPI_INT, rank, 0, comm, &requests[0]);
  MPI_Isend(sent, 2, MPI_INT, rank, 0, comm, &requests[1]);
  MPI_Comm_free(&comm);
  EXPECT(comm == MPI_COMM_NULL, "the handle stays");
  EXPECT_CLASS(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
#endif
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Irecv(&got, 1, MPI_INT, rank, 0, comm, &requests[0]);
  MPI_Comm_free(&comm);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], &status);
  MPI_Test_cancelled(&status, &flag);
  EXPECT_INT(flag, 1);

  /* Freed while it is active: it completes all the same. */
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 1, comm, &requests[0]);
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 1, comm, &requests[1]);
  MPI_Comm_free(&comm);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  EXPECT_INT(got, (rank + size - 1) % size);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  empty_status();
  lists_of_nothing();
  any_and_some();
  many_outstanding();
  persistent();
  cancelling();
  cancelled_sends();
  freed_while_active();
  freed_communicator();
  looking_without_ending();
  generalized();
#ifdef MPI_ABI_VERSION
  looking_at_lists();
#endif
  return end();
}
