/* Windows by fences: memory of the program and of MPI, sizes and units that differ between ranks, put, get and accumulate,
   datatypes on both sides, MPI_PROC_NULL, nothing at all. A field whose borders are put into neighbours. */
#include "conform.h"

static MPI_Aint bytes_of(int of) { return (MPI_Aint)sizeof(long) * (10 + of % 3); }
static int unit_of(int of) { return of % 2 == 0 ? (int)sizeof(long) : 1; }
static MPI_Aint at(int of, int element) { return (MPI_Aint)element * (MPI_Aint)sizeof(long) / unit_of(of); }

static void expect_attributes(MPI_Win win, const void* base, MPI_Aint bytes, int unit, int flavor) {
  void* found = NULL;
  int flag = 0;
  MPI_Win_get_attr(win, MPI_WIN_BASE, &found, &flag);
  EXPECT(flag && (bytes == 0 || found == base), "base %p, not %p", found, base);
  MPI_Win_get_attr(win, MPI_WIN_SIZE, &found, &flag);
  EXPECT(flag && *(MPI_Aint*)found == bytes, "size %ld", flag ? (long)*(MPI_Aint*)found : -1);
  MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &found, &flag);
  EXPECT(flag && *(int*)found == unit, "unit %d", flag ? *(int*)found : -1);
  MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &found, &flag);
  EXPECT(flag && *(int*)found == flavor, "flavor %d", flag ? *(int*)found : -1);
  MPI_Win_get_attr(win, MPI_WIN_MODEL, &found, &flag);
  EXPECT(flag && *(int*)found == MPI_WIN_UNIFIED, "model %d", flag ? *(int*)found : -1);
}

