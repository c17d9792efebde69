/* With `check`, ranks that change what a process has once, each in its way, are told. */
#define _GNU_SOURCE
#include <locale.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void on_signal(int number) { (void)number; }

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) signal(SIGTERM, on_signal);
  if (rank == 0) setlocale(LC_NUMERIC, "C");
  if (rank == 0) umask(027);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = 1000 + (rlim_t)rank;
  if (rank == 0) setrlimit(RLIMIT_NOFILE, &files);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) umask(077);
  if (rank == 1) prlimit(0, RLIMIT_NOFILE, &files, NULL);
  if (rank == 1) signal(SIGTERM, on_signal);
  if (rank == 1) setlocale(LC_NUMERIC, "C.UTF-8");
  if (rank == 2) signal(SIGINT, on_signal); /* Only one rank: no word of it. */
  setlocale(LC_CTYPE, "C"); /* All the same. */
  MPI_Finalize();
  return 0;
}
