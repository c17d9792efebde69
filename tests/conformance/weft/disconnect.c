/* MPI_Comm_disconnect returns when all that its ranks have under way is complete; their requests stay.

   Run with: -n 5 --workers 2 --timeout 60
   Run with: -n 4 --processes 2 --timeout 60 */
#include "../conform.h"

enum { length = 300000 };
static char out[length], in[length];

static void start(MPI_Comm where, MPI_Request* requests) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Irecv(in, length, MPI_CHAR, left, 3, where, &requests[0]);
  MPI_Issend(out, length, MPI_CHAR, right, 3, where, &requests[1]);
  MPI_Ibarrier(where, &requests[2]);
}

/* The buffer has room for one copy: that of before must be gone. */
static void send_buffered(void) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  char* room = malloc(length + MPI_BSEND_OVERHEAD);
  int bytes;
  MPI_Buffer_attach(room, length + MPI_BSEND_OVERHEAD);
  for (int round = 0; round < 50; ++round) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Bsend(out, length, MPI_CHAR, right, 4, copy);
    MPI_Recv(in, length, MPI_CHAR, left, 4, copy, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&copy);
    EXPECT_INT(MPI_Bsend(out, length, MPI_CHAR, right, 4, MPI_COMM_WORLD), MPI_SUCCESS);
    MPI_Recv(in, length, MPI_CHAR, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_flush();
  }
  MPI_Buffer_detach(&room, &bytes);
  free(room);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  memset(out, rank + 1, length);
  for (int round = 0; round < 20; ++round) {
    MPI_Comm copy;
    MPI_Request requests[3];
    int complete = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    start(copy, requests);
    MPI_Comm_disconnect(&copy);
    EXPECT(copy == MPI_COMM_NULL, "the disconnected communicator has a value");
    EXPECT_INT(in[length - 1], (rank + size - 1) % size + 1);
    MPI_Testall(3, requests, &complete, MPI_STATUSES_IGNORE);
    EXPECT(complete, "round %d: something was still under way", round);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    memset(in, 0, length);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  send_buffered();
  return end();
}
