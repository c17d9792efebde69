/* What a macro stands for is left; what it is given is not. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBER MPI_INT
#define EVERYBODY MPI_COMM_WORLD
#define LENGTH 4
#define CHECKED(call)                                \
  do {                                               \
    if ((call) != MPI_SUCCESS) MPI_Abort(EVERYBODY, 3); \
  } while (0)
#define SHARE(x) MPI_Bcast(&(x), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD)

int main(int argc, char** argv) {
  int rank, size, values[LENGTH] = {0};
  double x;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(EVERYBODY, &rank);
  MPI_Comm_size(EVERYBODY, &size);
  x = rank == 0 ? 2.5 : 0;
  SHARE(x);
  CHECKED(MPI_Barrier(EVERYBODY));
  if (rank == 0)
    for (int i = 0; i < LENGTH; ++i) values[i] = i + LENGTH;
  for (int to = 1; to < size; ++to)
    if (rank == 0) MPI_Send(values, LENGTH, NUMBER, to, 0, EVERYBODY);
  if (rank != 0) MPI_Recv(values, LENGTH, NUMBER, 0, 0, EVERYBODY, MPI_STATUS_IGNORE);
  printf("rank %d: %g %d\n", rank, x, values[LENGTH - 1]);
  MPI_Finalize();
  return 0;
}
