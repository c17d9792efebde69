/* Standard input belongs to rank 0, in every way of reading; the others find it empty. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, number = -1, same = 0;
  char line[64] = "", rest[64] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* The others come first. */
  if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  const int values = scanf("%d", &number);
  const int letter = getchar();
  const char* const text = fgets(line, sizeof line, stdin);
  if (rank != 0) {
    same = values == EOF && letter == EOF && text == NULL && feof(stdin) && read(0, rest, sizeof rest) == 0;
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    same = values == 1 && number == 42 && letter == '\n' && text != NULL && strcmp(line, "a line\n") == 0;
  }
  MPI_Finalize();
  printf("%s\n", same ? "right" : "wrong");
  return !same;
}
