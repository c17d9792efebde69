// In templates: what depends on a parameter stays, the rest does not. Behind wrappers and in lambdas.
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

template <class T>
MPI_Datatype type_of();
template <>
MPI_Datatype type_of<int>() {
  return MPI_INT;
}
template <>
MPI_Datatype type_of<double>() {
  return MPI_DOUBLE;
}

template <class T>
T largest(T mine) {
  T all{};
  MPI_Allreduce(&mine, &all, 1, type_of<T>(), MPI_MAX, MPI_COMM_WORLD);
  return all;
}

template <class Work>
void one_by_one(Work work) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int r = 0; r < size; ++r) {
    if (r == rank) work(rank);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void send_row(const float* row, int length, int to) {
  MPI_Send(row, length, MPI_FLOAT, to, 3, MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<float> row(5, static_cast<float>(rank));
  const auto receive = [&](int from) {
    MPI_Recv(row.data(), static_cast<int>(row.size()), MPI_FLOAT, from, 3, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  };
  if (rank % 2 == 1) send_row(row.data(), 5, rank - 1);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank % 2 == 0 && rank + 1 < size) receive(rank + 1);
  const int most = largest(rank);
  const double half = largest(rank * 0.5);
  one_by_one([&](int r) {
    std::printf("rank %d: %g, %d, %g\n", r, static_cast<double>(row[4]), most, half);
  });
  MPI_Finalize();
}
