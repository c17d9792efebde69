#include <mpi.h>

#include <iostream>
#include <stdexcept>
#include <vector>

namespace {
std::vector<int> ranks{-1};
}

int main(int argc, char** argv) {
  int size = 0, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.front());
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(ranks.data(), &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  try {
    if (ranks.front() == 0) throw std::runtime_error("thrown");
  } catch (const std::exception&) {
    std::cout << "C++: " << size << " ranks, sum " << sum << std::endl;
  }
  MPI_Finalize();
}
