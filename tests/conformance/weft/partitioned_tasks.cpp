// Partitions of a message that tasks make ready, on whatever worker they run; and one that asks for partitions meanwhile.
//
// Run with: -n 1
// Run with: -n 4
// Run with: -n 4 --processes 2
// Run with: -n 3 --ranks-per-process 1
#include <mpi.h>
#include <vector>
#include <weft/tasks.hpp>

#include "../conform.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  constexpr int partitions = 500, elements = 16;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  std::vector<long> sent(partitions * elements), got(sent.size());
  MPI_Request send, receive;
  MPI_Psend_init(sent.data(), partitions, elements, MPI_LONG, right, 0, MPI_COMM_WORLD,
                 MPI_INFO_NULL, &send);
  MPI_Precv_init(got.data(), partitions, elements, MPI_LONG, left, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &receive);
  for (long round = 0; round < 5; ++round) {
    MPI_Start(&receive);
    MPI_Start(&send);
    weft::task_group all;
    for (int p = 0; p < partitions; ++p)
      all.spawn([&, p] {
        for (int i = 0; i < elements; ++i)
          sent[p * elements + i] = 1000000 * round + 10000 * rank + p;
        if (MPI_Pready(p, send) != MPI_SUCCESS) std::abort();
      });
    for (int p = 0; p < partitions; ++p) {
      int flag = 0;
      while (!flag) MPI_Parrived(receive, p, &flag);
      EXPECT_INT(got[p * elements], 1000000 * round + 10000 * left + p);
    }
    all.wait();
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  return end();
}
