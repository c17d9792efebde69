/* A token goes round: C of 1989, untyped memory, a status that is looked at. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum colour { red, green, blue };

static int rank, size; /* Each rank has its own. */

int main(int argc, char **argv)
{
  MPI_Status status;
  int i, count;
  double *token;
  enum colour paint = 1;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  token = malloc(8 * sizeof(double));

  if (rank == 0) {
    for (i = 0; i < 8; i++) token[i] = i; /* Eight numbers. */
    MPI_Send(token, 8, MPI_DOUBLE, (rank + 1) % size, 17, MPI_COMM_WORLD);
    MPI_Recv(token, 8, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    printf("%d numbers from rank %d with tag %d: %g to %g\n", count, status.MPI_SOURCE, status.MPI_TAG, token[0], token[7]);
  } else {
    MPI_Recv(token, 8, MPI_DOUBLE, rank - 1, 17, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (i = 0; i < 8; i++) token[i] += (int)paint;
    MPI_Send(token, 8, MPI_DOUBLE, (rank + 1) % size, 17, MPI_COMM_WORLD);
  }

  free(token);
  MPI_Finalize();
  return 0;
}
