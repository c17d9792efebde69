// Streams of C++ as objects: what a rank sets there is its own.
#include <mpi.h>

#include <cstdio>
#include <iomanip>
#include <iostream>
#include <sstream>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int digits = 3 + rank;
  std::cout << std::setprecision(digits);
  if (rank % 2 == 1) std::cout << std::hex << std::uppercase;
  if (rank == 2)
    std::cout.setstate(
        std::ios_base::failbit);  // It prints nothing, as many programs have all but one do.
  if (rank == 1) std::ios_base::sync_with_stdio(false);
  std::ostringstream kept;
  std::streambuf* const before = std::cout.rdbuf();
  if (rank == 3) std::cout.rdbuf(kept.rdbuf());
  std::cerr.width(rank == 0 ? 20 : 0);
  MPI_Barrier(MPI_COMM_WORLD);
  std::cout << 254 << std::endl;
  const bool is_hex = (std::cout.flags() & std::ios_base::hex) != 0;
  int right = std::cout.precision() == digits && is_hex == (rank % 2 == 1) &&
              std::cout.good() == (rank != 2) && std::cerr.width() == (rank == 0 ? 20 : 0) &&
              kept.str() == (rank == 3 ? "FE\n" : "");
  std::cout.rdbuf(before);
  std::cerr.width(0);
  if (!right) std::cerr << "rank " << rank << ": a stream of its own\n";
  MPI_Barrier(MPI_COMM_WORLD);
  int all = 0;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::cerr << "right in " << all << " of " << size << '\n';
  MPI_Finalize();
  return 0;
}
