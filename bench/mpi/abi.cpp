// What a program costs that weft's wrappers have not linked: a call that does little, and ping-pongs of the sizes of OSU's. The same
// source by weftcxx, by mpicxx_abi and by MPICH's mpicxx before version 5; all three run under weft.
#define BENCH_OVER_MPI
#include <array>

#include "../adapter.hpp"

namespace {

// Neither waits; in the interface of MPICH the first converts a handle, the second two and a status.
void calls(bench::peers& p) {
  bench::measure(p, "abi/call/Comm_rank", [](long n) {
    int rank = 0;
    for (long i = 0; i < n; ++i) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  });
  bench::measure(p, "abi/call/Get_count", [](long n) {
    MPI_Status status;
    int count = 0;
    MPI_Recv(&count, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    for (long i = 0; i < n; ++i) MPI_Get_count(&status, MPI_INT, &count);
  });
}

// Where they lie in their pages decides what a copy costs, and the allocator puts them elsewhere in each program.
struct alignas(4096) page {
  std::byte bytes[4096];
};

void ping_pong(bench::peers& p, std::size_t bytes) {
  std::vector<page> out(bytes / sizeof(page) + 1), in(out.size());
  const int count = static_cast<int>(bytes), rank = p.rank(), other = 1 - rank;
  bench::measure(
      p, "abi/one_way/" + bench::size_name(bytes),
      [&](long n) {
        for (long i = 0; i < n; ++i) {
          if (rank == 0) MPI_Send(out.data(), count, MPI_BYTE, other, 1, MPI_COMM_WORLD);
          MPI_Recv(in.data(), count, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          if (rank == 1) MPI_Send(out.data(), count, MPI_BYTE, other, 1, MPI_COMM_WORLD);
        }
      },
      2);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    calls(p);
    for (const std::size_t bytes :
         {8u, 64u, 512u, 1u << 10, 4u << 10, 8u << 10, 16u << 10, 64u << 10, 256u << 10, 1u << 20})
      ping_pong(p, bytes);
  });
}
