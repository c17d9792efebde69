/* The program and its library share the state of the C library, and no other rank's. */
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int library_calls(void);
int library_random(void);
const char* library_variable(const char* name);
int library_index(void);
int library_error(void);

static int wrong;
static void expect(int holds, const char* what) {
  if (holds) return;
  wrong = 1;
  printf("wrong: %s\n", what);
}

int main(int argc, char** argv) {
  int rank;
  char number[16];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  srand(5 + (unsigned)rank);
  const int first = rand(), second = rand();
  srand(5 + (unsigned)rank);
  MPI_Barrier(MPI_COMM_WORLD);
  expect(library_random() == first, "srand() in the program, rand() in the library");
  MPI_Barrier(MPI_COMM_WORLD);
  expect(rand() == second, "rand() in the program after the library's");
  snprintf(number, sizeof number, "%d", rank);
  setenv("WEFT_TEST_NUMBER", number, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  const char* const seen = library_variable("WEFT_TEST_NUMBER");
  expect(seen != NULL && atoi(seen) == rank, "setenv() in the program, getenv() in the library");
  while (getopt(argc, argv, "ab:") != -1) MPI_Barrier(MPI_COMM_WORLD);
  expect(library_index() == optind, "getopt()'s index in the library");
  expect(library_error() == 42, "a function of the library named as one of the C library");
  for (int i = 0; i < 3; ++i) {
    expect(library_calls() == i + 1, "a variable of the library");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  printf("%s\n", wrong ? "wrong" : "right");
  return wrong;
}
