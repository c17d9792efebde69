/* It does not compile: nothing is made of it. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return undeclared;
}
