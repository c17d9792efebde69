/* Requests whose memory overlaps, begun by each kind of call, and one that is left: with --check the line of the program
   is named. */
#include <mpi.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, memory[4] = {0};
  const char* const how = argc > 1 ? argv[1] : "";
  MPI_Request requests[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int other = 1 - rank;
  MPI_Irecv(memory, 2, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[0]); /* line 13 */
  if (strcmp(how, "isend") == 0) MPI_Isend(memory + 1, 2, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[1]); /* 14 */
  if (strcmp(how, "issend") == 0) MPI_Issend(memory + 1, 2, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[1]); /* 15 */
  if (strcmp(how, "start") == 0) {
    MPI_Send_init(memory + 1, 2, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Start(&requests[1]); /* 18 */
  }
  if (strcmp(how, "irecv") == 0) MPI_Irecv(memory + 1, 2, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[1]); /* 20 */
  if (strcmp(how, "irecv") == 0) {
    MPI_Send(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    MPI_Send(&rank, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
  }
  if (strcmp(how, "left") == 0) {
    MPI_Isend(memory + 2, 2, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
