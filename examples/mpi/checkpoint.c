/* The game of life, stopped in the middle: all ranks compute for a while and write the board into a checkpoint; then about half
   as many read it, share it out among themselves and go on. The result is that of a run without a stop, whatever the number of
   ranks.

     weftcc -O2 checkpoint.c -o checkpoint && weftrun -n 6 ./checkpoint [FILE]

   A checkpoint is a header and the board, row by row. Each rank sees its own rows of it by a file view, and all write and read
   together. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { columns = 200, rows = 150, steps = 100, stop_after = 60 };

struct header {
  int columns, rows, step;
};

/* This rank's part of the board: some rows, with one more above and below that are copies of the neighbours'. */
static int first_row, height;
static unsigned char *now, *next;

static unsigned char* row_of(unsigned char* board, int row) { return board + (size_t)(row + 1) * columns; }

static void share_out(MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  first_row = rows * rank / size;
  height = rows * (rank + 1) / size - first_row;
  now = calloc((size_t)(height + 2) * columns, 1);
  next = calloc((size_t)(height + 2) * columns, 1);
}

static void give_up(void) {
  free(now);
  free(next);
}

/* One with life all over, the same for any number of ranks. */
static void fill(void) {
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < columns; ++x) {
      unsigned h = (unsigned)(first_row + y) * 2654435761u + (unsigned)x * 40503u;
      h ^= h >> 13;
      h *= 0x5bd1e995u;
      row_of(now, y)[x] = (h >> 16) % 3 == 0;
    }
}

static void step(MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int above = (rank + size - 1) % size, below = (rank + 1) % size;
  MPI_Sendrecv(row_of(now, 0), columns, MPI_UNSIGNED_CHAR, above, 0, row_of(now, height), columns, MPI_UNSIGNED_CHAR, below,
               0, comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(row_of(now, height - 1), columns, MPI_UNSIGNED_CHAR, below, 1, row_of(now, -1), columns, MPI_UNSIGNED_CHAR,
               above, 1, comm, MPI_STATUS_IGNORE);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < columns; ++x) {
      int neighbours = 0;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          if (dx != 0 || dy != 0) neighbours += row_of(now, y + dy)[(x + dx + columns) % columns];
      row_of(next, y)[x] = neighbours == 3 || (neighbours == 2 && row_of(now, y)[x]);
    }
  unsigned char* const kept = now;
  now = next;
  next = kept;
}

/* How many cells live, and a number that tells boards apart. */
static void print_board(MPI_Comm comm, const char* when) {
  unsigned long mine[2] = {0, 0}, all[2];
  int rank;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < columns; ++x)
      if (row_of(now, y)[x]) {
        ++mine[0];
        mine[1] += (unsigned long)(first_row + y) * 31337 + (unsigned long)x * 271;
      }
  MPI_Reduce(mine, all, 2, MPI_UNSIGNED_LONG, MPI_SUM, 0, comm);
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) printf("%s: %lu cells live, mark %lu\n", when, all[0], all[1]);
}

static void check(int code, const char* what, const char* path) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "%s %s: %s\n", what, path, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* This rank's rows, behind the header. */
static void set_rows(MPI_File file, MPI_Datatype* mine) {
  const int whole[2] = {rows, columns}, part[2] = {height, columns}, begin[2] = {first_row, 0};
  MPI_Type_create_subarray(2, whole, part, begin, MPI_ORDER_C, MPI_UNSIGNED_CHAR, mine);
  MPI_Type_commit(mine);
  MPI_File_set_view(file, sizeof(struct header), MPI_UNSIGNED_CHAR, *mine, "native", MPI_INFO_NULL);
}

static void write_checkpoint(MPI_Comm comm, const char* path, int done) {
  MPI_File file;
  MPI_Datatype mine;
  int rank;
  MPI_Comm_rank(comm, &rank);
  check(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), "open", path);
  const struct header header = {columns, rows, done};
  if (rank == 0) check(MPI_File_write_at(file, 0, &header, sizeof header, MPI_BYTE, MPI_STATUS_IGNORE), "write", path);
  set_rows(file, &mine);
  check(MPI_File_write_all(file, row_of(now, 0), height * columns, MPI_UNSIGNED_CHAR, MPI_STATUS_IGNORE), "write", path);
  check(MPI_File_close(&file), "close", path);
  MPI_Type_free(&mine);
}

static int read_checkpoint(MPI_Comm comm, const char* path) {
  MPI_File file;
  MPI_Datatype mine;
  MPI_Status status;
  struct header header;
  int count = 0;
  check(MPI_File_open(comm, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), "open", path);
  check(MPI_File_read_at_all(file, 0, &header, sizeof header, MPI_BYTE, &status), "read", path);
  if (header.columns != columns || header.rows != rows) check(MPI_ERR_FILE, "another board:", path);
  set_rows(file, &mine);
  check(MPI_File_read_all(file, row_of(now, 0), height * columns, MPI_UNSIGNED_CHAR, &status), "read", path);
  MPI_Get_count(&status, MPI_UNSIGNED_CHAR, &count);
  if (count != height * columns) check(MPI_ERR_IO, "too short:", path);
  MPI_File_close(&file);
  MPI_Type_free(&mine);
  return header.step;
}

int main(int argc, char** argv) {
  char path[256];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  snprintf(path, sizeof path, "/tmp/checkpoint-%ld", (long)getpid());
  if (argc > 1) snprintf(path, sizeof path, "%s", argv[1]);
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);

  share_out(MPI_COMM_WORLD);
  fill();
  print_board(MPI_COMM_WORLD, "begin");
  for (int i = 0; i < stop_after; ++i) step(MPI_COMM_WORLD);
  write_checkpoint(MPI_COMM_WORLD, path, stop_after);
  /* This one goes on, to compare. */
  for (int i = stop_after; i < steps; ++i) step(MPI_COMM_WORLD);
  print_board(MPI_COMM_WORLD, "without a stop");
  give_up();

  /* About half as many ranks begin again where the checkpoint was made. */
  MPI_Comm few;
  MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2 + 1 ? 0 : MPI_UNDEFINED, rank, &few);
  if (few != MPI_COMM_NULL) {
    share_out(few);
    const int done = read_checkpoint(few, path);
    print_board(few, "from the checkpoint");
    for (int i = done; i < steps; ++i) step(few);
    print_board(few, "at the end");
    give_up();
    MPI_Comm_free(&few);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && argc == 1) MPI_File_delete(path, MPI_INFO_NULL);
  MPI_Finalize();
  return 0;
}
