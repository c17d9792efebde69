/* Each collective, of variables and of ranges, in place and not. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 3

int main(int argc, char** argv) {
  int rank, size, root = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  int seed = rank == root ? 7 : 0;
  MPI_Bcast(&seed, 1, MPI_INT, root, MPI_COMM_WORLD);

  double mine[COUNT], sums[COUNT], largest = rank * 0.5;
  for (int i = 0; i < COUNT; ++i) mine[i] = seed + rank + i;
  MPI_Reduce(mine, sums, COUNT, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
  if (rank == root) printf("sums %g %g %g\n", sums[0], sums[1], sums[2]);
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, mine, COUNT, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Reduce(rank == root ? MPI_IN_PLACE : sums, sums, COUNT, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);

  long* all = malloc(2 * (size_t)size * sizeof(long));
  long own[2] = {rank, rank * rank};
  MPI_Gather(own, 2, MPI_LONG, all, 2, MPI_LONG, root, MPI_COMM_WORLD);
  if (rank == root)
    MPI_Scatter(all, 2, MPI_LONG, own, 2, MPI_LONG, root, MPI_COMM_WORLD);
  else
    MPI_Scatter(NULL, 0, MPI_LONG, own, 2, MPI_LONG, root, MPI_COMM_WORLD);
  MPI_Allgather(own, 2, MPI_LONG, all, 2, MPI_LONG, MPI_COMM_WORLD);

  int* out = malloc((size_t)size * sizeof(int));
  int* in = malloc((size_t)size * sizeof(int));
  for (int i = 0; i < size; ++i) out[i] = rank * 100 + i;
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);

  int before = 0, one = 1, any = rank == 2, some;
  MPI_Exscan(&one, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&any, &some, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (r == rank)
      printf("rank %d: seed %d, largest %g, least %g, last %ld, got %d, before %d, some %d, own %ld\n", rank, seed, largest,
             mine[0], all[2 * size - 1], in[size - 1], before, some, own[1]);
  }
  free(all);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
