/* Uses what a plain compiler takes from libraries into an executable. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char** environ;
extern int counted;
int count(void);
static int mine;
int main(int argc, char** argv) {
  int rank, right = 1, values = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  mine += rank;
  setenv("OWN", rank == 1 ? "one" : "other", 1);
  right &= counted == 5;
  for (int i = 0; i <= rank; ++i) counted = count();
  MPI_Barrier(MPI_COMM_WORLD);
  for (char** each = environ; *each != NULL; ++each) values += strcmp(*each, rank == 1 ? "OWN=one" : "OWN=other") == 0;
  while (getopt(argc, argv, "a:") != -1) right &= strcmp(optarg, "text") == 0;
  right &= mine == rank && values == 1 && optind == 3 && counted == 6 + rank;
  fprintf(stderr, "%s %d\n", right ? "right" : "wrong", rank);
  MPI_Finalize();
  return 0;
}
