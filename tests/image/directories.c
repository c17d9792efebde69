/* Ranks change the working directory, in the way that the second word says; the first is where they go. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, wrong;

static void expect(int holds, const char* what) {
  if (holds) return;
  wrong = 1;
  printf("wrong in rank %d: %s\n", rank, what);
}

static int is_in(const char* path) {
  char here[4096];
  return getcwd(here, sizeof here) != NULL && strcmp(here, path) == 0;
}

int main(int argc, char** argv) {
  char path[4096], name[32];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* const base = argv[1];
  const int apart = strcmp(argv[2], "apart") == 0;
  expect(chdir("/nowhere/at/all") != 0 && errno == ENOENT, "a directory that is not there");
  MPI_Barrier(MPI_COMM_WORLD);
  /* One after the other, each by the way from where it began. */
  for (int i = 0; i < rank; ++i) MPI_Barrier(MPI_COMM_WORLD);
  expect(chdir(base) == 0, "chdir() to one directory");
  for (int i = rank; i < 4; ++i) MPI_Barrier(MPI_COMM_WORLD);
  expect(is_in(base), "getcwd()");
  snprintf(name, sizeof name, "rank%d", rank);
  mkdir(name, 0777);
  snprintf(path, sizeof path, "%s/%s", base, name);
  MPI_Barrier(MPI_COMM_WORLD);
  if (apart) {
    errno = 0;
    const int failed = chdir(name);
    printf("rank %d %s %d\n", rank, failed ? "refused" : "alone", errno == EPERM);
    expect(is_in(failed ? base : path), "where the process is after that");
  }
  MPI_Finalize();
  printf("%s\n", wrong ? "wrong" : "right");
  return wrong;
}
