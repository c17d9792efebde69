// How a function of MPI is defined: once, under its profiling name. The other name is weak, so that a
// tool or the program itself may define it and call the first.
//
//   WEFT_MPI_FUNCTION(int, MPI_Comm_rank, (MPI_Comm comm, int* rank)) { ... }
#pragma once
#include "mpi/mpi.h"
#include "sched/fiber.hpp"

#define WEFT_MPI_FUNCTION(result, name, parameters)                          \
  extern "C" __attribute__((weak, alias("P" #name))) decltype(P##name) name; \
  extern "C" result P##name parameters
// One that mostly waits.
#define WEFT_MPI_WAITING_FUNCTION(result, name, parameters)                  \
  extern "C" __attribute__((weak, alias("P" #name))) decltype(P##name) name; \
  extern "C" WEFT_RETURNS_BY_JUMP result P##name parameters
