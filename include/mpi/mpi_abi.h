/* The standard's binary interface under the name that other libraries give it: mpi.h is that here. */
#ifndef WEFT_MPI_ABI_H
#define WEFT_MPI_ABI_H
#include "mpi.h"
#endif
