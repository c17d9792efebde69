/* C that calls Fortran, which communicates over C's communicator and counts its calls in a variable of its own. */
#include <mpi.h>
#include <stdio.h>

#include "config.h"

void FC_FUNC(add_ranks, ADD_RANKS)(MPI_Fint* comm, MPI_Fint* type, MPI_Fint* sum, MPI_Fint* calls);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm;
  int rank, size;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Fint comm_there = MPI_Comm_c2f(comm), type_there = MPI_Type_c2f(MPI_INT), sum = 0, calls = 0;
  for (int i = 0; i <= rank; ++i) FC_FUNC(add_ranks, ADD_RANKS)(&comm_there, &type_there, &sum, &calls);
  for (int i = rank; i < size - 1; ++i) FC_FUNC(add_ranks, ADD_RANKS)(&comm_there, &type_there, &sum, &calls);
  if (rank == 0) printf("mixed: %d ranks, sum %d, calls %d\n", size, (int)sum, (int)calls);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return SIZEOF_MPI_AINT != sizeof(MPI_Aint);
}
