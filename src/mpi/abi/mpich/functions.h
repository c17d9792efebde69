/* How a function of MPICH's interface is defined: under its name for profiling, with the weak name that programs call, which a
   tool may define itself. */
#ifndef WEFT_MPI_ABI_MPICH_FUNCTIONS_H
#define WEFT_MPI_ABI_MPICH_FUNCTIONS_H
#include "convert.h"

#define MPICH_FUNCTION(result, name, parameters)                           \
  result P##name parameters;                                               \
  extern __attribute__((weak, alias("P" #name))) __typeof__(P##name) name; \
  result P##name parameters

#endif
