/* Every function that reads or writes a file, with counts of int and of MPI_Count: data, statuses, ends of files, pointers. */
#include "conform.h"
#include "file_paths.h"

#define CALL(name) name
#define COUNT int
#define WAYS(name) name##_of_ints
#include "file_ways.h"
#undef CALL
#undef COUNT
#undef WAYS

#if MPI_VERSION >= 4
#define CALL(name) name##_c
#define COUNT MPI_Count
#define WAYS(name) name##_of_large_counts
#include "file_ways.h"
#endif

int main(int argc, char** argv) {
  begin(&argc, &argv);
  make_path("ways");
#ifndef OPEN_MPI /* 4.1 does not come back. */
  through_views_of_ints();
  shared_of_ints();
#endif
#if MPI_VERSION >= 4
  through_views_of_large_counts();
  shared_of_large_counts();
#endif
  return end();
}
