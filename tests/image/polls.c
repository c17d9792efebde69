/* A message goes round, and its receivers look for it by tests that fail, each in another way; all other ranks poll for
   their end. Where there are more processes than cores, a test that fails must give its core up: how many fail before a
   message comes tells whether it does, however busy the machine is. */
#include <mpi.h>
#include <stdio.h>

enum { by_test, by_testany, by_testall, by_testsome, by_iprobe, by_improbe, by_get_status, ways, rounds = 14 * ways };

static long failed;

static void receive(int how, int from) {
  int value = -1, flag = 0, index = 0;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Message message;
  if (how != by_iprobe && how != by_improbe) MPI_Irecv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[0]);
  while (!flag) {
    int indices[2], count = 0;
    switch (how) {
      case by_test: MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE); break;
      case by_testany: MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE); break;
      case by_testall: MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE); break;
      case by_testsome:
        MPI_Testsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
        flag = count == 1;
        break;
      case by_iprobe: MPI_Iprobe(from, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); break;
      case by_improbe: MPI_Improbe(from, 0, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE); break;
      default: MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE); break;
    }
    if (!flag) ++failed;
  }
  if (how == by_iprobe) MPI_Recv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (how == by_improbe) MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  if (requests[0] != MPI_REQUEST_NULL) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank, size, end = 0, flag = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank < 2) {
    for (int i = 0; i < rounds; ++i)
      if (rank == i % 2)
        MPI_Send(&i, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
      else
        receive(i / 2 % ways, 1 - rank);
    if (rank == 0)
      for (int i = 2; i < size; ++i) MPI_Send(&end, 1, MPI_INT, i, 1, MPI_COMM_WORLD);
  } else {
    MPI_Irecv(&end, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  }
  /* Of those who take turns; a time slice of tests that fail is many thousand of them. */
  if (rank == 0) {
    if (failed < 500L * rounds / 2)
      printf("right\n");
    else
      printf("%ld tests failed for %d messages\n", failed, rounds / 2);
  }
  MPI_Finalize();
  return 0;
}