/* The same on memory of either kind: rank r has 10 + r % 3 longs. */
static void transfers(MPI_Win win, long* own) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < 10; ++i) own[i] = 100 * rank + i;
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  long got[4] = {-1, -1, -1, -1}, given[3] = {1000 + rank, 2000 + rank, 3000 + rank};
  MPI_Get(got, 3, MPI_LONG, right, at(right, 4), 3, MPI_LONG, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 3; ++i) EXPECT_INT(got[i], 100 * right + 4 + i);
  EXPECT_INT(got[3], -1);
  MPI_Put(given, 3, MPI_LONG, right, at(right, 0), 3, MPI_LONG, win);
  given[0] = 7; /* A put may still read it; this one is not known to have ended. */
  given[0] = 1000 + rank;
  MPI_Put(given, 3, MPI_LONG, MPI_PROC_NULL, 0, 3, MPI_LONG, win);
  MPI_Get(got, 3, MPI_LONG, MPI_PROC_NULL, 0, 3, MPI_LONG, win);
  MPI_Put(NULL, 0, MPI_LONG, right, at(right, 0), 0, MPI_LONG, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 3; ++i) EXPECT_INT(own[i], 1000 * (i + 1) + left);
  EXPECT_INT(own[3], 100 * rank + 3);
  /* All add to all. */
  for (int to = 0; to < size; ++to) {
    const long more[2] = {rank + 1, 10 * (rank + 1)};
    MPI_Accumulate(more, 2, MPI_LONG, to, at(to, 8), 2, MPI_LONG, MPI_SUM, win);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  const long sum = (long)size * (size + 1) / 2;
  EXPECT_INT(own[8], 100 * rank + 8 + sum);
  EXPECT_INT(own[9], 100 * rank + 9 + 10 * sum);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void of_the_program(void) {
  long memory[12];
  MPI_Win win;
  MPI_Win_create(memory, bytes_of(rank), unit_of(rank), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  expect_attributes(win, memory, bytes_of(rank), unit_of(rank), MPI_WIN_FLAVOR_CREATE);
  transfers(win, memory);
  MPI_Win_free(&win);
  EXPECT(win == MPI_WIN_NULL, "a window that was freed has a handle");
}

static void of_mpi(void) {
  long* memory = NULL;
  MPI_Win win;
  MPI_Win_allocate(bytes_of(rank), unit_of(rank), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  expect_attributes(win, memory, bytes_of(rank), unit_of(rank), MPI_WIN_FLAVOR_ALLOCATE);
  transfers(win, memory);
  MPI_Win_free(&win);
}

/* Only the last rank has memory. MPICH 4.0 takes a window to begin at a multiple of 16. */
static void of_one(void) {
  int value __attribute__((aligned(16))) = 5;
  MPI_Win win;
  const int last = size - 1;
  MPI_Win_create(rank == last ? &value : NULL, rank == last ? (MPI_Aint)sizeof value : 0, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  expect_attributes(win, &value, rank == last ? (MPI_Aint)sizeof value : 0, 4, MPI_WIN_FLAVOR_CREATE);
  MPI_Win_fence(0, win);
  const int one = 1;
  MPI_Accumulate(&one, 1, MPI_INT, last, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  if (rank == last) EXPECT_INT(value, 5 + size);
  MPI_Win_free(&win);
}

/* A column here goes into a row there, and a row into a column; parts of structures. */
static void datatypes(void) {
  enum { n = 6 };
  int field[n][n], mine[n][n];
  MPI_Win win;
  MPI_Datatype column, part;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Type_vector(n, 1, n, MPI_INT, &column);
  MPI_Type_commit(&column);
  const int lengths[] = {2, 1}, places[] = {0, 4};
  MPI_Type_indexed(2, lengths, places, MPI_INT, &part);
  MPI_Type_commit(&part);
  memset(field, 0, sizeof field);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) mine[i][j] = 1000 * rank + 10 * i + j;
  MPI_Win_create(field, sizeof field, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(&mine[0][2], 1, column, right, n, n, MPI_INT, win);   /* Row 1 there. */
  MPI_Put(mine[4], n, MPI_INT, right, 5 + 0, 1, column, win);    /* Column 5 there. */
  MPI_Win_fence(0, win);
  for (int i = 0; i < n - 1; ++i) EXPECT_INT(field[1][i], 1000 * left + 10 * i + 2);
  for (int i = 0; i < n; ++i)
    if (i != 1) EXPECT_INT(field[i][5], 1000 * left + 40 + i);
  EXPECT_INT(field[2][2], 0);
  MPI_Win_fence(0, win);
  int back[3 * n];
  for (int i = 0; i < 3 * n; ++i) back[i] = -1;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) field[i][j] = 1000 * rank + 10 * i + j;
  MPI_Win_fence(0, win);
  MPI_Get(back, 2, part, right, n, 6, MPI_INT, win); /* Two elements, five ints apart. */
  MPI_Win_fence(0, win);
  const int where[] = {0, 1, 4, 5, 6, 9};
  for (int i = 0; i < 6; ++i) EXPECT_INT(back[where[i]], 1000 * right + 10 + i);
  EXPECT(back[2] == -1 && back[3] == -1 && back[7] == -1, "%d %d %d", back[2], back[3], back[7]);
  /* Long data with gaps. */
  MPI_Win_fence(0, win);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) field[i][j] = 0;
  MPI_Win_fence(0, win);
  MPI_Accumulate(&mine[0][1], 1, column, right, 3, 1, column, MPI_SUM, win);
  MPI_Accumulate(&mine[0][1], 1, column, right, 3, 1, column, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < n; ++i) {
    EXPECT_INT(field[i][3], 2 * (1000 * left + 10 * i + 1));
    EXPECT_INT(field[i][2], 0);
  }
  MPI_Type_free(&part);
  MPI_Type_free(&column);
  MPI_Win_free(&win);
}

/* More than any message holds, to all ranks at once. Of an odd size MPICH 4.0 puts one element beside. */
static void long_data(void) {
  enum { n = 200002 };
  double *memory = NULL, *mine = malloc(n * sizeof *mine);
  MPI_Win win;
  MPI_Win_allocate(n * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < n; ++i) mine[i] = rank + 0.5 * i;
  MPI_Win_fence(0, win);
  MPI_Put(mine, n, MPI_DOUBLE, right, 0, n, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += memory[i] != left + 0.5 * i;
  EXPECT_INT(wrong, 0);
  MPI_Win_fence(0, win);
  MPI_Accumulate(mine, n, MPI_DOUBLE, right, 0, n, MPI_DOUBLE, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < n; ++i) wrong += memory[i] != 2 * (left + 0.5 * i);
  EXPECT_INT(wrong, 0);
  MPI_Get(mine, n, MPI_DOUBLE, left, 0, n, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
  const int before = (left + size - 1) % size;
  for (int i = 0; i < n; ++i) wrong += mine[i] != 2 * (before + 0.5 * i);
  EXPECT_INT(wrong, 0);
  MPI_Win_free(&win);
  free(mine);
}

/* Each rank has a strip; what stands at its ends goes into its neighbours' edges. The mean stays, the strip flattens. */
static void borders(void) {
  enum { n = 16, steps = 40 };
  double strip[n + 2], next[n + 2];
  MPI_Win win;
  const int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  MPI_Win_create(strip, sizeof strip, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int i = 0; i < n + 2; ++i) strip[i] = rank * n + i - 1;
  for (int step = 0; step < steps; ++step) {
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(&strip[1], 1, MPI_DOUBLE, left, n + 1, 1, MPI_DOUBLE, win);
    MPI_Put(&strip[n], 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, win);
    MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED, win);
    if (left == MPI_PROC_NULL) strip[0] = strip[1];
    if (right == MPI_PROC_NULL) strip[n + 1] = strip[n];
    for (int i = 1; i <= n; ++i) next[i] = (strip[i - 1] + 2 * strip[i] + strip[i + 1]) / 4;
    memcpy(&strip[1], &next[1], n * sizeof *next);
  }
  double sum = 0, all = 0;
  for (int i = 1; i <= n; ++i) sum += strip[i];
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double wanted = (double)n * size * (n * size - 1) / 2;
  EXPECT(all > wanted - 1e-6 && all < wanted + 1e-6, "the sum is %g, not %g", all, wanted);
  double low = strip[1], first;
  MPI_Scan(&low, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  EXPECT(first <= low && strip[n] > strip[1], "%g %g", first, low);
  MPI_Win_free(&win);
}

/* Several windows at once, on parts of the world, freed in another order. */
static void several(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  int place, members, *memory[3], value = rank;
  MPI_Comm_rank(half, &place);
  MPI_Comm_size(half, &members);
  MPI_Win wins[3];
  for (int i = 0; i < 3; ++i)
    MPI_Win_allocate(4 * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, i == 1 ? MPI_COMM_WORLD : half, &memory[i], &wins[i]);
  MPI_Comm_free(&half);
  for (int i = 0; i < 3; ++i) *memory[i] = -1;
  for (int i = 0; i < 3; ++i) MPI_Win_fence(0, wins[i]);
  MPI_Put(&value, 1, MPI_INT, (place + 1) % members, 0, 1, MPI_INT, wins[0]);
  MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, wins[1]);
  MPI_Put(&value, 1, MPI_INT, (place + 2) % members, 0, 1, MPI_INT, wins[2]);
  for (int i = 0; i < 3; ++i) MPI_Win_fence(0, wins[i]);
  /* Ranks of a half stand in the opposite order. */
  const int of_half = members - 1 - rank / 2;
  EXPECT_INT(place, of_half);
  const int before = (place + members - 1) % members, before_that = (place + 2 * members - 2) % members;
  EXPECT_INT(*memory[0], 2 * (members - 1 - before) + rank % 2);
  EXPECT_INT(*memory[1], (rank + size - 1) % size);
  EXPECT_INT(*memory[2], 2 * (members - 1 - before_that) + rank % 2);
  MPI_Win_free(&wins[1]);
  MPI_Win_free(&wins[0]);
  MPI_Win_free(&wins[2]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int round = 0; round < 3; ++round) {
    of_the_program();
    of_mpi();
  }
  of_one();
  datatypes();
  long_data();
  borders();
  several();
  return end();
}
