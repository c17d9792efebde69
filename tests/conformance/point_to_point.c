/* Blocking sends in every mode, receives, statuses, order, MPI_PROC_NULL, self, odd tags. */
#include "conform.h"

static int tag_upper_bound(void) {
  int* value = NULL;
  int is_set = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &is_set);
  EXPECT(is_set && *value >= 32767, "MPI_TAG_UB is %d", is_set ? *value : -1);
  return is_set ? *value : 32767;
}

typedef int (*send_function)(const void*, int, MPI_Datatype, int, int, MPI_Comm);

static void modes(void) {
  static char room[1 << 16];
  const send_function send[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Buffer_attach(room, sizeof room);
  for (int mode = 0; mode < 4; ++mode) {
    int got[100], out[100];
    MPI_Request request;
    MPI_Status status;
    for (int i = 0; i < 100; ++i) out[i] = 1000 * rank + i, got[i] = -1;
    MPI_Irecv(got, 100, MPI_INT, left, mode, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD); /* The receive is there, as a ready send demands. */
    send[mode](out, 90, MPI_INT, right, mode, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    EXPECT_INT(count, 90);
    EXPECT_INT(status.MPI_SOURCE, left);
    EXPECT_INT(status.MPI_TAG, mode);
    EXPECT(got[89] == 1000 * left + 89 && got[90] == -1, "mode %d: %d %d", mode, got[89], got[90]);
    EXPECT(request == MPI_REQUEST_NULL, "the request lives on");
  }
  void* old = NULL;
  int old_size = 0;
  MPI_Buffer_detach(&old, &old_size);
  EXPECT(old == room && old_size == (int)sizeof room, "detached %p, %d", old, old_size);
}

static void buffered_sends_do_not_wait(void) {
  /* Every rank sends first: only a buffer makes this safe. */
  enum { messages = 20, length = 300 };
  int bytes = 0, out[length], in[length];
  MPI_Pack_size(length, MPI_INT, MPI_COMM_WORLD, &bytes);
  bytes = (bytes + MPI_BSEND_OVERHEAD) * messages;
  void* room = malloc((size_t)bytes);
  MPI_Buffer_attach(room, bytes);
  for (int m = 0; m < messages; ++m) {
    for (int i = 0; i < length; ++i) out[i] = m + i + rank;
    MPI_Bsend(out, length, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int left = (rank + size - 1) % size;
  for (int m = 0; m < messages; ++m) {
    MPI_Recv(in, length, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(in[0] == m + left && in[length - 1] == m + length - 1 + left, "message %d: %d", m, in[0]);
  }
  MPI_Buffer_detach(&room, &bytes);
  free(room);
}

static void zero_counts(void) {
  MPI_Status status;
  int count = -1, untouched = 17;
  MPI_Sendrecv(NULL, 0, MPI_INT, (rank + 1) % size, 3, &untouched, 1, MPI_INT, MPI_ANY_SOURCE, 3,
               MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT_INT(count, 0);
  EXPECT_INT(untouched, 17);
  EXPECT_INT(status.MPI_SOURCE, (rank + size - 1) % size);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  EXPECT_INT(count, 0);
}

static void no_process(void) {
  int value = 5, count = -1, flag = 0;
  MPI_Status status;
  MPI_Request requests[2];
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT(value == 5 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG,
         "value %d count %d source %d tag %d", value, count, status.MPI_SOURCE, status.MPI_TAG);
  MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, &count, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
               &status);
  EXPECT_INT(status.MPI_SOURCE, MPI_PROC_NULL);
#ifdef MPI_ABI_VERSION /* Not all take it. Nothing needs no datatype. */
  MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  EXPECT_INT(status.MPI_SOURCE, MPI_PROC_NULL);
  MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Wait(&requests[1], &status);
  EXPECT_INT(status.MPI_SOURCE, MPI_PROC_NULL);
#endif
  MPI_Iprobe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
  EXPECT(flag && status.MPI_SOURCE == MPI_PROC_NULL, "probe of nobody: %d", flag);
  MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
  /* An end of a line: only one neighbour. */
  const int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  int from_left = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, right, 2, &from_left, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT_INT(from_left, rank - 1);
}

static void self_messages(void) {
  double out[1000], in[1000];
  MPI_Request request;
  MPI_Status status;
  for (int i = 0; i < 1000; ++i) out[i] = i, in[i] = -1;
  MPI_Irecv(in, 1000, MPI_DOUBLE, rank, 11, MPI_COMM_WORLD, &request);
  MPI_Ssend(out, 1000, MPI_DOUBLE, rank, 11, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  EXPECT(in[999] == 999 && status.MPI_SOURCE == rank, "%g from %d", in[999], status.MPI_SOURCE);
  MPI_Sendrecv(out, 10, MPI_DOUBLE, 0, 1, in + 500, 10, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &status);
  EXPECT(in[509] == 9 && status.MPI_SOURCE == 0, "%g", in[509]);
  MPI_Isend(&rank, 1, MPI_INT, rank, 12, MPI_COMM_WORLD, &request);
  int mine = -1;
  MPI_Recv(&mine, 1, MPI_INT, MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &status);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_INT(mine, rank);
}

static void tags(void) {
  const int most = tag_upper_bound(), right = (rank + 1) % size, left = (rank + size - 1) % size;
  const int tag[] = {most, 0, most - 1, 32767};
  MPI_Request request[4];
  int got[4] = {-1, -1, -1, -1}, out[4] = {10, 11, 12, 13};
  for (int i = 0; i < 4; ++i) MPI_Irecv(&got[i], 1, MPI_INT, left, tag[i], MPI_COMM_WORLD, &request[i]);
  for (int i = 3; i >= 0; --i) MPI_Send(&out[i], 1, MPI_INT, right, tag[i], MPI_COMM_WORLD);
  MPI_Status status[4];
  MPI_Waitall(4, request, status);
  for (int i = 0; i < 4; ++i)
    EXPECT(got[i] == 10 + i && status[i].MPI_TAG == tag[i], "%d: %d, tag %d", i, got[i], status[i].MPI_TAG);
}

/* Messages of one sender are matched in the order they were sent, short and long ones alike. */
static void order(void) {
  enum { messages = 60 };
  const int sizes[] = {0, 1, 5000, 3, 20000, 300, 1};
  static int out[20000], in[20000];
  MPI_Barrier(MPI_COMM_WORLD);
  if (size < 2) return;
  if (rank == 0)
    for (int peer = 1; peer < size; ++peer)
      for (int m = 0; m < messages; ++m) {
        const int n = sizes[m % LENGTH(sizes)];
        for (int i = 0; i < n; ++i) out[i] = m + i;
        MPI_Send(out, n, MPI_INT, peer, m % 2, MPI_COMM_WORLD);
      }
  else
    for (int m = 0; m < messages; ++m) {
      MPI_Status status;
      int count = -1;
      MPI_Recv(in, LENGTH(in), MPI_INT, m % 3 == 0 ? MPI_ANY_SOURCE : 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_INT, &count);
      EXPECT(count == sizes[m % LENGTH(sizes)] && status.MPI_TAG == m % 2, "message %d: %d elements, tag %d", m, count,
             status.MPI_TAG);
      EXPECT(count == 0 || (in[0] == m && in[count - 1] == m + count - 1), "message %d begins with %d", m, in[0]);
    }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void replace(void) {
  static int both[30000];
  MPI_Status status;
  for (int n = 1; n <= 30000; n = n * 30 + 1) {
    for (int i = 0; i < n; ++i) both[i] = rank + i;
    MPI_Sendrecv_replace(both, n, MPI_INT, (rank + 1) % size, 4, (rank + size - 1) % size, 4, MPI_COMM_WORLD, &status);
    const int left = (rank + size - 1) % size;
    EXPECT(both[0] == left && both[n - 1] == left + n - 1, "%d: %d %d", n, both[0], both[n - 1]);
  }
}

static void counts(void) {
  MPI_Status status;
  char bytes[10] = {0}, in[10];
  int count = 0;
  MPI_Count elements = -1;
  MPI_Sendrecv(bytes, 10, MPI_BYTE, rank, 0, in, 10, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count); /* Not a whole number of them. */
  EXPECT_INT(count, MPI_UNDEFINED);
  MPI_Get_elements(&status, MPI_BYTE, &count);
  EXPECT_INT(count, 10);
  MPI_Get_elements_x(&status, MPI_BYTE, &elements);
  EXPECT_INT(elements, 10);
  MPI_Status made = status;
  int is_cancelled = -1;
  MPI_Status_set_elements(&made, MPI_INT, 7);
  MPI_Status_set_cancelled(&made, 0);
  MPI_Get_count(&made, MPI_INT, &count);
  MPI_Test_cancelled(&made, &is_cancelled);
  EXPECT(count == 7 && !is_cancelled, "%d %d", count, is_cancelled);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  modes();
  buffered_sends_do_not_wait();
  zero_counts();
  no_process();
  self_messages();
  tags();
  order();
  replace();
  counts();
  return end();
}
