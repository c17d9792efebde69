/* What a program with the rights of another user obeys. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("%d ranks, %d words, %s, %s\n", size, argc, secure_getenv("HOME") ? "obeys" : "safe", getenv("HOME") ? "home" : "none");
  MPI_Finalize();
  return 0;
}
