/* The forum's stubs declare these two, though the functions without the ending take counts of MPI_Count already. They are in
   libmpi_abi alone. */
#include "mpi/mpi.h"

#define WEFT_LARGE_PARTITIONS(name, pointer)                                                             \
  int P##name##_c(pointer buf, int partitions, MPI_Count count, MPI_Datatype datatype, int peer,         \
                  int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request);                          \
  int P##name##_c(pointer buf, int partitions, MPI_Count count, MPI_Datatype datatype, int peer,         \
                  int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {                         \
    return P##name(buf, partitions, count, datatype, peer, tag, comm, info, request);                    \
  }                                                                                                      \
  extern __typeof__(P##name##_c) name##_c __attribute__((weak, alias("P" #name "_c")))

WEFT_LARGE_PARTITIONS(MPI_Psend_init, const void*);
WEFT_LARGE_PARTITIONS(MPI_Precv_init, void*);
