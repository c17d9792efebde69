/* The program and its library share the state of the C library, in each rank its own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int library_calls(void);
int library_random(void);
int library_rank(void);

int main(int argc, char** argv) {
  int rank, right, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  srand(5 + (unsigned)rank);
  const int expected = rand();
  srand(5 + (unsigned)rank);
  MPI_Barrier(MPI_COMM_WORLD);
  right = library_random() == expected && library_rank() == rank && library_calls() == 1;
  MPI_Barrier(MPI_COMM_WORLD);
  right = right && library_calls() == 2;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) printf("library %s\n", all ? "right" : "wrong");
  return !all;
}
