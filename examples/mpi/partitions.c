/* A field whose rows are shared out to the ranks. Each step the rows at the borders go to the neighbours in pieces: a piece goes
   when it is computed, and its neighbour works with it before the others have come. One message a border, whatever the number
   of pieces. Not with: openmpi (4.1), which has no partitioned messages. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { rows = 12, columns = 256, pieces = 16, steps = 20, width = columns / pieces };

static double field[2][rows + 2][columns]; /* Rows 0 and rows + 1 are the neighbours'. */

static double mean(double (*from)[columns], int r, int c) {
  const double left = c == 0 ? 0 : from[r][c - 1], right = c == columns - 1 ? 0 : from[r][c + 1];
  return (from[r - 1][c] + from[r + 1][c] + left + right) / 4;
}

static void wait_for_piece(MPI_Request r, int piece) {
  for (int has_come = 0; !has_come;) MPI_Parrived(r, piece, &has_come);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int up = (rank + size - 1) % size, down = (rank + 1) % size;
  for (int r = 1; r <= rows; ++r)
    for (int c = 0; c < columns; ++c) field[0][r][c] = (rank * rows + r) % 7 + c % 5;

  /* Each half of the field has its messages: it is sent and received into in every other step. */
  MPI_Request requests[2][4];
  for (int h = 0; h < 2; ++h) {
    MPI_Precv_init(field[h][0], pieces, width, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[h][0]);
    MPI_Precv_init(field[h][rows + 1], pieces, width, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[h][1]);
    MPI_Psend_init(field[h][rows], pieces, width, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[h][2]);
    MPI_Psend_init(field[h][1], pieces, width, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[h][3]);
  }
  MPI_Startall(4, requests[0]);
  MPI_Pready_range(0, pieces - 1, requests[0][2]);
  MPI_Pready_range(0, pieces - 1, requests[0][3]);
  for (int step = 0; step < steps; ++step) {
    const int now = step % 2, next = 1 - now;
    MPI_Startall(4, requests[next]);
    for (int r = 2; r < rows; ++r) /* Needs nobody. */
      for (int c = 0; c < columns; ++c) field[next][r][c] = mean(field[now], r, c);
    for (int p = 0; p < pieces; ++p) {
      wait_for_piece(requests[now][0], p);
      for (int c = p * width; c < (p + 1) * width; ++c) field[next][1][c] = mean(field[now], 1, c);
      MPI_Pready(p, requests[next][3]);
      wait_for_piece(requests[now][1], p);
      for (int c = p * width; c < (p + 1) * width; ++c) field[next][rows][c] = mean(field[now], rows, c);
      MPI_Pready(p, requests[next][2]);
    }
    MPI_Waitall(4, requests[now], MPI_STATUSES_IGNORE);
  }
  MPI_Waitall(4, requests[steps % 2], MPI_STATUSES_IGNORE);
  double sum = 0, all = 0;
  for (int r = 1; r <= rows; ++r)
    for (int c = 0; c < columns; ++c) sum += field[steps % 2][r][c];
  MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d steps: %.6f\n", size, steps, all);
  for (int h = 0; h < 2; ++h)
    for (int i = 0; i < 4; ++i) MPI_Request_free(&requests[h][i]);
  MPI_Finalize();
  return 0;
}
