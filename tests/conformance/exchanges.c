/* MPI_Isendrecv and MPI_Isendrecv_replace; buffers of communicators and flushing. */
#include "conform.h"

#ifdef MPI_ABI_VERSION
#define IS_WHOLE 1
#else /* MPICH 4.0 sets no status, gives datatypes up twice, and faults with nobody. */
#define IS_WHOLE 0
#endif

#if MPI_VERSION >= 4
enum { large = 200000 };
static int out[large], in[large];

static void fill(int* values, int count, int from) {
  for (int i = 0; i < count; ++i) values[i] = from + i;
}
static int is_filled(const int* values, int count, int from) {
  for (int i = 0; i < count; ++i)
    if (values[i] != from + i) return 0;
  return 1;
}

/* Around the ring: as long as the pieces are, nobody waits for anybody before all have started. */
static void rings(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int count = 1; count <= large; count *= 40) {
    MPI_Request request;
    MPI_Status status;
    int found = -1;
    fill(out, count, 1000 * rank);
    fill(in, count, -5);
    MPI_Isendrecv(out, count, MPI_INT, right, 3, in, large, MPI_INT, left, 3, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    EXPECT(request == MPI_REQUEST_NULL, "the request is still there");
    MPI_Get_count(&status, MPI_INT, &found);
    EXPECT(!IS_WHOLE || (status.MPI_SOURCE == left && status.MPI_TAG == 3 && found == count), "%d bytes from %d, tag %d", found,
           status.MPI_SOURCE, status.MPI_TAG);
    EXPECT(is_filled(in, count, 1000 * left), "%d values", count);
    MPI_Isendrecv_replace(out, count, MPI_INT, left, 4, right, 4, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    EXPECT(is_filled(out, count, 1000 * right) && (!IS_WHOLE || status.MPI_SOURCE == right), "%d values replaced", count);
  }
}

/* Every second element goes and comes. */
static void with_gaps(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size, count = 40000;
  MPI_Datatype even;
  MPI_Request request;
  MPI_Type_vector(count, 1, 2, MPI_INT, &even);
  MPI_Type_commit(&even);
  fill(out, 2 * count, rank);
  fill(in, 2 * count, -1);
  MPI_Isendrecv(out, 1, even, right, 0, in, 1, even, left, 0, MPI_COMM_WORLD, &request);
  MPI_Type_free(&even);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT(in[0] == left && in[1] == 0 && in[2 * count - 2] == left + 2 * count - 2 && in[2 * count - 1] == 2 * count - 2,
         "%d %d ... %d %d", in[0], in[1], in[2 * count - 2], in[2 * count - 1]);
}

static void nobody(void) {
  int value = 7, flag = 0, cancelled = -1, count = -1;
  MPI_Request request;
  MPI_Status status;
  MPI_Isendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT(!IS_WHOLE || (status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0), "%d bytes from %d", count,
         status.MPI_SOURCE);
  /* Half of it with nobody. */
  MPI_Isendrecv(&value, 1, MPI_INT, rank, 1, in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  MPI_Recv(in, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_INT(in[0], 7);
  value = -1;
  MPI_Isendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &request);
  MPI_Test(&request, &flag, &status);
  EXPECT_INT(flag, 0);
  MPI_Send(&rank, 1, MPI_INT, rank, 2, MPI_COMM_WORLD);
  while (!flag) MPI_Test(&request, &flag, &status);
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT(value == rank && (!IS_WHOLE || (status.MPI_SOURCE == rank && !cancelled)), "%d from %d", value, status.MPI_SOURCE);
}

/* With others in one wait; which half ends first differs from rank to rank. */
static void among_others(void) {
  enum { exchanges = 6 };
  static int to[exchanges][20000], from[exchanges][20000], last;
  MPI_Request requests[exchanges + 1];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < exchanges; ++i) {
    fill(to[i], 20000, 100 * rank + i);
    MPI_Isendrecv(to[i], i % 2 ? 20000 : 1, MPI_INT, i % 3 ? right : left, i, from[i], 20000, MPI_INT, i % 3 ? left : right, i,
                  MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Irecv(&last, 1, MPI_INT, left, 100, MPI_COMM_WORLD, &requests[exchanges]);
  for (int done = 0; done < exchanges;) {
    int index = -1;
    MPI_Waitany(exchanges, requests, &index, MPI_STATUS_IGNORE);
    if (index == MPI_UNDEFINED) break;
    EXPECT(is_filled(from[index], index % 2 ? 20000 : 1, 100 * (index % 3 ? left : right) + index), "exchange %d", index);
    ++done;
  }
  MPI_Send(&rank, 1, MPI_INT, right, 100, MPI_COMM_WORLD);
  MPI_Waitall(exchanges + 1, requests, MPI_STATUSES_IGNORE);
  EXPECT_INT(last, left);
  for (int i = 0; i < exchanges; ++i)
    MPI_Isendrecv_replace(to[i], 20000, MPI_INT, right, i, left, i, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitall(exchanges, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < exchanges; ++i) EXPECT(is_filled(to[i], 20000, 100 * left + i), "replaced %d", i);
}
#else
static void rings(void) {}
static void with_gaps(void) {}
static void nobody(void) {}
static void among_others(void) {}
#endif

#ifdef MPI_ABI_VERSION /* Others have not got these yet. */
/* With large counts, the same. */
static void large_counts(void) {
  static char memory[1000];
  int value = rank, got = -1;
  MPI_Count bytes = -1;
  void* address = NULL;
  MPI_Comm comm;
  MPI_Request request;
  MPI_Isendrecv_c(&value, 1, MPI_INT, rank, 0, &got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_INT(got, rank);
  MPI_Isendrecv_replace_c(&value, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_INT(value, (rank + size - 1) % size);
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_attach_buffer_c(comm, memory, sizeof memory);
  MPI_Comm_detach_buffer_c(comm, &address, &bytes);
  EXPECT(address == memory && bytes == sizeof memory, "%p, %lld bytes", address, (long long)bytes);
  MPI_Comm_free(&comm);
}

/* Messages of a communicator with a buffer of its own leave room in that of all. */
static void buffers(void) {
  enum { length_of_one = 100000 };
  static char memory[length_of_one + MPI_BSEND_OVERHEAD], own_memory[length_of_one + MPI_BSEND_OVERHEAD], data[length_of_one], got[length_of_one];
  MPI_Comm comm;
  MPI_Request request;
  void* address = NULL;
  int bytes = -1, flag = -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPI_Bsend(data, length_of_one, MPI_BYTE, rank, 0, comm), MPI_ERR_BUFFER);
  MPI_Buffer_attach(memory, sizeof memory);
  MPI_Comm_attach_buffer(comm, own_memory, sizeof own_memory);
  EXPECT_CLASS(MPI_Comm_attach_buffer(comm, memory, sizeof memory), MPI_ERR_BUFFER);
  for (int i = 0; i < length_of_one; ++i) data[i] = (char)(i + rank);
  MPI_Bsend(data, length_of_one, MPI_BYTE, rank, 0, comm);
  MPI_Bsend(data, length_of_one, MPI_BYTE, rank, 0, MPI_COMM_WORLD);
  EXPECT_CLASS(MPI_Bsend(data, length_of_one, MPI_BYTE, rank, 0, comm), MPI_ERR_BUFFER);
  MPI_Comm_iflush_buffer(comm, &request);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  EXPECT_INT(flag, 0);
  MPI_Recv(got, length_of_one, MPI_BYTE, rank, 0, comm, MPI_STATUS_IGNORE);
  EXPECT(memcmp(got, data, length_of_one) == 0, "another message");
  MPI_Wait(&request, MPI_STATUS_IGNORE); /* That of all still has one. */
  MPI_Comm_flush_buffer(comm);
  MPI_Buffer_iflush(&request);
  MPI_Recv(got, length_of_one, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Buffer_flush();
  MPI_Comm_detach_buffer(comm, &address, &bytes);
  EXPECT(address == own_memory && bytes == (int)sizeof own_memory, "%p, %d bytes", address, bytes);
  MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
  MPI_Bsend(data, length_of_one, MPI_BYTE, rank, 0, comm);
  MPI_Recv(got, length_of_one, MPI_BYTE, rank, 0, comm, MPI_STATUS_IGNORE);
  MPI_Comm_detach_buffer(comm, &address, &bytes);
  EXPECT(address == MPI_BUFFER_AUTOMATIC, "%p", address);
  MPI_Buffer_detach(&address, &bytes);
  EXPECT(address == memory && bytes == (int)sizeof memory, "%p, %d bytes", address, bytes);
  MPI_Comm_free(&comm);
}

/* Each round fills the buffer, and all is received before it ends: then the space is free again, although what was
   received is told by other messages than what ends the round. */
static void space_of_received(void) {
  enum { most = 3, length_of_one = 100000, rounds = 60 };
  static char memory[most * (length_of_one + MPI_BSEND_OVERHEAD)], data[length_of_one], got[length_of_one];
  void* address = NULL;
  int bytes = -1, to = (rank + 1) % size, from = (rank + size - 1) % size, refused = 0;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Buffer_attach(memory, sizeof memory);
  for (int round = 0; round < rounds; ++round) {
    const int length = round % 3 == 0 ? 40000 : length_of_one; /* Short enough for other ways between some ranks. */
    for (int i = 0; i < most; ++i) refused += MPI_Bsend(data, length, MPI_BYTE, to, i, comm) != MPI_SUCCESS;
    for (int i = 0; i < most && refused == 0; ++i)
      MPI_Recv(got, length, MPI_BYTE, from, i, comm, MPI_STATUS_IGNORE);
    if (round % 2)
      MPI_Barrier(comm);
    else
      MPI_Sendrecv(data, 1, MPI_BYTE, from, 9, got, 1, MPI_BYTE, to, 9, comm, MPI_STATUS_IGNORE);
    if (refused != 0) break;
  }
  EXPECT_INT(refused, 0);
  MPI_Buffer_detach(&address, &bytes);
  MPI_Comm_free(&comm);
}
#else
static void buffers(void) {}
static void space_of_received(void) {}
static void large_counts(void) {}
#endif

int main(int argc, char** argv) {
  begin(&argc, &argv);
  rings();
  if (IS_WHOLE) with_gaps();
  if (IS_WHOLE) nobody();
  among_others();
  buffers();
  space_of_received();
  large_counts();
  return end();
}
