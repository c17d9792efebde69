// Requests: in vectors, persistent, tested, given to functions; probes.
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

void finish(MPI_Request* request) {
  int done = 0;
  while (!done) MPI_Test(request, &done, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;

  std::vector<MPI_Request> all(static_cast<std::size_t>(size));
  std::vector<int> from(static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r)
    MPI_Irecv(&from[static_cast<std::size_t>(r)], 1, MPI_INT, r, 5, MPI_COMM_WORLD,
              &all[static_cast<std::size_t>(r)]);
  for (int r = 0; r < size; ++r) MPI_Send(&rank, 1, MPI_INT, r, 5, MPI_COMM_WORLD);
  MPI_Waitall(size, all.data(), MPI_STATUSES_IGNORE);

  long out = rank, in = -1, sum = 0;
  MPI_Request send, receive;
  MPI_Send_init(&out, 1, MPI_LONG, next, 6, MPI_COMM_WORLD, &send);
  MPI_Recv_init(&in, 1, MPI_LONG, previous, 6, MPI_COMM_WORLD, &receive);
  for (int step = 0; step < 3; ++step) {
    MPI_Start(&receive);
    MPI_Start(&send);
    MPI_Status status;
    MPI_Wait(&receive, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    if (status.MPI_SOURCE != previous) std::printf("from %d\n", status.MPI_SOURCE);
    sum += in + step;
  }

  MPI_Request single = MPI_REQUEST_NULL;
  char text[16] = "nothing";
  if (rank == 0 && size > 1) {
    MPI_Irecv(text, 16, MPI_CHAR, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &single);
  } else if (rank == 1) {
    MPI_Isend("a text", 7, MPI_CHAR, 0, 7, MPI_COMM_WORLD, &single);
  }
  if (size > 1 && single != MPI_REQUEST_NULL) finish(&single);

  if (rank == size - 1 && size > 1) {
    const double values[3] = {1, 2, 4};
    MPI_Ssend(values, 3, MPI_DOUBLE, 0, 8, MPI_COMM_WORLD);
  }
  int there = 0, count = 0;
  if (rank == 0 && size > 1) {
    MPI_Status status;
    while (!there) {
      MPI_Iprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &there, &status);
    }
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    std::vector<double> values(static_cast<std::size_t>(count));
    MPI_Recv(values.data(), count, MPI_DOUBLE, status.MPI_SOURCE, 8, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    sum += static_cast<long>(values[2]);
  }
  int total = rank, all_ranks = 0;
  MPI_Request summing;
  MPI_Iallreduce(&total, &all_ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &summing);
  MPI_Wait(&summing, MPI_STATUS_IGNORE);
  std::printf("rank %d: %d, sum %ld, %s, %d numbers, %d\n", rank, from.back(), sum, text, count,
              all_ranks);
  MPI_Finalize();
}
