/* Every collective in each of its six ways: blocking, started and persistent, with counts of both sizes; in
   one group, between two, and between neighbours. */
#include "conform.h"

enum { blocking, started, persistent, ways };
enum { room = 6 * 64 * 64 };
static int rounds_of(int way) { return way == persistent ? 3 : 1; }

#ifdef MPICH_NAME /* 4.0: later rounds of persistent ones bring nothing, and neither does the last. */
enum { persistent_works = 0, neighbor_alltoallw_works = 0 };
#else
enum { persistent_works = MPI_VERSION >= 4, neighbor_alltoallw_works = 1 };
#endif

#define COUNT int
#define PLACE int
#define OF(name) name
#define FN(name) name
#include "collective_ways.h"

#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define OF(name) name##_c
#define FN(name) name##_large
#include "collective_ways.h"
#endif

static void barriers(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int round = 0; round < 3; ++round) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
#endif
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm half, between = MPI_COMM_NULL, ring;
  const int first = rank < (size + 1) / 2;
  MPI_Comm_split(MPI_COMM_WORLD, first, 0, &half);
  if (size > 1) MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first ? (size + 1) / 2 : 0, 5, &between);
  const int before = (rank + size - 1) % size, after = (rank + 1) % size;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
  for (int way = blocking; way < (persistent_works ? ways : persistent); ++way) {
    in_one_group(way, MPI_COMM_WORLD);
    between_neighbours(way, ring);
    if (between != MPI_COMM_NULL) between_two(way, between, first);
#if MPI_VERSION >= 4
    in_one_group_large(way, MPI_COMM_WORLD);
    between_neighbours_large(way, ring);
    if (between != MPI_COMM_NULL) between_two_large(way, between, first);
#endif
  }
  barriers();
  MPI_Comm_free(&ring);
  MPI_Comm_free(&half);
  if (between != MPI_COMM_NULL) MPI_Comm_free(&between);
  return end();
}
