/* Probes and matched probes, with and without waiting. */
#include "conform.h"

static void probes(void) {
  static int buffer[500];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int n = 0; n < 500; n += 83) {
    MPI_Request request;
    MPI_Status status, again;
    int count = -1;
    MPI_Isend(buffer, n, MPI_INT, right, n, MPI_COMM_WORLD, &request);
    MPI_Probe(n % 2 ? left : MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    EXPECT(count == n && status.MPI_TAG == n && status.MPI_SOURCE == left, "%d elements, tag %d, source %d", count,
           status.MPI_TAG, status.MPI_SOURCE);
    MPI_Probe(MPI_ANY_SOURCE, n, MPI_COMM_WORLD, &again); /* A probe takes nothing away. */
    EXPECT_INT(again.MPI_SOURCE, status.MPI_SOURCE);
    int in[500];
    MPI_Recv(in, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void nothing_there(void) {
  int flag = 1;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Iprobe(MPI_ANY_SOURCE, 4321, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  EXPECT_INT(flag, 0);
  flag = 1;
  MPI_Improbe(MPI_ANY_SOURCE, 4321, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
  EXPECT(!flag && message == MPI_MESSAGE_NULL, "flag %d", flag);
}

/* Two messages with one envelope: the first is matched, the second received before it. */
static void matched(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  static int out[2][2000], in[2000];
  MPI_Request requests[2], receive;
  MPI_Message message;
  MPI_Status status;
  for (int length = 2; length <= 2000; length *= 1000) {
    for (int m = 0; m < 2; ++m) {
      for (int i = 0; i < length; ++i) out[m][i] = m;
      MPI_Isend(out[m], length, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[m]);
    }
    MPI_Mprobe(left, 1, MPI_COMM_WORLD, &message, &status);
    int count = 0;
    MPI_Get_count(&status, MPI_INT, &count);
    EXPECT_INT(count, length);
    MPI_Recv(in, length, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(in[length - 1] == 1, "the matched message was received otherwise");
    MPI_Mrecv(in, length, MPI_INT, &message, &status);
    EXPECT(in[length - 1] == 0 && message == MPI_MESSAGE_NULL && status.MPI_SOURCE == left, "got %d", in[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    int flag = 0;
    MPI_Isend(out[1], length, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[0]);
    while (!flag) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
    MPI_Imrecv(in, length, MPI_INT, &message, &receive);
    EXPECT(message == MPI_MESSAGE_NULL, "the message lives on");
    MPI_Wait(&receive, &status);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    EXPECT(in[length - 1] == 1 && status.MPI_TAG == 2, "got %d, tag %d", in[0], status.MPI_TAG);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void of_nobody(void) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int flag = 0, count = -1;
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
  EXPECT(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL, "source %d", status.MPI_SOURCE);
  MPI_Mrecv(NULL, 0, MPI_INT, &message, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT(message == MPI_MESSAGE_NULL && count == 0, "count %d", count);
  MPI_Improbe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &message, &status);
  EXPECT(flag && message == MPI_MESSAGE_NO_PROC, "flag %d", flag);
  MPI_Request request;
  MPI_Imrecv(NULL, 0, MPI_INT, &message, &request);
  MPI_Wait(&request, &status);
  EXPECT_INT(status.MPI_SOURCE, MPI_PROC_NULL);
}

#if defined(MPI_ABI_VERSION) || defined(OPEN_MPI) /* MPICH calls the handler of MPI_COMM_WORLD. */
/* Errors belong to the communicator of the message. */
static void too_long(void) {
  MPI_Comm comm;
  MPI_Message message;
  MPI_Request request;
  MPI_Status status;
  int sent[2] = {1, 2}, got = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Isend(sent, 2, MPI_INT, rank, 0, comm, &request);
  MPI_Mprobe(rank, 0, comm, &message, &status);
  EXPECT_CLASS(MPI_Mrecv(&got, 1, MPI_INT, &message, &status), MPI_ERR_TRUNCATE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
}
#endif

int main(int argc, char** argv) {
  begin(&argc, &argv);
  probes();
  nothing_there();
  matched();
  of_nobody();
#if defined(MPI_ABI_VERSION) || defined(OPEN_MPI)
  too_long();
#endif
  return end();
}
