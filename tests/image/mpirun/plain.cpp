// The same for a stream and exceptions of C++.
#include <mpi.h>
#include <iostream>
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::cout << "rank ";
  MPI_Barrier(MPI_COMM_WORLD);
  try {
    throw rank;
  } catch (int caught) {
    std::cout << caught << std::endl;
  }
  MPI_Finalize();
}
