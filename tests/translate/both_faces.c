/* A grid and datatypes, which stay MPI's, beside messages that do not: both in one job, and between the two. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, dims[1] = {0}, periods[1] = {0}, up, down;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 1, dims);
  MPI_Comm line;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &line);
  MPI_Cart_shift(line, 0, 1, &up, &down);

  double from = -1, mine = rank;
  MPI_Sendrecv(&mine, 1, MPI_DOUBLE, down, 0, &from, 1, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

  /* A column of one, a row of the other. */
  int matrix[4][4] = {{0}}, column[4] = {0};
  MPI_Datatype column_type;
  MPI_Type_vector(4, 1, 4, MPI_INT, &column_type);
  MPI_Type_commit(&column_type);
  for (int i = 0; i < 4; ++i) matrix[i][2] = rank * 10 + i;
  const int to = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Request request;
  MPI_Irecv(column, 4, MPI_INT, last, 1, MPI_COMM_WORLD, &request);
  MPI_Send(&matrix[0][2], 1, column_type, to, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  /* Sent by MPI, received by weft: a pair that is apart. */
  int lengths[2] = {1, 1}, places[2] = {0, 3}, pair[2] = {-1, -1};
  MPI_Datatype pair_type;
  MPI_Type_indexed(2, lengths, places, MPI_INT, &pair_type);
  MPI_Type_commit(&pair_type);
  MPI_Irecv(pair, 2, MPI_INT, last, 2, MPI_COMM_WORLD, &request);
  MPI_Send(column, 1, pair_type, to, 2, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Type_free(&pair_type);
  printf("rank %d: pair %d %d\n", rank, pair[0], pair[1]);
  printf("rank %d: from above %g, column %d to %d\n", rank, from, column[0], column[3]);
  MPI_Type_free(&column_type);
  MPI_Comm_free(&line);
  MPI_Finalize();
  return 0;
}
