/* Heat in a plate that is cold at its edges, by Jacobi steps. The plate is shared out over a Cartesian
   grid of ranks; edges are exchanged as derived types, columns among them.

     weftcc -O2 heat.c -o heat && weftrun -n 6 ./heat [COLUMNS [ROWS [STEPS]]]

   Everything is a global variable, as in many programs: each rank has its own. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int columns = 96, rows = 64, steps = 200; /* Of the whole plate. */
static int width, height;                        /* Of this rank's part, without its frame. */
static int first_column, first_row;
static double *now, *next;
static MPI_Comm grid;
static MPI_Datatype row_type, column_type, part_type;
static int up, down, left, right;

static double* at(double* plate, int row, int column) { return plate + row * (width + 2) + column; }

/* Where the part of number `index` of `count` parts begins. */
static int border(int length, int index, int count) { return (int)((long)length * index / count); }

static void share_out(void) {
  int size, rank, dims[2] = {0, 0}, periods[2] = {0, 0}, coords[2];
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, coords);
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  MPI_Cart_shift(grid, 1, 1, &left, &right);
  first_row = border(rows, coords[0], dims[0]);
  first_column = border(columns, coords[1], dims[1]);
  height = border(rows, coords[0] + 1, dims[0]) - first_row;
  width = border(columns, coords[1] + 1, dims[1]) - first_column;
  now = calloc((size_t)(width + 2) * (size_t)(height + 2), sizeof(double));
  next = calloc((size_t)(width + 2) * (size_t)(height + 2), sizeof(double));
  MPI_Type_contiguous(width, MPI_DOUBLE, &row_type);
  MPI_Type_vector(height, 1, width + 2, MPI_DOUBLE, &column_type);
  MPI_Type_create_subarray(2, (int[]){height + 2, width + 2}, (int[]){height, width}, (int[]){1, 1}, MPI_ORDER_C, MPI_DOUBLE,
                           &part_type);
  MPI_Type_commit(&row_type);
  MPI_Type_commit(&column_type);
  MPI_Type_commit(&part_type);
}

static void light_fire(void) {
  for (int i = 1; i <= height; ++i)
    for (int j = 1; j <= width; ++j) {
      const double y = (double)(first_row + i - 1) / rows, x = (double)(first_column + j - 1) / columns;
      *at(now, i, j) = (x - 0.3) * (x - 0.3) + (y - 0.6) * (y - 0.6) < 0.02 ? 100 : 0;
    }
}

static void exchange_edges(void) {
  MPI_Request r[8];
  MPI_Irecv(at(now, 0, 1), 1, row_type, up, 0, grid, &r[0]);
  MPI_Irecv(at(now, height + 1, 1), 1, row_type, down, 1, grid, &r[1]);
  MPI_Irecv(at(now, 1, 0), 1, column_type, left, 2, grid, &r[2]);
  MPI_Irecv(at(now, 1, width + 1), 1, column_type, right, 3, grid, &r[3]);
  MPI_Isend(at(now, height, 1), 1, row_type, down, 0, grid, &r[4]);
  MPI_Isend(at(now, 1, 1), 1, row_type, up, 1, grid, &r[5]);
  MPI_Isend(at(now, 1, width), 1, column_type, right, 2, grid, &r[6]);
  MPI_Isend(at(now, 1, 1), 1, column_type, left, 3, grid, &r[7]);
  MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
}

/* Returns the largest change of a point of this part. */
static double step(void) {
  double largest = 0;
  for (int i = 1; i <= height; ++i)
    for (int j = 1; j <= width; ++j) {
      const double mean = (*at(now, i - 1, j) + *at(now, i + 1, j) + *at(now, i, j - 1) + *at(now, i, j + 1)) / 4;
      const double change = fabs(mean - *at(now, i, j));
      *at(next, i, j) = mean;
      if (change > largest) largest = change;
    }
  double* const old = now;
  now = next;
  next = old;
  return largest;
}

/* Rank 0 receives all parts, each as the piece of the plate that it is, and draws them coarsely. */
static void draw(void) {
  int rank, size;
  MPI_Request sent;
  MPI_Comm_rank(grid, &rank);
  MPI_Comm_size(grid, &size);
  const int mine[4] = {first_row, first_column, height, width};
  MPI_Isend(now, 1, part_type, 0, 9, grid, &sent);
  int* const places = malloc(4 * sizeof(int) * (size_t)size);
  MPI_Gather(mine, 4, MPI_INT, places, 4, MPI_INT, 0, grid);
  if (rank == 0) {
    double* const plate = malloc((size_t)rows * (size_t)columns * sizeof(double));
    for (int r = 0; r < size; ++r) {
      const int* const place = places + 4 * r;
      MPI_Datatype piece;
      MPI_Type_create_subarray(2, (int[]){rows, columns}, place + 2, place, MPI_ORDER_C, MPI_DOUBLE, &piece);
      MPI_Type_commit(&piece);
      MPI_Recv(plate, 1, piece, r, 9, grid, MPI_STATUS_IGNORE);
      MPI_Type_free(&piece);
    }
    double sum = 0; /* In an order that does not depend on the number of ranks. */
    for (int i = 0; i < rows * columns; ++i) sum += plate[i];
    for (int i = rows / 16; i < rows; i += rows / 8) {
      for (int j = columns / 48; j < columns; j += columns / 24) {
        const int shade = (int)(plate[i * columns + j] / 4);
        putchar(" .:-=+*#%@"[shade > 9 ? 9 : shade]);
      }
      putchar('\n');
    }
    printf("heat %.9f\n", sum);
    free(plate);
  }
  free(places);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1) columns = atoi(argv[1]);
  if (argc > 2) rows = atoi(argv[2]);
  if (argc > 3) steps = atoi(argv[3]);
  share_out();
  light_fire();
  int rank;
  MPI_Comm_rank(grid, &rank);
  for (int s = 1; s <= steps; ++s) {
    exchange_edges();
    double largest = step();
    if (s % 50 == 0) {
      MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, grid);
      if (rank == 0) printf("step %d: largest change %.9f\n", s, largest);
    }
  }
  draw();
  MPI_Type_free(&row_type);
  MPI_Type_free(&column_type);
  MPI_Type_free(&part_type);
  MPI_Comm_free(&grid);
  free(now);
  free(next);
  MPI_Finalize();
}
