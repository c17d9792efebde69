/* Unless the user says how large OpenMP's teams are, those of all ranks of a host fill its cores together, however
   the ranks are spread over processes.

   Run with: -n 1
   Run with: -n 2
   Run with: -n 2 --ranks-per-process 1
   Run with: -n 2 --ranks-per-process 1 --pin off
   Run with: -n 4 --processes 2
   Run with: -n 4 --processes 2 --pin off */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include "../conform.h"

/* A rank is pinned; its threads are not. */
static void* ask_for_cores(void* cores) {
  sched_getaffinity(0, sizeof(cpu_set_t), cores);
  return NULL;
}

int main(int argc, char** argv) {
  int all_teams = 0, team = 0;
  cpu_set_t cores;
  pthread_t thread;
  MPI_Init(&argc, &argv);
  learn_place();
  pthread_create(&thread, NULL, ask_for_cores, &cores);
  pthread_join(thread, NULL);
  MPI_Allreduce(MPI_IN_PLACE, &cores, sizeof cores, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  const int most = CPU_COUNT(&cores) > size ? CPU_COUNT(&cores) : size, wanted = omp_get_max_threads();
  MPI_Allreduce(&wanted, &all_teams, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(wanted >= 1 && all_teams <= most && all_teams > most - size, "teams of %d, %d in all, on %d cores", wanted,
         all_teams, CPU_COUNT(&cores));
#pragma omp parallel
#pragma omp single
  team = omp_get_num_threads();
  EXPECT_INT(team, wanted);
  return end();
}
