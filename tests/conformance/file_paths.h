/* A file of its own for each run of a program, in TMPDIR or /tmp; all ranks have its name. */
#ifndef FILE_PATHS_H
#define FILE_PATHS_H
#include <time.h>
#include <unistd.h>

static char path[512];

static void make_path(const char* what) {
  const char* directory = getenv("TMPDIR");
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(path, sizeof path, "%s/conform-%s-%ld-%ld", directory != NULL ? directory : "/tmp", what, (long)getpid(),
           now.tv_nsec);
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* What has been written is there for all ranks: MPI 5.0, 14.6.1. */
static inline void settle(MPI_File file) {
#ifdef OPEN_MPI /* 4.1 does not always return from the second. On one host a barrier does. */
  (void)file;
  MPI_Barrier(MPI_COMM_WORLD);
#else
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
#endif
}

static inline int count_of(MPI_Status* status, MPI_Datatype type) {
  int count = -1;
  MPI_Get_count(status, type, &count);
  return count;
}

static inline void remove_path(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
}
#endif
